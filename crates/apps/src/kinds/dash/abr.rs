//! The choice of a rate in dash.js 2.0.0.
//!
//! Source: dash.js 2.0.0, `src/streaming/rules/abr`: `ThroughputRule`, `BufferOccupancyRule`,
//! `InsufficientBufferRule`, `AbandonRequestsRule`, and `ABRRulesCollection`. In
//! `ABRRulesCollection`, a STRONG rule overrides a DEFAULT rule, and among rules of equal priority
//! the highest rate wins.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

/// The proportion of the throughput that may be used (`BANDWIDTH_SAFETY`).
pub(crate) const SAFETY: f64 = 0.9;
/// The number of samples in the average (`AVERAGE_THROUGHPUT_SAMPLE_AMOUNT_VOD`).
const SAMPLES: usize = 3;
/// The buffer above which the highest rate is chosen (`RICH_BUFFER_THRESHOLD`).
const RICH_BUFFER: Duration = Duration::from_secs(20);
/// The minimum time between two applications of the insufficient-buffer rule
/// (`INSUFFICIENT_BUFFER_SAFETY`).
const RECHECK: Duration = Duration::from_secs(1);
/// The time after the first byte of a segment in which the segment is not abandoned
/// (`GRACE_TIME_THRESHOLD`).
const GRACE: Duration = Duration::from_millis(500);
/// The time after an abandoned segment in which the rate does not rise (`ABANDON_TIMEOUT`).
pub(crate) const LOCK_OUT: Duration = Duration::from_secs(10);
/// The number of samples stored (`MAX_MEASUREMENTS_TO_KEEP`).
const KEPT: usize = 20;

/// The input of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) now: Instant,
    /// The rates in bits per second, in rising order.
    pub(crate) rates: &'a [u64],
    /// The index of the current rate.
    pub(crate) quality: usize,
    pub(crate) buffer: Duration,
    /// Whether the state of the buffer is LOADED; otherwise it is EMPTY.
    pub(crate) loaded: bool,
    /// Whether the state of the buffer has ever been LOADED.
    pub(crate) loaded_once: bool,
}

impl View<'_> {
    pub(crate) const fn top(&self) -> usize {
        self.rates.len() - 1
    }
}

/// Returns the index just below the first rate that is at least `kbps`, or zero if that rate is the
/// lowest. If all rates are below `kbps`, returns the last index (`getQualityForBitrate`).
pub(crate) fn index_for(rates: &[u64], kbps: f64) -> usize {
    rates
        .iter()
        .position(|&rate| rate as f64 >= kbps * 1_000.0)
        .map_or(rates.len() - 1, |first| first.saturating_sub(1))
}

/// The throughputs of past segments in bits per second, the most recent first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throughputs(VecDeque<f64>);

impl Throughputs {
    /// Adds a sample, unless it is infinite or equal to the last sample. Stores at most [`KEPT`]
    /// samples.
    pub(crate) fn push(&mut self, bps: f64) {
        if bps.is_finite() && self.0.front() != Some(&bps) {
            self.0.truncate(KEPT - 1);
            self.0.push_front(bps);
        }
    }

    /// Returns the samples, the most recent first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().copied()
    }

    /// Returns the number of samples.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the mean of up to `n` of the last samples, times the safety factor, in whole kbit/s;
    /// `None` without a sample.
    pub(crate) fn safe_kbps(&self, n: usize) -> Option<f64> {
        let n = n.min(self.0.len());
        let sum: f64 = self.iter().take(n).sum();
        (n > 0).then(|| (sum / n as f64 * SAFETY / 1_000.0).round())
    }
}

/// The rules of dash.js 2.0.0.
#[derive(Clone, Debug, Default)]
pub(crate) struct DashJs {
    /// The time at which the insufficient-buffer rule last applied, if ever.
    emptied: Option<Instant>,
}

impl DashJs {
    /// Returns the index of the rate for the next segment.
    pub(crate) fn choose(&mut self, view: View, throughputs: &Throughputs) -> usize {
        let strong = self.insufficient(view).max(Self::occupancy(view));
        strong.or_else(|| Self::throughput(view, throughputs)).unwrap_or(view.quality)
    }

    /// Returns the result of [`index_for`] for the average throughput, if the buffer is LOADED and
    /// there is a sample (a DEFAULT rule).
    fn throughput(view: View, throughputs: &Throughputs) -> Option<usize> {
        let kbps = throughputs.safe_kbps(SAMPLES).filter(|_| view.loaded)?;
        Some(index_for(view.rates, kbps))
    }

    /// Returns the index of the highest rate if the buffer is above [`RICH_BUFFER`] (a STRONG
    /// rule).
    fn occupancy(view: View) -> Option<usize> {
        (view.buffer > RICH_BUFFER).then(|| view.top())
    }

    /// Returns the index of the lowest rate if the buffer has become EMPTY, at most once per
    /// [`RECHECK`] (a STRONG rule).
    fn insufficient(&mut self, view: View) -> Option<usize> {
        let settled = self.emptied.is_none_or(|last| view.now.since(last) >= RECHECK);
        if !view.loaded_once || view.loaded || !settled {
            return None;
        }
        self.emptied = Some(view.now);
        Some(0)
    }
}

/// A segment in transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The time since the first byte of the segment.
    pub(crate) elapsed: Duration,
    /// The number of bytes read.
    pub(crate) read: u64,
    /// The size of the response in bytes.
    pub(crate) size: u64,
    /// The playback time of the segment.
    pub(crate) length: Duration,
    /// The estimated download time, in segment lengths, at and above which a download is abandoned.
    pub(crate) patience: f64,
}

