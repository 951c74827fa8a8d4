//! The selective acknowledgements that a receiver reports.
//!
//! Sources: RFC 2018 §4, RFC 2883 §4; Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_sack_new_ofo_skb`,
//! `tcp_sack_maybe_coalesce`, `tcp_sack_remove`, `tcp_dsack_set`, `tcp_dsack_extend`).

/// The maximum number of blocks in a SACK option (RFC 2018 §3).
pub(crate) const OPTION_BLOCKS: usize = 4;
/// The maximum number of blocks that a stack stores (FreeBSD `MAX_SACK_BLKS`).
pub(crate) const MAX_BLOCKS: usize = 6;
/// The maximum number of blocks that Linux stores (`TCP_NUM_SACKS`).
const LINUX_BLOCKS: usize = 4;

/// The SACK blocks that acknowledgements carry.
#[derive(Debug, Default)]
pub(crate) struct SackReport {
    /// Whether the handshake negotiated SACK.
    pub(crate) enabled: bool,
    /// Whether duplicates are reported (RFC 2883).
    pub(crate) dsack: bool,
    /// The ranges that arrived out of order, the most recent first.
    blocks: [(u64, u64); MAX_BLOCKS],
    count: usize,
    /// The duplicate that the next acknowledgement reports, if any.
    duplicate: Option<(u64, u64)>,
}

impl SackReport {
    /// Returns whether the next acknowledgement carries blocks.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        ((self.count > 0) | self.duplicate.is_some()) & self.enabled
    }

    /// Returns the number of blocks to report.
    pub(crate) fn len(&self) -> u32 {
        if self.enabled { self.count as u32 + u32::from(self.duplicate.is_some()) } else { 0 }
    }

    /// Returns the blocks, the most recent first.
    pub(crate) fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }

    /// Replaces the blocks.
    pub(crate) fn set_blocks(&mut self, blocks: &[(u64, u64)]) {
        self.count = blocks.len();
        self.blocks[..blocks.len()].copy_from_slice(blocks);
    }

    /// Returns the end of the highest block, if there is a block.
    pub(crate) fn highest_end(&self) -> Option<u64> {
        self.blocks().iter().map(|block| block.1).max()
    }

    /// Passes up to `limit` blocks to `push`, starting with the duplicate. The duplicate is
    /// reported only once.
    pub(crate) fn report(&mut self, limit: usize, mut push: impl FnMut(u64, u64)) {
        let mut left = limit;
        if left > 0
            && let Some((start, end)) = self.duplicate.take()
        {
            push(start, end);
            left -= 1;
        }
        for (start, end) in self.blocks().iter().take(left) {
            push(*start, *end);
        }
    }

    /// Reports `[start, end)` as a duplicate, if the connection uses DSACK.
    pub(crate) fn set_duplicate(&mut self, start: u64, end: u64) {
        if self.enabled && self.dsack && start < end {
            self.duplicate = Some((start, end));
        }
    }

    /// Extends the duplicate by `[start, end)` if they touch. If there is no duplicate, makes
    /// `[start, end)` the duplicate.
    pub(crate) fn extend_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.duplicate {
            Some(block) if start <= block.1 && block.0 <= end => {
                *block = (block.0.min(start), block.1.max(end));
            }
            Some(_) => {}
            None => self.set_duplicate(start, end),
        }
    }

    /// Removes a duplicate that has not been reported.
    #[inline]
    pub(crate) fn clear_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Removes all blocks.
    pub(crate) fn clear_blocks(&mut self) {
        self.count = 0;
    }

    /// Removes the blocks that start at or below `nxt`.
    pub(crate) fn remove_below(&mut self, nxt: u64) {
        let mut kept = 0;
        for i in 0..self.count {
            if self.blocks[i].0 > nxt {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Returns whether reporting `[start, end)` moves more than one other block back (Linux
    /// `TCP_SACK_BLOCKS_EXPECTED`). The moved blocks may no longer fit into the option.
    pub(crate) fn displaces_several(&self, start: u64, end: u64) -> bool {
        self.position(start, end).unwrap_or(self.count) >= 2
    }

    /// Adds `[start, end)` to the block that it touches, or as a new block. The block moves to the
    /// front. A new block beyond [`LINUX_BLOCKS`] displaces the last block.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        let found = self.position(start, end);
        let place = found.unwrap_or(self.count);
        let mut block = (start, end);
        if let Some(found) = found {
            let old = self.blocks[found];
            block = (old.0.min(start), old.1.max(end));
        } else if self.count < LINUX_BLOCKS {
            self.count += 1;
        }
        let last = place.min(LINUX_BLOCKS - 1);
        self.blocks.copy_within(0..last, 1);
        self.blocks[0] = block;
        if found.is_some() {
            self.merge_into_first();
        }
    }

    /// Returns the position of the block that `[start, end)` touches, if there is one.
    fn position(&self, start: u64, end: u64) -> Option<usize> {
        self.blocks().iter().position(|block| start <= block.1 && block.0 <= end)
    }

    /// Merges the blocks that touch the first block into the first block.
    fn merge_into_first(&mut self) {
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
