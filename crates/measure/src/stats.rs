//! Statistics of complete lists of samples: quantiles, box plots, the mean, the standard deviation
//! and the fairness index.
//!
//! Sources: Hyndman and Fan 1996 for the quantile (their type 7, R's default); Tukey 1977 and R's
//! `fivenum` and `boxplot.stats` for the box, as in TEACUP's plots; Jain, Chiu and Hawe 1984 for
//! the fairness index. Hinges and type-7 quartiles agree when the number of samples is odd, and may
//! differ when it is even. The tables of a trial contain type-7 quartiles.
//!
//! `histogram.rs` computes the quantiles of durations, and `window_rates.rs` computes the quantiles
//! of throughput.

use aqmlab_core::math::sqrt;

/// Returns the `q`-quantile of sorted samples, by linear interpolation between the two order
/// statistics around `q · (n − 1)`; `None` without samples.
///
/// # Panics
///
/// If `q` is not from 0 to 1.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "quantile {q}: allowed is 0 to 1");
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    let below = (position as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

/// The numbers of a box plot.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxStats {
    /// The number of samples.
    pub n: usize,
    /// The smallest sample that is at most 1.5 box heights below the box.
    pub lower_whisker: f64,
    /// The lower hinge: the median of the lower half.
    pub lower_hinge: f64,
    /// The median of all samples.
    pub median: f64,
    /// The upper hinge: the median of the upper half.
    pub upper_hinge: f64,
    /// The largest sample that is at most 1.5 box heights above the box.
    pub upper_whisker: f64,
    /// Samples beyond the whiskers, in rising order.
    pub outliers: Vec<f64>,
}

/// Returns Tukey's five numbers of sorted samples: minimum, lower hinge, median, upper hinge and
/// maximum. If the number of samples is odd, the median belongs to both halves. Returns `None`
/// without samples.
pub fn fivenum(sorted: &[f64]) -> Option<[f64; 5]> {
    let last = sorted.len().checked_sub(1)?;
    let n = sorted.len();
    // Tukey's depth of a hinge, in half positions from either end, which makes it an integer.
    let hinge = n.div_ceil(2) - 1;
    let at = |half: usize| f64::midpoint(sorted[half / 2], sorted[half.div_ceil(2)]);
    Some([sorted[0], at(hinge), at(last), at(2 * last - hinge), sorted[last]])
}

/// Returns the box, whiskers and outliers of sorted samples, as R's `boxplot` draws them; `None`
/// without samples.
pub fn box_stats(sorted: &[f64]) -> Option<BoxStats> {
    let [_, lower_hinge, median, upper_hinge, _] = fivenum(sorted)?;
    let reach = 1.5 * (upper_hinge - lower_hinge);
    let (low, high) = (lower_hinge - reach, upper_hinge + reach);
    let inside = |value: f64| (low..=high).contains(&value);
    let within = || sorted.iter().copied().filter(|&value| inside(value));
    Some(BoxStats {
        n: sorted.len(),
        lower_whisker: within().next().unwrap_or(lower_hinge),
        lower_hinge,
        median,
        upper_hinge,
        upper_whisker: within().next_back().unwrap_or(upper_hinge),
        outliers: sorted.iter().copied().filter(|&value| !inside(value)).collect(),
    })
}

/// Returns Jain's fairness index of `n` shares. It ranges from `1/n` (one share has everything) to
/// 1 (all shares are equal). A share of zero counts. Returns `None` if all shares are zero, and
/// without shares.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Returns the mean of the samples; `None` without samples.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// Returns the sample standard deviation, with the divisor `n − 1`; `None` for fewer than two
/// samples.
pub fn standard_deviation(samples: &[f64]) -> Option<f64> {
    let centre = mean(samples)?;
    let squares: f64 = samples.iter().map(|value| (value - centre) * (value - centre)).sum();
    (samples.len() > 1).then(|| sqrt(squares / (samples.len() - 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests statement C-93. The expected values are the output of R 4.
    #[test]
    fn hinges_are_those_of_fivenum() {
        for (samples, want) in [
            (&[7.0][..], [7.0, 7.0, 7.0, 7.0, 7.0]),
            (&[1.0, 2.0], [1.0, 1.0, 1.5, 2.0, 2.0]),
            (&[1.0, 2.0, 3.0], [1.0, 1.5, 2.0, 2.5, 3.0]),
            (&[1.0, 2.0, 3.0, 4.0], [1.0, 1.5, 2.5, 3.5, 4.0]),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.5, 5.0, 6.0]),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 2.5, 4.0, 5.5, 7.0]),
        ] {
            let got = fivenum(samples).unwrap();
            assert!(got.iter().eq(want.iter()), "{samples:?}: {got:?}");
        }
        assert!(fivenum(&[]).is_none());
    }

    /// C-93: hinges and type-7 quartiles agree for an odd number of samples and differ for an even
    /// number.
    #[test]
    fn quantiles_are_of_type_7() {
        let odd = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        for (samples, q, want) in [
            (&odd[..], 0.25, 2.5),
            (&odd, 0.5, 4.0),
            (&odd, 0.75, 5.5),
            (&odd[..6], 0.25, 2.25),
            (&odd[..6], 0.5, 3.5),
            (&odd[..6], 0.75, 4.75),
        ] {
            assert_eq!(quantile(samples, q), Some(want), "{q} of {samples:?}");
        }
        assert_eq!(quantile(&odd, 0.05), Some(1.3));
        assert_eq!((quantile(&odd, 0.0), quantile(&odd, 1.0)), (Some(1.0), Some(7.0)));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn whiskers_end_at_samples_and_the_rest_are_outliers() {
        let stats = box_stats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 50.0]).unwrap();
        assert_eq!((stats.lower_hinge, stats.median, stats.upper_hinge), (3.0, 5.5, 8.0));
        assert_eq!((stats.lower_whisker, stats.upper_whisker), (1.0, 9.0));
        assert_eq!(stats.outliers, [50.0]);
        assert_eq!(box_stats(&[]), None);
    }

    /// Tests statement C-92.
    #[test]
    fn jain_is_one_for_equals_and_one_of_n_for_a_monopoly() {
        for n in 1..20 {
            assert_eq!(jain(&vec![3.0; n]), Some(1.0), "{n} equals");
            let mut one = vec![0.0; n];
            one[n / 2] = 2.0;
            assert_eq!(jain(&one), Some(1.0 / n as f64), "one of {n}");
        }
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn spread_is_that_of_a_sample() {
        assert_eq!(standard_deviation(&[1.0, 3.0]), Some(sqrt(2.0)));
        assert_eq!((standard_deviation(&[1.0]), mean(&[])), (None, None));
    }
}
