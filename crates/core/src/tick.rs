//! The ticks of a kernel's timer.

use crate::hint::rare;

/// The length of a tick, and its reciprocal. Multiplying by the reciprocal is faster than dividing.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    ns: u64,
    /// 2^64 divided by the tick, rounded up.
    reciprocal: u64,
}

impl Tick {
    /// Returns a tick of `ns` nanoseconds, which must be at least 2, so that the reciprocal fits,
    /// and at most 10^9, for [`Self::covering`].
    pub const fn new(ns: u64) -> Self {
        Self { ns, reciprocal: u64::MAX / ns + 1 }
    }

    /// Returns the length in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.ns
    }

    /// Returns the number of whole ticks in `ns` nanoseconds.
    ///
    /// A stored count that changes once per tick would take fewer instructions, but the processor
    /// cannot predict when it changes.
    #[inline]
    pub const fn whole(self, ns: u64) -> u64 {
        // The reciprocal is too large by less than 1, so the product is at most one too large. The
        // rest is then negative.
        let most = self.times_reciprocal(ns);
        most - (ns.wrapping_sub(most.wrapping_mul(self.ns)) >> 63)
    }

    /// Returns the number of ticks that cover `ns` nanoseconds.
    #[inline]
    pub const fn covering(self, ns: u64) -> u64 {
        // The relative error of the reciprocal is below tick / 2^64, so the result is exact for
        // ticks of up to 1 s and spans below 2^33 ns.
        if ns < 1 << 33 {
            return self.times_reciprocal(ns + self.ns - 1);
        }
        rare();
        ns.div_ceil(self.ns)
    }

    #[inline]
    const fn times_reciprocal(self, ns: u64) -> u64 {
        ((ns as u128 * self.reciprocal as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn whole_ticks_are_exact_for_all_times() {
        let mut rng = Rng::stream(1, "ticks");
        for tick in [2, 3, 7, 1_000, 1_000_000, 4_000_000, 999_999_937, 1_000_000_000] {
            for _ in 0..2_000 {
                let first = (rng.below(u64::MAX) >> rng.below(64)) / tick * tick;
                for ns in [first, first.saturating_sub(1), first.saturating_add(1), u64::MAX] {
                    assert_eq!(Tick::new(tick).whole(ns), ns / tick, "{ns} in ticks of {tick}");
                }
            }
        }
    }

    #[test]
    fn the_ticks_that_cover_a_span_are_those_of_a_division() {
        for tick in [2, 3, 7, 1_000_000, 4_000_000, 10_000_000, 999_999_937, 1_000_000_000] {
            for near in [0_u64, 1, 5, 1_000, 123_456_789, (1 << 33) / tick - 1, (1 << 40) / tick] {
                for ns in [near * tick, near * tick + 1, (near * tick).saturating_sub(1)] {
                    assert_eq!(Tick::new(tick).covering(ns), ns.div_ceil(tick), "{ns}, {tick}");
                }
            }
        }
    }
}
