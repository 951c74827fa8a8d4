//! Undoing reductions that turn out to have been spurious.
//!
//! Two witnesses are heard: timestamps that echo an original where a retransmission had been
//! sent (Eifel, RFC 3522), and duplicates reported for every retransmission (RFC 3708).

use aqmlab_core::TcpHeader;

use crate::cc::CcEvent;
use crate::connection::Connection;
use crate::linux::rack::PERSISTENCE;
use crate::state::CaState;

impl Connection {
    pub(crate) fn init_undo(&mut self) {
        self.rec.undo_marker = self.snd.una;
        let out = self.board.retrans_out;
        self.rec.undo_retrans = (out > 0).then_some(out);
    }

    /// Whether what is acknowledged now had been sent before the first retransmission.
    fn is_packet_delayed(&self, header: &TcpHeader) -> bool {
        self.profile.undo
            && self.rec.retrans_stamp.is_some_and(|stamp| Self::echo_before(header, stamp))
    }

    fn may_undo(&self, header: &TcpHeader) -> bool {
        let duplicated = self.profile.undo && self.rec.undo_retrans == Some(0);
        self.rec.undo_marker != 0 && (duplicated || self.is_packet_delayed(header))
    }

    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        if self.rec.prior_ssthresh != 0 {
            self.window.cwnd = self.cc.undo_cwnd(&self.window, self.rec.prior_cwnd);
            if self.rec.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.rec.prior_ssthresh;
                self.ecn.cwr = false;
            }
        }
        self.usage.stamp = self.now();
        self.rec.undo_marker = 0;
        self.rack.advanced = true;
        self.stats.spurious_undos += 1;
        self.notify(CcEvent::Undone);
    }

    /// At the end of recovery. Returns whether the old state must be kept for now.
    pub(crate) fn try_undo_recovery(&mut self, header: &TcpHeader) -> bool {
        if self.may_undo(header) {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        if self.must_stay_without_sack() {
            return true;
        }
        self.set_ca(CaState::Open);
        self.rec.reneging = false;
        false
    }

    /// When duplicates account for all that was retransmitted.
    pub(crate) fn try_undo_by_dsack(&mut self) -> bool {
        let duplicated = self.profile.undo && self.rec.undo_retrans == Some(0);
        if self.rec.undo_marker == 0 || !duplicated {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(PERSISTENCE);
        self.undo_reduction(false);
        true
    }

    /// During loss recovery, after a partial acknowledgement or by F-RTO.
    pub(crate) fn try_undo_loss(&mut self, header: &TcpHeader, frto: bool) -> bool {
        if !frto && !self.may_undo(header) {
            return false;
        }
        self.undo_reduction(true);
        self.rec.retransmits = 0;
        if self.must_stay_without_sack() {
            return true;
        }
        if frto || self.wire.sack {
            self.set_ca(CaState::Open);
            self.rec.reneging = false;
        }
        true
    }

    /// During fast recovery, after a partial acknowledgement. Returns whether to do nothing
    /// more: more reordering than thought, and retransmissions are still out.
    pub(crate) fn try_undo_partial(
        &mut self,
        header: &TcpHeader,
        prior_una: u64,
        do_lost: &mut bool,
    ) -> bool {
        if self.rec.undo_marker == 0 || !self.is_packet_delayed(header) {
            *do_lost = self.has_far_sacks();
            return false;
        }
        self.check_reordering(prior_una);
        if self.board.retrans_out > 0 {
            return true;
        }
        if !self.has_retransmitted() {
            self.rec.retrans_stamp = None;
        }
        self.undo_reduction(true);
        self.try_keep_open();
        false
    }

    /// Without SACK the state is kept until something above is acknowledged, lest duplicates
    /// of the old flight start another recovery (RFC 6582 §3.2).
    fn must_stay_without_sack(&mut self) -> bool {
        let stay = self.snd.una == self.rec.high_seq && !self.wire.sack;
        if stay && !self.has_retransmitted() {
            self.rec.retrans_stamp = None;
        }
        stay
    }
}
