//! Loss: its detection by time, by counting and by duplicate acknowledgements, and the state after
//! a timeout, with F-RTO.
//!
//! Sources: RFC 5682, RFC 6582, RFC 6675; Linux 6.1 `tcp_identify_packet_loss`,
//! `tcp_mark_head_lost`, `tcp_timeout_mark_lost`, `tcp_enter_loss`, `tcp_process_loss`.

use aqmlab_core::TcpHeader;

use super::Linux;
use super::ack::{AckState, Rexmit, flag};
use super::undo::Frto;
use crate::cc::{CcEvent, Signal};
use crate::common::scoreboard::{LOST, SACKED};
use crate::state::CaState;
use crate::tcb::Tcb;

impl Tcb {
    /// Marks a segment as lost. If the loss was unknown, counts it and notifies a controller that
    /// asks for losses.
    pub(super) fn mark_lost(&mut self, id: u32) {
        if self.board.mark_lost(id) {
            self.rate.lost += 1;
            if self.tx_records.are_kept {
                self.tell_of_loss(id);
            }
        }
    }
}

impl Linux {
    /// Marks the segments that are lost according to an acknowledgement: by RACK or, without SACK,
    /// by duplicate acknowledgements (`tcp_identify_packet_loss`).
    pub(super) fn identify_losses(&mut self, tcb: &mut Tcb, ack: &mut AckState) {
        if tcb.board.is_empty() {
            return;
        }
        if !tcb.options.sack {
            self.mark_head_without_sack(tcb, ack.has(flag::SND_UNA_ADVANCED));
        } else if tcb.profile.rack {
            let before = tcb.board.retrans_out();
            if self.rack_mark_lost(tcb) {
                ack.clear(flag::SET_XMIT_TIMER);
            }
            if before > tcb.board.retrans_out() {
                ack.set(flag::LOST_RETRANS);
            }
        }
    }

    /// Marks the head as lost, as NewReno does (RFC 6582): when the duplicate acknowledgements
    /// reach the degree of reordering, and in recovery at each partial acknowledgement
    /// (`tcp_newreno_mark_lost`).
    fn mark_head_without_sack(&self, tcb: &mut Tcb, advanced: bool) {
        let ca = self.recovery.ca();
        let third = ca < CaState::Recovery && tcb.board.sacked_out() >= self.reordering.degree();
        if (third || (ca == CaState::Recovery && advanced))
            && let Some(id) = tcb.board.front_id()
            && !tcb.board.get(id).is(LOST)
        {
            tcb.mark_lost(id);
        }
    }

    /// Returns whether fast recovery should begin: if a segment counts as lost or, without RACK, if
    /// the number of selectively acknowledged segments reaches the degree of reordering
    /// (`tcp_time_to_recover`).
    pub(super) fn is_time_to_recover(&self, tcb: &Tcb) -> bool {
        let counted = !tcb.profile.rack && tcb.board.sacked_out() + 1 > self.reordering.degree();
        tcb.board.lost_out() > 0 || counted
    }

    /// Returns whether data beyond the degree of reordering is selectively acknowledged.
    pub(super) fn has_far_sacks(&self, tcb: &Tcb) -> bool {
        let reach = u64::from(self.reordering.degree()) * u64::from(tcb.window.mss);
        tcb.board.highest_sack(tcb.snd.una) > tcb.snd.una + reach
    }

    /// Marks a segment as lost if enough segments above it are selectively acknowledged (RFC 6675).
    /// If too few segments are selectively acknowledged and `fast` is set, marks the head
    /// (`tcp_update_scoreboard`).
    pub(super) fn update_scoreboard(&self, tcb: &mut Tcb, fast: bool) {
        if !tcb.options.sack {
            return;
        }
        match tcb.board.sacked_out().checked_sub(self.reordering.degree()) {
            Some(limit) => mark_head_lost(tcb, limit, Extent::All),
            None if fast => mark_head_lost(tcb, 1, Extent::Head),
            None => {}
        }
    }

    /// Marks the segments as lost after a timeout. With RACK, segments after the head that were
    /// sent within the last round-trip time are not marked. A head tagged S shows that the receiver
    /// has reneged; all tags S are then removed, and all segments are marked
    /// (`tcp_timeout_mark_lost`).
    fn mark_lost_by_timeout(&mut self, tcb: &mut Tcb) {
        let Some(head) = tcb.board.front_id() else { return };
        let reneging = tcb.board.get(head).is(SACKED);
        if reneging {
            tcb.board.clear_sacked();
            self.recovery.set_reneging();
        } else if !tcb.options.sack {
            tcb.board.set_emulated_sacks(0);
        }
        let now = tcb.now();
        for id in tcb.board.ids() {
            let sent = tcb.board.get(id);
            let may_spare = !reneging && tcb.profile.rack && id != head;
            if !(may_spare && self.rack.is_recent(now, sent)) {
                tcb.mark_lost(id);
            }
        }
        tcb.board.clear_hints();
    }

