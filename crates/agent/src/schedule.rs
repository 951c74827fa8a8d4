//! The schedule of the periodic work in a trial's main loop.

use aqmlab_trial::{Grain, Spec};

/// The interval at which the taps are drained. Within this interval their buffers never fill, and
/// one drain delays applications only briefly.
pub(crate) const DRAIN_NS: u64 = 2_000_000;
/// The interval of progress reports. A trial also begins at a multiple of this time.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The next times at which to drain the taps (`drain`), to take samples (`sample`) and to report
/// progress (`second`), and the end of the trial (`end`), all in nanoseconds since the start.
/// `every` is the sampling interval in nanoseconds.
pub(crate) struct Schedule {
    pub(crate) drain: u64,
    pub(crate) sample: u64,
    pub(crate) every: u64,
    pub(crate) second: u64,
    pub(crate) end: u64,
}

/// Returns the interval in nanoseconds at which TCPs and disciplines are sampled. If the trial
/// keeps no series or takes no samples, returns `u64::MAX`.
pub(crate) fn every(spec: &Spec) -> u64 {
    let sample = Grain::of(spec).sample.as_nanos();
    if spec.keeps_series() && sample > 0 { sample } else { u64::MAX }
}

impl Schedule {
    /// Returns the schedule at the start of a trial.
    pub(crate) fn new(spec: &Spec) -> Self {
        let (end, every) = (spec.duration.as_nanos(), every(spec));
        Self { drain: DRAIN_NS, sample: every, every, second: SECOND_NS, end }
    }

    /// Returns the time of the next periodic work, or the end of the trial if that comes first.
    pub(crate) fn next(&self) -> u64 {
        self.end.min(self.drain).min(self.sample).min(self.second)
    }
}
