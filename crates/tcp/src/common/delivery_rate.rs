//! Delivery-rate samples of acknowledgements.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02; Linux 6.1 `net/ipv4/tcp_rate.c`. A sample
//! is the data delivered between the transmission of a segment and its acknowledgement, divided by
//! a time. The time is the longer of two: the time in which the data was sent, and the time in
//! which it was acknowledged.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant};

use crate::cc::RateSample;
use crate::common::scoreboard::{ANY_RETRANS, APP_LIMITED, SACKED, Sent};

/// The delivery state of a connection. Amounts of data are in segments with TCP, and in bytes with
/// QUIC.
#[derive(Debug)]
pub struct DeliveryRate {
    /// The data acknowledged, cumulatively or selectively, plus one for the SYN. A recorded value
    /// of zero therefore means that there is no sample.
    pub delivered: u64,
    /// The time of the last delivery.
    pub(crate) delivered_at: Instant,
    /// The time at which the sending interval began: the start of the flight, or the transmission
    /// time of the newest acknowledged segment.
    pub(crate) first_tx: Instant,
    /// The data marked as lost, including retransmissions.
    pub lost: u64,
    /// The value of `delivered` until which the application limits the sender; zero if no limit
    /// applies.
    pub app_limited: u64,
}

impl Default for DeliveryRate {
    fn default() -> Self {
        Self {
            delivered: 1,
            delivered_at: Instant::ZERO,
            first_tx: Instant::ZERO,
            lost: 0,
            app_limited: 0,
        }
    }
}

/// The delivery-rate sample of an acknowledgement that is being processed.
#[derive(Debug)]
pub struct PendingSample {
    /// The value of `delivered` when the newest acknowledged segment was sent; zero if no segment
    /// is acknowledged.
    pub(crate) prior_delivered: u64,
    /// The time of the last delivery before the newest acknowledged segment was sent; `None` if no
    /// segment is acknowledged.
    prior_at: Option<Instant>,
    /// The transmission time of the newest acknowledged segment.
    sent_at: Instant,
    /// The start of the sending interval that this segment ends.
    first_tx: Instant,
    /// The end of this segment.
    last_end: u64,
    /// The tags of this segment.
    flags: u8,
}

impl Default for PendingSample {
    fn default() -> Self {
        Self::new()
    }
}

impl PendingSample {
    /// Returns a sample without acknowledged segments.
    pub const fn new() -> Self {
        Self {
            prior_delivered: 0,
            prior_at: None,
            sent_at: Instant::ZERO,
            first_tx: Instant::ZERO,
            last_end: 0,
            flags: 0,
        }
    }

    /// Returns the end of the newest acknowledged segment, if there is one.
    pub(crate) fn newest_end(&self) -> Option<u64> {
        self.prior_at.map(|_| self.last_end)
    }
}

/// Returns whether a segment was transmitted after another segment. Each segment is given by its
/// transmission time and its end.
#[inline]
pub(crate) fn sent_after(at: Instant, end: u64, other_at: Instant, other_end: u64) -> bool {
    at > other_at || (at == other_at && end > other_end)
}

impl DeliveryRate {
    /// Records the delivery state in a segment that is transmitted. If `nothing_out`, the flight
    /// starts with this segment (`tcp_rate_skb_sent`).
    #[inline]
    pub fn on_sent(&mut self, sent: &mut Sent, nothing_out: bool) {
        if nothing_out {
            rare();
            self.first_tx = sent.sent_at;
            self.delivered_at = sent.sent_at;
        }
        sent.first_tx = self.first_tx;
        sent.delivered_at = self.delivered_at;
        sent.delivered = self.delivered;
        if self.app_limited == 0 {
            sent.flags &= !APP_LIMITED;
        } else {
            sent.flags |= APP_LIMITED;
        }
    }