    /// Enters the loss state after a timeout: marks segments as lost, and sets the window to one
    /// segment more than is in flight (`tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self, tcb: &mut Tcb) {
        let is_fresh = self.recovery.ca() < CaState::Recovery;
        self.mark_lost_by_timeout(tcb);
        let ca = self.recovery.ca();
        let is_first = ca == CaState::Loss && self.recovery.retransmits() == 0;
        if ca <= CaState::Disorder || self.recovery.high_seq() <= tcb.snd.una || is_first {
            self.undo.set_prior_ssthresh(self.current_ssthresh(tcb));
            self.prr.on_timeout(tcb.window.cwnd);
            tcb.window.ssthresh = tcb.reduced_ssthresh(Signal::Rto);
            self.init_undo(tcb);
        }
        tcb.window.cwnd = tcb.units(u64::from(tcb.board.in_flight()) + 1);
        self.usage.on_change(tcb.now());
        if ca <= CaState::Disorder {
            self.reordering.on_timeout_after(tcb.board.sacked_out());
        }
        self.recovery.set_ca(CaState::Loss);
        self.recovery.set_high_seq(tcb.snd.nxt);
        // A probe in flight counts in `init_undo`, so it ends only now.
        self.tlp.end();
        tcb.ecn.cwr |= tcb.options.ecn;
        let repeats = self.recovery.retransmits() > 0;
        self.recovery.set_frto(tcb.profile.frto && (is_fresh || repeats));
        tcb.notify(CcEvent::RtoEntered);
    }

    /// Processes an acknowledgement after a timeout, with F-RTO (RFC 5682 §3.1, the version with
    /// SACK). Returns the segments to send.
    pub(super) fn process_loss(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &AckState,
        is_duplicate: bool,
    ) -> Rexmit {
        let is_recovered = tcb.snd.una >= self.recovery.high_seq();
        let advanced = ack.has(flag::SND_UNA_ADVANCED);
        if advanced && self.try_undo_loss(tcb, header, Frto::Unproven) {
            return Rexmit::None;
        }
        if self.recovery.is_frto() {
            // Step 3b: data that was never retransmitted has been delivered.
            let original = ack.has(flag::ORIG_SACK_ACKED);
            if original && self.try_undo_loss(tcb, header, Frto::Proven) {
                return Rexmit::None;
            }
            if tcb.snd.nxt > self.recovery.high_seq() {
                if ack.has(flag::DATA_SACKED) || is_duplicate {
                    self.recovery.set_frto(false);
                }
            } else if advanced && !is_recovered {
                self.recovery.set_high_seq(tcb.snd.nxt);
                // Step 2b: new data is sent once the window is up to date.
                if tcb.snd.has_unsent() && tcb.snd.window_end() > tcb.snd.nxt {
                    return Rexmit::New;
                }
                self.recovery.set_frto(false);
            }
        }
        if is_recovered {
            self.try_undo_recovery(tcb, header);
            return Rexmit::None;
        }
        if !tcb.options.sack {
            if tcb.snd.nxt > self.recovery.high_seq() && is_duplicate {
                self.add_emulated_sack(tcb, ack);
            } else if advanced {
                tcb.board.set_emulated_sacks(0);
            }
        }
        Rexmit::Lost
    }
}

/// The segments that [`mark_head_lost`] may mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Head,
    All,
}

/// Marks segments as lost, starting at the head, until more than `limit` selectively acknowledged
/// segments have been passed. With [`Extent::Head`], marks at most the head (`tcp_mark_head_lost`).
fn mark_head_lost(tcb: &mut Tcb, limit: u32, extent: Extent) {
    let Some(front) = tcb.board.front_id() else { return };
    let hint = tcb.board.lost_hint();
    let (start, mut count) = hint.unwrap_or((front, 0));
    if extent == Extent::Head && hint.is_some() && start != front {
        return;
    }
    for id in start..tcb.board.end_id() {
        tcb.board.set_lost_hint(id, count);
        let flags = tcb.board.get(id).flags;
        if flags & SACKED != 0 {
            count += 1;
        }
        if count > limit {
            break;
        }
        if flags & LOST == 0 {
            tcb.mark_lost(id);
        }
        if extent == Extent::Head {
            break;
        }
    }
}
