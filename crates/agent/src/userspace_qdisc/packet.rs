//! Parses the fields of an IPv4 packet that a discipline reads, and sets its mark.
//!
//! A discipline of the simulator gets a packet with the hash, ECN field, codepoint and length that
//! the simulator would give it. The caller sets the priority. The transport header has no content.
//! The bytes of the packet are stored separately.

use aqmlab_core::{
    Direction, Ecn, FiveTuple, Header, Instant, Packet, PacketFields, TcpHeader, UdpHeader,
};

/// The offset of the byte that has the ECN field and the differentiated services field (RFC 791
/// §3.1, RFC 3168 §5).
const SERVICES: usize = 1;
/// The offset of the header checksum.
const CHECKSUM: usize = 10;
/// The bits of the fragment offset, all of which are zero only in the first fragment.
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
            TCP => Header::Tcp(TcpHeader::default()),
            UDP => Header::Udp(UdpHeader { tag: 0 }),
            _ => Header::Icmp(UdpHeader { tag: 0 }),
        },
    };
    Some(fields.into())
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

    #[test]
    fn a_packet_is_hashed_as_the_simulator_hashes_it() {
        let packet = read(&udp(3, 2, 1), Direction::Up, 7).expect("it is one of ours");
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
            read(&bytes, Direction::Up, 0).expect("it is one of ours").tuple_hash
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
