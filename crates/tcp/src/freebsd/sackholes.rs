//! The holes that selective acknowledgements leave.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_sack.c` (`tcp_sack_doack`, `tcp_sack_output`,
//! `tcp_sack_adjust`). The code of 10.0 differs only in `tcp_sack_doack`: it has no result, while
//! the result of 10.4 states whether an acknowledgement reported newly received data. It also has
//! no `sacked_bytes`, which only `net.inet.tcp.rfc6675_pipe` uses (off by default).

use crate::common::sack_report::OPTION_BLOCKS;

/// The maximum number of holes that a connection keeps (`net.inet.tcp.sack.maxholes`).
const MAX_HOLES: usize = 128;

/// A range `[start, end)` that has not arrived although later data has (`struct sackhole`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    start: u64,
    pub(super) end: u64,
    /// The end of the part that has been retransmitted (`rxmit`).
    pub(super) next: u64,
}

impl Hole {
    const fn new(start: u64, end: u64) -> Self {
        Self { start, end, next: start }
    }

    const fn retransmitted(&self) -> u64 {
        self.next - self.start
    }
}

/// The holes of a connection, in sequence order.
#[derive(Debug, Default)]
pub(super) struct SackHoles {
    list: Vec<Hole>,
    /// The hole to retransmit next, if there is one (`nexthole`).
    hint: Option<usize>,
    /// The end of the highest block on record (`snd_fack`). It does not change when holes are
    /// removed.
    pub(super) highest: u64,
    /// The number of bytes retransmitted and not acknowledged (`sack_bytes_rexmit`).
    pub(super) retransmitted: u64,
}

impl SackHoles {
    /// Processes an acknowledgement up to `ack`. `una` was the first unacknowledged byte. The
    /// `blocks` are valid and in any order. Returns whether the holes count as changed
    /// (`sack_changed`).
    ///
    /// If there are already 128 holes, a block beyond the highest is not recorded, and a block
    /// within a hole does not split the hole.
    pub(super) fn update(&mut self, una: u64, ack: u64, blocks: &[(u64, u64)]) -> bool {
        let mut sorted = [(0, 0); OPTION_BLOCKS + 1];
        let mut count = 0;
        let cumulative = (una < ack && !self.list.is_empty()).then_some((una, ack));
        for block in cumulative.into_iter().chain(blocks.iter().copied().take(OPTION_BLOCKS)) {
            sorted[count] = block;
            count += 1;
        }
        if count == 0 {
            return false;
        }
        let sorted = &mut sorted[..count];
        sorted.sort_unstable_by_key(|block| block.1);
        if self.list.is_empty() {
            self.highest = una.max(ack);
        }
        let (rest, beyond) = self.extend(sorted);
        self.cut(&sorted[..rest]) || beyond
    }

    /// Advances the highest end, and adds a hole below a block that lies beyond it. Returns how
    /// many blocks, counted from the lowest, must still be removed from the holes, and whether the
    /// change counts (`sack_changed`). As on FreeBSD, an advance does not count if the hole could
    /// not be added.
    fn extend(&mut self, sorted: &[(u64, u64)]) -> (usize, bool) {
        let (start, end) = sorted[sorted.len() - 1];
        if self.highest >= start {
            let news = self.highest < end;
            self.highest = self.highest.max(end);
            return (sorted.len(), news);
        }
        if self.insert(self.list.len(), Hole::new(self.highest, start)) {
            self.highest = end;
            return (sorted.len() - 1, true);
        }
        let rest = sorted.iter().rposition(|block| block.0 <= self.highest).map_or(0, |at| at + 1);
        if rest > 0 {
            self.highest = self.highest.max(sorted[rest - 1].1);
        }
        (rest, false)
    }

    /// Removes the blocks' ranges from the holes, from the highest to the lowest. Returns whether a
    /// block overlapped a hole.
    fn cut(&mut self, sorted: &[(u64, u64)]) -> bool {
        let (mut block, mut hole, mut news) = (sorted.len(), self.list.len(), false);
        while block > 0 && hole > 0 {
            let (start, end) = sorted[block - 1];
            let at = hole - 1;
            if start >= self.list[at].end {
                block -= 1;
            } else if end <= self.list[at].start {
                hole -= 1;
            } else {
                news = true;
                let (blocks, holes) = if self.shrink(at, start, end) { (0, 1) } else { (1, 0) };
                (block, hole) = (block - blocks, hole - holes);
            }
        }
        news
    }

    /// Removes `[start, end)` from hole `at`, which overlaps the range. Returns whether no part of
    /// the hole below `start` is left.
    fn shrink(&mut self, at: usize, start: u64, end: u64) -> bool {
        let mut hole = self.list[at];
        self.retransmitted -= hole.retransmitted();
        if start <= hole.start && end >= hole.end {
            self.remove(at);
            return true;
        }
        if start <= hole.start {
            hole.start = end;
            hole.next = hole.next.max(end);
        } else if end >= hole.end || self.split(at, end) {
            hole.end = start;
            hole.next = hole.next.min(start);
        }
        self.retransmitted += hole.retransmitted();
        self.list[at] = hole;
        start <= hole.start
    }

    /// Adds the part of hole `at` above `end` as a separate hole, if the limit allows another hole.
    /// Returns whether the hole was added. The caller shortens hole `at`.
    fn split(&mut self, at: usize, end: u64) -> bool {
        let hole = self.list[at];
        let upper = Hole { start: end, end: hole.end, next: hole.next.max(end) };
        if !self.insert(at + 1, upper) {
            return false;
        }
        self.retransmitted += upper.retransmitted();
        true
    }

    fn insert(&mut self, at: usize, hole: Hole) -> bool {
        if self.list.len() >= MAX_HOLES {
            return false;
        }
        self.list.insert(at, hole);
        self.hint = Some(self.hint.map_or(at, |hint| hint + usize::from(hint >= at)));
        true
    }

    fn remove(&mut self, at: usize) {
        self.list.remove(at);
        self.hint = self
            .hint
            .map(|hint| hint - usize::from(hint > at))
            .filter(|hint| *hint < self.list.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the first hole with bytes that were not retransmitted. Before a timeout, bytes are
    /// retransmitted only once.
    pub(super) fn next(&mut self) -> Option<Hole> {
        let mut at = self.hint?;
        while at < self.list.len() {
            let hole = self.list[at];
            if hole.next < hole.end {
                self.hint = Some(at);
                return Some(hole);
            }
            at += 1;
        }
        None
    }

    /// Records the retransmission of the next hole up to `end`.
    pub(super) fn on_retransmitted(&mut self, end: u64) {
        if let Some(hole) = self.hint.and_then(|at| self.list.get_mut(at)) {
            let end = end.min(hole.end);
            self.retransmitted += end - hole.next;
            hole.next = end;
        }
    }

    /// Returns the sequence number at which go-back-N at `nxt` continues. The function skips the
    /// ranges between holes, which have arrived.
    pub(super) fn skip(&self, nxt: u64) -> u64 {
        if self.list.is_empty() || nxt >= self.highest {
            return nxt;
        }
        match self.list.iter().position(|hole| nxt < hole.end) {
            // The range below the first hole is not skipped; the acknowledgement covers it.
            Some(0) => nxt,
            Some(at) => nxt.max(self.list[at].start),
            None => self.highest,
        }
    }

    /// Discards all holes after a timeout.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.hint = None;
        self.retransmitted = 0;
    }
}

#[cfg(test)]
mod tests;
