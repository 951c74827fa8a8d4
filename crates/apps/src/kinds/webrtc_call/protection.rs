//! The proportion of retransmitted bytes in the video sent. The encoder lowers its rate by this
//! proportion.
//!
//! Source: libwebrtc (2025-06) `fec_controller_default.cc`, `UpdateFecRates`, and
//! `rtp_sender_egress.cc`, whose rates cover the last second.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::expiry::expired;

const WINDOW: Duration = Duration::from_secs(1);
const MOST: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    bytes: u64,
    is_rtx: bool,
}

/// The video packets sent in the last second.
#[derive(Debug, Default)]
pub(crate) struct Protection {
    sent: VecDeque<Sent>,
    /// The bytes sent for the first time, and the retransmitted bytes.
    bytes: [u64; 2],
}

impl Protection {
    /// Adds a packet of video that was sent for the first time.
    pub(crate) fn sent_first(&mut self, bytes: u32, now: Instant) {
        self.add(Sent { at: now, bytes: u64::from(bytes), is_rtx: false });
    }

    /// Adds a retransmitted packet of video.
    pub(crate) fn sent_rtx(&mut self, bytes: u32, now: Instant) {
        self.add(Sent { at: now, bytes: u64::from(bytes), is_rtx: true });
    }

    fn add(&mut self, one: Sent) {
        self.bytes[usize::from(one.is_rtx)] += one.bytes;
        self.sent.push_back(one);
        self.expire(one.at);
    }

    /// Returns the proportion of retransmitted bytes in the last second, limited to 0.5.
    pub(crate) fn share(&mut self, now: Instant) -> f64 {
        self.expire(now);
        let [first, rtx] = self.bytes;
        let all = first + rtx;
        if all == 0 { 0.0 } else { (rtx as f64 / all as f64).min(MOST) }
    }

    fn expire(&mut self, now: Instant) {
        for one in expired(&mut self.sent, |one| now.since(one.at) > WINDOW) {
            self.bytes[usize::from(one.is_rtx)] -= one.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn the_share_is_that_of_the_last_second_and_at_most_a_half() {
        let mut protection = Protection::default();
        let at = Instant::from_millis;
        close(protection.share(at(0)), 0.0, 0.0);
        for n in 0..10 {
            match n {
                4 => protection.sent_rtx(1_000, at(100 * n)),
                _ => protection.sent_first(1_000, at(100 * n)),
            }
        }
        close(protection.share(at(1_000)), 0.1, 1e-9);
        close(protection.share(at(1_401)), 0.0, 0.0);
        for n in 0..10 {
            protection.sent_rtx(1_000, at(1_500 + n));
        }
        close(protection.share(at(1_600)), 0.5, 0.0);
        close(protection.share(at(9_000)), 0.0, 0.0);
    }
}
