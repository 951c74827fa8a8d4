//! The rate at which packets arrive at the receiver, computed from its reports.
//!
//! Source: libwebrtc (2025-06) `bitrate_estimator.cc`. A sample is the bytes of 150 ms, or of 500
//! ms for the first estimate. Samples are smoothed by a Bayesian update that gives more weight to
//! samples near the estimate.
//!
//! Difference: since 2024 libwebrtc uses `robust_throughput_estimator.cc` by default, with a window
//! of at least one second and 20 packets.

use aqmlab_core::Instant;

const FIRST_WINDOW_MS: u64 = 500;
const WINDOW_MS: u64 = 150;
const UNCERTAINTY: f64 = 10.0;
const FIRST_VARIANCE: f64 = 50.0;
const GROWTH: f64 = 5.0;
/// The amount added to the variance when the application no longer limits the sender.
const FAST_CHANGE: f64 = 200.0;

/// The estimator of the arrival rate.
#[derive(Debug)]
pub(crate) struct AckedRate {
    bytes: u64,
    window_ms: u64,
    last_ms: Option<u64>,
    kbit: Option<f64>,
    variance: f64,
}

impl Default for AckedRate {
    fn default() -> Self {
        Self { bytes: 0, window_ms: 0, last_ms: None, kbit: None, variance: FIRST_VARIANCE }
    }
}

impl AckedRate {
    /// Adds a packet of `bytes` that arrived at `arrival`.
    pub(crate) fn add(&mut self, arrival: Instant, bytes: u32) {
        let window = if self.kbit.is_none() { FIRST_WINDOW_MS } else { WINDOW_MS };
        if let Some(sample) = self.sample(arrival.as_nanos() / 1_000_000, bytes, window) {
            self.learn(sample);
        }
    }

    /// Returns the estimate in bit/s.
    pub(crate) fn bps(&self) -> Option<f64> {
        self.kbit.map(|kbit| kbit * 1e3)
    }

    /// Lets the next samples change the estimate quickly.
    pub(crate) fn expect_fast_change(&mut self) {
        self.variance += FAST_CHANGE;
    }

    fn learn(&mut self, sample: f64) {
        let Some(kbit) = self.kbit else {
            self.kbit = Some(sample);
            return;
        };
        let uncertainty = UNCERTAINTY * (kbit - sample).abs() / kbit.max(1e-9);
        let noise = uncertainty * uncertainty;
        let variance = self.variance + GROWTH;
        self.kbit = Some((noise * kbit + variance * sample) / (noise + variance));
        self.variance = noise * variance / (noise + variance);
    }

    /// Adds a packet to the window. If the window is complete, returns its rate in kbit/s.
    fn sample(&mut self, now_ms: u64, bytes: u32, window: u64) -> Option<f64> {
        if self.last_ms.is_some_and(|last| now_ms < last) {
            self.last_ms = None;
            self.bytes = 0;
            self.window_ms = 0;
        }
        if let Some(last) = self.last_ms {
            self.window_ms += now_ms - last;
            if now_ms - last > window {
                self.bytes = 0;
                self.window_ms %= window;
            }
        }
        self.last_ms = Some(now_ms);
        let complete = self.window_ms >= window;
        let sample = complete.then(|| 8.0 * self.bytes as f64 / window as f64);
        if complete {
            self.window_ms -= window;
            self.bytes = 0;
        }
        self.bytes += u64::from(bytes);
        sample
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::close;

    fn after(bytes: u32, every_ms: u64, packets: u64) -> AckedRate {
        let mut rate = AckedRate::default();
        for n in 0..packets {
            rate.add(Instant::from_millis(every_ms * n), bytes);
        }
        rate
    }

    #[test]
    fn the_first_estimate_takes_half_a_second_and_a_constant_rate_is_found() {
        assert_eq!(after(1_250, 10, 50).bps(), None);
        close(after(1_250, 10, 51).bps().unwrap(), 1e6, 1.0);
        close(after(1_250, 10, 1_000).bps().unwrap(), 1e6, 1.0);
    }

    /// Covers requirement C-97.
    #[test]
    fn a_sample_is_weighted_by_its_distance_from_the_estimate() {
        let mut rate = AckedRate { kbit: Some(1_000.0), ..AckedRate::default() };
        rate.learn(500.0);
        // The uncertainty is 10 · 500 / 1000 = 5, the noise 25, and the variance 55.
        close(rate.kbit.unwrap(), (25.0 * 1_000.0 + 55.0 * 500.0) / 80.0, 1e-9);
        close(rate.variance, 25.0 * 55.0 / 80.0, 1e-9);
    }

    proptest! {
        #[test]
        fn the_estimate_lies_between_its_samples(
            bytes in prop::collection::vec((40..1_500_u32, 1..40_u64), 60..300),
        ) {
            let mut rate = AckedRate::default();
            let mut now = 0;
            for (bytes, gap) in bytes {
                now += gap;
                rate.add(Instant::from_millis(now), bytes);
                if let Some(bps) = rate.bps() {
                    prop_assert!(bps.is_finite() && (0.0..=12e6).contains(&bps), "{bps}");
                }
            }
        }
    }
}
