//! The interval of the statistics, which excludes the warm-up of a trial (`measure.from`), and the
//! steps of the time series.

use std::ops::Range;

use aqmlab_core::{Duration, Instant};
use aqmlab_measure::{Histogram, InOrder, Settings};

use crate::grain::Grain;
use crate::spec::Spec;

/// Returns the meter's settings for the trial `spec`. `in_order` states the packets that the
/// network does not reorder.
pub fn settings(spec: &Spec, in_order: InOrder) -> Settings {
    let (measure, grain) = (&spec.measure, Grain::of(spec));
    let (Range { start: from, end: to }, end) = (spec.measured(), spec.end());
    Settings {
        from,
        to,
        window: measure.window,
        step: measure.step,
        end,
        in_order,
        series: measure.series.then_some(grain.step),
    }
}

/// The interval of the statistics, and the steps of time series.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    from: Instant,
    to: Instant,
    step: u64,
    series: bool,
}

impl Frame {
    /// Returns the frame of the trial `spec`.
    pub fn of(spec: &Spec) -> Self {
        let Range { start: from, end: to } = spec.measured();
        let (step, series) = (Grain::of(spec).step.as_nanos(), spec.measure.series);
        Self { from, to, step, series }
    }

    /// Returns the span of time around `at` that lies in one step, and either within or outside the
    /// interval of the statistics. Without time series, all times lie in one step.
    fn span(&self, at: u64) -> Range<u64> {
        let (mut start, mut end) = (0, u64::MAX);
        if self.series {
            start = at - at % self.step;
            end = start.saturating_add(self.step);
        }
        for bound in [self.from.as_nanos(), self.to.as_nanos()] {
            if bound <= at {
                start = start.max(bound);
            } else {
                end = end.min(bound);
            }
        }
        start..end
    }
}

/// The sojourn times and bytes of the packets that left a link's queue.
#[derive(Clone, Debug)]
pub struct QueueReport {
    /// The sojourn times of packets that left within the interval of the statistics.
    pub sojourn: Histogram,
    /// The longest sojourn time in each step of the time series.
    pub worst: Vec<Duration>,
    /// IP bytes of the packets that left within the interval.
    pub bytes: u64,
    /// The step of the time series in which the last packet left; 0 without time series.
    step: usize,
    /// Whether packets that leave in `span` count in the statistics.
    counts: bool,
    /// The part of `step` in which all packets count, or in which none does. Before the first
    /// packet, it is empty.
    span: Range<u64>,
}

impl Default for QueueReport {
    fn default() -> Self {
        Self {
            sojourn: Histogram::default(),
            worst: Vec::new(),
            bytes: 0,
            step: 0,
            counts: false,
            span: 0..0,
        }
    }
}

impl QueueReport {
    /// Records that a packet of `ip_len` bytes left at `left` after the sojourn time `sojourn`.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 0.2 % of a run")]
    #[inline(always)]
    pub fn note(&mut self, frame: &Frame, left: Instant, sojourn: Duration, ip_len: u32) {
        if !self.span.contains(&left.as_nanos()) {
            self.enter(frame, left);
        }
        // The processor cannot predict whether a sojourn time is the longest so far.
        if let Some(worst) = self.worst.get_mut(self.step) {
            *worst = (*worst).max(sojourn);
        }
        if self.counts {
            self.bytes += u64::from(ip_len);
            self.sojourn.record(sojourn);
        }
    }

    /// Sets the span to the one that contains `left`. The function is separate, because most
    /// packets leave in the span of the packet before them.
    #[cold]
    fn enter(&mut self, frame: &Frame, left: Instant) {
        self.span = frame.span(left.as_nanos());
        self.counts = frame.from <= left && left < frame.to;
        if frame.series {
            self.step = (left.as_nanos() / frame.step) as usize;
            if self.worst.len() <= self.step {
                self.worst.resize(self.step + 1, Duration::ZERO);
            }
        }
    }
}
