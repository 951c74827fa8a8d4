//! The estimate of the rate of arrivals, for `autorate-ingress`.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_enqueue`. The estimate is the peak rate of windows that
//! end with a pause. The kernel never writes the time of the last reconfiguration, so every window
//! changes the rate.

use aqmlab_core::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Returns the moving average `average` after another `sample`, which has the weight 2^-`shift`
/// (`cake_ewma`).
#[inline]
pub(super) const fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

/// The estimate of the rate of arrivals, with its state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Autorate {
    last_packet: Instant,
    window_begin: Instant,
    /// The average time between packets in nanoseconds.
    interval: u64,
    window_bytes: u64,
    /// The estimated rate in bytes per second.
    pub(super) peak: u64,
}

impl Autorate {
    /// Returns the estimate of a shaper that starts at `rate` bytes per second.
    pub(super) fn from(rate: u64) -> Self {
        Self { peak: rate, ..Self::default() }
    }

    /// Records an arrival that made the backlog grow by `bytes`. Returns the new rate of the shaper
    /// in bytes per second, if a window ended.
    pub(super) fn note(&mut self, bytes: i64, now: Instant) -> Option<u64> {
        self.window_bytes = self.window_bytes.wrapping_add_signed(bytes);
        let gap = now.since(self.last_packet).min(SECOND).as_nanos();
        self.interval = ewma(self.interval, gap, if gap > self.interval { 2 } else { 8 });
        self.last_packet = now;
        if gap <= self.interval {
            return None;
        }
        let window = now.since(self.window_begin).as_nanos();
        let rate = self.window_bytes.wrapping_mul(SECOND.as_nanos()).checked_div(window)?;
        self.peak = ewma(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.window_bytes, self.window_begin) = (0, now);
        Some((self.peak * 15) >> 4)
    }
}
