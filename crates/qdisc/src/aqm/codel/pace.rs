//! CoDel's clocks, and three implementations of its control law `interval / √count`.

use aqmlab_core::{Duration, Instant, Tick};

use super::Dialect;

/// The clock of an implementation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    /// Nanoseconds.
    Nanos,
    /// Linux's `ktime_get_ns() >> 10` in 32 bits. The clock wraps every 73 minutes, and times are
    /// compared by the sign of their difference. A run begins [`BOOTED`] ticks after boot.
    Ticks,
    /// Microseconds, which FreeBSD's kernel reads once per timer tick.
    Micros {
        tick: Tick,
        /// The length of a tick in microseconds.
        micros: u64,
    },
}

/// The kernel's uptime at the start of a run, in ticks: 137 s. Within 1.6 s of the clock's zero, an
/// unset `drop_next` would look recent. A queue that overflowed before its first signal would then
/// be signalled without pause. Measurements on real machines begin later than 1.6 s after boot.
const BOOTED: u32 = 1 << 27;

impl Clock {
    pub(super) fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Rfc8289 => Self::Nanos,
            Dialect::Linux => Self::Ticks,
            Dialect::FreeBsd { tick } => {
                let micros = tick.as_micros().max(1);
                Self::Micros { tick: Tick::new(micros * 1_000), micros }
            }
        }
    }

    /// Returns the clock's value at `at`.
    #[inline]
    pub(super) fn read(self, at: Instant) -> u64 {
        match self {
            Self::Nanos => at.as_nanos(),
            Self::Ticks => u64::from(((at.as_nanos() >> 10) as u32).wrapping_add(BOOTED)),
            Self::Micros { tick, micros } => tick.whole(at.as_nanos()) * micros,
        }
    }

    /// Returns `span` in the clock's units, as the implementation converts a parameter in
    /// microseconds.
    pub(super) fn span(self, span: Duration) -> u64 {
        match self {
            Self::Nanos => span.as_nanos(),
            Self::Ticks => u64::from((span.as_micros().saturating_mul(1_000) >> 10) as u32),
            Self::Micros { .. } => span.as_micros(),
        }
    }

    /// Returns a duration such that every shorter sojourn time is below the target `span` by this
    /// clock, whatever the times of arrival and departure are.
    pub(super) fn least(self, span: u64) -> Duration {
        match self {
            Self::Nanos => Duration::from_nanos(span),
            // The comparison wraps, so every short sojourn time reaches a target of 37 minutes.
            Self::Ticks if span >= 1 << 31 => Duration::ZERO,
            Self::Ticks => Duration::from_nanos(span.saturating_sub(1) << 10),
            Self::Micros { micros, .. } => Duration::from_micros(span.saturating_sub(micros)),
        }
    }

    /// Returns the time that is `span` after `time`.
    #[inline]
    pub(super) fn add(self, time: u64, span: u64) -> u64 {
        match self {
            Self::Ticks => u64::from((time as u32).wrapping_add(span as u32)),
            Self::Nanos | Self::Micros { .. } => time.saturating_add(span),
        }
    }

    /// Returns the time from `earlier` to `now`.
    #[inline]
    pub(super) fn between(self, earlier: u64, now: u64) -> u64 {
        match self {
            Self::Ticks => u64::from((now as u32).wrapping_sub(earlier as u32)),
            Self::Nanos | Self::Micros { .. } => now.saturating_sub(earlier),
        }
    }

    /// Returns whether `now` is at or after `due`.
    #[inline]
    pub(super) fn reached(self, now: u64, due: u64) -> bool {
        match self {
            Self::Ticks => (now as u32).wrapping_sub(due as u32) < 1 << 31,
            Self::Nanos | Self::Micros { .. } => now >= due,
        }
    }
}

/// Returns `interval / √count`, truncated to a whole unit (RFC 8289 §5.5).
pub(super) fn exact(interval: u64, count: u32) -> u64 {
    // ⌊i/√c⌋ = ⌊√⌊i²/c⌋⌋ for whole i and c.
    (u128::from(interval) * u128::from(interval) / u128::from(count.max(1))).isqrt() as u64
}

/// Returns `root` after one Newton step towards `1/√count`, as Linux computes it. The root has 16
/// bits, and the step is computed in 32 bits.
///
/// y ← y·(3 − count·y²)/2
pub(super) fn linux_step(root: u16, count: u32) -> u16 {
    let y = u64::from(root) << 16;
    let square = (y * y) >> 32;
    // The subtraction wraps, as in the kernel, if `count` is far ahead of `root`.
    let rest = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
    (rest.wrapping_mul(y) >> 31 >> 16) as u16
}

/// Returns `interval / √count` from the current root, as Linux computes it.
pub(super) fn linux_gap(interval: u64, root: u16) -> u64 {
    (interval * (u64::from(root) << 16)) >> 32
}

