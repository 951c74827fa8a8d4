//! The state of fast recovery.

/// Duplicates that start fast retransmission (`tcprexmtthresh`).
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

/// The state of fast recovery.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Duplicate acknowledgements in a row (`t_dupacks`).
    pub(super) dup_acks: u32,
    /// Fast recovery repairs losses (`TF_FASTRECOVERY`).
    active: bool,
    /// The window was reduced in this round trip (`TF_CONGRECOVERY`).
    reduced: bool,
    /// Recovery ends when this is acknowledged (`snd_recover`).
    pub(super) end: u64,
    /// Segments that limited transmit has sent for the present duplicates.
    limited: u32,
    /// `snd_nxt` when recovery began (`sack_newdata`).
    pub(super) new_data_from: u64,
}

/// The state to which a spurious timeout is undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeTimeout {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    end: u64,
    active: bool,
    reduced: bool,
    /// An acknowledgement before this tick answers the original.
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

    /// Fast retransmission begins, with `max` the highest byte sent.
    pub(super) fn enter(&mut self, max: u64) {
        self.end = max;
        self.active = true;
        self.reduced = true;
    }

    /// An ECN echo reduces the window.
    pub(super) fn reduce(&mut self, max: u64) {
        self.end = max;
        self.reduced = true;
    }

    /// Leaves recovery and reduction. Returns whether that was a reduction alone.
    pub(super) fn leave(&mut self) -> bool {
        let only_reduced = !self.active;
        self.active = false;
        self.reduced = false;
        only_reduced
    }

    /// A timeout ends recovery.
    pub(super) fn on_timeout(&mut self, max: u64) {
        self.end = max;
        self.dup_acks = 0;
        self.active = false;
        self.reduced = false;
    }

    /// Saves the state before a timeout, with the window and its threshold.
    pub(super) fn save(&self, cwnd: u64, ssthresh: u64, until: u64) -> BeforeTimeout {
        let (end, active, reduced) = (self.end, self.active, self.reduced);
        BeforeTimeout { cwnd, ssthresh, end, active, reduced, until }
    }

    /// Returns to the state before a spurious timeout.
    pub(super) fn restore(&mut self, before: &BeforeTimeout) {
        self.end = before.end;
        self.active |= before.active;
        self.reduced |= before.reduced;
    }

    /// Segments that limited transmit may send for the present duplicates.
    pub(super) fn limited_quota(&mut self) -> u64 {
        if self.dup_acks == 1 {
            self.limited = 0;
        }
        u64::from(self.dup_acks.saturating_sub(self.limited))
    }

    /// Limited transmit has sent `bytes`.
    pub(super) fn on_limited_transmit(&mut self, bytes: u64, mss: u64) {
        if bytes > mss {
            self.limited = 2;
        } else if bytes > 0 {
            self.limited += 1;
        }
    }

    /// Segments by which fast retransmission inflates the window: the threshold, less those that
    /// limited transmit has sent.
    pub(super) fn inflation(&self) -> u64 {
        u64::from(DUPLICATE_THRESHOLD - self.limited.min(DUPLICATE_THRESHOLD))
    }
}
