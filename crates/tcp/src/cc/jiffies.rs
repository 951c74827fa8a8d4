//! The kernel's coarse clock, in which CUBIC and BBR measure time.

use aqmlab_core::{Bounds, Duration, Instant, Param, Tick, Value};

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
    /// The tick, if it has a whole number of nanoseconds, as on most hosts. A conversion then takes
    /// no division instead of several.
    whole_tick: Option<Tick>,
}

impl Jiffies {
    /// Returns a clock of `hz` ticks per second, limited to between one tick per second and one per
    /// microsecond.
    pub(in crate::cc) fn new(hz: u64) -> Self {
        let hz = hz.clamp(1, 1_000_000);
        let whole_tick = SECOND.is_multiple_of(hz).then(|| Tick::new(SECOND / hz));
        Self { hz, whole_tick }
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
        if let Some(tick) = self.whole_tick {
            return tick.whole(nanos);
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
    fn ticks_that_are_no_whole_nanoseconds_are_exact() {
        for hz in [1, 3, 250, 300, 1_000, 999_999] {
            let clock = Jiffies::new(hz);
            for second in [0, 1, 3_600] {
                for tick in [0, 1, hz / 2, hz - 1] {
                    let start = second * SECOND + (tick * SECOND).div_ceil(hz);
                    let count = second * hz + tick;
                    assert_eq!(clock.at(Instant::from_nanos(start)), count, "{start} at {hz} Hz");
                    if start > 0 {
                        assert_eq!(clock.at(Instant::from_nanos(start - 1)), count - 1);
                    }
                }
            }
        }
    }
}
