//! The limit that losses set on the rate.
//!
//! Source: libwebrtc (2025-06) `loss_based_bwe_v2.cc`, with the default settings. After each
//! observation, which covers at least 250 ms, the estimator chooses the most likely model of the
//! path among a few candidates. The estimate is at most the delay-based estimate, and at least the
//! rate at which packets arrive. After a decrease, the estimate does not exceed a held rate for
//! some time. Each further decrease doubles this time.

use aqmlab_core::{Duration, Instant};

use self::channel::Channel;
pub(crate) use self::observations::Outcome;
use self::observations::{Observations, WINDOW};

mod channel;
mod observations;
#[cfg(test)]
mod tests;

const LEAST_OBSERVATIONS: u64 = 3;
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
/// The factor on the arrival rate that bounds an increase.
const RAMP_UP: f64 = 1.5;
/// The factor on the arrival rate that bounds an increase while the arrival rate is below
/// [`HOLD_THRESHOLD`] times the held rate.
const RAMP_UP_IN_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
/// The maximum increase of the estimate, as a factor, within [`INCREASE_WINDOW`].
const MOST_INCREASE: f64 = 1.3;
const INCREASE_WINDOW: Duration = Duration::from_millis(300);
/// The average loss above which the estimate is bounded.
const BOUND_LOSS: f64 = 0.05;
/// The rate that, divided by the excess of the average loss over [`BOUND_LOSS`], gives the bound.
const BOUND_BPS: f64 = 100e3;
const FIRST_HOLD: Duration = Duration::from_millis(300);
const LONGEST_HOLD: Duration = Duration::from_secs(60);
const HOLD_FACTOR: u64 = 2;
const PADDING_SPAN: Duration = Duration::from_secs(2);
const CEILING_BPS: f64 = 1e9;
const LEAST_BPS: f64 = 5e3;

/// The origin of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossState {
    /// Losses limit the rate, and the limit rises. The sender adds padding to reach the limit.
    Increasing,
    /// Losses limit the rate.
    Decreasing,
    /// The delay limits the rate.
    Delay,
}

/// A limit that the estimate does not exceed for some time.
#[derive(Clone, Copy, Debug)]
struct HoldInfo {
    /// The end of the limit, if there is a limit.
    until: Option<Instant>,
    /// The duration of the next hold.
    span: Duration,
    /// The limit in bit/s; infinite without a limit.
    bps: f64,
}

impl HoldInfo {
    const NONE: Self = Self { until: None, span: FIRST_HOLD, bps: f64::INFINITY };
}

/// The beginning of padding.
#[derive(Clone, Copy, Debug)]
struct Padding {
    /// The estimate in bit/s when padding began; negative infinity without padding.
    bps: f64,
    /// The time at which padding began.
    since: Option<Instant>,
}

impl Padding {
    const NONE: Self = Self { bps: f64::NEG_INFINITY, since: None };

    fn is_recent(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| since + PADDING_SPAN >= now)
    }
}

/// The state of the loss-based estimator.
#[derive(Debug)]
pub(crate) struct LossBased {
    least_observations: u64,
    seen: Observations,
    best: Option<Channel>,
    bps: f64,
    state: LossState,
    floor_bps: f64,
    acked_bps: Option<f64>,
    delay_bps: f64,
    /// The maximum estimate in bit/s in the current window of [`INCREASE_WINDOW`].
    window_bps: f64,
    /// The beginning of the current window of [`INCREASE_WINDOW`].
    window_since: Option<Instant>,
    hold: HoldInfo,
    padding: Padding,
}

impl LossBased {
    /// Returns an estimator whose estimate is at least `floor_bps`.
    pub(crate) fn new(floor_bps: f64) -> Self {
        Self {
            least_observations: LEAST_OBSERVATIONS,
            seen: Observations::new(WINDOW),
            best: None,
            bps: 0.0,
            state: LossState::Delay,
            floor_bps,
            acked_bps: None,
            delay_bps: f64::INFINITY,
            window_bps: f64::INFINITY,
            window_since: None,
            hold: HoldInfo::NONE,
            padding: Padding::NONE,
        }
    }

    /// Returns the estimate in bit/s and its origin, if there are enough observations.
    pub(crate) fn estimate(&self) -> Option<(f64, LossState)> {
        let is_ready = self.best.is_some() && self.seen.count() >= self.least_observations;
        is_ready.then_some((self.bps, self.state))
    }

    /// Sets the rate in bit/s at which packets arrive.
    pub(crate) const fn set_acked(&mut self, bps: f64) {
        self.acked_bps = Some(bps);
    }

    /// Processes the outcome of packets. `delay_bps` is the delay-based estimate. `is_limited`
    /// states whether the application limits the sender.
    pub(crate) fn update(&mut self, outcomes: &[Outcome], delay_bps: f64, is_limited: bool) {
        self.delay_bps = delay_bps;
        if !self.seen.add(outcomes) {
            return;
        }
        let Some(before) = self.best else {
            if delay_bps.is_finite() {
                self.set(delay_bps);
                self.update_from(Channel::new(delay_bps), is_limited);
            }
            return;
        };
        self.update_from(before, is_limited);
    }

    fn set(&mut self, bps: f64) {
        let loss = self.best.map_or(Channel::new(bps).loss, |best| best.loss);
        self.best = Some(Channel { loss, bps });
        (self.bps, self.state) = (bps, LossState::Delay);
    }

