//! The meter of all flows between the two taps, updated packet by packet.
//!
//! The input of the meter is the content of a capture: when each packet of a flow passed the
//! sender's and the receiver's tap. The meter keeps the packets between the taps, counters and
//! histograms. It also keeps one count and one bin per step of the series. Its memory does not grow
//! with the number of packets.

use std::ops::Range;

use aqmlab_core::{Direction, Duration, Instant};

use crate::direction_meter::{DirectionMeter, Sent};
use crate::report::FlowReport;
use crate::throughput::Active;

/// The interval, the windows and the series of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The start of the statistics: a packet counts if it was sent at or after this time.
    pub from: Instant,
    /// The end of the statistics: a packet counts if it was sent before this time.
    pub to: Instant,
    /// The width of a throughput window, a whole multiple of the step.
    pub window: Duration,
    /// The step by which a window advances. The first window begins when its flow becomes active.
    pub step: Duration,
    /// The end of the trial.
    pub end: Instant,
    /// The packets that arrive in the order in which they were sent.
    pub in_order: InOrder,
    /// The step of the series of bytes and round-trip times; `None` leaves the series empty.
    pub series: Option<Duration>,
}

/// The packets of a flow that arrive in the order in which they were sent.
///
/// A missing packet is lost after 8192 later arrivals of its flow and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InOrder {
    /// The packets of each connection. A fair queue may still reorder packets of different
    /// connections. A missing packet is also lost if a later packet of its connection arrives.
    Connection,
    /// No packets.
    Nothing,
}

/// The meter of the flows of one run.
///
/// # Driving it
///
/// Call [`sent`](Self::sent) and [`received`](Self::received) in the order of the events; times
/// must not decrease. Within a flow and direction the identities of packets increase in the order
/// of sending. A packet arrives at most once. A packet that arrives without having been sent counts
/// in throughput only. Call [`ended`](Self::ended) when a flow ends by itself.
pub struct Meter {
    /// The meters of both directions of each flow, by [`Direction::index`].
    flows: Vec<[DirectionMeter; 2]>,
}

impl Meter {
    /// Returns a meter for as many flows as `active` has intervals. Each interval is the active
    /// time of a flow, unless the flow ends by itself earlier.
    ///
    /// # Panics
    ///
    /// If the window is not a whole multiple of the step, or the step is zero.
    pub fn new(settings: Settings, active: &[Range<Instant>]) -> Self {
        let Settings { window, step, .. } = settings;
        assert!(
            step > Duration::ZERO && window.as_nanos() % step.as_nanos() == 0,
            "window {window}: allowed are multiples of its step, {step}",
        );
        let meter = |span| DirectionMeter::new(Active::new(span, step, window), &settings);
        Self { flows: active.iter().map(|span| [meter(span), meter(span)]).collect() }
    }

    /// Records a packet that passes the tap at its sender.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn sent(&mut self, packet: Sent, now: Instant) {
        let [up, down] = &mut self.flows[packet.flow as usize];
        let (meter, back) = match packet.direction {
            Direction::Up => (up, down),
            Direction::Down => (down, up),
        };
        meter.depart(packet, now, back);
    }

    /// Records a packet that passes the tap at its receiver.
    #[inline]
    pub fn received(
        &mut self,
        flow: u32,
        direction: Direction,
        id: u64,
        ip_len: u32,
        now: Instant,
    ) {
        self.flows[flow as usize][direction.index()].arrive(id, ip_len, now);
    }

    /// Records that a flow ends by itself at `at`. The flow's throughput counts the arrivals until
    /// then.
    pub fn ended(&mut self, flow: u32, at: Instant) {
        for meter in &mut self.flows[flow as usize] {
            meter.end(at);
        }
    }

    /// Ends the measurement and returns the reports of the flows. A missing packet counts as in
    /// flight, not as lost, if no later packet of its connection arrived.
    pub fn finish(self) -> Vec<FlowReport> {
        let finish = |flow: [DirectionMeter; 2]| {
            let [(active, mut up), (_, mut down)] = flow.map(DirectionMeter::finish);
            std::mem::swap(&mut up.rtt, &mut down.rtt);
            std::mem::swap(&mut up.rtt_series, &mut down.rtt_series);
            FlowReport { active, directions: [up, down] }
        };
        self.flows.into_iter().map(finish).collect()
    }
}
