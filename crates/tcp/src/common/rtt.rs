//! The round-trip time: smoothed, its variation, its minimum, and the timeout that follows.
//!
//! Sources: RFC 6298 §2; Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`) and
//! `lib/win_minmax.c`; FreeBSD 10.4 `tcp_input.c` (`tcp_xmit_timer`). Linux keeps the smoothed
//! time times eight and the deviation times four, as here, but in microseconds; here they are
//! in nanoseconds.

use aqmlab_core::{Duration, Instant};

use crate::Profile;
use crate::common::clock::Clock;
use crate::profile::{RtoRule, Stack};

/// Bounds of FreeBSD's persist timer (`TCPTV_PERSMIN`, `TCPTV_PERSMAX`).
const PERSIST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// How the timeout follows from the estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Linux,
    Rfc6298,
    FreeBsd,
}

/// The estimator of one connection.
#[derive(Debug)]
pub(crate) struct Rtt {
    rule: Rule,
    minimum: u64,
    maximum: Duration,
    /// Eight times the smoothed round-trip time in nanoseconds; zero while unknown.
    srtt8: u64,
    /// Four times the mean deviation.
    mdev4: u64,
    /// The greatest deviation of this round trip (Linux).
    mdev4_max: u64,
    /// What the timeout is computed from; equals `mdev4` but on Linux.
    rttvar4: u64,
    /// The round trip ends when this is acknowledged (Linux).
    round_end: u64,
    /// The retransmission timeout, backed off.
    pub(crate) rto: Duration,
    /// FreeBSD's estimates.
    ticks: Ticks,
    min: WindowedMin,
}

impl Rtt {
    pub(crate) fn new(profile: &Profile) -> Self {
        let rule = match (profile.stack, profile.rto_rule) {
            (Stack::FreeBsd, _) => Rule::FreeBsd,
            (Stack::Linux, RtoRule::Linux) => Rule::Linux,
            (Stack::Linux, RtoRule::Rfc6298) => Rule::Rfc6298,
        };
        Self {
            rule,
            minimum: profile.rto_min.as_nanos(),
            maximum: profile.rto_max,
            srtt8: 0,
            mdev4: 0,
            mdev4_max: 0,
            rttvar4: 0,
            round_end: 0,
            rto: profile.rto_initial,
            ticks: Ticks::new(profile),
            min: WindowedMin::new(profile.min_rtt_window),
        }
    }