    fn update_from(&mut self, before: Channel, is_limited: bool) {
        let mut best = self.most_likely(before, is_limited);
        if self.seen.average_loss() > best.loss && before.bps < best.bps {
            best.bps = before.bps;
        }
        if self.is_loss_limited() {
            best.bps = self.increased(before.bps, best.bps);
        }
        let least = self.lower_bound();
        let bps = best.bps.min(self.upper_bound()).min(self.delay_bps).max(least);
        self.best = Some(if bps < best.bps {
            Channel { loss: 0.0, bps }
        } else {
            Channel { bps: best.bps.max(least), ..best }
        });
        let now = self.seen.newest();
        let is_held = self.hold.until.is_some_and(|until| until > now);
        if self.state == LossState::Decreasing && is_held && bps < self.delay_bps {
            self.hold.bps = self.hold.bps.max(least);
            self.bps = bps.min(self.hold.bps);
            return;
        }
        self.enter(bps, now);
        self.bps = bps;
        self.limit_window(now);
    }

    /// Returns the most likely model of the path among the candidates.
    fn most_likely(&self, before: Channel, is_limited: bool) -> Channel {
        let now = self.seen.newest();
        let acked = self.acked_bps.filter(|_| !is_limited || self.padding.is_recent(now));
        let delay = Some(self.delay_bps).filter(|bps| bps.is_finite() && *bps > before.bps);
        let most = if self.is_loss_limited() { self.window_bps } else { f64::INFINITY };
        let most = if most.is_finite() { most } else { CEILING_BPS };
        let rates = CANDIDATES.iter().map(|factor| factor * before.bps).chain(acked).chain(delay);
        let mut best = (f64::NEG_INFINITY, before);
        for bps in rates {
            let candidate = before.with_bps(bps.min(before.bps.max(most))).fitted(&self.seen);
            let objective = candidate.objective(&self.seen);
            if objective > best.0 {
                best = (objective, candidate);
            }
        }
        best.1
    }

    /// Returns the capacity `wanted_bps`, or a lower capacity if the estimate would rise too fast
    /// from `before_bps`.
    fn increased(&self, before_bps: f64, wanted_bps: f64) -> f64 {
        let now = self.seen.newest();
        let is_window = self.window_since.is_some_and(|since| since + INCREASE_WINDOW > now);
        let bps = if is_window { wanted_bps.min(self.window_bps) } else { wanted_bps };
        let Some(acked_bps) = self.acked_bps.filter(|_| self.is_rising(before_bps, bps)) else {
            return bps;
        };
        let near_hold = self.hold.bps.is_finite() && acked_bps < HOLD_THRESHOLD * self.hold.bps;
        let factor = if near_hold { RAMP_UP_IN_HOLD } else { RAMP_UP };
        let bps = bps.min(factor * acked_bps).max(before_bps);
        // A rise by one bit per second is enough to leave the decrease, so that padding begins.
        let is_stuck = self.state == LossState::Decreasing && bps <= before_bps;
        if is_stuck { before_bps + 1.0 } else { bps }
    }

    /// Sets the state that follows from the new estimate `bps`, with its hold and its padding.
    fn enter(&mut self, bps: f64, now: Instant) {
        let is_limit = bps < self.delay_bps && bps < CEILING_BPS;
        if is_limit && self.is_rising(self.bps, bps) && self.can_keep_increasing(bps, now) {
            if bps > self.padding.bps {
                self.padding = Padding { bps, since: Some(now) };
            }
            self.state = LossState::Increasing;
        } else if is_limit {
            if self.state != LossState::Decreasing {
                let span = (self.hold.span * HOLD_FACTOR).min(LONGEST_HOLD);
                self.hold = HoldInfo { until: Some(now + self.hold.span), span, bps };
            }
            self.padding = Padding::NONE;
            self.state = LossState::Decreasing;
        } else {
            self.hold = HoldInfo::NONE;
            self.padding = Padding::NONE;
            self.state = LossState::Delay;
        }
    }

    fn limit_window(&mut self, now: Instant) {
        let is_over = self.window_since.is_none_or(|since| since + INCREASE_WINDOW < now);
        if self.is_loss_limited() && is_over {
            let best_bps = self.best.map_or(0.0, |best| best.bps);
            self.window_bps = (MOST_INCREASE * best_bps).max(LEAST_BPS);
            self.window_since = Some(now);
        }
    }

    fn is_loss_limited(&self) -> bool {
        self.state != LossState::Delay
    }

    fn is_rising(&self, before_bps: f64, bps: f64) -> bool {
        let keeps = self.state == LossState::Increasing && before_bps <= bps;
        self.is_loss_limited() && (before_bps < bps || keeps)
    }

    /// Returns whether the increase may continue. It ends if the estimate did not rise while
    /// padding was sent.
    fn can_keep_increasing(&self, bps: f64, now: Instant) -> bool {
        self.state != LossState::Increasing || self.padding.is_recent(now) || self.padding.bps < bps
    }

    fn lower_bound(&self) -> f64 {
        self.acked_bps.unwrap_or(0.0).max(self.floor_bps)
    }

    fn upper_bound(&self) -> f64 {
        let excess = self.seen.average_loss() - BOUND_LOSS;
        if excess > 0.0 { BOUND_BPS / excess } else { CEILING_BPS }
    }
}
