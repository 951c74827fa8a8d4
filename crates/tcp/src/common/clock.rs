//! The host's clock: ticks, and when a timer armed in ticks goes off.
//!
//! Source: Linux 6.1 `kernel/time/timer.c`. A timer due in `n` ticks goes off at a tick that is
//! a multiple of the granularity of its level of the wheel (1 tick below 63, 8 below 504, ...)
//! and never early, so it is up to one granule late. Hosts without a wheel round up to a tick.

use aqmlab_core::{Duration, Instant};

/// A host that has just started would echo timestamp zero, which means "none" to Linux.
const UPTIME_MS: u64 = 1_000;

/// Time as the host of a connection counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The time of the event being handled.
    pub(crate) now: Instant,
    tick: u64,
    /// 2^64 over the tick, rounded up: multiplying is faster than dividing.
    reciprocal: u64,
    wheel: bool,
    jiffies: u64,
    from: u64,
    until: u64,
}

impl Clock {
    pub(crate) fn new(tick: Duration, wheel: bool) -> Self {
        // Two nanoseconds at least, or the reciprocal would not fit; a second at most.
        let tick = tick.as_nanos().clamp(2, 1_000_000_000);
        let reciprocal = u64::MAX / tick + 1;
        Self { now: Instant::ZERO, tick, reciprocal, wheel, jiffies: 0, from: 0, until: tick }
    }

    /// Moves to `now`; the division is done once a tick.
    #[inline]
    pub(crate) fn set(&mut self, now: Instant) {
        self.now = now;
        let ns = now.as_nanos();
        if ns >= self.until || ns < self.from {
            self.jiffies = ns / self.tick;
            self.from = self.jiffies * self.tick;
            self.until = self.from.saturating_add(self.tick);
        }
    }

    /// Ticks since the start.
    #[inline]
    pub(crate) const fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// The length of a tick.
    #[inline]
    pub(crate) const fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }

    /// `span` in whole ticks, rounded up.
    #[inline]
    pub(crate) const fn ticks(&self, span: Duration) -> u64 {
        let ns = span.as_nanos();
        // The error of the reciprocal is below one part in 2^64 / tick, so below a tick's worth
        // of ticks for anything below 2^33 ns, whatever the tick.
        if ns < 1 << 33 {
            let ns = ns + self.tick - 1;
            return ((ns as u128 * self.reciprocal as u128) >> 64) as u64;
        }
        ns.div_ceil(self.tick)
    }

    /// `span` rounded up to whole ticks.
    #[inline]
    pub(crate) const fn round(&self, span: Duration) -> Duration {
        Duration::from_nanos(self.ticks(span).saturating_mul(self.tick))
    }

    /// `n` ticks as a span.
    #[inline]
    pub(crate) const fn span(&self, n: u64) -> Duration {
        Duration::from_nanos(n.saturating_mul(self.tick))
    }

    /// Whole ticks in `span`.
    #[inline]
    pub(crate) const fn within(&self, span: Duration) -> u64 {
        span.as_nanos() / self.tick
    }

    /// When FreeBSD's timers go off: `n` ticks after the one that has begun, which is up to a tick
    /// early (`callout_when` with `C_HARDCLOCK`, `kern_timeout.c`).
    #[inline]
    pub(crate) const fn next(&self, n: u64) -> Instant {
        let n = if n == 0 { 1 } else { n };
        Instant::from_nanos(self.jiffies.saturating_add(n).saturating_mul(self.tick))
    }

    /// When a timer armed now for `n` ticks goes off.
    #[inline]
    pub(crate) const fn alarm(&self, n: u64) -> Instant {
        if !self.wheel {
            let begun = (self.now.as_nanos() > self.from) as u64;
            let at = self.jiffies.saturating_add(n + begun);
            return Instant::from_nanos(at.saturating_mul(self.tick));
        }
        let expires = self.jiffies.saturating_add(n);
        let (mut shift, mut start) = (0, 63);
        while n >= start && shift < 24 {
            shift += 3;
            start <<= 3;
        }
        // Rounding up by a whole granule, also when the division is exact: the tick under way
        // is not a whole one.
        let at = ((expires >> shift) + 1) << shift;
        Instant::from_nanos(at.saturating_mul(self.tick))
    }

    /// The timestamp option's clock: milliseconds (Linux `TCP_TS_HZ`, FreeBSD `hz`).
    #[inline]
    pub(crate) const fn timestamp(&self) -> u32 {
        Self::timestamp_of(self.now)
    }

    /// The timestamp that a segment sent at `at` carries.
    #[inline]
    pub(crate) const fn timestamp_of(at: Instant) -> u32 {
        (at.as_nanos() / 1_000_000 + UPTIME_MS) as u32
    }
}

/// How much later the timestamp `a` is than `b`, which may be earlier (RFC 7323 §5.2).
#[inline]
#[expect(clippy::cast_possible_wrap, reason = "timestamps are compared modulo 2^32")]
pub(crate) const fn later_by(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplying_by_the_reciprocal_is_dividing() {
        for tick in [2, 3, 7, 1_000_000, 4_000_000, 10_000_000, 999_999_937, 1_000_000_000] {
            let clock = Clock::new(Duration::from_nanos(tick), true);
            for near in [0, 1, 5, 1_000, 123_456_789, (1 << 33) / tick - 1] {
                for ns in [near * tick, near * tick + 1, (near * tick).saturating_sub(1)] {
                    let ticks = clock.ticks(Duration::from_nanos(ns));
                    assert_eq!(ticks, ns.div_ceil(tick), "{ns} in ticks of {tick}");
                }
            }
        }
    }

    #[test]
    fn timers_are_late_by_up_to_a_granule_and_never_early() {
        let mut clock = Clock::new(Duration::from_millis(4), true);
        for (now_ms, ticks, want_ms) in [
            (0, 10, 44),     // 40 ms and the tick under way
            (3, 10, 44),     // still within tick 0
            (4, 10, 48),     // the next tick
            (0, 75, 320),    // 300 ms is tick 75; level 1 rounds up to tick 80
            (8, 62, 260),    // level 0 reaches 62 ticks
            (0, 504, 2_048), // level 2: granules of 64 ticks
        ] {
            clock.set(Instant::from_millis(now_ms));
            assert_eq!(clock.alarm(ticks), Instant::from_millis(want_ms), "{ticks} at {now_ms}");
        }
    }

    #[test]
    fn spans_round_up_to_ticks() {
        let clock = Clock::new(Duration::from_millis(4), true);
        assert_eq!(clock.round(Duration::from_micros(4_001)), Duration::from_millis(8));
        assert_eq!(clock.ticks(Duration::from_millis(300)), 75);
    }
}
