//! The memory of the packets in the hosts' own links, by connection. TCP small queues limit this
//! memory.
//!
//! Linux counts a segment from its transmission until the device reports that the segment has left.
//! On a wired link, this module counts a segment only until its transmission on the wire begins.
//! The count therefore falls earlier, by the segment's transmission time. On a radio, a segment
//! counts until it is delivered or given up.

use aqmlab_core::{Bytes, Direction, Packet, Side};

/// The memory of packets in the hosts' own links, and the ends whose packets have left them.
#[derive(Debug, Default)]
pub(crate) struct OwnLinks {
    /// The memory in bytes of the packets from the home and from the internet, by connection.
    waiting: Vec<[u64; 2]>,
    /// The ends whose packets have left their own link since the last call of [`Self::released`].
    released: Vec<(u32, Side)>,
}

/// Returns Linux's `truesize` of a packet in bytes. A small packet fits into the head of its
/// buffer, and a full-sized packet takes half a page.
fn memory(packet: &Packet) -> u64 {
    if packet.ip_len <= 256 { 768 } else { 2_304 }
}

fn sender(packet: &Packet) -> Side {
    match packet.direction {
        Direction::Up => Side::Home,
        Direction::Down => Side::Wan,
    }
}

impl OwnLinks {
    /// Records that a packet enters its sender's own link.
    pub(crate) fn enter(&mut self, packet: &Packet) {
        let place = packet.conn as usize;
        if self.waiting.len() <= place {
            self.waiting.resize(place + 1, [0; 2]);
        }
        self.waiting[place][sender(packet).index()] += memory(packet);
    }

    /// Records that a packet has left its sender's own link.
    pub(crate) fn leave(&mut self, packet: &Packet) {
        let side = sender(packet);
        let waiting = &mut self.waiting[packet.conn as usize][side.index()];
        *waiting = waiting.saturating_sub(memory(packet));
        self.released.push((packet.conn, side));
    }

    /// Returns the memory of an end's packets in the end's own link.
    pub(crate) fn waiting(&self, conn: u32, side: Side) -> Bytes {
        Bytes(self.waiting.get(conn as usize).map_or(0, |sides| sides[side.index()]))
    }

    /// Returns whether a packet of any end has left its own link since the last call of
    /// [`Self::released`].
    #[inline]
    pub(crate) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Removes and returns the ends whose packets have left their own link since the last call.
    pub(crate) fn released(&mut self) -> impl Iterator<Item = (u32, Side)> + '_ {
        self.released.drain(..)
    }
}
