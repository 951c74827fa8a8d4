//! The phases of the cycle, and the relation of acknowledgements to probes.
//!
//! Source: google/bbr v3 `net/ipv4/tcp_bbr.c` (`bbr_pacing_gain_phase`, `bbr_ack_phase`).

use super::UNIT;

/// A phase of `Mode::ProbeBw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Sends faster than the bandwidth, to find more.
    Up,
    /// Drains the queue of the probe.
    Down,
    /// Sends at the bandwidth, with headroom.
    Cruise,
    /// Fills the pipe before the next probe.
    Refill,
}

impl Phase {
    pub(super) const fn pacing_gain(self) -> u64 {
        match self {
            Self::Up => UNIT * 5 / 4,
            Self::Down => UNIT * 91 / 100,
            Self::Cruise | Self::Refill => UNIT,
        }
    }
}

/// The relation of arriving acknowledgements to the last probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// The acknowledgements are of data that no probe sent.
    Init,
    Refilling,
    /// A probe has begun, and the acknowledgements are of data sent before it.
    ProbeStarting,
    /// The acknowledgements are of data of the probe.
    ProbeFeedback,
    /// The probe has ended, and the acknowledgements are still of its data.
    ProbeStopping,
}
