//! What the loop does at regular times.

use aqmlab_sim::{Grain, Spec};

/// How often the taps are emptied; their buffers hold far more than passes in that time.
/// So short that emptying them never keeps an application from reading for long.
pub(crate) const DRAIN_NS: u64 = 2_000_000;
/// One second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// When the world's own chores are due, in nanoseconds since the beginning.
pub(crate) struct Due {
    pub(crate) drain: u64,
    pub(crate) sample: u64,
    pub(crate) every: u64,
    pub(crate) second: u64,
    /// When to note what an application has read: time, which of its two marks, application.
    pub(crate) marks: Vec<(u64, usize, usize)>,
    /// How many of them have passed.
    pub(crate) mark: usize,
    pub(crate) end: u64,
}

/// How often TCPs and disciplines are sampled, in nanoseconds; never if nothing is kept over time.
pub(crate) fn every(spec: &Spec) -> u64 {
    let sample = Grain::of(spec).sample.as_nanos();
    if spec.keeps_series() && sample > 0 { sample } else { u64::MAX }
}

impl Due {
    /// At the beginning of a trial.
    pub(crate) fn new(spec: &Spec) -> Self {
        let (end, every) = (spec.duration_ns, every(spec));
        let of = |app| {
            let active = spec.active(app);
            [(active.start.as_nanos(), 0, app), (active.end.as_nanos(), 1, app)]
        };
        let mut marks: Vec<_> = (0..spec.apps.len()).flat_map(of).collect();
        marks.sort_unstable();
        Self { drain: DRAIN_NS, sample: every, every, second: SECOND_NS, marks, mark: 0, end }
    }

    /// The first of them.
    pub(crate) fn next(&self) -> u64 {
        let mark = self.marks.get(self.mark).map_or(u64::MAX, |(at, ..)| *at);
        self.end.min(self.drain).min(self.sample).min(self.second).min(mark)
    }
}
