//! How segments share buffers while nobody has read them.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_queue_rcv`, `tcp_data_queue_ofo`,
//! `tcp_ofo_queue`) and `net/core/skbuff.c` (`skb_try_coalesce`). A segment joins the buffer that it
//! continues, in order or not, and when a hole is filled what waited behind joins the segment that
//! filled it. Only a whole buffer is read and counted at once, and only its first segment brings
//! memory of its own beyond its payload.
//!
//! Difference: a segment is one fragment. In the kernel one in some twenty has two, for the
//! sender's memory is in pieces of 32 KiB.

/// The most segments in a buffer (Linux `MAX_SKB_FRAGS`).
const MOST_SEGMENTS: u32 = 17;

/// Segments that follow one another and are kept as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) start: u64,
    pub(crate) end: u64,
    segments: u32,
}

impl Buffer {
    /// A segment by itself.
    pub(crate) const fn of(start: u64, end: u64) -> Self {
        Self { start, end, segments: 1 }
    }

    /// Takes in what follows, if it follows and there is room; returns whether.
    #[inline]
    pub(crate) fn join(&mut self, next: Self) -> bool {
        let joined = self.end == next.start && self.segments + next.segments <= MOST_SEGMENTS;
        if joined {
            self.end = next.end;
            self.segments += next.segments;
        }
        joined
    }
}

/// What has arrived in order and was not read yet.
#[derive(Debug, Default)]
pub(crate) struct ReceiveQueue {
    /// In how many buffers it is.
    buffers: u64,
    bytes: u64,
    first: Buffer,
    last: Buffer,
}

impl ReceiveQueue {
    /// Takes in a buffer of which `bytes` are in order and new.
    #[inline]
    pub(crate) fn add(&mut self, buffer: Buffer, bytes: u64) {
        self.bytes += bytes;
        if self.buffers == 0 {
            self.first = buffer;
        } else if self.last.join(buffer) {
            if self.buffers == 1 {
                self.first = self.last;
            }
            return;
        }
        self.last = buffer;
        self.buffers += 1;
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.buffers == 0
    }

    /// Takes all data, and returns its bytes.
    pub(crate) fn take(&mut self) -> u64 {
        self.buffers = 0;
        std::mem::take(&mut self.bytes)
    }

    /// The memory that it takes, of which `overhead` a buffer.
    #[inline]
    pub(crate) const fn memory(&self, overhead: u64) -> u64 {
        self.bytes + self.buffers * overhead
    }

    /// Where the first of its buffers ends, if there is one.
    pub(crate) fn first_end(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.first.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_joins_up_to_seventeen_segments() {
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
