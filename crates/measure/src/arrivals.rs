//! The bytes that arrive in one direction of a flow: in total, while the flow is active, and in
//! each step of the time series.
//!
//! A packet is added to one count only. When a step ends, of the series or of the active interval,
//! the count is passed to all three sums.

use std::ops::Range;

use aqmlab_core::{Duration, Instant};

use crate::throughput::Active;
use crate::window_rates::WindowRates;

/// Counts the bytes that arrive in one direction of a flow.
pub(crate) struct Arrivals {
    /// The bytes that arrived since a step last ended.
    open: u64,
    /// The end of the first step that is open.
    next: u64,
    total: u64,
    active: Active,
    /// The bytes in each step of the series; empty without a series.
    steps: Vec<u64>,
    /// The width of a step of the series.
    width: u64,
    /// The open step of the series.
    step: usize,
}

/// The sums of the bytes that arrived.
pub(crate) struct Arrived {
    pub(crate) total: u64,
    /// The interval in which the flow was active.
    pub(crate) active: Range<Instant>,
    pub(crate) while_active: u64,
    pub(crate) windows: WindowRates,
    pub(crate) steps: Vec<u64>,
}

impl Arrivals {
    /// Returns a counter for a flow with the active interval of `active`. The series has `steps`
    /// steps of the given width.
    pub(crate) fn new(active: Active, steps: usize, width: Duration) -> Self {
        let width = width.as_nanos().max(1);
        Self {
            open: 0,
            next: width.min(active.next()),
            total: 0,
            active,
            steps: vec![0; steps],
            width,
            step: 0,
        }
    }

    /// Counts the bytes of a packet that arrives at `now`.
    #[inline]
    pub(crate) fn count(&mut self, ip_len: u32, now: Instant) {
        if now.as_nanos() >= self.next {
            self.advance(now);
        }
        self.open += u64::from(ip_len);
    }

    /// Records that the flow ends by itself at `at`.
    pub(crate) fn end(&mut self, at: Instant) {
        self.count_open();
        self.active.end(at);
    }

    /// Returns the sums.
    pub(crate) fn finish(mut self) -> Arrived {
        self.count_open();
        let (active, while_active, windows) = self.active.finish();
        Arrived { total: self.total, active, while_active, windows, steps: self.steps }
    }

    /// Adds the open bytes to the sums.
    fn count_open(&mut self) {
        let bytes = std::mem::take(&mut self.open);
        self.total += bytes;
        self.active.add(bytes);
        if let Some(sum) = self.steps.get_mut(self.step) {
            *sum += bytes;
        }
    }

    /// Closes the steps that end at or before `now`.
    #[cold]
    fn advance(&mut self, now: Instant) {
        self.count_open();
        self.active.advance(now.as_nanos());
        let step = now.as_nanos() / self.width;
        self.step = step as usize;
        self.next = ((step + 1) * self.width).min(self.active.next());
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    /// Tests that every packet counts in the steps in which it arrives, although its bytes are
    /// passed on only when a step ends. The steps of the series and of the active interval end at
    /// different times.
    #[test]
    fn each_packet_counts_in_the_steps_in_which_it_arrives() {
        let (step, window, width) = (100, 400, 130_usize);
        let nanos = Duration::from_nanos;
        for seed in 0..200 {
            // The first step of either may end first.
            let start = if seed % 2 == 0 { 7 } else { 1_007 };
            let span = start..8_200;
            let instants = Instant::from_nanos(span.start)..Instant::from_nanos(span.end);
            let mut rng = Rng::stream(seed, "arrivals");
            let active = || Active::new(&instants, nanos(step), nanos(window));
            let mut arrivals = Arrivals::new(active(), 80, nanos(width as u64));
            let mut alone = active();
            let (mut total, mut while_active, mut steps) = (0, 0, vec![0; 80]);
            let mut now = 0;
            while now < 10_000 {
                let bytes = 1 + rng.below(1_500);
                arrivals.count(bytes as u32, Instant::from_nanos(now));
                alone.advance(now);
                alone.add(bytes);
                total += bytes;
                while_active += if span.contains(&now) { bytes } else { 0 };
                steps[now as usize / width] += bytes;
                // Packets often arrive at the end of a step.
                let ends = [now.next_multiple_of(width as u64), start + (now / step + 1) * step];
                now = match rng.below(8) {
                    draw @ 0..2 if ends[draw as usize] > now => ends[draw as usize],
                    2 => now + rng.below(1_000),
                    _ => now + rng.below(30),
                };
            }
            let found = arrivals.finish();
            assert_eq!((found.total, found.while_active), (total, while_active), "seed {seed}");
            assert_eq!(found.steps, steps, "seed {seed}");
            let (_, _, windows) = alone.finish();
            assert_eq!(format!("{:?}", found.windows), format!("{windows:?}"), "seed {seed}");
        }
    }

    #[test]
    fn what_arrives_after_a_flow_has_ended_counts_only_in_the_total_and_the_series() {
        let at = Instant::from_millis;
        let step = Duration::from_millis(100);
        let active = Active::new(&(at(0)..at(1_000)), step, step);
        let mut arrivals = Arrivals::new(active, 10, step);
        arrivals.count(1, at(210));
        arrivals.count(10, at(250));
        arrivals.end(at(250));
        arrivals.count(100, at(260));
        arrivals.count(1_000, at(310));
        let Arrived { total, active, while_active, steps, .. } = arrivals.finish();
        assert_eq!((total, while_active, active), (1_111, 11, at(0)..at(250)));
        assert_eq!(steps, [0, 0, 111, 1_000, 0, 0, 0, 0, 0, 0]);
    }
}
