//! The undoing of spurious window reductions.
//!
//! Sources: RFC 3522 (Eifel: the peer echoes the timestamp of an original that was also
//! retransmitted) and RFC 3708 (a duplicate is reported for every retransmission). Linux 6.1
//! `tcp_init_undo`, `tcp_may_undo`, `tcp_packet_delayed`, `tcp_undo_cwnd_reduction`,
//! `tcp_try_undo_*`.
//!
//! `loss.rs` implements F-RTO (RFC 5682), a further test for spurious timeouts. On FreeBSD,
//! `freebsd/ack.rs` undoes spurious timeouts.

use aqmlab_core::TcpHeader;

use super::Linux;
use super::rtx_queue::echoes_before;
use crate::cc::CcEvent;
use crate::common::scoreboard::EVER_RETRANS;
use crate::tcb::Tcb;

/// The state that undoing a reduction restores, and the evidence for undoing it.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// The value of `snd_una` when the reduction began; zero if the reduction cannot be undone
    /// (`undo_marker`).
    marker: u64,
    /// The number of retransmissions not reported as duplicates; `None` before the first
    /// retransmission (`undo_retrans`).
    retrans: Option<u32>,
    /// The timestamp of the first retransmission, if there was one (`retrans_stamp`).
    retrans_stamp: Option<u32>,
    /// The slow-start threshold to restore; zero if the congestion is certain, so that neither the
    /// threshold nor the window is restored (`prior_ssthresh`).
    prior_ssthresh: u64,
    /// The number of segments reported as duplicates since the connection began (`dsack_dups`).
    dsack_dups: u64,
    /// The number of segments retransmitted since the connection began (`total_retrans`).
    total_retrans: u64,
}

impl Undo {
    /// Returns whether the current reduction can be undone.
    #[inline]
    pub(super) const fn is_possible(&self) -> bool {
        self.marker != 0
    }

    /// Returns the value of `snd_una` when the reduction began; zero if the reduction cannot be
    /// undone.
    #[inline]
    pub(super) const fn marker(&self) -> u64 {
        self.marker
    }

    /// Returns the timestamp of the first retransmission, if there was one.
    pub(super) const fn retrans_stamp(&self) -> Option<u32> {
        self.retrans_stamp
    }

    /// Makes it impossible to undo the current reduction.
    pub(super) fn rule_out(&mut self) {
        self.marker = 0;
    }

    /// Sets the slow-start threshold to restore; zero if the congestion is certain.
    pub(super) fn set_prior_ssthresh(&mut self, ssthresh: u64) {
        self.prior_ssthresh = ssthresh;
    }

    /// Records that a reduction begins at `una` with `out` retransmissions in flight.
    fn begin(&mut self, una: u64, out: u32) {
        self.marker = una;
        self.retrans = (out > 0).then_some(out);
    }

    /// Records that a segment is sent again, as a retransmission or a probe.
    pub(super) fn on_resend(&mut self) {
        self.total_retrans += 1;
    }

    /// Records that a segment is retransmitted with `timestamp`.
    pub(super) fn on_retransmit(&mut self, timestamp: u32) {
        self.retrans_stamp.get_or_insert(timestamp);
        *self.retrans.get_or_insert(0) += 1;
    }

    /// Clears the timestamp of the first retransmission.
    pub(super) fn clear_retrans_stamp(&mut self) {
        self.retrans_stamp = None;
    }

    /// Adds `segments` to the number of reported duplicates. Returns whether this number is at most
    /// the number of retransmitted segments.
    pub(super) fn count_dsack(&mut self, segments: u64) -> bool {
        self.dsack_dups += segments;
        self.dsack_dups <= self.total_retrans
    }

    /// Subtracts `segments`, which the peer has now reported as duplicates, from the number of
    /// unreported retransmissions.
    pub(super) fn discount(&mut self, segments: u32) {
        if let Some(retrans) = &mut self.retrans {
            *retrans = retrans.saturating_sub(segments);
        }
    }

    /// Returns whether the peer reported a duplicate for every retransmission.
    fn all_duplicates(&self) -> bool {
        self.retrans == Some(0)
    }
}

