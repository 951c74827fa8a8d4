//! Duplicate acknowledgements: limited transmit, fast retransmission, and the inflation of the
//! window.
//!
//! Sources: FreeBSD 10.4 `sys/netinet/tcp_input.c` (`tcp_do_segment`); RFC 3042; RFC 6582.

use super::FreeBsd;
use super::recovery::DUPLICATE_THRESHOLD;
use crate::cc::{CcEvent, Signal};
use crate::tcb::Tcb;

impl FreeBsd {
    /// Processes a duplicate acknowledgement. If the segment carries the peer's first `fin`,
    /// nothing is sent. Returns whether to process the rest of the segment.
    pub(super) fn process_duplicate(&mut self, tcb: &mut Tcb, ack: u64, fin: bool) -> bool {
        if !Self::awaits_ack(tcb) || ack != tcb.snd.una {
            self.recovery.dup_acks = 0;
            return true;
        }
        tcb.stats.dup_acks += 1;
        self.recovery.dup_acks += 1;
        let count = self.recovery.dup_acks;
        if count > DUPLICATE_THRESHOLD || self.recovery.is_active() {
            tcb.notify(CcEvent::DuplicateAck(tcb.rtt.srtt()));
            self.inflate_window(tcb);
            if !fin {
                self.output(tcb);
            }
            return fin;
        }
        if count == DUPLICATE_THRESHOLD {
            return self.fast_retransmit(tcb, fin);
        }
        if tcb.profile.limited_transmit {
            tcb.notify(CcEvent::DuplicateAck(tcb.rtt.srtt()));
            return self.limited_transmit(tcb, fin);
        }
        true
    }

    /// Grows the window by a segment, because a segment has left the network. During SACK recovery,
    /// the slow-start threshold limits the window.
    fn inflate_window(&self, tcb: &mut Tcb) {
        let mss = u64::from(tcb.window.mss);
        let window = &mut tcb.window;
        if !tcb.options.sack || !self.recovery.is_active() {
            window.cwnd = window.cwnd.saturating_add(mss);
            return;
        }
        // `awnd` is negative if go-back-N sends data below the highest block. FreeBSD compares it
        // as a large value, because `awnd` is signed and `snd_ssthresh` is not.
        let holes = &self.holes;
        let flight = (tcb.snd.nxt + holes.retransmitted).checked_sub(holes.highest);
        if flight.is_some_and(|flight| flight < window.ssthresh) {
            window.cwnd = window.cwnd.saturating_add(mss).min(window.ssthresh);
        }
    }

    /// Processes the third duplicate. Returns whether to process the rest of the segment. Without
    /// SACK, this is the case if the duplicate does not count after a recovery (RFC 6582), or if
    /// the segment carries a `fin`.
    fn fast_retransmit(&mut self, tcb: &mut Tcb, fin: bool) -> bool {
        if !tcb.options.sack && tcb.snd.una <= self.recovery.end {
            self.recovery.dup_acks = 0;
            return true;
        }
        let mss = u64::from(tcb.window.mss);
        tcb.stats.fast_recoveries += 1;
        tcb.ecn.cwr |= tcb.options.ecn;
        if !self.recovery.is_reduced() {
            tcb.window.ssthresh = tcb.reduced_ssthresh(Signal::Loss);
        }
        self.recovery.enter(tcb.snd.max);
        tcb.notify(CcEvent::RecoveryEntered);
        tcb.notify(CcEvent::DuplicateAck(tcb.rtt.srtt()));
        tcb.timers.stop_xmit();
        self.timed = None;
        tcb.window.cwnd = mss;
        if tcb.options.sack {
            self.recovery.new_data_from = tcb.snd.nxt;
            self.output(tcb);
            return false;
        }
        let nxt = tcb.snd.nxt;
        tcb.snd.nxt = tcb.snd.una;
        if fin {
            return true;
        }
        self.output(tcb);
        tcb.window.cwnd = tcb.window.ssthresh.saturating_add(mss * self.recovery.inflation());
        tcb.snd.nxt = tcb.snd.nxt.max(nxt);
        false
    }

    /// Performs limited transmit (RFC 3042): sends a new segment for each of the first two
    /// duplicates, if there is new data. With a `fin`, nothing is sent and the window stays
    /// enlarged. Returns whether to process the rest of the segment.
    fn limited_transmit(&mut self, tcb: &mut Tcb, fin: bool) -> bool {
        let mss = u64::from(tcb.window.mss);
        let quota = self.recovery.limited_quota();
        let (cwnd, max) = (tcb.window.cwnd, tcb.snd.max);
        let offset = tcb.snd.nxt.saturating_sub(tcb.snd.una);
        tcb.window.cwnd = offset + quota * mss;
        if fin {
            return true;
        }
        if tcb.snd.buffered() > offset {
            self.output(tcb);
        }
        self.recovery.on_limited_transmit(tcb.snd.max - max, mss);
        tcb.window.cwnd = cwnd;
        false
    }
}
