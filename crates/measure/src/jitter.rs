//! The variation of one-way delay between successive arrivals.
//!
//! Sources: RFC 3550 §6.4.1 and appendix A.8; RFC 3393 for the variation between successive
//! packets. Only differences of delays are used, so an offset between clocks cancels.

use aqmlab_core::Duration;

/// The variation of one-way delay between successive arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// The mean absolute difference between successive one-way delays: RFC 3393's variation without
    /// its sign.
    pub mean: Duration,
    /// The interarrival jitter of RFC 3550 §6.4.1 at the end, smoothed with a gain of 1/16.
    pub smoothed: Duration,
}

/// The sums from which the jitter of successive arrivals is computed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variation {
    /// The last delay.
    previous: u64,
    /// The sum of the differences.
    sum: u128,
    /// The number of delays.
    n: u64,
    /// RFC 3550's estimate in nanoseconds, times 16. A value above 2^64, which means an estimate
    /// above 36 years, is stored as 2^64 − 1.
    smoothed: u64,
}

impl Variation {
    /// The longest delay for which [`Self::follow_bounded`] may be called.
    pub(crate) const LONGEST: u64 = 1 << 59;

    /// Adds the delay of the next arrival in nanoseconds. All delays may include one constant, such
    /// as the offset between clocks.
    #[inline]
    pub(crate) fn follow(&mut self, delay: u64) {
        self.add(delay, u64::saturating_add);
    }

    /// Does what [`Self::follow`] does, if no delay so far exceeds [`Self::LONGEST`]. `smoothed` then
    /// fits into 64 bits.
    #[inline]
    pub(crate) fn follow_bounded(&mut self, delay: u64) {
        self.add(delay, |one, other| one + other);
    }

    /// Adds a delay. `plus` is the addition for RFC 3550's estimate.
    #[inline]
    fn add(&mut self, delay: u64, plus: impl Fn(u64, u64) -> u64) {
        if self.n == 0 {
            self.previous = delay;
        }
        let difference = delay.abs_diff(self.previous);
        self.previous = delay;
        self.n += 1;
        self.sum += u128::from(difference);
        // The rounding follows RFC 3550, appendix A.8.
        let decayed = self.smoothed - (plus(self.smoothed, 8) >> 4);
        self.smoothed = plus(decayed, difference);
    }

    /// Returns the jitter so far.
    pub(crate) fn jitter(&self) -> Jitter {
        let mean = self.sum.checked_div(u128::from(self.n.saturating_sub(1))).unwrap_or(0);
        Jitter {
            mean: Duration::from_nanos(mean as u64),
            smoothed: Duration::from_nanos(self.smoothed / 16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_of_differences() {
        let mut variation = Variation::default();
        assert_eq!(variation.jitter(), Jitter::default());
        for delay in [20_000, 20_000, 24_000, 23_000] {
            variation.follow(delay);
        }
        // The values are computed by hand after RFC 3550: 0; +4000; +1000 − (4008 >> 4). The result
        // is divided by 16.
        let want = Jitter {
            mean: Duration::from_nanos(1_666),
            smoothed: Duration::from_nanos((4_000 + 1_000 - 250) / 16),
        };
        assert_eq!(variation.jitter(), want);
    }

    #[test]
    fn the_longest_delays_do_not_overflow_the_bounded_sum() {
        let (mut bounded, mut saturating) = (Variation::default(), Variation::default());
        for n in 0..1_000 {
            bounded.follow_bounded(n % 2 * Variation::LONGEST);
            saturating.follow(n % 2 * Variation::LONGEST);
        }
        assert_eq!(bounded.jitter(), saturating.jitter());
    }

    #[test]
    fn a_steady_change_is_its_own_smoothed_jitter() {
        let mut variation = Variation::default();
        (0..1_000).for_each(|n| variation.follow(n % 2 * 8_000));
        let off = variation.jitter().smoothed.as_nanos().abs_diff(8_000);
        assert!(off <= 8, "off by {off}");
    }
}
