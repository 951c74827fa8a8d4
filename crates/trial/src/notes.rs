//! The metrics that an application records as it runs. They are thinned if there are too many.

use aqmlab_core::Instant;

use crate::spec::Spec;

/// A time, a metric, and the metric's value at that time.
pub type Note = (Instant, &'static str, f64);

/// The thinning of one metric. Only notes whose number is a multiple of `stride` are kept.
#[derive(Clone, Copy, Debug)]
struct Thinning {
    metric: &'static str,
    seen: u64,
    kept: usize,
    stride: u64,
}

/// The notes of an application, ordered by time. Up to a maximum number, all notes of a metric are
/// kept. If there are more, only every second, fourth, … note is kept.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// The maximum number of notes of one metric; zero keeps no notes.
    most: usize,
    kept: Vec<Note>,
    metrics: Vec<Thinning>,
}

/// Returns the maximum number of notes of one metric in a trial whose series have at most `points`
/// points. The result is the same on targets with 32 and 64 bits.
const fn most_of(points: u32) -> u32 {
    points.saturating_mul(2)
}

impl Notes {
    /// Returns empty notes for an application of the trial `spec`.
    pub fn of(spec: &Spec) -> Self {
        let most = most_of(spec.measure.points);
        Self::new(if spec.keeps_series() { most as usize } else { 0 })
    }

    /// Returns empty notes that keep at most `most` notes of each metric.
    pub fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), metrics: Vec::new() }
    }

    /// Adds a note, unless thinning leaves it out. If the metric already has the maximum number of
    /// notes, first removes every second one of them.
    pub fn push(&mut self, at: Instant, metric: &'static str, value: f64) {
        if self.most == 0 {
            return;
        }
        let place = self.place(metric);
        if self.metrics[place].kept == self.most {
            self.thin(place);
        }
        let thinning = &mut self.metrics[place];
        if thinning.seen.is_multiple_of(thinning.stride) {
            thinning.kept += 1;
            self.kept.push((at, metric, value));
        }
        thinning.seen += 1;
    }

    /// Returns the notes that were kept.
    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        self.kept.iter()
    }

    fn place(&mut self, metric: &'static str) -> usize {
        if let Some(place) = self.metrics.iter().position(|known| known.metric == metric) {
            return place;
        }
        self.metrics.push(Thinning { metric, seen: 0, kept: 0, stride: 1 });
        self.metrics.len() - 1
    }

    /// Removes every second note of a metric, and doubles the stride of its later notes.
    fn thin(&mut self, place: usize) {
        let thinning = &mut self.metrics[place];
        let mut number = 0_usize;
        self.kept.retain(|note| {
            let own = note.1 == thinning.metric;
            number += usize::from(own);
            !own || number % 2 == 1
        });
        thinning.kept = number.div_ceil(2);
        thinning.stride *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_on_notes_saturates_on_every_target() {
        assert_eq!(most_of(8), 16);
        assert_eq!(most_of(u32::MAX), u32::MAX);
        assert_eq!(most_of(u32::MAX / 2 + 1), u32::MAX);
    }

    fn taken(
        most: usize,
        notes: impl IntoIterator<Item = (u64, &'static str)>,
    ) -> Vec<(u64, &'static str)> {
        let mut kept = Notes::new(most);
        for (at, metric) in notes {
            kept.push(Instant::from_nanos(at), metric, 0.0);
        }
        kept.iter().map(|&(at, metric, _)| (at.as_nanos(), metric)).collect()
    }

    #[test]
    fn few_notes_are_kept_in_their_order() {
        let few = [(1, "a"), (1, "b"), (2, "a"), (3, "b")];
        assert_eq!(taken(2, few), few);
        assert_eq!(taken(0, few), []);
    }

    #[test]
    fn many_notes_of_a_metric_are_thinned_evenly_and_others_are_not() {
        let many = (0..100).map(|at| (at, "a")).chain([(100, "b")]);
        let kept = taken(8, many);
        let every_16th: Vec<_> = (0..100).step_by(16).map(|at| (at, "a")).collect();
        assert_eq!(kept[..7], every_16th);
        assert_eq!(kept[7..], [(100, "b")]);
    }

    #[test]
    fn an_odd_bound_thins_as_evenly() {
        assert_eq!(taken(3, (0..8).map(|at| (at, "a"))), [(0, "a"), (4, "a")]);
        assert_eq!(taken(1, (0..8).map(|at| (at, "a"))), [(0, "a")]);
    }
}
