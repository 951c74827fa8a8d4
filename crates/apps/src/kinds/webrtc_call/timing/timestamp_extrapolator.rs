//! The expected arrival time of a frame, from the time at which the frame was captured.
//!
//! Source: libwebrtc (2025-06) `timestamp_extrapolator.cc`. A line through all frames, fitted by
//! recursive least squares, relates the capture times and the arrival times. After a lasting change
//! of the delay, the line adapts quickly. After a pause, it begins anew.

use aqmlab_core::{Duration, Instant};

use super::signed_ms;

const TICKS_PER_MS: f64 = 90.0;
const FIRST_COVARIANCE: [f64; 2] = [1.0, 1e10];
const LEAST_FRAMES: u32 = 2;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The accumulated error in ticks above which a change of the delay is detected.
const ALARM: f64 = 60_000.0;
/// The amount in ticks by which the error of each sample is reduced before it is accumulated.
const DRIFT: f64 = 6_600.0;
/// The bound in ticks to which the error of a sample is clamped.
const MOST_ERROR: f64 = 7_000.0;

/// The relation of capture times and arrival times.
#[derive(Debug)]
pub(super) struct TimestampExtrapolator {
    start: Instant,
    last: Instant,
    /// The first and the last time of capture, once a frame has arrived.
    captured: Option<(Instant, Instant)>,
    frames: u32,
    /// The ticks per millisecond, and the ticks at the start.
    line: [f64; 2],
    covariance: [[f64; 2]; 2],
    above: f64,
    below: f64,
}

impl TimestampExtrapolator {
    /// Returns an extrapolator without frames.
    pub(super) fn new(start: Instant) -> Self {
        let [slope, offset] = FIRST_COVARIANCE;
        Self {
            start,
            last: start,
            captured: None,
            frames: 0,
            line: [TICKS_PER_MS, 0.0],
            covariance: [[slope, 0.0], [0.0, offset]],
            above: 0.0,
            below: 0.0,
        }
    }

    /// Processes a frame that arrived without repair.
    pub(super) fn update(&mut self, captured: Instant, arrived: Instant) {
        if arrived.since(self.last) > LONGEST_PAUSE {
            *self = Self::new(arrived);
        }
        self.last = arrived;
        let now_ms = signed_ms(self.start, arrived);
        let (first, last) = *self.captured.get_or_insert_with(|| {
            self.line[1] = -self.line[0] * now_ms;
            (captured, captured)
        });
        let residual =
            TICKS_PER_MS * signed_ms(first, captured) - now_ms * self.line[0] - self.line[1];
        if self.has_changed(residual) && self.frames >= LEAST_FRAMES {
            self.covariance[1][1] = FIRST_COVARIANCE[1];
        }
        if captured < last {
            return;
        }
        self.learn(now_ms, residual);
        self.captured = Some((first, captured));
        self.frames = self.frames.saturating_add(1);
    }

    fn learn(&mut self, now_ms: f64, residual: f64) {
        let [[p00, p01], [p10, p11]] = self.covariance;
        let observed = [p00 * now_ms + p01, p10 * now_ms + p11];
        let variance = 1.0 + now_ms * observed[0] + observed[1];
        let gain = [observed[0] / variance, observed[1] / variance];
        self.line = [self.line[0] + gain[0] * residual, self.line[1] + gain[1] * residual];
        self.covariance = [
            [p00 - gain[0] * (now_ms * p00 + p10), p01 - gain[0] * (now_ms * p01 + p11)],
            [p10 - gain[1] * (now_ms * p00 + p10), p11 - gain[1] * (now_ms * p01 + p11)],
        ];
    }

    /// Adds the error of a frame. Returns whether the errors add up to a change of the delay.
    fn has_changed(&mut self, residual: f64) -> bool {
        let error = residual.clamp(-MOST_ERROR, MOST_ERROR);
        self.above = (self.above + error - DRIFT).max(0.0);
        self.below = (self.below + error + DRIFT).min(0.0);
        let has_changed = self.above > ALARM || self.below < -ALARM;
        if has_changed {
            (self.above, self.below) = (0.0, 0.0);
        }
        has_changed
    }

    /// Returns the time at which the frame captured at `captured` is expected, if any frame has
    /// arrived.
    pub(super) fn expected(&self, captured: Instant) -> Option<Instant> {
        let (first, last) = self.captured?;
        if self.frames < LEAST_FRAMES {
            return Some(after(self.last, signed_ms(last, captured)));
        }
        if self.line[0] < 1e-3 {
            return Some(self.start);
        }
        let ticks = TICKS_PER_MS * signed_ms(first, captured);
        Some(after(self.start, (ticks - self.line[1]) / self.line[0]))
    }
}

