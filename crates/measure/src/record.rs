//! The records of single packets, for tables and captures.

use std::collections::BTreeMap;

use aqmlab_core::{Direction, Ecn, Header, Instant, Packet, Reason, TcpHeader, UdpHeader};

/// Whether a packet was received or dropped, or was still in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet was in flight at the end of the run.
    InFlight,
    /// The packet reached the tap at its receiver.
    Received(Instant),
    /// The packet was dropped on the way, at this time and for this reason.
    Dropped(Instant, Reason),
}

/// The transport header of a packet as a tap sees it. The contents of QUIC are encrypted, so a QUIC
/// datagram is a UDP datagram whose tag is the packet's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedHeader {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram.
    Udp(UdpHeader),
    /// An ICMP echo request or reply.
    Icmp(UdpHeader),
}

impl RecordedHeader {
    /// Returns the header of `packet` as a tap sees it.
    fn of(packet: &Packet) -> Self {
        match &packet.header {
            Header::Tcp(tcp) => Self::Tcp(tcp.clone()),
            Header::Udp(udp) => Self::Udp(*udp),
            Header::Quic(_) => Self::Udp(UdpHeader { tag: packet.id }),
            Header::Icmp(icmp) => Self::Icmp(*icmp),
        }
    }
}

/// The record of one packet: its headers, and the times at which it passed the taps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// The identity of the packet.
    pub id: u64,
    /// The time at the sender's tap.
    pub sent: Instant,
    /// Whether the packet was received or dropped, or was still in flight.
    pub fate: Fate,
    /// The serial numbers of the packet's two passages among all passages of the run at either tap;
    /// 0 before a passage. They order the passages of one instant.
    pub passages: [u32; 2],
    /// The index of the flow with which the packet is measured.
    pub flow: u32,
    /// The number of the packet's connection.
    pub conn: u32,
    /// The length of the IP packet in bytes.
    pub ip_len: u32,
    /// The direction of the packet.
    pub direction: Direction,
    /// The ECN field set by the sender.
    pub ecn_sent: Ecn,
    /// The ECN field at arrival.
    pub ecn: Ecn,
    /// The transport header as sent.
    pub header: RecordedHeader,
}

impl PacketRecord {
    /// Returns the record of a packet that passes the tap at its sender at `now`.
    pub fn new(packet: &Packet, now: Instant) -> Self {
        Self {
            id: packet.id,
            sent: now,
            fate: Fate::InFlight,
            passages: [0; 2],
            flow: packet.flow,
            conn: packet.conn,
            ip_len: packet.ip_len,
            direction: packet.direction,
            ecn_sent: packet.ecn,
            ecn: packet.ecn,
            header: RecordedHeader::of(packet),
        }
    }

    /// Returns the time at the receiver's tap, if the packet arrived.
    pub const fn received(&self) -> Option<Instant> {
        match self.fate {
            Fate::Received(at) => Some(at),
            Fate::InFlight | Fate::Dropped(..) => None,
        }
    }
}

/// The records of all packets of a run.
#[derive(Clone, Debug, Default)]
pub struct Records {
    kept: Vec<PacketRecord>,
    /// The index in `kept` of each packet in flight.
    in_flight: BTreeMap<u64, usize>,
    passages: u32,
}

impl Records {
    /// Records a packet that passes the tap at its sender. Calls are not inlined, because most runs
    /// keep no records.
    #[inline(never)]
    pub fn sent(&mut self, packet: &Packet, now: Instant) {
        self.in_flight.insert(packet.id, self.kept.len());
        let passages = [self.next_passage(), 0];
        self.kept.push(PacketRecord { passages, ..PacketRecord::new(packet, now) });
    }

    /// Records the arrival of a packet at the tap of its receiver. Packets without a record are
    /// ignored.
    #[inline(never)]
    pub fn received(&mut self, packet: &Packet, now: Instant) {
        let passage = self.next_passage();
        if let Some(record) = self.take(packet.id) {
            record.passages[1] = passage;
            record.fate = Fate::Received(now);
            record.ecn = packet.ecn;
        }
    }

    /// Records that a packet was dropped between the taps. Packets without a record are ignored.
    pub fn dropped(&mut self, id: u64, reason: Reason, now: Instant) {
        if let Some(record) = self.take(id) {
            record.fate = Fate::Dropped(now, reason);
        }
    }

    /// Returns the records, in the order in which the packets passed the tap at their sender.
    pub fn finish(self) -> Vec<PacketRecord> {
        self.kept
    }

    fn next_passage(&mut self) -> u32 {
        self.passages += 1;
        self.passages
    }

    fn take(&mut self, id: u64) -> Option<&mut PacketRecord> {
        self.in_flight.remove(&id).map(|place| &mut self.kept[place])
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{PacketFields, QuicDatagram, SackBlocks};

    use super::*;

    #[test]
    fn a_record_is_small_and_gives_the_header_back() {
        assert!(size_of::<PacketRecord>() <= 112, "{} bytes", size_of::<PacketRecord>());
        let mut sack = SackBlocks::default();
        sack.push(100, 200, 300);
        let plain = TcpHeader { seq: 5, ack: 100, payload: 1_448, ..TcpHeader::default() };
        let [tcp, with_sack, syn] = [
            plain.clone(),
            TcpHeader { sack, ..plain.clone() },
            TcpHeader { mss: 1_460, window_scale: 255, ..plain },
        ];
        let [udp, icmp] = [7, u64::MAX].map(|tag| UdpHeader { tag });
        for (header, recorded) in [
            (Header::Tcp(with_sack.clone()), RecordedHeader::Tcp(with_sack)),
            (Header::Tcp(syn.clone()), RecordedHeader::Tcp(syn)),
            (Header::Tcp(tcp.clone()), RecordedHeader::Tcp(tcp)),
            (Header::Udp(udp), RecordedHeader::Udp(udp)),
            (Header::Icmp(icmp), RecordedHeader::Icmp(icmp)),
            (
                Header::Quic(Box::new(QuicDatagram { packets: Vec::new() })),
                RecordedHeader::Udp(UdpHeader { tag: 1 }),
            ),
        ] {
            let packet = Packet::from(PacketFields { header, ..PacketFields::plain(1, 2, 1_500) });
            assert_eq!(PacketRecord::new(&packet, Instant::ZERO).header, recorded);
        }
    }

    #[test]
    fn each_packet_has_its_fate() {
        let mut records = Records::default();
        let at = Instant::from_millis;
        (0..4).for_each(|id| records.sent(&Packet::plain(id, 0, 100), at(id)));
        records.dropped(1, Reason::Early, at(9));
        let marked = PacketFields { ecn: Ecn::Ce, ..PacketFields::plain(2, 0, 100) }.into();
        records.received(&marked, at(10));
        records.received(&Packet::plain(0, 0, 100), at(11));
        records.received(&Packet::plain(77, 0, 100), at(12));
        let records = records.finish();
        let fates: Vec<_> = records.iter().map(|record| record.fate).collect();
        let want = [
            Fate::Received(at(11)),
            Fate::Dropped(at(9), Reason::Early),
            Fate::Received(at(10)),
            Fate::InFlight,
        ];
        assert_eq!(fates, want);
        assert_eq!((records[2].ecn_sent, records[2].ecn), (Ecn::NotEct, Ecn::Ce));
    }
}
