//! The congestion state machine and its transitions.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert` and its callees).

use aqmlab_core::{Duration, TcpHeader};

use super::Linux;
use super::ack::{AckState, Rexmit, flag};
use super::undo::{PartialUndo, has_retransmitted};
use crate::cc::{CcEvent, Signal};
use crate::state::CaState;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The minimum wait for a receiver that seems to renege (`tcp_check_sack_reneging`).
const RENEGING_WAIT: Duration = Duration::from_millis(10);

/// The congestion state.
#[derive(Debug)]
pub(super) struct Recovery {
    ca: CaState,
    /// The value of `snd_nxt` when the state began. The acknowledgement of this number ends the
    /// state.
    high_seq: u64,
    /// Whether the receiver discarded data that it had acknowledged selectively (`is_sack_reneg`).
    is_reneging: bool,
    /// Whether F-RTO is checking for a spurious timeout (`frto`).
    frto: bool,
    /// The number of timeouts since the last progress (`icsk_retransmits`).
    retransmits: u32,
}

impl Default for Recovery {
    fn default() -> Self {
        Self { ca: CaState::Open, high_seq: 0, is_reneging: false, frto: false, retransmits: 0 }
    }
}

impl Recovery {
    #[inline]
    pub(super) const fn ca(&self) -> CaState {
        self.ca
    }

    pub(super) fn set_ca(&mut self, ca: CaState) {
        self.ca = ca;
    }

    /// Enters the open state, and clears the record that the receiver reneged.
    pub(super) fn open(&mut self) {
        self.ca = CaState::Open;
        self.is_reneging = false;
    }

    /// Returns the value of `snd_nxt` when the state began.
    #[inline]
    pub(super) const fn high_seq(&self) -> u64 {
        self.high_seq
    }

    pub(super) fn set_high_seq(&mut self, high_seq: u64) {
        self.high_seq = high_seq;
    }

    #[inline]
    pub(super) const fn is_reneging(&self) -> bool {
        self.is_reneging
    }

    pub(super) fn set_reneging(&mut self) {
        self.is_reneging = true;
    }

    pub(super) const fn is_frto(&self) -> bool {
        self.frto
    }

    pub(super) fn set_frto(&mut self, frto: bool) {
        self.frto = frto;
    }

    /// Returns the number of timeouts since the last progress.
    pub(super) const fn retransmits(&self) -> u32 {
        self.retransmits
    }

    pub(super) fn count_retransmit(&mut self) {
        self.retransmits += 1;
    }

    #[inline]
    pub(super) fn clear_retransmits(&mut self) {
        self.retransmits = 0;
    }
}

impl Linux {
    /// Processes an acknowledgement that may indicate loss, reordering or congestion, or that
    /// arrives in any state except open. Returns the segments to send after the window has been
    /// updated (`tcp_fastretrans_alert`).
    pub(super) fn fastretrans_alert(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &mut AckState,
        is_duplicate: bool,
    ) -> Rexmit {
        if tcb.board.is_empty() && tcb.board.sacked_out() > 0 {
            tcb.board.set_emulated_sacks(0);
        }
        let far = ack.has(flag::DATA_SACKED) && self.has_far_sacks(tcb);
        let mut do_lost = is_duplicate || far;
        if ack.has(flag::ECE) {
            self.undo.set_prior_ssthresh(0);
        }
        if Self::check_reneging(tcb, ack) || self.leave_finished_state(tcb, header) {
            return Rexmit::None;
        }
        let fast = match self.recovery.ca {
            CaState::Recovery => {
                if !self.alert_in_recovery(tcb, header, ack, is_duplicate, &mut do_lost) {
                    return Rexmit::None;
                }
                false
            }
            CaState::Loss => {
                let rexmit = self.process_loss(tcb, header, ack, is_duplicate);
                self.identify_losses(tcb, ack);
                if self.recovery.ca != CaState::Open && !ack.has(flag::LOST_RETRANS) {
                    return rexmit;
                }
                if !self.alert_otherwise(tcb, ack, is_duplicate) {
                    return rexmit;
                }
                true
            }
            _ => {
                if !self.alert_otherwise(tcb, ack, is_duplicate) {
                    return Rexmit::None;
                }
                true
            }
        };
        if !tcb.profile.rack && do_lost {
            self.update_scoreboard(tcb, fast);
        }
        Rexmit::Lost
    }