/// Moves `root` by one Newton step towards `1/√count`, and returns the gap, as FreeBSD computes
/// them. For a count of one the gap is the interval itself, and the root restarts from 0.7.
pub(super) fn freebsd_gap(interval: u64, count: u32, root: &mut u16) -> u64 {
    if count == 1 {
        *root = ((1_u32 << 16) * 7 / 10) as u16;
        return interval;
    }
    let y = u64::from(*root);
    let rest = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(y * y)) >> 9;
    *root = (y.wrapping_mul(rest) >> 24) as u16;
    (interval.wrapping_mul(u64::from(*root))) >> 16
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    fn freebsd(tick_us: u64) -> Clock {
        Clock::of(Dialect::FreeBsd { tick: Duration::from_micros(tick_us) })
    }

    #[test]
    fn the_exact_pace_is_the_root_cut_to_whole_units() {
        for (count, want) in [(1, 100_000), (2, 70_710), (3, 57_735), (4, 50_000), (100, 10_000)] {
            assert_eq!(exact(100_000, count), want, "count {count}");
        }
    }

    #[test]
    fn c19_newton_roots_come_within_one_percent_of_the_true_pace() {
        let interval = Clock::Ticks.span(Duration::from_millis(100));
        let (mut linux, mut freebsd) = (u16::MAX, 0);
        freebsd_gap(100_000, 1, &mut freebsd);
        for count in 2..2_000 {
            linux = linux_step(linux, count);
            let gaps = [
                ("linux", linux_gap(interval, linux), interval),
                ("freebsd", freebsd_gap(100_000, count, &mut freebsd), 100_000),
            ];
            for (name, gap, whole) in gaps {
                let want = whole as f64 / f64::from(count).sqrt();
                // Linux starts from 1 and needs a few steps; FreeBSD starts from 0.7.
                let by = if count < 7 { 0.30 } else { 0.01 };
                assert!((gap as f64 / want - 1.0).abs() < by, "{name} {count}: {gap}, {want}");
            }
        }
    }

    #[test]
    fn c19_the_second_gap_of_linux_is_half_an_interval_and_not_seven_tenths() {
        let interval = Clock::Ticks.span(Duration::from_millis(100));
        let mut root = u16::MAX;
        let per_mille: Vec<_> = (2..=6)
            .map(|count| {
                root = linux_step(root, count);
                linux_gap(interval, root) * 1_000 / interval
            })
            .collect();
        // The values are computed by hand: y = 1, then y(3 − count·y²)/2, which is 1/2, 0.5625,
        // 0.4878 …
        assert_eq!(per_mille, [500, 562, 487, 441, 404]);
    }

    #[test]
    fn linux_time_is_compared_by_the_sign_of_a_difference() {
        let clock = Clock::Ticks;
        let late = clock.read(Instant::from_nanos(u64::from(u32::MAX - BOOTED) << 10));
        let wrapped = clock.add(late, 100);
        assert_eq!(wrapped, 99);
        assert!(clock.reached(wrapped, late) && !clock.reached(late, wrapped));
        assert_eq!(clock.between(late, wrapped), 100);
    }

    /// Tests that no sojourn time below [`Clock::least`] reaches the target. A nanosecond more may
    /// reach it, if the packet arrives just before the clock changes.
    #[test]
    fn a_sojourn_time_below_the_least_is_below_the_target_by_every_clock() {
        let mut rng = Rng::stream(1, "sojourn times");
        for (clock, tick_ns) in [
            (Clock::Nanos, 1),
            (Clock::Ticks, 1_024),
            (freebsd(1), 1_000),
            (freebsd(1_000), 1_000_000),
        ] {
            let reached = |arrival: u64, sojourn: u64, target: u64| {
                let [start, end] = [arrival, arrival + sojourn].map(Instant::from_nanos);
                clock.reached(clock.between(clock.read(start), clock.read(end)), target)
            };
            // The targets are multiples of FreeBSD's tick. Only such targets are reached at once.
            for target in [0, 1_000, 5_000, 20_000, 1_000_000] {
                let least = clock.least(target).as_nanos();
                for _ in 0..1_000 {
                    let arrival = rng.below(10_000_000_000_000);
                    for sojourn in [least.saturating_sub(1), rng.below(least.max(1))] {
                        let is_above = sojourn < least && reached(arrival, sojourn, target);
                        assert!(!is_above, "{clock:?}: {sojourn} ns from {arrival} to {target}");
                    }
                }
                let before_tick = 1_000 * tick_ns - 1;
                assert!(reached(before_tick, least + 1, target), "{clock:?}: {target}");
            }
        }
        assert_eq!(Clock::Ticks.least(1 << 31), Duration::ZERO);
        assert!(Clock::Ticks.reached(0, (1 << 31) + 1), "the comparison wraps");
    }

    #[test]
    fn freebsd_sees_time_only_at_its_ticks() {
        let clock = freebsd(1_000);
        assert_eq!(clock.read(Instant::from_nanos(5_999_999)), 5_000);
        assert_eq!(clock.span(Duration::from_millis(5)), 5_000);
    }
}
