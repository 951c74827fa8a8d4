//! Closing a connection, in all the ways there are.
//!
//! Sources: RFC 9293 §3.6 and §3.10.7; Linux 6.1 `tcp_fin`, `tcp_rcv_state_process`.
//! Difference: the end of the peer's half is known as soon as its FIN is in order, and
//! [`crate::Event::Closed`] is told when TIME-WAIT begins, not when it ends.

use aqmlab_core::{TcpFlags, TcpHeader};

use crate::Event;
use crate::connection::Connection;
use crate::profile::DelayedAckRule;
use crate::state::State;

impl Connection {
    /// Closes our half once what was written has been sent; stops pouring with what is in the
    /// buffer.
    pub fn close(&mut self) {
        match self.state {
            State::Listen => {
                self.state = State::Closed;
                self.events.push_back(Event::Closed);
            }
            state if state.may_write() && !self.snd.fin_wanted => {
                // What the buffer holds is still sent: nothing, if the application that pours was
                // not woken since the connection opened.
                self.snd.pouring = false;
                self.snd.fin_wanted = true;
                self.app_acted = true;
                if self.is_bsd() {
                    self.close_half();
                }
            }
            _ => {}
        }
    }

    /// Our half is closed: on Linux when the FIN is sent; on FreeBSD as soon as the application has
    /// closed (`tcp_usrclosed`), or else when the handshake is complete.
    pub(crate) fn close_half(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
    }

    /// Resets the connection at once and forgets what was not sent.
    pub fn abort(&mut self) {
        if self.state.is_synchronized() || self.state == State::SynReceived {
            self.emit_reset(self.snd.max, Some(self.rcv.nxt));
        }
        if self.state != State::Closed {
            self.die();
        }
    }

    /// The connection is over without ceremony.
    pub(crate) fn die(&mut self) {
        let told = matches!(self.state, State::Closed | State::TimeWait);
        self.end();
        if !told {
            self.hand_over();
            self.events.push_back(Event::Aborted);
        }
    }

    /// Nothing was heard for too long.
    pub(crate) fn give_up(&mut self) {
        self.die();
    }

    fn end(&mut self) {
        self.state = State::Closed;
        self.timers.stop_transmit();
        self.timers.delayed_ack = aqmlab_core::Instant::NEVER;
        self.timers.compressed_ack = aqmlab_core::Instant::NEVER;
        self.timers.pacing = aqmlab_core::Instant::NEVER;
        self.timers.wakeup = aqmlab_core::Instant::NEVER;
        self.timers.linger = aqmlab_core::Instant::NEVER;
        self.snd.pouring = false;
        self.app_acted = false;
    }

    /// The peer's FIN is in order: everything it sent has been read.
    pub(crate) fn on_fin_received(&mut self) {
        self.delack.scheduled = true;
        self.hand_over();
        self.events.push_back(Event::PeerFinished);
        match self.state {
            State::Established => {
                self.state = State::CloseWait;
                self.delack.pingpong = true;
                // A host of fixed delays answers a FIN at once.
                self.delack.now |= self.profile.delayed_ack_rule == DelayedAckRule::Fixed;
            }
            State::FinWait1 => {
                self.send_ack();
                self.state = State::Closing;
            }
            State::FinWait2 => {
                self.send_ack();
                self.start_time_wait();
            }
            _ => {}
        }
    }

    /// Our FIN may have been acknowledged.
    #[inline]
    pub(crate) fn follow_fin_ack(&mut self) {
        if !self.snd.fin_sent || !self.snd.all_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.start_time_wait(),
            State::LastAck => {
                self.end();
                self.events.push_back(Event::Closed);
            }
            _ => {}
        }
    }

    pub(crate) fn start_time_wait(&mut self) {
        if self.is_bsd() {
            self.rcv_window.buffer = self.rcv_window.open(self.rcv.nxt);
        }
        self.end();
        self.state = State::TimeWait;
        self.timers.linger = self.clock.now + self.profile.time_wait;
        self.events.push_back(Event::Closed);
    }

    /// In TIME-WAIT, what the peer repeats is acknowledged.
    pub(crate) fn time_wait(&mut self, header: &TcpHeader) {
        if header.flags.has(TcpFlags::RST) {
            self.end();
            return;
        }
        let repeats = header.payload > 0 || header.flags.has(TcpFlags::FIN);
        if repeats || header.seq != self.rcv.nxt {
            if header.flags.has(TcpFlags::FIN) {
                self.timers.linger = self.clock.now + self.profile.time_wait;
            } else if !self.may_challenge() {
                return;
            }
            self.send_ack();
        }
    }

    /// Data or a FIN after the peer's FIN was received: only repetitions can come.
    pub(crate) fn after_the_end(&mut self, header: &TcpHeader) {
        if header.seq < self.rcv.nxt {
            self.rcv.note_duplicate(header.seq, header.end().min(self.rcv.nxt));
            self.enter_quick_ack(self.profile.quick_acks);
            self.delack.scheduled = true;
            self.delack.now = true;
        }
    }
}
