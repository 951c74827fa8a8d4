//! The rate limit of challenge acknowledgements.
//!
//! Sources: RFC 5961 §10; Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_oow_rate_limited`).

use aqmlab_core::{Duration, Instant};

/// The rate limit of an endpoint's responses to unacceptable segments.
#[derive(Debug, Default)]
pub(crate) struct ChallengeLimit {
    last: Option<Instant>,
}

impl ChallengeLimit {
    /// Returns whether a response at `now` is allowed: at least `interval` after the last response.
    /// Records an allowed response.
    pub(crate) fn take(&mut self, now: Instant, interval: Duration) -> bool {
        if self.last.is_some_and(|at| now.since(at) < interval) {
            return false;
        }
        self.last = Some(now);
        true
    }
}
