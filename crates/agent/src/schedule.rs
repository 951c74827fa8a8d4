//! What the loop does at regular times.

use aqmlab_trial::{Grain, Spec};

/// How often the taps are emptied; their buffers hold far more than passes in that time.
/// So short that emptying them never keeps an application from reading for long.
pub(crate) const DRAIN_NS: u64 = 2_000_000;
/// One second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// When the world's own chores are due, in nanoseconds since the beginning.
pub(crate) struct Schedule {
    pub(crate) drain: u64,
    pub(crate) sample: u64,
    pub(crate) every: u64,
    pub(crate) second: u64,
    pub(crate) end: u64,
}

/// How often TCPs and disciplines are sampled, in nanoseconds; never if nothing is kept over time.
pub(crate) fn every(spec: &Spec) -> u64 {
    let sample = Grain::of(spec).sample.as_nanos();
    if spec.keeps_series() && sample > 0 { sample } else { u64::MAX }
}

impl Schedule {
    /// At the beginning of a trial.
    pub(crate) fn new(spec: &Spec) -> Self {
        let (end, every) = (spec.duration.as_nanos(), every(spec));
        Self { drain: DRAIN_NS, sample: every, every, second: SECOND_NS, end }
    }

    /// The first of them.
    pub(crate) fn next(&self) -> u64 {
        self.end.min(self.drain).min(self.sample).min(self.second)
    }
}
