//! Taking in a segment: is it acceptable, and whose business is it?
//!
//! Sources: RFC 9293 §3.10.7, RFC 5961, RFC 7323 §5; Linux 6.1 `tcp_rcv_established`,
//! `tcp_validate_incoming`, `tcp_rcv_state_process`.

use aqmlab_core::{Ecn, Instant, TcpFlags, TcpHeader};

use crate::common::clock::later_by;
use crate::connection::Connection;
use crate::state::State;

/// Numbers beyond cannot be ours; whoever made them up shall not make us overflow.
const FARTHEST: u64 = 1 << 60;

impl Connection {
    /// Takes in a segment that has arrived with the ECN field `ecn`.
    pub fn handle_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Instant) {
        self.clock.set(now);
        self.stats.segments_received += 1;
        self.stats.ce_received += u64::from(ecn == Ecn::Ce);
        if header.seq > FARTHEST || header.ack > FARTHEST {
            return;
        }
        if self.state == State::Established && !self.is_bsd() {
            self.established(header, ecn);
            return;
        }
        if !self.is_beyond_handshake(header) {
            return;
        }
        if self.is_bsd() {
            self.bsd_segment(header, ecn);
        } else if self.accept(header) {
            self.process_payload(header, ecn);
        }
    }

    /// Deals with a segment in the states in which data does not flow; returns whether it
    /// remains to be processed as one of an open connection.
    #[inline(never)]
    fn is_beyond_handshake(&mut self, header: &TcpHeader) -> bool {
        match self.state {
            State::Closed => {
                if self.is_bsd() && !header.flags.has(TcpFlags::RST) {
                    self.emit_reset(header.ack, None);
                }
            }
            State::Listen => self.listen(header),
            State::SynSent => self.syn_sent(header),
            State::SynReceived => return self.syn_received(header),
            State::TimeWait => self.time_wait(header),
            _ => return true,
        }
        false
    }

    /// Linux `tcp_rcv_established`; in other states, the segment that completes the handshake
    /// among them, `tcp_rcv_state_process` takes no echo for a measurement, nor for seen.
    #[inline]
    fn established(&mut self, header: &TcpHeader, ecn: Ecn) {
        if self.accept(header) {
            self.measure_receiver_rtt_by_echo(header);
            self.process_payload(header, ecn);
        }
    }

    /// Checks a segment of a connection whose handshake is complete, and takes in what it
    /// acknowledges. Returns whether its data is to be taken in, too.
    #[inline]
    fn accept(&mut self, header: &TcpHeader) -> bool {
        let plain = header.flags.0 & !(TcpFlags::PSH.0 | TcpFlags::ECE.0 | TcpFlags::CWR.0);
        let expected = plain == TcpFlags::ACK.0 && header.seq == self.rcv.nxt;
        let timely = !header.timestamps || later_by(header.ts_val, self.rcv.ts_recent) >= 0;
        let predicted = expected && timely;
        if !predicted && !self.validate(header) {
            return false;
        }
        if header.timestamps && header.seq <= self.rcv_window.advertised_at {
            self.store_timestamp(header);
        }
        self.process_ack(header)
    }

    /// Takes in the data of a segment, and sends what follows from all of it.
    #[inline]
    fn process_payload(&mut self, header: &TcpHeader, ecn: Ecn) {
        if header.payload > 0 || header.flags.has(TcpFlags::FIN) {
            self.process_data(header, ecn);
        }
        if self.state == State::Closed {
            return;
        }
        self.send_what_follows();
        self.check_ack();
        if !self.wakeup.unread.is_empty() {
            self.wake();
        }
    }

    /// New data that the acknowledgement has made room for.
    #[inline]
    fn send_what_follows(&mut self) {
        self.push_pending();
        self.check_room();
        self.app_acted = false;
    }

    fn store_timestamp(&mut self, header: &TcpHeader) {
        if later_by(header.ts_val, self.rcv.ts_recent) >= 0 {
            self.rcv.ts_recent = header.ts_val;
        }
    }

    /// Whether an acknowledgement or other answer to something unacceptable may be sent again
    /// already (RFC 5961 §10; Linux `tcp_oow_rate_limited`).
    pub(crate) fn may_challenge(&mut self) -> bool {
        let (now, interval) = (self.clock.now, self.profile.challenge_interval);
        if self.ack_challenged.is_some_and(|at| now.since(at) < interval) {
            return false;
        }
        self.ack_challenged = Some(now);
        true
    }

    fn challenge(&mut self) {
        if self.may_challenge() {
            self.send_ack();
        }
    }

    /// Linux `tcp_validate_incoming`: old timestamps, numbers outside the window, resets and
    /// stray SYNs end here. Returns whether the segment is to be processed.
    fn validate(&mut self, header: &TcpHeader) -> bool {
        let flags = header.flags;
        let reset = flags.has(TcpFlags::RST);
        if !reset && self.is_outdated(header) {
            self.answer_unacceptable(header);
            return false;
        }
        let limit = self.rcv.nxt + self.rcv_window.open(self.rcv.nxt);
        if header.end() < self.rcv_window.advertised_at || header.seq > limit {
            if flags.has(TcpFlags::SYN) && !reset {
                self.challenge();
            } else if !reset {
                self.answer_unacceptable(header);
            }
            return false;
        }
        if reset {
            if header.seq == self.rcv.nxt || Some(header.seq) == self.rcv.highest_block() {
                self.die();
            } else {
                self.challenge();
            }
            return false;
        }
        if flags.has(TcpFlags::SYN) {
            self.challenge();
            return false;
        }
        flags.has(TcpFlags::ACK)
    }

    /// PAWS (RFC 7323 §5.3), but for a duplicate acknowledgement that was overtaken.
    fn is_outdated(&self, header: &TcpHeader) -> bool {
        let age = later_by(self.rcv.ts_recent, header.ts_val);
        if !header.timestamps || !self.options.timestamps || age <= 1 {
            return false;
        }
        let window = u64::from(header.window);
        let disordered = header.flags.has(TcpFlags::ACK)
            && header.end() == header.seq
            && header.seq == self.rcv.nxt
            && header.ack == self.snd.una
            && header.seq <= self.snd.wl1
            && window <= self.snd.wnd
            && age.unsigned_abs() <= self.rtt.rto.as_millis() as u32;
        !disordered
    }

    /// Linux `tcp_send_dupack`: an acknowledgement, with the duplicate reported.
    fn answer_unacceptable(&mut self, header: &TcpHeader) {
        let carries = header.end() != header.seq;
        if !carries && !self.may_challenge() {
            return;
        }
        if carries && header.seq < self.rcv.nxt {
            self.enter_quick_ack(self.profile.quick_acks);
            self.rcv.note_duplicate(header.seq, header.end().min(self.rcv.nxt));
        }
        self.send_ack();
    }
}
