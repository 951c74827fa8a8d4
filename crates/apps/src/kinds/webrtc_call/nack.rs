//! The repair of lost video packets by requests for their retransmission.
//!
//! Source: libwebrtc (2025-06) `nack_requester.cc` and `rtp_packet_history.cc`. A packet is
//! requested as soon as a later packet arrives, and again each round trip, up to 100 times. The
//! sender keeps a packet for the longer of one second and three round trips. It keeps the last 600
//! packets for up to three times as long. It retransmits a packet at most once per round trip.

use std::collections::{BTreeMap, VecDeque};

use aqmlab_core::{Duration, Instant};

use super::wire::VideoPacket;

/// The time between checks of the missing packets.
pub(crate) const CHECK_EVERY: Duration = Duration::from_millis(20);
/// The assumed round-trip time of an end that has not measured it.
pub(crate) const FIRST_RTT: Duration = Duration::from_millis(100);
const MOST_TRIES: u32 = 100;
const MOST_MISSING: u64 = 1_000;
const MOST_AGE: u64 = 10_000;
const HEADER: u32 = 12;
/// The number of packets that one word of a request names: the first packet, and one bit for each
/// of the next 16.
const SPAN: u64 = 17;

/// Returns the size in bytes of a request for `numbers`, which are in order.
pub(crate) fn size(numbers: &[u64]) -> u32 {
    let (mut words, mut end) = (0, 0);
    for &number in numbers {
        if number >= end {
            words += 1;
            end = number + SPAN;
        }
    }
    HEADER + 4 * words + super::feedback::SRTCP
}

#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    requested: Option<Instant>,
    tries: u32,
}

/// The packets that the receiver lacks.
#[derive(Debug, Default)]
pub(crate) struct Nacks {
    newest: Option<u64>,
    missing: BTreeMap<u64, Missing>,
}

/// The effect of an arriving packet.
#[derive(Debug, PartialEq)]
pub(crate) enum Gap {
    /// The packets to request, possibly none.
    Request(Vec<u64>),
    /// The packet was missing and has now arrived.
    Repaired,
    /// Too many packets are missing, so a key frame is needed.
    TooLarge,
}

impl Nacks {
    /// Processes the arrival of packet `number`, and records the missing packets before it as
    /// requested. If more than [`MOST_MISSING`] packets are missing, forgets all of them.
    pub(crate) fn arrived(&mut self, number: u64, now: Instant) -> Gap {
        let Some(newest) = self.newest else {
            self.newest = Some(number);
            return Gap::Request(Vec::new());
        };
        if number <= newest {
            let was_missing = self.missing.remove(&number).is_some();
            return if was_missing { Gap::Repaired } else { Gap::Request(Vec::new()) };
        }
        self.newest = Some(number);
        self.missing = self.missing.split_off(&number.saturating_sub(MOST_AGE));
        if self.missing.len() as u64 + (number - newest - 1) > MOST_MISSING {
            self.missing.clear();
            return Gap::TooLarge;
        }
        let gap: Vec<_> = (newest + 1..number).collect();
        let requested = Missing { requested: Some(now), tries: 1 };
        self.missing.extend(gap.iter().map(|&number| (number, requested)));
        Gap::Request(gap)
    }

    /// Returns the missing packets without a request within the last round trip, and records that
    /// they are requested again. Forgets a packet after [`MOST_TRIES`] requests.
    pub(crate) fn due(&mut self, rtt: Option<Duration>, now: Instant) -> Vec<u64> {
        let rtt = rtt.unwrap_or(FIRST_RTT);
        let mut due = Vec::new();
        for (&number, missing) in &mut self.missing {
            if missing.requested.is_none_or(|at| now.since(at) >= rtt) {
                missing.requested = Some(now);
                missing.tries += 1;
                due.push(number);
            }
        }
        self.missing.retain(|_, missing| missing.tries < MOST_TRIES);
        due
    }

    /// Forgets the packets before `number`, which are no longer needed.
    pub(crate) fn forget(&mut self, number: u64) {
        self.missing = self.missing.split_off(&number);
    }

    /// Returns whether a packet is missing.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.missing.is_empty()
    }
}

/// The packets that the sender can retransmit.
#[derive(Debug, Default)]
pub(crate) struct History {
    packets: VecDeque<Kept>,
}

#[derive(Debug)]
struct Kept {
    packet: VideoPacket,
    sent: Instant,
    retransmitted: Option<Instant>,
}

impl History {
    const LEAST: Duration = Duration::from_secs(1);
    const ROUND_TRIPS: u64 = 3;
    const PACKETS: usize = 600;
    const FACTOR: u64 = 3;

