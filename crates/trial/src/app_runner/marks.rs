//! Read marks: the number of bytes that an application has read when its part of the measured
//! interval begins, and when that part ends.

use aqmlab_core::Instant;

use crate::spec::Spec;

/// The index of an application's first mark, at the start of its part of the measured interval.
const START: usize = 0;
/// The index of an application's second mark, at the end of its part of the measured interval.
pub(super) const END: usize = 1;

/// The read marks of all applications.
pub(super) struct ReadMarks {
    /// The time, index and application of each mark, ordered by time.
    schedule: Vec<(Instant, usize, usize)>,
    /// The number of marks at the start of `schedule` that [`Self::pop`] has returned.
    passed: usize,
    /// The bytes read at home and on the internet, by application and mark; `None` for a mark not
    /// yet set.
    set: Vec<[Option<[u64; 2]>; 2]>,
}

impl ReadMarks {
    pub(super) fn new(spec: &Spec) -> Self {
        let marks = spec.all_active().into_iter().enumerate();
        let marks =
            marks.flat_map(|(app, active)| [(active.start, START, app), (active.end, END, app)]);
        let mut schedule: Vec<_> = marks.collect();
        schedule.sort_unstable();
        Self { schedule, passed: 0, set: vec![Default::default(); spec.apps.len()] }
    }

    /// Returns the time of the next mark in the schedule, if there is one.
    pub(super) fn next(&self) -> Option<Instant> {
        self.schedule.get(self.passed).map(|(at, ..)| *at)
    }

    /// Removes the next mark from the schedule, if it is due. Returns the application and the
    /// mark's index.
    pub(super) fn pop(&mut self, now: Instant) -> Option<(usize, usize)> {
        let &(_, mark, app) = self.schedule.get(self.passed).filter(|(at, ..)| *at <= now)?;
        self.passed += 1;
        Some((app, mark))
    }

    /// Sets a mark, unless it is already set. An application that ends early sets its second mark
    /// early.
    pub(super) fn set(&mut self, app: usize, mark: usize, read: [u64; 2]) {
        self.set[app][mark].get_or_insert(read);
    }

    /// Returns the bytes that an application read between its two marks, at home and on the
    /// internet. A mark that is not set counts as zero bytes.
    pub(super) fn read(&self, app: usize) -> [u64; 2] {
        let [before, after] = self.set[app].map(Option::unwrap_or_default);
        [0, 1].map(|side: usize| after[side].saturating_sub(before[side]))
    }
}
