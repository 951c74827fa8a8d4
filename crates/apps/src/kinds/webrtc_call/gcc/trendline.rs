//! The trend of the queueing delay, and whether it indicates over-use.
//!
//! Source: libwebrtc (2025-06) `trendline_estimator.cc`. The trend is a least-squares line through
//! the last 20 smoothed delays. The threshold adapts to the trend, so that a TCP flow in the same
//! queue does not starve the call (Carlucci et al. 2016).

use std::collections::VecDeque;

use aqmlab_core::Instant;

use super::inter_arrival_delta::Spacing;

const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const WINDOW: usize = 20;
/// The number of spacings after which the trend counts in full.
const MOST_DELTAS: u32 = 60;
const FIRST_THRESHOLD_MS: f64 = 12.5;
const THRESHOLDS_MS: (f64, f64) = (6.0, 600.0);
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
/// The threshold does not adapt to a trend that exceeds the threshold by more than this value. Such
/// trends occur at a drop of the capacity, for example.
const SPIKE_MS: f64 = 15.0;
const LONGEST_STEP_MS: f64 = 100.0;
const OVERUSE_MS: f64 = 10.0;

/// The state of the path, derived from its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// The queues neither grow nor shrink.
    Normal,
    /// The queues grow.
    Over,
    /// The queues shrink.
    Under,
}

/// The estimator of the trend and the detector of over-use.
#[derive(Debug)]
pub(crate) struct Trendline {
    deltas: u32,
    accumulated_ms: f64,
    smoothed_ms: f64,
    first_arrival: Option<Instant>,
    /// For each group, the arrival time since the first arrival and the smoothed delay, both in
    /// milliseconds.
    points: VecDeque<(f64, f64)>,
    last_trend: f64,
    threshold_ms: f64,
    adapted: Option<Instant>,
    over_ms: Option<f64>,
    over_count: u32,
    usage: Usage,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            deltas: 0,
            accumulated_ms: 0.0,
            smoothed_ms: 0.0,
            first_arrival: None,
            points: VecDeque::with_capacity(WINDOW + 1),
            last_trend: 0.0,
            threshold_ms: FIRST_THRESHOLD_MS,
            adapted: None,
            over_ms: None,
            over_count: 0,
            usage: Usage::Normal,
        }
    }
}

impl Trendline {
    /// Processes the spacing of two groups. The later group was complete before `arrival`.
    pub(crate) fn update(&mut self, spacing: Spacing, arrival: Instant) {
        self.deltas += 1;
        let first = *self.first_arrival.get_or_insert(arrival);
        self.accumulated_ms += spacing.arrived_ms - spacing.sent_ms;
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.accumulated_ms;
        self.points.push_back((arrival.since(first).as_secs_f64() * 1e3, self.smoothed_ms));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let fitted = if self.points.len() == WINDOW { slope(&self.points) } else { None };
        let trend = fitted.unwrap_or(self.last_trend);
        self.detect(trend, spacing.sent_ms, arrival);
    }

    /// Returns the state of the path.
    pub(crate) const fn usage(&self) -> Usage {
        self.usage
    }

    fn detect(&mut self, trend: f64, sent_ms: f64, now: Instant) {
        if self.deltas < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let modified_ms = f64::from(self.deltas.min(MOST_DELTAS)) * trend * GAIN;
        if modified_ms > self.threshold_ms {
            // At the first sample above the threshold, half of the time since the previous sample
            // counts as over-use.
            let over_ms = self.over_ms.map_or(sent_ms / 2.0, |over_ms| over_ms + sent_ms);
            self.over_ms = Some(over_ms);
            self.over_count += 1;
            if over_ms > OVERUSE_MS && self.over_count > 1 && trend >= self.last_trend {
                self.over_ms = Some(0.0);
                self.over_count = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.over_ms = None;
            self.over_count = 0;
            let under = modified_ms < -self.threshold_ms;
            self.usage = if under { Usage::Under } else { Usage::Normal };
        }
        self.last_trend = trend;
        self.adapt(modified_ms.abs(), now);
    }

    fn adapt(&mut self, size_ms: f64, now: Instant) {
        let since = self.adapted.replace(now).unwrap_or(now);
        if size_ms > self.threshold_ms + SPIKE_MS {
            return;
        }
        let gain = if size_ms < self.threshold_ms { DOWN } else { UP };
        let step_ms = (now.since(since).as_secs_f64() * 1e3).min(LONGEST_STEP_MS);
        let threshold_ms = self.threshold_ms + gain * (size_ms - self.threshold_ms) * step_ms;
        self.threshold_ms = threshold_ms.clamp(THRESHOLDS_MS.0, THRESHOLDS_MS.1);
    }
}

/// Returns the slope of the least-squares line, or `None` if all points have the same time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (x_mean, y_mean) = points
        .iter()
        .fold((0.0, 0.0), |(x_sum, y_sum), (x, y)| (x_sum + x / count, y_sum + y / count));
    let (over, under) = points.iter().fold((0.0, 0.0), |(over, under), (x, y)| {
        (over + (x - x_mean) * (y - y_mean), under + (x - x_mean) * (x - x_mean))
    });
    (under > 0.0).then(|| over / under)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::close;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Returns a detector that has processed 60 deltas and last adapted at time zero.
    fn settled() -> Trendline {
        Trendline { deltas: 60, adapted: Some(Instant::ZERO), ..Trendline::default() }
    }

