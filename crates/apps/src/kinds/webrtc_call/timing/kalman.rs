//! The relation of a frame's delay to its size, as a Kalman filter.
//!
//! Source: libwebrtc (2025-06) `frame_delay_variation_kalman_filter.cc`.

use aqmlab_core::math;

/// The first transmission time of a byte, in milliseconds. A comment of libwebrtc states 512
/// kbit/s, but the value corresponds to 512 Mbit/s.
const FIRST_MS_PER_BYTE: f64 = 1.0 / (512e3 / 8.0);
const LEAST_MS_PER_BYTE: f64 = 1e-6;
const FIRST_COVARIANCE: [f64; 2] = [1e-4, 1e2];
const PROCESS_NOISE: [f64; 2] = [2.5e-10, 1e-10];

/// The filter: the transmission time of a byte, and the change of the queueing delay.
#[derive(Clone, Debug)]
pub(super) struct Kalman {
    ms_per_byte: f64,
    queue_ms: f64,
    covariance: [[f64; 2]; 2],
}

impl Default for Kalman {
    fn default() -> Self {
        let [size, queue] = FIRST_COVARIANCE;
        let covariance = [[size, 0.0], [0.0, queue]];
        Self { ms_per_byte: FIRST_MS_PER_BYTE, queue_ms: 0.0, covariance }
    }
}

impl Kalman {
    /// Returns the change of the delay that a change of the frame size explains, in milliseconds.
    pub(super) fn by_size_ms(&self, bytes: f64) -> f64 {
        self.ms_per_byte * bytes
    }

    /// Returns the expected change of the delay for a change of the frame size, in milliseconds.
    pub(super) fn total_ms(&self, bytes: f64) -> f64 {
        self.by_size_ms(bytes) + self.queue_ms
    }

    /// Processes the differences in delay and in size between two frames. `most_bytes` is the size
    /// of the largest recent frame, and `noise` is the variance of the delay.
    pub(super) fn update(&mut self, delay_ms: f64, bytes: f64, most_bytes: f64, noise: f64) {
        if most_bytes < 1.0 || noise <= 0.0 {
            return;
        }
        self.covariance[0][0] += PROCESS_NOISE[0];
        self.covariance[1][1] += PROCESS_NOISE[1];
        let innovation = delay_ms - self.total_ms(bytes);
        let [[p00, p01], [p10, p11]] = self.covariance;
        let observed = [p00 * bytes + p01, p10 * bytes + p11];
        let deviation = 300.0 * math::exp(-bytes.abs() / most_bytes) + 1.0;
        let deviation = (deviation * math::sqrt(noise)).max(1.0);
        // libwebrtc adds the deviation, not the variance.
        let variance = bytes * observed[0] + observed[1] + deviation;
        if variance.abs() < 1e-9 {
            return;
        }
        let gain = [observed[0] / variance, observed[1] / variance];
        self.ms_per_byte = (self.ms_per_byte + gain[0] * innovation).max(LEAST_MS_PER_BYTE);
        self.queue_ms += gain[1] * innovation;
        self.covariance = [
            [
                (1.0 - gain[0] * bytes) * p00 - gain[0] * p10,
                (1.0 - gain[0] * bytes) * p01 - gain[0] * p11,
            ],
            [
                p10 * (1.0 - gain[1]) - gain[1] * bytes * p00,
                p11 * (1.0 - gain[1]) - gain[1] * bytes * p01,
            ],
        ];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    /// Tests the cases of `frame_delay_variation_kalman_filter_unittest.cc`.
    #[test]
    fn alternating_sizes_explain_alternating_delays() {
        let mut filter = Kalman::default();
        close(filter.total_ms(1_000.0), 1_000.0 / 64_000.0, 1e-12);
        filter.update(3.0, 200.0, 2_000.0, -0.1);
        close(filter.total_ms(0.0), 0.0, 0.0);
        for n in 0..60 * 30 {
            let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
            filter.update(sign * 3.0, sign * 200.0, 2_000.0, 0.1);
        }
        close(filter.total_ms(200.0), 3.0, 0.1);
    }
}
