//! The parts that FreeBSD's congestion controllers share: appropriate byte counting and the window
//! after an idle period.
//!
//! Sources: RFC 3465 with L = 2, RFC 3390; FreeBSD 10.4 `cc_ack_received` of `tcp_input.c` and
//! `sys/netinet/cc/cc_newreno.c`, whose slow start CUBIC calls.

use super::{Ack, Window};

/// The maximum number of segments by which one acknowledgement grows the window
/// (`net.inet.tcp.abc_l_var`).
const ABC_LIMIT: u64 = 2;

/// The data acknowledged in congestion avoidance. Amounts have the unit of the window.
#[derive(Debug, Default)]
pub(super) struct ByteCounter {
    /// The amount of data acknowledged since the last whole window.
    counted: u64,
    /// Whether a whole window of data was acknowledged (`CCF_ABC_SENTAWND`).
    sent_a_window: bool,
}

impl ByteCounter {
    /// Counts `acked` towards a whole window in congestion avoidance. Slow start resets the count.
    pub(super) fn record(&mut self, window: &Window, acked: u64) {
        if is_slow_start(window) {
            *self = Self::default();
            return;
        }
        self.counted += acked.min(ABC_LIMIT * window.segment);
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            self.sent_a_window = true;
        }
    }

    /// Returns whether a whole window of data was acknowledged since the last call.
    pub(super) fn take_window(&mut self) -> bool {
        std::mem::take(&mut self.sent_a_window)
    }

    /// Forgets the data counted towards the next whole window.
    pub(super) fn restart(&mut self) {
        self.counted = 0;
    }
}

/// Returns whether the window is in slow start. On FreeBSD this includes a window that equals the
/// threshold.
pub(super) fn is_slow_start(window: &Window) -> bool {
    window.cwnd <= window.ssthresh
}

/// Grows the window by `acked` in slow start, but at most by [`ABC_LIMIT`] segments. During
/// go-back-N after a timeout, the limit is one segment (RFC 3465 §2.3).
pub(super) fn slow_start(window: &mut Window, ack: &Ack, acked: u64) {
    let goes_back = ack.snd_nxt < ack.snd_una + ack.in_flight;
    let limit = if goes_back { 1 } else { ABC_LIMIT };
    let growth = acked.min(limit * window.segment);
    window.cwnd = window.cwnd.saturating_add(growth).min(window.clamp);
}

/// Limits the window to the initial window of RFC 3390, from which FreeBSD restarts after an idle
/// period.
pub(super) fn restart_after_idle(window: &mut Window) {
    let mss = u64::from(window.mss.max(1));
    let bytes = (4 * mss).min((2 * mss).max(4_380));
    let restart = if window.segment == 1 { bytes / mss } else { bytes };
    window.cwnd = window.cwnd.min(restart);
}
