//! The variation of the delays of frames, which the playout delay covers.
//!
//! Source: libwebrtc (2025-06) `jitter_estimator.cc`, with the default settings. The estimate is
//! the additional time that the largest frame takes compared with the average frame, plus the noise
//! threshold, plus 10 ms. The noise threshold is 2.33 standard deviations of the remaining noise,
//! minus 30 ms, and at least 1 ms.
//!
//! Difference: from the third frame with a retransmitted packet on, the estimate of the jitter also
//! contains 0.9 round-trip times. This module uses the round-trip time as it is; libwebrtc filters
//! it (`rtt_filter.cc`).

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant, math};

use super::kalman::Kalman;

#[cfg(test)]
mod tests;

const STARTUP_FRAMES: u32 = 30;
const FRAMES_UNTIL_SIZES: u32 = 5;
const FIRST_BYTES: f64 = 500.0;
const FIRST_SIZE_VARIANCE: f64 = 100.0;
const FIRST_NOISE: f64 = 4.0;
const AVERAGE: f64 = 0.97;
const MOST_FADES: f64 = 0.9999;
const DELAY_CLAMP: f64 = 3.5;
const DELAY_OUTLIER: f64 = 15.0;
const SIZE_OUTLIER: f64 = 3.0;
const CONGESTED: f64 = -0.25;
const MOST_ALPHA: u32 = 400;
const NOISE_DEVIATIONS: f64 = 2.33;
const NOISE_OFFSET_MS: f64 = 30.0;
const BOUNDS_MS: (f64, f64) = (1.0, 10_000.0);
const SYSTEM_MS: f64 = 10.0;
const REPAIRS: u32 = 3;
const REPAIRS_LAST: Duration = Duration::from_secs(60);
const ROUND_TRIPS: f64 = 0.9;
const MOST_FOR_REPAIRS_MS: f64 = 200.0;
const INTERVALS: usize = 30;
const USUAL_FPS: f64 = 30.0;
const MOST_FPS: f64 = 200.0;
/// At and below the first frame rate, the estimate is zero. Up to the second frame rate, the
/// estimate is reduced.
const SLOW_FPS: (f64, f64) = (5.0, 10.0);

/// The estimator of the variation.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    kalman: Kalman,
    frames: u32,
    first_bytes: f64,
    last_bytes: Option<f64>,
    mean_bytes: f64,
    most_bytes: f64,
    size_variance: f64,
    noise_mean_ms: f64,
    noise: f64,
    alpha_count: u32,
    startup: u32,
    estimate_ms: f64,
    filtered_ms: f64,
    updated: Option<Instant>,
    intervals: VecDeque<Duration>,
    repairs: u32,
    repaired: Instant,
}

impl Default for Jitter {
    fn default() -> Self {
        Self {
            kalman: Kalman::default(),
            frames: 0,
            first_bytes: 0.0,
            last_bytes: None,
            mean_bytes: FIRST_BYTES,
            most_bytes: FIRST_BYTES,
            size_variance: FIRST_SIZE_VARIANCE,
            noise_mean_ms: 0.0,
            noise: FIRST_NOISE,
            alpha_count: 1,
            startup: 0,
            estimate_ms: BOUNDS_MS.0,
            filtered_ms: 0.0,
            updated: None,
            intervals: VecDeque::new(),
            repairs: 0,
            repaired: Instant::ZERO,
        }
    }
}

impl Jitter {
    /// Processes a frame of `bytes`, whose delay differs by `delay_ms` from the delay of the frame
    /// before it.
    pub(super) fn update(&mut self, delay_ms: f64, bytes: u32, now: Instant) {
        let bytes = f64::from(bytes);
        self.learn_sizes(bytes);
        let Some(before) = self.last_bytes.replace(bytes) else { return };
        let change = bytes - before;
        let most_ms = DELAY_CLAMP * math::sqrt(self.noise) + 0.5;
        let delay_ms = delay_ms.clamp(-most_ms, most_ms);
        let deviation_ms = delay_ms - self.kalman.total_ms(change);
        let outlier_ms = DELAY_OUTLIER * math::sqrt(self.noise);
        let is_large = bytes > self.mean_bytes + SIZE_OUTLIER * math::sqrt(self.size_variance);
        if deviation_ms.abs() < outlier_ms || is_large {
            self.learn_noise(deviation_ms, now);
            // A frame after a large frame waited for the large frame, so its delay does not follow
            // from its own size.
            if change > CONGESTED * self.most_bytes {
                self.kalman.update(delay_ms, change, self.most_bytes, self.noise);
            }
        } else {
            self.learn_noise(outlier_ms.copysign(deviation_ms), now);
        }
        if self.startup >= STARTUP_FRAMES {
            self.filtered_ms = self.calculate_ms();
        } else {
            self.startup += 1;
        }
    }

