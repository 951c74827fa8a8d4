//! What has arrived, in order and not, and how it is reported by SACK.
//!
//! Sources: RFC 2018, RFC 2883; Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_data_queue_ofo`,
//! `tcp_ofo_queue`, `tcp_sack_new_ofo_skb`, `tcp_sack_remove`).

use crate::common::receive_queue::Buffer;

/// The most blocks that are remembered for reporting (Linux `TCP_NUM_SACKS`).
const BLOCKS: usize = 4;

/// What became of a segment out of order.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of it waited already.
    Nothing,
    /// It joined the buffer that it continues.
    Joined,
    /// It waits in a buffer of its own.
    Own,
}

/// The receive sequence space and what waits out of order.
#[derive(Debug, Default)]
pub(crate) struct OooQueue {
    /// The next byte expected.
    pub(crate) nxt: u64,
    /// What waits out of order, in order of sequence.
    waiting: Vec<Buffer>,
    /// The bytes in `waiting`.
    held: u64,
    /// The number of the peer's FIN, once it has arrived, in order or not.
    pub(crate) fin: Option<u64>,
    /// The ranges most recently added to, latest first.
    blocks: [(u64, u64); crate::freebsd::MAX_SACK_BLOCKS],
    count: usize,
    /// A duplicate to be reported in the next acknowledgement.
    duplicate: Option<(u64, u64)>,
    /// The timestamp to echo (RFC 7323 §4.3).
    pub(crate) ts_recent: u32,
    /// Whether duplicates are reported.
    pub(crate) report_duplicates: bool,
    /// Whether anything is reported.
    pub(crate) report: bool,
}

impl OooQueue {
    /// What waits out of order.
    #[inline]
    pub(crate) fn waiting(&self) -> &[Buffer] {
        &self.waiting
    }

    /// Bytes that wait out of order.
    #[inline]
    pub(crate) fn out_of_order_bytes(&self) -> u64 {
        self.held
    }

    /// Whether the next acknowledgement has something to report.
    #[inline]
    pub(crate) fn has_sacks(&self) -> bool {
        self.report && (self.count > 0 || self.duplicate.is_some())
    }

    /// Blocks that there are to report.
    pub(crate) fn sack_count(&self) -> u32 {
        if self.report { self.count as u32 + u32::from(self.duplicate.is_some()) } else { 0 }
    }

