//! The estimator of the round-trip time, and the timeout computed from it.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`, `tcp_set_rto`); RFC 6298 §2, for
//! hosts with the RFC's own timeout. Linux stores eight times the smoothed time and four times the
//! deviation in microseconds; this module stores them in nanoseconds.

use std::hint::select_unpredictable;

use aqmlab_core::Duration;
use aqmlab_core::hint::rare;

use crate::Profile;
use crate::common::clock::Clock;
use crate::common::rtt::Rtt;
use crate::profile::RtoRule;

/// The round-trip time estimator of a connection. The estimates that both stacks use are in
/// [`Rtt`].
#[derive(Debug)]
pub(super) struct RttEstimator {
    rule: RtoRule,
    minimum: u64,
    maximum: Duration,
    /// Four times the mean deviation of the round-trip time.
    mdev4: u64,
    /// Four times the maximum deviation in this round trip, but at least the minimum timeout.
    mdev4_max: u64,
    /// The sequence number whose acknowledgement ends the round trip.
    round_end: u64,
}

impl RttEstimator {
    pub(super) fn new(profile: &Profile) -> Self {
        Self {
            rule: profile.rto_rule,
            minimum: profile.rto_min.as_nanos(),
            maximum: profile.rto_max,
            mdev4: 0,
            mdev4_max: 0,
            round_end: 0,
        }
    }

    /// Adds a sample, and computes the timeout without backoff. `una` and `nxt` delimit round
    /// trips.
    #[expect(
        clippy::inline_always,
        reason = "nearly every acknowledgement passes; a call costs 1 % of a run"
    )]
    #[inline(always)]
    pub(super) fn sample(
        &mut self,
        rtt: &mut Rtt,
        sample: Duration,
        (una, nxt): (u64, u64),
        clock: &Clock,
    ) {
        let sample = sample.as_nanos().max(1);
        match self.rule {
            RtoRule::Linux => self.estimate(rtt, sample, una, nxt),
            RtoRule::Rfc6298 => {
                rare();
                estimate_rfc6298(rtt, sample);
            }
        }
        self.set_rto(rtt, clock);
    }

    /// Updates the estimates as Linux does. The variation is at least the minimum timeout. The
    /// variation rises at once, and falls once per round trip. If a sample is below the smoothed
    /// time, the deviation rises at an eighth of the usual speed.
    #[expect(clippy::cast_possible_wrap, reason = "no round trip takes 292 years")]
    #[inline]
    fn estimate(&mut self, rtt: &mut Rtt, sample: u64, una: u64, nxt: u64) {
        let minimum = self.minimum;
        if rtt.srtt8 == 0 {
            rtt.srtt8 = sample * 8;
            self.mdev4 = sample * 2;
            rtt.rttvar4 = self.mdev4.max(minimum);
            self.mdev4_max = rtt.rttvar4;
            self.round_end = nxt;
            return;
        }
        let error = sample as i64 - (rtt.srtt8 >> 3) as i64;
        rtt.srtt8 = (rtt.srtt8 as i64 + error).max(1) as u64;
        let mut step = error.abs() - (self.mdev4 >> 2) as i64;
        step = select_unpredictable((error < 0) & (step > 0), step >> 3, step);
        self.mdev4 = (self.mdev4 as i64 + step).max(0) as u64;
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            rtt.rttvar4 = rtt.rttvar4.max(self.mdev4_max);
        }
        let ends_round = una > self.round_end;
        let fallen = rtt.rttvar4 - (rtt.rttvar4.saturating_sub(self.mdev4_max) >> 2);
        rtt.rttvar4 = select_unpredictable(ends_round, fallen, rtt.rttvar4);
        self.round_end = select_unpredictable(ends_round, nxt, self.round_end);
        self.mdev4_max = select_unpredictable(ends_round, minimum, self.mdev4_max);
    }

    /// Sets the timeout from the estimates, without backoff.
    #[expect(
        clippy::inline_always,
        reason = "most acknowledgements pass; a call costs 0.1 % of a run"
    )]
    #[inline(always)]
    fn set_rto(&self, rtt: &mut Rtt, clock: &Clock) {
        let rto = match self.rule {
            RtoRule::Linux => clock.round_up(Duration::from_nanos(rtt.srtt8 / 8 + rtt.rttvar4)),
            RtoRule::Rfc6298 => {
                rare();
                let variation = Duration::from_nanos(rtt.rttvar4).max(clock.tick());
                let rto = Duration::from_nanos(rtt.srtt8 / 8) + variation;
                rto.max(Duration::from_nanos(self.minimum))
            }
        };
        rtt.rto = rto.min(self.maximum);
    }

    /// Doubles the timeout, up to the maximum (RFC 6298 §5.5).
    pub(super) fn back_off(&self, rtt: &mut Rtt) {
        rtt.rto = (rtt.rto * 2).min(self.maximum);
    }

    /// Sets the timeout at the end of a handshake, without backoff. If the handshake gave no
    /// sample, the timeout is `fallback` (RFC 6298 §5.7).
    pub(super) fn end_handshake(&mut self, rtt: &mut Rtt, fallback: Duration, clock: &Clock) {
        if rtt.srtt8 != 0 {
            self.set_rto(rtt, clock);
            return;
        }
        self.mdev4 = fallback.as_nanos();
        self.mdev4_max = self.mdev4;
        rtt.rttvar4 = self.mdev4;
        rtt.rto = fallback;
    }
}

