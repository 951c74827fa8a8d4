//! The maximum over a window of rounds, from three samples. `common/rtt.rs` has the same filter for
//! a minimum over time.
//!
//! Source: Kathleen Nichols' windowed filter, Linux 6.1 `lib/win_minmax.c`. The filter stores three
//! samples: the best sample, the best sample after the first, and the best sample after the second.
//! The second sample is replaced after a quarter of the window, and the third after half of the
//! window. When the first sample expires, the second takes its place. The result may be lower than
//! the exact maximum, because not every sample is stored.

/// A sample and the round in which it was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u64,
    value: u64,
}

/// The running maximum over a window of rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax([Sample; 3]);

impl WindowedMax {
    /// Returns the maximum in the window.
    #[inline]
    pub(super) const fn get(&self) -> u64 {
        self.0[0].value
    }

    /// Adds `value`, measured in `round`, and drops samples older than `window` rounds
    /// (`minmax_running_max`).
    pub(super) fn update(&mut self, window: u64, round: u64, value: u64) {
        let new = Sample { round, value };
        if value >= self.0[0].value || round - self.0[2].round > window {
            self.0 = [new; 3];
            return;
        }
        if value >= self.0[1].value {
            self.0[1] = new;
            self.0[2] = new;
        } else if value >= self.0[2].value {
            self.0[2] = new;
        }
        self.update_subwindows(window, new);
    }

    /// Removes expired samples, and takes the second and third samples from later parts of the
    /// window. `new` is the newest sample (`minmax_subwin_update`).
    fn update_subwindows(&mut self, window: u64, new: Sample) {
        let [best, second, third] = self.0;
        let age = new.round - best.round;
        if age > window {
            self.0 = [second, third, new];
            if new.round - self.0[0].round > window {
                self.0 = [third, new, new];
            }
        } else if second.round == best.round && age > window / 4 {
            self.0[1] = new;
            self.0[2] = new;
        } else if third.round == second.round && age > window / 2 {
            self.0[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_for_the_window() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for round in 1..=10 {
            max.update(10, round, 50);
            assert_eq!(max.get(), 100, "round {round}");
        }
        max.update(10, 11, 50);
        assert_eq!(max.get(), 50);
        max.update(10, 12, 70);
        assert_eq!(max.get(), 70);
    }

    #[test]
    fn the_next_best_is_known_when_the_best_expires() {
        let mut max = WindowedMax::default();
        let values = [100, 90, 90, 80, 70, 70, 60, 50, 50, 50, 50, 50, 50, 50, 50];
        for (round, value) in (0..).zip(values) {
            max.update(10, round, value);
            let want = [(0, 100), (11, 80), (14, 60)].into_iter().rfind(|(from, _)| *from <= round);
            // The second sample is from after the first quarter of the window, and the third from
            // after the first half.
            assert_eq!(Some(max.get()), want.map(|(_, value)| value), "round {round}");
        }
    }

    #[test]
    fn the_estimate_lies_between_the_newest_and_the_exact_maximum() {
        let mut rng = aqmlab_core::Rng::stream(3, "filter");
        let (mut max, mut all) = (WindowedMax::default(), Vec::new());
        for round in 0..2_000 {
            let value = rng.below(1_000);
            all.push(value);
            max.update(10, round, value);
            let from = all.len().saturating_sub(11);
            let exact = all[from..].iter().copied().max().unwrap_or(0);
            assert!(value <= max.get() && max.get() <= exact, "round {round}");
        }
    }
}
