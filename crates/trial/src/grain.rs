//! The resolution of time series. A longer trial has a coarser resolution, so that memory does not
//! grow with its length.
//!
//! The step is doubled until the trial has at most the requested number of points. A bin of a
//! coarse series is still exact, because it counts every measurement in it. Numbers that describe
//! the whole trial do not depend on the resolution.

use aqmlab_core::Duration;

use crate::spec::Spec;

/// The maximum number of samples of a sender or queue for each point of a series.
const SAMPLES: u64 = 2;

/// The steps of a trial's series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// The width of a bin, and the time between the starts of two successive throughput windows.
    pub step: Duration,
    /// The width of a throughput window, a whole multiple of the step.
    pub window: Duration,
    /// The interval at which senders and queues are sampled; zero disables sampling.
    pub sample: Duration,
}

impl Grain {
    /// Returns the steps of the trial `spec`.
    pub fn of(spec: &Spec) -> Self {
        let measure = &spec.measure;
        let points = u64::from(measure.points);
        let fit = |step: Duration, most| coarsen(step.as_nanos(), spec.duration.as_nanos(), most);
        let step = fit(measure.step, points);
        let sample = if measure.sample == Duration::ZERO {
            0
        } else {
            fit(measure.sample, SAMPLES * points)
        };
        Self {
            step: Duration::from_nanos(step),
            window: Duration::from_nanos(measure.window.as_nanos().next_multiple_of(step)),
            sample: Duration::from_nanos(sample),
        }
    }

    /// Returns the number of steps of the trial `spec`.
    pub(crate) fn steps(self, spec: &Spec) -> u64 {
        spec.duration.as_nanos().div_ceil(self.step.as_nanos())
    }

    /// Returns the maximum number of samples of each sender and queue of the trial `spec`.
    pub(crate) fn samples(self, spec: &Spec) -> u64 {
        spec.duration.as_nanos().checked_div(self.sample.as_nanos()).unwrap_or(0)
    }
}

/// Returns `step`, doubled until at most `most` steps cover `length`. A `step` or `most` of zero
/// counts as one.
pub fn coarsen(step: u64, length: u64, most: u64) -> u64 {
    let mut step = step.max(1);
    while length.div_ceil(step) > most.max(1) {
        step = step.saturating_mul(2);
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_doubled_until_the_trial_has_few_enough() {
        for (step, length, most, coarse) in [
            (250, 200_000, 1_024, 250),
            (250, 256_000, 1_024, 250),
            (250, 256_001, 1_024, 500),
            (250, 2_000_000, 1_024, 2_000),
            (1, 1 << 60, 1, 1 << 60),
            (0, 3, 0, 4),
        ] {
            assert_eq!(coarsen(step, length, most), coarse, "{step} in {length}, {most}");
        }
    }

    #[test]
    fn a_trial_has_as_many_steps_and_samples_as_fit_into_its_points() {
        let grain = |seconds: u64, sample_ms: u64| {
            let json = format!(
                r#"{{"seed": 1, "duration_ns": {}, "links": [], "apps": [], "measure": {{
                "window_ns": 1000000000, "step_ns": 250000000, "sample_ns": {}, "points": 100}}}}"#,
                seconds * 1_000_000_000,
                sample_ms * 1_000_000
            );
            let spec = crate::parse(&json).expect("it is a trial");
            let grain = Grain::of(&spec);
            let ms = [grain.step, grain.window, grain.sample].map(Duration::as_millis);
            (ms, grain.steps(&spec), grain.samples(&spec))
        };
        assert_eq!(grain(25, 125), ([250, 1_000, 125], 100, 200));
        assert_eq!(grain(26, 125), ([500, 1_000, 250], 52, 104));
        assert_eq!(grain(101, 0), ([2_000, 2_000, 0], 51, 0));
    }
}
