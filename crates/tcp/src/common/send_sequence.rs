//! The send sequence space (RFC 9293 §3.3.1), with the bytes that the application has written.

use aqmlab_core::Instant;

/// The send sequence variables. Windows are in bytes.
#[derive(Debug)]
pub(crate) struct SendSequence {
    /// The first unacknowledged byte (`SND.UNA`).
    pub(crate) una: u64,
    /// The next byte to send (`SND.NXT`). On Linux, it is the next byte to send for the first time.
    pub(crate) nxt: u64,
    /// The highest value of `nxt` so far. FreeBSD moves `nxt` back for retransmissions.
    pub(crate) max: u64,
    /// The window that the peer offers (`SND.WND`).
    pub(crate) wnd: u64,
    /// The largest window that the peer ever offered.
    pub(crate) max_window: u64,
    /// The sequence number of the segment that last updated the window (`SND.WL1`).
    pub(crate) wl1: u64,
    /// The end of the last small segment sent (Minshall's variable).
    pub(crate) small_end: u64,
    /// The time at which the last data segment was sent (Linux `lsndtime`).
    pub(crate) last_sent: Instant,
    /// The bytes that the application wrote before the handshake completed and that are not yet in
    /// the buffer (Linux).
    pub(crate) early: u64,
    /// Whether the application has closed the sending direction.
    pub(crate) fin_wanted: bool,
    /// Whether the FIN has been sent. Its sequence number is `max - 1`.
    pub(crate) fin_sent: bool,
    /// The sequence number after the last byte in the buffer.
    written: u64,
}

impl Default for SendSequence {
    fn default() -> Self {
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            wnd: 0,
            max_window: 0,
            wl1: 0,
            small_end: 0,
            last_sent: Instant::ZERO,
            early: 0,
            fin_wanted: false,
            fin_sent: false,
            written: 1,
        }
    }
}

impl SendSequence {
    /// Returns the number of unsent bytes in the buffer.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.nxt)
    }

    /// Returns the sequence number after the last byte in the buffer.
    #[inline]
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Adds `bytes` to the buffer.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Removes the unsent bytes from the buffer, and returns their number.
    pub(crate) fn take_back(&mut self) -> u64 {
        let unsent = self.unsent();
        self.written -= unsent;
        unsent
    }

    /// Returns whether a FIN must follow the data in the buffer and has not been sent.
    #[inline]
    pub(crate) fn fin_pending(&self) -> bool {
        self.fin_wanted & !self.fin_sent & (self.early == 0)
    }

    /// Returns whether there is data, or a FIN, that has never been sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.fin_pending()
    }

    /// Returns whether the peer has acknowledged all data, and the FIN if there is one.
    pub(crate) fn all_acknowledged(&self) -> bool {
        self.una == self.max && self.unsent() == 0 && self.early == 0 && !self.fin_pending()
    }

    /// Returns the end of the peer's window.
    #[inline]
    pub(crate) fn window_end(&self) -> u64 {
        self.una + self.wnd
    }

    /// Returns the number of bytes in the buffer, sent or not.
    #[inline]
    pub(crate) fn buffered(&self) -> u64 {
        self.written.saturating_sub(self.una.max(1))
    }
}
