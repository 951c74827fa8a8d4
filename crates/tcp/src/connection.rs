//! One endpoint of a connection, and the functions that its driver calls.

use aqmlab_core::hint::rare;
use aqmlab_core::{Bytes, Ecn, Instant, TcpHeader};

use crate::common::handshake::Handshake;
use crate::stack::StackState;
use crate::state::State;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;
use crate::{Config, Segment};

/// The number of bits of a sequence number. A segment with a larger number is forged and is
/// ignored, because sums with the number could overflow.
const SEQUENCE_BITS: u32 = 60;

/// A notification to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Established,
    /// The application has read this many further bytes, in order; see [`Config::read_events`].
    Readable(u64),
    /// The send buffer has space again, after a write that was cut short.
    Writable,
    /// The peer has closed its sending direction, and the application has read all data of the
    /// peer.
    PeerFinished,
    /// Both directions are closed.
    Closed,
    /// Either side reset the connection or gave it up.
    Aborted,
}

/// One endpoint of a connection.
pub struct Connection {
    pub(crate) tcb: Tcb,
    pub(crate) stack: StackState,
    pub(crate) handshake: Handshake,
}

impl Connection {
    /// Returns an endpoint that opens a connection at `now`. Its SYN is the first segment to poll
    /// for.
    pub fn active(config: Config, now: Instant) -> Self {
        let mut connection = Self::passive(config);
        connection.tcb.clock.set(now);
        connection.start_handshake();
        connection
    }

    /// Returns an endpoint that waits for a SYN.
    pub fn passive(config: Config) -> Self {
        let stack = StackState::new(&config);
        let (expiry, offer) = (stack.expiry(&config.profile), stack.ecn_offer(&config));
        Self { tcb: Tcb::new(config, expiry, offer), stack, handshake: Handshake::default() }
    }

    /// Returns whether the endpoint waits for a SYN.
    pub fn is_listening(&self) -> bool {
        self.tcb.state == State::Listen
    }

