//! Instants and durations in whole nanoseconds.
//!
//! These types replace the types of `std::time` for three reasons. Only a driver (the simulator's
//! agenda or a monotonic clock) supplies instants. Tests can write instants as literals. Instants
//! count from the start of the run, so the instants of two runs can be compared.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// An instant later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the instant `ns` nanoseconds after the start of the run.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the instant `us` microseconds after the start of the run.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Returns the instant `ms` milliseconds after the start of the run.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Returns the nanoseconds since the start of the run.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start of the run, for people and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time since `earlier`; zero if `earlier` is later than this instant.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Returns this instant plus `span`; [`Self::NEVER`] on overflow.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The maximum duration, longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a duration of `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns a duration of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Returns a duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Returns a duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Returns a duration of `s` seconds, rounded to the nearest nanosecond. A negative value
    /// counts as zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5).max(0.0) as u64)
    }

    /// Returns this duration in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns this duration in whole microseconds, rounded down.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns this duration in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns this duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the absolute difference between two durations.
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns the sum of this duration and `other`; [`Self::MAX`] on overflow.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns this duration minus `other`; zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Duration {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;

    #[inline]
    fn mul(self, n: u64) -> Self {
        Self(self.0 * n)
    }
}

impl Div<u64> for Duration {
    type Output = Self;

    /// Divides this duration by `n`, rounded down.
    #[inline]
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            ns if ns % 1_000_000_000 == 0 => write!(f, "{}s", ns / 1_000_000_000),
            ns if ns % 1_000_000 == 0 => write!(f, "{}ms", ns / 1_000_000),
            ns if ns % 1_000 == 0 => write!(f, "{}us", ns / 1_000),
            ns => write!(f, "{ns}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_in_their_largest_whole_unit() {
        for (ns, want) in
            [(0, "0s"), (1, "1ns"), (2_000, "2us"), (15_000_000, "15ms"), (3_000_000_000, "3s")]
        {
            assert_eq!(Duration::from_nanos(ns).to_string(), want);
        }
    }

    #[test]
    fn the_future_is_not_in_the_past() {
        let (early, late) = (Instant::from_millis(5), Instant::from_millis(7));
        assert_eq!(late.since(early), Duration::from_millis(2));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
