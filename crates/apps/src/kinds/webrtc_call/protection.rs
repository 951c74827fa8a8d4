//! The share of retransmissions in the video that is sent. The encoder lowers its rate by this
//! share.
//!
//! Source: libwebrtc (2025-06) `fec_controller_default.cc`, `UpdateFecRates`, and
//! `rtp_sender_egress.cc`, whose rates cover the last second.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);
const MOST: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    bytes: u64,
    is_again: bool,
}

/// The video of the last second.
#[derive(Debug, Default)]
pub(crate) struct Protection {
    sent: VecDeque<Sent>,
    /// The bytes of first transmissions, and the bytes of retransmissions.
    bytes: [u64; 2],
}

impl Protection {
    /// Adds a packet of video.
    pub(crate) fn sent(&mut self, bytes: u32, is_again: bool, now: Instant) {
        let one = Sent { at: now, bytes: u64::from(bytes), is_again };
        self.bytes[usize::from(is_again)] += one.bytes;
        self.sent.push_back(one);
        self.expire(now);
    }

    /// Returns the share of retransmissions, from 0 to 0.5.
    pub(crate) fn share(&mut self, now: Instant) -> f64 {
        self.expire(now);
        let [first, again] = self.bytes;
        let all = first + again;
        if all == 0 { 0.0 } else { (again as f64 / all as f64).min(MOST) }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(one) = self.sent.front().filter(|one| now.since(one.at) > WINDOW) {
            self.bytes[usize::from(one.is_again)] -= one.bytes;
            self.sent.pop_front();
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
            protection.sent(1_000, n == 4, at(100 * n));
        }
        close(protection.share(at(1_000)), 0.1, 1e-9);
        close(protection.share(at(1_401)), 0.0, 0.0);
        for n in 0..10 {
            protection.sent(1_000, true, at(1_500 + n));
        }
        close(protection.share(at(1_600)), 0.5, 0.0);
        close(protection.share(at(9_000)), 0.0, 0.0);
    }
}
