//! Quantiles of any number of values, in bounded memory and without random numbers.
//!
//! Source: the histogram with a fixed relative width of Tene's `HdrHistogram`. Each octave is
//! divided into 128 buckets of equal width, so the relative error of a quantile is below 1/128.
//! Each bucket stores the sum of its values, and a quantile is the mean of the values in its
//! bucket. Values that are all equal are therefore returned exactly.

use std::collections::VecDeque;

use aqmlab_core::Duration;

/// The metrics of an application. Each metric has a name, which ends with the unit if there is one,
/// and a value.
pub type Summary = Vec<(&'static str, f64)>;

/// Smaller values share the bucket of this value.
const SMALLEST: f64 = 1e-9;
/// Larger values share the bucket of this value.
const LARGEST: f64 = 1e15;

/// The number of low bits dropped from a number's 64 bits. The exponent and the first seven bits of
/// the mantissa remain.
const DROPPED_BITS: u32 = 45;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    sum: f64,
}

/// A histogram from which quantiles are computed.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    /// The number of the first bucket that is stored.
    first: usize,
    buckets: VecDeque<Bucket>,
    count: u64,
    sum: f64,
    max: f64,
}

impl Quantiles {
    /// Adds one value. Infinities and NaN are ignored.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let at = self.slot((value.clamp(SMALLEST, LARGEST).to_bits() >> DROPPED_BITS) as usize);
        let bucket = &mut self.buckets[at];
        bucket.count += 1;
        bucket.sum += value;
        self.max = if self.count == 0 { value } else { self.max.max(value) };
        self.count += 1;
        self.sum += value;
    }

    /// Adds a duration, in milliseconds.
    pub fn add_ms(&mut self, span: Duration) {
        self.add(span.as_secs_f64() * 1e3);
    }

    /// Returns the index of bucket `number`. If the bucket is new, creates it and all buckets
    /// between it and the stored buckets.
    fn slot(&mut self, number: usize) -> usize {
        if self.buckets.is_empty() {
            self.first = number;
        }
        while number < self.first {
            self.buckets.push_front(Bucket::default());
            self.first -= 1;
        }
        while number - self.first >= self.buckets.len() {
            self.buckets.push_back(Bucket::default());
        }
        number - self.first
    }

    /// Returns the number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean of the values, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Returns the approximate value that a proportion `q` of all values does not exceed, by
    /// nearest rank; `None` without values.
    pub fn at(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().find(|bucket| {
            below += bucket.count;
            below >= rank
        })?;
        Some(bucket.sum / bucket.count as f64)
    }

    /// Adds the median, the 95th and 99th percentiles and the largest value to `out`, under
    /// `names`. Adds nothing if there are no values.
    pub fn report(&self, names: [&'static str; 4], out: &mut Summary) {
        if self.count > 0 {
            let [median, p95, p99, max] = names;
            for (name, q) in [(median, 0.5), (p95, 0.95), (p99, 0.99)] {
                out.extend(self.at(q).map(|value| (name, value)));
            }
            out.push((max, self.max));
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeated_values_come_back_exactly() {
        let mut values = Quantiles::default();
        for _ in 0..1_000 {
            values.add(20.125);
        }
        assert_eq!(values.at(0.5), Some(20.125));
        assert_eq!(values.mean(), Some(20.125));
        assert_eq!(Quantiles::default().at(0.5), None);
    }

    #[test]
    fn an_hour_of_samples_takes_no_more_room_than_a_minute() {
        let mut rng = Rng::stream(1, "room");
        let mut values = Quantiles::default();
        let mut room = 0;
        for n in 0..400_000 {
            values.add(rng.uniform(10.0, 1_000.0));
            if n == 20_000 {
                room = values.buckets.len();
            }
        }
        assert!(values.buckets.len() <= room + 2 && room < 1_000);
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_one_part_in_128(mut all in prop::collection::vec(1e-6..1e9_f64, 1..200), q in 0.01..1.0_f64) {
            let mut values = Quantiles::default();
            for &value in &all {
                values.add(value);
            }
            all.sort_by(f64::total_cmp);
            let want = all[((q * all.len() as f64).ceil() as usize).max(1) - 1];
            let got = values.at(q).unwrap();
            prop_assert!((got / want - 1.0).abs() <= 1.0 / 128.0, "{got} for {want}");
        }
    }
}