/// Returns the time `ms` milliseconds after `at`.
fn after(at: Instant, ms: f64) -> Instant {
    // The product is rounded before the sum, so that the result does not depend on the size of
    // `at`.
    Instant::from_nanos(at.as_nanos().saturating_add_signed((1e6 * ms).floor() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[track_caller]
    fn expects(extrapolator: &TimestampExtrapolator, captured: Instant, want_ms: f64) {
        close(extrapolator.expected(captured).unwrap().as_secs_f64() * 1e3, want_ms, 1.0);
    }

    /// Tests the case `ExtrapolationOccursAfter2Packets` of `timestamp_extrapolator_unittest.cc`.
    #[test]
    fn the_first_frames_are_expected_when_they_arrive() {
        let mut extrapolator = TimestampExtrapolator::new(at(1_337));
        assert_eq!(extrapolator.expected(at(1_000)), None);
        extrapolator.update(at(1_000), at(1_377));
        expects(&extrapolator, at(1_000), 1_377.0);
        extrapolator.update(at(1_040), at(1_417));
        expects(&extrapolator, at(1_040), 1_417.0);
        expects(&extrapolator, at(2_040), 2_417.0);
    }

    /// Tests the case `ResetsAfter10SecondPause`.
    #[test]
    fn a_pause_of_10_seconds_begins_anew() {
        let mut extrapolator = TimestampExtrapolator::new(at(1_337));
        extrapolator.update(at(1_000), at(1_337));
        extrapolator.update(at(1_040), at(1_377));
        extrapolator.update(at(11_040), at(11_378));
        expects(&extrapolator, at(11_040), 11_378.0);
    }

    /// Tests the case `Slow90KHzClock`: 25 frames per second by their timestamps, of which 24
    /// arrive per second.
    #[test]
    fn a_slow_clock_is_learned() {
        let mut extrapolator = TimestampExtrapolator::new(at(1_337));
        for n in 0..25_u64 {
            let arrived = at(1_337) + Duration::from_nanos(1_000_000_000 / 24 * n);
            extrapolator.update(at(1_000 + 40 * n), arrived);
        }
        // One second of arrivals is 24 frames of 40 ms.
        let now_ms = 1_337.0 + 25.0 * 1_000.0 / 24.0;
        expects(&extrapolator, at(2_000 + 24 * 40), now_ms + 1_000.0);
    }

    #[test]
    fn the_mean_delay_counts_and_a_lasting_change_moves_it_after_seconds() {
        let mut extrapolator = TimestampExtrapolator::new(at(0));
        let delay = |n: u64| if n < 300 { 40 + 20 * (n % 2) } else { 240 };
        let mut frames = 0..600_u64;
        for n in frames.by_ref().take(300) {
            extrapolator.update(at(33 * n), at(33 * n + delay(n)));
        }
        expects(&extrapolator, at(33 * 300), 33.0 * 300.0 + 50.0);
        let late = |extrapolator: &TimestampExtrapolator, n: u64| {
            extrapolator.expected(at(33 * n)).unwrap().since(at(33 * n)).as_millis()
        };
        for n in frames {
            extrapolator.update(at(33 * n), at(33 * n + delay(n)));
            assert!(n > 330 || late(&extrapolator, n) < 150, "{n}: {}", late(&extrapolator, n));
        }
        assert!(late(&extrapolator, 600) > 230, "{}", late(&extrapolator, 600));
    }

    #[test]
    fn the_expected_time_does_not_depend_on_the_time_of_the_start() {
        let expected = |start: Instant| {
            let mut extrapolator = TimestampExtrapolator::new(start);
            let frame = |n: u64| {
                let captured = start + Duration::from_nanos(33_333_333 * n);
                (captured, captured + Duration::from_nanos(41_234_567 + n * n * 7_919 % 30_000_000))
            };
            (0..300)
                .map(|n| {
                    let (captured, arrived) = frame(n);
                    extrapolator.update(captured, arrived);
                    extrapolator.expected(captured).unwrap().since(start)
                })
                .collect::<Vec<_>>()
        };
        let late = Instant::ZERO + Duration::from_secs(20_000_000);
        assert_eq!(expected(Instant::ZERO), expected(late));
    }
}
