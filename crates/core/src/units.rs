//! Sizes and rates as separate types, so that they cannot be confused.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Add for Bytes {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        Self(sizes.map(|size| size.0).sum())
    }
}

/// A link or pacing rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Returns the rate of `bits` per second, or `None` for zero, at which a queue would never
    /// drain.
    pub const fn new(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Returns the rate in bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the time to serialise `size` at this rate, rounded up to a whole nanosecond.
    ///
    /// Because of the rounding, a modelled link is never faster than its stated rate.
    ///
    /// # Panics
    ///
    /// If the time exceeds 2^64 ns (584 years).
    #[inline]
    pub fn transmit_time(self, size: Bytes) -> Duration {
        // The product of a size below 2 GB fits into 64 bits: 2^31 · 8 · 10^9 < 2^64.
        if size.0 < 1 << 31 {
            return Duration::from_nanos((size.0 * 8_000_000_000).div_ceil(self.0));
        }
        let nanos = (u128::from(size.0) * 8_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).expect("no transfer takes 584 years"))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bps if bps % 1_000_000_000 == 0 => write!(f, "{} Gbit/s", bps / 1_000_000_000),
            bps if bps % 100_000 == 0 => write!(f, "{} Mbit/s", bps as f64 / 1e6),
            bps if bps % 100 == 0 => write!(f, "{} kbit/s", bps as f64 / 1e3),
            bps => write!(f, "{bps} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmit_time_is_exact_and_rounds_up() {
        for (bps, size, want) in [
            (1_000_000, 1_500, "12ms"),
            (8_000_000_000, 1, "1ns"),
            (3, 1, "2666666667ns"),
            (10_000_000_000, 1 << 40, "879609302221ns"),
        ] {
            let rate = BitRate::new(bps).unwrap();
            let took = rate.transmit_time(Bytes(size));
            assert_eq!(took.to_string(), want, "{size} B at {rate}");
        }
    }

    #[test]
    fn rates_print_as_people_write_them() {
        for (bps, want) in
            [(12_000_000, "12 Mbit/s"), (1_500_000, "1.5 Mbit/s"), (64_000, "64 kbit/s")]
        {
            assert_eq!(BitRate::new(bps).unwrap().to_string(), want);
        }
    }
}
