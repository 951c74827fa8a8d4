//! Pacing: spreads datagrams over the round-trip time.
//!
//! Source: RFC 9002 §7.7. The pacer of the crate `aqmlab_tcp` is Linux's, which allows no burst
//! after an idle time.

use aqmlab_core::{BitRate, Duration, Instant};

/// The factor N of RFC 9002 §7.7, as numerator and denominator.
const GAIN: (u64, u64) = (5, 4);

/// The number of units of the bucket in a byte. A rate of 1 bit/s leaks one unit per nanosecond.
const BYTE: u128 = 8_000_000_000;

/// A leaky bucket, which sent datagrams fill and which leaks at the pacing rate.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// The contents of the bucket at the time `at`, in units of 1/[`BYTE`] bytes.
    level: u128,
    /// The time of the last datagram.
    at: Instant,
}

impl Pacer {
    /// Returns the earliest departure time of a datagram of `bytes` bytes, if bursts may have
    /// `burst` bytes.
    pub(crate) fn departure(&self, rate: BitRate, burst: u64, bytes: u64) -> Instant {
        let level = self.level + u128::from(bytes) * BYTE;
        let above = level.saturating_sub(u128::from(burst) * BYTE);
        let span = above.div_ceil(u128::from(rate.as_bps()));
        self.at.saturating_add(Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    /// Records a datagram of `bytes` that is sent at `now`.
    pub(crate) fn on_sent(&mut self, now: Instant, rate: BitRate, bytes: u64) {
        let leaked = u128::from(rate.as_bps()) * u128::from(now.since(self.at).as_nanos());
        self.level = self.level.saturating_sub(leaked) + u128::from(bytes) * BYTE;
        self.at = now;
    }
}

/// Returns the pacing rate for a window of `cwnd` bytes and a smoothed round-trip time.
pub(crate) fn rate(cwnd: u64, srtt: Duration) -> BitRate {
    let bits = u128::from(cwnd * GAIN.0 / GAIN.1) * 8 * 1_000_000_000;
    let rate = bits / u128::from(srtt.as_nanos().max(1));
    BitRate::new(u64::try_from(rate).unwrap_or(u64::MAX).max(1)).expect("the rate is at least 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        // 10 kB in 125 ms are 100 kB/s with N = 1.25.
        let rate = rate(10_000, Duration::from_millis(125));
        assert_eq!(rate.as_bps(), 800_000);
        let mut pacer = Pacer::default();
        let mut now = Instant::from_millis(1_000);
        let mut waits = Vec::new();
        for _ in 0..6 {
            let at = pacer.departure(rate, 3_000, 1_000).max(now);
            waits.push(at.since(now).as_millis());
            now = at;
            pacer.on_sent(now, rate, 1_000);
        }
        assert_eq!(waits, [0, 0, 0, 10, 10, 10]);
    }
}
