//! Proportional rate reduction (PRR).
//!
//! Sources: RFC 6937; Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_cwnd_reduction`).

/// The progress of a reduction of the congestion window.
#[derive(Debug, Default)]
pub(super) struct Prr {
    /// The window before the reduction or the timeout (`prior_cwnd`).
    prior_cwnd: u64,
    /// The number of segments delivered since the start of the reduction (`prr_delivered`).
    delivered: u64,
    /// The number of segments sent since the start of the reduction (`prr_out`).
    out: u64,
}

/// The state of the sender after an acknowledgement, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) ssthresh: u64,
    pub(super) in_flight: u64,
    /// The number of segments that the acknowledgement delivered.
    pub(super) delivered: u64,
    /// Whether the acknowledgement advances `snd_una` and shows no new loss.
    pub(super) is_safe: bool,
}

impl Prr {
    /// Returns the window before the reduction or the timeout.
    pub(super) const fn prior_cwnd(&self) -> u64 {
        self.prior_cwnd
    }

    /// Begins a reduction of the window `cwnd`.
    pub(super) fn begin(&mut self, cwnd: u64) {
        *self = Self { prior_cwnd: cwnd, delivered: 0, out: 0 };
    }

    /// Records the window before a timeout, to which the window returns if the timeout was
    /// spurious.
    pub(super) fn on_timeout(&mut self, cwnd: u64) {
        self.prior_cwnd = cwnd;
    }

    /// Records that `segments` were sent during the reduction.
    #[inline]
    pub(super) fn on_sent(&mut self, segments: u64) {
        self.out += segments;
    }

    /// Records the delivered segments, and returns the new window in segments. While more than the
    /// slow-start threshold is in flight, the reduction is proportional; otherwise PRR-SSRB
    /// applies. `segment` is the size of a segment in the unit of the window.
    pub(super) fn cwnd(&mut self, now: Reduction, segment: u64) -> u64 {
        let prior_cwnd = (self.prior_cwnd / segment).max(1);
        self.delivered += now.delivered;
        let mut quota = if now.in_flight > now.ssthresh {
            let target = now.ssthresh.saturating_mul(self.delivered).div_ceil(prior_cwnd);
            target.saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(now.delivered);
            (conserved + u64::from(now.is_safe)).min(now.ssthresh - now.in_flight)
        };
        // The first retransmission is always sent.
        if self.out == 0 {
            quota = quota.max(1);
        }
        (now.in_flight + quota).max(1)
    }
}
