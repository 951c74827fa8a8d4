//! The second stage of SPP and the other metrics, for one flow at two taps.

use std::collections::BTreeMap;

use aqmlab_core::{Direction, Duration, Instant};

use super::decode::Tuple;
use super::options::Options;
use crate::jitter::Variation;
use crate::pairs::{Pairing, Passage, RoundTrip};
use crate::report::{DirectionReport, FlowReport};
use crate::series::Series;

/// A packet of the flow at one tap. The times at a tap count from the first packet of the tap's
/// capture, or of either capture if the clocks agree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// The tap: 0 or 1.
    pub(super) tap: usize,
    /// Whether the packet has the direction of the flow's tuple.
    pub(super) forward: bool,
    pub(super) at: Instant,
    /// The time at the other tap, if the packet was captured there.
    pub(super) other: Option<Instant>,
    pub(super) ip_len: u32,
}

/// The meter of one flow.
pub(super) struct FlowMeter {
    /// The tuple that packets from tap 0 to tap 1 have at tap 0.
    pub(super) tuple: Tuple,
    /// The two directions of the flow; up is from tap 0 to tap 1.
    halves: [Half; 2],
    /// The pairings, by the tap that is the monitor.
    pairings: [Pairing; 2],
}

/// One direction of a flow.
struct Half {
    report: DirectionReport,
    variation: Variation,
    rtt_series: Series,
    samples: Vec<RoundTrip>,
    /// Packets sent in the statistics interval that only the tap at the sender captured, since the
    /// last packet that both taps captured.
    missing: u64,
    /// Whether a packet was captured at both taps. Before the first such packet, the other capture
    /// may not have begun.
    begun: bool,
    /// Bytes that arrived, by step.
    steps: BTreeMap<u64, u64>,
}

impl FlowMeter {
    pub(super) fn new(tuple: Tuple, options: &Options) -> Self {
        let half = || Half::new(options.step);
        Self { tuple, halves: [half(), half()], pairings: Default::default() }
    }

    /// Processes an event of a packet in `direction`.
    pub(super) fn take(&mut self, event: &Event, direction: Direction, options: &Options) {
        let at_sender = event.tap == direction.index();
        match event.other {
            _ if at_sender => self.leaves(event, direction, options),
            Some(sent) => self.arrives(event, sent, direction, options),
            None => self.halves[direction.index()].count(event, options.step),
        }
    }

    fn leaves(&mut self, event: &Event, direction: Direction, options: &Options) {
        let half = &mut self.halves[direction.index()];
        let included = u64::from(options.limits().include(event.at));
        half.report.packets_sent += included;
        half.report.bytes_sent += u64::from(event.ip_len) * included;
        let Some(received) = event.other else {
            half.missing += included * u64::from(half.begun);
            half.report.in_flight += included * u64::from(!half.begun);
            return;
        };
        half.begun = true;
        half.report.lost += std::mem::take(&mut half.missing);
        // The packet's sender is the monitor, and the other end the reference.
        let passage = Passage { reference: received, monitor: event.at };
        if let Some(trip) = self.pairings[event.tap].inbound(passage) {
            self.halves[direction.reverse().index()].trip(trip, options);
        }
    }

    fn arrives(&mut self, event: &Event, sent: Instant, direction: Direction, options: &Options) {
        self.pairings[event.tap].outbound(Passage { reference: sent, monitor: event.at });
        let half = &mut self.halves[direction.index()];
        half.count(event, options.step);
        if !options.limits().include(sent) {
            return;
        }
        half.report.packets_received += 1;
        half.report.bytes_received += u64::from(event.ip_len);
        // Clocks that differ can make a delay negative. Flipping the sign bit preserves the order
        // of such delays.
        half.variation.follow(event.at.as_nanos().wrapping_sub(sent.as_nanos()) ^ (1 << 63));
        if options.synchronised {
            let owd = event.at.since(sent);
            half.report.owd.record(owd);
        }
    }

    /// Returns the flow's tuple, its measurements, and its round trips if they were kept.
    pub(super) fn finish(self) -> (Tuple, FlowReport, [Vec<RoundTrip>; 2]) {
        let [up, down] = self.halves;
        let ((up, up_samples), (down, down_samples)) = (up.finish(), down.finish());
        (
            self.tuple,
            FlowReport { directions: [up, down], ..FlowReport::default() },
            [up_samples, down_samples],
        )
    }

    /// Returns the number of steps in the arrival tables of both directions.
    pub(super) fn steps(&self) -> u64 {
        self.halves
            .iter()
            .filter_map(|half| half.steps.last_key_value())
            .map(|(step, _)| step + 1)
            .sum()
    }
}

impl Half {
    fn new(step: Duration) -> Self {
        Self {
            report: DirectionReport::default(),
            variation: Variation::default(),
            rtt_series: Series::new(step, 0),
            samples: Vec::new(),
            missing: 0,
            begun: false,
            steps: BTreeMap::new(),
        }
    }

    fn trip(&mut self, trip: RoundTrip, options: &Options) {
        self.rtt_series.record(trip.at, trip.rtt);
        if options.limits().include(trip.at) {
            self.report.rtt.record(trip.rtt);
        }
        if options.keep_samples {
            self.samples.push(trip);
        }
    }

    fn count(&mut self, event: &Event, step: Duration) {
        let step = event.at.as_nanos() / step.as_nanos();
        *self.steps.entry(step).or_default() += u64::from(event.ip_len);
    }

    fn finish(mut self) -> (DirectionReport, Vec<RoundTrip>) {
        let last = self.steps.last_key_value().map(|(step, _)| *step as usize);
        let mut steps = vec![0; last.map_or(0, |last| last + 1)];
        self.steps.iter().for_each(|(step, bytes)| steps[*step as usize] = *bytes);
        self.report.in_flight += self.missing;
        let report = DirectionReport {
            steps,
            rtt_series: self.rtt_series.finish(),
            jitter: self.variation.jitter(),
            ..self.report
        };
        (report, self.samples)
    }
}