    /// Adds a packet that was sent, and removes old packets.
    pub(crate) fn add(&mut self, packet: VideoPacket, rtt: Option<Duration>, now: Instant) {
        let least = Self::LEAST.max(rtt.unwrap_or(Duration::ZERO) * Self::ROUND_TRIPS);
        while let Some(front) = self.packets.front() {
            let age = now.since(front.sent);
            if age <= least || (age <= least * Self::FACTOR && self.packets.len() < Self::PACKETS) {
                break;
            }
            self.packets.pop_front();
        }
        self.packets.push_back(Kept { packet, sent: now, retransmitted: None });
    }

    /// Returns whether packet `number` is stored and was not yet retransmitted.
    pub(crate) fn is_first(&self, number: u64) -> bool {
        let place = self.packets.binary_search_by_key(&number, |kept| kept.packet.number);
        place.is_ok_and(|place| self.packets[place].retransmitted.is_none())
    }

    /// Returns packet `number` for retransmission, and records the retransmission. Returns `None`
    /// if the packet is not stored or was retransmitted within the last round trip.
    pub(crate) fn retransmit(
        &mut self,
        number: u64,
        rtt: Option<Duration>,
        now: Instant,
    ) -> Option<VideoPacket> {
        // Packets are kept in the order of their numbers.
        let place = self.packets.binary_search_by_key(&number, |kept| kept.packet.number).ok()?;
        let kept = &mut self.packets[place];
        let pause = rtt.unwrap_or(Duration::ZERO);
        if kept.retransmitted.is_some_and(|at| now.since(at) < pause) {
            return None;
        }
        kept.retransmitted = Some(now);
        Some(kept.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Frame;
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(40));

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_gap_is_requested_at_once_and_then_each_round_trip() {
        let mut nacks = Nacks::default();
        assert_eq!(nacks.arrived(10, ms(0)), Gap::Request(vec![]), "the first begins the count");
        assert_eq!(nacks.arrived(13, ms(5)), Gap::Request(vec![11, 12]));
        assert!(nacks.due(RTT, ms(44)).is_empty());
        assert_eq!(nacks.due(RTT, ms(45)), [11, 12]);
        assert_eq!(nacks.arrived(12, ms(50)), Gap::Repaired);
        assert_eq!(nacks.arrived(12, ms(51)), Gap::Request(vec![]));
        assert_eq!(nacks.due(RTT, ms(100)), [11]);
        let tries = (0..1_000).take_while(|n| !nacks.due(RTT, ms(200 + 40 * n)).is_empty());
        assert_eq!(tries.count(), 97, "a hundred in all");
        assert!(!nacks.is_waiting());
    }

    #[test]
    fn a_gap_of_more_than_a_thousand_is_not_repaired() {
        let mut nacks = Nacks::default();
        nacks.arrived(0, ms(0));
        assert_eq!(nacks.arrived(1_002, ms(1)), Gap::TooLarge);
        assert!(!nacks.is_waiting());
        nacks.arrived(1_005, ms(2));
        nacks.forget(1_004);
        assert_eq!(nacks.due(RTT, ms(100)), [1_004]);
    }

    #[test]
    fn a_request_names_17_packets_in_a_word() {
        assert_eq!(size(&[5]), 12 + 4 + 14);
        assert_eq!(size(&[5, 6, 21]), 12 + 4 + 14);
        assert_eq!(size(&[5, 22, 23, 100]), 12 + 12 + 14);
    }

    #[test]
    fn the_history_sends_again_once_a_round_trip_and_forgets() {
        let frame =
            Frame { number: 0, captured: ms(0), is_key: false, lines: 180, bytes: 100, packets: 1 };
        let mut history = History::default();
        let add = |history: &mut History, number, at| {
            history.add(VideoPacket { number, index: 0, frame, bytes: 100 }, RTT, at);
        };
        add(&mut history, 0, ms(0));
        assert!(history.retransmit(0, RTT, ms(100)).is_some());
        assert!(history.retransmit(0, RTT, ms(139)).is_none());
        assert!(history.retransmit(0, RTT, ms(140)).is_some());
        assert!(history.retransmit(1, RTT, ms(140)).is_none());
        add(&mut history, 1, ms(2_900));
        assert!(history.retransmit(0, RTT, ms(2_901)).is_some(), "fewer than 600 packets");
        add(&mut history, 2, ms(3_001));
        assert!(history.retransmit(0, RTT, ms(3_002)).is_none());
    }
}
