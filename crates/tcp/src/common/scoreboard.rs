//! The scoreboard: the outstanding segments, with the tags of each.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (the tags S, R and L), RFC 6675 §4.
//!
//! Segments are stored in sequence order. A list has them in the order of their last transmission,
//! in which RACK examines them (`tsorted_sent_queue`). A segment keeps its id until it is
//! acknowledged, so ids serve as links. Segments are never split or merged: one entry is one
//! packet on the wire.

mod order;
mod sent;
mod skbs;
mod tags;

use aqmlab_core::hint::rare;
use aqmlab_core::{Instant, Ring};

use super::sack_report::OPTION_BLOCKS;

pub use sent::Sent;
pub(crate) use sent::{ANY_RETRANS, APP_LIMITED, EVER_RETRANS, FIN, LOST, PUSH, RETRANS, SACKED};
use sent::{LISTED, NONE};
use skbs::Skbs;

/// Segments at the front of the queue that were sent once and have no tag S or L.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Originals {
    pub(crate) packets: u32,
    /// The number of segments that end an `skb`.
    skbs: u32,
    /// The number of payload bytes of the segments.
    pub(crate) bytes: u64,
    /// The transmission time of the first segment.
    pub(crate) first_sent: Instant,
    pub(crate) last: Sent,
}

/// The retransmission queue with its counters.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    /// The segments. The id of a segment is its number in the ring.
    queue: Ring<Sent>,
    /// The id of the first segment in transmission order; [`NONE`] if the list is empty. Valid only
    /// while the list is linked.
    head: u32,
    /// The id of the last segment in transmission order; [`NONE`] if the list is empty. Valid only
    /// while the list is linked.
    tail: u32,
    /// The list is linked while a segment whose id is below this id is outstanding.
    linked_until: u32,
    /// The number of segments tagged S. Without SACK, each counted duplicate acknowledgement stands
    /// for one such segment.
    sacked_out: u32,
    /// The number of segments tagged L.
    lost_out: u32,
    /// The number of segments tagged R.
    retrans_out: u32,
    /// The end of the highest segment tagged S.
    fack: u64,
    /// The id behind the highest segment tagged S. Valid only while `sacked_out` counts tags S.
    after_fack: u32,
    /// The id of the segment, if stored, at which the search for the next retransmission starts
    /// (`retransmit_skb_hint`).
    retransmit_hint: Option<u32>,
    /// The id of the segment at which counting for RFC 6675 stopped, and the number of segments
    /// tagged S below it (`lost_skb_hint`, `lost_cnt_hint`).
    lost_hint: Option<(u32, u32)>,
    /// The number of `skb`s of the outstanding segments.
    skbs: Skbs,
    /// The SACK blocks of the last acknowledgement, in sequence order, and their number. Their data
    /// is skipped in the next acknowledgement (`recv_sack_cache`).
    cache: ([(u64, u64); OPTION_BLOCKS], usize),
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            queue: Ring::default(),
            head: NONE,
            tail: NONE,
            linked_until: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            fack: 0,
            after_fack: 0,
            retransmit_hint: None,
            lost_hint: None,
            skbs: Skbs::default(),
            cache: ([(0, 0); OPTION_BLOCKS], 0),
        }
    }
}

impl Scoreboard {
    /// Returns the number of segments sent and not cumulatively acknowledged.
    #[inline]
    pub(crate) fn packets_out(&self) -> u32 {
        self.queue.len() as u32
    }

    /// Returns the number of segments tagged S. Without SACK, each counted duplicate
    /// acknowledgement stands for one such segment.
    #[inline]
    pub(crate) const fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Returns the number of segments tagged L.
    #[inline]
    pub(crate) const fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Returns the number of segments tagged R.
    #[inline]
    pub(crate) const fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Returns whether a lost segment has not been retransmitted yet.
    #[inline]
    pub(crate) const fn has_lost_to_send(&self) -> bool {
        self.lost_out > self.retrans_out
    }

