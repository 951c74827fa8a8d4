//! The identity of a captured packet: its five-tuple, its length and its fingerprint.
//!
//! Source of the fingerprint: `spp` 0.3.6, a CRC-32 over fields that no router changes. The fields
//! are those of `spp`'s bit code 511 (TCP) and 2111 (UDP), as in TEACUP. Differences: the CRC of a
//! packet covers up to 20 bytes of its payload, while `spp` uses 12 bytes. This module also reads
//! IPv6. In addition to the CRC, this module compares the IP length and, in IPv4, the
//! identification. TTL, DSCP, ECN and checksums are never compared.

use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;

use etherparse::{
    EtherType, IpAuthHeaderSlice, IpNumber, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice,
    Ipv6RawExtHeaderSlice, LaxNetSlice, LaxSlicedPacket, ip_number,
};

/// The fields that an address translator between the taps rewrites. They are not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Translation {
    /// No field is rewritten.
    #[default]
    None,
    /// Addresses are rewritten.
    Addresses,
    /// Addresses and ports are rewritten.
    AddressesAndPorts,
}

/// An address and a port. The port is 0 for protocols without ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
}

/// The flow of a packet: protocol, addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    /// The IP protocol number.
    pub protocol: u8,
    /// The source of the packet.
    pub source: Endpoint,
    /// The destination of the packet.
    pub destination: Endpoint,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.address, self.port)
    }
}

impl Tuple {
    /// Returns the tuple of packets in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }

    /// Returns the tuple that represents both directions, and whether the returned tuple is the
    /// reverse of this tuple.
    pub(super) fn canonical(self) -> (Self, bool) {
        match self.source.cmp(&self.destination) {
            Ordering::Greater => (self.reversed(), true),
            Ordering::Less | Ordering::Equal => (self, false),
        }
    }
}

/// A decoded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) tuple: Tuple,
    /// The length of the IP packet in bytes.
    pub(super) ip_len: u32,
    /// The hash of the invariant fields, which is equal at both taps, and almost never equal for
    /// two packets.
    pub(super) fingerprint: u64,
}

/// The link types that can be read.
pub(super) const LINKS: &str = "Ethernet (1), raw IP (12, 14, 101, 228, 229), \
    BSD loopback (0, 108), Linux cooked (113, 276)";

/// Returns whether packets of this link type can be read.
pub(super) fn can_read(link: u32) -> bool {
    matches!(link, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// Finds and identifies the IP packet in the captured bytes; `None` if the bytes hold no IP packet.
/// `length` is the original length of the captured packet.
pub(super) fn decode(
    link: u32,
    data: &[u8],
    length: u32,
    translation: Translation,
) -> Option<Decoded> {
    let ether = |header: usize, ether_type: usize| {
        let number = u16::from_be_bytes([*data.get(ether_type)?, *data.get(ether_type + 1)?]);
        Some(LaxSlicedPacket::from_ether_type(EtherType(number), data.get(header..)?))
    };
    let packet = match link {
        1 => ether(14, 12)?,
        113 => ether(16, 14)?,
        276 => ether(20, 0)?,
        // Four bytes hold the address family, in either byte order. The IP header states its own
        // version.
        0 | 108 => LaxSlicedPacket::from_ip(data.get(4..)?).ok()?,
        _ => LaxSlicedPacket::from_ip(data).ok()?,
    };
    let net = packet.net.as_ref()?;
    let ip = Ip::of(net)?;
    let begins = (ip.start as usize).checked_sub(data.as_ptr() as usize)?;
    // Hosts that leave segmentation to their network card write a length of zero.
    let whole = length.saturating_sub(begins as u32);
    let ip_len = if ip.length == 0 { whole } else { ip.length };
    Some(identify(&ip, ip_len, translation))
}

/// The fields of an IPv4 header or an IPv6 header.
struct Ip<'a> {
    start: *const u8,
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    /// The length of the packet by its header, or zero if the header states none.
    length: u32,
    identification: u16,
    /// Whether the packet is a fragment other than the first. Ports are not read from such a
    /// packet.
    continues: bool,
    payload: &'a [u8],
}

impl<'a> Ip<'a> {
    fn of(net: &LaxNetSlice<'a>) -> Option<Self> {
        let payload = net.ip_payload_ref()?;
        let (protocol, bytes) = (payload.ip_number.0, payload.payload);
        match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                Some(Self {
                    start: header.slice().as_ptr(),
                    source: header.source_addr().into(),
                    destination: header.destination_addr().into(),
                    protocol,
                    length: header.total_len().into(),
                    identification: header.identification(),
                    continues: header.fragments_offset().value() > 0,
                    payload: bytes,
                })
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let length = match header.payload_length() {
                    0 => 0,
                    payload => u32::from(payload) + 40,
                };
                Some(Self {
                    start: header.slice().as_ptr(),
                    source: header.source_addr().into(),
                    destination: header.destination_addr().into(),
                    protocol,
                    length,
                    identification: 0,
                    continues: is_later_fragment(ip.extensions()),
                    payload: bytes,
                })
            }
            LaxNetSlice::Arp(_) => None,
        }
    }

    /// Returns the ports: the first four bytes of TCP, UDP, DCCP, SCTP and UDP-Lite headers.
    /// Returns zeros for other packets.
    fn ports(&self) -> (u16, u16) {
        let has_ports = matches!(self.protocol, 6 | 17 | 33 | 132 | 136) && !self.continues;
        match self.payload {
            &[a, b, c, d, ..] if has_ports => {
                (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            _ => (0, 0),
        }
    }
}

/// Returns whether the fragment header, if there is one, has an offset above zero (RFC 8200 §4.5).
///
/// The iterator of `Ipv6ExtensionsSlice` in etherparse 0.21 assumes that no header is incomplete.
/// This assumption does not hold for a slice of a damaged packet, so this function checks the
/// length of each header.
fn is_later_fragment(extensions: &Ipv6ExtensionsSlice<'_>) -> bool {
    first_fragment_header(extensions).is_some_and(|header| header.fragment_offset().value() > 0)
}

fn first_fragment_header<'a>(
    extensions: &Ipv6ExtensionsSlice<'a>,
) -> Option<Ipv6FragmentHeaderSlice<'a>> {
    let mut number = extensions.first_header()?;
    let mut rest = extensions.slice();
    loop {
        let length = match number {
            ip_number::IPV6_FRAG => return Ipv6FragmentHeaderSlice::from_slice(rest).ok(),
            ip_number::AUTH => IpAuthHeaderSlice::from_slice(rest).ok()?.slice().len(),
            ip_number::IPV6_HOP_BY_HOP | ip_number::IPV6_ROUTE | ip_number::IPV6_DEST_OPTIONS => {
                Ipv6RawExtHeaderSlice::from_slice(rest).ok()?.slice().len()
            }
            _ => return None,
        };
        number = IpNumber(*rest.first()?);
        rest = rest.get(length..)?;
    }
}

