//! The events that a queue discipline reports: the closed list of signals and reasons.
//!
//! A port records the packets that enter and leave. A discipline reports only events that the port
//! cannot see: that a packet was destroyed or marked, and the reason. Such events are rare, so the log
//! may be a trait object without a cost for every packet.

use crate::{Instant, Packet};

/// Something that a discipline did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Destroyed, and why.
    Drop(Reason),
    /// Marked CE, and why.
    Mark(Reason),
}

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue, or the flow's share of it, had no room left.
    Overlimit,
    /// Sojourn time stayed above the target for an interval (CoDel).
    Sojourn,
    /// Chosen by a drop probability (PIE, RED between its thresholds).
    Early,
    /// The average queue was above RED's upper threshold.
    Forced,
    /// Sojourn time was above the step-marking threshold (`ce_threshold`).
    Threshold,
    /// Lost on the path itself, by the scenario's random loss.
    Path,
}

impl Reason {
    /// Every reason, in the order of [`Reason::index`].
    pub const ALL: [Self; 6] =
        [Self::Overlimit, Self::Sojourn, Self::Early, Self::Forced, Self::Threshold, Self::Path];

    /// Its place in [`Reason::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word that tables and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlimit => "overlimit",
            Self::Sojourn => "sojourn",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Threshold => "threshold",
            Self::Path => "path",
        }
    }
}

/// Receives the events of disciplines.
pub trait Log {
    /// Records that `event` befell `packet` at `now`.
    fn record(&mut self, now: Instant, packet: &Packet, event: Event);
}

/// A log that discards events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl Log for NoLog {
    fn record(&mut self, _now: Instant, _packet: &Packet, _event: Event) {}
}
