//! The packets that were sent, by their transport-wide numbers.
//!
//! Source: libwebrtc (2025-06) `transport_feedback_adapter.cc`. A packet is kept for a minute. A
//! packet is in flight until a report covers this packet or a later packet.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::super::expiry::expired;
use super::super::feedback::Report;
use super::loss_based::Outcome;
use super::probes::Cluster;

const KEPT: Duration = Duration::from_secs(60);

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) bytes: u32,
    pub(super) cluster: Option<Cluster>,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sent: Sent,
    pub(super) at: Instant,
}

/// The packets of the last minute.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The transport-wide sequence number of the first packet stored.
    first: u64,
    packets: VecDeque<Sent>,
    /// The transport-wide sequence number of the first packet in flight.
    first_in_flight: u64,
}

impl History {
    /// Adds a packet; returns its number.
    pub(super) fn add(&mut self, packet: Sent) -> u64 {
        self.packets.push_back(packet);
        self.first + self.packets.len() as u64 - 1
    }

    /// Removes packets older than a minute. Returns the bytes of the removed packets that were in
    /// flight.
    pub(super) fn expire(&mut self, now: Instant) -> f64 {
        let mut bytes = 0.0;
        for old in expired(&mut self.packets, |one| now.since(one.at) > KEPT) {
            if self.first >= self.first_in_flight {
                bytes += f64::from(old.bytes);
            }
            self.first += 1;
        }
        bytes
    }

    /// Records that the packets up to the end of a report are no longer in flight. Returns the
    /// bytes of those that were in flight.
    pub(super) fn settle(&mut self, report: &Report) -> f64 {
        let end = report.first + report.arrivals.len() as u64;
        let place =
            |number: u64| (number.saturating_sub(self.first) as usize).min(self.packets.len());
        let (from, to) = (place(self.first_in_flight), place(end));
        let left = self.packets.range(from..to.max(from));
        let bytes = left.map(|one| f64::from(one.bytes)).sum();
        self.first_in_flight = self.first_in_flight.max(end);
        bytes
    }

    /// Returns the arrivals in a report, in the order of their times, and the outcomes of its
    /// packets. Both leave out the packets that are no longer stored.
    pub(super) fn read(&self, report: &Report) -> (Vec<Arrival>, Vec<Outcome>) {
        let mut arrivals = Vec::with_capacity(report.arrivals.len());
        let mut outcomes = Vec::with_capacity(report.arrivals.len());
        for (number, arrival) in (report.first..).zip(&report.arrivals) {
            let place = number.checked_sub(self.first);
            let Some(&sent) = place.and_then(|place| self.packets.get(place as usize)) else {
                continue;
            };
            arrivals.extend(arrival.map(|at| Arrival { sent, at }));
            let has_arrived = arrival.is_some();
            outcomes.push(Outcome { sent: sent.at, bytes: sent.bytes, has_arrived });
        }
        arrivals.sort_by_key(|arrival| arrival.at);
        (arrivals, outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn packets_leave_the_path_with_a_report_or_after_a_minute() {
        let mut history = History::default();
        let at = Instant::from_millis;
        for n in 0..5 {
            assert_eq!(history.add(Sent { at: at(n), bytes: 100, cluster: None }), n);
        }
        let report = |first, count| Report { first, arrivals: vec![None; count] };
        close(history.settle(&report(1, 2)), 300.0, 0.0);
        close(history.settle(&report(0, 1)), 0.0, 0.0);
        close(history.expire(at(60_003)), 0.0, 0.0);
        close(history.settle(&report(3, 1)), 100.0, 0.0);
        close(history.expire(at(70_000)), 100.0, 0.0);
        close(history.settle(&report(3, 9)), 0.0, 0.0);
    }
}
