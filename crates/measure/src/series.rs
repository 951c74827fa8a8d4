//! A time series of durations with one bin per step, for figures of a delay over time.
//!
//! Samples arrive in nearly rising order of time, so one bin is open and the other bins are closed.
//! The median requires stored samples. The open bin stores up to [`KEPT`] samples. When the store
//! is full, the bin discards every second sample and from then on stores every second, fourth, …
//! sample. This systematic sampling uses no random numbers. The median is exact if a bin receives
//! up to [`KEPT`] samples. Beyond that, it is the median of at least half of [`KEPT`] samples,
//! taken at equal intervals from the samples of the bin. A late sample, which belongs to a closed
//! bin, counts in all values of the bin but the median. A late sample whose bin does not exist
//! makes a new bin.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant};

use crate::select::select;

/// The maximum number of samples stored in the open bin.
const KEPT: usize = 256;
/// The number of places for the stored samples and for samples that are not counted yet. Counting
/// many samples at once takes fewer instructions than counting each sample when it arrives.
const BUFFER: usize = 2 * KEPT;

/// The samples within one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The number of the step since time zero. Steps without samples have no bin.
    pub step: u64,
    /// The number of samples.
    pub n: u64,
    /// The smallest sample.
    pub min: Duration,
    /// The mean of the samples, rounded down.
    pub mean: Duration,
    /// The largest sample.
    pub max: Duration,
    /// The median of the samples: for an even number of samples, the lower of the two middle
    /// samples. With more than 256 samples, it is the median of evenly spaced samples.
    pub p50: Duration,
}

/// A series to which samples are added.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    closed: Vec<Bin>,
    /// The width of a bin in nanoseconds.
    width: u64,
    /// The start of the open bin. Before the first sample, it is a time later than the end of any
    /// run.
    begins: u64,
    /// The stored samples of the open bin, then its samples that are not counted yet, then unused
    /// places.
    buffer: Vec<u64>,
    /// The number of stored and uncounted samples in `buffer`.
    filled: usize,
    /// The number of stored samples in `buffer`.
    stored: usize,
    /// The number of samples for each stored sample; a power of two.
    stride: u64,
    sums: Sums,
}

/// The exact values of the counted samples of a bin.
#[derive(Clone, Copy, Debug)]
struct Sums {
    n: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Sums {
    const NONE: Self = Self { n: 0, sum: 0, min: u64::MAX, max: 0 };

    fn add(&mut self, samples: &[u64]) {
        self.n += samples.len() as u64;
        for &value in samples {
            self.sum += u128::from(value);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
    }
}

impl Series {
    /// Returns an empty series with bins of width `step` and memory for `bins` bins, so that
    /// closing a bin allocates nothing.
    pub(crate) fn new(step: Duration, bins: usize) -> Self {
        Self {
            closed: Vec::with_capacity(bins),
            width: step.as_nanos().max(1),
            begins: 1 << 63,
            buffer: Vec::new(),
            filled: 0,
            stored: 0,
            stride: 1,
            sums: Sums::NONE,
        }
    }

    /// Adds a sample taken at `at`.
    #[inline]
    pub(crate) fn record(&mut self, at: Instant, span: Duration) {
        let (at, value) = (at.as_nanos(), span.as_nanos());
        // The subtraction wraps, so one comparison covers times before and after the open bin.
        if at.wrapping_sub(self.begins) >= self.width && !self.open(at, value) {
            return;
        }
        if self.filled >= self.buffer.len() {
            self.make_room();
        }
        self.buffer[self.filled] = value;
        self.filled += 1;
    }

    /// Returns the bins, in rising order of time.
    pub(crate) fn finish(mut self) -> Vec<Bin> {
        self.close();
        self.closed
    }

    #[cold]
    fn make_room(&mut self) {
        self.count_new();
        self.buffer.resize(BUFFER, 0);
    }

    /// Counts the samples that are not counted yet, and stores every `stride`-th of them.
    #[inline]
    fn count_new(&mut self) {
        let (begin, first) = (self.stored, self.sums.n);
        self.sums.add(&self.buffer[begin..self.filled]);
        if self.stride == 1 && self.filled <= KEPT {
            // All samples so far are stored, so the new samples already have their places.
            self.stored = self.filled;
            return;
        }
        rare();
        self.thin(begin, first);
    }

    /// Stores every `stride`-th sample from the place `begin` on. The sample at `begin` has the
    /// number `first` in its bin.
    #[inline(never)]
    fn thin(&mut self, begin: usize, first: u64) {
        let mut number = first;
        if self.stride == 1 {
            self.stored = KEPT;
            number = KEPT as u64;
        }
        number = number.next_multiple_of(self.stride);
        while number < self.sums.n {
            self.store(begin + (number - first) as usize);
            number += self.stride;
        }
        self.filled = self.stored;
    }

    /// Stores the sample at `place` behind the stored samples.
    fn store(&mut self, place: usize) {
        if self.stored == KEPT {
            // KEPT is even, so the stored samples have numbers that are multiples of the new
            // stride. This sample has the next such number.
            (0..KEPT / 2).for_each(|place| self.buffer[place] = self.buffer[2 * place]);
            self.stored = KEPT / 2;
            self.stride *= 2;
        }
        self.buffer[self.stored] = self.buffer[place];
        self.stored += 1;
    }

    /// Opens the bin of a sample outside the open bin. Returns false if the sample is late; its
    /// closed bin then counts it.
    #[cold]
    fn open(&mut self, at: u64, value: u64) -> bool {
        if self.filled > 0 && at < self.begins {
            self.record_late(at / self.width, value);
            return false;
        }
        self.close();
        self.begins = at - at % self.width;
        true
    }

    fn close(&mut self) {
        self.count_new();
        let Sums { n, sum, min, max } = self.sums;
        let Some(mean) = sum.checked_div(u128::from(n)) else { return };
        let middle = (self.stored - 1) / 2;
        let p50 = select(&mut self.buffer[..self.stored], middle);
        self.closed.push(Bin {
            step: self.begins / self.width,
            n,
            min: Duration::from_nanos(min),
            mean: Duration::from_nanos(mean as u64),
            max: Duration::from_nanos(max),
            p50: Duration::from_nanos(p50),
        });
        (self.filled, self.stored, self.stride, self.sums) = (0, 0, 1, Sums::NONE);
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
