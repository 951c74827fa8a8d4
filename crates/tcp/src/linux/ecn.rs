//! The reports of ECN marks that a receiver sends and a sender processes.
//!
//! Sources: RFC 3168 §6.1.3, RFC 8257 §3.2, RFC 9768 §3.2.2; Linux 6.1 `tcp_ecn_check_ce`,
//! `tcp_ecn_accept_cwr`, `tcp_dctcp.h`; Linux 6.18 `tcp_ecn_received_counters`,
//! `tcp_accecn_process`. The check of the first counter follows the patch "tcp: accecn: verify ACE
//! counter in 1st ACK after AccECN negotiation" (October 2024), which RFC 9768 §3.2.2.4 permits.
//!
//! `common/ecn/accurate.rs` holds the counters of accurate ECN (AccECN). `recovery.rs` reduces the
//! window after a report.

use aqmlab_core::hint::rare;
use aqmlab_core::{Ecn, Instant, TcpFlags, TcpHeader};

use super::Linux;
use super::ack::{AckState, flag};
use crate::common::ecn::DctcpReceiver;
use crate::segment::Transmission;
use crate::tcb::Tcb;

impl Linux {
    /// Processes the ECN bits of a segment and its ECN field `field`. With classic ECN, CWR ends
    /// the echo. With accurate ECN, counts the mark of the segment, and reads the report of the
    /// third segment of the handshake, or of a segment that acknowledges nothing new while nothing
    /// is outstanding.
    #[cold]
    #[inline(never)]
    pub(super) fn process_ecn_bits(&mut self, tcb: &mut Tcb, header: &TcpHeader, field: Ecn) {
        if !tcb.ecn.is_accurate() {
            // CWR shows that the peer has reduced its window, so its next data must be acknowledged
            // at once.
            if header.flags.has(TcpFlags::CWR) {
                tcb.ecn.echo = false;
                if header.payload > 0 {
                    self.delack.require_now();
                }
            }
            return;
        }
        if tcb.count_mark(field) {
            self.delack.require_now();
        }
        if tcb.read_third(header) {
            tcb.is_newer_by_timestamp(header);
        } else if header.ack == tcb.snd.una && tcb.board.is_empty() {
            self.count_reported_marks(tcb, header, &mut AckState::new(tcb.snd.una, 0), 0);
        }
    }

    /// If the connection uses ECN, processes the ECN field of data that was queued
    /// (`tcp_ecn_check_ce`).
    #[inline]
    pub(super) fn check_ce(&mut self, tcb: &mut Tcb, field: Ecn) {
        if tcb.options.ecn {
            rare();
            self.process_field(tcb, field);
        }
    }

    fn process_field(&mut self, tcb: &mut Tcb, field: Ecn) {
        if field == Ecn::NotEct {
            // The segment is probably a retransmission.
            if tcb.ecn.seen {
                self.enter_quick_ack(tcb, 2);
            }
            return;
        }
        let is_marked = field == Ecn::Ce;
        if tcb.cc.echoes_precisely() {
            self.echo_precisely(tcb, is_marked);
        }
        // Classic ECN records a mark until the peer has reduced its window.
        if is_marked && !tcb.ecn.echo && !tcb.ecn.is_accurate() {
            self.enter_quick_ack(tcb, 2);
            tcb.ecn.echo = true;
        }
        tcb.ecn.seen = true;
    }

    /// Echoes the mark of each segment. When marks begin or end, a pending acknowledgement is first
    /// sent with the previous state, and the new state is then reported at once
    /// (`dctcp_ece_ack_update`).
    fn echo_precisely(&mut self, tcb: &mut Tcb, is_marked: bool) {
        let DctcpReceiver { ce_state: was_marked, prior_rcv_nxt } = tcb.ecn.dctcp;
        if was_marked != is_marked {
            if tcb.timers.delayed_ack != Instant::NEVER {
                tcb.ecn.echo = was_marked;
                self.acknowledge_until(tcb, prior_rcv_nxt);
            }
            self.delack.require_now();
        }
        tcb.ecn.dctcp = DctcpReceiver { ce_state: is_marked, prior_rcv_nxt: tcb.rcv.nxt };
        tcb.ecn.echo = is_marked;
    }

    /// Sends an acknowledgement of the data below `nxt`. The pending acknowledgement stays pending.
    fn acknowledge_until(&mut self, tcb: &mut Tcb, nxt: u64) {
        let window = self.select_window(tcb);
        let seq = tcb.snd.max.max(tcb.snd.nxt);
        let all = std::mem::replace(&mut tcb.rcv.nxt, nxt);
        tcb.emit(TcpHeader { seq, ..tcb.header(window) }, Transmission::Original);
        tcb.rcv.nxt = all;
    }

    /// Counts the marks that an acknowledgement of `delivered` segments reports in its counter. If
    /// the first counter is zero, makes later packets not ECN-capable (`tcp_accecn_process`).
    pub(super) fn count_reported_marks(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &mut AckState,
        delivered: u64,
    ) {
        let is_newer = tcb.is_newer_by_timestamp(header);
        if !ack.has(flag::FORWARD_PROGRESS) && !is_newer {
            return;
        }
        let ace = header.flags.ace();
        let prior = tcb.stats.bytes_acked.saturating_sub(ack.acked_bytes);
        if ack.has(flag::DATA_ACKED) && prior <= u64::from(tcb.window.mss) && ace == 0 {
            tcb.break_ecn();
            return;
        }
        if tcb.has_many_marks() {
            self.delack.require_now();
        }
        let marks = tcb.new_marks(ace, delivered);
        if marks > 0 {
            tcb.ecn.delivered_ce += marks;
            ack.set(flag::ECE);
        }
    }

    /// With classic ECN, records whether an acknowledgement carries ECE. If it does, counts the
    /// selectively delivered segments as marked. With accurate ECN, does nothing.
    pub(super) fn note_echo(&self, tcb: &mut Tcb, header: &TcpHeader, ack: &mut AckState) {
        if !tcb.ecn.is_accurate() && header.flags.has(TcpFlags::ECE) {
            ack.set(flag::ECE);
            tcb.ecn.delivered_ce += ack.sack_delivered;
        }
    }

    /// Counts the marks of the `delivered` segments that an acknowledgement covers, and passes the
    /// totals to a controller that needs ECN.
    pub(super) fn count_marks(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &mut AckState,
        delivered: u64,
    ) {
        if tcb.ecn.is_accurate() {
            self.count_reported_marks(tcb, header, ack, delivered);
        } else if ack.has(flag::ECE) {
            tcb.ecn.delivered_ce += delivered - ack.sack_delivered;
        }
        report_totals(tcb);
    }
}

/// Passes the totals to a controller if it needs ECN or has AccECN (`tcp_in_ack_event`, which
/// follows `tcp_clean_rtx_queue` as of Linux 6.1.141).
pub(super) fn report_totals(tcb: &mut Tcb) {
    if tcb.ecn.is_needed() || tcb.ecn.is_accurate() {
        let totals = tcb.totals();
        tcb.cc.on_totals(&totals);
    }
}