    /// Returns the number of segments estimated to be in the network (`tcp_packets_in_flight`).
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.left_out())
    }

    /// Returns the number of segments that have left the network without being cumulatively
    /// acknowledged.
    #[inline]
    pub(crate) fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// Returns whether no outstanding segment is tagged S, L or R.
    #[inline]
    pub(crate) const fn is_untagged(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out == 0
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the end of the highest selectively acknowledged segment, or `una` if there is none.
    #[inline]
    pub(crate) fn highest_sack(&self, una: u64) -> u64 {
        if self.sacked_out == 0 { una } else { self.fack.max(una) }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.queue.front()
    }

    pub(crate) fn back_id(&self) -> Option<u32> {
        (!self.queue.is_empty()).then(|| self.end_id() - 1)
    }

    pub(crate) fn front_id(&self) -> Option<u32> {
        (!self.queue.is_empty()).then_some(self.first())
    }

    /// Returns the id of the first segment. If there is no segment, returns the id that the next
    /// segment will have.
    #[inline]
    const fn first(&self) -> u32 {
        self.queue.first() as u32
    }

    /// Returns the id that the next segment will have.
    #[inline]
    pub(crate) fn end_id(&self) -> u32 {
        self.first() + self.packets_out()
    }

    /// Returns whether the segment `id` is still outstanding.
    #[inline]
    pub(crate) fn holds(&self, id: u32) -> bool {
        self.queue.holds(id as usize)
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Sent {
        self.queue.get(id as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Sent {
        self.queue.get_mut(id as usize)
    }

    /// Returns the id of the first segment that ends after `seq`, or [`Self::end_id`] if there is
    /// none.
    pub(crate) fn id_at(&self, seq: u64) -> u32 {
        self.queue.partition_point(|sent| sent.end() <= seq) as u32
    }

    /// Returns [`Self::id_at`] for the start of selectively acknowledged data. In most cases the
    /// data follows the highest segment tagged S.
    #[inline]
    pub(crate) fn id_of_block(&self, start: u64) -> u32 {
        if start != self.fack || self.sacked_out == 0 {
            return self.id_at(start);
        }
        debug_assert_eq!(self.after_fack, self.id_at(start), "the highest segment is outstanding");
        self.after_fack
    }

    /// Adds a segment that was just transmitted.
    #[inline]
    pub(crate) fn push(&mut self, sent: Sent) {
        self.skbs.sent += u32::from(sent.ends_skb);
        self.queue.push(Sent { flags: sent.flags | LISTED, ..sent });
        if self.is_linked() {
            rare();
            self.append(self.end_id() - 1);
        }
    }

    /// Removes the first segment, if there is one, and updates the counters of its tags.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn pop(&mut self) {
        let Some(&Sent { flags, .. }) = self.queue.front() else { return };
        self.shrink_first_skb();
        if flags & (SACKED | RETRANS | LOST) != 0 {
            self.sacked_out -= u32::from(flags & SACKED != 0);
            self.retrans_out -= u32::from(flags & RETRANS != 0);
            self.lost_out -= u32::from(flags & LOST != 0);
        }
        if self.is_linked() {
            self.take_from_list(self.first());
        }
        self.queue.skip(1);
        self.forget_old_retransmit_hint();
    }

    /// Returns the segments that end at or before `una`, if there are any and if none of them has a
    /// tag S or L or was retransmitted. Returns `None`, too, if the last of them belongs to an
    /// `skb` that may be split.
    #[expect(clippy::inline_always, reason = "keeps the summary in registers")]
    #[inline(always)]
    pub(crate) fn originals(&self, una: u64) -> Option<Originals> {
        let front = self.front()?;
        let (mut last, mut next, mut skbs) = (None, self.first(), 0);
        while self.holds(next) {
            let sent = self.get(next);
            if sent.end() > una {
                break;
            }
            if sent.flags & (SACKED | LOST | ANY_RETRANS | LISTED) != LISTED {
                return None;
            }
            last = Some(sent);
            next += 1;
            skbs += u32::from(sent.ends_skb);
        }
        let last = *last?;
        if self.skbs.added > 0 && !last.ends_skb {
            return None;
        }
        let bytes = last.seq + u64::from(last.len) - front.seq;
        Some(Originals {
            packets: next - self.first(),
            skbs,
            bytes,
            first_sent: front.sent_at,
            last,
        })
    }

    /// Removes the segments that [`Self::originals`] returned. These segments are also the first in
    /// transmission order, because no earlier segment is outstanding.
    #[inline]
    pub(crate) fn remove_originals(&mut self, originals: &Originals) {
        debug_assert_eq!(self.oldest(), Some(self.first()), "originals are first in both orders");
        let is_linked = self.is_linked();
        self.queue.skip(originals.packets as usize);
        self.skbs.sent -= originals.skbs;
        if is_linked {
            rare();
            self.unlink(NONE, originals.last.after);
        }
        self.forget_old_retransmit_hint();
    }

    #[inline]
    fn forget_old_retransmit_hint(&mut self) {
        if let Some(hint) = self.retransmit_hint {
            rare();
            if hint < self.first() {
                self.retransmit_hint = None;
            }
        }
    }

    /// Returns the ids of all segments, in sequence order.
    pub(crate) fn ids(&self) -> std::ops::Range<u32> {
        self.first()..self.end_id()
    }

    /// Returns the SACK blocks of the last acknowledgement, in sequence order, and their number.
    pub(crate) const fn cached_blocks(&self) -> ([(u64, u64); OPTION_BLOCKS], usize) {
        self.cache
    }

    /// Stores the first `count` of `blocks` as the SACK blocks of the last acknowledgement.
    pub(crate) fn cache_blocks(&mut self, blocks: [(u64, u64); OPTION_BLOCKS], count: usize) {
        self.cache = (blocks, count);
    }
}

/// Calls `visit` for the parts of `[start, end)` that the `cached` blocks do not cover. The blocks
/// are in sequence order.
pub(crate) fn fresh_parts(
    cached: &[(u64, u64)],
    mut start: u64,
    end: u64,
    mut visit: impl FnMut(u64, u64),
) {
    for &(from, to) in cached {
        if to <= start || from >= end {
            continue;
        }
        if start < from {
            visit(start, from);
        }
        start = to;
    }
    if start < end {
        visit(start, end);
    }
}

#[cfg(test)]
mod tests;
