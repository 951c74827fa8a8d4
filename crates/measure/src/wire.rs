//! The wire format of a packet: IPv4, TCP with its options, UDP, ICMP echo, and checksums.
//!
//! Sources: RFC 791, RFC 9293, RFC 7323 (window scale, timestamps), RFC 2018 (SACK), RFC 768, RFC
//! 792, RFC 1071 (checksum). Payloads are zeros, so the checksum of a whole packet follows from its
//! first bytes. Some fields identify a packet at both ends: the IP identification, the sequence
//! numbers, and the application's number in a datagram's first eight bytes. The IP identification
//! is the low 16 bits of the packet's identity.

use aqmlab_core::{Direction, Ecn, FiveTuple, TcpFlags, TcpHeader};

use crate::record::{PacketRecord, RecordedHeader};

const IP_LEN: usize = 20;
const TCP_LEN: usize = 20;
const UDP_LEN: usize = 8;
const ICMP_LEN: usize = 8;

/// The appearance of a packet at one tap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guise {
    /// The addresses and ports at the tap, in the packet's direction.
    pub(crate) tuple: FiveTuple,
    /// The initial sequence numbers of the packet's sender and receiver.
    pub(crate) isn: [u32; 2],
    /// The window scale of the packet's sender.
    pub(crate) scale: u8,
    /// The ECN field at the tap.
    pub(crate) ecn: Ecn,
    /// The TTL at the tap.
    pub(crate) ttl: u8,
    /// The direction of the first packet of the connection, such as an echo request.
    pub(crate) opened_by: Direction,
}

/// Appends the headers of a packet to `out`, and in a datagram the application's number. Returns an
/// error if no such packet can exist.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    record: &PacketRecord,
    guise: &Guise,
) -> Result<(), String> {
    let start = out.len();
    ipv4(out, record, guise)?;
    let transport = out.len();
    let (headers, checksum_at, pseudo) = match &record.header {
        RecordedHeader::Tcp(tcp) => (tcp_segment(out, tcp, guise)?, 16, true),
        RecordedHeader::Udp(udp) => (udp_datagram(out, record, udp.tag, guise), 6, true),
        RecordedHeader::Icmp(icmp) => (icmp_echo(out, record, icmp.tag, guise), 2, false),
    };
    let total = record.ip_len as usize;
    if total < IP_LEN + headers {
        return Err(format!("{total} bytes cannot hold headers of {} bytes", IP_LEN + headers));
    }
    let rest = (total - IP_LEN - headers) as u32;
    if let RecordedHeader::Tcp(tcp) = &record.header
        && tcp.payload != rest
    {
        return Err(format!("{rest} bytes follow the headers, the segment has {}", tcp.payload));
    }
    let mut sum = sum(&out[transport..]);
    if pseudo {
        sum += sum_of_pseudo_header(&guise.tuple, total - IP_LEN);
    }
    let folded = match (fold(sum), &record.header) {
        // RFC 768: a checksum field of zero means that there is no checksum.
        (0, RecordedHeader::Udp(_)) => 0xffff,
        (folded, _) => folded,
    };
    let checksum_at = transport + checksum_at;
    out[checksum_at..checksum_at + 2].copy_from_slice(&folded.to_be_bytes());
    debug_assert!(out.len() - start <= total, "no more is written than the packet holds");
    Ok(())
}

