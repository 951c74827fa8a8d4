//! The throughput of one direction of a flow during the flow's active interval.
//!
//! Sources: RFC 5166 §2.1.1 for the mean, which is the number of bytes that arrive in the interval
//! divided by the interval's length; TEACUP (`analyse_throughput`) for the windows, which advance
//! by a quarter of their length. Differences, pinned by tests: the interval is the flow's active
//! interval, and the first window begins when this interval begins. Only windows wholly within the
//! interval count, while TEACUP also shows windows that overlap the ends of the interval.
//!
//! The mean counts the bytes of the packets that arrive in the interval, so it does not depend on
//! the step. This module returns the bytes and the interval. `mean_mbit` in
//! `crates/trial/src/tables/flows.rs` divides them.
//!
//! `Spec::active` in `crates/trial/src/spec.rs` states the active interval: the part of the
//! measured interval between the application's start and its stop. It includes its beginning and
//! excludes its end. If the flow ends by itself ([`Active::end`]), packets that arrive at its end
//! also count.

use std::collections::VecDeque;
use std::ops::Range;

use aqmlab_core::{Duration, Instant};

use crate::window_rates::WindowRates;

/// Counts the bytes of a flow in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    span: Range<u64>,
    step: u64,
    /// The number of steps in a window.
    width: usize,
    phase: Phase,
    /// The end of the open step. Before the active interval, it is the start of the interval; after
    /// the interval, it is later than any time.
    next: u64,
    /// The number of bytes that arrived in the open step.
    open: u64,
    /// The bytes in each of the last closed steps, up to the number of steps in a window.
    recent: VecDeque<u64>,
    /// The sum of `recent`.
    sum: u64,
    bytes: u64,
    windows: WindowRates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Within,
    After,
}

impl Active {
    /// Returns a counter for the interval `span`, with windows of length `width` that advance by
    /// `step`.
    pub(crate) fn new(span: &Range<Instant>, step: Duration, width: Duration) -> Self {
        let (start, end) = (span.start.as_nanos(), span.end.as_nanos());
        let steps = end.saturating_sub(start) / step.as_nanos();
        Self {
            span: start..end.max(start),
            step: step.as_nanos(),
            width: (width.as_nanos() / step.as_nanos()) as usize,
            phase: Phase::Before,
            next: start,
            open: 0,
            recent: VecDeque::new(),
            sum: 0,
            bytes: 0,
            windows: WindowRates::new(width, steps),
        }
    }

