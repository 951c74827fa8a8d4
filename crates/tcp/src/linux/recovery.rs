//! The congestion machine: `tcp_fastretrans_alert` and the transitions it makes.

use aqmlab_core::{Duration, TcpHeader};

use super::{AckState, Rexmit, flag};
use crate::cc::{CcEvent, Congestion, Signal};
use crate::common::scoreboard::EVER_RETRANS;
use crate::connection::Connection;
use crate::state::CaState;
use crate::timers::XmitTimer;

impl Connection {
    /// Looks closely at an acknowledgement that is out of the ordinary, or at any while
    /// something is wrong. The window is not reduced here, but later.
    pub(crate) fn alert(
        &mut self,
        header: &TcpHeader,
        ack: &mut AckState,
        duplicate: bool,
    ) -> Rexmit {
        if self.board.is_empty() && self.board.sacked_out > 0 {
            self.board.sacked_out = 0;
        }
        let ece = ack.has(flag::ECE);
        let far = ack.has(flag::DATA_SACKED) && self.has_far_sacks();
        let mut do_lost = duplicate || far;
        if ece {
            self.recovery.prior_ssthresh = 0;
        }
        if self.check_reneging(ack) {
            return Rexmit::None;
        }
        if self.leave_finished_state(header) {
            return Rexmit::None;
        }
        let fast = match self.recovery.ca {
            CaState::Recovery => {
                let stay = self.alert_in_recovery(header, ack, duplicate, &mut do_lost);
                if !stay {
                    return Rexmit::None;
                }
                false
            }
            CaState::Loss => {
                let rexmit = self.process_loss(header, ack, duplicate);
                self.identify_losses(ack);
                if self.recovery.ca != CaState::Open && !ack.has(flag::LOST_RETRANS) {
                    return rexmit;
                }
                if !self.alert_otherwise(ack, duplicate) {
                    return rexmit;
                }
                true
            }
            _ => {
                if !self.alert_otherwise(ack, duplicate) {
                    return Rexmit::None;
                }
                true
            }
        };
        if !self.profile.rack && do_lost {
            self.update_scoreboard(fast);
        }
        Rexmit::Lost
    }