/// Returns the lower index at which to request a segment again, if the segment would take too long.
/// Returns `None` within [`GRACE`].
pub(crate) fn abandon(progress: Progress, quality: usize, rates: &[u64]) -> Option<usize> {
    let Progress { elapsed, read, size, length, patience } = progress;
    if quality == 0 || elapsed < GRACE || read >= size {
        return None;
    }
    let measured_kbps = (read as f64 * 8.0 / (elapsed.as_secs_f64() * 1e3)).round();
    let estimate_s = size as f64 * 8.0 * 0.001 / measured_kbps;
    if estimate_s < patience * length.as_secs_f64() {
        return None;
    }
    Some(index_for(rates, measured_kbps * SAFETY)).filter(|&lower| lower < quality)
}

#[cfg(test)]
mod tests {
    use super::super::ladder;
    use super::*;

    const TOP: usize = 19;

    fn rates() -> &'static [u64] {
        ladder::offer("2s").1
    }

    fn view(buffer_ms: u64, quality: usize) -> View<'static> {
        View {
            now: Instant::from_millis(50_000),
            rates: rates(),
            quality,
            buffer: Duration::from_millis(buffer_ms),
            loaded: buffer_ms >= 500,
            loaded_once: true,
        }
    }

    fn samples(latest_first: &[f64]) -> Throughputs {
        let mut throughputs = Throughputs::default();
        latest_first.iter().rev().for_each(|mbit| throughputs.push(mbit * 1e6));
        throughputs
    }

    #[test]
    fn a_bitrate_maps_to_the_highest_rate_strictly_below_it() {
        for (kbps, want) in [
            (0.0, 0),
            (45.652, 0),
            (89.283, 0),
            (89.284, 1),
            // The initial 1000 kbit/s selects 791 182 bit/s.
            (1_000.0, 10),
            (1_244.778, 11),
            (1_244.779, 12),
            (4_219.897, 18),
            (4_220.0, 19),
            (99_999.0, 19),
        ] {
            assert_eq!(index_for(rates(), kbps), want, "{kbps} kbit/s");
        }
    }

    #[test]
    fn each_state_has_its_choice() {
        // A row has the buffer in ms, the quality, the throughputs in Mbit/s with the most recent
        // first, and the expected index.
        for (buffer, quality, mbit, want) in [
            // Throughput rule: the rate R requires an achieved rate of R / 0.9.
            (8_000, 5, &[1.5][..], 12),
            (8_000, 5, &[1.384], 12),
            (8_000, 5, &[1.382], 11),
            (8_000, 5, &[4.69], 19),
            (8_000, 5, &[4.68], 18),
            (8_000, 5, &[0.441], 7),
            (8_000, 5, &[0.439], 6),
            (8_000, 5, &[0.01], 0),
            // The mean is over the last three samples, or fewer if there are fewer.
            (8_000, 5, &[1.0, 2.0, 3.0, 99.0], 13),
            (8_000, 5, &[1.0, 2.0], 12),
            // Without a measurement the rate is unchanged.
            (8_000, 10, &[], 10),
            // A rich buffer selects the highest rate, but a buffer of exactly 20 s does not.
            (20_001, 19, &[0.5], TOP),
            (20_001, 3, &[0.5], TOP),
            (20_000, 19, &[0.5], 7),
            // An empty buffer selects the lowest rate, at any throughput.
            (499, 15, &[9.0], 0),
        ] {
            let got = DashJs::default().choose(view(buffer, quality), &samples(mbit));
            assert_eq!(got, want, "{buffer} ms, {quality}, {mbit:?}");
        }
    }

    #[test]
    fn before_the_first_segment_nothing_changes() {
        let starting = View { loaded_once: false, ..view(0, 10) };
        assert_eq!(DashJs::default().choose(starting, &samples(&[9.0])), 10);
    }

    #[test]
    fn an_empty_buffer_is_looked_at_once_a_second() {
        let mut rules = DashJs::default();
        let empty = view(100, 7);
        assert_eq!(rules.choose(empty, &samples(&[9.0])), 0);
        let soon = View { now: empty.now + Duration::from_millis(999), ..empty };
        assert_eq!(rules.choose(soon, &samples(&[9.0])), 7);
        let later = View { now: empty.now + Duration::from_secs(1), ..empty };
        assert_eq!(rules.choose(later, &samples(&[9.0])), 0);
    }

    #[test]
    fn samples_without_an_end_or_news_are_dropped() {
        let mut throughputs = samples(&[2.0]);
        throughputs.push(f64::INFINITY);
        throughputs.push(2e6);
        assert_eq!(throughputs.len(), 1);
        (0..100).for_each(|n| throughputs.push(f64::from(n)));
        assert_eq!(throughputs.len(), KEPT);
    }

    #[test]
    fn a_segment_that_takes_too_long_is_abandoned() {
        let slow = Progress {
            elapsed: Duration::from_secs(1),
            read: 100_000,
            size: 1_000_000,
            length: Duration::from_secs(2),
            patience: 1.5,
        };
        // At 800 kbit/s, a segment of 2 s takes 10 s. The index for 720 kbit/s is 9.
        for (progress, quality, want) in [
            (slow, 19, Some(9)),
            (slow, 0, None),
            (slow, 9, None),
            (Progress { elapsed: Duration::from_millis(499), ..slow }, 19, None),
            (Progress { elapsed: Duration::from_millis(500), ..slow }, 19, Some(12)),
            // At 2667 kbit/s, the segment would take just under 3 s.
            (Progress { read: 333_400, ..slow }, 19, None),
            (Progress { read: 333_200, ..slow }, 19, Some(14)),
            (Progress { read: 1_000_000, ..slow }, 19, None),
        ] {
            assert_eq!(abandon(progress, quality, rates()), want, "{progress:?} at {quality}");
        }
    }
}