    /// Ends a state if the data that was in flight at its start is acknowledged. Returns whether
    /// the processing of the acknowledgement ends, because the state must be kept for now.
    fn leave_finished_state(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> bool {
        if self.recovery.ca == CaState::Open {
            self.undo.clear_retrans_stamp();
        } else if tcb.snd.una >= self.recovery.high_seq {
            match self.recovery.ca {
                // Data above `high_seq` must be acknowledged, because only that data shows that the
                // CWR bit has reached the receiver.
                CaState::Cwr if tcb.snd.una != self.recovery.high_seq => {
                    self.end_reduction(tcb);
                    self.recovery.set_ca(CaState::Open);
                    tcb.notify(CcEvent::Opened);
                }
                CaState::Recovery => {
                    if !tcb.options.sack {
                        tcb.board.set_emulated_sacks(0);
                    }
                    if self.try_undo_recovery(tcb, header) {
                        return true;
                    }
                    self.end_reduction(tcb);
                }
                _ => {}
            }
        }
        false
    }

    /// Processes an acknowledgement in the recovery state. Returns whether to retransmit. After a
    /// partial acknowledgement, updates `do_lost`, which states whether counting may mark further
    /// segments as lost.
    fn alert_in_recovery(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &mut AckState,
        is_duplicate: bool,
        do_lost: &mut bool,
    ) -> bool {
        if ack.has(flag::SND_UNA_ADVANCED) {
            match self.try_undo_partial(tcb, header, ack.prior_una) {
                PartialUndo::No => *do_lost = self.has_far_sacks(tcb),
                PartialUndo::Done => {}
                PartialUndo::Wait => return false,
            }
        } else if !tcb.options.sack && is_duplicate {
            self.add_emulated_sack(tcb, ack);
        }
        if self.try_undo_by_dsack(tcb) {
            self.try_keep_open(tcb);
        }
        self.identify_losses(tcb, ack);
        if self.recovery.ca != CaState::Recovery {
            if !self.is_time_to_recover(tcb) {
                return false;
            }
            self.enter_recovery(tcb, ack.has(flag::ECE));
        }
        true
    }

    /// Processes an acknowledgement outside the recovery state. Returns whether recovery begins.
    fn alert_otherwise(&mut self, tcb: &mut Tcb, ack: &mut AckState, is_duplicate: bool) -> bool {
        if !tcb.options.sack {
            if ack.has(flag::SND_UNA_ADVANCED) {
                tcb.board.set_emulated_sacks(0);
            }
            if is_duplicate {
                self.add_emulated_sack(tcb, ack);
            }
        }
        if self.recovery.ca <= CaState::Disorder {
            self.try_undo_by_dsack(tcb);
        }
        self.identify_losses(tcb, ack);
        let ece = ack.has(flag::ECE);
        if !self.is_time_to_recover(tcb) {
            self.try_to_open(tcb, ece);
            return false;
        }
        self.enter_recovery(tcb, ece);
        true
    }

    /// Checks whether the acknowledgement ends where selectively acknowledged data begins, because
    /// the receiver may have discarded that data. If so, sets the retransmission timer to a short
    /// wait for another acknowledgement, and returns true (`tcp_check_sack_reneging`).
    fn check_reneging(tcb: &mut Tcb, ack: &mut AckState) -> bool {
        if !ack.has(flag::SACK_RENEGING) || !ack.has(flag::SND_UNA_ADVANCED) {
            return false;
        }
        let half = tcb.rtt.srtt().unwrap_or(Duration::ZERO) / 2;
        let limit = tcb.profile.rto_max;
        tcb.arm(XmitTimer::Retransmit, half.max(RENEGING_WAIT), limit);
        ack.clear(flag::SET_XMIT_TIMER);
        true
    }

    /// Handles an ECN echo: reduces the window once per round trip. This reduction is never undone
    /// (`tcp_enter_cwr`).
    fn enter_cwr(&mut self, tcb: &mut Tcb) {
        self.undo.set_prior_ssthresh(0);
        if self.recovery.ca < CaState::Cwr {
            self.undo.rule_out();
            self.init_reduction(tcb, Signal::EcnEcho);
            tcb.stats.ece_reductions += 1;
            self.recovery.set_ca(CaState::Cwr);
            tcb.notify(CcEvent::CwrEntered);
        }
    }

    /// Begins fast recovery. `ece` states whether the acknowledgement carries ECE. If it does, the
    /// window is never restored (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, tcb: &mut Tcb, ece: bool) {
        tcb.stats.fast_recoveries += 1;
        self.cleanup_retrans_stamp(tcb);
        self.undo.set_prior_ssthresh(0);
        self.init_undo(tcb);
        if !self.recovery.ca.is_reducing() {
            if !ece {
                self.undo.set_prior_ssthresh(self.current_ssthresh(tcb));
            }
            self.init_reduction(tcb, Signal::Loss);
        }
        self.recovery.set_ca(CaState::Recovery);
        tcb.notify(CcEvent::RecoveryEntered);
    }

    /// Returns to the open state, or to disorder while losses are possible (`tcp_try_keep_open`).
    pub(super) fn try_keep_open(&mut self, tcb: &mut Tcb) {
        let is_unclear = tcb.board.left_out() > 0 || has_retransmitted(tcb);
        let ca = if is_unclear { CaState::Disorder } else { CaState::Open };
        if self.recovery.ca != ca {
            self.recovery.set_ca(ca);
            self.recovery.high_seq = tcb.snd.nxt;
            if ca == CaState::Open {
                tcb.notify(CcEvent::Opened);
            }
        }
    }

    /// Processes an acknowledgement that does not begin recovery: reduces the window after an ECN
    /// echo, and otherwise returns to the open state if possible (`tcp_try_to_open`).
    fn try_to_open(&mut self, tcb: &mut Tcb, ece: bool) {
        self.cleanup_retrans_stamp(tcb);
        if ece {
            self.enter_cwr(tcb);
        }
        if self.recovery.ca != CaState::Cwr {
            self.try_keep_open(tcb);
        }
    }
}
