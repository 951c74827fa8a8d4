//! The memory of the packets in the hosts' own links, by connection. TCP small queues limit this
//! memory.
//!
//! Linux counts a segment from its transmission until the device reports that the segment has left.
//! On a wired link, this module counts a segment only until its transmission on the wire begins.
//! The count therefore falls earlier, by the segment's transmission time. On a radio, a segment
//! counts until it is delivered or given up. A segment that the link's discipline drops no longer
//! counts, because the kernel then frees its `skb`.
//!
//! If a discipline drops the segment that a TCP is sending, Linux ends this call of
//! `tcp_write_xmit`, and the TCP sends again after its next event. So does this TCP. The head of
//! `aqmlab_tcp`'s module `tsq` states a difference.

use aqmlab_core::{Bytes, Header, Packet, Side};
use aqmlab_node::Port;
use aqmlab_tcp::queued_memory;

/// The memory of packets in the hosts' own links, and the ends whose packets have left them.
#[derive(Debug, Default)]
pub(crate) struct OwnLinks {
    /// The memory in bytes of the packets from the home and from the internet, by connection.
    waiting: Vec<[u64; 2]>,
    /// The ends whose packets have left their own link since the last call of [`Self::released`].
    released: Vec<(u32, Side)>,
    /// The last end whose own link dropped a packet while the end was sending.
    refused: Option<(u32, Side)>,
    /// Packets that a link dropped, until they are counted.
    dropped: Vec<Packet>,
}

/// Returns the memory of a packet in bytes, which TCP small queues limit; 0 for other packets.
fn memory(packet: &Packet) -> u64 {
    match &packet.header {
        Header::Tcp(header) => queued_memory(header).0,
        _ => 0,
    }
}

impl OwnLinks {
    /// Records that a packet enters its sender's own link.
    pub(crate) fn enter(&mut self, packet: &Packet) {
        let place = packet.conn as usize;
        if self.waiting.len() <= place {
            self.waiting.resize(place + 1, [0; 2]);
        }
        self.waiting[place][packet.direction.sender().index()] += memory(packet);
    }

    /// Records that a packet has left its sender's own link.
    pub(crate) fn leave(&mut self, packet: &Packet) {
        let end = self.subtract(packet);
        self.released.push(end);
    }

    /// Records that the packets which `port` dropped have left their senders' own link. `sending`
    /// is the end whose packet was just offered, if there is one. This end is not released, because
    /// it would send into the full queue again.
    #[inline(never)]
    pub(crate) fn take_drops(&mut self, port: &mut Port, sending: Option<(u32, Side)>) {
        let mut dropped = std::mem::take(&mut self.dropped);
        port.reclaim(&mut dropped);
        for packet in dropped.drain(..).filter(|packet| packet.hop == 0) {
            let end = self.subtract(&packet);
            if sending == Some(end) {
                self.refused = sending;
            } else {
                self.released.push(end);
            }
        }
        self.dropped = dropped;
    }

    /// Subtracts the memory of a packet; returns the end that has sent the packet.
    fn subtract(&mut self, packet: &Packet) -> (u32, Side) {
        let end @ (conn, side) = (packet.conn, packet.direction.sender());
        self.waiting[conn as usize][side.index()] -= memory(packet);
        end
    }

    /// Returns whether the own link of `end` dropped a packet since the last call while `end` was
    /// sending.
    pub(crate) fn take_refusal(&mut self, end: (u32, Side)) -> bool {
        self.refused.take() == Some(end)
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

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, BitRate, Direction, Instant, Overhead, Rng, TcpHeader, Value};
    use aqmlab_qdisc::kinds;

    use super::*;

    /// Returns the header of a segment with data.
    fn data() -> TcpHeader {
        TcpHeader { payload: 1_448, ..TcpHeader::default() }
    }

    /// Returns a port whose FIFO holds `limit` packets.
    fn port(limit: u64) -> Port {
        let kind = kinds::find("pfifo").expect("there is such a kind");
        let args = Args::defaults(kind.params).with("limit", Value::Count(limit));
        let rate = BitRate::new(1_000_000).expect("the rate is not zero");
        let rng = Rng::stream(1, "port");
        let mut port = Port::new((kind.build)(&args), rate, Overhead::default(), rng);
        port.keep_all_drops();
        port
    }

    fn packet(id: u64, conn: u32, hop: u8) -> Packet {
        let mut packet = Packet::plain(id, 0, 1_500);
        (packet.conn, packet.hop, packet.direction) = (conn, hop, Direction::Up);
        packet.header = Header::Tcp(data());
        packet
    }

    #[test]
    fn every_packet_leaves_once_sent_or_dropped() {
        let (mut own, mut port) = (OwnLinks::default(), port(100));
        let now = Instant::ZERO;
        for id in 0..1_000 {
            let packet = packet(id, (id % 3) as u32, 0);
            own.enter(&packet);
            port.offer(packet, now);
            own.take_drops(&mut port, None);
        }
        let waiting =
            |own: &OwnLinks| -> u64 { (0..3).map(|conn| own.waiting(conn, Side::Home).0).sum() };
        assert_eq!(waiting(&own), 100 * queued_memory(&data()).0);
        assert_eq!(own.released().count(), 900);
        while let Some(packet) = port.take(now) {
            own.leave(&packet);
        }
        assert_eq!(waiting(&own), 0);
    }

    #[test]
    fn only_the_sending_end_is_refused_and_it_is_not_released() {
        let (mut own, mut port) = (OwnLinks::default(), port(1));
        for (id, conn) in [(0, 7), (1, 7), (2, 8)] {
            let packet = packet(id, conn, 0);
            own.enter(&packet);
            port.offer(packet, Instant::ZERO);
            own.take_drops(&mut port, Some((7, Side::Home)));
        }
        assert_eq!(own.released().collect::<Vec<_>>(), [(8, Side::Home)]);
        assert!(own.take_refusal((7, Side::Home)));
        assert!(!own.take_refusal((7, Side::Home)), "a refusal is reported once");
    }

    #[test]
    fn a_packet_of_another_link_does_not_count() {
        let (mut own, mut port) = (OwnLinks::default(), port(1));
        (0..3).for_each(|id| port.offer(packet(id, 0, 1), Instant::ZERO));
        own.take_drops(&mut port, None);
        assert!(!own.has_released());
    }
}
