//! The options that the handshake negotiates, and the values that apply without them.

/// The segment size in bytes of a peer that states none (RFC 9293 §3.7.1; Linux `TCP_MSS_DEFAULT`,
/// FreeBSD `net.inet.tcp.mssdflt`).
pub(crate) const DEFAULT_MSS: u32 = 536;
/// The smallest segment size in bytes to which a peer can limit this end (Linux
/// `TCP_MIN_SND_MSS`).
pub(crate) const LEAST_MSS: u32 = 48;
/// The largest window in bytes that a header expresses without a scale.
pub(crate) const MAX_WINDOW: u64 = 65_535;
/// The maximum shift count of a window (RFC 7323 §2.3).
pub(crate) const MAX_SHIFT: u8 = 14;
/// The value of `TcpHeader::window_scale` in a segment without the window scale option.
pub(crate) const NO_SCALE: u8 = 255;

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
    /// The segment size in bytes that this end advertised, minus the bytes of timestamps.
    pub(crate) advmss: u32,
    /// The segment size in bytes that the peer advertised, at least [`LEAST_MSS`]; [`DEFAULT_MSS`]
    /// if the peer advertised none.
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
