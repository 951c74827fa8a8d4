//! Parses the fields of an IPv4 packet that a discipline reads, and marks the packet.
//!
//! A discipline of the simulator gets a packet with the hash, ECN field, codepoint and length that
//! the simulator would give it. The caller sets the priority. A TCP header has the fields that
//! CAKE's ACK filter reads. Any other transport header is empty. The bytes of the packet are stored
//! separately.

use std::collections::BTreeMap;

use aqmlab_core::{
    Direction, Ecn, FiveTuple, Header, Instant, Packet, PacketFields, SackBlocks, TcpFlags,
    TcpHeader, UdpHeader,
};

/// The offset of the byte that contains the ECN field and the differentiated services field (RFC
/// 791 §3.1, RFC 3168 §5).
const SERVICES: usize = 1;
/// The offset of the header checksum.
const CHECKSUM: usize = 10;
/// The bits of the fragment offset. All of them are zero in an unfragmented packet and in a first
/// fragment.
const OFFSET: u16 = 0x1fff;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Parses a packet in `direction`; returns `None` for a packet that is not between the two ends of
/// an application.
pub(super) fn read(bytes: &[u8], direction: Direction, id: u64) -> Option<Packet> {
    let header = bytes.get(..20).filter(|header| header[0] >> 4 == 4)?;
    let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let (source, destination) = (word(12), word(16));
    let (home, wan) = (0xac_10_0a, 0xac_10_0b);
    let ends = if direction == Direction::Up { (home, wan) } else { (wan, home) };
    if (source >> 8, destination >> 8) != ends {
        return None;
    }
    let protocol = header[9];
    let transport = usize::from(header[0] & 0xf) * 4;
    let with_ports = matches!(protocol, TCP | UDP) && half(6) & OFFSET == 0;
    let ports = bytes.get(transport..transport + 4).filter(|_| with_ports);
    let port = |at: usize| ports.map_or(0, |it| u16::from_be_bytes([it[at], it[at + 1]]));
    let tuple = FiveTuple {
        protocol,
        source,
        destination,
        source_port: port(0),
        destination_port: port(2),
    };
    let ip_len = half(2).into();
    let segment = bytes.get(transport..).filter(|_| with_ports && protocol == TCP);
    let segment = segment.and_then(|segment| tcp(segment, ip_len, transport as u32));
    // Applications of one host share its address in the home.
    let on_wan = if direction == Direction::Up { destination } else { source };
    let flow = (on_wan & 0xff).checked_sub(2)?;
    let fields = PacketFields {
        id,
        enqueued: Instant::ZERO,
        flow,
        // The connection number is unused, because disciplines identify flows by their hashes.
        conn: 0,
        tuple_hash: tuple.hash(),
        source,
        destination,
        ip_len,
        len: ip_len,
        direction,
        hop: 0,
        ecn: ecn(header[SERVICES]),
        dscp: header[SERVICES] >> 2,
        priority: 0,
        header: match protocol {
            TCP => Header::Tcp(segment.unwrap_or_default()),
            UDP => Header::Udp(UdpHeader { tag: 0 }),
            _ => Header::Icmp(UdpHeader { tag: 0 }),
        },
    };
    Some(fields.into())
}

/// The length in bytes of a TCP header without options.
const TCP_LEN: usize = 20;
/// The kinds of TCP options that are read (RFC 9293 §3.1, RFC 2018 §3, RFC 7323 §3.2).
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const PADDING: u8 = 1;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// Parses the TCP header at the start of `segment`, in an IP packet of `ip_len` bytes with an IP
/// header of `ip_header` bytes. Returns `None` if the header is cut short. Sequence and
/// acknowledgement numbers are those of the wire.
fn tcp(segment: &[u8], ip_len: u32, ip_header: u32) -> Option<TcpHeader> {
    let fixed = segment.get(..TCP_LEN)?;
    let word =
        |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let length = usize::from(fixed[12] >> 4) * 4;
    let options = segment.get(TCP_LEN..length)?;
    let mut header = TcpHeader {
        seq: word(4).into(),
        ack: word(8).into(),
        payload: ip_len.checked_sub(ip_header + length as u32)?,
        window: u16::from_be_bytes([fixed[14], fixed[15]]).into(),
        flags: TcpFlags(u16::from_be_bytes([fixed[12], fixed[13]]) & 0x1ff),
        options_len: options.len() as u8,
        window_scale: 255,
        ..TcpHeader::default()
    };
    read_options(options, &mut header);
    Some(header)
}