    /// Processes a segment that has arrived with the ECN field `ecn`.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn handle_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Instant) {
        let tcb = &mut self.tcb;
        tcb.clock.set(now);
        tcb.stats.segments_received += 1;
        if ecn == Ecn::Ce {
            rare();
            tcb.stats.ce_received += 1;
        }
        if (header.seq | header.ack) >> SEQUENCE_BITS != 0 {
            rare();
            return;
        }
        if tcb.state == State::Established {
            self.stack.process_established(tcb, header, ecn);
        } else {
            rare();
            self.process_in_other_state(header, ecn);
        }
    }

    #[inline(never)]
    fn process_in_other_state(&mut self, header: &TcpHeader, ecn: Ecn) {
        let is_open = match self.tcb.state {
            State::Closed => {
                self.stack.process_closed(&mut self.tcb, header);
                false
            }
            State::Listen => {
                self.process_listen(header, ecn);
                false
            }
            State::SynSent => {
                self.process_syn_sent(header, ecn);
                false
            }
            State::SynReceived => self.process_syn_received(header),
            State::TimeWait => {
                self.process_time_wait(header);
                false
            }
            _ => true,
        };
        if is_open {
            self.stack.process_segment(&mut self.tcb, header, ecn);
        }
    }

    /// Runs the timers that are due at `now`. A call before a timer is due has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        let (tcb, stack) = (&mut self.tcb, &mut self.stack);
        tcb.clock.set(now);
        if tcb.timers.delayed_ack <= now {
            stack.on_delayed_ack_timer(tcb);
        }
        if tcb.timers.compressed_ack() <= now {
            stack.on_compressed_ack_timer(tcb);
        }
        if tcb.timers.wakeup <= now {
            stack.on_awake(tcb);
        }
        if tcb.timers.pacing() <= now {
            tcb.timers.set_pacing(Instant::NEVER);
            stack.on_pacing_timer(tcb);
        }
        if tcb.timers.xmit_at <= now {
            self.on_xmit_timer();
        }
        if self.tcb.timers.time_wait() <= now {
            self.tcb.end_time_wait();
        }
    }

    fn on_xmit_timer(&mut self) {
        match (self.tcb.timers.xmit, self.tcb.state) {
            (XmitTimer::Off, _) => self.tcb.timers.xmit_at = Instant::NEVER,
            (_, State::SynSent | State::SynReceived) => self.on_handshake_timer(),
            (purpose, _) => self.stack.on_xmit_timer(&mut self.tcb, purpose),
        }
    }

    /// Adds up to `bytes` to the send buffer at `now`, and returns the number of bytes accepted.
    ///
    /// After a write that was cut short, [`Event::Writable`] reports new space.
    pub fn write(&mut self, now: Instant, bytes: u64) -> u64 {
        let tcb = &mut self.tcb;
        if !tcb.state.may_write() || tcb.snd.fin_wanted || tcb.writer.is_unlimited {
            return 0;
        }
        tcb.clock.set(now);
        tcb.check_app_limited();
        let taken = self.stack.write(tcb, bytes);
        tcb.writer.on_write(taken, bytes);
        tcb.app_acted |= taken > 0;
        taken
    }

    /// Makes the application write without limit, as fast as the buffer empties, until it closes
    /// the connection.
    pub fn send_unlimited(&mut self) {
        let tcb = &mut self.tcb;
        if tcb.state.may_write() && !tcb.snd.fin_wanted {
            tcb.writer.is_unlimited = true;
            tcb.app_acted = true;
        }
    }

    /// Reports the memory of this connection's segments in the queue of its host. Returns whether
    /// segments that the stack held back may now be polled for.
    ///
    /// A driver that models such a queue reports after it has polled for all segments, and whenever
    /// a segment leaves the queue. Without reports, the stack holds no segments back.
    pub fn note_waiting(&mut self, memory: Bytes) -> bool {
        self.stack.note_waiting(&mut self.tcb, memory)
    }

    /// Returns whether [`Self::poll_transmit`] may return a segment.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.tcb.app_acted || !self.tcb.out.is_empty()
    }

    /// Returns whether [`Self::poll_event`] returns an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.tcb.events.is_empty()
    }

    /// Returns the next segment to send, if any. After every call that changes the connection, the
    /// driver polls until the result is `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.poll_segment(now).map(std::mem::take)
    }

    /// Returns the next segment to send, if any, as [`Self::poll_transmit`] does, but leaves the
    /// segment in its place in the queue. The driver must take the SACK blocks out of it, because
    /// the queue overwrites the segment without dropping it.
    #[inline]
    pub fn poll_segment(&mut self, now: Instant) -> Option<&mut Segment> {
        if self.tcb.app_acted {
            rare();
            self.tcb.clock.set(now);
            self.serve_application();
        }
        self.tcb.out.pop_place()
    }

    /// Returns the next event, if any. The driver polls until the result is `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.tcb.events.pop_front()
    }

    /// Returns the time for the next [`Connection::handle_timeout`], or `None` if no timer is set.
    /// Another call may change this time.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let at = self.tcb.timers.next();
        (at != Instant::NEVER).then_some(at)
    }

    /// Returns whether the next event, at [`Self::poll_timeout`], is a wakeup of the application.
    /// No timer of the connection expires then or earlier.
    #[inline]
    pub fn wakes_next(&self) -> bool {
        self.tcb.timers.wakeup < self.tcb.timers.next_besides_wakeup()
    }

    /// Returns whether the next event, at [`Self::poll_timeout`], is a wakeup of the application at
    /// which the application only reads.
    ///
    /// A driver may then call [`Self::read`] at that time instead of [`Self::handle_timeout`].
    #[expect(clippy::inline_always, reason = "most reads pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn only_reads_next(&self) -> bool {
        let wakeup = &self.tcb.wakeup;
        self.wakes_next() && !wakeup.opened && !wakeup.has_space
    }

    /// Lets the application read; see [`Self::only_reads_next`]. There is no event of this read.
    #[expect(clippy::inline_always, reason = "most reads pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn read(&mut self) {
        let tcb = &mut self.tcb;
        tcb.clock.set(tcb.timers.wakeup);
        tcb.timers.wakeup = Instant::NEVER;
        self.stack.read(tcb);
    }

    /// Sends the data that the application has written since the connection last ran.
    pub(crate) fn serve_application(&mut self) {
        self.tcb.app_acted = false;
        if self.tcb.state.is_synchronized() {
            self.stack.serve_application(&mut self.tcb);
        }
    }
}