    /// The smoothed round-trip time, once there is one.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        (self.srtt8 != 0).then(|| Duration::from_nanos(self.srtt8 / 8))
    }

    /// Twice the smoothed time, for tail loss probes.
    #[inline]
    pub(crate) fn two_srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt8 / 4)
    }

    /// The variation that the timeout is computed from, a fourth of it.
    pub(crate) fn rttvar(&self) -> Option<Duration> {
        (self.srtt8 != 0).then(|| Duration::from_nanos(self.rttvar4 / 4))
    }

    /// The least round-trip time of the window, once there is one.
    #[inline]
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min.get()
    }

    /// Feeds the minimum.
    #[inline]
    pub(crate) fn sample_min(&mut self, rtt: Duration, now: Instant) {
        self.min.sample(rtt, now);
    }

    /// Takes a sample; `una` and `nxt` tell Linux one round trip from the next. The timeout is
    /// computed anew, without backoff.
    pub(crate) fn sample(&mut self, rtt: Duration, una: u64, nxt: u64, clock: &Clock) {
        let rtt = rtt.as_nanos().max(1);
        match self.rule {
            Rule::Linux => self.linux(rtt, una, nxt),
            Rule::Rfc6298 => self.rfc6298(rtt),
            Rule::FreeBsd => {
                self.sample_ticks(clock.within(Duration::from_nanos(rtt)) + 1, clock);
                return;
            }
        }
        self.update(clock);
    }

    /// RFC 6298 §2.2 and §2.3: the variation first, from the old smoothed time.
    fn rfc6298(&mut self, rtt: u64) {
        if self.srtt8 == 0 {
            self.srtt8 = rtt * 8;
            self.rttvar4 = rtt * 2;
        } else {
            let error = (self.srtt8 / 8).abs_diff(rtt);
            self.rttvar4 = self.rttvar4 - self.rttvar4 / 4 + error;
            self.srtt8 = self.srtt8 - self.srtt8 / 8 + rtt;
        }
        self.mdev4 = self.rttvar4;
    }

    /// Linux: the variation never falls below the minimum timeout, rises at once and falls
    /// once a round trip; a round-trip time that falls moves it at an eighth of the speed.
    #[expect(clippy::cast_possible_wrap, reason = "no round trip takes 292 years")]
    fn linux(&mut self, rtt: u64, una: u64, nxt: u64) {
        let minimum = self.minimum;
        if self.srtt8 == 0 {
            self.srtt8 = rtt * 8;
            self.mdev4 = rtt * 2;
            self.rttvar4 = self.mdev4.max(minimum);
            self.mdev4_max = self.rttvar4;
            self.round_end = nxt;
            return;
        }
        let error = rtt as i64 - (self.srtt8 >> 3) as i64;
        self.srtt8 = self.srtt8.saturating_add_signed(error).max(1);
        let mut step = error.abs() - (self.mdev4 >> 2) as i64;
        if error < 0 && step > 0 {
            step >>= 3;
        }
        self.mdev4 = self.mdev4.saturating_add_signed(step);
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.mdev4_max);
        }
        if una > self.round_end {
            if self.mdev4_max < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.mdev4_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev4_max = minimum;
        }
    }

    fn update(&mut self, clock: &Clock) {
        let estimate = Duration::from_nanos(self.srtt8 / 8 + self.rttvar4);
        let rto = match self.rule {
            Rule::Linux => clock.round(estimate),
            Rule::Rfc6298 => {
                let variation = Duration::from_nanos(self.rttvar4).max(clock.tick());
                let rto = Duration::from_nanos(self.srtt8 / 8) + variation;
                rto.max(Duration::from_nanos(self.minimum))
            }
            Rule::FreeBsd => clock.span(self.ticks.range(self.ticks.value(), self.ticks.minimum)),
        };
        self.rto = rto.min(self.maximum);
    }

    /// Doubles the timeout (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.maximum);
    }

    /// FreeBSD (`tcp_xmit_timer`): takes a sample in ticks, one too many as a rule.
    #[expect(clippy::cast_possible_wrap, reason = "no round trip takes 292 years")]
    pub(crate) fn sample_ticks(&mut self, rtt: u64, clock: &Clock) {
        self.ticks.sample(rtt as i64);
        self.note_ticks(clock);
        let least = self.ticks.minimum.max(rtt + 2);
        self.rto = clock.span(self.ticks.range(self.ticks.value(), least));
    }

    /// Shows FreeBSD's estimates where the others are.
    fn note_ticks(&mut self, clock: &Clock) {
        let tick = clock.tick().as_nanos();
        self.srtt8 = self.ticks.srtt as u64 * tick / 4;
        self.rttvar4 = self.ticks.rttvar as u64 * tick / 4;
        self.mdev4 = self.rttvar4;
    }

    /// FreeBSD: the timeout after `shift` others in a row.
    pub(crate) fn back_off_to(&mut self, shift: u32, clock: &Clock) {
        if self.rule != Rule::FreeBsd {
            self.back_off();
            return;
        }
        let span = self.ticks.value() << shift.min(9);
        self.rto = clock.span(self.ticks.range(span, self.ticks.minimum));
    }

    /// FreeBSD: what was measured before several timeouts in a row counts no more, but as
    /// variation, so that the timeout stays.
    pub(crate) fn doubt(&mut self, clock: &Clock) {
        if self.rule == Rule::FreeBsd {
            self.ticks.rttvar += self.ticks.srtt >> 5;
            self.ticks.srtt = 0;
            self.note_ticks(clock);
        }
    }

    /// FreeBSD: the timeout of a SYN after `shift` others; it does not grow before the sixth.
    pub(crate) fn back_off_syn(&mut self, shift: u32, clock: &Clock) {
        let span = self.ticks.initial << shift.saturating_sub(4).min(6);
        self.rto = clock.span(self.ticks.range(span, self.ticks.minimum));
    }

    /// FreeBSD (`tcp_setpersist`): how long to wait before the window is probed.
    pub(crate) fn persist(&self, shift: u32, clock: &Clock) -> Duration {
        let base = (((self.ticks.srtt >> 2) + self.ticks.rttvar) >> 1) as u64;
        let wait = clock.span((base << shift.min(9)) + self.ticks.slop);
        wait.max(PERSIST.0).min(PERSIST.1)
    }

    /// Computes the timeout without backoff again.
    pub(crate) fn forget_backoff(&mut self, clock: &Clock) {
        if self.srtt8 != 0 {
            self.update(clock);
        }
    }

    /// Linux after a handshake that gave no sample: waits as RFC 6298 §5.7 says.
    pub(crate) fn fall_back(&mut self, rto: Duration) {
        self.mdev4 = rto.as_nanos();
        self.mdev4_max = self.mdev4;
        self.rttvar4 = self.mdev4;
        self.rto = rto;
    }
}

/// FreeBSD's estimates: integers, in fractions of a tick.
#[derive(Debug)]
struct Ticks {
    /// 32 times the smoothed round-trip time; zero while unknown.
    srtt: i64,
    /// 16 times its variation.
    rttvar: i64,
    initial: u64,
    minimum: u64,
    maximum: u64,
    slop: u64,
}