/// Reads the timestamps and the selective acknowledgements. An option that does not fit ends the
/// list.
fn read_options(mut options: &[u8], header: &mut TcpHeader) {
    let word = |at: &[u8]| u32::from_be_bytes([at[0], at[1], at[2], at[3]]);
    while let Some(&kind) = options.first().filter(|kind| **kind != option::END) {
        if kind == option::PADDING {
            options = &options[1..];
            continue;
        }
        let length = options.get(1).map_or(0, |length| usize::from(*length));
        let Some(content) = options.get(2..length) else { return };
        match kind {
            option::TIMESTAMPS if content.len() == 8 => {
                header.timestamps = true;
                (header.ts_val, header.ts_ecr) = (word(content), word(&content[4..]));
            }
            option::SACK => {
                let mut sack = SackBlocks::default();
                for block in content.chunks_exact(8) {
                    sack.push(header.ack, word(block).into(), word(&block[4..]).into());
                }
                header.sack = sack;
            }
            _ => {}
        }
        options = &options[length..];
    }
}

/// The acknowledgement numbers of flows, continued beyond 32 bits.
#[derive(Debug, Default)]
pub(super) struct AckNumbers(BTreeMap<(u64, u32), u64>);

impl AckNumbers {
    /// Replaces the acknowledgement number of a packet by a number that does not wrap within its
    /// flow.
    pub(super) fn unwrap(&mut self, packet: &mut PacketFields) {
        let Header::Tcp(header) = &mut packet.header else { return };
        if !header.flags.has(TcpFlags::ACK) {
            return;
        }
        // Numbers before the first that is seen stay above zero.
        let key = (u64::from(packet.tuple_hash), packet.source);
        let last = self.0.entry(key).or_insert(1 << 32 | header.ack);
        let step = header.ack.wrapping_sub(*last) as i32;
        *last = last.wrapping_add_signed(step.into());
        header.ack = *last;
    }
}

