//! The end of a connection.
//!
//! Sources: RFC 9293 §3.6 and §3.10.7; Linux 6.1 `tcp_rcv_state_process`,
//! `tcp_timewait_state_process`. Differences: the stack reports the end of the peer's data to the
//! application as soon as the FIN is in order; on Linux the application learns of the end when it
//! has read all data before the FIN. The stack reports [`crate::Event::Closed`] when TIME-WAIT
//! begins; by RFC 9293 the connection is closed when TIME-WAIT ends.

use aqmlab_core::{Instant, TcpFlags, TcpHeader};

use crate::connection::{Connection, Event};
use crate::state::State;
use crate::tcb::Tcb;

impl Connection {
    /// Closes the sending direction once the buffered data has been sent. If the application writes
    /// without limit, its data ends with the buffer's current contents.
    pub fn close(&mut self) {
        let tcb = &mut self.tcb;
        match tcb.state {
            State::Listen => {
                tcb.state = State::Closed;
                tcb.events.push_back(Event::Closed);
            }
            state if state.may_write() && !tcb.snd.fin_wanted => {
                tcb.writer.is_unlimited = false;
                tcb.snd.fin_wanted = true;
                tcb.app_acted = true;
                self.stack.on_close(tcb);
            }
            _ => {}
        }
    }

    /// Resets the connection at once and discards unsent data.
    pub fn abort(&mut self) {
        self.tcb.abort();
    }

    /// Processes a segment in TIME-WAIT. A reset ends TIME-WAIT. A FIN restarts the timer of
    /// TIME-WAIT and is acknowledged, and so is data. Other segments with an unexpected sequence
    /// number are acknowledged within a rate limit (Linux `tcp_oow_rate_limited`).
    pub(crate) fn process_time_wait(&mut self, header: &TcpHeader) {
        let tcb = &mut self.tcb;
        if header.flags.has(TcpFlags::RST) {
            tcb.enter_closed();
            return;
        }
        let repeats = header.payload > 0 || header.flags.has(TcpFlags::FIN);
        if repeats || header.seq != tcb.rcv.nxt {
            if header.flags.has(TcpFlags::FIN) {
                tcb.timers.set_time_wait(tcb.clock.now + tcb.profile.time_wait);
            } else if header.payload == 0 && !tcb.may_challenge() {
                return;
            }
            self.stack.send_ack(tcb);
        }
    }
}

impl Tcb {
    /// Changes the state after this end has closed. On Linux this happens when the FIN is sent. On
    /// FreeBSD it happens when the application closes (`tcp_usrclosed`) or, if later, when the
    /// handshake completes.
    pub(crate) fn close_half(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
    }

    /// Ends the connection. Sends a reset, except before the peer's SYN has arrived and in
    /// TIME-WAIT.
    pub(crate) fn abort(&mut self) {
        if self.state.is_synchronized() || self.state == State::SynReceived {
            self.emit_reset(self.snd.max, Some(self.rcv.nxt));
        }
        if self.state != State::Closed {
            self.die();
        }
    }

    /// Ends the connection without the closing handshake, after a reset or after a long silence of
    /// the peer. If the connection was not over yet, passes all unread data to the application and
    /// reports [`Event::Aborted`].
    pub(crate) fn die(&mut self) {
        let was_over = matches!(self.state, State::Closed | State::TimeWait);
        self.enter_closed();
        if !was_over {
            self.announce_open();
            self.deliver_unread();
            self.app_acted = false;
            self.events.push_back(Event::Aborted);
        }
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.timers = crate::timers::Timers::new();
        self.writer.is_unlimited = false;
        self.app_acted = false;
    }

    /// Changes the state if the peer has acknowledged this end's FIN.
    pub(crate) fn on_fin_acknowledged(&mut self) {
        if !self.snd.fin_sent || !self.snd.all_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(),
            State::LastAck => {
                self.enter_closed();
                self.events.push_back(Event::Closed);
            }
            _ => {}
        }
    }

    pub(crate) fn enter_time_wait(&mut self) {
        self.enter_closed();
        self.state = State::TimeWait;
        self.timers.set_time_wait(self.clock.now + self.profile.time_wait);
        self.events.push_back(Event::Closed);
    }

    /// Ends TIME-WAIT: stops its timer, and enters CLOSED.
    pub(crate) fn end_time_wait(&mut self) {
        self.timers.set_time_wait(Instant::NEVER);
        self.state = State::Closed;
    }
}
