//! What the two taps tell about every flow, measured while the packets pass.
//!
//! The meter sees what a capture would hold: that a packet of a flow passed the tap at its
//! sender or at its receiver, and when. It keeps the packets that are between the taps, counters,
//! histograms, and one count and one bin per step of the series; nothing grows with the number of
//! packets.

use std::ops::Range;

use aqmlab_core::{Direction, Duration, Instant};

use crate::active::Active;
use crate::histogram::Histogram;
use crate::jitter::Jitter;
use crate::series::Bin;
use crate::way::{Limits, Way};
use crate::window_rates::WindowRates;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Statistics begin here: a packet counts if it was sent at or after it.
    pub from: Instant,
    /// Statistics end here: a packet counts if it was sent before it.
    pub to: Instant,
    /// Width of a throughput window, a whole multiple of the step.
    pub window: Duration,
    /// How far a window moves; the first begins when its flow becomes active.
    pub step: Duration,
    /// When the trial ends.
    pub end: Instant,
    /// Whether packets of one flow may overtake each other: on the path, or because a flow has
    /// several connections and a discipline gives each a queue. If they may not, a gap at the
    /// receiver is a loss at once; if they may, once 8192 later packets have arrived.
    pub reorders: bool,
    /// Width of a step in which bytes and round-trip times are kept as they develop over time; none
    /// if they are not, and the series are empty.
    pub series: Option<Duration>,
}

/// A packet that passes the tap at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its flow.
    pub flow: u32,
    /// Its connection: packets of one are told apart from those of another at the end, when a queue
    /// may have let the others pass.
    pub conn: u32,
    /// Which way it goes.
    pub direction: Direction,
    /// Its identity.
    pub id: u64,
    /// Bytes of the IP packet.
    pub ip_len: u32,
}

/// Measures the flows of one run, packet by packet.
///
/// # Driving it
///
/// Call [`sent`](Self::sent) and [`received`](Self::received) in the order in which the events
/// happen, time never running back. Within a flow and direction the identities of packets
/// rise in the order of sending. What arrives without having been sent counts in throughput and
/// nowhere else. Call [`ended`](Self::ended) where a flow ends by itself.
pub struct Meter {
    limits: Limits,
    reorders: bool,
    /// Width of a step of the series.
    step: u64,
    /// The step of time that the last arrival fell into, and where it ends.
    current: usize,
    current_ends: u64,
    flows: Vec<[Way; 2]>,
}

impl Meter {
    /// A meter for as many flows as `active` has intervals: when each is active, unless it ends
    /// by itself before.
    ///
    /// # Panics
    ///
    /// If the window is not a whole multiple of the step, or the step is zero.
    pub fn new(settings: Settings, active: &[Range<Instant>]) -> Self {
        let Settings { window, step, series, end, .. } = settings;
        assert!(
            step > Duration::ZERO && window.as_nanos() % step.as_nanos() == 0,
            "window {window}: allowed are multiples of its step, {step}",
        );
        let way = |span| Way::new(Active::new(span, step, window), series, end);
        let step = series.map_or(u64::MAX, |step| step.as_nanos().max(1));
        Self {
            limits: Limits { from: settings.from, to: settings.to },
            reorders: settings.reorders,
            step,
            current: 0,
            current_ends: step,
            flows: active.iter().map(|span| [way(span), way(span)]).collect(),
        }
    }

    /// A packet passes the tap at its sender.
    #[inline]
    pub fn sent(&mut self, packet: Sent, now: Instant) {
        let ways = &mut self.flows[packet.flow as usize];
        // What this side, as the monitor, last saw arrive: the OUT of which this may be the IN.
        let out = ways[packet.direction.reverse().index()].arrived();
        ways[packet.direction.index()].depart(packet, now, out, self.limits);
    }

    /// A packet passes the tap at its receiver.
    #[inline]
    pub fn received(
        &mut self,
        flow: u32,
        direction: Direction,
        id: u64,
        ip_len: u32,
        now: Instant,
    ) {
        if now.as_nanos() >= self.current_ends {
            self.advance(now);
        }
        let [up, down] = &mut self.flows[flow as usize];
        let (way, back) = match direction {
            Direction::Up => (up, down),
            Direction::Down => (down, up),
        };
        way.count(self.current, ip_len, now);
        if self.reorders {
            way.land_anywhere(id, ip_len, now, back, self.limits);
        } else {
            way.land_in_order(id, ip_len, now, back, self.limits);
        }
    }

    /// A flow ends by itself at `at`: its throughput is of what has arrived until then.
    pub fn ended(&mut self, flow: u32, at: Instant) {
        for way in &mut self.flows[flow as usize] {
            way.end(at);
        }
    }

    /// Ends the measurement. Packets sent after the last one of their connection that arrived are in
    /// flight, not lost.
    pub fn finish(self) -> Vec<FlowReport> {
        let limits = self.limits;
        let finish = |[mut up, mut down]: [Way; 2]| {
            up.settle(&mut down, limits);
            down.settle(&mut up, limits);
            let ((active, up), (_, down)) = (up.finish(), down.finish());
            FlowReport { active, directions: [up, down] }
        };
        self.flows.into_iter().map(finish).collect()
    }

    #[cold]
    fn advance(&mut self, now: Instant) {
        let current = now.as_nanos() / self.step;
        self.current = current as usize;
        self.current_ends = (current + 1) * self.step;
    }
}

/// What was measured of one flow.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// When it was active.
    pub active: Range<Instant>,
    /// By [`Direction::index`].
    pub directions: [DirectionReport; 2],
}

impl Default for FlowReport {
    /// A flow that was never active.
    fn default() -> Self {
        Self { active: Instant::ZERO..Instant::ZERO, directions: Default::default() }
    }
}

/// What was measured of one direction of a flow.
///
/// Counts and histograms are of packets sent within the interval of the statistics, round trips
/// of those whose middle lies within it. Throughput is of the time in which the flow is active. The
/// series are of the whole trial.
#[derive(Clone, Debug, Default)]
pub struct DirectionReport {
    /// Packets that passed the tap at the sender.
    pub packets_sent: u64,
    /// Their IP bytes.
    pub bytes_sent: u64,
    /// Those of them that arrived.
    pub packets_received: u64,
    /// Their IP bytes.
    pub bytes_received: u64,
    /// Those that did not arrive, though one of their connection that was sent later did.
    pub lost: u64,
    /// Those that were still under way at the end, or lost with none after them.
    pub in_flight: u64,
    /// IP bytes that arrived in the whole trial, whenever they were sent.
    pub bytes_arrived: u64,
    /// Those of them that arrived while the flow was active.
    pub active_bytes: u64,
    /// Throughput in the windows that lie wholly within that time.
    pub windows: WindowRates,
    /// IP bytes that arrived in each step of the series since time zero, whenever they were sent.
    /// Sliding windows are sums of consecutive steps: see [`Windows`](crate::Windows).
    pub steps: Vec<u64>,
    /// One-way delay from tap to tap.
    pub owd: Histogram,
    /// Round-trip times by synthetic packet pairs, with the sender of this direction as the
    /// reference.
    pub rtt: Histogram,
    /// Round-trip time over time, by the middle of each pair; bins without a sample are absent.
    pub rtt_series: Vec<Bin>,
    /// How much the one-way delay varies.
    pub jitter: Jitter,
}

impl DirectionReport {
    /// The share of packets lost, of those of which it is known; zero if there was none.
    pub fn loss_ratio(&self) -> f64 {
        let known = self.packets_received + self.lost;
        if known == 0 { 0.0 } else { self.lost as f64 / known as f64 }
    }
}