fn identify(ip: &Ip<'_>, ip_len: u32, translation: Translation) -> Decoded {
    let (source_port, destination_port) = ip.ports();
    let mut crc = crc32fast::Hasher::new();
    if translation == Translation::None {
        address(&mut crc, ip.source);
        address(&mut crc, ip.destination);
    }
    crc.update(&[ip.protocol, u8::from(ip.continues)]);
    crc.update(&ip.identification.to_be_bytes());
    if translation != Translation::AddressesAndPorts {
        crc.update(&source_port.to_be_bytes());
        crc.update(&destination_port.to_be_bytes());
    }
    let invariant: &[(usize, usize)] = match ip.protocol {
        _ if ip.continues => &[(0, 20)],
        // These are the sequence and acknowledgement numbers, the flags and the window.
        6 => &[(4, 16)],
        // This is the payload after ports, length and checksum.
        17 | 136 => &[(8, 28)],
        // These are the type and code, and the bytes after the checksum. The identifier of an echo
        // counts as a port.
        1 | 58 if translation == Translation::AddressesAndPorts => &[(0, 2), (6, 24)],
        1 | 58 => &[(0, 2), (4, 24)],
        _ => &[(0, 20)],
    };
    for &(from, to) in invariant {
        crc.update(ip.payload.get(from..to.min(ip.payload.len())).unwrap_or(&[]));
    }
    let length = u64::from(ip_len & 0xffff);
    Decoded {
        tuple: Tuple {
            protocol: ip.protocol,
            source: Endpoint { address: ip.source, port: source_port },
            destination: Endpoint { address: ip.destination, port: destination_port },
        },
        ip_len,
        fingerprint: u64::from(crc.finalize()) << 32 | length << 16 | u64::from(ip.identification),
    }
}

