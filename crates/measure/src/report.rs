//! The report of a meter: counters, histograms and series of each flow.

use std::ops::Range;

use aqmlab_core::Instant;

use crate::histogram::Histogram;
use crate::jitter::Jitter;
use crate::series::Bin;
use crate::window_rates::WindowRates;

/// The measurements of one flow.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// The interval in which the flow was active; empty for a flow in captures.
    pub active: Range<Instant>,
    /// The measurements of each direction, by [`aqmlab_core::Direction::index`].
    pub directions: [DirectionReport; 2],
}

impl Default for FlowReport {
    /// Returns the report of a flow that was never active.
    fn default() -> Self {
        Self { active: Instant::ZERO..Instant::ZERO, directions: Default::default() }
    }
}

/// The measurements of one direction of a flow.
///
/// Counts and histograms cover the packets sent within the statistics interval. Round trips belong
/// to the interval that contains their middle. Throughput covers the flow's active time, and the
/// series cover the whole trial. A flow in captures has no active time, so its `bytes_arrived`,
/// `active_bytes` and `windows` stay empty.
#[derive(Clone, Debug, Default)]
pub struct DirectionReport {
    /// Packets that passed the tap at the sender.
    pub packets_sent: u64,
    /// IP bytes of the packets sent.
    pub bytes_sent: u64,
    /// Packets sent in the interval that reached the receiver.
    pub packets_received: u64,
    /// IP bytes of the packets received.
    pub bytes_received: u64,
    /// Packets that count as lost: they did not arrive, but later packets did.
    /// [`InOrder`](crate::InOrder) states which later packets must arrive. At the end of a trial,
    /// one later packet of the connection suffices. In captures, one later packet of the flow
    /// suffices.
    pub lost: u64,
    /// Packets that did not arrive and do not count as lost. They were in flight at the end, or no
    /// later packet of their connection arrived.
    pub in_flight: u64,
    /// IP bytes that arrived in the whole trial, whenever they were sent.
    pub bytes_arrived: u64,
    /// IP bytes that arrived while the flow was active.
    pub active_bytes: u64,
    /// Throughput in the windows entirely within the active time.
    pub windows: WindowRates,
    /// IP bytes that arrived in each step of the series since time zero, whenever they were sent.
    /// Sliding windows are sums of consecutive steps: see [`Windows`](crate::Windows).
    pub steps: Vec<u64>,
    /// One-way delay from tap to tap.
    pub owd: Histogram,
    /// Round-trip times by synthetic packet pairs, with the sender of this direction as the
    /// reference.
    pub rtt: Histogram,
    /// Round-trip times over time. The bin of a round trip is the bin that contains its midpoint;
    /// bins without a sample are absent.
    pub rtt_series: Vec<Bin>,
    /// The variation of the one-way delay.
    pub jitter: Jitter,
}

impl DirectionReport {
    /// Returns the proportion of lost packets among the packets with a known outcome; zero if there
    /// are none.
    pub fn loss_ratio(&self) -> f64 {
        let known = self.packets_received + self.lost;
        if known == 0 { 0.0 } else { self.lost as f64 / known as f64 }
    }
}
