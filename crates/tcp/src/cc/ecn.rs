//! ECN between a connection and its controller: the controller's needs, and the connection's marks.

/// The form of ECN that a connection uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// No ECN.
    #[default]
    Off,
    /// Classic ECN: the receiver reports congestion until the sender confirms it (RFC 3168).
    Classic,
    /// Accurate ECN: the receiver counts marks (RFC 9768).
    Accurate,
}

/// The ECN that a controller needs. A host whose controller needs ECN requests and accepts it,
/// regardless of the host's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnNeed {
    /// The controller works with and without ECN.
    #[default]
    None,
    /// Either form of ECN (Linux's `TCP_CONG_NEEDS_ECN`). Every packet is sent with ECT(0).
    Any,
    /// Accurate ECN; classic ECN is refused (`TCP_CONG_NEEDS_ACCECN`,
    /// `TCP_CONG_NO_FALLBACK_RFC3168`). Every packet is sent with ECT(1) (`TCP_CONG_WANTS_ECT_1`).
    L4s,
}

/// The state of a connection whose handshake is complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// The ECN that both ends agreed on.
    pub ecn: EcnMode,
    /// The length of the IP and TCP headers with options, in bytes.
    pub header: u32,
    /// The totals at the start.
    pub totals: Totals,
}

/// Totals of a connection: two sequence numbers, and two counts of segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// The first unacknowledged byte.
    pub snd_una: u64,
    /// The next byte to send.
    pub snd_nxt: u64,
    /// The number of segments delivered, cumulatively or selectively (Linux's `delivered`).
    pub delivered: u64,
    /// The number of segments delivered with a CE mark (`delivered_ce`). With classic ECN, every
    /// segment that an acknowledgement with ECE delivers counts as marked.
    pub delivered_ce: u64,
}