    /// Tests statement C-97.
    #[test]
    fn the_threshold_follows_the_trend_except_for_spikes() {
        for (size_ms, want) in [(20.0, 12.5 + 0.0087 * 7.5 * 50.0), (5.0, 6.0), (30.0, 12.5)] {
            let mut line = settled();
            line.adapt(size_ms, ms(50));
            close(line.threshold_ms, want, 1e-9);
        }
        let mut line = settled();
        line.adapt(20.0, ms(5_000));
        close(line.threshold_ms, 12.5 + 0.0087 * 7.5 * 100.0, 1e-9);
    }

    /// Adds up to `groups` groups, which are sent every 33 ms. The delay grows by `slope` ms for
    /// each ms of sending time. Returns the number of groups until over-use, or `None` without
    /// over-use.
    fn ramp(line: &mut Trendline, slope: f64, groups: u64) -> Option<u64> {
        (1..=groups).find(|&n| {
            let arrived_ms = 33.0 * (1.0 + slope);
            let arrival = Instant::from_nanos((arrived_ms * 1e6) as u64 * n);
            line.update(Spacing { sent_ms: 33.0, arrived_ms }, arrival);
            line.usage() == Usage::Over
        })
    }

    /// Tests statement C-100.
    #[test]
    fn a_ramp_is_over_use_if_it_is_steep_enough() {
        assert_eq!(ramp(&mut Trendline::default(), 0.01, 600), None, "m = 2.4 < 6");
        assert!(ramp(&mut Trendline::default(), 0.06, 100).is_some());
        // After 60 deltas, a slope of 0.06 gives m = 14.4, which exceeds 12.5.
        let mut line = settled();
        line.detect(0.06, 6.0, ms(6));
        assert_eq!(line.usage(), Usage::Normal, "3 ms of over-use");
        close(line.threshold_ms, 12.5 + 0.0087 * 1.9 * 6.0, 1e-9);
        line.detect(0.06, 6.0, ms(12));
        assert_eq!(line.usage(), Usage::Normal, "9 ms of over-use");
        line.detect(0.06, 6.0, ms(18));
        assert_eq!(line.usage(), Usage::Over);
    }

    /// Tests statement C-101.
    #[test]
    fn over_use_needs_two_groups_ten_milliseconds_and_a_trend_that_does_not_fall() {
        let mut line = settled();
        line.detect(0.1, 400.0, ms(10));
        assert_eq!(line.usage(), Usage::Normal, "a single late group");
        line.detect(0.09, 33.0, ms(43));
        assert_eq!(line.usage(), Usage::Normal, "the trend falls");
        line.detect(0.09, 33.0, ms(76));
        assert_eq!(line.usage(), Usage::Over);
        line.detect(0.0, 33.0, ms(109));
        assert_eq!(line.usage(), Usage::Normal);
        line.detect(-0.1, 33.0, ms(142));
        assert_eq!(line.usage(), Usage::Under);
    }

    /// Tests statement C-98.
    #[test]
    fn a_constant_delay_has_no_trend() {
        let mut line = Trendline::default();
        assert_eq!(ramp(&mut line, 0.0, 3_000), None);
        close(line.last_trend, 0.0, 1e-12);
        close(line.threshold_ms, 6.0, 0.0);
    }

    proptest! {
        #[test]
        fn the_threshold_stays_within_its_bounds_and_the_trend_is_finite(
            delays in prop::collection::vec((0.0..200.0_f64, 0.0..2_000.0_f64), 1..200),
        ) {
            let mut line = Trendline::default();
            let mut now = Instant::ZERO;
            for (sent_ms, arrived_ms) in delays {
                now += aqmlab_core::Duration::from_secs_f64(arrived_ms / 1e3);
                line.update(Spacing { sent_ms, arrived_ms }, now);
                prop_assert!((6.0..=600.0).contains(&line.threshold_ms));
                prop_assert!(line.last_trend.is_finite());
                prop_assert!(line.points.len() <= WINDOW);
            }
        }

        #[test]
        fn a_line_has_its_own_slope(slope_ in -2.0..2.0_f64, offset in -50.0..50.0_f64) {
            let points: VecDeque<_> =
                (0..20).map(|n| (33.0 * f64::from(n), offset + slope_ * 33.0 * f64::from(n))).collect();
            prop_assert!((slope(&points).unwrap() - slope_).abs() < 1e-9);
        }
    }
}
