//! Tagging what is selectively acknowledged: `tcp_sacktag_write_queue`.
//!
//! As in Linux, the blocks of the last acknowledgement are remembered, so that a block that
//! has grown is walked only where it grew; places are found by binary search.

use aqmlab_core::TcpHeader;

use super::{AckState, flag};
use crate::common::scoreboard::{ANY_RETRANS, LOST, RETRANS, SACKED, fresh_parts};
use crate::connection::Connection;
use crate::state::CaState;

/// The blocks of one acknowledgement, checked and in order.
struct Blocks {
    list: [(u64, u64); 4],
    count: usize,
    /// Which of them is the duplicate.
    duplicate: Option<usize>,
}

impl Connection {
    /// Takes in the SACK blocks of `header`.
    pub(crate) fn tag_sacked(&mut self, header: &TcpHeader, ack: &mut AckState) {
        ack.reordered = self.snd.nxt;
        let duplicate = self.check_duplicate(header, ack);
        if self.board.is_empty() {
            return;
        }
        let blocks = self.read_blocks(header, duplicate, ack.prior_una);
        let cached = if self.board.sacked_out == 0 { [(0, 0); 4] } else { self.board.cache };
        for i in 0..blocks.count {
            let (start, end) = blocks.list[i];
            if blocks.duplicate == Some(i) {
                self.walk(start, end, true, ack);
            } else {
                fresh_parts(&cached, start, end, |from, to| self.walk(from, to, false, ack));
            }
        }
        self.board.cache = [(0, 0); 4];
        self.board.cache[..blocks.count].copy_from_slice(&blocks.list[..blocks.count]);
        if self.recovery.ca != CaState::Loss || self.recovery.undo_marker != 0 {
            self.check_reordering(ack.reordered);
        }
    }

    /// Whether the first block reports a duplicate (RFC 2883 §4), and what follows.
    fn check_duplicate(&mut self, header: &TcpHeader, ack: &mut AckState) -> bool {
        let mut blocks = header.sack.iter(header.ack);
        let Some((start, end)) = blocks.next() else { return false };
        if start >= header.ack {
            match blocks.next() {
                Some((outer_start, outer_end)) if end <= outer_end && start >= outer_start => {}
                _ => return false,
            }
        }
        let Some(segments) = self.count_duplicate(start, end, ack) else { return false };
        self.stats.dsacks += 1;
        // Of data already forgotten: it can only be counted.
        if self.recovery.undo_marker != 0 && end <= ack.prior_una && end > self.recovery.undo_marker
        {
            self.undo_retransmission(segments);
        }
        true
    }

    /// Counts a duplicate in segments, unless it cannot be our doing.
    fn count_duplicate(&mut self, start: u64, end: u64, ack: &mut AckState) -> Option<u32> {
        if start >= end || end - start > self.snd.max_window {
            return None;
        }
        let mss = u64::from(self.window.mss.max(1));
        let segments = (end - start).div_ceil(mss);
        if segments == 1 && self.recovery.tlp_high_seq != 0 && self.recovery.tlp_high_seq == end {
            ack.flags |= flag::DSACK_TLP;
        }
        self.recovery.dsack_dups += segments;
        if self.recovery.dsack_dups > self.recovery.total_retrans {
            return None;
        }
        if self.recovery.reordering_seen > 0 && !ack.has(flag::DSACK_TLP) {
            self.rack.dsack_seen = true;
        }
        ack.flags |= flag::DSACKING_ACK;
        ack.sack_delivered += segments;
        Some(segments as u32)
    }

    /// Discounts retransmissions that turned out not to have been needed.
    fn undo_retransmission(&mut self, segments: u32) {
        if let Some(outstanding) = &mut self.recovery.undo_retrans {
            *outstanding = outstanding.saturating_sub(segments);
        }
    }

    /// The blocks that can be believed, in order of sequence.
    fn read_blocks(&self, header: &TcpHeader, duplicate: bool, prior_una: u64) -> Blocks {
        let mut blocks = Blocks { list: [(0, 0); 4], count: 0, duplicate: None };
        for (i, (start, end)) in header.sack.iter(header.ack).enumerate() {
            let is_duplicate = duplicate && i == 0;
            if !self.is_valid_block(start, end, is_duplicate) || end <= prior_una {
                continue;
            }
            let mut place = blocks.count;
            while place > 0 && blocks.list[place - 1].0 > start {
                blocks.list[place] = blocks.list[place - 1];
                place -= 1;
            }
            blocks.list[place] = (start, end);
            blocks.count += 1;
            if is_duplicate {
                blocks.duplicate = Some(place);
            } else if let Some(at) = &mut blocks.duplicate
                && place <= *at
            {
                *at += 1;
            }
        }
        blocks
    }

