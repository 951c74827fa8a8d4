//! Feedback of a connection to controllers that need more than [`super::Ack`].

use super::ecn::Totals;
pub use crate::state::CaState;
use aqmlab_core::Instant;

/// Further values of an acknowledgement, in segments, from Linux's `rate_sample` and `tcp_sock`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedback {
    /// The totals after the acknowledgement.
    pub totals: Totals,
    /// The number of marked segments that the acknowledgement reports (`ece_delta`).
    pub marks: u64,
    /// Whether the acknowledgement reports a mark (`is_ece`).
    pub ece: bool,
    /// The number of segments delivered since the newest acknowledged segment was sent
    /// (`delivered`); zero without a sample.
    pub delivered: u64,
    /// The number of marked segments delivered since the newest acknowledged segment was sent
    /// (`delivered_ce`).
    pub delivered_ce: u64,
    /// The number of segments marked as lost since the newest acknowledged segment was sent
    /// (`lost`).
    pub lost: u64,
    /// The data in flight when the newest acknowledged segment was sent, including this segment
    /// (`tx_in_flight`).
    pub tx_in_flight: u64,
    /// The data in flight before the acknowledgement (`prior_in_flight`).
    pub prior_in_flight: u64,
    /// Whether the window limited the sender in the last round trip (`is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// Whether the receiver probably delayed the acknowledgement (`is_ack_delayed`).
    pub ack_delayed: bool,
    /// Whether the acknowledgement may be of a tail loss probe (`is_acking_tlp_retrans_seq`).
    pub acks_probe: bool,
    /// The state of recovery (`icsk_ca_state`).
    pub ca: CaState,
}

/// A segment that was just marked as lost.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// The time at which the segment was marked as lost.
    pub now: Instant,
    /// The number of segments delivered so far.
    pub delivered: u64,
    /// The data in flight when the segment was sent, including this segment.
    pub tx_in_flight: u64,
    /// The number of segments marked as lost since the segment was sent, including this segment.
    pub lost: u64,
    /// Whether the application limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Whether a selective acknowledgement had already reported the segment as delivered.
    pub was_delivered: bool,
}
