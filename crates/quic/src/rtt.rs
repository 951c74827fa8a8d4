//! The round-trip time of a connection.
//!
//! Source: RFC 9002 §5 and Appendix A.7. Linux and FreeBSD, whose estimators are in `aqmlab_tcp`,
//! compute the variation differently, and their peers report no delay of acknowledgements.

use aqmlab_core::{Duration, Instant};

/// The granularity of timers (`kGranularity`).
const GRANULARITY: Duration = Duration::from_millis(1);
/// The round-trip time before the first sample (`kInitialRtt`).
const INITIAL: Duration = Duration::from_millis(333);

/// An estimate of the round-trip time, with the variables of RFC 9002 Appendix A.3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    /// The latest sample (`latest_rtt`).
    latest: Duration,
    /// The smoothed round-trip time (`smoothed_rtt`).
    smoothed: Duration,
    /// The variation of the round-trip time (`rttvar`).
    var: Duration,
    /// The minimum sample, if there is a sample (`min_rtt`).
    min: Option<Duration>,
    /// The time of the first sample, if there is one (`first_rtt_sample`).
    first_sample: Option<Instant>,
}

impl Default for Rtt {
    fn default() -> Self {
        Self {
            latest: Duration::ZERO,
            smoothed: INITIAL,
            var: INITIAL / 2,
            min: None,
            first_sample: None,
        }
    }
}

impl Rtt {
    /// Adds a sample. `ack_delay` is the delay that the peer reports, already limited to the peer's
    /// `max_ack_delay` if the handshake is confirmed.
    pub(crate) fn update(&mut self, now: Instant, sample: Duration, ack_delay: Duration) {
        self.latest = sample;
        let Some(min) = self.min else {
            (self.min, self.smoothed, self.var) = (Some(sample), sample, sample / 2);
            self.first_sample = Some(now);
            return;
        };
        let min = min.min(sample);
        self.min = Some(min);
        let adjusted =
            if sample >= min + ack_delay { sample.saturating_sub(ack_delay) } else { sample };
        let difference = if self.smoothed > adjusted {
            self.smoothed.saturating_sub(adjusted)
        } else {
            adjusted.saturating_sub(self.smoothed)
        };
        self.var = (self.var * 3 + difference) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    /// Returns the smoothed round-trip time, or the assumed time before the first sample.
    pub(crate) const fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Returns the minimum sample, if there is a sample.
    pub(crate) const fn min(&self) -> Option<Duration> {
        self.min
    }

    /// Returns the time of the first sample, if there is one.
    pub(crate) const fn first_sample(&self) -> Option<Instant> {
        self.first_sample
    }

    /// Returns the smoothed round-trip time if there is a sample.
    pub(crate) fn measured(&self) -> Option<Duration> {
        self.min.map(|_| self.smoothed)
    }

    /// Returns the probe timeout without the peer's `max_ack_delay` and without back-off (§6.2.1).
    pub(crate) fn pto(&self) -> Duration {
        self.smoothed + (self.var * 4).max(GRANULARITY)
    }

    /// Returns the time after which a packet is lost if a later packet is acknowledged (§6.1.2).
    pub(crate) fn loss_delay(&self) -> Duration {
        (self.smoothed.max(self.latest) * 9 / 8).max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Tests statement C-226.
    #[test]
    fn without_a_sample_the_probe_timeout_is_999_ms() {
        assert_eq!(Rtt::default().pto(), ms(999));
    }

    /// Tests statement C-227.
    #[test]
    fn the_first_sample_gives_the_timeouts() {
        let mut rtt = Rtt::default();
        rtt.update(Instant::ZERO, ms(40), ms(0));
        assert_eq!((rtt.pto(), rtt.loss_delay()), (ms(120), ms(45)));
        assert_eq!((rtt.pto() + ms(25)) * 3, ms(435), "persistent congestion");
    }

    /// Tests statement C-231.
    #[test]
    fn a_delay_counts_only_if_the_result_is_not_below_the_minimum() {
        let mut rtt = Rtt::default();
        rtt.update(Instant::ZERO, ms(40), ms(0));
        let before = rtt.smoothed();
        rtt.update(Instant::ZERO, ms(48), ms(20));
        assert_eq!(rtt.smoothed(), (before * 7 + ms(48)) / 8, "48 − 20 is below 40");
        let before = rtt.smoothed();
        rtt.update(Instant::ZERO, ms(65), ms(25));
        assert_eq!(rtt.smoothed(), (before * 7 + ms(40)) / 8, "65 − 25 is the minimum");
    }
}
