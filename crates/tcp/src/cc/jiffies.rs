//! The kernel's coarse clock, in which CUBIC and BBR measure time.

use std::num::NonZero;

use aqmlab_core::{Bounds, Duration, Instant, Param, Value};

/// The parameter for the number of clock ticks per second of a Linux host (`HZ`).
pub(in crate::cc) const LINUX_HZ: Param = Param {
    name: "hz",
    default: Value::Count(250),
    bounds: Bounds::Whole(1, 1_000_000),
    doc: "Ticks of the kernel's clock per second (Debian and Ubuntu build with 250).",
};

const SECOND: u64 = 1_000_000_000;

/// A clock with `hz` ticks per second. Tick 0 is the start of the run.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Jiffies {
    hz: u64,
    /// The length of a tick in nanoseconds, if it is whole, as it is on most hosts. A conversion
    /// then takes one division instead of several.
    whole_tick: Option<NonZero<u64>>,
    /// The tick to which [`Self::advance`] has advanced, with its first nanosecond and the first
    /// nanosecond of the next tick.
    tick: u64,
    from: u64,
    until: u64,
}

impl Jiffies {
    /// Returns a clock of `hz` ticks per second, limited to between one tick per second and one per
    /// microsecond.
    pub(in crate::cc) fn new(hz: u64) -> Self {
        let hz = hz.clamp(1, 1_000_000);
        let whole_tick = if SECOND.is_multiple_of(hz) { NonZero::new(SECOND / hz) } else { None };
        Self { hz, whole_tick, tick: 0, from: 0, until: 0 }
    }

    /// Returns the number of ticks per second.
    pub(in crate::cc) const fn hz(self) -> u64 {
        self.hz
    }

    /// Returns the number of whole ticks until `now`.
    #[inline]
    pub(in crate::cc) const fn at(self, now: Instant) -> u64 {
        self.whole(now.as_nanos())
    }

    /// Returns the number of whole ticks until `now`, as [`Self::at`] does. The divisions are
    /// needed only once per tick.
    #[inline]
    pub(in crate::cc) fn advance(&mut self, now: Instant) -> u64 {
        let ns = now.as_nanos();
        if ns < self.from || ns >= self.until {
            self.tick = self.whole(ns);
            self.from = self.start_of(self.tick);
            self.until = self.start_of(self.tick + 1);
        }
        self.tick
    }

    /// Returns the first nanosecond of a tick.
    #[inline]
    const fn start_of(self, tick: u64) -> u64 {
        if let Some(tick_ns) = self.whole_tick {
            return tick.saturating_mul(tick_ns.get());
        }
        (tick / self.hz * SECOND).saturating_add((tick % self.hz * SECOND).div_ceil(self.hz))
    }

    /// Returns the number of whole ticks in `span`.
    #[inline]
    pub(in crate::cc) const fn within(self, span: Duration) -> u64 {
        self.whole(span.as_nanos())
    }

    /// Returns the number of ticks that cover `us` microseconds, rounded up as the kernel's
    /// `usecs_to_jiffies` does.
    #[inline]
    pub(in crate::cc) const fn covering_micros(self, us: u64) -> u64 {
        us.saturating_mul(self.hz).div_ceil(1_000_000)
    }

    // Converts whole seconds separately, so that years of nanoseconds do not overflow.
    #[inline]
    const fn whole(self, nanos: u64) -> u64 {
        if let Some(tick_ns) = self.whole_tick {
            return nanos / tick_ns.get();
        }
        (nanos / SECOND) * self.hz + (nanos % SECOND) * self.hz / SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_cut_to_ticks_and_delays_are_rounded_up() {
        let clock = Jiffies::new(250);
        for (us, at, covering) in [(0, 0, 0), (1, 0, 1), (4_000, 1, 1), (4_001, 1, 2)] {
            assert_eq!(clock.at(Instant::from_micros(us)), at, "{us} us");
            assert_eq!(clock.covering_micros(us), covering, "{us} us");
        }
        assert_eq!(clock.within(Duration::from_secs(60)), 15_000);
    }

    #[test]
    fn a_clock_that_advances_counts_the_same_ticks() {
        for hz in [1, 3, 250, 300, 1_000, 999_999] {
            let mut clock = Jiffies::new(hz);
            let mut rng = aqmlab_core::Rng::stream(1, "jiffies");
            let mut now = 0;
            for _ in 0..2_000 {
                now += rng.below(2 * SECOND) >> rng.below(31);
                for ns in [now, clock.until.max(1) - 1, clock.until, clock.from] {
                    let at = Instant::from_nanos(ns);
                    assert_eq!(clock.advance(at), clock.at(at), "{ns} ns at {hz} Hz");
                }
            }
        }
    }
}
