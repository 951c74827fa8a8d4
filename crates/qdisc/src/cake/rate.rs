//! A rate as the kernel stores it: the time of a byte in fixed point.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_set_rate`.

use aqmlab_core::Duration;

/// The smallest rate in bytes per second.
const LEAST: u64 = 64;
const SHIFT: u32 = 34;
const SECOND: u64 = 1_000_000_000;

/// The time of a byte: a number of at most 34 bits, and the right shift that gives nanoseconds. The
/// number is zero without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    ns: u64,
    shift: u32,
}

impl Rate {
    /// Returns the time of a byte at `rate` bytes per second; zero without a limit (a `rate` of
    /// zero).
    pub(super) fn new(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
        let (mut ns, mut shift) = ((SECOND << SHIFT) / rate.max(LEAST), SHIFT);
        while ns >> SHIFT > 0 {
            ns >>= 1;
            shift -= 1;
        }
        Self { ns, shift }
    }

    /// Returns whether the rate is limited.
    #[inline]
    pub(super) fn is_limited(self) -> bool {
        self.ns > 0
    }

    /// Returns the transmission time of `len` bytes, rounded down.
    #[inline]
    pub(super) fn time(self, len: u32) -> Duration {
        Duration::from_nanos((u64::from(len) * self.ns) >> self.shift)
    }
}
