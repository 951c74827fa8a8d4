//! Taps: what passes the interfaces of the two ends, with the kernel's time.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;

use aqmlab_core::{Digest, Direction, Duration, Instant, Side};
use aqmlab_measure::{Histogram, Meter};

use crate::sys;

/// As much of a packet as is looked at: the IP header, and the longest TCP header.
const SNAP: usize = 80;

/// A packet at a tap.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    at: Instant,
    /// A hash of all that stays the same on the way.
    key: u64,
    flow: u32,
    ip_len: u32,
    direction: Direction,
    sent: bool,
}

/// The tap of one end.
pub(crate) struct Tap {
    socket: OwnedFd,
}

impl Tap {
    /// Taps `interface`, in the namespace in which this process is.
    pub(crate) fn new(interface: &str) -> Result<Self, String> {
        let socket = sys::tap(interface).map_err(|error| format!("tap of {interface}: {error}"))?;
        Ok(Self { socket })
    }

    /// Takes all that it has seen; times count from `origin_ns`.
    pub(crate) fn drain(&self, origin_ns: u64, records: &mut Vec<Record>) -> Result<(), String> {
        let mut buffer = [0; SNAP];
        loop {
            match sys::next_packet(&self.socket, &mut buffer) {
                Ok(seen) => {
                    let at = Instant::from_nanos(seen.at_ns.saturating_sub(origin_ns));
                    records.extend(record(&buffer[..seen.len], seen.outgoing, at));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(format!("tap: {error}")),
            }
        }
    }

    /// Packets that it missed for want of room.
    pub(crate) fn missed(&self) -> u64 {
        let mut value = [0; 8];
        match sys::get_bytes(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut value) {
            Ok(8) => u32::from_ne_bytes([value[4], value[5], value[6], value[7]]).into(),
            _ => 0,
        }
    }
}

/// The record of a packet between the addresses of an application; None for any other.
fn record(packet: &[u8], outgoing: bool, at: Instant) -> Option<Record> {
    let header = packet.get(..20).filter(|header| header[0] >> 4 == 4)?;
    let (from, to) = (&header[12..16], &header[16..20]);
    let direction = match (from, to) {
        ([172, 16, 10, _], [172, 16, 11, _]) => Direction::Up,
        ([172, 16, 11, _], [172, 16, 10, _]) => Direction::Down,
        _ => return None,
    };
    let flow = u32::from(from[3].checked_sub(2)?);
    let ip_len = u32::from(u16::from_be_bytes([header[2], header[3]]));
    Some(Record { at, key: key(packet), flow, ip_len, direction, sent: outgoing })
}

/// A hash of what stays the same on the way: all but the ECN field, TTL and header checksum.
fn key(packet: &[u8]) -> u64 {
    let changes = |place: usize| matches!(place, 1 | 8 | 10 | 11);
    let fixed = packet.iter().enumerate().filter(|(place, _)| !changes(*place));
    // FNV-1a, with a last mixing step for the short differences between neighbours.
    let hash = fixed.fold(0xcbf2_9ce4_8422_2325_u64, |hash, (_, &byte)| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What the taps tell when they are laid side by side.
pub(crate) struct Measured {
    pub(crate) digest: Digest,
    /// Packets sent.
    pub(crate) packets: u64,
    /// By [`Direction::index`]: delay beyond propagation, of packets within the interval.
    pub(crate) waits: [Histogram; 2],
    /// The longest such delay in each step.
    pub(crate) worst: [Vec<Duration>; 2],
    /// Sums of the delays, in nanoseconds, and packets and IP bytes that they are of.
    pub(crate) waited: [(u64, u64, u64); 2],
}

/// The interval of the statistics and the width of a step.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) step_ns: u64,
}

/// Matches what was sent with what arrived, and lets the meter measure it. `delay` is the
/// propagation of a flow in a direction.
pub(crate) fn measure(
    mut records: Vec<Record>,
    meter: &mut Meter,
    frame: Frame,
    delay: impl Fn(u32, Direction) -> Duration,
) -> Measured {
    // Each tap is in order; what leaves one end at a time comes before what arrives then.
    records.sort_by_key(|record| (record.at, !record.sent));
    let mut under_way: BTreeMap<u64, VecDeque<(u64, Instant)>> = BTreeMap::new();
    let mut measured = Measured {
        digest: Digest::default(),
        packets: 0,
        waits: Default::default(),
        worst: Default::default(),
        waited: Default::default(),
    };
    for record in records {
        let Record { at, key, flow, ip_len, direction, sent } = record;
        let what = u64::from(flow) << 40 | u64::from(ip_len) << 8 | (direction as u64) << 1;
        measured.digest.fold(what | u64::from(sent));
        measured.digest.fold(at.as_nanos());
        if sent {
            let id = measured.packets;
            measured.packets += 1;
            under_way.entry(key).or_default().push_back((id, at));
            meter.sent(flow, direction, id, ip_len, at);
        } else if let Some((id, since)) = take(&mut under_way, key) {
            meter.received(flow, direction, id, ip_len, at);
            measured.wait(direction, at, at.since(since + delay(flow, direction)), ip_len, frame);
        }
    }
    measured
}

fn take(
    under_way: &mut BTreeMap<u64, VecDeque<(u64, Instant)>>,
    key: u64,
) -> Option<(u64, Instant)> {
    let queue = under_way.get_mut(&key)?;
    let first = queue.pop_front();
    if queue.is_empty() {
        under_way.remove(&key);
    }
    first
}

impl Measured {
    fn wait(&mut self, way: Direction, at: Instant, wait: Duration, ip_len: u32, frame: Frame) {
        let index = way.index();
        let (worst, step) = (&mut self.worst[index], (at.as_nanos() / frame.step_ns) as usize);
        if worst.len() <= step {
            worst.resize(step + 1, Duration::ZERO);
        }
        worst[step] = worst[step].max(wait);
        if frame.from <= at && at < frame.to {
            self.waits[index].record(wait);
            let (sum, packets, bytes) = &mut self.waited[index];
            *sum += wait.as_nanos();
            *packets += 1;
            *bytes += u64::from(ip_len);
        }
    }
}

/// The end at which a direction is sent.
pub(crate) const fn sender(direction: Direction) -> Side {
    direction.receiver().peer()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let record = record(&packet(64, 0, 1), true, Instant::ZERO).expect("it is one of ours");
        assert_eq!((record.flow, record.direction, record.ip_len), (1, Direction::Up, 84));
        assert!(super::record(&[0x45; 20], true, Instant::ZERO).is_none());
    }
}
