//! The segments that arrived out of order.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_data_queue_ofo`, `tcp_ofo_queue`).

use crate::common::receive_queue::Buffer;
use crate::common::sack_report::SackReport;

/// The result of inserting a segment.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// The queue already held the whole segment.
    Duplicate,
    /// The segment joined the buffer before it.
    Coalesced,
    /// The segment is a separate buffer.
    Own,
}

/// The out-of-order queue (`out_of_order_queue`).
#[derive(Debug, Default)]
pub(super) struct OooQueue {
    /// The buffers, in sequence order.
    buffers: Vec<Buffer>,
    bytes: u64,
}

impl OooQueue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Returns the memory of the queue, with an overhead of `overhead` bytes for each buffer.
    #[inline]
    pub(super) fn memory(&self, overhead: u64) -> u64 {
        self.bytes + self.buffers.len() as u64 * overhead
    }

    /// Removes the buffers that are now in order, from the queue and from `sack`. Data up to `end`
    /// has arrived, and `before` was the next byte expected. Passes each buffer that has new bytes
    /// to `deliver`, with their number. Returns the next byte expected.
    pub(super) fn advance(
        &mut self,
        (before, end): (u64, u64),
        sack: &mut SackReport,
        mut deliver: impl FnMut(Buffer, u64),
    ) -> u64 {
        let (mut nxt, mut reached) = (end, 0);
        while let Some(&buffer) = self.buffers.get(reached)
            && buffer.start <= nxt
        {
            self.bytes -= buffer.end - buffer.start;
            if buffer.start < end && buffer.start >= before {
                sack.extend_duplicate(buffer.start, buffer.end.min(end));
            }
            if buffer.end > nxt {
                deliver(buffer, buffer.end - nxt);
                nxt = buffer.end;
            }
            reached += 1;
        }
        self.buffers.drain(..reached);
        if self.buffers.is_empty() {
            sack.clear_blocks();
        } else {
            sack.remove_below(nxt);
        }
        nxt
    }

    /// Discards the queue and its SACK blocks after the end of the stream.
    pub(super) fn purge(&mut self, sack: &mut SackReport) {
        self.buffers.clear();
        self.bytes = 0;
        sack.clear_blocks();
    }

    /// Inserts `[start, end)`, which lies beyond the next expected byte, and reports it in `sack`.
    pub(super) fn insert(&mut self, start: u64, end: u64, sack: &mut SackReport) -> Inserted {
        sack.add(start, end);
        let mut place = self.buffers.partition_point(|one| one.start <= start);
        if place > 0 {
            let left = &mut self.buffers[place - 1];
            if end <= left.end {
                sack.set_duplicate(start, end);
                return Inserted::Duplicate;
            }
            if left.join(Buffer::of(start, end)) {
                self.bytes += end - start;
                return Inserted::Coalesced;
            }
            let (left_start, left_end) = (left.start, left.end);
            if left_start == start {
                place -= 1; // the new segment covers and replaces that buffer
            } else if left_end > start {
                sack.set_duplicate(start, left_end);
            }
        }
        self.buffers.insert(place, Buffer::of(start, end));
        self.bytes += end - start;
        self.remove_covered(place, sack);
        Inserted::Own
    }

    /// Removes the buffers that the buffer at `place` covers, and reports overlapping data as a
    /// duplicate.
    fn remove_covered(&mut self, place: usize, sack: &mut SackReport) {
        let end = self.buffers[place].end;
        let mut next = place + 1;
        while let Some(&other) = self.buffers.get(next)
            && other.start < end
        {
            sack.extend_duplicate(other.start, other.end.min(end));
            if other.end > end {
                break;
            }
            self.bytes -= other.end - other.start;
            next += 1;
        }
        self.buffers.drain(place + 1..next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> SackReport {
        let mut report = SackReport::default();
        (report.enabled, report.dsack) = (true, true);
        report
    }

    fn blocks(sack: &mut SackReport) -> Vec<(u64, u64)> {
        let mut blocks = Vec::new();
        sack.report(4, |start, end| blocks.push((start, end)));
        blocks
    }

    #[test]
    fn the_newest_block_comes_first_and_neighbours_merge() {
        let (mut queue, mut sack) = (OooQueue::default(), report());
        for (start, end, inserted, want) in [
            (200, 300, Inserted::Own, vec![(200, 300)]),
            (400, 500, Inserted::Own, vec![(400, 500), (200, 300)]),
            (300, 400, Inserted::Coalesced, vec![(200, 500)]),
            (700, 800, Inserted::Own, vec![(700, 800), (200, 500)]),
            (500, 600, Inserted::Coalesced, vec![(200, 600), (700, 800)]),
        ] {
            assert_eq!(queue.insert(start, end, &mut sack), inserted, "{start}");
            assert_eq!(blocks(&mut sack), want, "after {start}");
        }
        assert_eq!(queue.memory(0), 500);
        let mut delivered = Vec::new();
        let nxt = queue.advance((100, 200), &mut sack, |buffer, bytes| {
            delivered.push((buffer.start, buffer.end, bytes));
        });
        assert_eq!(delivered, [(200, 400, 200), (400, 600, 200)]);
        assert_eq!(nxt, 600);
        assert_eq!(blocks(&mut sack), [(700, 800)]);
        assert_eq!(queue.memory(0), 100);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let (mut queue, mut sack) = (OooQueue::default(), report());
        assert_eq!(queue.insert(200, 300, &mut sack), Inserted::Own);
        assert_eq!(queue.insert(200, 300, &mut sack), Inserted::Duplicate);
        assert_eq!(blocks(&mut sack), [(200, 300), (200, 300)]);
        assert_eq!(blocks(&mut sack), [(200, 300)]);
        assert_eq!(queue.insert(250, 350, &mut sack), Inserted::Own);
        assert_eq!(blocks(&mut sack), [(250, 300), (200, 350)]);
    }

    #[test]
    fn only_four_blocks_are_remembered() {
        let (mut queue, mut sack) = (OooQueue::default(), report());
        for i in 0..6 {
            assert_eq!(sack.displaces_several(200 + i * 100, 250 + i * 100), i >= 2);
            assert_eq!(queue.insert(200 + i * 100, 250 + i * 100, &mut sack), Inserted::Own);
        }
        assert_eq!(blocks(&mut sack), [(700, 750), (600, 650), (500, 550), (400, 450)]);
        assert_eq!(queue.memory(1) - queue.memory(0), 6);
    }
}
