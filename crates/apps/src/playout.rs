//! The de-jitter buffer of a telephone, which determines when a voice packet is played and whether
//! it is late.
//!
//! Source: Ramjee, Kurose, Towsley and Schulzrinne (1994), algorithm 1. The playout time is the
//! sending time plus a delay. The delay is either fixed by the first packet, or adapts.
//!
//! Difference: the adaptive playout time changes with every packet, as in receivers that stretch
//! time. In algorithm 1 of Ramjee and others (1994), it changes only between talk spurts.

use aqmlab_core::Duration;

/// The weight of the past in the estimates of delay and variation (Ramjee et al. 1994).
const MEMORY: f64 = 0.998_002;

/// A de-jitter buffer.
#[derive(Clone, Debug)]
pub(crate) struct Playout {
    margin_ms: f64,
    adaptive: bool,
    /// The estimated delay and variation, in milliseconds; `None` before the first packet.
    estimate: Option<(f64, f64)>,
    /// The sum of the packets' playout delays.
    waited_ms: f64,
    packets: u64,
    late: u64,
}

impl Playout {
    /// Returns a buffer in which the first packet waits for `margin`. If `adaptive`, later packets
    /// change the playout delay.
    pub(crate) const fn new(margin: Duration, adaptive: bool) -> Self {
        let margin_ms = margin.as_nanos() as f64 / 1e6;
        Self { margin_ms, adaptive, estimate: None, waited_ms: 0.0, packets: 0, late: 0 }
    }

    /// Processes a packet that arrives `delay` after it was sent.
    pub(crate) fn take(&mut self, delay: Duration) {
        let delay = delay.as_secs_f64() * 1e3;
        // The margin is four variations, so the first packet waits for exactly the margin.
        let (mean, variation) = self.estimate.unwrap_or((delay, self.margin_ms / 4.0));
        let deadline = mean + 4.0 * variation;
        self.packets += 1;
        self.waited_ms += deadline;
        self.late += u64::from(delay > deadline);
        self.estimate = Some(if self.adaptive {
            let mean = MEMORY * mean + (1.0 - MEMORY) * delay;
            (mean, MEMORY * variation + (1.0 - MEMORY) * (mean - delay).abs())
        } else {
            (mean, variation)
        });
    }

    /// Returns the number of packets that arrived after their playout time.
    pub(crate) const fn late(&self) -> u64 {
        self.late
    }

    /// Returns the mean delay from sending to playout, in milliseconds; zero without packets.
    pub(crate) fn delay_ms(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.waited_ms / self.packets as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn what_comes_after_its_playout_time_is_late() {
        let mut fixed = Playout::new(Duration::from_millis(60), false);
        let mut adaptive = Playout::new(Duration::from_millis(60), true);
        for n in 0..10_000 {
            let delay = Duration::from_millis(if n < 100 { 20 } else { 200 });
            fixed.take(delay);
            adaptive.take(delay);
        }
        assert_eq!(fixed.late, 9_900, "80 ms is over for all that take 200");
        assert!(adaptive.late < 100, "{}", adaptive.late);
        close(fixed.delay_ms(), 80.0, 1e-9);
        assert!(adaptive.delay_ms() > 200.0);
    }
}