    /// Returns the time at which the open step ends. [`Self::advance`] must be called then, or
    /// later.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Adds bytes that arrived in the open step.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.open += bytes;
    }

    /// Records that the flow ended by itself at `at`. Later arrivals do not count. An end after the
    /// interval changes nothing.
    pub(crate) fn end(&mut self, at: Instant) {
        let at = at.as_nanos();
        if at <= self.span.start {
            (self.span.end, self.phase, self.next) = (self.span.start, Phase::After, u64::MAX);
        } else if at < self.span.end {
            self.advance(at);
            self.bytes += self.open;
            (self.span.end, self.phase, self.next) = (at, Phase::After, u64::MAX);
        }
    }

    /// Returns the interval, the number of bytes that arrived in it, and the throughput in its
    /// windows.
    pub(crate) fn finish(mut self) -> (Range<Instant>, u64, WindowRates) {
        self.advance(self.span.end);
        let span = Instant::from_nanos(self.span.start)..Instant::from_nanos(self.span.end);
        (span, self.bytes, self.windows)
    }

    /// Closes the steps that end at or before `now`.
    pub(crate) fn advance(&mut self, now: u64) {
        while self.phase != Phase::After && self.next <= now {
            if self.phase == Phase::Within {
                self.bytes += self.open;
                // Only the last step may be shorter than the other steps. A shorter step belongs to
                // no window.
                let is_whole = self.next < self.span.end
                    || (self.next - self.span.start).is_multiple_of(self.step);
                if is_whole {
                    self.close_steps(now);
                }
            }
            self.open = 0;
            (self.phase, self.next) = if self.next >= self.span.end {
                (Phase::After, u64::MAX)
            } else {
                (Phase::Within, self.next.saturating_add(self.step).min(self.span.end))
            };
        }
    }

    /// Closes the open step. If nothing has arrived for a whole window, also closes all empty steps
    /// until `now`.
    fn close_steps(&mut self, now: u64) {
        if self.recent.len() == self.width {
            self.sum -= self.recent.pop_front().unwrap_or(0);
        }
        self.recent.push_back(self.open);
        self.sum += self.open;
        if self.recent.len() < self.width {
            return;
        }
        self.windows.record_one(self.sum);
        if self.sum == 0 {
            let empty = (now.min(self.span.end) - self.next) / self.step;
            self.windows.record(0, empty);
            self.next += empty * self.step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the bytes in the interval and the bytes of each window, computed from all packets at
    /// once.
    fn naive(packets: &[(u64, u32)], span: Range<u64>, step: u64, width: u64) -> (u64, Vec<u64>) {
        let within = |from: u64, to: u64| {
            let inside = packets.iter().filter(|(at, _)| (from..to).contains(at));
            inside.map(|&(_, len)| u64::from(len)).sum::<u64>()
        };
        let starts = (span.start..).step_by(step as usize).take_while(|at| at + width <= span.end);
        (within(span.start, span.end), starts.map(|at| within(at, at + width)).collect())
    }

    fn count(active: &mut Active, ip_len: u32, at: u64) {
        active.advance(at);
        active.add(u64::from(ip_len));
    }

    fn measured(
        packets: &[(u64, u32)],
        span: &Range<u64>,
        step: u64,
        width: u64,
    ) -> (Range<u64>, u64, WindowRates) {
        let instants = Instant::from_nanos(span.start)..Instant::from_nanos(span.end);
        let (step, width) = (Duration::from_nanos(step), Duration::from_nanos(width));
        let mut active = Active::new(&instants, step, width);
        for &(at, len) in packets {
            count(&mut active, len, at);
        }
        let (span, bytes, windows) = active.finish();
        (span.start.as_nanos()..span.end.as_nanos(), bytes, windows)
    }

    fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let gap = prop_oneof![4 => 0..30_u64, 1 => 0..2_000_u64];
        prop::collection::vec((gap, 1..1_500_u32), 0..120).prop_map(|gaps| {
            let mut now = 0;
            let later = |(gap, len)| {
                now += gap;
                (now, len)
            };
            gaps.into_iter().map(later).collect()
        })
    }

    fn assert_alike(windows: &WindowRates, width: u64, want: &[u64]) {
        assert_eq!(windows.count(), want.len() as u64);
        let mut sorted: Vec<f64> = want.iter().map(|&bytes| bytes as f64).collect();
        sorted.sort_by(f64::total_cmp);
        for q in [0.0, 0.05, 0.5, 0.95, 1.0] {
            let want = crate::quantile(&sorted, q).map(|bytes| 8e9 * bytes / width as f64);
            assert_eq!(windows.quantiles([q]).map(|[bps]| bps), want, "{q}");
        }
        let filled: Vec<f64> = sorted.into_iter().filter(|&bytes| bytes > 0.0).collect();
        let want = crate::mean(&filled).map(|bytes| 8e9 * bytes / width as f64);
        let got = windows.nonempty_mean();
        assert!((got.unwrap_or(0.0) - want.unwrap_or(0.0)).abs() <= 1e-9 * want.unwrap_or(0.0));
    }

    proptest! {
        #[test]
        fn streaming_is_the_sum_over_all_packets_of_a_window(
            packets in packets(),
            (start, length, step, steps) in (0..900_u64, 0..2_500_u64, 1..90_u64, 1..9_u64),
        ) {
            let (span, width) = (start..start + length, step * steps);
            let (bytes, windows) = naive(&packets, span.clone(), step, width);
            let (found, got, rates) = measured(&packets, &span, step, width);
            prop_assert_eq!((found, got), (span, bytes));
            assert_alike(&rates, width, &windows);
        }

        #[test]
        fn neither_the_step_nor_a_common_delay_changes_the_mean(
            packets in packets(),
            (start, length, late) in (0..900_u64, 0..2_500_u64, 0..10_000_u64),
            (step, other) in (1..90_u64, 1..5_000_u64),
        ) {
            let span = start..start + length;
            let (_, bytes, rates) = measured(&packets, &span, step, 4 * step);
            let (_, coarse, _) = measured(&packets, &span, other, other);
            prop_assert_eq!(bytes, coarse);
            let moved: Vec<_> = packets.iter().map(|&(at, len)| (at + late, len)).collect();
            let shifted = start + late..start + length + late;
            let (_, again, windows) = measured(&moved, &shifted, step, 4 * step);
            prop_assert_eq!((bytes, rates.count()), (again, windows.count()));
            let qs = [0.05, 0.25, 0.5, 0.75, 0.95];
            prop_assert_eq!(rates.quantiles(qs), windows.quantiles(qs));
            prop_assert_eq!(rates.nonempty_mean(), windows.nonempty_mean());
        }
    }

    fn active(from: u64, to: u64) -> Active {
        let span = Instant::from_nanos(from)..Instant::from_nanos(to);
        Active::new(&span, Duration::from_nanos(10), Duration::from_nanos(20))
    }

    #[test]
    fn what_arrives_at_the_very_end_of_a_flow_belongs_to_it_and_what_follows_does_not() {
        let at = Instant::from_nanos;
        let mut flow = active(5, 100);
        count(&mut flow, 1, 4);
        count(&mut flow, 10, 5);
        count(&mut flow, 100, 25);
        count(&mut flow, 1_000, 32);
        flow.end(at(32));
        count(&mut flow, 10_000, 32);
        count(&mut flow, 10_000, 200);
        flow.end(at(60));
        let (span, bytes, windows) = flow.finish();
        assert_eq!((span, bytes), (at(5)..at(32), 1_110));
        assert_eq!((windows.count(), windows.quantiles([1.0])), (1, Some([4e9])));
    }

    #[test]
    fn a_flow_that_ended_before_its_interval_was_never_active_in_it() {
        let at = Instant::from_nanos;
        let mut flow = active(50, 100);
        flow.end(at(20));
        count(&mut flow, 10, 60);
        let (span, bytes, windows) = flow.finish();
        assert_eq!((span, bytes, windows.count()), (at(50)..at(50), 0, 0));
        let mut flow = active(50, 100);
        count(&mut flow, 10, 50);
        flow.end(at(50));
        assert_eq!(flow.finish().1, 0, "in no time nothing arrives");
    }

    #[test]
    fn an_end_after_the_interval_changes_nothing() {
        let at = Instant::from_nanos;
        let mut flow = active(0, 100);
        count(&mut flow, 10, 99);
        count(&mut flow, 10, 100);
        flow.end(at(100));
        let (span, bytes, windows) = flow.finish();
        assert_eq!((span, bytes, windows.count()), (at(0)..at(100), 10, 9));
    }

    #[test]
    fn a_day_of_silence_is_as_many_empty_windows() {
        let day = 86_400_000_000_000;
        let (_, bytes, windows) = measured(&[(0, 40), (day, 40)], &(0..2 * day), 1_000, 4_000);
        assert_eq!((bytes, windows.count()), (80, 2 * day / 1_000 - 3));
        assert_eq!(windows.quantiles([0.5]), Some([0.0]));
    }
}
