//! The transfers and the probes of the last intervals.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::formula::{Means, trimmed_mean};

/// The times of completed probes in milliseconds.
#[derive(Clone, Debug, Default)]
struct Samples {
    tcp_foreign: Vec<f64>,
    tls_foreign: Vec<f64>,
    http_foreign: Vec<f64>,
    http_loaded: Vec<f64>,
}

/// The times of a foreign probe in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ForeignTimes {
    pub(crate) tcp: f64,
    /// The time of one round trip of the TLS handshake; `None` without TLS.
    pub(crate) tls: Option<f64>,
    pub(crate) http: f64,
}

#[derive(Clone, Debug)]
struct Interval {
    began: Instant,
    /// The bytes of the load that the client knows to be transferred.
    transferred: u64,
    /// The bytes of the load that the receiver has read.
    read: u64,
    samples: Samples,
}

impl Interval {
    fn new(began: Instant) -> Self {
        Self { began, transferred: 0, read: 0, samples: Samples::default() }
    }
}

/// The last intervals of a test, at most as many as a moving average has. The last of them is in
/// progress while the test runs.
#[derive(Clone, Debug)]
pub(crate) struct History {
    distance: usize,
    complete: VecDeque<Interval>,
    present: Interval,
}

impl History {
    /// Returns the history of a test whose first interval begins at `now`.
    pub(crate) fn new(distance: usize, now: Instant) -> Self {
        Self { distance, complete: VecDeque::new(), present: Interval::new(now) }
    }

    /// Completes the present interval and begins the next.
    pub(crate) fn begin_interval(&mut self, now: Instant) {
        self.complete.push_back(std::mem::replace(&mut self.present, Interval::new(now)));
        // The window consists of complete intervals and the present interval.
        while self.complete.len() >= self.distance {
            self.complete.pop_front();
        }
    }

    /// Adds bytes of the load that the client received, or handed to its socket.
    pub(crate) const fn add_transferred(&mut self, bytes: u64) {
        self.present.transferred = self.present.transferred.saturating_add(bytes);
    }

    /// Adds bytes of the load that the receiver has read.
    pub(crate) const fn add_read(&mut self, bytes: u64) {
        self.present.read = self.present.read.saturating_add(bytes);
    }

    /// Adds a completed foreign probe.
    pub(crate) fn add_foreign(&mut self, times: ForeignTimes) {
        let samples = &mut self.present.samples;
        samples.tcp_foreign.push(times.tcp);
        samples.tls_foreign.extend(times.tls);
        samples.http_foreign.push(times.http);
    }

    /// Adds a completed self probe.
    pub(crate) fn add_loaded(&mut self, time_ms: f64) {
        self.present.samples.http_loaded.push(time_ms);
    }

    fn window(&self) -> impl Iterator<Item = &Interval> {
        self.complete.iter().chain([&self.present])
    }

    /// Returns the goodput of the present interval in bits per second, as the client knows it.
    pub(crate) fn present_bps(&self, interval: Duration) -> f64 {
        self.present.transferred as f64 * 8.0 / interval.as_secs_f64()
    }

    /// Returns the moving average of the goodput in bits per second, as the client knows it. The
    /// draft divides by the length of a whole window, also while the window is not yet full.
    pub(crate) fn average_bps(&self, interval: Duration) -> f64 {
        let bytes: f64 = self.window().map(|one| one.transferred as f64).sum();
        bytes * 8.0 / (self.distance as f64 * interval.as_secs_f64())
    }

    /// Returns the goodput at the receiver from the start of the window to `end`, in bits per
    /// second; `None` if no time has passed.
    pub(crate) fn read_bps(&self, end: Instant) -> Option<f64> {
        let bytes: f64 = self.window().map(|one| one.read as f64).sum();
        let span = end.since(self.window().next()?.began);
        (span > Duration::ZERO).then(|| bytes * 8.0 / span.as_secs_f64())
    }

    fn samples(&self, kind: impl Fn(&Samples) -> &Vec<f64>) -> Vec<f64> {
        self.window().flat_map(|one| kind(&one.samples)).copied().collect()
    }

    /// Returns the trimmed mean times of the probes completed in the intervals of the history.
    pub(crate) fn means(&self, trim: f64) -> Means {
        Means {
            tcp_foreign: trimmed_mean(self.samples(|all| &all.tcp_foreign), trim),
            tls_foreign: trimmed_mean(self.samples(|all| &all.tls_foreign), trim),
            http_foreign: trimmed_mean(self.samples(|all| &all.http_foreign), trim),
            http_loaded: trimmed_mean(self.samples(|all| &all.http_loaded), trim),
        }
    }

    /// Returns the number of foreign probes and the number of self probes completed in the
    /// intervals of the history.
    pub(crate) fn probes(&self) -> [usize; 2] {
        let count = |kind: fn(&Samples) -> &Vec<f64>| {
            self.window().map(|one| kind(&one.samples).len()).sum::<usize>()
        };
        [count(|all| &all.http_foreign), count(|all| &all.http_loaded)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_moving_average_divides_by_the_whole_window() {
        let mut history = History::new(4, Instant::ZERO);
        for second in 1..=6 {
            history.add_transferred(1_000);
            close(history.average_bps(SECOND), 8_000.0 * f64::from(second.min(4)) / 4.0, 1e-9);
            history.begin_interval(Instant::ZERO + SECOND * second as u64);
        }
    }

    #[test]
    fn the_goodput_at_the_receiver_covers_the_unfinished_interval() {
        let mut history = History::new(4, Instant::ZERO);
        assert_eq!(history.read_bps(Instant::ZERO), None);
        for second in 1..=16 {
            history.add_read(1_000);
            history.begin_interval(Instant::ZERO + SECOND * second);
        }
        history.add_read(500);
        let end = Instant::from_millis(16_500);
        close(history.read_bps(end).unwrap(), 8_000.0, 1e-9);
    }

    #[test]
    fn only_probes_of_the_window_count() {
        let mut history = History::new(2, Instant::ZERO);
        for ms in [1.0, 3.0, 5.0] {
            history.begin_interval(Instant::ZERO);
            history.add_foreign(ForeignTimes { tcp: ms, tls: None, http: 10.0 * ms });
            history.add_loaded(100.0 * ms);
        }
        let means = history.means(1.0);
        assert_eq!(means.tcp_foreign, Some(4.0));
        assert_eq!(means.tls_foreign, None);
        assert_eq!(means.http_foreign, Some(40.0));
        assert_eq!(means.http_loaded, Some(400.0));
        assert_eq!(history.probes(), [2, 2]);
    }
}
