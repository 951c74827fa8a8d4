//! The receive sequence space (RFC 9293 §3.3.1).

use super::sack_report::SackReport;

/// The receive sequence variables. Windows are in bytes.
#[derive(Debug, Default)]
pub(crate) struct ReceiveSequence {
    /// The next byte expected (`RCV.NXT`).
    pub(crate) nxt: u64,
    /// The window that was last advertised (`RCV.WND`).
    pub(crate) wnd: u64,
    /// The value of `nxt` when the window was last advertised (Linux `rcv_wup`, FreeBSD
    /// `last_ack_sent`).
    pub(crate) wup: u64,
    /// The sequence number of the peer's FIN, once it has arrived, in order or not.
    pub(crate) fin: Option<u64>,
    /// The timestamp to echo (RFC 7323 §4.3).
    pub(crate) ts_recent: u32,
    /// The SACK blocks to report.
    pub(crate) sack: SackReport,
}

impl ReceiveSequence {
    /// Returns the part of the advertised window that is still open.
    #[inline]
    pub(crate) const fn open(&self) -> u64 {
        (self.wup + self.wnd).saturating_sub(self.nxt)
    }

    /// Advertises `window`, starting at the next expected byte.
    #[inline]
    pub(crate) fn advertise(&mut self, window: u64) {
        self.wnd = window;
        self.wup = self.nxt;
    }

    /// Returns the number of bytes received since the last acknowledgement.
    #[inline]
    pub(crate) const fn unacknowledged(&self) -> u64 {
        self.nxt - self.wup
    }
}
