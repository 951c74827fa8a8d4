//! Reproducible random numbers, in one named stream per consumer.
//!
//! A stream's draws depend only on the run's seed and the stream's name. A new consumer does not
//! change the draws of other consumers. Two runs that differ only in their queue discipline draw
//! the same random losses, page sizes and think times (common random numbers).
//!
//! Source: PCG64-MCG of `rand_pcg`, whose output is documented as portable.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::math;

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    generator: Pcg64Mcg,
    /// The recorded draws, if this stream replays some. A simulation has none.
    script: Option<Box<Script>>,
}

/// Recorded draws, and the number of draws taken.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Script {
    draws: Vec<u64>,
    taken: usize,
}

impl Rng {
    /// Returns the stream called `name` of the run with seed `seed`.
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a over the bytes of the seed and the name. The generator's own seeding distributes
        // the hash further.
        let hash = seed
            .to_le_bytes()
            .into_iter()
            .chain(name.bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self { generator: Pcg64Mcg::seed_from_u64(hash), script: None }
    }

    /// Returns a stream whose first draws are `draws`, to replay recorded draws. Further draws are
    /// zero.
    pub fn saying(draws: &[u64]) -> Self {
        let script = Script { draws: draws.to_vec(), taken: 0 };
        Self { generator: Pcg64Mcg::seed_from_u64(0), script: Some(Box::new(script)) }
    }

    /// Returns the number of draws taken from a stream of [`Self::saying`]; zero for a stream of
    /// [`Self::stream`].
    pub fn said(&self) -> usize {
        self.script.as_ref().map_or(0, |script| script.taken)
    }

    /// Returns the next draw, which has 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        match &mut self.script {
            None => self.generator.next_u64(),
            Some(script) => script.next(),
        }
    }

    /// Returns the upper 32 bits of the next draw.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Returns the upper 16 bits of the next draw.
    #[inline]
    pub fn next_u16(&mut self) -> u16 {
        (self.next_u64() >> 48) as u16
    }

    /// Returns a random integer below `bound`, by multiply-and-shift; zero if `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a uniform number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniform number in `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns an exponentially distributed number with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.unit())
    }

    /// Returns a normally distributed number with the given mean and standard deviation. The
    /// function computes one of the two numbers of the Box–Muller transform (1958).
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        let radius = math::sqrt(-2.0 * math::ln(1.0 - self.unit()));
        mean + sd * radius * math::cos(std::f64::consts::TAU * self.unit())
    }

    /// Returns a lognormally distributed number. `mean` and `sd` are the mean and the standard
    /// deviation of the number, not of its logarithm.
    pub fn lognormal(&mut self, mean: f64, sd: f64) -> f64 {
        let variance = math::ln(1.0 + (sd / mean) * (sd / mean));
        let mu = math::ln(mean) - variance / 2.0;
        math::exp(self.normal(mu, math::sqrt(variance)))
    }

    /// Returns a number from the largest extreme value (Gumbel) distribution with location `a` and
    /// scale `b` (Färber 2002).
    pub fn extreme(&mut self, a: f64, b: f64) -> f64 {
        // Both logarithms need positive arguments, so `u` must lie strictly between 0 and 1.
        let u = (self.unit() + f64::MIN_POSITIVE).min(1.0 - f64::EPSILON / 2.0);
        a - b * math::ln(-math::ln(u))
    }
}

impl Script {
    #[cold]
    fn next(&mut self) -> u64 {
        let draw = self.draws.get(self.taken).copied().unwrap_or(0);
        self.taken += 1;
        draw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_says_what_it_is_told_to() {
        let mut rng = Rng::saying(&[u64::MAX, 0xdead_beef_0123_4567, 6 << 48]);
        assert_eq!(rng.next_u64(), u64::MAX);
        assert_eq!(rng.next_u32(), 0xdead_beef);
        assert_eq!((rng.next_u16(), rng.said()), (6, 3));
        assert_eq!((rng.next_u64(), rng.said()), (0, 4));
        assert_eq!(Rng::stream(1, "any").said(), 0);
    }

    #[test]
    fn a_stream_is_fixed_for_ever() {
        let mut rng = Rng::stream(7, "wan.loss");
        let draws: Vec<_> = (0..2).map(|_| rng.next_u64()).collect();
        assert_eq!(draws, GOLDEN);
    }
    const GOLDEN: [u64; 2] = [781_832_842_100_719_260, 4_355_131_974_937_726_646];

    #[test]
    fn streams_do_not_disturb_each_other() {
        let alone = Rng::stream(7, "wan.loss").next_u64();
        let mut other = Rng::stream(7, "web.think");
        other.next_u64();
        assert_eq!(Rng::stream(7, "wan.loss").next_u64(), alone);
        assert_ne!(Rng::stream(8, "wan.loss").next_u64(), alone);
    }

    #[test]
    fn distributions_have_their_means() {
        let mut rng = Rng::stream(1, "means");
        let mut mean = |draw: fn(&mut Rng) -> f64| {
            (0..100_000).map(|_| draw(&mut rng)).sum::<f64>() / 100_000.0
        };
        for (got, want, by) in [
            (mean(Rng::unit), 0.5, 0.005),
            (mean(|rng| rng.exponential(3.0)), 3.0, 0.05),
            (mean(|rng| rng.normal(10.0, 2.0)), 10.0, 0.05),
            (mean(|rng| rng.lognormal(100.0, 50.0)), 100.0, 1.0),
            // The mean of Ext(a, b) is a + γb.
            (mean(|rng| rng.extreme(55.0, 6.0)), 55.0 + 0.577_215_7 * 6.0, 0.1),
            (mean(|rng| rng.below(10) as f64), 4.5, 0.05),
        ] {
            assert!((got - want).abs() < by, "{got} is not {want} ± {by}");
        }
    }
}
