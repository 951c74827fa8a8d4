//! The scoreboard: the segments that are outstanding, with the tags of each.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (the tags S, R and L), RFC 6675 §4.
//!
//! Segments are in order of sequence, and also in a list in order of their last transmission, which
//! RACK walks (`tsorted_sent_queue`). A segment keeps its id until it is acknowledged, so ids
//! serve as links. Segments are never split or merged: one entry is one packet on the wire.

mod order;
mod sent;
mod tags;

use std::collections::VecDeque;

pub(crate) use sent::{
    ANY_RETRANS, APP_LIMITED, EVER_RETRANS, FIN, LOST, PUSH, RETRANS, SACKED, Sent,
};
use sent::{LISTED, NONE};

/// The retransmission queue with its counters.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    queue: VecDeque<Sent>,
    /// The id of the queue's front.
    first: u32,
    /// The ends of the list in order of transmission.
    head: u32,
    tail: u32,
    /// Segments tagged S; without SACK, the duplicate acknowledgements counted as such.
    sacked_out: u32,
    /// Segments tagged L.
    lost_out: u32,
    /// Segments tagged R.
    retrans_out: u32,
    /// The end of the highest segment tagged S.
    fack: u64,
    /// The segment at which the search for the next retransmission starts (`retransmit_skb_hint`).
    hint: Option<u32>,
    /// The segment at which counting for RFC 6675 stopped, and the count of segments tagged S below
    /// it (`lost_skb_hint`, `lost_cnt_hint`).
    lost_hint: Option<(u32, u32)>,
    /// The blocks of the last acknowledgement in order, which the next one skips (`recv_sack_cache`).
    cache: [(u64, u64); 4],
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            queue: VecDeque::with_capacity(64),
            first: 0,
            head: NONE,
            tail: NONE,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            fack: 0,
            hint: None,
            lost_hint: None,
            cache: [(0, 0); 4],
        }
    }
}

impl Scoreboard {
    /// Segments sent and not cumulatively acknowledged.
    #[inline]
    pub(crate) fn packets_out(&self) -> u32 {
        self.queue.len() as u32
    }

    /// Segments tagged S; without SACK, the duplicate acknowledgements counted as such.
    #[inline]
    pub(crate) const fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Segments tagged L.
    #[inline]
    pub(crate) const fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Segments tagged R.
    #[inline]
    pub(crate) const fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Whether lost segments wait for their retransmission.
    #[inline]
    pub(crate) const fn has_lost_to_send(&self) -> bool {
        self.lost_out > self.retrans_out
    }

    /// Segments estimated to be in the network (`tcp_packets_in_flight`).
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.left_out())
    }

    /// Segments that have left the network without being cumulatively acknowledged.
    #[inline]
    pub(crate) fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The end of the highest selectively acknowledged segment, or `una` without any.
    #[inline]
    pub(crate) fn highest_sack(&self, una: u64) -> u64 {
        if self.sacked_out == 0 { una } else { self.fack.max(una) }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.queue.front()
    }

    pub(crate) fn back_id(&self) -> Option<u32> {
        (!self.queue.is_empty()).then(|| self.first + self.packets_out() - 1)
    }

    pub(crate) fn front_id(&self) -> Option<u32> {
        (!self.queue.is_empty()).then_some(self.first)
    }

    /// The id after the last segment's.
    #[inline]
    pub(crate) fn end_id(&self) -> u32 {
        self.first + self.packets_out()
    }

    /// Whether the segment `id` is still outstanding.
    #[inline]
    pub(crate) fn holds(&self, id: u32) -> bool {
        id >= self.first && id < self.end_id()
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Sent {
        &self.queue[(id - self.first) as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Sent {
        &mut self.queue[(id - self.first) as usize]
    }

    /// The id of the first segment that ends after `seq`.
    pub(crate) fn id_at(&self, seq: u64) -> u32 {
        self.first + self.queue.partition_point(|sent| sent.end() <= seq) as u32
    }

    /// The number of `skb`s of the outstanding segments, given the `ends` of the `skb`s that were
    /// sent. A partial selective acknowledgement or a retransmission splits an `skb` into its
    /// segments, and neighbours that are selectively acknowledged merge (Linux
    /// `tcp_match_skb_to_sack`, `tcp_shift_skb_data`).
    pub(crate) fn skbs(&self, ends: impl Iterator<Item = u64>) -> u64 {
        let (mut count, mut in_run, mut at) = (0, false, 0);
        for end in ends {
            let from = at;
            while self.queue.get(at).is_some_and(|sent| sent.end() <= end) {
                at += 1;
            }
            let parts = self.queue.range(from..at);
            if parts.clone().all(|sent| sent.flags & (SACKED | ANY_RETRANS) == 0) {
                count += 1;
                in_run = false;
                continue;
            }
            for sent in parts {
                count += u64::from(!(in_run && sent.is(SACKED)));
                in_run = sent.is(SACKED);
            }
        }
        count
    }

    /// Adds a segment just transmitted.
    #[inline]
    pub(crate) fn push(&mut self, sent: Sent) {
        let id = self.end_id();
        let tail = std::mem::replace(&mut self.tail, id);
        let flags = sent.flags | LISTED;
        self.queue.push_back(Sent { flags, before: tail, after: NONE, ..sent });
        self.link(tail, id);
    }

    /// Removes the first segment with its tags.
    #[inline]
    pub(crate) fn pop(&mut self) {
        let Some(&Sent { flags, before, after, .. }) = self.queue.front() else { return };
        if flags & (SACKED | RETRANS | LOST) != 0 {
            self.sacked_out -= u32::from(flags & SACKED != 0);
            self.retrans_out -= u32::from(flags & RETRANS != 0);
            self.lost_out -= u32::from(flags & LOST != 0);
        }
        if flags & LISTED != 0 {
            self.unlink(before, after);
        }
        self.queue.pop_front();
        self.first += 1;
        if self.hint.is_some_and(|hint| hint < self.first) {
            self.hint = None;
        }
    }

    /// The ids of all segments in order of sequence.
    pub(crate) fn ids(&self) -> std::ops::Range<u32> {
        self.first..self.end_id()
    }

    /// The blocks of the last acknowledgement, in order.
    pub(crate) const fn cached_blocks(&self) -> [(u64, u64); 4] {
        self.cache
    }

    /// Replaces the blocks of the last acknowledgement.
    pub(crate) fn cache_blocks(&mut self, blocks: [(u64, u64); 4]) {
        self.cache = blocks;
    }
}

/// Calls `visit` for the parts of `[start, end)` that the `cached` blocks, which are in order of
/// sequence, do not cover.
pub(crate) fn fresh_parts(
    cached: &[(u64, u64); 4],
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