    /// Linux `tcp_is_sackblock_valid`.
    fn is_valid_block(&self, start: u64, end: u64, duplicate: bool) -> bool {
        let snd = &self.snd;
        if end > snd.nxt || start >= end {
            return false;
        }
        if start > snd.una {
            return true;
        }
        let marker = self.recovery.undo_marker;
        if !duplicate || marker == 0 || end > snd.una {
            return false;
        }
        start >= marker || (end > marker && start >= end.saturating_sub(snd.max_window))
    }

    /// Tags every segment that lies wholly in `[start, end)`.
    fn walk(&mut self, start: u64, end: u64, duplicate: bool, ack: &mut AckState) {
        let mut id = self.board.id_at(start);
        while self.board.holds(id) {
            let sent = self.board.get(id);
            if sent.seq >= end {
                break;
            }
            if sent.seq >= start && sent.end() <= end {
                self.tag(id, duplicate, ack);
            }
            id += 1;
        }
    }

    /// Linux `tcp_sacktag_one`.
    fn tag(&mut self, id: u32, duplicate: bool, ack: &mut AckState) {
        let sent = *self.board.get(id);
        let (flags, end) = (sent.flags, sent.end());
        if duplicate && flags & ANY_RETRANS != 0 {
            if self.recovery.undo_marker != 0 && end > self.recovery.undo_marker {
                self.undo_retransmission(1);
            }
            if flags & SACKED != 0 {
                ack.reordered = ack.reordered.min(sent.seq);
            }
        }
        if end <= self.snd.una {
            return;
        }
        if flags & SACKED == 0 {
            self.rack_advance(flags, end, sent.sent);
            self.tag_news(id, ack);
        }
        let sent = self.board.get_mut(id);
        if duplicate && sent.is(RETRANS) {
            sent.flags &= !RETRANS;
            self.board.retrans_out -= 1;
        }
        self.rate.on_delivered(self.board.get_mut(id), &mut ack.rate);
    }

    /// Tags a segment that is selectively acknowledged for the first time.
    fn tag_news(&mut self, id: u32, ack: &mut AckState) {
        let fack = self.board.highest_sack(self.snd.una);
        let sent = *self.board.get(id);
        if sent.is(RETRANS) {
            // Unless it is lost, the retransmission is believed to be still in flight.
            if sent.is(LOST) {
                self.board.get_mut(id).flags &= !(LOST | RETRANS);
                self.board.lost_out -= 1;
                self.board.retrans_out -= 1;
            }
        } else {
            if !sent.is(ANY_RETRANS) {
                if sent.seq < fack {
                    ack.reordered = ack.reordered.min(sent.seq);
                }
                if sent.end() <= self.recovery.high_seq {
                    ack.flags |= flag::ORIG_SACK_ACKED;
                }
                ack.first_sacked = ack.first_sacked.or(Some(sent.sent));
                ack.last_sacked = Some(sent.sent);
            }
            if sent.is(LOST) {
                self.board.get_mut(id).flags &= !LOST;
                self.board.lost_out -= 1;
            }
        }
        ack.flags |= flag::DATA_SACKED;
        ack.sack_delivered += 1;
        self.board.set_sacked(id);
        if let Some((hint, count)) = &mut self.board.lost_hint
            && id < *hint
        {
            *count += 1;
        }
    }

    /// Linux `tcp_check_sack_reordering`: `low` was overtaken by what is selectively
    /// acknowledged above it.
    pub(crate) fn check_reordering(&mut self, low: u64) {
        let fack = self.board.highest_sack(self.snd.una);
        if low >= fack {
            return;
        }
        let mss = u64::from(self.window.mss.max(1));
        let distance = fack - low;
        if distance > u64::from(self.recovery.reordering) * mss {
            let most = self.profile.reordering_max;
            self.recovery.reordering = distance.div_ceil(mss).min(most) as u32;
        }
        self.recovery.reordering_seen += 1;
    }

    /// Without SACK, a duplicate acknowledgement stands for a segment that has arrived.
    pub(crate) fn add_emulated_sack(&mut self) {
        let before = self.board.sacked_out;
        self.board.sacked_out += 1;
        self.limit_emulated_sacks(0);
        self.rate.delivered += u64::from(self.board.sacked_out.saturating_sub(before));
    }

    /// Without SACK: one acknowledged segment filled the hole, the others had been counted.
    pub(crate) fn remove_emulated_sacks(&mut self, acked: u64) {
        if acked > 0 {
            let sacked = u64::from(self.board.sacked_out);
            self.rate.delivered += acked.saturating_sub(sacked).max(1);
            self.board.sacked_out = sacked.saturating_sub(acked - 1) as u32;
        }
        self.limit_emulated_sacks(acked);
    }

    /// More duplicates than segments in flight are a case of reordering.
    fn limit_emulated_sacks(&mut self, acked: u64) {
        let out = self.board.packets_out();
        let holes = self.board.lost_out.max(1).min(out);
        if self.board.sacked_out + holes > out {
            self.board.sacked_out = out - holes;
            let most = self.profile.reordering_max;
            self.recovery.reordering = (u64::from(out) + acked).min(most) as u32;
            self.recovery.reordering_seen += 1;
        }
    }
}