    /// Records that a segment is acknowledged, cumulatively or selectively. The newest acknowledged
    /// segment determines `pending`. A segment counts only once (`tcp_rate_skb_delivered`).
    #[inline]
    pub fn on_delivered(&mut self, sent: &mut Sent, pending: &mut PendingSample) {
        if sent.delivered_at == Instant::NEVER {
            return;
        }
        let newer = sent_after(sent.sent_at, sent.end(), self.first_tx, pending.last_end);
        if pending.prior_delivered == 0 || newer {
            pending.prior_delivered = sent.delivered;
            pending.prior_at = Some(sent.delivered_at);
            (pending.sent_at, pending.first_tx) = (sent.sent_at, sent.first_tx);
            pending.flags = sent.flags;
            pending.last_end = sent.end();
            self.first_tx = sent.sent_at;
        }
        if sent.is(SACKED) {
            sent.delivered_at = Instant::NEVER;
        }
    }

    /// Updates the application limit and the time of the last delivery after an acknowledgement.
    /// `delivered` must already include `acked_sacked`, the amount newly acknowledged.
    #[inline]
    pub fn on_ack(&mut self, acked_sacked: u64, now: Instant) {
        if self.app_limited != 0 {
            rare();
            if self.delivered > self.app_limited {
                self.app_limited = 0;
            }
        }
        if acked_sacked > 0 {
            self.delivered_at = now;
        }
    }

    /// Returns the completed sample. `delivered` and `lost` must be up to date. The sample's amount
    /// and interval are zero if `valid` is false, if no segment was acknowledged, or if the
    /// interval would be below `min_rtt` (`tcp_rate_gen`).
    #[inline]
    pub fn sample(
        &self,
        pending: &PendingSample,
        (acked_sacked, losses): (u64, u64),
        now: Instant,
        valid: bool,
        min_rtt: Option<Duration>,
    ) -> RateSample {
        let mut sample = RateSample {
            prior_delivered: pending.prior_delivered,
            total_delivered: self.delivered,
            losses,
            total_lost: self.lost,
            acked_sacked,
            app_limited: pending.flags & APP_LIMITED != 0,
            retransmitted: pending.flags & ANY_RETRANS != 0,
            ..RateSample::default()
        };
        if let (Some(prior_at), true) = (pending.prior_at, valid) {
            let interval = pending.sent_at.since(pending.first_tx).max(now.since(prior_at));
            // An interval below the minimum round-trip time gives no sample. The acknowledgement
            // was then for the original of a segment that was retransmitted needlessly.
            if min_rtt.is_none_or(|min_rtt| interval >= min_rtt) {
                sample.delivered = self.delivered - pending.prior_delivered;
                sample.interval = interval;
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_gives_its_rate() {
        let mut rate = DeliveryRate::default();
        let at = |ms| Instant::from_millis(ms);
        let mut sent: Vec<Sent> = Vec::new();
        for i in 0..10 {
            let mut segment = Sent::new(1 + i * 100, 100, 0);
            segment.sent_at = at(i * 10);
            rate.on_sent(&mut segment, i == 0);
            sent.push(segment);
        }
        // Each segment is acknowledged 100 ms after it was sent.
        let mut last = RateSample::default();
        for segment in &mut sent {
            let mut pending = PendingSample::new();
            rate.on_delivered(segment, &mut pending);
            rate.delivered += 1;
            let now = segment.sent_at + Duration::from_millis(100);
            rate.on_ack(1, now);
            last = rate.sample(&pending, (1, 0), now, true, None);
        }
        // The last segment was sent at 90 ms, before anything was delivered: ten segments in 190
        // ms.
        assert_eq!((last.delivered, last.interval), (10, Duration::from_millis(190)));
    }

    #[test]
    fn the_mark_of_an_idle_application_goes_when_its_bubble_is_delivered() {
        let mut rate = DeliveryRate { app_limited: 2, ..DeliveryRate::default() };
        for (delivered, marked) in [(2, true), (3, false)] {
            rate.delivered = delivered;
            rate.on_ack(1, Instant::ZERO);
            assert_eq!(rate.app_limited != 0, marked);
        }
    }
}