    /// The blocks to report, latest first.
    pub(crate) fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }

    /// Replaces the blocks to report.
    pub(crate) fn set_blocks(&mut self, blocks: &[(u64, u64)]) {
        self.count = blocks.len();
        self.blocks[..blocks.len()].copy_from_slice(blocks);
    }

    /// The end of the highest block reported.
    pub(crate) fn highest_block(&self) -> Option<u64> {
        self.blocks[..self.count].iter().map(|block| block.1).max()
    }

    /// Hands up to `most` blocks to `push`, the duplicate first; it is reported once.
    pub(crate) fn sack_blocks(&mut self, most: usize, mut push: impl FnMut(u64, u64)) {
        let mut left = most;
        if left > 0
            && let Some((start, end)) = self.duplicate.take()
        {
            push(start, end);
            left -= 1;
        }
        for (start, end) in self.blocks[..self.count].iter().take(left) {
            push(*start, *end);
        }
    }

    /// Notes a duplicate to be reported.
    pub(crate) fn note_duplicate(&mut self, start: u64, end: u64) {
        if self.report && self.report_duplicates && start < end {
            self.duplicate = Some((start, end));
        }
    }

    fn extend_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.duplicate {
            Some(block) if start <= block.1 && block.0 <= end => {
                *block = (block.0.min(start), block.1.max(end));
            }
            Some(_) => {}
            None => self.note_duplicate(start, end),
        }
    }

    /// Forgets the duplicate of a segment that came before.
    #[inline]
    pub(crate) fn clear_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Moves on to `end`, and over what waited there, which is handed over buffer by buffer with
    /// the bytes of it that are new.
    #[inline]
    pub(crate) fn advance(&mut self, end: u64, mut hand_over: impl FnMut(Buffer, u64)) {
        let before = self.nxt;
        self.nxt = end;
        if self.waiting.is_empty() {
            return;
        }
        let mut reached = 0;
        while let Some(&buffer) = self.waiting.get(reached)
            && buffer.start <= self.nxt
        {
            self.held -= buffer.end - buffer.start;
            if buffer.start < end && buffer.start >= before {
                self.extend_duplicate(buffer.start, buffer.end.min(end));
            }
            if buffer.end > self.nxt {
                hand_over(buffer, buffer.end - self.nxt);
                self.nxt = buffer.end;
            }
            reached += 1;
        }
        self.waiting.drain(..reached);
        self.drop_blocks();
    }

    /// Blocks below the next byte expected are no longer news.
    fn drop_blocks(&mut self) {
        let (nxt, all) = (self.nxt, self.count);
        let mut kept = 0;
        for i in 0..all {
            if self.blocks[i].0 > nxt {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.count = if self.waiting.is_empty() { 0 } else { kept };
    }

    /// Throws away what waits beyond the end of the stream.
    pub(crate) fn purge(&mut self) {
        self.waiting.clear();
        self.held = 0;
        self.count = 0;
    }

    /// Takes in `[start, end)`, which lies beyond the next byte expected, and says what became of it.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Kept {
        self.report_block(start, end);
        let mut place = self.waiting.partition_point(|one| one.start <= start);
        if place > 0 {
            let left = &mut self.waiting[place - 1];
            if end <= left.end {
                self.note_duplicate(start, end);
                return Kept::Nothing;
            }
            if left.join(Buffer::of(start, end)) {
                self.held += end - start;
                return Kept::Joined;
            }
            let (left_start, left_end) = (left.start, left.end);
            if left_start == start {
                place -= 1; // what covers it takes its place
            } else if left_end > start {
                self.note_duplicate(start, left_end);
            }
        }
        self.waiting.insert(place, Buffer::of(start, end));
        self.held += end - start;
        self.drop_covered(place);
        Kept::Own
    }

    /// Drops what the buffer at `place` covers of those behind it.
    fn drop_covered(&mut self, place: usize) {
        let end = self.waiting[place].end;
        let mut next = place + 1;
        while let Some(&other) = self.waiting.get(next)
            && other.start < end
        {
            self.extend_duplicate(other.start, other.end.min(end));
            if other.end > end {
                break;
            }
            self.held -= other.end - other.start;
            next += 1;
        }
        self.waiting.drain(place + 1..next);
    }

    /// Whether reporting `[start, end)` moves a block, or puts a new one, before more than one
    /// other (Linux `TCP_SACK_BLOCKS_EXPECTED`): those may fall out of the option.
    pub(crate) fn is_far(&self, start: u64, end: u64) -> bool {
        let touches = |block: &(u64, u64)| start <= block.1 && block.0 <= end;
        let blocks = &self.blocks[..self.count];
        blocks.iter().position(touches).unwrap_or(self.count) >= 2
    }

    /// Moves the block that `[start, end)` belongs to to the front, or makes one.
    fn report_block(&mut self, start: u64, end: u64) {
        let touches = |block: &(u64, u64)| start <= block.1 && block.0 <= end;
        let found = self.blocks[..self.count].iter().position(touches);
        let place = found.unwrap_or(self.count);
        let mut block = (start, end);
        if let Some(found) = found {
            let old = self.blocks[found];
            block = (old.0.min(start), old.1.max(end));
        } else if self.count < BLOCKS {
            self.count += 1;
        }
        let last = place.min(BLOCKS - 1);
        self.blocks.copy_within(0..last, 1);
        self.blocks[0] = block;
        if found.is_some() {
            self.merge_blocks();
        }
    }

    /// Merges into the first block those that it has come to touch.
    fn merge_blocks(&mut self) {
        let mut kept = 1;
        for i in 1..self.count {
            let (first, other) = (self.blocks[0], self.blocks[i]);
            if other.0 <= first.1 && first.0 <= other.1 {
                self.blocks[0] = (first.0.min(other.0), first.1.max(other.1));
            } else {
                self.blocks[kept] = other;
                kept += 1;
            }
        }
        self.count = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> OooQueue {
        OooQueue { nxt: 100, report: true, report_duplicates: true, ..OooQueue::default() }
    }

    fn blocks(reassembly: &mut OooQueue) -> Vec<(u64, u64)> {
        let mut blocks = Vec::new();
        reassembly.sack_blocks(4, |start, end| blocks.push((start, end)));
        blocks
    }

    #[test]
    fn the_newest_block_comes_first_and_neighbours_merge() {
        let mut reassembly = fresh();
        for (start, end, kept, want) in [
            (200, 300, Kept::Own, vec![(200, 300)]),
            (400, 500, Kept::Own, vec![(400, 500), (200, 300)]),
            (300, 400, Kept::Joined, vec![(200, 500)]),
            (700, 800, Kept::Own, vec![(700, 800), (200, 500)]),
            (500, 600, Kept::Joined, vec![(200, 600), (700, 800)]),
        ] {
            assert_eq!(reassembly.insert(start, end), kept, "{start}");
            assert_eq!(blocks(&mut reassembly), want, "after {start}");
        }
        assert_eq!(reassembly.out_of_order_bytes(), 500);
        let mut handed = Vec::new();
        reassembly.advance(200, |buffer, bytes| handed.push((buffer.start, buffer.end, bytes)));
        assert_eq!(handed, [(200, 400, 200), (400, 600, 200)]);
        assert_eq!(reassembly.nxt, 600);
        assert_eq!(blocks(&mut reassembly), [(700, 800)]);
        assert_eq!(reassembly.out_of_order_bytes(), 100);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let mut reassembly = fresh();
        assert_eq!(reassembly.insert(200, 300), Kept::Own);
        assert_eq!(reassembly.insert(200, 300), Kept::Nothing);
        assert_eq!(blocks(&mut reassembly), [(200, 300), (200, 300)]);
        assert_eq!(blocks(&mut reassembly), [(200, 300)]);
        assert_eq!(reassembly.insert(250, 350), Kept::Own);
        assert_eq!(blocks(&mut reassembly), [(250, 300), (200, 350)]);
    }

    #[test]
    fn only_four_blocks_are_remembered() {
        let mut reassembly = fresh();
        for i in 0..6 {
            assert_eq!(reassembly.is_far(200 + i * 100, 250 + i * 100), i >= 2);
            assert_eq!(reassembly.insert(200 + i * 100, 250 + i * 100), Kept::Own);
        }
        assert_eq!(blocks(&mut reassembly), [(700, 750), (600, 650), (500, 550), (400, 450)]);
        assert_eq!(reassembly.waiting().len(), 6);
    }
}
