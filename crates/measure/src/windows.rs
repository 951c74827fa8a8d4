//! Throughput over time, in windows on the grid of a series.
//!
//! Source: TEACUP (`analyse_throughput`). A sample is computed from the IP bytes that arrived in a
//! window of, for example, 1 s, and has the time of the middle of its window. The window advances
//! by a quarter of its length. Differences, pinned by tests: a window without arrivals is a sample
//! of zero, which TEACUP omits. Only windows wholly within the interval count, while TEACUP also
//! shows windows that overlap the ends of the interval.

use std::ops::Range;

use aqmlab_core::{Duration, Instant};

/// The windows in which the throughput of a series is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The step in which bytes are counted, and by which a window advances.
    pub step: Duration,
    /// The width of a window; a multiple of the step.
    pub width: Duration,
}

/// The throughput of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// The middle of the window.
    pub at: Instant,
    /// The throughput of IP packets in bits per second.
    pub bps: f64,
}

impl Windows {
    /// Returns the number of steps in a window.
    ///
    /// # Panics
    ///
    /// If the width is not a whole multiple of the step, or either is zero.
    pub fn steps(self) -> usize {
        let (step, width) = (self.step.as_nanos(), self.width.as_nanos());
        assert!(
            step > 0 && width > 0 && width % step == 0,
            "window {}: allowed are multiples of its step, {}",
            self.width,
            self.step
        );
        (width / step) as usize
    }

    /// Returns the samples of all windows wholly within `interval`. `bytes` holds the bytes that
    /// arrived in each step from time zero to the end of the trial.
    ///
    /// # Panics
    ///
    /// If the width is not a whole multiple of the step, or either is zero.
    pub fn series(self, bytes: &[u64], interval: Range<Instant>) -> Vec<Throughput> {
        let width = self.steps();
        let step = self.step.as_nanos();
        let first = interval.start.as_nanos().div_ceil(step) as usize;
        let end = ((interval.end.as_nanos() / step) as usize).min(bytes.len().max(first));
        let Some(last) = end.checked_sub(width).filter(|&last| last >= first) else {
            return Vec::new();
        };
        let mut sum: u64 = bytes[first..first + width].iter().sum();
        let mut samples = Vec::with_capacity(last + 1 - first);
        for start in first..=last {
            samples.push(self.sample(start, sum));
            sum -= bytes[start];
            sum += bytes.get(start + width).copied().unwrap_or(0);
        }
        samples
    }

    fn sample(self, start: usize, bytes: u64) -> Throughput {
        let begins = Instant::from_nanos(start as u64 * self.step.as_nanos());
        Throughput {
            at: begins + self.width / 2,
            bps: (bytes * 8) as f64 * 1e9 / self.width.as_nanos() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTERS: Windows =
        Windows { step: Duration::from_millis(250), width: Duration::from_secs(1) };

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Tests statement C-90.
    #[test]
    fn a_constant_rate_gives_itself_in_every_full_window_four_times_a_second() {
        let bytes = [312_500; 40];
        let series = QUARTERS.series(&bytes, at(0)..at(10_000));
        assert_eq!(series.len(), 37);
        assert!(series.iter().all(|sample| (sample.bps - 10e6).abs() < 1e-6));
        assert_eq!((series[0].at, series[1].at), (at(500), at(750)));
    }

    #[test]
    fn an_empty_window_of_a_series_is_a_zero() {
        let mut bytes = [0; 12];
        bytes[5] = 125;
        let series = QUARTERS.series(&bytes, at(0)..at(3_000));
        let filled = series.iter().filter(|sample| sample.bps > 0.0);
        let when: Vec<_> = filled.clone().map(|sample| sample.at).collect();
        assert_eq!(when, [at(1_000), at(1_250), at(1_500), at(1_750)]);
        assert!(filled.clone().all(|sample| (sample.bps - 1_000.0).abs() < 1e-9));
        assert_eq!(series.len(), 9);
    }

    #[test]
    fn windows_that_the_interval_cuts_do_not_count() {
        let bytes = [100; 40];
        for (from, to, windows) in
            [(0, 1_000, 1), (0, 999, 0), (1, 1_250, 1), (500, 400, 0), (9_000, 60_000, 1)]
        {
            let series = QUARTERS.series(&bytes, at(from)..at(to));
            assert_eq!(series.len(), windows, "{from} to {to}");
        }
        assert!(QUARTERS.series(&[], at(0)..at(5_000)).is_empty());
    }

    #[test]
    #[should_panic(expected = "window 1s: allowed are multiples of its step, 300ms")]
    fn a_window_is_a_multiple_of_its_step() {
        Windows { step: Duration::from_millis(300), ..QUARTERS }.steps();
    }
}
