//! The round-trip time: its estimates, its minimum, and the retransmission timeout.
//!
//! Each stack has its own estimator, which sets the estimates: `linux/rtt.rs` and `freebsd/rtt.rs`.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant};

use crate::Profile;

/// The round-trip estimates of a connection, and its retransmission timeout.
#[derive(Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed round-trip time in nanoseconds; zero before the first sample.
    pub(crate) srtt8: u64,
    /// Four times the variation from which the timeout is computed, in nanoseconds.
    pub(crate) rttvar4: u64,
    /// The retransmission timeout, including backoff.
    pub(crate) rto: Duration,
    min: WindowedMin,
}

impl Rtt {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self {
            srtt8: 0,
            rttvar4: 0,
            rto: profile.rto_initial,
            min: WindowedMin::new(profile.min_rtt_window),
        }
    }

    /// Returns the smoothed round-trip time, once there is a sample.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        (self.srtt8 != 0).then(|| Duration::from_nanos(self.srtt8 / 8))
    }

    /// Returns the variation of RFC 6298, once there is a sample.
    pub(crate) fn rttvar(&self) -> Option<Duration> {
        (self.srtt8 != 0).then(|| Duration::from_nanos(self.rttvar4 / 4))
    }

    /// Returns the minimum round-trip time over the profile's window, once there is a sample.
    #[inline]
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min.get()
    }

    /// Adds a sample to the minimum filter.
    #[inline]
    pub(crate) fn sample_min(&mut self, rtt: Duration, now: Instant) {
        self.min.sample(rtt, now);
    }
}

/// The minimum over a sliding window of time in constant space (Linux 6.1 `lib/win_minmax.c`, after
/// Kathleen Nichols). The filter stores the three best samples, each later than the previous
/// sample. `cc/kinds/bbr/filter.rs` is the same filter for a maximum over rounds.
#[derive(Debug)]
struct WindowedMin {
    window: Duration,
    best: [(Instant, Duration); 3],
    /// The time until which [`Self::update_subwindows`] has no effect. A sample that arrives until
    /// then and exceeds the three best samples changes nothing.
    settled_until: Instant,
    empty: bool,
}

impl WindowedMin {
    const fn new(window: Duration) -> Self {
        let best = [(Instant::ZERO, Duration::MAX); 3];
        Self { window, best, settled_until: Instant::ZERO, empty: true }
    }

    #[inline]
    fn get(&self) -> Option<Duration> {
        if self.empty {
            rare();
            return None;
        }
        Some(self.best[0].1)
    }

    /// Adds a sample. Most samples change nothing, because they exceed the three best samples, none
    /// of which is old.
    #[inline]
    fn sample(&mut self, value: Duration, now: Instant) {
        if !self.changes_nothing(value, now) {
            rare();
            self.store(value, now);
            self.settled_until = self.best[0].0.saturating_add(self.settled_for());
        }
    }

    /// Returns whether a sample is known to change nothing.
    #[inline]
    fn changes_nothing(&self, value: Duration, now: Instant) -> bool {
        value > self.best[2].1 && now <= self.settled_until
    }

    /// Returns the time after the best sample for which [`Self::update_subwindows`] has no effect.
    fn settled_for(&self) -> Duration {
        if self.best[1].0 == self.best[0].0 {
            self.window / 4
        } else if self.best[2].0 == self.best[1].0 {
            self.window / 2
        } else {
            self.window
        }
    }

    /// Adds any sample (`minmax_running_min`).
    #[inline(never)]
    fn store(&mut self, value: Duration, now: Instant) {
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
        self.update_subwindows(sample);
    }

    /// Removes expired samples, and takes the second and third samples from later parts of the
    /// window. `sample` is the newest sample (`minmax_subwin_update`).
    fn update_subwindows(&mut self, sample: (Instant, Duration)) {
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

    #[test]
    fn the_minimum_forgets_after_its_window() {
        let ms = Duration::from_millis;
        let mut min = WindowedMin::new(ms(100));
        for (at, value, want) in
            [(0, 10, 10), (20, 15, 10), (50, 12, 10), (90, 20, 10), (101, 20, 12), (160, 30, 20)]
        {
            min.sample(ms(value), Instant::from_millis(at));
            assert_eq!(min.get(), Some(ms(want)), "at {at}");
        }
    }

    #[test]
    fn a_sample_that_changes_nothing_is_recognised() {
        let mut rng = aqmlab_core::Rng::stream(1, "minimum");
        let mut short = WindowedMin::new(Duration::from_nanos(400));
        let mut long = WindowedMin::new(Duration::from_nanos(400));
        let (mut now, mut recognised) = (Instant::ZERO, 0);
        for step in 0..100_000 {
            now += Duration::from_nanos(rng.below(256) >> rng.below(8));
            let value = Duration::from_nanos(1_000 + rng.below(100));
            recognised += u32::from(short.changes_nothing(value, now));
            short.sample(value, now);
            long.store(value, now);
            assert_eq!(short.best, long.best, "step {step}");
        }
        assert!(recognised > 10_000, "{recognised} samples were recognised");
    }
}
