//! The capacity of the path, estimated from the rates at over-use.
//!
//! Source: libwebrtc (2025-06) `link_capacity_estimator.cc`.

use aqmlab_core::math;

const WEIGHT: f64 = 0.05;
const FIRST_DEVIATION: f64 = 0.4;
/// The bounds of the normalised variance: standard deviations of 14 and 35 kbit/s at 500 kbit/s.
const DEVIATIONS: (f64, f64) = (0.4, 2.5);

/// The mean and the variance of rates at over-use.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// The mean in kbit/s, if there is one.
    kbit: Option<f64>,
    /// The variance divided by the mean, in kbit/s.
    deviation: f64,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { kbit: None, deviation: FIRST_DEVIATION }
    }
}

impl Capacity {
    /// Adds the rate at which packets arrived during an over-use.
    pub(crate) fn add(&mut self, bps: f64) {
        let sample = bps / 1e3;
        let kbit = self.kbit.map_or(sample, |kbit| (1.0 - WEIGHT) * kbit + WEIGHT * sample);
        let error = kbit - sample;
        let deviation = (1.0 - WEIGHT) * self.deviation + WEIGHT * error * error / kbit.max(1.0);
        self.deviation = deviation.clamp(DEVIATIONS.0, DEVIATIONS.1);
        self.kbit = Some(kbit);
    }

    /// Returns the mean in bit/s, if there is one.
    pub(crate) fn bps(&self) -> Option<f64> {
        self.kbit.map(|kbit| kbit * 1e3)
    }

    /// Forgets the mean, but not the variance.
    pub(crate) fn forget(&mut self) {
        self.kbit = None;
    }

    /// Returns whether `bps` exceeds the mean by more than three standard deviations; false without
    /// a mean.
    pub(crate) fn is_below(&self, bps: f64) -> bool {
        self.kbit.is_some_and(|kbit| bps > 1e3 * (kbit + self.spread(kbit)))
    }

    /// Returns whether `bps` falls short of the mean by more than three standard deviations; false
    /// without a mean.
    pub(crate) fn is_above(&self, bps: f64) -> bool {
        self.kbit.is_some_and(|kbit| bps < 1e3 * (kbit - self.spread(kbit)).max(0.0))
    }

    /// Returns three standard deviations in kbit/s.
    fn spread(&self, kbit: f64) -> f64 {
        3.0 * math::sqrt(self.deviation * kbit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn three_deviations_bound_the_rates_near_the_capacity() {
        let mut capacity = Capacity::default();
        assert!(!capacity.is_below(1e9) && !capacity.is_above(0.0));
        capacity.add(500_000.0);
        // The standard deviation is √(0.4 · 500) = 14.1 kbit/s.
        assert!(capacity.is_below(543_000.0) && !capacity.is_below(542_000.0));
        assert!(capacity.is_above(457_000.0) && !capacity.is_above(458_000.0));
        capacity.add(600_000.0);
        close(capacity.bps().unwrap(), 505_000.0, 1e-6);
        // An error of 95 gives 0.95 · 0.4 + 0.05 · 9025 / 505.
        close(capacity.deviation, 0.38 + 0.05 * 9_025.0 / 505.0, 1e-9);
    }
}
