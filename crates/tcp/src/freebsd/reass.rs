//! FreeBSD's receiver: the queue of segments that wait for one before them, and what it reports.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_reass.c` (`tcp_reass`) and `tcp_sack.c`
//! (`tcp_update_sack_list`).

/// The blocks that are remembered (`MAX_SACK_BLKS`).
pub(crate) const MAX_SACK_BLOCKS: usize = 6;

/// A segment that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: u64,
    end: u64,
    fin: bool,
}

/// What waits out of order, segment by segment.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    list: Vec<Waiting>,
}

/// What a segment brought into order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented {
    /// The next byte expected.
    pub(crate) nxt: u64,
    /// The FIN is what comes next.
    pub(crate) fin: bool,
    /// The bytes of the segment that are taken to be new, counted from its start.
    pub(crate) kept: u64,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes in `[start, end)`; there is room for `most` segments besides the one expected.
    pub(crate) fn insert(
        &mut self,
        nxt: u64,
        (start, end, fin): (u64, u64, bool),
        most: u64,
    ) -> Presented {
        let nothing = Presented { nxt, fin: false, kept: 0 };
        if start != nxt && self.list.len() as u64 >= most {
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

    /// Takes out of what begins after a segment what that brings up to `end`.
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

    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }
}

/// The blocks to report, latest first, after `[start, end)` has arrived: `nxt` is expected.
pub(crate) fn report(
    blocks: &[(u64, u64)],
    nxt: u64,
    (start, end): (u64, u64),
) -> ([(u64, u64); MAX_SACK_BLOCKS], usize) {
    let mut head = (start, end);
    let (mut saved, mut count) = ([(0, 0); MAX_SACK_BLOCKS + 1], 1);
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
    let mut all = [(0, 0); MAX_SACK_BLOCKS];
    let kept = (count - first).min(MAX_SACK_BLOCKS);
    all[..kept].copy_from_slice(&saved[first..first + kept]);
    (all, kept)
}
