//! The FIFO in which disciplines store packets.

use aqmlab_core::{Bytes, Duration, Instant, Packet, Ring};

/// The packets and bytes in a queue or a discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The number of packets.
    pub packets: usize,
    /// The total size of the packets, as the discipline counts it.
    pub bytes: Bytes,
}

/// A FIFO of packets that records each arrival time.
#[derive(Clone, Debug, Default)]
pub struct PacketQueue {
    /// Every value in the ring is `Some`; unused places of the ring hold `None`.
    waiting: Ring<Option<Packet>>,
    bytes: Bytes,
}

impl PacketQueue {
    /// Appends `packet`, and records `now` as its arrival time.
    #[inline]
    pub fn push(&mut self, mut packet: Packet, now: Instant) {
        packet.enqueued = now;
        self.bytes += packet.bytes();
        self.waiting.push(Some(packet));
    }

    /// Removes the packet at the head, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<Packet> {
        let packet = self.waiting.pop().flatten();
        if let Some(packet) = &packet {
            self.bytes -= packet.bytes();
        }
        packet
    }

    /// Removes the packet at the head, if there is one; returns it with its sojourn time.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Packet, Duration)> {
        let packet = self.take()?;
        let sojourn = now.since(packet.enqueued);
        Some((packet, sojourn))
    }

    /// Removes the packet at the tail, if there is one.
    pub fn pop_back(&mut self) -> Option<Packet> {
        let packet = self.waiting.pop_back().flatten()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Returns the packet at the head, if there is one, and leaves it in place.
    pub fn front(&self) -> Option<&Packet> {
        self.waiting.front()?.as_ref()
    }

    /// Returns the number of packets and their total size.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len(), bytes: self.bytes }
    }

    /// Returns the number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