fn address(crc: &mut crc32fast::Hasher, address: IpAddr) {
    match address {
        IpAddr::V4(address) => crc.update(&address.octets()),
        IpAddr::V6(address) => crc.update(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn ipv4(ttl: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], ttl).udp(1_000, 2_000);
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    fn ipv6() -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 9).tcp(80, 90, 5, 1_000);
        builder.write(&mut bytes, &[1, 2, 3]).unwrap();
        bytes
    }

    fn read(link: u32, data: &[u8]) -> Option<Decoded> {
        decode(link, data, data.len() as u32, Translation::None)
    }

    #[test]
    fn every_link_type_leads_to_the_same_packet() {
        let ip = ipv4(64, &[5; 30]);
        let bare = read(101, &ip).unwrap();
        assert_eq!((bare.tuple.source.port, bare.tuple.protocol, bare.ip_len), (1_000, 17, 58));
        let ethernet = [&[0; 12][..], &[8, 0], &ip].concat();
        let vlan = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0], &ip].concat();
        let padded = [&ethernet[..], &[0; 9]].concat();
        let cooked = [&[0; 14][..], &[8, 0], &ip].concat();
        let cooked2 = [&[8, 0][..], &[0; 18], &ip].concat();
        let null = [&[2, 0, 0, 0][..], &ip].concat();
        for (link, data) in [
            (1, ethernet),
            (1, vlan),
            (1, padded),
            (113, cooked),
            (276, cooked2),
            (0, null.clone()),
            (108, null),
            (228, ip.clone()),
        ] {
            assert!(can_read(link));
            assert_eq!(read(link, &data), Some(bare), "link type {link}");
        }
        assert_eq!(read(1, &[0; 60]), None, "not IP");
    }

    #[test]
    fn the_fingerprint_is_of_what_no_router_changes() {
        let packet = read(101, &ipv4(64, &[5; 30])).unwrap();
        assert_eq!(read(101, &ipv4(3, &[5; 30])).unwrap(), packet, "TTL and checksum");
        for other in [ipv4(64, &[6; 30]), ipv4(64, &[5; 31])] {
            assert_ne!(read(101, &other).unwrap().fingerprint, packet.fingerprint);
        }
        let mut translated = ipv4(64, &[5; 30]);
        translated[12..16].copy_from_slice(&[1, 2, 3, 4]);
        let of =
            |bytes: &[u8], translation| decode(101, bytes, 58, translation).unwrap().fingerprint;
        assert_ne!(of(&translated, Translation::None), packet.fingerprint);
        let addresses = Translation::Addresses;
        assert_eq!(of(&translated, addresses), of(&ipv4(64, &[5; 30]), addresses));
        translated[20] ^= 1;
        assert_ne!(of(&translated, addresses), of(&ipv4(64, &[5; 30]), addresses));
        let all = Translation::AddressesAndPorts;
        assert_eq!(of(&translated, all), of(&ipv4(64, &[5; 30]), all));
    }

    #[test]
    fn a_packet_cut_short_keeps_its_length_and_ports() {
        let cut = &ipv4(64, &[5; 500])[..36];
        let decoded = decode(101, cut, 528, Translation::None).unwrap();
        assert_eq!((decoded.ip_len, decoded.tuple.destination.port), (528, 2_000));
        let six = read(101, &ipv6()).unwrap();
        assert_eq!((six.ip_len, six.tuple.protocol, six.tuple.source.port), (63, 6, 80));
    }

    /// Returns a fragment of a UDP packet over IPv6 whose fragment offset field has the value
    /// `offset`.
    fn fragment(offset: u16) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 24, 44, 9];
        bytes.extend([[1; 16], [2; 16]].concat());
        bytes.extend([17, 0]);
        bytes.extend((offset << 3 | 1).to_be_bytes());
        bytes.extend([0, 0, 0, 5, 3, 232, 7, 208, 0, 64, 0, 0]);
        bytes.extend([7; 8]);
        bytes
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        let of = |bytes: &[u8]| {
            let tuple = read(101, bytes).unwrap().tuple;
            (tuple.protocol, tuple.source.port, tuple.destination.port)
        };
        assert_eq!(of(&fragment(0)), (17, 1_000, 2_000));
        assert_eq!(of(&fragment(3)), (17, 0, 0));
        let mut four = ipv4(64, &[5; 30]);
        four[6] = 0x20;
        assert_eq!(of(&four), (17, 1_000, 2_000));
        four[7] = 3;
        assert_eq!(of(&four), (17, 0, 0));
    }

    #[test]
    fn both_directions_have_one_canonical_tuple() {
        let tuple = read(101, &ipv6()).unwrap().tuple;
        let (canonical, reversed) = tuple.canonical();
        assert_eq!(tuple.reversed().canonical(), (canonical, !reversed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(
            link in prop::sample::select(vec![0, 1, 101, 113, 276]),
            version in prop::sample::select(vec![0x45_u8, 0x4f, 0x60, 0]),
            mut data in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            if let Some(first) = data.first_mut().filter(|_| link == 101) {
                *first = version;
            }
            let decoded = read(link, &data);
            prop_assert!(decoded.is_none_or(|decoded| decoded.ip_len <= 65_575));
        }

        #[test]
        fn spoiled_extension_headers_are_not_read_past_their_end(
            first in prop::sample::select(vec![0_u8, 43, 44, 51, 60]),
            mut extensions in prop::collection::vec(prop::sample::select(vec![0_u8, 1, 17, 43, 44, 51, 60]), 0..48),
        ) {
            let mut data = ipv6()[..40].to_vec();
            data[6] = first;
            data.append(&mut extensions);
            let decoded = read(101, &data);
            prop_assert!(decoded.is_some_and(|decoded| decoded.ip_len == 63));
        }

        #[test]
        fn a_spoiled_packet_is_decoded_or_refused(at in 0..63_usize, value in any::<u8>(), cut in 0..=63_usize) {
            let mut data = ipv6();
            data[at] = value;
            let decoded = read(101, &data[..cut]);
            prop_assert!(decoded.is_none_or(|decoded| decoded.ip_len <= 65_575));
        }
    }
}
