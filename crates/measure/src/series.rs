//! Durations over time, one bin per step, for figures of a delay over time.
//!
//! Samples arrive in nearly rising order of time, so one bin is open and the others are closed. The
//! median requires stored samples. The open bin keeps up to [`KEPT`]. When they are full it
//! discards every other one and from then on takes every second, fourth, … (systematic sampling,
//! without chance). With up to [`KEPT`] samples in a bin the median is exact. Beyond that, it is
//! the median of at least half as many, evenly spread over the bin. A late sample, for a bin
//! already closed, counts in all figures but the median.

use aqmlab_core::{Duration, Instant};

/// Samples kept of the open bin.
const KEPT: usize = 256;

/// The samples within one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The number of the step since time zero. Steps without samples have no bin.
    pub step: u64,
    /// The number of samples.
    pub n: u64,
    /// The least.
    pub min: Duration,
    /// The mean, rounded down.
    pub mean: Duration,
    /// The greatest.
    pub max: Duration,
    /// The median: of all samples up to 256, of an even choice of them beyond.
    pub p50: Duration,
}

/// Collects samples into bins.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    closed: Vec<Bin>,
    /// Width of a bin in nanoseconds.
    width: u64,
    /// The start of the open bin; before the first sample, later than any run.
    begins: u64,
    n: u64,
    sum: u128,
    min: u64,
    max: u64,
    kept: Vec<u64>,
    /// The number of samples for each stored one; a power of two.
    stride: u64,
}

impl Series {
    /// An empty series of bins `step` wide, with room for `bins` of them, so that nothing is
    /// allocated while it is filled.
    pub(crate) fn new(step: Duration, bins: usize) -> Self {
        Self {
            closed: Vec::with_capacity(bins),
            width: step.as_nanos().max(1),
            begins: 1 << 63,
            n: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            kept: Vec::new(),
            stride: 1,
        }
    }

    /// Adds a sample taken at `at`.
    #[inline]
    pub(crate) fn record(&mut self, at: Instant, span: Duration) {
        let (at, value) = (at.as_nanos(), span.as_nanos());
        // Wrapping, so that one comparison covers times before the open bin and after it.
        if at.wrapping_sub(self.begins) >= self.width && !self.open(at, value) {
            return;
        }
        if self.n & (self.stride - 1) == 0 {
            self.keep(value);
        }
        self.n += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The bins, in rising order of time.
    pub(crate) fn finish(mut self) -> Vec<Bin> {
        self.close();
        self.closed
    }

    #[inline]
    fn keep(&mut self, value: u64) {
        if self.kept.len() == KEPT {
            // KEPT is even, so the remaining samples have numbers that are multiples of the new
            // stride, and this sample is the next of them.
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
        self.kept.push(value);
    }

    /// Opens the bin of a sample outside the open one; false if the sample was late and has
    /// been taken in already.
    #[cold]
    fn open(&mut self, at: u64, value: u64) -> bool {
        if self.n > 0 && at < self.begins {
            self.record_late(at / self.width, value);
            return false;
        }
        self.close();
        self.begins = at - at % self.width;
        true
    }

    fn close(&mut self) {
        let Some(mean) = self.sum.checked_div(u128::from(self.n)) else { return };
        let middle = (self.kept.len() - 1) / 2;
        let (_, &mut p50, _) = self.kept.select_nth_unstable(middle);
        self.closed.push(Bin {
            step: self.begins / self.width,
            n: self.n,
            min: Duration::from_nanos(self.min),
            mean: Duration::from_nanos(mean as u64),
            max: Duration::from_nanos(self.max),
            p50: Duration::from_nanos(p50),
        });
        self.kept.clear();
        (self.n, self.sum, self.min, self.max, self.stride) = (0, 0, u64::MAX, 0, 1);
    }

    fn record_late(&mut self, step: u64, value: u64) {
        let span = Duration::from_nanos(value);
        match self.closed.binary_search_by_key(&step, |bin| bin.step) {
            Ok(place) => {
                let bin = &mut self.closed[place];
                let sum = u128::from(bin.mean.as_nanos()) * u128::from(bin.n) + u128::from(value);
                bin.n += 1;
                bin.mean = Duration::from_nanos((sum / u128::from(bin.n)) as u64);
                bin.min = bin.min.min(span);
                bin.max = bin.max.max(span);
            }
            Err(place) => {
                let bin = Bin { step, n: 1, min: span, mean: span, max: span, p50: span };
                self.closed.insert(place, bin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(samples: impl IntoIterator<Item = (u64, u64)>) -> Vec<Bin> {
        let mut series = Series::new(Duration::from_micros(1), 0);
        for (step, ns) in samples {
            series.record(Instant::from_nanos(step * 1_000 + ns % 1_000), Duration::from_nanos(ns));
        }
        series.finish()
    }

    fn bin(step: u64, n: u64, [min, mean, max, p50]: [u64; 4]) -> Bin {
        let [min, mean, max, p50] = [min, mean, max, p50].map(Duration::from_nanos);
        Bin { step, n, min, mean, max, p50 }
    }

    #[test]
    fn samples_fall_into_the_bin_of_their_step() {
        assert_eq!(bins([]), []);
        assert_eq!(
            bins([(0, 5), (0, 1), (0, 9), (3, 4)]),
            [bin(0, 3, [1, 5, 9, 5]), bin(3, 1, [4, 4, 4, 4])]
        );
    }

    #[test]
    fn a_late_sample_counts_in_all_but_the_median() {
        assert_eq!(
            bins([(1, 10), (5, 10), (1, 20), (2, 7)]),
            [bin(1, 2, [10, 15, 20, 10]), bin(2, 1, [7; 4]), bin(5, 1, [10; 4])]
        );
    }

    #[test]
    fn many_samples_are_thinned_evenly() {
        let n = 100_000;
        let bin = bins((0..n).map(|ns| (7, ns)))[0];
        assert_eq!((bin.n, bin.min.as_nanos(), bin.max.as_nanos()), (n, 0, n - 1));
        assert_eq!(bin.mean.as_nanos(), (n - 1) / 2);
        let off = bin.p50.as_nanos().abs_diff(n / 2);
        assert!(off < n / 100, "median off by {off} of {n}");
    }
}