fn ipv4(out: &mut Vec<u8>, record: &PacketRecord, guise: &Guise) -> Result<(), String> {
    let total = u16::try_from(record.ip_len)
        .map_err(|_| format!("{} bytes: an IPv4 packet has at most 65535", record.ip_len))?;
    let start = out.len();
    out.extend([0x45, guise.ecn.bits()]);
    out.extend(total.to_be_bytes());
    out.extend((record.id as u16).to_be_bytes());
    // The flag forbids fragmentation, and the fragment offset is zero.
    out.extend([0x40, 0, guise.ttl, guise.tuple.protocol, 0, 0]);
    out.extend(guise.tuple.source.to_be_bytes());
    out.extend(guise.tuple.destination.to_be_bytes());
    let checksum = fold(sum(&out[start..]));
    out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Appends a TCP header without its checksum; returns its length.
fn tcp_segment(out: &mut Vec<u8>, tcp: &TcpHeader, guise: &Guise) -> Result<usize, String> {
    let length = TCP_LEN + usize::from(tcp.options_len);
    if !tcp.options_len.is_multiple_of(4) || tcp.options_len > 40 {
        return Err(format!("{} bytes of options: allowed are 0, 4 … 40", tcp.options_len));
    }
    let acknowledges = tcp.flags.has(TcpFlags::ACK);
    let ack = if acknowledges { guise.isn[1].wrapping_add(tcp.ack as u32) } else { 0 };
    // RFC 7323 §2.2: the window of a SYN is never scaled.
    let scale = if tcp.flags.has(TcpFlags::SYN) { 0 } else { guise.scale };
    let window = u16::try_from(tcp.window >> scale).unwrap_or(u16::MAX);
    out.extend(guise.tuple.source_port.to_be_bytes());
    out.extend(guise.tuple.destination_port.to_be_bytes());
    out.extend(guise.isn[0].wrapping_add(tcp.seq as u32).to_be_bytes());
    out.extend(ack.to_be_bytes());
    let [first, flags] = tcp.flags.0.to_be_bytes();
    out.extend([(length as u8 / 4) << 4 | first, flags]);
    out.extend(window.to_be_bytes());
    out.extend([0; 4]);
    let options = out.len();
    if tcp.flags.has(TcpFlags::SYN) {
        syn_options(out, tcp);
    } else {
        segment_options(out, tcp, guise);
    }
    let written = out.len() - options;
    let padding = usize::from(tcp.options_len).checked_sub(written).ok_or_else(|| {
        format!("options take {written} bytes, the header has {}", tcp.options_len)
    })?;
    out.extend(std::iter::repeat_n(1, padding));
    Ok(length)
}

fn syn_options(out: &mut Vec<u8>, tcp: &TcpHeader) {
    if tcp.mss > 0 {
        out.extend([2, 4]);
        out.extend(tcp.mss.to_be_bytes());
    }
    if tcp.sack_permitted {
        out.extend([4, 2]);
    }
    timestamps(out, tcp);
    // RFC 7323 §2.2: the largest window scale is 14.
    if tcp.window_scale <= 14 {
        out.extend([1, 3, 3, tcp.window_scale]);
    }
}

fn segment_options(out: &mut Vec<u8>, tcp: &TcpHeader, guise: &Guise) {
    let start = out.len();
    if tcp.timestamps {
        out.extend([1, 1]);
    }
    timestamps(out, tcp);
    let room = usize::from(tcp.options_len).saturating_sub(out.len() - start + 4) / 8;
    let blocks = tcp.sack.len().min(room);
    if blocks > 0 {
        out.extend([1, 1, 5, 2 + 8 * blocks as u8]);
    }
    for (from, to) in tcp.sack.iter(tcp.ack).take(blocks) {
        out.extend(guise.isn[1].wrapping_add(from as u32).to_be_bytes());
        out.extend(guise.isn[1].wrapping_add(to as u32).to_be_bytes());
    }
}

fn timestamps(out: &mut Vec<u8>, tcp: &TcpHeader) {
    if tcp.timestamps {
        out.extend([8, 10]);
        out.extend(tcp.ts_val.to_be_bytes());
        out.extend(tcp.ts_ecr.to_be_bytes());
    }
}

fn udp_datagram(out: &mut Vec<u8>, record: &PacketRecord, tag: u64, guise: &Guise) -> usize {
    let length = (record.ip_len as usize).saturating_sub(IP_LEN);
    out.extend(guise.tuple.source_port.to_be_bytes());
    out.extend(guise.tuple.destination_port.to_be_bytes());
    out.extend((length as u16).to_be_bytes());
    out.extend([0; 2]);
    write_tag(out, tag, length.saturating_sub(UDP_LEN));
    UDP_LEN
}

fn icmp_echo(out: &mut Vec<u8>, record: &PacketRecord, tag: u64, guise: &Guise) -> usize {
    let kind = if record.direction == guise.opened_by { 8 } else { 0 };
    out.extend([kind, 0, 0, 0]);
    out.extend((record.conn as u16).to_be_bytes());
    out.extend((tag as u16).to_be_bytes());
    write_tag(out, tag, (record.ip_len as usize).saturating_sub(IP_LEN + ICMP_LEN));
    ICMP_LEN
}

/// Writes the application's number, or as many of its low bytes as fit into `room`.
fn write_tag(out: &mut Vec<u8>, tag: u64, room: usize) {
    let bytes = tag.to_be_bytes();
    out.extend(&bytes[8 - room.min(8)..]);
}

fn sum_of_pseudo_header(tuple: &FiveTuple, length: usize) -> u64 {
    sum(&tuple.source.to_be_bytes())
        + sum(&tuple.destination.to_be_bytes())
        + u64::from(tuple.protocol)
        + length as u64
}

/// Returns the sum of 16-bit words (RFC 1071), not yet folded to 16 bits.
fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    bytes.chunks(2).map(word).sum()
}

