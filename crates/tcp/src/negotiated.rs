//! The options that the handshake negotiates.

/// What was agreed in the handshake.
#[derive(Debug, Default)]
pub(crate) struct NegotiatedOptions {
    /// Whether segments carry timestamps.
    pub(crate) timestamps: bool,
    /// Whether SACK may be used.
    pub(crate) sack: bool,
    /// Whether windows are scaled.
    pub(crate) scaling: bool,
    /// The shift of the peer's windows; the header shows them already shifted.
    pub(crate) snd_shift: u8,
    /// The shift of our windows.
    pub(crate) rcv_shift: u8,
    /// Whether ECN may be used.
    pub(crate) ecn: bool,
    /// The segment size that we advertised, less what timestamps take.
    pub(crate) advmss: u32,
    /// The segment size that the peer advertised.
    pub(crate) mss_clamp: u32,
}

impl NegotiatedOptions {
    /// Bytes of options that every segment carries.
    #[inline]
    pub(crate) const fn fixed_options(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }
}
