//! A model of the path: a capacity, and an inherent loss, which does not depend on the rate.
//!
//! Source: libwebrtc (2025-06) `loss_based_bwe_v2.cc`, `GetObjective`, `GetDerivatives` and
//! `GetHighBandwidthBias`, with the default settings. The likelihood of a model follows from the
//! lost and the received kilobytes of each observation.

use aqmlab_core::math;

use super::observations::Observations;

/// The initial inherent loss.
const FIRST_LOSS: f64 = 0.01;
const LEAST_LOSS: f64 = 1e-3;
const MOST_LOSS: f64 = 0.05;
/// The maximum inherent loss is [`MOST_LOSS`] plus this rate divided by the capacity.
const MOST_LOSS_BPS: f64 = 100e3;
const NEWTON_STEP: f64 = 0.75;
/// The preference for a larger capacity, for each kbit/s of the capacity.
const PREFERENCE: f64 = 2e-4;
/// The preference for a larger capacity, for each unit of the logarithm of the capacity in kbit/s.
const LOG_PREFERENCE: f64 = 0.02;
/// The average loss above which a smaller capacity is preferred.
const PREFERENCE_LOSS: f64 = 0.2;
/// The distance of the average loss from [`PREFERENCE_LOSS`] at which the preference has half of
/// its full strength.
const PREFERENCE_SMOOTHING: f64 = 0.002;
const NEVER: f64 = 1e-6;

/// A model of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channel {
    /// The inherent loss, from 0 to 1.
    pub(super) loss: f64,
    /// The capacity in bit/s.
    pub(super) bps: f64,
}

impl Channel {
    /// Returns a model with the capacity `bps` and the initial inherent loss.
    pub(super) const fn new(bps: f64) -> Self {
        Self { loss: FIRST_LOSS, bps }
    }

    /// Returns this model with the capacity `bps`, and with its loss limited to the minimum, and to
    /// the maximum for this capacity.
    pub(super) fn with_bps(self, bps: f64) -> Self {
        Self { bps, ..self }.feasible()
    }

    /// Returns this model with a loss that fits the observations better, by one step of Newton's
    /// method.
    pub(super) fn fitted(self, seen: &Observations) -> Self {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, one) in seen.weighted() {
            let lost_chance = self.lost_chance(one.sent_bps);
            let (lost, received) = (one.lost_bytes / 1e3, (one.bytes - one.lost_bytes) / 1e3);
            let kept = 1.0 - lost_chance;
            first += weight * (lost / lost_chance - received / kept);
            second -= weight * (lost / (lost_chance * lost_chance) + received / (kept * kept));
        }
        Self { loss: self.loss - NEWTON_STEP * first / second.min(-NEVER), ..self }.feasible()
    }

    /// Returns the logarithm of the likelihood of the observations, plus the preference for a
    /// larger capacity.
    pub(super) fn objective(self, seen: &Observations) -> f64 {
        let preference = self.preference(seen.average_loss());
        let term = |(weight, one): (f64, &super::observations::Observation)| {
            let lost_chance = self.lost_chance(one.sent_bps);
            let (lost, received) = (one.lost_bytes / 1e3, (one.bytes - one.lost_bytes) / 1e3);
            let likelihood = lost * math::ln(lost_chance) + received * math::ln(1.0 - lost_chance);
            weight * (likelihood + preference * one.bytes / 1e3)
        };
        seen.weighted().map(term).sum()
    }

    fn feasible(self) -> Self {
        let most =
            if self.bps > 0.0 { (MOST_LOSS + MOST_LOSS_BPS / self.bps).min(1.0) } else { 1.0 };
        Self { loss: self.loss.max(LEAST_LOSS).min(most), ..self }
    }

    /// Returns the probability that a packet is lost at a rate of `sent_bps`.
    fn lost_chance(self, sent_bps: f64) -> f64 {
        let excess = (sent_bps - self.bps).max(0.0) / sent_bps.max(1.0);
        (self.loss + (1.0 - self.loss) * excess).clamp(NEVER, 1.0 - NEVER)
    }

    fn preference(self, average_loss: f64) -> f64 {
        let below = PREFERENCE_LOSS - average_loss;
        let strength = below / (PREFERENCE_SMOOTHING + below.abs());
        let kbit = self.bps / 1e3;
        strength * (PREFERENCE * kbit + LOG_PREFERENCE * math::ln(1.0 + kbit))
    }
}
