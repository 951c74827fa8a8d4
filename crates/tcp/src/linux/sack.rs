//! The tagging of selectively acknowledged segments.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_sacktag_write_queue` and its callees).
//!
//! As in Linux, the stack stores the blocks of the last acknowledgement, so it walks only the new
//! part of a block. A binary search finds the start of that part.

use aqmlab_core::TcpHeader;

use super::Linux;
use super::ack::{AckState, flag};
use crate::common::sack_report::OPTION_BLOCKS;
use crate::common::scoreboard::{ANY_RETRANS, LOST, RETRANS, SACKED, Sent, fresh_parts};
use crate::state::CaState;
use crate::tcb::Tcb;

/// The valid blocks of one acknowledgement, in sequence order.
struct Blocks {
    list: [(u64, u64); OPTION_BLOCKS],
    count: usize,
    /// The index of the block that reports a duplicate, if there is one.
    duplicate: Option<usize>,
}

/// Whether a block reports a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Arrival,
    Duplicate,
}

impl Linux {
    /// Tags the segments that the SACK blocks of `header` report, and records duplicates and
    /// reordering.
    pub(super) fn tag_sacked(&mut self, tcb: &mut Tcb, header: &TcpHeader, ack: &mut AckState) {
        ack.reordered = tcb.snd.nxt;
        let has_duplicate = self.check_dsack(tcb, header, ack);
        if tcb.board.is_empty() {
            return;
        }
        let blocks = self.read_blocks(tcb, header, has_duplicate, ack.prior_una);
        let (cached, mut known) = tcb.board.cached_blocks();
        if tcb.board.sacked_out() == 0 {
            known = 0;
        }
        for i in 0..blocks.count {
            let (start, end) = blocks.list[i];
            if blocks.duplicate == Some(i) {
                self.walk(tcb, (start, end), Report::Duplicate, ack);
            } else {
                fresh_parts(&cached[..known], start, end, |from, to| {
                    self.walk(tcb, (from, to), Report::Arrival, ack);
                });
            }
        }
        tcb.board.cache_blocks(blocks.list, blocks.count);
        if self.recovery.ca() != CaState::Loss || self.undo.is_possible() {
            self.reordering.on_overtaken(tcb, ack.reordered);
        }
    }

    /// Processes the first block if it reports a duplicate (RFC 2883 §4; `tcp_check_dsack`).
    /// Returns whether it reports a duplicate that a retransmission of this end can have caused.
    fn check_dsack(&mut self, tcb: &mut Tcb, header: &TcpHeader, ack: &mut AckState) -> bool {
        let mut blocks = header.sack.iter(header.ack);
        let Some((start, end)) = blocks.next() else { return false };
        if start >= header.ack {
            match blocks.next() {
                Some((outer_start, outer_end)) if end <= outer_end && start >= outer_start => {}
                _ => return false,
            }
        }
        let Some(segments) = self.count_dsack(tcb, start, end, ack) else { return false };
        tcb.stats.dsacks += 1;
        // Data that was acknowledged earlier has no segments to tag, so its duplicates are only
        // counted.
        if self.undo.is_possible() && end <= ack.prior_una && end > self.undo.marker() {
            self.undo.discount(segments);
        }
        true
    }

    /// Counts the segments of a duplicate, and returns their number. Returns `None` if the
    /// retransmissions of this end cannot have caused the duplicate (`tcp_dsack_seen`).
    fn count_dsack(&mut self, tcb: &Tcb, start: u64, end: u64, ack: &mut AckState) -> Option<u32> {
        if start >= end || end - start > tcb.snd.max_window {
            return None;
        }
        let mss = u64::from(tcb.window.mss.max(1));
        let segments = (end - start).div_ceil(mss);
        if segments == 1 && self.tlp.ends_at(end) {
            ack.set(flag::DSACK_TLP);
        }
        if !self.undo.count_dsack(segments) {
            return None;
        }
        if self.reordering.is_seen() && !ack.has(flag::DSACK_TLP) {
            self.rack.on_dsack();
        }
        ack.set(flag::DSACKING_ACK);
        ack.sack_delivered += segments;
        Some(segments as u32)
    }