impl Ticks {
    #[expect(clippy::cast_possible_wrap, reason = "no timeout takes 292 years")]
    fn new(profile: &Profile) -> Self {
        let tick = profile.tick.as_nanos().max(1);
        let ticks = |span: Duration| span.as_nanos() / tick;
        let initial = ticks(profile.rto_initial);
        Self {
            srtt: 0,
            rttvar: (initial * 4) as i64,
            initial,
            minimum: ticks(profile.rto_min).max(1),
            maximum: ticks(profile.rto_max),
            slop: ticks(profile.rto_slop),
        }
    }

    fn sample(&mut self, rtt: i64) {
        if self.srtt == 0 {
            self.srtt = rtt << 5;
            self.rttvar = rtt << 3;
            return;
        }
        let error = ((rtt - 1) << 2) - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
    }

    /// `TCP_REXMTVAL`.
    fn value(&self) -> u64 {
        self.minimum.max((((self.srtt >> 3) + self.rttvar) >> 2) as u64)
    }

    /// `TCPT_RANGESET`.
    fn range(&self, span: u64, least: u64) -> u64 {
        (span + self.slop).max(least).min(self.maximum)
    }
}

/// The minimum of a sliding window of time in constant space (Linux `lib/win_minmax.c`, after
/// Kathleen Nichols): the best, second and third best, each later than the one before.
#[derive(Debug)]
struct WindowedMin {
    window: Duration,
    best: [(Instant, Duration); 3],
    empty: bool,
}

impl WindowedMin {
    const fn new(window: Duration) -> Self {
        Self { window, best: [(Instant::ZERO, Duration::MAX); 3], empty: true }
    }

    #[inline]
    fn get(&self) -> Option<Duration> {
        if self.empty { None } else { Some(self.best[0].1) }
    }

    #[inline]
    fn sample(&mut self, value: Duration, now: Instant) {
        let sample = (now, value);
        if self.empty || value <= self.best[0].1 || now.since(self.best[2].0) > self.window {
            self.best = [sample; 3];
            self.empty = false;
            return;
        }
        if value <= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value <= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    /// Lets the best expire, and makes sure that a second and third come from later parts of
    /// the window.
    fn age(&mut self, sample: (Instant, Duration)) {
        let since = sample.0.since(self.best[0].0);
        if since > self.window {
            self.best = [self.best[1], self.best[2], sample];
            if sample.0.since(self.best[0].0) > self.window {
                self.best = [self.best[1], sample, sample];
            }
        } else if self.best[1].0 == self.best[0].0 && since > self.window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && since > self.window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn after(profile: &Profile, samples: &[u64]) -> Rtt {
        let clock = Clock::new(profile.tick, profile.timer_wheel);
        let mut rtt = Rtt::new(profile);
        for (round, sample) in samples.iter().enumerate() {
            rtt.sample(ms(*sample), round as u64 * 10 + 1, round as u64 * 10 + 10, &clock);
        }
        rtt
    }

    #[test]
    fn c78_the_timeout_after_one_sample_of_100_ms() {
        let mut strict = Profile::windows();
        strict.rto_min = ms(1_000);
        for (profile, want) in [
            (Profile::linux(), 300),
            // In whole ticks, of which a sample has one too many.
            (Profile::freebsd(), 503),
            (Profile::windows(), 300),
            (strict, 1_000),
        ] {
            assert_eq!(after(&profile, &[100]).rto, ms(want), "{}", profile.name);
        }
        assert_eq!(Rtt::new(&Profile::linux()).rto, ms(1_000));
        assert_eq!(Rtt::new(&Profile::freebsd()).rto, ms(3_000));
    }

    #[test]
    fn c79_the_variation_is_updated_before_the_smoothed_time() {
        // 100 then 180: var = 3/4·50 + 1/4·|100 − 180| = 57.5, srtt = 110. The other order
        // would give |110 − 180| and 55.
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
        // mdev4: 40, 30, then 22.5 + 380 = 402.5 ms; srtt 20 + 380/8 = 67.5 ms; 470 to ticks.
        assert_eq!(up.rto, ms(472));
        // Falling: srtt 61.5625; mdev4 moves an eighth of nothing upwards; the round's maximum
        // was the floor, so the variation gives up a fourth of the way.
        let down = after(&Profile::linux(), &[20, 20, 400, 20]);
        assert!(down.rto < up.rto, "{} {}", down.rto, up.rto);
        assert!(down.rto > ms(400), "{}", down.rto);
    }

    #[test]
    fn the_minimum_forgets_after_its_window() {
        let mut min = WindowedMin::new(ms(100));
        for (at, value, want) in
            [(0, 10, 10), (20, 15, 10), (50, 12, 10), (90, 20, 10), (101, 20, 12), (160, 30, 20)]
        {
            min.sample(ms(value), Instant::from_millis(at));
            assert_eq!(min.get(), Some(ms(want)), "at {at}");
        }
    }
}
