//! Taps: the packets at the interfaces of the two ends, timestamped by the kernel.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;

use aqmlab_core::{Digest, Direction, Instant};
use aqmlab_measure::{Meter, Sent};

use super::capture::Capture;
use super::ring::Ring;
use crate::sys;

/// The maximum number of bytes of a packet that are read: the IP header and the longest TCP header.
const SNAP: usize = 80;

// These are IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A packet at a tap.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    pub(crate) at: Instant,
    /// A hash of the bytes that no router changes.
    pub(crate) key: u64,
    pub(crate) flow: u32,
    pub(crate) ip_len: u32,
    /// The port at the end that opened the connection; zero for an ICMP packet.
    pub(crate) port: u16,
    /// The flags of the TCP header; zero for other packets.
    pub(crate) flags: u8,
    /// The ECN field.
    pub(crate) ecn: u8,
    pub(crate) direction: Direction,
    pub(crate) sent: bool,
}

impl Record {
    /// Returns the packet's connection as the application and the port.
    pub(crate) const fn conn(&self) -> (u32, u16) {
        (self.flow, self.port)
    }
}

/// The tap of one end.
pub(crate) struct Tap {
    ring: Ring,
    socket: OwnedFd,
}

impl Tap {
    /// Opens a tap at `interface`, in the namespace of this process.
    pub(crate) fn new(interface: &str) -> Result<Self, String> {
        let problem = |error| format!("tap of {interface}: {error}");
        let socket = sys::tap(interface).map_err(problem)?;
        Ok(Self { ring: Ring::new(&socket).map_err(problem)?, socket })
    }

    /// Appends to `records` the applications' packets that were captured since the last call. Also
    /// appends them to `capture` if there is one. Times count from `origin_ns`.
    pub(crate) fn drain(
        &mut self,
        origin_ns: u64,
        records: &mut Vec<Record>,
        mut capture: Option<&mut Capture>,
    ) {
        while self.ring.take(|seen| {
            let at = Instant::from_nanos(seen.at_ns.saturating_sub(origin_ns));
            let packet = &seen.bytes[..seen.bytes.len().min(SNAP)];
            let Some(record) = record(packet, seen.outgoing, at) else { return };
            records.push(record);
            if let Some(capture) = &mut capture {
                capture.keep(seen.bytes, at, record.ip_len);
            }
        }) {}
    }

    /// Returns the number of packets missed since the last call because the ring was full.
    pub(crate) fn missed(&self) -> u64 {
        let mut value = [0; 8];
        match sys::get_bytes(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut value) {
            Ok(8) => u32::from_ne_bytes([value[4], value[5], value[6], value[7]]).into(),
            _ => 0,
        }
    }
}

/// Returns the record of a packet between the addresses of an application; `None` for any other
/// packet. Applications of one host share its address in the home, so the address on the internet
/// identifies the application.
fn record(packet: &[u8], outgoing: bool, at: Instant) -> Option<Record> {
    let header = packet.get(..20).filter(|header| header[0] >> 4 == 4)?;
    let (from, to) = (&header[12..16], &header[16..20]);
    let direction = match (from, to) {
        ([172, 16, 10, _], [172, 16, 11, _]) => Direction::Up,
        ([172, 16, 11, _], [172, 16, 10, _]) => Direction::Down,
        _ => return None,
    };
    let wan = if direction == Direction::Up { to } else { from };
    let flow = u32::from(wan[3].checked_sub(2)?);
    let ip_len = u32::from(u16::from_be_bytes([header[2], header[3]]));
    let (port, flags) = transport(packet);
    let ecn = header[1] & 3;
    Some(Record { at, key: key(packet), flow, ip_len, port, flags, ecn, direction, sent: outgoing })
}

/// Returns the port of the end that opened the connection, and the TCP flags. A value that the
/// protocol does not have is zero.
fn transport(packet: &[u8]) -> (u16, u8) {
    let start = usize::from(packet[0] & 15) * 4;
    let port = |at: usize| {
        packet.get(start + at..start + at + 2).map_or(0, |it| u16::from_be_bytes([it[0], it[1]]))
    };
    // The ports of the other end have far higher numbers: see `sockets::service`.
    match packet[9] {
        TCP => (port(0).min(port(2)), packet.get(start + 13).copied().unwrap_or(0)),
        UDP => (port(0).min(port(2)), 0),
        _ => (0, 0),
    }
}

/// Returns the record of a packet that left a discipline at `at`, if [`record`] returns one.
pub(crate) fn passed(packet: &[u8], at: Instant) -> Option<Record> {
    record(&packet[..packet.len().min(SNAP)], false, at)
}

