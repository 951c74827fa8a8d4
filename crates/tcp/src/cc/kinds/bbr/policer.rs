//! Long-term sampling: a token-bucket policer shows itself by two intervals of the same rate
//! that both end in heavy loss.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` (`bbr_lt_bw_sampling`); Flach and others, "An
//! Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.

use aqmlab_core::Instant;

use super::{BW_UNIT, Measure, SCALE, UNIT, send};

/// The least number of rounds in an interval; four times as many are too long.
const MIN_ROUNDS: u32 = 4;
/// 50/256: from this share of loss on the interval is lossy.
const LOSS_THRESHOLD: u64 = 50;
/// Two rates agree if they differ by an eighth at most …
const RATIO: u64 = UNIT / 8;
/// … or by 4 kbit/s, here in bytes per second.
const DIFFERENCE: u64 = 4_000 / 8;
/// Rounds for which a policer's rate is used before looking again.
const USE_ROUNDS: u32 = 48;

/// What the sampler sees of one acknowledgement.
pub(super) struct Sight {
    /// When something was last delivered.
    pub(super) at: Instant,
    /// Total delivered and lost so far.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Newly lost.
    pub(super) losses: u64,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    /// Whether the gain cycle is running.
    pub(super) cycling: bool,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    AsBefore,
    /// There is a policer: pace evenly at [`Policer::rate`].
    Policed,
    /// Its rate was used long enough: probe again.
    LookAgain,
}

/// The sampler.
#[derive(Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    using: bool,
    rounds: u32,
    /// The bandwidth of the last interval; zero if there was none.
    bw: u64,
    /// Where the interval began; milliseconds.
    since: u64,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The policer's bandwidth, if one is known.
    #[inline]
    pub(super) fn rate(&self) -> Option<u64> {
        self.using.then_some(self.bw)
    }

    /// Forgets everything and waits for a loss.
    pub(super) fn reset(&mut self, sight: &Sight) {
        self.bw = 0;
        self.using = false;
        self.sampling = false;
        self.begin_interval(sight);
    }

    fn begin_interval(&mut self, sight: &Sight) {
        self.since = sight.at.as_nanos() / 1_000_000;
        self.delivered = sight.delivered;
        self.lost = sight.lost;
        self.rounds = 0;
    }

    /// Takes one acknowledgement in.
    pub(super) fn sample(&mut self, sight: &Sight, measure: Measure) -> Verdict {
        if self.using {
            return self.use_up(sight);
        }
        // The first loss shows that the bucket is empty; before, it would flatter the rate.
        if !self.sampling {
            if sight.losses == 0 {
                return Verdict::AsBefore;
            }
            self.begin_interval(sight);
            self.sampling = true;
        }
        if sight.app_limited {
            self.reset(sight);
            return Verdict::AsBefore;
        }
        self.rounds += u32::from(sight.round_start);
        if self.rounds < MIN_ROUNDS {
            return Verdict::AsBefore;
        }
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(sight);
            return Verdict::AsBefore;
        }
        // An interval ends with a loss, when the bucket is empty again.
        if sight.losses == 0 { Verdict::AsBefore } else { self.end_interval(sight, measure) }
    }

    fn use_up(&mut self, sight: &Sight) -> Verdict {
        if sight.cycling && sight.round_start {
            self.rounds += 1;
            if self.rounds >= USE_ROUNDS {
                self.reset(sight);
                return Verdict::LookAgain;
            }
        }
        Verdict::AsBefore
    }

    fn end_interval(&mut self, sight: &Sight, measure: Measure) -> Verdict {
        let lost = sight.lost - self.lost;
        let delivered = sight.delivered - self.delivered;
        if delivered == 0 || lost << SCALE < LOSS_THRESHOLD * delivered {
            return Verdict::AsBefore;
        }
        let millis = (sight.at.as_nanos() / 1_000_000).saturating_sub(self.since);
        if millis == 0 {
            return Verdict::AsBefore;
        }
        // Longer than Linux's 32 bits of microseconds.
        if millis >= u64::from(u32::MAX) / 1_000 {
            self.reset(sight);
            return Verdict::AsBefore;
        }
        let bw = delivered.saturating_mul(BW_UNIT) / (millis * 1_000);
        self.compare(bw, sight, measure)
    }

    fn compare(&mut self, bw: u64, sight: &Sight, measure: Measure) -> Verdict {
        let difference = bw.abs_diff(self.bw);
        let alike = difference * UNIT <= RATIO * self.bw
            || send::rate_of(measure, difference, UNIT) <= DIFFERENCE;
        if self.bw > 0 && alike {
            self.bw = u64::midpoint(bw, self.bw);
            self.using = true;
            self.rounds = 0;
            return Verdict::Policed;
        }
        self.bw = bw;
        self.begin_interval(sight);
        Verdict::AsBefore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURE: Measure = Measure { segment: 1, mss: 1_448 };

    /// One round of 100 ms in which 100 segments arrive and `losses` do not.
    fn round(number: u64, losses: u64) -> Sight {
        Sight {
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
        let verdicts: Vec<_> =
            (1..=8).map(|number| policer.sample(&round(number, 30), MEASURE)).collect();
        let found = verdicts.iter().position(|verdict| *verdict == Verdict::Policed);
        // Three further rounds after the first loss end the first interval, four the second.
        assert_eq!(found, Some(7), "{verdicts:?}");
        let bw = policer.rate().unwrap();
        assert!(bw.abs_diff(BW_UNIT / 1_000) <= 1, "a segment a millisecond, not {bw}");
        let again = (9..999).find(|n| policer.sample(&round(*n, 0), MEASURE) == Verdict::LookAgain);
        assert_eq!(again, Some(8 + 48));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn light_loss_is_no_policer() {
        let mut policer = Policer::default();
        for number in 1..100 {
            assert_eq!(policer.sample(&round(number, 19), MEASURE), Verdict::AsBefore);
        }
    }
}
