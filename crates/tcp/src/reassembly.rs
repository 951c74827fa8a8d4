//! What has arrived, in order and not, and how it is reported by SACK.
//!
//! Sources: RFC 2018, RFC 2883; Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_data_queue_ofo`,
//! `tcp_sack_new_ofo_skb`, `tcp_sack_remove`). Difference: adjacent segments that wait out of
//! order always merge, where Linux merges up to seventeen; only duplicate-SACK blocks for
//! repeated overlaps can tell.

/// The most blocks that are remembered for reporting (Linux `TCP_NUM_SACKS`).
const BLOCKS: usize = 4;

/// The receive sequence space and what waits out of order.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// The next byte expected.
    pub(crate) nxt: u64,
    /// What waits out of order: disjoint, not adjacent, in order of sequence.
    ranges: Vec<(u64, u64)>,
    /// The bytes in `ranges`.
    held: u64,
    /// The number of the peer's FIN, once it has arrived, in order or not.
    pub(crate) fin: Option<u64>,
    /// The ranges most recently added to, latest first.
    blocks: [(u64, u64); BLOCKS],
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

impl Reassembly {
    /// What waits out of order.
    #[inline]
    pub(crate) fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
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

    /// Moves on to `end`, and over what waited there; returns whether anything did.
    pub(crate) fn advance(&mut self, end: u64) -> bool {
        let before = self.nxt;
        self.nxt = end;
        if self.ranges.is_empty() {
            return false;
        }
        let reached = self.ranges.partition_point(|range| range.0 <= self.nxt);
        for i in 0..reached {
            let (start, range_end) = self.ranges[i];
            self.held -= range_end - start;
            if start < end && start >= before {
                self.extend_duplicate(start, range_end.min(end));
            }
            self.nxt = self.nxt.max(range_end);
        }
        self.ranges.drain(..reached);
        self.drop_blocks();
        reached > 0
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
        self.count = if self.ranges.is_empty() { 0 } else { kept };
    }

    /// Throws away what waits beyond the end of the stream.
    pub(crate) fn purge(&mut self) {
        self.ranges.clear();
        self.held = 0;
        self.count = 0;
    }

    /// Takes in `[start, end)`, which lies beyond the next byte expected.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let after = first + self.ranges[first..].partition_point(|range| range.0 <= end);
        let mut merged = (start, end);
        for i in first..after {
            let range = self.ranges[i];
            if range.0 <= start && end <= range.1 {
                self.note_duplicate(start, end);
                self.report_block(start, end);
                return;
            }
            let overlap = (range.0.max(start), range.1.min(end));
            if overlap.0 < overlap.1 {
                self.extend_duplicate(overlap.0, overlap.1);
            }
            merged = (merged.0.min(range.0), merged.1.max(range.1));
            self.held -= range.1 - range.0;
        }
        self.held += merged.1 - merged.0;
        if after == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..after);
        }
        self.report_block(start, end);
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

    fn fresh() -> Reassembly {
        Reassembly { nxt: 100, report: true, report_duplicates: true, ..Reassembly::default() }
    }

    fn blocks(reassembly: &mut Reassembly) -> Vec<(u64, u64)> {
        let mut blocks = Vec::new();
        reassembly.sack_blocks(4, |start, end| blocks.push((start, end)));
        blocks
    }

    #[test]
    fn the_newest_block_comes_first_and_neighbours_merge() {
        let mut reassembly = fresh();
        for (start, end, want) in [
            (200, 300, vec![(200, 300)]),
            (400, 500, vec![(400, 500), (200, 300)]),
            (300, 400, vec![(200, 500)]),
            (700, 800, vec![(700, 800), (200, 500)]),
            (500, 600, vec![(200, 600), (700, 800)]),
        ] {
            reassembly.insert(start, end);
            assert_eq!(blocks(&mut reassembly), want, "after {start}");
        }
        assert_eq!(reassembly.out_of_order_bytes(), 500);
        assert!(reassembly.advance(200));
        assert_eq!(reassembly.nxt, 600);
        assert_eq!(blocks(&mut reassembly), [(700, 800)]);
        assert_eq!(reassembly.out_of_order_bytes(), 100);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let mut reassembly = fresh();
        reassembly.insert(200, 300);
        reassembly.insert(200, 300);
        assert_eq!(blocks(&mut reassembly), [(200, 300), (200, 300)]);
        assert_eq!(blocks(&mut reassembly), [(200, 300)]);
        reassembly.insert(250, 350);
        assert_eq!(blocks(&mut reassembly), [(250, 300), (200, 350)]);
    }

    #[test]
    fn only_four_blocks_are_remembered() {
        let mut reassembly = fresh();
        for i in 0..6 {
            assert_eq!(reassembly.is_far(200 + i * 100, 250 + i * 100), i >= 2);
            reassembly.insert(200 + i * 100, 250 + i * 100);
        }
        assert_eq!(blocks(&mut reassembly), [(700, 750), (600, 650), (500, 550), (400, 450)]);
        assert_eq!(reassembly.ranges().len(), 6);
    }
}
