//! The processing of a segment: its acceptance, its acknowledgement, its data, and the response.
//!
//! Sources: RFC 9293 §3.10.7, RFC 5961, RFC 7323 §5; Linux 6.1 `tcp_rcv_established`,
//! `tcp_validate_incoming`, `tcp_rcv_state_process`.

use aqmlab_core::hint::rare;
use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use super::Linux;
use crate::common::clock::later_by;
use crate::state::State;
use crate::tcb::Tcb;

impl Linux {
    /// Processes a segment that arrives in ESTABLISHED (`tcp_rcv_established`).
    #[inline]
    pub(crate) fn process_established(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        if self.is_next_data(tcb, header) {
            self.receive_next(tcb, header, ecn);
        } else {
            self.process_general(tcb, header, ecn);
        }
    }

    /// Processes any segment that arrives in ESTABLISHED.
    #[inline(never)]
    pub(super) fn process_general(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        if self.accept(tcb, header, ecn) {
            self.autotune.measure_by_echo(tcb, header, self.delack.rcv_mss());
            self.process_payload(tcb, header, ecn);
        }
    }

    /// Processes a segment that arrives in a state other than ESTABLISHED, such as the segment that
    /// completes the handshake (`tcp_rcv_state_process`). In these states, the receiver measures no
    /// round-trip time by the echo of a timestamp.
    #[inline(never)]
    pub(crate) fn process_segment(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        if self.accept(tcb, header, ecn) {
            self.process_payload(tcb, header, ecn);
        }
    }

    /// Validates a segment of an open connection, stores its timestamp, and processes its
    /// acknowledgement. Returns whether its data must also be processed.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn accept(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) -> bool {
        if !is_predicted(tcb, header) {
            rare();
            if !self.validate(tcb, header) {
                return false;
            }
        }
        if header.timestamps && header.seq <= tcb.rcv.wup {
            store_timestamp(tcb, header);
        }
        self.process_ack(tcb, header, ecn)
    }

    /// Processes the data of a segment. Then sends the data that the segment permits and the
    /// acknowledgement that it requires. If there is unread data, starts to wake the application.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn process_payload(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        if header.payload > 0 || header.flags.has(TcpFlags::FIN) {
            self.process_data(tcb, header, ecn);
        }
        if tcb.state == State::Closed {
            rare();
            return;
        }
        let unsent_from = tcb.snd.nxt;
        self.push_pending(tcb);
        self.schedule_postponed_probe(tcb);
        // After a burst, the space was checked, and has not changed since.
        if tcb.snd.nxt == unsent_from || !tcb.checks_space_after_each_burst() {
            self.check_space(tcb);
        }
        tcb.app_acted = false;
        // Most segments that pass here are acknowledgements without data.
        if self.delack.is_scheduled() {
            rare();
            self.check_ack(tcb);
        }
        if !tcb.wakeup.unread.is_empty() {
            rare();
            self.wake(tcb);
        }
    }

    /// Sends a challenge acknowledgement, unless one was sent recently.
    fn challenge(&mut self, tcb: &mut Tcb) {
        if tcb.may_challenge() {
            self.send_ack(tcb);
        }
    }

    /// Returns whether to process a segment. Rejects segments that have an old timestamp, a
    /// sequence number outside the window, RST or SYN, and segments without ACK. A valid reset ends
    /// the connection. The other rejected segments are answered, except resets outside the window
    /// and segments without ACK (`tcp_validate_incoming`).
    fn validate(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> bool {
        let flags = header.flags;
        let is_reset = flags.has(TcpFlags::RST);
        if !is_reset && is_outdated(tcb, header) {
            self.send_dupack(tcb, header);
            return false;
        }
        let limit = tcb.rcv.nxt + tcb.rcv.open();
        if header.end() < tcb.rcv.wup || header.seq > limit {
            if flags.has(TcpFlags::SYN) && !is_reset {
                self.challenge(tcb);
            } else if !is_reset {
                self.send_dupack(tcb, header);
            }
            return false;
        }
        if is_reset {
            let highest = tcb.rcv.sack.highest_end();
            if header.seq == tcb.rcv.nxt || Some(header.seq) == highest {
                tcb.die();
            } else {
                self.challenge(tcb);
            }
            return false;
        }
        if flags.has(TcpFlags::SYN) {
            self.challenge(tcb);
            return false;
        }
        flags.has(TcpFlags::ACK)
    }

    /// Responds to an unacceptable segment with an acknowledgement. Duplicate data is reported, and
    /// makes the next acknowledgements immediate. For segments without data, a rate limit applies
    /// (`tcp_send_dupack`).
    fn send_dupack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        let is_empty = header.end() == header.seq;
        if is_empty && !tcb.may_challenge() {
            return;
        }
        if !is_empty && header.seq < tcb.rcv.nxt {
            self.enter_quick_ack(tcb, tcb.profile.quick_acks);
            let end = header.end().min(tcb.rcv.nxt);
            tcb.rcv.sack.set_duplicate(header.seq, end);
        }
        self.send_ack(tcb);
    }
}

/// Returns whether a segment is the next in sequence, its timestamp is not old, and it has ACK but
/// neither SYN, FIN, RST nor URG. Such a segment is acceptable.
#[inline]
pub(super) fn is_predicted(tcb: &Tcb, header: &TcpHeader) -> bool {
    let control = header.flags.0 & !(TcpFlags::PSH.0 | TcpFlags::ACE.0);
    let is_next = control == TcpFlags::ACK.0 && header.seq == tcb.rcv.nxt;
    is_next && (!header.timestamps || later_by(header.ts_val, tcb.rcv.ts_recent) >= 0)
}

fn store_timestamp(tcb: &mut Tcb, header: &TcpHeader) {
    if later_by(header.ts_val, tcb.rcv.ts_recent) >= 0 {
        tcb.rcv.ts_recent = header.ts_val;
    }
}

/// Returns whether PAWS rejects a segment (RFC 7323 §5.3). Reordered duplicate acknowledgements are
/// exempt (`tcp_disordered_ack`).
fn is_outdated(tcb: &Tcb, header: &TcpHeader) -> bool {
    let age = later_by(tcb.rcv.ts_recent, header.ts_val);
    if !header.timestamps || !tcb.options.timestamps || age <= 1 {
        return false;
    }
    let is_disordered_ack = header.flags.has(TcpFlags::ACK)
        && header.end() == header.seq
        && header.seq == tcb.rcv.nxt
        && header.ack == tcb.snd.una
        && header.seq <= tcb.snd.wl1
        && u64::from(header.window) <= tcb.snd.wnd
        && age.unsigned_abs() <= tcb.rtt.rto.as_millis() as u32;
    !is_disordered_ack
}
