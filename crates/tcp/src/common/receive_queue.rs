//! The receive queue: data that is in order and that the application has not read.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_queue_rcv`, `tcp_data_queue_ofo`,
//! `tcp_ofo_queue`) and `net/core/skbuff.c` (`skb_try_coalesce`). A segment joins the packet buffer
//! (`sk_buff`) that it continues, whether in order or not. When a hole is filled, the buffers
//! behind the hole join the segment that filled it. A buffer is read and counted as a whole. Only
//! the first segment of a buffer costs memory beyond its payload.
//!
//! Difference: in this model a segment always has one page fragment. In Linux about 5 % of the
//! segments have two page fragments (`skb_frag_t`), because the sender's memory is allocated in
//! pieces of 32 KiB.

use aqmlab_core::hint::rare;

/// The maximum number of segments in a buffer (Linux `MAX_SKB_FRAGS`).
const MAX_SEGMENTS: u32 = 17;

/// A packet buffer: consecutive segments that share an `sk_buff`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) start: u64,
    pub(crate) end: u64,
    segments: u32,
}

impl Buffer {
    /// Returns a buffer of one segment.
    pub(crate) const fn of(start: u64, end: u64) -> Self {
        Self { start, end, segments: 1 }
    }

    /// Joins `next` to this buffer if `next` follows and fits. Returns whether `next` was joined.
    #[inline]
    pub(crate) fn join(&mut self, next: Self) -> bool {
        let joined = self.end == next.start && self.segments + next.segments <= MAX_SEGMENTS;
        if joined {
            self.end = next.end;
            self.segments += next.segments;
        }
        joined
    }
}

/// Data that is in order and that the application has not read.
#[derive(Debug, Default)]
pub(crate) struct ReceiveQueue {
    /// The number of buffers.
    buffers: u64,
    bytes: u64,
    first: Buffer,
    /// The last buffer, if there are at least two.
    last: Buffer,
}

impl ReceiveQueue {
    /// Adds a buffer that has `bytes` of new data.
    #[inline]
    pub(crate) fn add(&mut self, buffer: Buffer, bytes: u64) {
        self.bytes += bytes;
        if self.buffers == 0 {
            self.first = buffer;
            self.buffers = 1;
            return;
        }
        // Usually the application has read all data before the next segment arrives.
        rare();
        let last = if self.buffers == 1 { &mut self.first } else { &mut self.last };
        if !last.join(buffer) {
            self.last = buffer;
            self.buffers += 1;
        }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.buffers == 0
    }

    /// Removes all data, and returns the number of bytes.
    pub(crate) fn take(&mut self) -> u64 {
        self.buffers = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Returns the memory of the queue, with an overhead of `overhead` bytes for each buffer.
    #[inline]
    pub(crate) const fn memory(&self, overhead: u64) -> u64 {
        self.bytes + self.buffers * overhead
    }

    /// Returns the end of the first buffer, if there is one.
    pub(crate) fn first_end(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.first.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_segments_join_up_to_seventeen() {
        let mut unread = ReceiveQueue::default();
        for i in 0..20 {
            unread.add(Buffer::of(100 * i, 100 * (i + 1)), 100);
        }
        assert_eq!(unread.first_end(), Some(1_700));
        assert_eq!((unread.bytes, unread.memory(10)), (2_000, 2_020));
    }

    #[test]
    fn a_buffer_does_not_fill_up_with_part_of_the_next() {
        let mut waited = Buffer::of(100, 200);
        assert!((2..18).all(|i| waited.join(Buffer::of(100 * i, 100 * (i + 1)))));
        let mut unread = ReceiveQueue::default();
        unread.add(Buffer::of(0, 100), 100);
        unread.add(waited, 1_700);
        assert_eq!((unread.first_end(), unread.memory(10)), (Some(100), 1_820));
    }
}
