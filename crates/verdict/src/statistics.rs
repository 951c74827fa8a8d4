//! Statistics over the seeds of a condition.
//!
//! The interval of a median consists of order statistics and assumes no distribution. The number of
//! values below the median is binomial with a probability of 1/2 (the sign test; David and
//! Nagaraja, "Order Statistics", 2003, §7.1). A paired difference is the median of the differences
//! of the seeds. Two conditions with the same seed have the same random values. The interval of the
//! difference is therefore usually narrower than the intervals of the two conditions.

use aqmlab_core::math;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The minimum confidence of the interval of six or more values.
const CONFIDENCE: f64 = 0.95;

/// Pairs of a seed and its value; `None` for a value that was not measured.
pub type BySeed = Vec<(u64, Option<f64>)>;

/// A median over seeds, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The median of the values.
    pub median: f64,
    /// The lower end of the interval that contains the distribution's median with at least 95 %
    /// confidence. With fewer than six values, the lower end is the smallest value, and the
    /// confidence is lower.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The number of seeds with a value.
    pub seeds: usize,
}

/// Returns the median of `values`; `None` without values. For an even number of values, it is the
/// mean of the two middle values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Returns the interval that contains the median of the values' distribution with at least 95 %
/// confidence. With fewer than six values, it consists of the smallest and the largest value.
/// Returns `None` without values.
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let count = sorted.len();
    let last = count.checked_sub(1)?;
    // This is the logarithm of the chance that exactly `rank` values lie below the median.
    let mut ln_chance = -(count as f64) * math::ln(2.0);
    let (mut rank, mut tail) = (0, 0.0);
    while rank < count / 2 {
        tail += math::exp(ln_chance);
        if 2.0 * tail > 1.0 - CONFIDENCE {
            break;
        }
        ln_chance += math::ln((count - rank) as f64 / (rank + 1) as f64);
        rank += 1;
    }
    let low = rank.saturating_sub(1);
    Some((sorted[low], sorted[last - low]))
}

/// Returns the median of `values` with its interval; `None` without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let (low, high) = interval(values)?;
    Some(Estimate { median: median(values)?, low, high, seeds: values.len() })
}

/// Returns the median and the interval of the differences `these` − `baseline`, over the seeds with
/// a value in both. Returns `None` if there is no such seed.
pub fn difference(these: &BySeed, baseline: &BySeed) -> Option<Estimate> {
    let pairs = these.iter().filter_map(|(seed, value)| {
        let other = baseline.iter().find(|(known, _)| known == seed)?.1?;
        Some((*value)? - other)
    });
    estimate(&pairs.collect::<Vec<_>>())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(last: u32) -> Vec<f64> {
        (1..=last).map(f64::from).collect()
    }

    #[test]
    fn an_interval_of_few_values_is_their_range() {
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[7.0]), Some((7.0, 7.0)));
        assert_eq!(interval(&[5.0, 1.0, 4.0, 2.0, 3.0]), Some((1.0, 5.0)));
    }

    #[test]
    fn an_interval_of_many_values_consists_of_order_statistics() {
        // The ranks follow the sign test at 95 %, from exact binomial sums.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (100, 40), (5_000, 2_431)] {
            let ends = (f64::from(rank), f64::from(count + 1 - rank));
            assert_eq!(interval(&to(count)), Some(ends), "{count}");
        }
        assert_eq!(median(&to(10)), Some(5.5));
    }

    #[test]
    fn a_difference_is_paired_by_seed() {
        let these = vec![(1, Some(10.0)), (2, Some(30.0)), (3, None), (4, Some(1.0))];
        let baseline = vec![(2, Some(20.0)), (1, Some(5.0)), (3, Some(9.0))];
        let found = difference(&these, &baseline).expect("two seeds are common");
        assert_eq!((found.median, found.low, found.high, found.seeds), (7.5, 5.0, 10.0, 2));
        assert_eq!(difference(&these, &Vec::new()), None);
    }
}