    /// Returns the valid blocks that end above `prior_una`, in sequence order. `has_duplicate`
    /// states whether the first block of `header` reports a duplicate.
    fn read_blocks(
        &self,
        tcb: &Tcb,
        header: &TcpHeader,
        has_duplicate: bool,
        prior_una: u64,
    ) -> Blocks {
        let mut blocks = Blocks { list: [(0, 0); OPTION_BLOCKS], count: 0, duplicate: None };
        for (i, (start, end)) in header.sack.iter(header.ack).enumerate() {
            let is_duplicate = has_duplicate && i == 0;
            if !self.is_valid_block(tcb, start, end, is_duplicate) || end <= prior_una {
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

    /// Returns whether a block lies in outstanding data. A block that reports a duplicate may also
    /// lie in acknowledged data above the undo marker (`tcp_is_sackblock_valid`).
    fn is_valid_block(&self, tcb: &Tcb, start: u64, end: u64, is_duplicate: bool) -> bool {
        let snd = &tcb.snd;
        if end > snd.nxt || start >= end {
            return false;
        }
        if start > snd.una {
            return true;
        }
        let marker = self.undo.marker();
        if !is_duplicate || marker == 0 || end > snd.una {
            return false;
        }
        start >= marker || (end > marker && start >= end.saturating_sub(snd.max_window))
    }

    /// Tags every segment that lies wholly in `[start, end)` (`tcp_sacktag_walk`).
    fn walk(
        &mut self,
        tcb: &mut Tcb,
        (start, end): (u64, u64),
        report: Report,
        ack: &mut AckState,
    ) {
        let mut id = tcb.board.id_of_block(start);
        while tcb.board.holds(id) {
            let sent = tcb.board.get(id);
            if sent.seq >= end {
                break;
            }
            if sent.seq >= start && sent.end() <= end {
                self.tag(tcb, id, report, ack);
            }
            id += 1;
        }
    }

    /// Processes the report of one segment: tags the segment, and counts a duplicate as an
    /// unnecessary retransmission (`tcp_sacktag_one`).
    fn tag(&mut self, tcb: &mut Tcb, id: u32, report: Report, ack: &mut AckState) {
        let sent = *tcb.board.get(id);
        let (flags, end) = (sent.flags, sent.end());
        if report == Report::Duplicate && flags & ANY_RETRANS != 0 {
            if self.undo.is_possible() && end > self.undo.marker() {
                self.undo.discount(1);
            }
            if flags & SACKED != 0 {
                ack.reordered = ack.reordered.min(sent.seq);
            }
        }
        if end <= tcb.snd.una {
            return;
        }
        if flags & SACKED == 0 {
            self.rack.advance(tcb, &sent);
            self.tag_first(tcb, (id, &sent), ack);
        }
        if report == Report::Duplicate {
            tcb.board.unmark_retransmitted(id);
        }
        tcb.rate.on_delivered(tcb.board.get_mut(id), &mut ack.rate);
    }

    /// Tags a segment that is selectively acknowledged for the first time.
    fn tag_first(&mut self, tcb: &mut Tcb, (id, sent): (u32, &Sent), ack: &mut AckState) {
        let fack = tcb.board.highest_sack(tcb.snd.una);
        if sent.is(RETRANS) {
            // If the segment does not count as lost, its retransmission counts as in flight.
            if sent.is(LOST) {
                tcb.board.unmark_lost(id);
                tcb.board.unmark_retransmitted(id);
            }
        } else {
            if !sent.is(ANY_RETRANS) {
                if sent.seq < fack {
                    ack.reordered = ack.reordered.min(sent.seq);
                }
                if sent.end() <= self.recovery.high_seq() {
                    ack.set(flag::ORIG_SACK_ACKED);
                }
                ack.first_sacked = ack.first_sacked.or(Some(sent.sent_at));
                ack.last_sacked = Some(sent.sent_at);
            }
            tcb.board.unmark_lost(id);
        }
        ack.set(flag::DATA_SACKED);
        ack.sack_delivered += 1;
        tcb.board.set_sacked(id);
    }

    /// Without SACK, counts a duplicate acknowledgement as a segment that has arrived, and with
    /// classic ECN and ECE as a marked one (`tcp_add_reno_sack`).
    pub(super) fn add_emulated_sack(&mut self, tcb: &mut Tcb, ack: &AckState) {
        let before = tcb.board.sacked_out();
        tcb.board.set_emulated_sacks(before + 1);
        self.limit_emulated_sacks(tcb, 0);
        let delivered = u64::from(tcb.board.sacked_out().saturating_sub(before));
        tcb.rate.delivered += delivered;
        if ack.has(flag::ECE) && !tcb.ecn.is_accurate() {
            tcb.ecn.delivered_ce += delivered;
        }
    }

    /// Without SACK, accounts for the cumulative acknowledgement of `acked` segments. One of them
    /// filled the hole; duplicate acknowledgements already counted the others
    /// (`tcp_remove_reno_sacks`).
    pub(super) fn remove_emulated_sacks(&mut self, tcb: &mut Tcb, acked: u64) {
        if acked > 0 {
            let sacked = u64::from(tcb.board.sacked_out());
            tcb.rate.delivered += acked.saturating_sub(sacked).max(1);
            tcb.board.set_emulated_sacks(sacked.saturating_sub(acked - 1) as u32);
        }
        self.limit_emulated_sacks(tcb, acked);
    }

    /// Limits the count of duplicate acknowledgements to the number of outstanding segments minus
    /// the number of lost segments. At least one segment counts as lost. If the count was higher,
    /// records reordering (`tcp_limit_reno_sacked`).
    fn limit_emulated_sacks(&mut self, tcb: &mut Tcb, acked: u64) {
        let out = tcb.board.packets_out();
        let holes = tcb.board.lost_out().max(1).min(out);
        if tcb.board.sacked_out() + holes > out {
            tcb.board.set_emulated_sacks(out - holes);
            self.reordering.on_excess_duplicates(u64::from(out) + acked);
        }
    }
}