    /// Recovery and the reduction after a mark end when what was out at their beginning is
    /// acknowledged. Returns whether nothing more is to be done.
    fn leave_finished_state(&mut self, header: &TcpHeader) -> bool {
        if self.recovery.ca == CaState::Open {
            self.recovery.retrans_stamp = None;
        } else if self.snd.una >= self.recovery.high_seq {
            match self.recovery.ca {
                // The CWR bit must reach the receiver before: something above is needed.
                CaState::Cwr if self.snd.una != self.recovery.high_seq => {
                    self.end_reduction();
                    self.set_ca(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.options.sack {
                        self.board.sacked_out = 0;
                    }
                    if self.try_undo_recovery(header) {
                        return true;
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }
        false
    }

    /// Returns whether retransmissions are to follow.
    fn alert_in_recovery(
        &mut self,
        header: &TcpHeader,
        ack: &mut AckState,
        duplicate: bool,
        do_lost: &mut bool,
    ) -> bool {
        if !ack.has(flag::SND_UNA_ADVANCED) {
            if !self.options.sack && duplicate {
                self.add_emulated_sack();
            }
        } else if self.try_undo_partial(header, ack.prior_una, do_lost) {
            return false;
        }
        if self.try_undo_by_dsack() {
            self.try_keep_open();
        }
        self.identify_losses(ack);
        if self.recovery.ca != CaState::Recovery {
            if !self.is_time_to_recover() {
                return false;
            }
            self.enter_recovery(ack.has(flag::ECE));
        }
        true
    }

    /// Open, disordered or reducing after a mark; returns whether recovery was entered.
    fn alert_otherwise(&mut self, ack: &mut AckState, duplicate: bool) -> bool {
        if !self.options.sack {
            if ack.has(flag::SND_UNA_ADVANCED) {
                self.board.sacked_out = 0;
            }
            if duplicate {
                self.add_emulated_sack();
            }
        }
        if self.recovery.ca <= CaState::Disorder {
            self.try_undo_by_dsack();
        }
        self.identify_losses(ack);
        if !self.is_time_to_recover() {
            self.try_to_open(ack.has(flag::ECE));
            return false;
        }
        self.enter_recovery(ack.has(flag::ECE));
        true
    }

    /// The acknowledgement stops where something begins that was acknowledged selectively: the
    /// receiver may have thrown it away. It gets a little time to explain itself.
    fn check_reneging(&mut self, ack: &mut AckState) -> bool {
        if !ack.has(flag::SACK_RENEGING) || !ack.has(flag::SND_UNA_ADVANCED) {
            return false;
        }
        let half = self.rtt.srtt().unwrap_or(Duration::ZERO) / 2;
        let wait = half.max(Duration::from_millis(10));
        self.arm(XmitTimer::Retransmit, wait, self.profile.rto_max);
        ack.flags &= !flag::SET_XMIT_TIMER;
        true
    }

    pub(crate) fn set_ca(&mut self, ca: CaState) {
        self.recovery.ca = ca;
    }

    /// The threshold that a reduction would be undone to.
    pub(crate) fn current_ssthresh(&self) -> u64 {
        let window = &self.window;
        if self.recovery.ca.is_reducing() {
            window.ssthresh
        } else {
            window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4)
        }
    }

    /// Asks the controller how far to reduce.
    pub(crate) fn reduced_ssthresh(&mut self, signal: Signal) -> u64 {
        let congestion = Congestion {
            now: self.clock.now,
            in_flight: self.units(u64::from(self.board.in_flight())),
            signal,
            srtt: self.rtt.srtt(),
        };
        self.cc.ssthresh(&self.window, &congestion)
    }

    pub(crate) fn init_reduction(&mut self, signal: Signal) {
        self.recovery.high_seq = self.snd.nxt;
        self.recovery.tlp_high_seq = 0;
        self.recovery.prior_cwnd = self.window.cwnd;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.window.ssthresh = self.reduced_ssthresh(signal);
        self.ecn.cwr |= self.options.ecn;
        if !self.profile.prr && !self.cc.controls_cwnd() {
            self.window.cwnd = self.window.ssthresh.max(self.window.segment);
        }
    }

    /// The reduction is complete.
    pub(crate) fn end_reduction(&mut self) {
        if self.cc.controls_cwnd() {
            return;
        }
        let kept = self.recovery.ca == CaState::Cwr || self.recovery.undo_marker != 0;
        if self.window.ssthresh != u64::MAX && kept {
            self.window.cwnd = self.window.ssthresh.max(self.window.segment);
            self.usage.stamp = self.now();
        }
        self.notify(CcEvent::RecoveryLeft);
    }

    pub(crate) fn notify(&mut self, event: CcEvent) {
        self.cc.on_event(&mut self.window, event, self.clock.now);
    }

    /// A queue has marked a packet: reduce, once a round trip, for good.
    fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = 0;
        if self.recovery.ca < CaState::Cwr {
            self.recovery.undo_marker = 0;
            self.init_reduction(Signal::EcnEcho);
            self.stats.ece_reductions += 1;
            self.set_ca(CaState::Cwr);
        }
    }

    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.stats.fast_recoveries += 1;
        self.forget_retrans_stamp();
        self.recovery.prior_ssthresh = 0;
        self.init_undo();
        if !self.recovery.ca.is_reducing() {
            if !ece {
                self.recovery.prior_ssthresh = self.current_ssthresh();
            }
            self.init_reduction(Signal::Loss);
        }
        self.set_ca(CaState::Recovery);
        self.notify(CcEvent::RecoveryEntered);
    }

    /// Back to open, or to disorder while anything is unclear.
    pub(crate) fn try_keep_open(&mut self) {
        let unclear = self.board.left_out() > 0 || self.has_retransmitted();
        let ca = if unclear { CaState::Disorder } else { CaState::Open };
        if self.recovery.ca != ca {
            self.set_ca(ca);
            self.recovery.high_seq = self.snd.nxt;
        }
    }

    fn try_to_open(&mut self, ece: bool) {
        self.forget_retrans_stamp();
        if ece {
            self.enter_cwr();
        }
        if self.recovery.ca != CaState::Cwr {
            self.try_keep_open();
        }
    }

    /// Whether a retransmission, or something retransmitted before, is outstanding.
    pub(crate) fn has_retransmitted(&self) -> bool {
        self.board.retrans_out > 0 || self.board.front().is_some_and(|front| front.is(EVER_RETRANS))
    }

    /// Enters the state after a timeout: all that was not sent quite recently is lost.
    pub(crate) fn enter_loss(&mut self) {
        let fresh = self.recovery.ca < CaState::Recovery;
        self.mark_lost_by_timeout();
        let first = self.recovery.ca == CaState::Loss && self.recovery.retransmits == 0;
        if self.recovery.ca <= CaState::Disorder || self.recovery.high_seq <= self.snd.una || first
        {
            self.recovery.prior_ssthresh = self.current_ssthresh();
            self.recovery.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.reduced_ssthresh(Signal::Rto);
            self.init_undo();
        }
        self.window.cwnd = self.units(u64::from(self.board.in_flight()) + 1);
        self.usage.stamp = self.now();
        // Many duplicates and still a timeout: reordering was overestimated.
        let floor = self.profile.reordering.min(u64::from(u32::MAX)) as u32;
        if self.recovery.ca <= CaState::Disorder && self.board.sacked_out >= floor {
            self.recovery.reordering = self.recovery.reordering.min(floor);
        }
        self.set_ca(CaState::Loss);
        self.recovery.high_seq = self.snd.nxt;
        self.ecn.cwr |= self.options.ecn;
        self.recovery.frto = self.profile.frto && (fresh || self.recovery.retransmits > 0);
        self.notify(CcEvent::RtoEntered);
    }

    /// An acknowledgement after a timeout (RFC 5682 §3.1, the version with SACK).
    fn process_loss(&mut self, header: &TcpHeader, ack: &AckState, duplicate: bool) -> Rexmit {
        let recovered = self.snd.una >= self.recovery.high_seq;
        let advanced = ack.has(flag::SND_UNA_ADVANCED);
        if advanced && self.try_undo_loss(header, false) {
            return Rexmit::None;
        }
        if self.recovery.frto {
            // Step 3b: something never retransmitted has been delivered.
            if ack.has(flag::ORIG_SACK_ACKED) && self.try_undo_loss(header, true) {
                return Rexmit::None;
            }
            if self.snd.nxt > self.recovery.high_seq {
                if ack.has(flag::DATA_SACKED) || duplicate {
                    self.recovery.frto = false;
                }
            } else if advanced && !recovered {
                self.recovery.high_seq = self.snd.nxt;
                // Step 2b: try new data, once the window is up to date.
                if self.has_unsent() && self.snd.window_end() > self.snd.nxt {
                    return Rexmit::New;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(header);
            return Rexmit::None;
        }
        if !self.options.sack {
            if self.snd.nxt > self.recovery.high_seq && duplicate {
                self.add_emulated_sack();
            } else if advanced {
                self.board.sacked_out = 0;
            }
        }
        Rexmit::Lost
    }
}
