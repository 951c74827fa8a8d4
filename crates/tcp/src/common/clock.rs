//! The host's clock, which counts ticks, and the expiry of timers that are set in ticks.
//!
//! Sources: Linux 6.1 `kernel/time/timer.c`; FreeBSD 10.4 `sys/kern/kern_timeout.c`.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant, Tick};

/// The uptime of a host at the start of the run. It is not zero, because Linux treats a timestamp
/// echo of zero as absent.
const UPTIME_MS: u64 = 1_000;

/// The rule for the expiry of a timer that is set for `n` ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Linux's timer wheel: the timer expires at a multiple of the granularity of its level (1 tick
    /// below 63 ticks, 8 ticks below 504 ticks, ...). The timer is never early, and at most one
    /// granule late.
    Wheel,
    /// The timer expires at the first tick by which the time of `n` ticks has passed.
    Tick,
    /// FreeBSD (`callout_when` with `C_HARDCLOCK`): the timer expires `n` ticks after the beginning
    /// of the current tick. The timer is therefore up to one tick early.
    Callout,
}

/// The clock of a host, which counts ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The time of the event being handled.
    pub(crate) now: Instant,
    tick: Tick,
    expiry: Expiry,
    jiffies: u64,
}

impl Clock {
    pub(crate) fn new(tick: Duration, expiry: Expiry) -> Self {
        // `Tick::covering` requires a tick of at most 1 s.
        let tick = Tick::new(tick.as_nanos().clamp(2, 1_000_000_000));
        Self { now: Instant::ZERO, tick, expiry, jiffies: 0 }
    }

    /// Advances the clock to `now`.
    #[inline]
    pub(crate) const fn set(&mut self, now: Instant) {
        self.now = now;
        self.jiffies = self.tick.whole(now.as_nanos());
    }

    /// Returns the number of ticks since the start of the run.
    #[inline]
    pub(crate) const fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// Returns the length of a tick.
    #[inline]
    pub(crate) const fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick.as_nanos())
    }

    /// Returns the number of ticks that cover `span`.
    #[inline]
    pub(crate) const fn covering(&self, span: Duration) -> u64 {
        self.tick.covering(span.as_nanos())
    }

    /// Returns `span` rounded up to whole ticks.
    #[inline]
    pub(crate) const fn round_up(&self, span: Duration) -> Duration {
        Duration::from_nanos(self.covering(span).saturating_mul(self.tick.as_nanos()))
    }

    /// Returns the duration of `n` ticks.
    #[inline]
    pub(crate) const fn span(&self, n: u64) -> Duration {
        Duration::from_nanos(n.saturating_mul(self.tick.as_nanos()))
    }

    /// Returns the number of whole ticks in `span`.
    #[inline]
    pub(crate) const fn within(&self, span: Duration) -> u64 {
        self.tick.whole(span.as_nanos())
    }

    /// Returns the expiry of a timer that is set now for `n` ticks.
    #[expect(clippy::inline_always, reason = "every segment sets a timer")]
    #[inline(always)]
    pub(crate) const fn expiry(&self, n: u64) -> Instant {
        let at = match self.expiry {
            Expiry::Wheel => self.wheel_expiry(n),
            Expiry::Tick => {
                let begun = (self.now.as_nanos() > self.jiffies * self.tick.as_nanos()) as u64;
                self.jiffies.saturating_add(n + begun)
            }
            Expiry::Callout => self.jiffies.saturating_add(if n == 0 { 1 } else { n }),
        };
        Instant::from_nanos(at.saturating_mul(self.tick.as_nanos()))
    }

    /// Returns the tick at which Linux's wheel expires a timer that is set now for `n` ticks.
    #[expect(clippy::inline_always, reason = "every segment sets a timer")]
    #[inline(always)]
    const fn wheel_expiry(&self, n: u64) -> u64 {
        let expires = self.jiffies.saturating_add(n);
        let (mut shift, mut start) = (0, 63);
        while n >= start && shift < 24 {
            rare();
            shift += 3;
            start <<= 3;
        }
        // Rounds up by a whole granule even if the value is a multiple, because the current tick is
        // only partly over.
        ((expires >> shift) + 1) << shift
    }

    /// Returns the value of the timestamp clock in milliseconds (Linux `TCP_TS_HZ`, FreeBSD `hz`).
    #[inline]
    pub(crate) const fn timestamp(&self) -> u32 {
        Self::timestamp_of(self.now)
    }

    /// Returns the timestamp of a segment sent at `at`.
    #[inline]
    pub(crate) const fn timestamp_of(at: Instant) -> u32 {
        (at.as_nanos() / 1_000_000 + UPTIME_MS) as u32
    }
}

/// Returns by how much the timestamp `a` is later than `b`; negative if it is earlier (RFC 7323
/// §5.2).
#[inline]
#[expect(clippy::cast_possible_wrap, reason = "timestamps are compared modulo 2^32")]
pub(crate) const fn later_by(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_late_by_up_to_a_granule_and_never_early() {
        let mut clock = Clock::new(Duration::from_millis(4), Expiry::Wheel);
        for (now_ms, ticks, want_ms) in [
            (0, 10, 44),     // 40 ms, and the current tick
            (3, 10, 44),     // the time is still within tick 0
            (4, 10, 48),     // the time is at the next tick
            (0, 75, 320),    // 300 ms is tick 75; level 1 rounds up to tick 80
            (8, 62, 260),    // level 0 reaches 62 ticks
            (0, 504, 2_048), // level 2: granules of 64 ticks
        ] {
            clock.set(Instant::from_millis(now_ms));
            assert_eq!(clock.expiry(ticks), Instant::from_millis(want_ms), "{ticks} at {now_ms}");
        }
    }

    #[test]
    fn spans_round_up_to_ticks() {
        let clock = Clock::new(Duration::from_millis(4), Expiry::Wheel);
        assert_eq!(clock.round_up(Duration::from_micros(4_001)), Duration::from_millis(8));
        assert_eq!(clock.covering(Duration::from_millis(300)), 75);
    }
}