    /// Records that a frame needed a repair.
    pub(super) fn repaired(&mut self, now: Instant) {
        self.repairs = REPAIRS.min(self.repairs + 1);
        self.repaired = now;
    }

    /// Returns the estimate in milliseconds, with a part of the round-trip time after several
    /// repairs, and reduced at low frame rates.
    pub(super) fn ms(&mut self, rtt: Duration, now: Instant) -> f64 {
        let mut ms = (self.calculate_ms() + SYSTEM_MS).max(self.filtered_ms);
        if now.since(self.repaired) > REPAIRS_LAST {
            self.repairs = 0;
        }
        if self.repairs >= REPAIRS {
            ms += (ROUND_TRIPS * rtt.as_secs_f64() * 1e3).min(MOST_FOR_REPAIRS_MS);
        }
        let (none, full) = SLOW_FPS;
        match self.fps() {
            None => ms,
            Some(fps) => ms * ((fps - none) / (full - none)).clamp(0.0, 1.0),
        }
    }

    fn learn_sizes(&mut self, bytes: f64) {
        if self.frames < FRAMES_UNTIL_SIZES {
            self.first_bytes += bytes;
        } else if self.frames == FRAMES_UNTIL_SIZES {
            self.mean_bytes = self.first_bytes / f64::from(FRAMES_UNTIL_SIZES);
        }
        self.frames = self.frames.saturating_add(1);
        let mean = AVERAGE * self.mean_bytes + (1.0 - AVERAGE) * bytes;
        // A much larger frame, such as a key frame, does not change the mean.
        if bytes < self.mean_bytes + 2.0 * math::sqrt(self.size_variance) {
            self.mean_bytes = mean;
        }
        let square = (bytes - mean) * (bytes - mean);
        self.size_variance = (AVERAGE * self.size_variance + (1.0 - AVERAGE) * square).max(1.0);
        self.most_bytes = bytes.max(MOST_FADES * self.most_bytes);
    }

    fn learn_noise(&mut self, deviation_ms: f64, now: Instant) {
        if let Some(before) = self.updated.replace(now) {
            self.intervals.push_back(now.since(before));
            if self.intervals.len() > INTERVALS {
                self.intervals.pop_front();
            }
        }
        let alpha = f64::from(self.alpha_count - 1) / f64::from(self.alpha_count);
        self.alpha_count = MOST_ALPHA.min(self.alpha_count + 1);
        let alpha = self.fps().map_or(alpha, |fps| {
            let (count, all) = (f64::from(self.alpha_count), f64::from(STARTUP_FRAMES));
            let scale = USUAL_FPS / fps;
            let scale = if count < all { (count * scale + all - count) / all } else { scale };
            math::pow(alpha, scale)
        });
        let error = deviation_ms - self.noise_mean_ms;
        self.noise_mean_ms = alpha * self.noise_mean_ms + (1.0 - alpha) * deviation_ms;
        self.noise = (alpha * self.noise + (1.0 - alpha) * error * error).max(1.0);
    }

    fn calculate_ms(&mut self) -> f64 {
        let size_ms = self.kalman.by_size_ms(self.most_bytes - self.mean_bytes);
        let noise_ms = NOISE_DEVIATIONS * math::sqrt(self.noise) - NOISE_OFFSET_MS;
        let ms = size_ms + noise_ms.max(1.0);
        if ms >= BOUNDS_MS.0 {
            self.estimate_ms = ms.min(BOUNDS_MS.1);
        }
        self.estimate_ms
    }

    /// Returns the frame rate of the last frames in frames per second, if it is known.
    fn fps(&self) -> Option<f64> {
        let sum: f64 = self.intervals.iter().map(|one| one.as_secs_f64()).sum();
        (sum > 0.0).then(|| (self.intervals.len() as f64 / sum).min(MOST_FPS))
    }
}
