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
        self.settle();
        self.active.end(at);
    }

    /// Returns the sums.
    pub(crate) fn finish(mut self) -> Arrived {
        self.settle();
        let (active, while_active, windows) = self.active.finish();
        Arrived { total: self.total, active, while_active, windows, steps: self.steps }
    }

    /// Adds the open bytes to the sums.
    fn settle(&mut self) {
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
        self.settle();
        self.active.advance(now.as_nanos());
        let step = now.as_nanos() / self.width;
        self.step = step as usize;
        self.next = ((step + 1) * self.width).min(self.active.next());
    }
}