impl Linux {
    /// Records the start of a reduction that may be undone (`tcp_init_undo`).
    pub(super) fn init_undo(&mut self, tcb: &Tcb) {
        // A probe in flight may also be reported as a duplicate.
        let probes = u32::from(self.tlp.has_retransmitted());
        self.undo.begin(tcb.snd.una, tcb.board.retrans_out() + probes);
    }

    /// Returns whether the acknowledgement is for data that was sent before the first
    /// retransmission. If no retransmission is recorded, this holds too. The exception is a
    /// connection without SACK that has repaired all losses: it keeps its state, but no longer has
    /// the timestamp of the first retransmission. A host that never undoes reductions returns false
    /// (`tcp_packet_delayed`).
    fn is_packet_delayed(&self, tcb: &Tcb, header: &TcpHeader) -> bool {
        let delayed = match self.undo.retrans_stamp {
            Some(stamp) => echoes_before(header, stamp),
            None => tcb.options.sack || tcb.snd.una < self.recovery.high_seq(),
        };
        tcb.profile.undo && delayed
    }

    /// Clears the timestamp of the first retransmission if no retransmission is outstanding, so
    /// that a new recovery records its own (`tcp_retrans_stamp_cleanup`).
    pub(super) fn cleanup_retrans_stamp(&mut self, tcb: &Tcb) {
        if !has_retransmitted(tcb) {
            self.undo.clear_retrans_stamp();
        }
    }

    /// Returns whether an acknowledgement shows that the reduction was spurious (`tcp_may_undo`).
    fn may_undo(&self, tcb: &Tcb, header: &TcpHeader) -> bool {
        let duplicated = tcb.profile.undo && self.undo.all_duplicates();
        self.undo.is_possible() && (duplicated || self.is_packet_delayed(tcb, header))
    }

    /// Undoes the reduction, and restores the window and the slow-start threshold, unless the
    /// congestion is certain (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, tcb: &mut Tcb) {
        if self.undo.prior_ssthresh != 0 {
            tcb.window.cwnd = tcb.cc.undo_cwnd(&tcb.window, self.prr.prior_cwnd());
            if self.undo.prior_ssthresh > tcb.window.ssthresh {
                tcb.window.ssthresh = self.undo.prior_ssthresh;
                tcb.ecn.cwr = false;
            }
        }
        self.usage.on_change(tcb.now());
        self.undo.rule_out();
        self.rack.force_detection();
        tcb.stats.spurious_undos += 1;
        tcb.notify(CcEvent::Undone);
    }

    /// Removes all tags L, and undoes the reduction (`tcp_undo_cwnd_reduction` with `unmark_loss`).
    fn undo_losses(&mut self, tcb: &mut Tcb) {
        tcb.board.clear_lost();
        self.undo_reduction(tcb);
    }

    /// Undoes the reduction if it was spurious, and ends recovery unless a connection without SACK
    /// must keep its state for now. Returns whether the state is kept (`tcp_try_undo_recovery`).
    pub(super) fn try_undo_recovery(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> bool {
        if self.may_undo(tcb, header) {
            self.undo_reduction(tcb);
        } else {
            self.rack.on_recovery_kept();
        }
        if self.must_stay_without_sack(tcb) {
            return true;
        }
        self.recovery.open();
        tcb.notify(CcEvent::Opened);
        false
    }

    /// If every retransmission was reported as a duplicate, undoes the reduction and returns true
    /// (`tcp_try_undo_dsack`).
    pub(super) fn try_undo_by_dsack(&mut self, tcb: &mut Tcb) -> bool {
        let duplicated = tcb.profile.undo && self.undo.all_duplicates();
        if !self.undo.is_possible() || !duplicated {
            return false;
        }
        self.rack.on_dsack_undo();
        self.undo_reduction(tcb);
        true
    }

    /// Undoes the reduction after a timeout, if an acknowledgement or F-RTO's `proof` shows that
    /// the timeout was spurious. Returns whether the reduction was undone (`tcp_try_undo_loss`).
    pub(super) fn try_undo_loss(&mut self, tcb: &mut Tcb, header: &TcpHeader, proof: Frto) -> bool {
        let proven = proof == Frto::Proven;
        if !proven && !self.may_undo(tcb, header) {
            return false;
        }
        self.undo_losses(tcb);
        self.recovery.clear_retransmits();
        if self.must_stay_without_sack(tcb) {
            return true;
        }
        if proven || tcb.options.sack {
            self.recovery.open();
            tcb.notify(CcEvent::Opened);
        }
        true
    }

    /// Undoes a reduction during fast recovery, if a partial acknowledgement shows that the
    /// reduction was spurious. In this case also records reordering (`tcp_try_undo_partial`).
    pub(super) fn try_undo_partial(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        prior_una: u64,
    ) -> PartialUndo {
        if !self.undo.is_possible() || !self.is_packet_delayed(tcb, header) {
            return PartialUndo::No;
        }
        self.reordering.on_overtaken(tcb, prior_una);
        if tcb.board.retrans_out() > 0 {
            return PartialUndo::Wait;
        }
        self.cleanup_retrans_stamp(tcb);
        self.undo_losses(tcb);
        self.try_keep_open(tcb);
        PartialUndo::Done
    }

    /// Returns whether a connection without SACK must keep its state. It does so until data above
    /// `high_seq` is acknowledged, so that duplicates of old data do not start another recovery
    /// (RFC 6582 §3.2; `tcp_is_non_sack_preventing_reopen`).
    fn must_stay_without_sack(&mut self, tcb: &Tcb) -> bool {
        let stays = tcb.snd.una == self.recovery.high_seq() && !tcb.options.sack;
        if stays {
            self.cleanup_retrans_stamp(tcb);
        }
        stays
    }
}