const fn ecn(services: u8) -> Ecn {
    match services & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Marks the packet in `bytes` as "congestion experienced", and updates the header checksum for the
/// changed word (RFC 1624, equation 3).
pub(super) fn mark(bytes: &mut [u8]) {
    let word = |bytes: &[u8], at: usize| u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let before = word(bytes, 0);
    bytes[SERVICES] |= Ecn::Ce.bits();
    let sum = (!word(bytes, CHECKSUM) & 0xffff) + (!before & 0xffff) + word(bytes, 0);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!sum as u16).to_be_bytes());
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the sum of a header's words, which is all ones if the checksum is correct.
    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks(2).map(|it| u32::from(u16::from_be_bytes([it[0], it[1]])));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16)
    }

    /// Returns an upstream UDP packet of an application.
    pub(in super::super) fn udp(app: u8, services: u8, id: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, services, 0, 128, 0, 0, 0x40, 0, 63, UDP, 0, 0];
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        bytes.extend([172, 16, 10, 2 + app, 172, 16, 11, 2 + app]);
        let checksum = !(sum(&bytes) as u16);
        bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        bytes.extend(10_000_u16.to_be_bytes());
        bytes.extend(61_000_u16.to_be_bytes());
        bytes.resize(128, 0);
        bytes
    }

    /// Returns an upstream TCP segment of an application that only acknowledges.
    pub(in super::super) fn ack(app: u8, number: u32, options: &[u8]) -> Vec<u8> {
        let mut bytes = udp(app, 0, 1)[..20].to_vec();
        bytes[9] = TCP;
        bytes[2..4].copy_from_slice(&(40 + options.len() as u16).to_be_bytes());
        bytes.extend([0x27, 0x10, 0xee, 0x48, 0, 0, 0, 9]);
        bytes.extend(number.to_be_bytes());
        bytes.extend([(20 + options.len() as u8) << 2, 0x10, 1, 0, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes
    }

    fn segment(bytes: &[u8]) -> TcpHeader {
        match &read(bytes, Direction::Up, 0)
            .expect("the packet is between the two ends of an application")
            .header
        {
            Header::Tcp(header) => header.clone(),
            other => panic!("{other:?} is not TCP"),
        }
    }

    #[test]
    fn a_tcp_header_has_what_the_filter_of_acknowledgements_reads() {
        let timestamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 6];
        let sack = [1, 1, 5, 10, 0, 0, 4, 0, 0, 0, 5, 0];
        let header = segment(&ack(3, 1_000, &[timestamps, sack].concat()));
        assert_eq!((header.seq, header.ack, header.payload), (9, 1_000, 0));
        assert_eq!((header.flags, header.options_len), (TcpFlags::ACK, 24));
        assert_eq!((header.timestamps, header.ts_val, header.ts_ecr), (true, 7, 6));
        assert_eq!(header.sack.iter(1_000).collect::<Vec<_>>(), [(1_024, 1_280)]);
        let mut data = ack(3, 1_000, &[]);
        data.extend([0; 5]);
        data[3] += 5;
        data[33] = 0xd8;
        data[32] |= 1;
        let header = segment(&data);
        assert_eq!(header.payload, 5);
        let bits = TcpFlags::ACK.with(TcpFlags::PSH).with(TcpFlags::ECE).with(TcpFlags::CWR);
        assert_eq!(header.flags, bits.with(TcpFlags::AE));
    }

    #[test]
    fn a_segment_that_is_cut_short_has_no_flags() {
        let whole = ack(3, 1_000, &[8, 10, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0]);
        for length in 20..whole.len() {
            assert_eq!(segment(&whole[..length]), TcpHeader::default(), "{length}");
        }
        // An option whose length is wrong ends the list.
        for length in [0, 1, 13, 255] {
            let header = segment(&ack(3, 1_000, &[8, length, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0]));
            assert!(!header.timestamps, "{length}");
        }
    }

    #[test]
    fn a_packet_is_hashed_as_the_simulator_hashes_it() {
        let packet = read(&udp(3, 2, 1), Direction::Up, 7)
            .expect("the packet is between the two ends of an application");
        let tuple = FiveTuple {
            protocol: 17,
            source: 0xac10_0a05,
            destination: 0xac10_0b05,
            source_port: 10_000,
            destination_port: 61_000,
        };
        assert_eq!((packet.id, packet.flow, packet.ip_len), (7, 3, 128));
        assert_eq!((packet.tuple_hash, packet.ecn), (tuple.hash(), Ecn::Ect0));
    }

    #[test]
    fn what_is_not_of_an_application_is_none() {
        assert!(read(&udp(3, 0, 1), Direction::Down, 0).is_none(), "it comes the wrong way");
        assert!(read(&[0x45; 19], Direction::Up, 0).is_none(), "it is no header");
        assert!(read(&[0x60; 40], Direction::Up, 0).is_none(), "it is IPv6");
    }

    #[test]
    fn echoes_and_later_fragments_have_no_ports() {
        let hash = |change: fn(&mut Vec<u8>)| {
            let mut bytes = udp(0, 0, 1);
            change(&mut bytes);
            read(&bytes, Direction::Up, 0)
                .expect("the packet is between the two ends of an application")
                .tuple_hash
        };
        let without = |protocol| {
            let (source, destination) = (0xac10_0a02, 0xac10_0b02);
            FiveTuple { protocol, source, destination, source_port: 0, destination_port: 0 }.hash()
        };
        assert_eq!(hash(|bytes| bytes[9] = 1), without(1));
        assert_eq!(hash(|bytes| bytes[7] = 9), without(UDP));
    }

    #[test]
    fn a_marked_header_has_a_right_checksum() {
        for services in [0xb9, 0xba, 0x01, 0x02] {
            for id in [0, 1, 0x7fff, 0xfffe] {
                let mut bytes = udp(1, services, id);
                assert_eq!(sum(&bytes[..20]), 0xffff);
                mark(&mut bytes);
                assert_eq!(bytes[SERVICES], services | 3);
                assert_eq!(sum(&bytes[..20]), 0xffff, "{services:#x} {id:#x}");
            }
        }
    }
}
