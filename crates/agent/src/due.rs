//! What the loop does at regular times.

use aqmlab_sim::Spec;

/// How often the taps are emptied; their buffers hold far more than passes in that time.
pub(crate) const DRAIN_NS: u64 = 20_000_000;
/// One second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// When the world's own chores are due, in nanoseconds since the beginning.
pub(crate) struct Due {
    pub(crate) drain: u64,
    pub(crate) sample: u64,
    pub(crate) every: u64,
    pub(crate) second: u64,
    pub(crate) marks: [u64; 2],
    /// How many of the marks have passed.
    pub(crate) mark: usize,
    pub(crate) end: u64,
}

impl Due {
    /// At the beginning of a trial.
    pub(crate) fn new(spec: &Spec) -> Self {
        let (measure, end) = (&spec.measure, spec.duration_ns);
        let every = if measure.sample_ns > 0 { measure.sample_ns } else { u64::MAX };
        let marks = [measure.from_ns, measure.to_ns.unwrap_or(end)];
        Self { drain: DRAIN_NS, sample: every, every, second: SECOND_NS, marks, mark: 0, end }
    }

    /// The first of them.
    pub(crate) fn next(&self) -> u64 {
        let mark = self.marks.get(self.mark).copied().unwrap_or(u64::MAX);
        self.end.min(self.drain).min(self.sample).min(self.second).min(mark)
    }
}