/// Whether F-RTO has proved that a timeout was spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frto {
    Proven,
    Unproven,
}

/// The result of [`Linux::try_undo_partial`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartialUndo {
    No,
    /// The reduction is undone.
    Done,
    /// The reduction was spurious, but is not undone while retransmissions are in flight.
    Wait,
}

/// Returns whether a retransmission is in flight, or the head was ever retransmitted
/// (`tcp_any_retrans_done`).
pub(super) fn has_retransmitted(tcb: &Tcb) -> bool {
    tcb.board.retrans_out() > 0 || tcb.board.front().is_some_and(|front| front.is(EVER_RETRANS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing;

    /// Tests that a probe in flight counts as a retransmission of the recovery that begins
    /// meanwhile (Linux 6.1.100 `tcp_init_undo`). A duplicate caused by the probe is then no
    /// evidence about the recovery's retransmissions.
    #[test]
    fn a_probe_in_flight_counts_among_the_retransmissions() {
        for (probe, out, want) in [
            (None, 0, None),
            (None, 2, Some(2)),
            (Some(false), 0, None),
            (Some(true), 0, Some(1)),
            (Some(true), 2, Some(3)),
        ] {
            let (mut linux, mut tcb) = testing::open("reno");
            testing::send(&mut tcb, 2);
            (0..out).for_each(|id| tcb.board.mark_retransmitted(id));
            if let Some(repeats) = probe {
                linux.tlp.begin(5_000, repeats);
            }
            linux.init_undo(&tcb);
            assert_eq!(linux.undo.retrans, want, "{probe:?} {out}");
        }
    }

    /// Tests that without a recorded retransmission an acknowledgement is for an original (Linux
    /// 6.1.113 `tcp_packet_delayed`). A connection without SACK at `high_seq` is an exception: its
    /// `retrans_stamp` may already be cleared.
    #[test]
    fn without_a_retransmission_every_arrival_is_an_original() {
        let header = TcpHeader { timestamps: true, ts_ecr: 50, ..TcpHeader::default() };
        for (stamp, sack, una, want) in [
            (None, true, 10, true),
            (None, false, 9, true),
            (None, false, 10, false),
            (Some(51), true, 10, true),
            (Some(50), true, 10, false),
        ] {
            let (mut linux, mut tcb) = testing::open("reno");
            linux.undo.retrans_stamp = stamp;
            linux.recovery.set_high_seq(10);
            tcb.options.sack = sack;
            tcb.snd.una = una;
            assert_eq!(linux.is_packet_delayed(&tcb, &header), want, "{stamp:?} {sack} {una}");
        }
    }
}
