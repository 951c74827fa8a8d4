//! The degree of reordering, for loss detection by counting.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_check_sack_reordering`,
//! `tcp_check_reno_reordering`).

use crate::Profile;
use crate::tcb::Tcb;

/// The degree of reordering of a connection.
#[derive(Debug)]
pub(super) struct Reordering {
    /// The number of segments by which a segment may be reordered (`reordering`).
    degree: u32,
    initial: u64,
    max: u64,
    /// The number of reordering events (`reord_seen`).
    seen: u32,
}

impl Reordering {
    pub(super) fn new(profile: &Profile) -> Self {
        Self {
            degree: saturated(profile.reordering),
            initial: profile.reordering,
            max: profile.reordering_max,
            seen: 0,
        }
    }

    #[inline]
    pub(super) const fn degree(&self) -> u32 {
        self.degree
    }

    /// Returns whether reordering has ever occurred.
    #[inline]
    pub(super) const fn is_seen(&self) -> bool {
        self.seen > 0
    }

    /// Returns whether the degree exceeds its initial value.
    #[inline]
    pub(super) fn has_grown(&self) -> bool {
        u64::from(self.degree) > self.initial
    }

    /// Records that the segment at `low` arrived late, if a higher segment is selectively
    /// acknowledged. Raises the degree if the distance exceeds it.
    pub(super) fn on_overtaken(&mut self, tcb: &Tcb, low: u64) {
        let fack = tcb.board.highest_sack(tcb.snd.una);
        if low >= fack {
            return;
        }
        let mss = u64::from(tcb.window.mss.max(1));
        let distance = fack - low;
        if distance > u64::from(self.degree) * mss {
            self.degree = distance.div_ceil(mss).min(self.max) as u32;
        }
        self.seen += 1;
    }

    /// Records reordering without SACK, because more duplicate acknowledgements arrived than
    /// segments were outstanding and not lost. Sets the degree to `segments`, up to its maximum.
    pub(super) fn on_excess_duplicates(&mut self, segments: u64) {
        self.degree = segments.min(self.max) as u32;
        self.seen += 1;
    }

    /// Limits the degree to its initial value after a timeout, if `sacked`, the number of
    /// selectively acknowledged segments, is at least this value. The degree was then too high
    /// (`tcp_enter_loss`).
    pub(super) fn on_timeout_after(&mut self, sacked: u32) {
        let initial = saturated(self.initial);
        if sacked >= initial {
            self.degree = self.degree.min(initial);
        }
    }
}

fn saturated(count: u64) -> u32 {
    count.min(u64::from(u32::MAX)) as u32
}
