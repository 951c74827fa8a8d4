//! Detects whether the application, and not the network, limits the sender.
//!
//! Source: libwebrtc (2025-06) `alr_detector.cc`. The budget grows at 65 % of the target rate, up
//! to the amount of half a second. The application-limited region begins when more than 80 % of
//! this maximum is unused, and ends when less than half of it is unused.

use aqmlab_core::Instant;

const USED: f64 = 0.65;
const WINDOW_S: f64 = 0.5;
const BEGIN: f64 = 0.8;
const END: f64 = 0.5;

/// The detector of the application-limited region.
#[derive(Debug)]
pub(crate) struct Alr {
    target_bps: f64,
    unused: f64,
    last: Option<Instant>,
    limited: bool,
}

impl Alr {
    pub(crate) const fn new(target_bps: f64) -> Self {
        Self { target_bps, unused: 0.0, last: None, limited: false }
    }

    /// Sets the target rate in bit/s.
    pub(crate) fn set_target(&mut self, bps: f64) {
        self.target_bps = bps;
        self.unused = self.bounded(self.unused);
    }

    /// Records that `bytes` were sent, and detects whether the application limits the sender.
    pub(crate) fn sent(&mut self, bytes: u32, now: Instant) {
        let Some(last) = self.last.replace(now) else { return };
        let budget = self.target_bps * USED / 8.0;
        self.unused = self.bounded(self.unused - f64::from(bytes));
        self.unused = self.bounded(self.unused + budget * now.since(last).as_secs_f64());
        let share = self.unused / (budget * WINDOW_S);
        self.limited = if self.limited { share >= END } else { share > BEGIN };
    }

    /// Returns whether the application limits the sender.
    pub(crate) const fn is_limited(&self) -> bool {
        self.limited
    }

    fn bounded(&self, bytes: f64) -> f64 {
        let most = self.target_bps * USED / 8.0 * WINDOW_S;
        bytes.clamp(-most, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(alr: &mut Alr, bytes: u32, seconds: u64) {
        let from = alr.last.map_or(0, |at| at.as_nanos() / 1_000_000 + 10);
        for n in 0..100 * seconds {
            alr.sent(bytes, Instant::from_millis(from + 10 * n));
        }
    }

    #[test]
    fn a_sender_that_uses_less_than_65_percent_is_limited() {
        // 1,250 B every 10 ms are 1 Mbit/s.
        let mut alr = Alr::new(1e6);
        sent(&mut alr, 1_250, 5);
        assert!(!alr.is_limited());
        sent(&mut alr, 400, 5);
        assert!(alr.is_limited());
        sent(&mut alr, 1_250, 5);
        assert!(!alr.is_limited());
    }
}