/// Updates the estimates by RFC 6298 §2.2 and §2.3: first the variation, with the old smoothed
/// time.
fn estimate_rfc6298(rtt: &mut Rtt, sample: u64) {
    if rtt.srtt8 == 0 {
        rtt.srtt8 = sample * 8;
        rtt.rttvar4 = sample * 2;
    } else {
        let error = (rtt.srtt8 / 8).abs_diff(sample);
        rtt.rttvar4 = rtt.rttvar4 - rtt.rttvar4 / 4 + error;
        rtt.srtt8 = rtt.srtt8 - rtt.srtt8 / 8 + sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::clock::Expiry;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn after(profile: &Profile, samples: &[u64]) -> Rtt {
        let clock = Clock::new(profile.tick, Expiry::Wheel);
        let (mut rtt, mut estimator) = (Rtt::new(profile), RttEstimator::new(profile));
        for (round, sample) in samples.iter().enumerate() {
            let round = round as u64 * 10;
            estimator.sample(&mut rtt, ms(*sample), (round + 1, round + 10), &clock);
        }
        rtt
    }

    #[test]
    fn c78_the_timeout_after_one_sample_of_100_ms() {
        let mut strict = Profile::windows();
        strict.rto_min = ms(1_000);
        for (profile, want) in [(Profile::linux(), 300), (Profile::windows(), 300), (strict, 1_000)]
        {
            assert_eq!(after(&profile, &[100]).rto, ms(want), "{}", profile.name);
        }
        assert_eq!(Rtt::new(&Profile::linux()).rto, ms(1_000));
    }

    #[test]
    fn c79_the_variation_is_updated_before_the_smoothed_time() {
        // Samples of 100 ms and 180 ms: var = 3/4·50 + 1/4·|100 − 180| = 57.5, srtt = 110. In the
        // opposite order, |110 − 180| would give 55.
        let rtt = after(&Profile::windows(), &[100, 180]);
        assert_eq!(rtt.srtt(), Some(ms(110)));
        assert_eq!(rtt.rttvar(), Some(Duration::from_micros(57_500)));
    }

    #[test]
    fn linux_never_times_out_sooner_than_200_ms_after_the_smoothed_time() {
        let rtt = after(&Profile::linux(), &[20; 100]);
        assert_eq!(rtt.srtt(), Some(ms(20)));
        assert_eq!(rtt.rto, ms(220));
    }

    #[test]
    fn linux_rises_at_once_and_falls_once_a_round() {
        let up = after(&Profile::linux(), &[20, 20, 400]);
        // mdev4 is 40 ms, 30 ms, and then 22.5 + 380 = 402.5 ms. srtt is 20 + 380/8 = 67.5 ms. The
        // sum of 470 ms is rounded up to ticks.
        assert_eq!(up.rto, ms(472));
        // Falling round-trip time: srtt is 61.5625 ms, and mdev4 falls to 349.375 ms. This is the
        // maximum of the round, so the variation falls by a quarter of the difference of 53.125 ms.
        let down = after(&Profile::linux(), &[20, 20, 400, 20]);
        assert!(down.rto < up.rto, "{} {}", down.rto, up.rto);
        assert!(down.rto > ms(400), "{}", down.rto);
    }
}
