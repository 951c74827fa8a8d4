//! The rate of the path, from the packets of a probe.
//!
//! Source: libwebrtc (2025-06) `probe_bitrate_estimator.cc`.

use aqmlab_core::{Duration, Instant};

use super::probes::Cluster;

/// A probe has a result if this proportion of its minimum bytes, and this proportion of
/// [`Cluster::SENDS`] in packets, has arrived.
const ARRIVED: f64 = 0.8;
const LONGEST: Duration = Duration::from_secs(1);
const KEPT: Duration = Duration::from_secs(1);
/// The maximum ratio of the arrival rate to the sending rate. With a larger ratio there is no
/// result.
const MOST_RATIO: f64 = 2.0;
/// The ratio of the arrival rate to the sending rate below which the arrival rate shows the
/// capacity.
const SATURATED: f64 = 0.9;
/// The result as a proportion of the arrival rate, if the arrival rate shows the capacity.
const USED: f64 = 0.95;

#[derive(Debug)]
struct Arrived {
    cluster: Cluster,
    packets: u32,
    bytes: f64,
    first_sent: Instant,
    last_sent: Instant,
    last_sent_bytes: f64,
    first_arrival: Instant,
    first_arrival_bytes: f64,
    last_arrival: Instant,
}

/// The arrivals of each probe of the last second.
#[derive(Debug, Default)]
pub(crate) struct ProbeRates(Vec<Arrived>);

impl ProbeRates {
    /// Adds a packet of `cluster`. Returns the rate of the probe in bit/s, if enough packets have
    /// arrived and their times are plausible.
    pub(crate) fn add(
        &mut self,
        cluster: Cluster,
        sent: Instant,
        arrival: Instant,
        bytes: u32,
    ) -> Option<f64> {
        self.0.retain(|one| one.last_arrival + KEPT >= arrival);
        let bytes = f64::from(bytes);
        let place = self.0.iter().position(|one| one.cluster.id == cluster.id);
        let place = place.unwrap_or_else(|| {
            self.0.push(Arrived {
                cluster,
                packets: 0,
                bytes: 0.0,
                first_sent: sent,
                last_sent: sent,
                last_sent_bytes: bytes,
                first_arrival: arrival,
                first_arrival_bytes: bytes,
                last_arrival: arrival,
            });
            self.0.len() - 1
        });
        let one = &mut self.0[place];
        one.first_sent = one.first_sent.min(sent);
        if sent > one.last_sent {
            (one.last_sent, one.last_sent_bytes) = (sent, bytes);
        }
        if arrival < one.first_arrival {
            (one.first_arrival, one.first_arrival_bytes) = (arrival, bytes);
        }
        one.last_arrival = one.last_arrival.max(arrival);
        one.packets += 1;
        one.bytes += bytes;
        one.rate()
    }
}

impl Arrived {
    fn rate(&self) -> Option<f64> {
        let enough = f64::from(self.packets) >= (ARRIVED * f64::from(Cluster::SENDS)).floor()
            && self.bytes >= ARRIVED * self.cluster.bytes();
        let sent = self.last_sent.since(self.first_sent);
        let arrived = self.last_arrival.since(self.first_arrival);
        let possible = |span: Duration| span > Duration::ZERO && span <= LONGEST;
        if !enough || !possible(sent) || !possible(arrived) {
            return None;
        }
        // The span of departures ends before the last packet is sent, and the span of arrivals
        // begins after the first packet has arrived.
        let sent_bps = 8.0 * (self.bytes - self.last_sent_bytes) / sent.as_secs_f64();
        let arrived_bps = 8.0 * (self.bytes - self.first_arrival_bytes) / arrived.as_secs_f64();
        if arrived_bps > MOST_RATIO * sent_bps {
            return None;
        }
        let is_saturated = arrived_bps < SATURATED * sent_bps;
        Some(if is_saturated { USED * arrived_bps } else { sent_bps.min(arrived_bps) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    /// Returns the rate of a probe of 1.8 Mbit/s with `packets` packets, if there is a result.
    /// Packets of 1,000 B are sent every `sent_us` and arrive every `arrived_us`.
    fn probed(sent_us: u64, arrived_us: u64, packets: u64) -> Option<f64> {
        let mut rates = ProbeRates::default();
        let cluster = Cluster { id: 7, bps: 1.8e6 };
        let add = |n| {
            let arrival = Instant::from_micros(50_000 + arrived_us * n);
            rates.add(cluster, Instant::from_micros(sent_us * n), arrival, 1_000)
        };
        (0..packets).map(add).last().flatten()
    }

    #[test]
    fn a_path_with_room_has_the_rate_of_the_probe_and_another_95_percent_of_its_own() {
        close(probed(4_444, 4_444, 5).unwrap(), 1.8e6, 1e3);
        close(probed(4_444, 8_000, 5).unwrap(), 0.95e6, 1.0);
        close(probed(4_444, 4_800, 5).unwrap(), 8e6 / 4.8, 1e3);
    }

    #[test]
    fn too_few_packets_and_impossible_times_give_no_rate() {
        assert_eq!(probed(4_444, 4_444, 3), None);
        assert!(probed(4_444, 4_444, 4).is_some());
        assert_eq!(probed(4_444, 0, 5), None);
        assert_eq!(probed(4_444, 2_000, 5), None, "more than twice as fast");
        assert_eq!(probed(300_000, 300_000, 5), None, "longer than a second");
    }
}
