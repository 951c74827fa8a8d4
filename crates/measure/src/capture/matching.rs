//! The first stage of SPP: matches the packets of the two taps.
//!
//! For each tap, this module keeps a window of its last packets in capture order. A packet is
//! looked up among the unmatched packets of the other tap; its match is the oldest packet with the
//! same fingerprint. Packets leave a window at its front, in capture order. The first packet leaves
//! when its match is known or when the window is full. Both captures are therefore read side by
//! side in bounded memory.
//!
//! Source: `spp` 0.3.6 searches 10 000 packets ahead; TEACUP's loss analysis searches 16 000.
//! Difference: this module looks a packet up in an index of the other tap's unmatched packets, so
//! both taps yield the same matches. `spp` searches the other tap's packets one by one, up to its
//! limit.

use std::collections::{BTreeSet, VecDeque};

use super::decode::{Decoded, Tuple};
use crate::pairs::difference;

/// A packet at a tap, after the search for its match at the other tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// The tap: 0 or 1.
    pub(super) tap: usize,
    /// The packet's tuple at this tap.
    pub(super) tuple: Tuple,
    /// The packet's time at this tap, in nanoseconds since 1970.
    pub(super) at: u64,
    pub(super) ip_len: u32,
    /// The tuple and time of the packet at the other tap; `None` if it was not captured there.
    pub(super) mate: Option<(Tuple, u64)>,
}

impl Settled {
    /// Returns the time at tap 1 minus the time at tap 0, each by the tap's clock; `None` if only
    /// one tap captured the packet.
    pub(super) fn difference(&self) -> Option<i64> {
        let (_, other) = self.mate?;
        let difference = difference(other, self.at);
        Some(if self.tap == 0 { difference } else { difference.wrapping_neg() })
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    decoded: Decoded,
    at: u64,
    mate: Option<(Tuple, u64)>,
}

/// The window of one tap.
#[derive(Debug, Default)]
struct Window {
    packets: VecDeque<Waiting>,
    /// The position in the capture of the first packet of `packets`.
    first: u64,
    /// The fingerprint and position of each packet without a match.
    index: BTreeSet<(u64, u64)>,
}

impl Window {
    fn push(&mut self, waiting: Waiting) {
        if waiting.mate.is_none() {
            let number = self.first + self.packets.len() as u64;
            self.index.insert((waiting.decoded.fingerprint, number));
        }
        self.packets.push_back(waiting);
    }

    /// Matches `mate` to the oldest unmatched packet of this window with this fingerprint, if there
    /// is one. Returns the tuple and time of the matched packet.
    fn marry(&mut self, fingerprint: u64, mate: (Tuple, u64)) -> Option<(Tuple, u64)> {
        let mut same = self.index.range((fingerprint, 0)..=(fingerprint, u64::MAX));
        let &key = same.next()?;
        self.index.remove(&key);
        let waiting = &mut self.packets[(key.1 - self.first) as usize];
        waiting.mate = Some(mate);
        Some((waiting.decoded.tuple, waiting.at))
    }

    /// Removes and returns the first packet, if it has a match or the window holds more than `room`
    /// packets.
    fn settle(&mut self, room: usize) -> Option<Waiting> {
        let first = self.packets.front()?;
        if first.mate.is_none() && self.packets.len() <= room {
            return None;
        }
        let waiting = self.packets.pop_front()?;
        self.index.remove(&(waiting.decoded.fingerprint, self.first));
        self.first += 1;
        Some(waiting)
    }
}

/// The windows of both taps.
#[derive(Debug)]
pub(super) struct Matching {
    windows: [Window; 2],
    room: usize,
    /// The time of the last matched packet at tap 1, minus its time at tap 0.
    pub(super) offset: Option<i64>,
}

impl Matching {
    /// Returns two windows that each hold up to `room` packets.
    pub(super) fn new(room: usize) -> Self {
        Self { windows: Default::default(), room, offset: None }
    }

    /// Returns the number of packets in a tap's window that have no match yet.
    pub(super) fn waiting(&self, tap: usize) -> usize {
        self.windows[tap].index.len()
    }

    /// Adds a packet that `tap` captured at `at`.
    pub(super) fn push(&mut self, tap: usize, decoded: Decoded, at: u64) {
        let mate = self.windows[1 - tap].marry(decoded.fingerprint, (decoded.tuple, at));
        if let Some((_, other)) = mate {
            let difference = difference(other, at);
            self.offset = Some(if tap == 0 { difference } else { difference.wrapping_neg() });
        }
        self.windows[tap].push(Waiting { decoded, at, mate });
    }

    /// Removes and returns the next packet of a tap, if the search for its match has ended.
    pub(super) fn settle(&mut self, tap: usize) -> Option<Settled> {
        self.settle_beyond(tap, self.room)
    }

    /// Removes and returns the next packet of a tap, if there is one, after the end of both
    /// captures.
    pub(super) fn settle_all(&mut self, tap: usize) -> Option<Settled> {
        self.settle_beyond(tap, 0)
    }

    fn settle_beyond(&mut self, tap: usize, room: usize) -> Option<Settled> {
        let Waiting { decoded, at, mate } = self.windows[tap].settle(room)?;
        Some(Settled { tap, tuple: decoded.tuple, at, ip_len: decoded.ip_len, mate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Endpoint;

    fn decoded(fingerprint: u64) -> Decoded {
        let end = Endpoint { address: [10, 0, 0, 1].into(), port: 1 };
        let tuple = Tuple { protocol: 17, source: end, destination: end };
        Decoded { tuple, ip_len: 100, fingerprint }
    }

    fn drain(matching: &mut Matching, tap: usize) -> Vec<(u64, Option<u64>)> {
        std::iter::from_fn(|| matching.settle(tap))
            .map(|packet| (packet.at, packet.mate.map(|(_, at)| at)))
            .collect()
    }

    #[test]
    fn packets_leave_in_the_order_of_their_capture_with_or_without_a_mate() {
        let mut matching = Matching::new(2);
        (0..4).for_each(|n| matching.push(0, decoded(n), n));
        assert_eq!(drain(&mut matching, 0), [(0, None), (1, None)], "room for two");
        matching.push(1, decoded(3), 103);
        assert_eq!(drain(&mut matching, 0), [], "the one before it still waits");
        assert_eq!(drain(&mut matching, 1), [(103, Some(3))]);
        matching.push(1, decoded(2), 102);
        assert_eq!(drain(&mut matching, 0), [(2, Some(102)), (3, Some(103))]);
        assert_eq!((matching.offset, matching.waiting(0)), (Some(100), 0));
    }

    #[test]
    fn of_equal_packets_the_oldest_is_the_mate_and_each_has_one() {
        let mut matching = Matching::new(9);
        for (tap, at) in [(0, 1), (0, 2), (1, 11), (1, 12), (1, 13)] {
            matching.push(tap, decoded(7), at);
        }
        assert_eq!(drain(&mut matching, 0), [(1, Some(11)), (2, Some(12))]);
        assert_eq!(drain(&mut matching, 1), [(11, Some(1)), (12, Some(2))]);
        assert_eq!(matching.settle_all(1).map(|packet| packet.mate), Some(None));
    }
}
