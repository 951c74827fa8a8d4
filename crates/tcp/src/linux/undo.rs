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
        self.recovery.undo_marker = self.snd.una;
        // A probe in flight may be reported as a duplicate, too.
        let probe = self.recovery.tlp_high_seq != 0 && self.recovery.tlp_retrans;
        let out = self.board.retrans_out + u32::from(probe);
        self.recovery.undo_retrans = (out > 0).then_some(out);
    }

    /// Whether what is acknowledged now had been sent before the first retransmission, as it has
    /// if there was none. Without SACK the state is kept after the end of recovery, when there is
    /// no first retransmission any more.
    fn is_packet_delayed(&self, header: &TcpHeader) -> bool {
        let delayed = match self.recovery.retrans_stamp {
            Some(stamp) => Self::echo_before(header, stamp),
            None => self.options.sack || self.snd.una < self.recovery.high_seq,
        };
        self.profile.undo && delayed
    }

    /// A new recovery measures from its own first retransmission.
    pub(crate) fn forget_retrans_stamp(&mut self) {
        if !self.has_retransmitted() {
            self.recovery.retrans_stamp = None;
        }
    }

    fn may_undo(&self, header: &TcpHeader) -> bool {
        let duplicated = self.profile.undo && self.recovery.undo_retrans == Some(0);
        self.recovery.undo_marker != 0 && (duplicated || self.is_packet_delayed(header))
    }

    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        if self.recovery.prior_ssthresh != 0 {
            self.window.cwnd = self.cc.undo_cwnd(&self.window, self.recovery.prior_cwnd);
            if self.recovery.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.recovery.prior_ssthresh;
                self.ecn.cwr = false;
            }
        }
        self.usage.stamp = self.now();
        self.recovery.undo_marker = 0;
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
        self.recovery.reneging = false;
        false
    }

    /// When duplicates account for all that was retransmitted.
    pub(crate) fn try_undo_by_dsack(&mut self) -> bool {
        let duplicated = self.profile.undo && self.recovery.undo_retrans == Some(0);
        if self.recovery.undo_marker == 0 || !duplicated {
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
        self.recovery.retransmits = 0;
        if self.must_stay_without_sack() {
            return true;
        }
        if frto || self.options.sack {
            self.set_ca(CaState::Open);
            self.recovery.reneging = false;
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
        if self.recovery.undo_marker == 0 || !self.is_packet_delayed(header) {
            *do_lost = self.has_far_sacks();
            return false;
        }
        self.check_reordering(prior_una);
        if self.board.retrans_out > 0 {
            return true;
        }
        self.forget_retrans_stamp();
        self.undo_reduction(true);
        self.try_keep_open();
        false
    }

    /// Without SACK the state is kept until something above is acknowledged, lest duplicates
    /// of the old flight start another recovery (RFC 6582 §3.2).
    fn must_stay_without_sack(&mut self) -> bool {
        let stay = self.snd.una == self.recovery.high_seq && !self.options.sack;
        if stay && !self.has_retransmitted() {
            self.recovery.retrans_stamp = None;
        }
        stay
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Args;

    use super::*;
    use crate::{Config, Profile};

    fn connection() -> Connection {
        let kind = crate::cc::kinds::find("reno").unwrap();
        let config = Config::new(Profile::linux(), (kind.build)(&Args::defaults(kind.params)));
        let mut connection = Connection::passive(config);
        connection.options.sack = true;
        connection
    }

    /// Linux 6.1.100 `tcp_init_undo`: the duplicate that a probe causes says nothing about the
    /// retransmissions of a recovery that begins while it is out.
    #[test]
    fn a_probe_in_flight_counts_among_the_retransmissions() {
        for (high, repeats, out, want) in [
            (0, false, 0, None),
            (0, false, 2, Some(2)),
            (5_000, false, 0, None),
            (5_000, true, 0, Some(1)),
            (5_000, true, 2, Some(3)),
        ] {
            let mut connection = connection();
            connection.recovery.tlp_high_seq = high;
            connection.recovery.tlp_retrans = repeats;
            connection.board.retrans_out = out;
            connection.init_undo();
            assert_eq!(connection.recovery.undo_retrans, want, "{high} {repeats} {out}");
        }
    }

    /// Linux 6.1.113 `tcp_packet_delayed`: without any retransmission there is nothing that
    /// could have repaired a loss. Without SACK, `retrans_stamp` is forgotten early.
    #[test]
    fn where_nothing_was_retransmitted_all_that_arrives_is_an_original() {
        let header = TcpHeader { timestamps: true, ts_ecr: 50, ..TcpHeader::default() };
        for (stamp, sack, una, want) in [
            (None, true, 10, true),
            (None, false, 9, true),
            (None, false, 10, false),
            (Some(51), true, 10, true),
            (Some(50), true, 10, false),
        ] {
            let mut connection = connection();
            connection.recovery.retrans_stamp = stamp;
            connection.recovery.high_seq = 10;
            connection.options.sack = sack;
            connection.snd.una = una;
            assert_eq!(connection.is_packet_delayed(&header), want, "{stamp:?} {sack} {una}");
        }
    }
}
