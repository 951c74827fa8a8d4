//! Long-term sampling. Two intervals of the same rate that both end in heavy loss indicate a
//! token-bucket policer.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` (`bbr_lt_bw_sampling`); Flach and others, "An
//! Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.

use aqmlab_core::Instant;

use super::{BW_UNIT, SCALE, UNIT, Units, send};

/// The minimum number of rounds of an interval. An interval with more than four times as many
/// rounds is discarded.
const MIN_ROUNDS: u32 = 4;
/// The proportion of lost packets at and above which an interval is lossy: 50/256.
const LOSS_THRESHOLD: u64 = 50;
/// The relative difference up to which two rates count as equal: 1/8.
const RATIO: u64 = UNIT / 8;
/// The difference up to which two rates count as equal: 4 kbit/s, in bytes per second.
const DIFFERENCE: u64 = 4_000 / 8;
/// The number of rounds for which a policer's rate is used before the next probe.
const USE_ROUNDS: u32 = 48;

/// One acknowledgement, with the fields that the sampler needs.
pub(super) struct Observation {
    /// The time of the last delivery.
    pub(super) at: Instant,
    /// The total number of units delivered so far.
    pub(super) delivered: u64,
    /// The total number of units lost so far.
    pub(super) lost: u64,
    /// The number of units that this acknowledgement shows to be lost.
    pub(super) losses: u64,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    /// Whether the gain cycle is running.
    pub(super) cycling: bool,
}

/// The result of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The sample does not change the gain or the mode.
    AsBefore,
    /// A policer was detected: [`Policer::rate`] is the pacing rate.
    Policed,
    /// The policer's rate has been used long enough. BBR probes again.
    LookAgain,
}

/// The sampler of long-term rates.
#[derive(Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    using: bool,
    rounds: u32,
    /// The bandwidth of the last interval; zero if there was none.
    bw: u64,
    /// The start of the interval, in milliseconds.
    since: u64,
    /// The total number of units delivered at the start of the interval.
    delivered: u64,
    /// The total number of units lost at the start of the interval.
    lost: u64,
}

impl Policer {
    /// Returns the policer's bandwidth, if one is known.
    #[inline]
    pub(super) fn rate(&self) -> Option<u64> {
        self.using.then_some(self.bw)
    }

    /// Restarts the sampling, which then waits for a loss.
    pub(super) fn reset(&mut self, observation: &Observation) {
        self.bw = 0;
        self.using = false;
        self.sampling = false;
        self.begin_interval(observation);
    }

    fn begin_interval(&mut self, observation: &Observation) {
        self.since = observation.at.as_nanos() / 1_000_000;
        self.delivered = observation.delivered;
        self.lost = observation.lost;
        self.rounds = 0;
    }

    /// Processes one acknowledgement. Detects a policer by two lossy intervals of the same rate,
    /// and ends the use of its rate after [`USE_ROUNDS`] rounds.
    pub(super) fn sample(&mut self, observation: &Observation, units: Units) -> Outcome {
        if self.using {
            return self.use_up(observation);
        }
        // The first loss shows that the bucket is empty. Before that loss, the bucket's tokens
        // would raise the measured rate.
        if !self.sampling {
            if observation.losses == 0 {
                return Outcome::AsBefore;
            }
            self.begin_interval(observation);
            self.sampling = true;
        }
        if observation.app_limited {
            self.reset(observation);
            return Outcome::AsBefore;
        }
        self.rounds += u32::from(observation.round_start);
        if self.rounds < MIN_ROUNDS {
            return Outcome::AsBefore;
        }
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(observation);
            return Outcome::AsBefore;
        }
        // An interval ends with a loss, which shows that the bucket is empty again.
        if observation.losses == 0 {
            Outcome::AsBefore
        } else {
            self.end_interval(observation, units)
        }
    }

    fn use_up(&mut self, observation: &Observation) -> Outcome {
        if observation.cycling && observation.round_start {
            self.rounds += 1;
            if self.rounds >= USE_ROUNDS {
                self.reset(observation);
                return Outcome::LookAgain;
            }
        }
        Outcome::AsBefore
    }

    fn end_interval(&mut self, observation: &Observation, units: Units) -> Outcome {
        let lost = observation.lost - self.lost;
        let delivered = observation.delivered - self.delivered;
        if delivered == 0 || lost << SCALE < LOSS_THRESHOLD * delivered {
            return Outcome::AsBefore;
        }
        let millis = (observation.at.as_nanos() / 1_000_000).saturating_sub(self.since);
        if millis == 0 {
            return Outcome::AsBefore;
        }
        // The interval in microseconds would exceed Linux's 32 bits.
        if millis >= u64::from(u32::MAX) / 1_000 {
            self.reset(observation);
            return Outcome::AsBefore;
        }
        let bw = delivered.saturating_mul(BW_UNIT) / (millis * 1_000);
        self.compare(bw, observation, units)
    }

    fn compare(&mut self, bw: u64, observation: &Observation, units: Units) -> Outcome {
        let difference = bw.abs_diff(self.bw);
        let alike = difference * UNIT <= RATIO * self.bw
            || send::rate_of(units, difference, UNIT) <= DIFFERENCE;
        if self.bw > 0 && alike {
            self.bw = u64::midpoint(bw, self.bw);
            self.using = true;
            self.rounds = 0;
            return Outcome::Policed;
        }
        self.bw = bw;
        self.begin_interval(observation);
        Outcome::AsBefore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units { segment: 1, mss: 1_448 };

    /// Returns a round of 100 ms in which 100 segments arrive and `losses` segments are lost.
    fn round(number: u64, losses: u64) -> Observation {
        Observation {
            at: Instant::from_millis(100 * number),
            delivered: 100 * number,
            lost: losses * number,
            losses,
            app_limited: false,
            round_start: true,
            cycling: true,
        }
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policer_for_48_rounds() {
        let mut policer = Policer::default();
        let outcomes: Vec<_> =
            (1..=8).map(|number| policer.sample(&round(number, 30), UNITS)).collect();
        let found = outcomes.iter().position(|outcome| *outcome == Outcome::Policed);
        // Three further rounds after the first loss end the first interval; four more rounds end
        // the second.
        assert_eq!(found, Some(7), "{outcomes:?}");
        let bw = policer.rate().unwrap();
        assert!(bw.abs_diff(BW_UNIT / 1_000) <= 1, "a segment a millisecond, not {bw}");
        let again = (9..999).find(|n| policer.sample(&round(*n, 0), UNITS) == Outcome::LookAgain);
        assert_eq!(again, Some(8 + 48));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn light_loss_is_no_policer() {
        let mut policer = Policer::default();
        for number in 1..100 {
            assert_eq!(policer.sample(&round(number, 19), UNITS), Outcome::AsBefore);
        }
    }
}
