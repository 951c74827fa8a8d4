//! The state of fast recovery, which `dupack.rs` starts.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_input.c` and `tcp_timer.c`.

/// The number of duplicate acknowledgements that start fast retransmission (`tcprexmtthresh`).
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

/// The state of fast recovery.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// The number of consecutive duplicate acknowledgements (`t_dupacks`).
    pub(super) dup_acks: u32,
    /// Whether fast recovery is active (`TF_FASTRECOVERY`).
    active: bool,
    /// Whether the window was reduced in this round trip (`TF_CONGRECOVERY`).
    reduced: bool,
    /// The sequence number whose acknowledgement ends recovery (`snd_recover`).
    pub(super) end: u64,
    /// The number of segments that limited transmit has sent for the current duplicates.
    limited: u32,
    /// The value of `snd_nxt` when recovery began (`sack_newdata`).
    pub(super) new_data_from: u64,
}

/// The state that is restored if a timeout was spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeTimeout {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    end: u64,
    active: bool,
    reduced: bool,
    /// An acknowledgement that arrives before this tick is for the original transmission.
    pub(super) until: u64,
}

impl Recovery {
    #[inline]
    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    #[inline]
    pub(super) const fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// Begins fast recovery, which the acknowledgement of `max` ends. `max` is the highest value of
    /// `snd_nxt` so far (`snd_max`).
    pub(super) fn enter(&mut self, max: u64) {
        self.end = max;
        self.active = true;
        self.reduced = true;
    }

    /// Records that an ECN echo reduces the window. The acknowledgement of `max` ends the
    /// reduction.
    pub(super) fn reduce(&mut self, max: u64) {
        self.end = max;
        self.reduced = true;
    }

    /// Ends recovery and reduction. Returns whether recovery was not active.
    pub(super) fn leave(&mut self) -> bool {
        let only_reduced = !self.active;
        self.active = false;
        self.reduced = false;
        only_reduced
    }

    /// Ends recovery because of a timeout, and sets the end of the recovery to `max`
    /// (`snd_recover`).
    pub(super) fn on_timeout(&mut self, max: u64) {
        self.end = max;
        self.dup_acks = 0;
        self.active = false;
        self.reduced = false;
    }

    /// Returns the state before a timeout, with the window and its threshold.
    pub(super) fn save(&self, cwnd: u64, ssthresh: u64, until: u64) -> BeforeTimeout {
        let (end, active, reduced) = (self.end, self.active, self.reduced);
        BeforeTimeout { cwnd, ssthresh, end, active, reduced, until }
    }

    /// Restores the state before a spurious timeout.
    pub(super) fn restore(&mut self, before: &BeforeTimeout) {
        self.end = before.end;
        self.active |= before.active;
        self.reduced |= before.reduced;
    }

    /// Returns the number of segments that limited transmit may still send for the current
    /// duplicates. The first duplicate resets the number of segments sent.
    pub(super) fn limited_quota(&mut self) -> u64 {
        if self.dup_acks == 1 {
            self.limited = 0;
        }
        u64::from(self.dup_acks.saturating_sub(self.limited))
    }

    /// Records that limited transmit has sent `bytes`.
    pub(super) fn on_limited_transmit(&mut self, bytes: u64, mss: u64) {
        if bytes > mss {
            self.limited = 2;
        } else if bytes > 0 {
            self.limited += 1;
        }
    }

    /// Returns the number of segments by which fast retransmission inflates the window. The number
    /// is the duplicate threshold minus the segments that limited transmit has sent.
    pub(super) fn inflation(&self) -> u64 {
        u64::from(DUPLICATE_THRESHOLD - self.limited.min(DUPLICATE_THRESHOLD))
    }
}