/// Returns a hash of the bytes that no router changes: all bytes read, except the byte with the ECN
/// field, the TTL and the header checksum.
fn key(packet: &[u8]) -> u64 {
    let changes = |place: usize| matches!(place, 1 | 8 | 10 | 11);
    let fixed = packet.iter().enumerate().filter(|(place, _)| !changes(*place));
    // FNV-1a with a final mixing step, because neighbouring packets differ in few bits.
    let hash = fixed.fold(0xcbf2_9ce4_8422_2325_u64, |hash, (_, &byte)| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The measurements of both taps together.
pub(crate) struct Measured {
    pub(crate) digest: Digest,
    /// The number of packets that the ends sent.
    pub(crate) packets: u64,
}

/// Sorts the records of both taps by time. The records of each tap are already in order. At equal
/// times, packets that leave an end come before packets that arrive.
pub(crate) fn order(records: &mut [Record]) {
    records.sort_by_key(|record| (record.at, !record.sent));
}

/// Passes the packets to `meter`, and computes their digest and the number of packets sent. A
/// received packet is matched with the earliest unmatched packet of the same key. `ended` holds the
/// time of each flow that ended by itself.
pub(crate) fn measure(
    records: &[Record],
    ended: &[Option<Instant>],
    meter: &mut Meter,
) -> Measured {
    let mut under_way: BTreeMap<u64, VecDeque<u64>> = BTreeMap::new();
    let mut measured = Measured { digest: Digest::default(), packets: 0 };
    for record in records {
        let &Record { at, key, flow, ip_len, direction, sent, .. } = record;
        if let Some(end) = ended[flow as usize].filter(|end| *end < at) {
            meter.ended(flow, end);
        }
        let what = u64::from(flow) << 40 | u64::from(ip_len) << 8 | (direction as u64) << 1;
        measured.digest.fold(what | u64::from(sent));
        measured.digest.fold(at.as_nanos());
        if sent {
            let id = measured.packets;
            measured.packets += 1;
            under_way.entry(key).or_default().push_back(id);
            let conn = u32::from(record.port);
            meter.sent(Sent { flow, conn, direction, id, ip_len }, at);
        } else if let Some(id) = take(&mut under_way, key) {
            meter.received(flow, direction, id, ip_len, at);
        }
    }
    for (flow, end) in ended.iter().enumerate() {
        if let Some(end) = *end {
            meter.ended(flow as u32, end);
        }
    }
    measured
}

/// Removes and returns the first entry of a key, if there is one.
pub(crate) fn take<T>(under_way: &mut BTreeMap<u64, VecDeque<T>>, key: u64) -> Option<T> {
    let queue = under_way.get_mut(&key)?;
    let first = queue.pop_front();
    if queue.is_empty() {
        under_way.remove(&key);
    }
    first
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns an upstream packet as the sender's tap records it.
    pub(crate) fn record_at(at: Instant, key: u64) -> Record {
        let (direction, sent) = (Direction::Up, true);
        Record { at, key, flow: 0, ip_len: 100, port: 0, flags: 0, ecn: 0, direction, sent }
    }

    fn packet(ttl: u8, tos: u8, id: u8) -> Vec<u8> {
        let mut bytes = vec![0x45, tos, 0, 84, 0, id, 0x40, 0, ttl, 1, ttl, tos];
        bytes.extend([172, 16, 10, 3, 172, 16, 11, 3, 8, 0, 1, 2]);
        bytes
    }

    #[test]
    fn a_packet_is_known_again_after_routers_and_marks() {
        assert_eq!(key(&packet(64, 2, 7)), key(&packet(63, 3, 7)));
        assert_ne!(key(&packet(64, 2, 7)), key(&packet(64, 2, 8)));
    }

    #[test]
    fn a_record_names_the_flow_and_its_direction() {
        let record = record(&packet(64, 0, 1), true, Instant::ZERO)
            .expect("the packet is between the two ends of an application");
        assert_eq!((record.flow, record.direction, record.ip_len), (1, Direction::Up, 84));
        assert_eq!((record.conn(), record.flags, record.ecn), ((1, 0), 0, 0));
        assert!(super::record(&[0x45; 20], true, Instant::ZERO).is_none());
    }

    #[test]
    fn a_record_of_tcp_has_its_flags_and_the_port_of_the_end_that_opened_it() {
        let mut bytes = packet(64, 2, 1)[..20].to_vec();
        bytes[9] = TCP;
        bytes.extend([0x27, 0x10, 0xee, 0x48, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x98]);
        let up = record(&bytes, true, Instant::ZERO)
            .expect("the packet is between the two ends of an application");
        assert_eq!((up.conn(), up.flags, up.ecn), ((1, 10_000), 0x98, 2));
        bytes[20..24].rotate_left(2);
        assert_eq!(transport(&bytes), (10_000, 0x98));
    }
}
