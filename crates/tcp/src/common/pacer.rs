//! Pacing, which spreads segments over time for congestion controls with a pacing rate.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_update_skb_after_send`, `tcp_pacing_check`).
//!
//! The controller sets the rate (`pacing_rate` in `cc.rs`); a connection without this rate does not
//! pace. `linux/tsq.rs` and `freebsd/output.rs` hold a segment back until its departure.
//! `linux/pacing_rate.rs` computes `sk_pacing_rate`, which Linux also uses for connections that do
//! not pace.

use aqmlab_core::{BitRate, Bytes, Duration, Instant};

/// The number of data segments at the start of a connection that are not paced
/// (`tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u64 = 10;

/// The departure times of a sender.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// The earliest departure of the next segment (`tcp_wstamp_ns`).
    departure: Instant,
    /// The number of data segments sent, including retransmissions.
    segments: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self { departure: Instant::ZERO, segments: 0 }
    }
}

impl Pacer {
    /// Returns the earliest departure of the next segment.
    #[inline]
    pub(crate) const fn departure(&self) -> Instant {
        self.departure
    }

    /// Returns the time until the earliest departure; zero if that time has passed.
    #[inline]
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.departure.since(now)
    }

    /// Records that a data segment is sent.
    #[inline]
    pub(crate) fn on_segment_sent(&mut self) {
        self.on_segments_sent(1);
    }

    /// Records that `count` data segments are sent.
    #[inline]
    pub(crate) fn on_segments_sent(&mut self, count: u64) {
        self.segments += count;
    }

    /// Reserves the time that a burst of `bytes`, whose segments have been counted, takes at
    /// `rate`. If the burst is sent later than its departure time, the reserved time is shorter by
    /// this delay, at most by half. Bursts that end before segment [`UNPACED_SEGMENTS`] reserve no
    /// time.
    #[inline]
    pub(crate) fn on_burst(&mut self, now: Instant, rate: BitRate, bytes: u64) {
        let late = now.since(self.departure);
        self.departure = self.departure.max(now);
        if self.segments >= UNPACED_SEGMENTS {
            let span = rate.transmit_time(Bytes(bytes));
            let credit = late.min(span / 2);
            self.departure += span.saturating_sub(credit);
        }
    }
}
