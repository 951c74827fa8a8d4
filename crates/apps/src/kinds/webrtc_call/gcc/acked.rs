//! The rate at which packets arrive at the receiver, computed from its reports.
//!
//! Source: libwebrtc (2025-06) `robust_throughput_estimator.cc`, with the default settings. The
//! rate is measured over the last second, and over at most 500 packets. If the last second has
//! fewer than 20 packets, the rate is measured over 20 packets, within the last 5 s. The longest
//! gap between arrivals is shortened to the second-longest gap, so that a path that pauses once
//! does not lower the rate. The result does not exceed the sending rate.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

const PACKETS: usize = 20;
const MOST_PACKETS: usize = 500;
const REQUIRED: usize = 10;
const WINDOW: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
const LEAST_SPAN: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: Instant,
    arrival: Instant,
    bytes: f64,
}

/// The estimator of the arrival rate.
#[derive(Debug, Default)]
pub(crate) struct AckedRate {
    /// The packets of the window in the order of their arrivals.
    window: VecDeque<Packet>,
    /// The latest send time of the packets that were removed from the window.
    discarded: Instant,
}

impl AckedRate {
    /// Adds a packet of `bytes`.
    pub(crate) fn add(&mut self, sent: Instant, arrival: Instant, bytes: u32) {
        let packet = Packet { sent, arrival, bytes: f64::from(bytes) };
        let place = self.window.partition_point(|one| one.arrival <= arrival);
        self.window.insert(place, packet);
    }

    /// Removes old packets. The caller calls this function after it has added the packets of a
    /// report.
    pub(crate) fn expire(&mut self) {
        while self.is_front_old() {
            let Some(front) = self.window.pop_front() else { return };
            self.discarded = self.discarded.max(front.sent);
        }
    }

    fn is_front_old(&self) -> bool {
        let (Some(front), Some(back)) = (self.window.front(), self.window.back()) else {
            return false;
        };
        let (count, span) = (self.window.len(), back.arrival.since(front.arrival));
        count > MOST_PACKETS || span > LONGEST || (count > PACKETS && span > WINDOW)
    }

    /// Returns the estimate in bit/s, once there are enough packets.
    pub(crate) fn bps(&self) -> Option<f64> {
        if self.window.len() < REQUIRED {
            return None;
        }
        let arrived = self.arrived_bps()?;
        Some(self.sent_bps().map_or(arrived, |sent| arrived.min(sent)))
    }

    /// Returns the rate in bit/s of the arrivals after the first packet, if the window has packets.
    fn arrived_bps(&self) -> Option<f64> {
        let (front, back) = (self.window.front()?, self.window.back()?);
        let (mut longest, mut second) = (Duration::ZERO, Duration::ZERO);
        for (before, after) in self.window.iter().zip(self.window.iter().skip(1)) {
            let gap = after.arrival.since(before.arrival);
            if gap > longest {
                (longest, second) = (gap, longest);
            } else {
                second = second.max(gap);
            }
        }
        let bytes: f64 = self.window.iter().map(|one| one.bytes).sum();
        let span = back.arrival.since(front.arrival).saturating_sub(longest) + second;
        Some(bps(bytes - front.bytes, span))
    }

    /// Returns the rate in bit/s of the departures before the last packet, unless too few packets
    /// were sent in order.
    fn sent_bps(&self) -> Option<f64> {
        // A packet that was sent before a discarded packet was reordered.
        let in_order = || self.window.iter().filter(|one| one.sent >= self.discarded);
        if in_order().count() < REQUIRED {
            return None;
        }
        let first = in_order().map(|one| one.sent).min()?;
        let last = in_order().map(|one| one.sent).max()?;
        // If several packets have the latest send time, the packet that arrived first counts as the
        // last packet sent.
        let last_bytes = in_order().find(|one| one.sent == last)?.bytes;
        let bytes: f64 = in_order().map(|one| one.bytes).sum();
        Some(bps(bytes - last_bytes, last.since(first)))
    }
}

fn bps(bytes: f64, span: Duration) -> f64 {
    8.0 * bytes / span.max(LEAST_SPAN).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::close;

    /// Returns an estimator after `packets` packets of 1,250 B. Packet `n` leaves at `sent_ms(n)`
    /// ms and arrives at 20 + `arrived_ms(n)` ms.
    fn after(
        packets: u64,
        sent_ms: impl Fn(u64) -> u64,
        arrived_ms: impl Fn(u64) -> u64,
    ) -> AckedRate {
        let mut rate = AckedRate::default();
        for n in 0..packets {
            let arrival = Instant::from_millis(20 + arrived_ms(n));
            rate.add(Instant::from_millis(sent_ms(n)), arrival, 1_250);
            rate.expire();
        }
        rate
    }

    #[test]
    fn ten_packets_give_an_estimate_and_a_constant_rate_is_found() {
        let every = |n| 10 * n;
        assert_eq!(after(9, every, every).bps(), None);
        close(after(10, every, every).bps().unwrap(), 1e6, 1.0);
        close(after(1_000, every, every).bps().unwrap(), 1e6, 1.0);
    }

    /// Tests statement C-139.
    #[test]
    fn the_window_is_a_second_or_20_packets_and_at_most_5_seconds() {
        for (every, packets) in [(10, 101), (100, 20), (400, 13)] {
            let rate = after(1_000, |n| every * n, |n| every * n);
            assert_eq!(rate.window.len(), packets, "{every} ms");
        }
        assert_eq!(after(1_000, |n| n, |n| n).window.len(), 500);
    }

    /// Tests statement C-139. A burst of the packets that waited follows a pause of the path, and
    /// the sending rate bounds the estimate.
    #[test]
    fn a_pause_of_the_path_does_not_change_the_estimate() {
        let paused = |n| if (40..60).contains(&n) { 600 } else { 10 * n };
        close(after(80, |n| 10 * n, paused).bps().unwrap(), 1e6, 1.0);
    }

    #[test]
    fn a_bottleneck_has_its_own_rate() {
        close(after(100, |n| 10 * n, |n| 20 * n).bps().unwrap(), 0.5e6, 1.0);
    }

    proptest! {
        /// Tests statement C-139.
        #[test]
        fn the_estimate_does_not_exceed_the_sending_rate(
            packets in prop::collection::vec((40..1_500_u32, 1..40_u64, 0..200_u64), 10..300),
        ) {
            let mut rate = AckedRate::default();
            let mut now = 0;
            for (bytes, gap, delay) in packets {
                now += gap;
                let at = Instant::from_millis;
                rate.add(at(now), at(now + delay), bytes);
                rate.expire();
                if let Some(bps) = rate.bps() {
                    prop_assert!(bps.is_finite() && (0.0..=12e6).contains(&bps), "{bps}");
                }
            }
        }
    }
}
