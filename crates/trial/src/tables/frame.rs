//! The interval of the statistics, which excludes the warm-up of a trial (`measure.from`), and the
//! steps of the time series.

use aqmlab_core::{Duration, Instant};
use aqmlab_measure::{Histogram, Settings};

use crate::grain::Grain;
use crate::spec::Spec;

/// Returns the meter's settings for the trial `spec`.
pub fn settings(spec: &Spec) -> Settings {
    let (measure, grain) = (&spec.measure, Grain::of(spec));
    let end = spec.end();
    Settings {
        from: measure.from,
        to: measure.to.unwrap_or(end),
        window: measure.window,
        step: measure.step,
        end,
        // A flow may have several connections, and a fair queue may reorder packets of different
        // connections. A gap is therefore a loss only after many later packets have arrived.
        reorders: true,
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
        let Settings { from, to, .. } = settings(spec);
        let (step, series) = (Grain::of(spec).step.as_nanos(), spec.measure.series);
        Self { from, to, step, series }
    }
}

/// The sojourn times and bytes of the packets that left a link's queue.
#[derive(Clone, Debug)]
pub struct QueueReport {
    /// The sojourn times of packets that left within the interval of the statistics.
    pub sojourn: Histogram,
    /// The longest sojourn time in each step of the time series.
    pub worst: Vec<Duration>,
    /// The sum of the sojourn times in `sojourn`. By Little's law, this sum is about the integral
    /// of the backlog in packets over the interval.
    pub waited: Duration,
    /// IP bytes of the packets that left within the interval.
    pub bytes: u64,
    /// The step of the time series in which the last packet left.
    step: usize,
    /// The start of `step`. Before the first packet, it is a time later than the end of any run.
    step_begins: u64,
}

impl Default for QueueReport {
    fn default() -> Self {
        Self {
            sojourn: Histogram::default(),
            worst: Vec::new(),
            waited: Duration::ZERO,
            bytes: 0,
            step: 0,
            step_begins: 1 << 63,
        }
    }
}

impl QueueReport {
    /// Records that a packet of `ip_len` bytes left at `left` after the sojourn time `sojourn`.
    #[inline]
    pub fn note(&mut self, frame: &Frame, left: Instant, sojourn: Duration, ip_len: u32) {
        if frame.series {
            // The subtraction wraps, so one comparison covers times before and after the step.
            if left.as_nanos().wrapping_sub(self.step_begins) >= frame.step {
                self.open_step(frame, left);
            }
            self.worst[self.step] = self.worst[self.step].max(sojourn);
        }
        if frame.from <= left && left < frame.to {
            self.sojourn.record(sojourn);
            self.waited += sojourn;
            self.bytes += u64::from(ip_len);
        }
    }
    /// Opens the step that contains `left`. The function is separate, because most packets need no
    /// division.
    #[cold]
    fn open_step(&mut self, frame: &Frame, left: Instant) {
        self.step = (left.as_nanos() / frame.step) as usize;
        self.step_begins = self.step as u64 * frame.step;
        if self.worst.len() <= self.step {
            self.worst.resize(self.step + 1, Duration::ZERO);
        }
    }
}
