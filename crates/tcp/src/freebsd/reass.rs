//! The reassembly queue, and the SACK blocks that report its contents.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_reass.c` (`tcp_reass`) and `tcp_sack.c`
//! (`tcp_update_sack_list`).

use crate::common::sack_report::MAX_BLOCKS;

/// A segment that waits for missing data before it (`tseg_qent`).
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: u64,
    end: u64,
    fin: bool,
}

/// The segments that arrived out of order, in sequence order.
#[derive(Debug, Default)]
pub(super) struct ReassemblyQueue {
    list: Vec<Waiting>,
}

/// The result of inserting a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presented {
    /// The next byte expected.
    pub(super) nxt: u64,
    /// Whether the data in order ends with the FIN.
    pub(super) fin: bool,
    /// The number of bytes of the segment that count as new, from its start.
    pub(super) kept: u64,
}

impl ReassemblyQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Inserts `[start, end)`, and returns the data that is now in order. The queue holds up to
    /// `limit` segments in addition to the expected segment.
    pub(super) fn insert(
        &mut self,
        nxt: u64,
        (start, end, fin): (u64, u64, bool),
        limit: u64,
    ) -> Presented {
        let nothing = Presented { nxt, fin: false, kept: 0 };
        if start != nxt && self.list.len() as u64 >= limit {
            return nothing;
        }
        let place = self.list.partition_point(|one| one.start <= start);
        let mut from = start;
        if let Some(before) = place.checked_sub(1).map(|at| self.list[at])
            && before.end > start
        {
            if before.end >= end {
                let kept = end - start;
                return Presented { kept, ..self.present(nxt) };
            }
            from = before.end;
        }
        self.trim_after(place, end);
        self.list.insert(place, Waiting { start: from, end, fin });
        Presented { kept: end - from, ..self.present(nxt) }
    }

    /// Removes the bytes below `end` from the segments at `place` and later.
    fn trim_after(&mut self, place: usize, end: u64) {
        let covers = |one: &&Waiting| one.start < end && one.end <= end;
        let covered = self.list[place..].iter().take_while(covers).count();
        self.list.drain(place..place + covered);
        if let Some(next) = self.list.get_mut(place)
            && next.start < end
        {
            next.start = end;
        }
    }

    fn present(&mut self, mut nxt: u64) -> Presented {
        let (mut count, mut fin) = (0, false);
        while let Some(one) = self.list.get(count)
            && one.start == nxt
        {
            (nxt, fin) = (one.end, one.fin);
            count += 1;
        }
        self.list.drain(..count);
        Presented { nxt, fin, kept: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }
}

/// Returns the blocks to report, the most recent first. `[start, end)` has just arrived, and `nxt`
/// is the next expected byte.
pub(super) fn update_sack_list(
    blocks: &[(u64, u64)],
    nxt: u64,
    (start, end): (u64, u64),
) -> ([(u64, u64); MAX_BLOCKS], usize) {
    let mut head = (start, end);
    let (mut saved, mut count) = ([(0, 0); MAX_BLOCKS + 1], 1);
    for &(from, to) in blocks {
        if from >= to || from <= nxt {
            continue;
        }
        if head.0 <= to && head.1 >= from {
            head = (head.0.min(from), head.1.max(to));
        } else {
            saved[count] = (from, to);
            count += 1;
        }
    }
    saved[0] = head;
    let first = usize::from(head.0 <= nxt);
    let mut all = [(0, 0); MAX_BLOCKS];
    let kept = (count - first).min(MAX_BLOCKS);
    all[..kept].copy_from_slice(&saved[first..first + kept]);
    (all, kept)
}
