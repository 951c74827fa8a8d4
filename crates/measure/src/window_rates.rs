//! The distribution of throughput over windows.
//!
//! Up to [`EXACT`] windows are stored exactly. If there are more, all windows are stored in a
//! [`Histogram`], so that memory does not grow with the active time of a flow. A quantile then has
//! a relative error of at most 0.1 %.

use aqmlab_core::Duration;

use crate::histogram::Histogram;

/// The maximum number of windows that are stored exactly. It is enough for 68 minutes of windows
/// that advance by 250 ms.
const EXACT: usize = 16_384;
/// The maximum number of windows for which a new flow gets memory: half a minute of windows that
/// advance by 250 ms. Most flows of a large trial may be short.
const AT_ONCE: u64 = 128;

/// The throughput of a flow in windows of one width.
#[derive(Clone, Debug, Default)]
pub struct WindowRates {
    width: Duration,
    counts: Counts,
    /// The number of windows with at least one arrival.
    nonempty: u64,
    /// The sum of the bytes of all windows.
    bytes: u128,
}

/// The bytes of each window.
#[derive(Clone, Debug)]
enum Counts {
    Exact(Vec<u64>),
    Many(Box<Histogram>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl WindowRates {
    /// Returns an empty distribution for windows of length `width`, with memory for `windows` of
    /// them, but for at most [`AT_ONCE`].
    pub(crate) fn new(width: Duration, windows: u64) -> Self {
        let counts = Counts::Exact(Vec::with_capacity(windows.min(AT_ONCE) as usize));
        Self { width, counts, ..Self::default() }
    }

    /// Adds a window with `bytes`.
    #[inline]
    pub(crate) fn record_one(&mut self, bytes: u64) {
        match &mut self.counts {
            Counts::Exact(counts) if counts.len() < EXACT => {
                counts.push(bytes);
                self.nonempty += u64::from(bytes > 0);
                self.bytes += u128::from(bytes);
            }
            _ => self.record(bytes, 1),
        }
    }

    /// Adds `n` windows with `bytes` each.
    pub(crate) fn record(&mut self, bytes: u64, n: u64) {
        if bytes > 0 {
            self.nonempty += n;
            self.bytes += u128::from(bytes) * u128::from(n);
        }
        match &mut self.counts {
            Counts::Exact(counts) if counts.len() as u64 + n <= EXACT as u64 => {
                counts.extend(std::iter::repeat_n(bytes, n as usize));
            }
            Counts::Exact(counts) => {
                let mut many = Box::new(Histogram::default());
                for &count in &*counts {
                    many.record_values(count, 1);
                }
                many.record_values(bytes, n);
                self.counts = Counts::Many(many);
            }
            Counts::Many(many) => many.record_values(bytes, n),
        }
    }

    /// Returns the number of windows.
    pub fn count(&self) -> u64 {
        match &self.counts {
            Counts::Exact(counts) => counts.len() as u64,
            Counts::Many(many) => many.count(),
        }
    }

    /// Returns the quantiles `qs` in bits per second (R's type 7). A window without arrivals counts
    /// as zero. Returns `None` if there is no window.
    ///
    /// # Panics
    ///
    /// If an element of `qs` is not from 0 to 1.
    pub fn quantiles<const N: usize>(&self, qs: [f64; N]) -> Option<[f64; N]> {
        if self.count() == 0 {
            return None;
        }
        let bytes = match &self.counts {
            Counts::Exact(counts) => {
                // Sorting integers is faster than sorting floating-point numbers.
                let mut sorted = counts.clone();
                sorted.sort_unstable();
                let sorted: Vec<f64> = sorted.into_iter().map(|count| count as f64).collect();
                qs.map(|q| crate::quantile(&sorted, q).unwrap_or_default())
            }
            Counts::Many(many) => {
                let ranks = many.ranks();
                qs.map(|q| {
                    let (whole, part) = ranks.quantile_value(q).unwrap_or_default();
                    whole as f64 + part
                })
            }
        };
        Some(bytes.map(|bytes| self.bps(bytes)))
    }

    /// Returns the mean in bits per second over the windows with an arrival, as in TEACUP; `None`
    /// if there is no such window.
    pub fn nonempty_mean(&self) -> Option<f64> {
        (self.nonempty > 0).then(|| self.bps(self.bytes as f64 / self.nonempty as f64))
    }

    fn bps(&self, bytes: f64) -> f64 {
        8e9 * bytes / self.width.as_nanos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(counts: impl IntoIterator<Item = u64>) -> WindowRates {
        let mut rates = WindowRates::new(Duration::from_secs(1), 0);
        for bytes in counts {
            rates.record_one(bytes);
        }
        rates
    }

    #[test]
    fn no_window_has_no_rate() {
        assert_eq!(rates([]).quantiles([0.5]), None);
        assert_eq!((rates([]).nonempty_mean(), rates([0]).nonempty_mean()), (None, None));
    }

    /// Tests statement C-90.
    #[test]
    fn quantiles_of_few_windows_are_exact_and_count_empty_ones() {
        let few = rates([0, 1_000_003, 0, 1_000_001]);
        let [least, middle, most] = few.quantiles([0.0, 0.5, 1.0]).unwrap();
        assert_eq!((least, middle, most), (0.0, 4_000_004.0, 8_000_024.0));
        assert_eq!(few.nonempty_mean(), Some(8_000_016.0));
    }

    #[test]
    fn quantiles_of_many_windows_are_within_a_thousandth() {
        let n = 3 * EXACT as u64;
        let many = rates((0..n).map(|one| 1_000_000 + one));
        assert_eq!((many.count(), rates((0..n).map(|_| 7)).quantiles([0.5])), (n, Some([56.0])));
        for q in [0.0, 0.05, 0.5, 0.95, 1.0] {
            let want = 8.0 * (1_000_000.0 + q * (n - 1) as f64);
            let [got] = many.quantiles([q]).unwrap();
            assert!((got - want).abs() <= want / 1_000.0, "{q}: {got} for {want}");
        }
        let mean = 8.0 * (1_000_000.0 + (n - 1) as f64 / 2.0);
        assert!((many.nonempty_mean().unwrap() - mean).abs() < 1e-6);
    }

    #[test]
    fn as_many_windows_as_are_promised_are_exact() {
        let mut exact = rates([9_000_001; 3]);
        exact.record(4_000_003, EXACT as u64 - 3);
        assert_eq!(exact.quantiles([0.5]), Some([32_000_024.0]));
    }

    #[test]
    fn between_two_of_many_windows_a_quantile_interpolates() {
        let mut many = rates([]);
        many.record(1_000_000, EXACT as u64);
        many.record(2_000_000, EXACT as u64);
        let [middle] = many.quantiles([0.5]).unwrap();
        assert!((middle - 12e6).abs() < 12e3, "{middle}");
    }

    #[test]
    fn windows_that_are_alike_may_come_together() {
        for n in [5, EXACT as u64 - 1, EXACT as u64, EXACT as u64 + 1] {
            let (mut together, mut apart) = (rates([9]), rates([9]));
            together.record(4, n);
            for _ in 0..n {
                apart.record(4, 1);
            }
            let of = |rates: &WindowRates| {
                (rates.count(), rates.quantiles([0.0, 0.9, 1.0]), rates.nonempty_mean())
            };
            assert_eq!(of(&together), of(&apart));
        }
    }
}
