//! How finely a trial is kept: the longer it is, the coarser, so that memory does not grow with it.
//!
//! A step is doubled until no more of them fit into the trial than asked for. What is kept is
//! then as exact as before, only wider: a bin still counts every sample that falls into it.

use aqmlab_core::Duration;

use crate::spec::Spec;

/// Throughput is counted in so many times as many steps as a series has points, because the
/// quantiles of its windows are made from all of them.
const FINER: u64 = 16;
/// The state of TCPs and queues is sampled up to so many times as often.
const SAMPLES: u64 = 2;

/// The steps of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// What bytes are counted in, and how far a window of throughput moves for its quantiles.
    pub step: Duration,
    /// Width of those windows, a whole multiple of the step.
    pub window: Duration,
    /// Width of a bin of the series, and how far a window moves there; a whole multiple of
    /// [`step`](Self::step).
    pub series_step: Duration,
    /// Width of a window of the series, a whole multiple of their step.
    pub series_window: Duration,
    /// How often TCPs and queues are sampled; zero for never.
    pub sample: Duration,
}

impl Grain {
    /// The steps of the trial `spec`.
    pub fn of(spec: &Spec) -> Self {
        let measure = &spec.measure;
        let points = u64::from(measure.points);
        let fit = |step, most| coarsen(step, spec.duration_ns, most);
        let step = fit(measure.step_ns, FINER * points);
        let series_step = fit(step, points);
        let sample =
            if measure.sample_ns == 0 { 0 } else { fit(measure.sample_ns, SAMPLES * points) };
        let window = |step| Duration::from_nanos(measure.window_ns.next_multiple_of(step));
        Self {
            step: Duration::from_nanos(step),
            window: window(step),
            series_step: Duration::from_nanos(series_step),
            series_window: window(series_step),
            sample: Duration::from_nanos(sample),
        }
    }

    /// Fine steps in a step of the series.
    pub(crate) fn ratio(self) -> usize {
        (self.series_step.as_nanos() / self.step.as_nanos()) as usize
    }
}

/// `step`, doubled until at most `most` fit into `length`.
fn coarsen(step: u64, length: u64, most: u64) -> u64 {
    let mut step = step.max(1);
    while length.div_ceil(step) > most.max(1) {
        step *= 2;
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
}