/// Returns the ones' complement of a sum, folded to 16 bits.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::{Header, Instant, Packet, PacketFields, SackBlocks, UdpHeader};
    use etherparse::TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    use etherparse::{SlicedPacket, TransportSlice};

    const TUPLE: FiveTuple = FiveTuple {
        protocol: 6,
        source: 0xc0a8_0102,
        destination: 0x0808_0808,
        source_port: 40_000,
        destination_port: 5_001,
    };

    fn wire(header: Header, protocol: u8, ip_len: u32) -> Result<Vec<u8>, String> {
        let packet =
            Packet::from(PacketFields { header, ..PacketFields::plain(0x1_2345, 9, ip_len) });
        let record = PacketRecord::new(&packet, Instant::ZERO);
        let guise = Guise {
            tuple: FiveTuple { protocol, ..TUPLE },
            isn: [u32::MAX, 1_000],
            scale: 7,
            ecn: Ecn::Ce,
            ttl: 63,
            opened_by: Direction::Up,
        };
        let mut out = Vec::new();
        encode(&mut out, &record, &guise)?;
        Ok(out)
    }

    /// Returns the packet with the payload of zeros that a capture leaves out.
    fn whole(header: Header, protocol: u8, ip_len: u32) -> Vec<u8> {
        let mut bytes = wire(header, protocol, ip_len).unwrap();
        bytes.resize(ip_len as usize, 0);
        bytes
    }

    fn sum_is_right(bytes: &[u8], pseudo: bool) -> bool {
        let extra = if pseudo {
            let tuple = FiveTuple { protocol: bytes[9], ..TUPLE };
            sum_of_pseudo_header(&tuple, bytes.len() - IP_LEN)
        } else {
            0
        };
        fold(sum(&bytes[IP_LEN..]) + extra) == 0 && fold(sum(&bytes[..IP_LEN])) == 0
    }

    #[test]
    fn a_segment_is_what_an_independent_parser_reads() {
        let mut sack = SackBlocks::default();
        sack.push(50, 100, 200);
        let header = TcpHeader {
            seq: 5,
            ack: 50,
            payload: 100,
            window: 128_000,
            ts_val: 7,
            ts_ecr: 8,
            sack,
            flags: TcpFlags::ACK.with(TcpFlags::ECE),
            options_len: 24,
            timestamps: true,
            ..TcpHeader::default()
        };
        let bytes = whole(Header::Tcp(header), 6, 20 + 44 + 100);
        assert!(sum_is_right(&bytes, true));
        let parsed = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &parsed.transport else { panic!("{parsed:?}") };
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (4, 1_050));
        assert_eq!(
            (tcp.window_size(), tcp.ack(), tcp.ece(), tcp.syn()),
            (1_000, true, true, false)
        );
        let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
        let want = [
            Noop,
            Noop,
            Timestamp(7, 8),
            Noop,
            Noop,
            SelectiveAcknowledgement((1_100, 1_200), [None; 3]),
        ];
        assert_eq!(options, want);
        let Some(etherparse::NetSlice::Ipv4(ip)) = &parsed.net else { panic!("{parsed:?}") };
        let ip = ip.header();
        assert_eq!((ip.identification(), ip.ecn().value(), ip.ttl()), (0x2345, 3, 63));
    }

    #[test]
    fn a_syn_offers_what_it_offers_and_its_window_is_not_scaled() {
        let header = TcpHeader {
            flags: TcpFlags::SYN,
            window: 64_240,
            options_len: 20,
            mss: 1_460,
            window_scale: 7,
            sack_permitted: true,
            timestamps: true,
            ..TcpHeader::default()
        };
        let bytes = whole(Header::Tcp(header), 6, 60);
        assert!(sum_is_right(&bytes, true));
        let parsed = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &parsed.transport else { panic!("{parsed:?}") };
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (u32::MAX, 0));
        assert_eq!(tcp.window_size(), 64_240);
        let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
        let want = [
            MaximumSegmentSize(1_460),
            SelectiveAcknowledgementPermitted,
            Timestamp(0, 0),
            Noop,
            WindowScale(7),
        ];
        assert_eq!(options, want);
    }

    #[test]
    fn datagrams_carry_their_number_and_a_right_checksum() {
        for (header, protocol, ip_len) in [
            (Header::Udp(UdpHeader { tag: 0x0102_0304_0506_0708 }), 17, 200),
            (Header::Udp(UdpHeader { tag: 0x0102_0304_0506_0708 }), 17, 31),
            (Header::Udp(UdpHeader { tag: 1 }), 17, 28),
            (Header::Icmp(UdpHeader { tag: 77 }), 1, 84),
        ] {
            let captured = wire(header.clone(), protocol, ip_len).unwrap();
            assert!(captured.len() <= 36, "{}", captured.len());
            let bytes = whole(header, protocol, ip_len);
            assert!(sum_is_right(&bytes, protocol == 17), "{protocol} {ip_len}");
            assert!(SlicedPacket::from_ip(&bytes).unwrap().transport.is_some());
        }
    }

    #[test]
    fn a_packet_that_cannot_be_is_refused() {
        let tcp = |payload, options_len| {
            Header::Tcp(TcpHeader { payload, options_len, ..TcpHeader::default() })
        };
        for (header, protocol, ip_len, want) in [
            (Header::Udp(UdpHeader { tag: 0 }), 17, 27, "27 bytes cannot hold headers of 28"),
            (Header::Udp(UdpHeader { tag: 0 }), 17, 70_000, "at most 65535"),
            (tcp(9, 0), 6, 50, "10 bytes follow the headers, the segment has 9"),
            (tcp(0, 3), 6, 60, "3 bytes of options: allowed are 0, 4 … 40"),
        ] {
            let problem = wire(header, protocol, ip_len).unwrap_err();
            assert!(problem.contains(want), "{problem}");
        }
    }
}
