//! The drops and marks of packets, with the complete list of their reasons.
//!
//! A port records the packets that enter and leave. A discipline reports only events that the port
//! cannot see: drops and marks, each with its reason. Such events are rare, so a log that is a
//! trait object costs nothing for most packets.

use crate::{Instant, Packet};

/// A drop or a mark of a packet, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The packet was dropped, for this reason.
    Drop(Reason),
    /// The packet was marked CE, for this reason.
    Mark(Reason),
}

/// The reason for a drop or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue, or the flow's share of the queue, was full. Some disciplines then drop a packet
    /// that is already queued.
    Overlimit,
    /// The sojourn time stayed above the target for an interval (CoDel).
    Sojourn,
    /// A probability selected the packet (such as in PIE, or in RED between its thresholds).
    Early,
    /// The average queue length was so large that RED drops or marks every packet.
    Forced,
    /// The sojourn time or the queue length was above a step-marking threshold (such as
    /// `ce_threshold`).
    Threshold,
    /// A later acknowledgement of the same connection made the packet redundant (CAKE's
    /// `ack-filter`).
    Filtered,
    /// The path lost the packet: by the random loss that the scenario states, or because a radio
    /// gave the packet up.
    Path,
}

impl Reason {
    /// Every reason, in the order of [`Reason::index`].
    pub const ALL: [Self; 7] = [
        Self::Overlimit,
        Self::Sojourn,
        Self::Early,
        Self::Forced,
        Self::Threshold,
        Self::Filtered,
        Self::Path,
    ];

    /// Returns the reason's index in [`Reason::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the reason's name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlimit => "overlimit",
            Self::Sojourn => "sojourn",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Threshold => "threshold",
            Self::Filtered => "filtered",
            Self::Path => "path",
        }
    }
}

/// Receives the drops and marks of packets.
pub trait Log {
    /// Records that `event` happened to `packet` at `now`.
    fn record(&mut self, now: Instant, packet: &Packet, event: Event);

    /// Takes a packet after its drop was recorded. The default frees the packet. A driver may reuse
    /// the packet's memory.
    fn discard(&mut self, packet: Packet) {
        drop(packet);
    }

    /// Returns the time of another clock reading within the call of a discipline that began at
    /// `now`. A simulated call takes no time, so the default is `now`. A replay returns the
    /// recorded reading.
    fn read_clock(&mut self, now: Instant) -> Instant {
        now
    }
}

/// A log that discards events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl Log for NoLog {
    fn record(&mut self, _now: Instant, _packet: &Packet, _event: Event) {}
}
