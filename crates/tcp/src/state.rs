//! The states of a connection (RFC 9293 §3.3.2) and the states of Linux's congestion control.

/// The state of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

impl State {
    /// Returns the name that metrics show.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Listen => "listen",
            Self::SynSent => "syn_sent",
            Self::SynReceived => "syn_received",
            Self::Established => "established",
            Self::FinWait1 => "fin_wait_1",
            Self::FinWait2 => "fin_wait_2",
            Self::CloseWait => "close_wait",
            Self::Closing => "closing",
            Self::LastAck => "last_ack",
            Self::TimeWait => "time_wait",
            Self::Closed => "closed",
        }
    }

    /// Returns whether the handshake is complete and the connection has not ended.
    pub(crate) const fn is_synchronized(self) -> bool {
        !matches!(
            self,
            Self::Listen | Self::SynSent | Self::SynReceived | Self::TimeWait | Self::Closed
        )
    }

    /// Returns whether the application may still add data.
    pub(crate) const fn may_write(self) -> bool {
        matches!(
            self,
            Self::Listen | Self::SynSent | Self::SynReceived | Self::Established | Self::CloseWait
        )
    }

    /// Returns whether the peer may still send data.
    pub(crate) const fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

/// The state of Linux's congestion control (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// No loss is suspected.
    #[default]
    Open,
    /// A segment is selectively acknowledged or was retransmitted.
    Disorder,
    /// The window is being reduced because of an ECN echo or of a loss that a probe repaired.
    Cwr,
    /// Losses are being repaired by fast retransmission.
    Recovery,
    /// Losses are being repaired after a timeout.
    Loss,
}

impl CaState {
    /// Returns whether the window is being reduced to `ssthresh`.
    #[inline]
    pub(crate) const fn is_reducing(self) -> bool {
        matches!(self, Self::Cwr | Self::Recovery)
    }

    /// Returns the name that metrics show.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}
