//! The number of `skb`s of the outstanding segments, whose memory the send buffer counts.
//!
//! Source: Linux 6.1 `tcp_match_skb_to_sack`, `tcp_shift_skb_data`. A partial selective
//! acknowledgement or a retransmission splits an `skb` into its segments. Neighbours that are
//! selectively acknowledged merge.
//!
//! The scoreboard stores how much splits and merges change the number, because a send buffer reads
//! it several times during each recovery, when hundreds of segments are outstanding.

use super::Scoreboard;
use super::sent::{EVER_RETRANS, SACKED};

/// The tags that split an `skb`.
const SPLITTING: u8 = SACKED | EVER_RETRANS;

/// The number of `skb`s of which a segment is outstanding, and the effects of tags on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skbs {
    /// The number of `skb`s as they were sent. It is also the number of outstanding segments that
    /// end an `skb`.
    pub(super) sent: u32,
    /// The number of segments in `skb`s that were split, without the first segment of each.
    pub(super) added: u32,
    /// The number of pairs of neighbours that are both selectively acknowledged.
    merged: u32,
}

impl Scoreboard {
    /// Returns the number of `skb`s of the outstanding segments. Splits and merges count only while
    /// a segment has the tag S or R.
    #[inline]
    pub(crate) const fn skbs(&self) -> u32 {
        if self.sacked_out + self.retrans_out == 0 {
            return self.skbs.sent;
        }
        self.skbs.sent + self.skbs.added - self.skbs.merged
    }

    /// Records that a tag of [`SPLITTING`] is about to be set for the segment.
    pub(super) fn split_skb(&mut self, id: u32) {
        if self.get(id).is(SPLITTING) {
            return;
        }
        let (mut start, mut end) = (id, id);
        while !self.begins_skb(start) {
            start -= 1;
            if self.get(start).is(SPLITTING) {
                return;
            }
        }
        while !self.ends_skb(end) {
            end += 1;
            if self.get(end).is(SPLITTING) {
                return;
            }
        }
        self.skbs.added += end - start;
    }

    /// Records that the tag S is set for the segment.
    pub(super) fn merge_sacked(&mut self, id: u32) {
        let has_before = id > self.first() && self.get(id - 1).is_sacked();
        self.skbs.merged += u32::from(has_before) + u32::from(self.is_sacked_at(id + 1));
    }

    /// Records that the first segment is about to be removed.
    pub(super) fn shrink_first_skb(&mut self) {
        let first = self.first();
        let sent = self.get(first);
        let (has_tag, ends_skb) = (sent.is(SPLITTING), sent.ends_skb);
        if sent.is_sacked() && self.is_sacked_at(first + 1) {
            self.skbs.merged -= 1;
        }
        if ends_skb {
            self.skbs.sent -= 1;
        } else if self.skbs.added > 0 {
            self.shrink_first_split(has_tag);
        }
    }

    /// Records that the first segment is about to be removed from its `skb`, which has others. The
    /// segment may have a tag that split the `skb`.
    fn shrink_first_split(&mut self, has_tag: bool) {
        let (mut last, mut is_still_split) = (self.first(), false);
        while !self.ends_skb(last) {
            last += 1;
            is_still_split |= self.get(last).is(SPLITTING);
        }
        if is_still_split {
            self.skbs.added -= 1;
        } else if has_tag {
            self.skbs.added -= last - self.first();
        }
    }

    /// Recomputes how much splits and merges change the number of `skb`s, after all tags S were
    /// removed.
    pub(super) fn count_skbs(&mut self) {
        (self.skbs.added, self.skbs.merged) = (0, 0);
        let mut at = self.first();
        while self.holds(at) {
            let (start, mut is_split) = (at, self.get(at).is(SPLITTING));
            while !self.ends_skb(at) {
                at += 1;
                is_split |= self.get(at).is(SPLITTING);
            }
            if is_split {
                self.skbs.added += at - start;
            }
            at += 1;
        }
    }

    /// Returns whether no outstanding segment before `id` was sent in the same `skb`.
    fn begins_skb(&self, id: u32) -> bool {
        id == self.first() || self.get(id - 1).ends_skb
    }

    /// Returns whether no outstanding segment behind `id` was sent in the same `skb`.
    fn ends_skb(&self, id: u32) -> bool {
        self.get(id).ends_skb || !self.holds(id + 1)
    }

    fn is_sacked_at(&self, id: u32) -> bool {
        self.holds(id) && self.get(id).is_sacked()
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Instant, Rng};

    use super::super::sent::Sent;
    use super::*;

    /// Counts the `skb`s one by one. Without the tags S and R, no `skb` counts as split.
    fn counted(board: &Scoreboard) -> u32 {
        let has_tags = board.sacked_out + board.retrans_out > 0;
        let (mut count, mut in_run, mut at) = (0, false, board.first());
        while board.holds(at) {
            let start = at;
            while !board.ends_skb(at) {
                at += 1;
            }
            at += 1;
            let skb = start..at;
            if !has_tags || !skb.clone().any(|id| board.get(id).is(SPLITTING)) {
                count += 1;
                in_run = false;
                continue;
            }
            for id in skb {
                let is_sacked = board.get(id).is_sacked();
                count += u32::from(!(in_run && is_sacked));
                in_run = is_sacked;
            }
        }
        count
    }

    #[test]
    fn the_stored_number_of_skbs_is_the_counted_number() {
        let mut rng = Rng::stream(1, "skbs");
        let mut board = Scoreboard::default();
        let (mut seq, mut compared) = (1, [0; 4]);
        for step in 0..50_000 {
            let (out, id) = (u64::from(board.packets_out()), board.first());
            match rng.below(12) {
                0..3 if out < 60 => {
                    let segments = 1 + rng.below(5);
                    for number in 1..=segments {
                        let ends_skb = number == segments;
                        board.push(Sent { ends_skb, ..Sent::new(seq, 100, 0) });
                        seq += 100;
                    }
                }
                3..6 if out > 0 => board.pop(),
                6 if out > 0 => {
                    let una = board.get(id).seq + 100 * (1 + rng.below(4));
                    if let Some(originals) = board.originals(una) {
                        board.remove_originals(&originals);
                    }
                }
                7..10 if out > 0 => {
                    let id = id + rng.below(out) as u32;
                    if !board.get(id).is_sacked() {
                        board.unmark_retransmitted(id);
                        board.set_sacked(id);
                    }
                }
                10 if out > 0 && rng.below(2) == 0 => {
                    let id = id + rng.below(out) as u32;
                    board.resend(id, Instant::ZERO);
                    board.mark_retransmitted(id);
                }
                11 if rng.below(20) == 0 => board.clear_sacked(),
                11 if rng.below(5) == 0 => board.clear_retransmitted(),
                _ => {}
            }
            assert_eq!(board.skbs(), counted(&board), "step {step}");
            let tagged = [board.sacked_out > 0, board.retrans_out > 0];
            compared[usize::from(tagged[0]) + 2 * usize::from(tagged[1])] += 1;
        }
        assert!(compared.iter().all(|count| *count > 300), "by the tags S and R: {compared:?}");
    }
}
