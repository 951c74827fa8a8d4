//! The options that the handshake negotiates.

/// The negotiated options of a connection.
#[derive(Debug, Default)]
pub(crate) struct NegotiatedOptions {
    /// Whether segments carry timestamps.
    pub(crate) timestamps: bool,
    /// Whether SACK may be used.
    pub(crate) sack: bool,
    /// Whether windows are scaled.
    pub(crate) scaling: bool,
    /// The shift count of the peer's windows (RFC 7323). The windows in received headers are
    /// already scaled.
    pub(crate) snd_shift: u8,
    /// The shift count of the windows that this end advertises.
    pub(crate) rcv_shift: u8,
    /// Whether ECN may be used.
    pub(crate) ecn: bool,
    /// The segment size that this end advertised, minus the bytes of timestamps.
    pub(crate) advmss: u32,
    /// The segment size that the peer advertised, at least 48; 536 if the peer advertised none.
    pub(crate) mss_clamp: u32,
}

impl NegotiatedOptions {
    /// Returns the number of option bytes that every segment carries.
    #[inline]
    pub(crate) const fn fixed_len(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }

    /// Disables window scaling.
    pub(crate) fn unscale(&mut self) {
        self.rcv_shift = 0;
        self.snd_shift = 0;
    }
}
