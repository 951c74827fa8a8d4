//! Bounds that several disciplines share: the ranges of netlink and `ipfw` fields, and of
//! meaningful values.

use aqmlab_core::{Bounds, Duration};

const U32: u64 = u32::MAX as u64;

/// The bounds of a limit in packets or bytes: 32 bits in `tc` and `ipfw`, and above zero, because a
/// queue with no room drops every packet.
pub(crate) const ROOM: Bounds = Bounds::Whole(1, U32);

/// The bounds of a limit that may be zero; zero then has a special meaning.
pub(crate) const ROOM_OR_NONE: Bounds = Bounds::Whole(0, U32);

/// The bounds of a duration above zero that `tc` sends as microseconds in 32 bits.
pub(crate) const MICROS: Bounds =
    Bounds::span(Duration::from_micros(1), Duration::from_micros(U32));

/// The bounds of a duration that is zero or within [`MICROS`].
pub(crate) const MICROS_OR_NONE: Bounds =
    Bounds::zero_or_span(Duration::from_micros(1), Duration::from_micros(U32));

/// The bounds of durations that dummynet limits to five seconds (FreeBSD 10.4 `dn_aqm_codel.c`).
pub(crate) const FIVE_SECONDS: Bounds =
    Bounds::span(Duration::from_micros(1), Duration::from_secs(5));

/// The bounds of a duration that is zero or within [`FIVE_SECONDS`] (`dn_sched_fq_pie.c`).
pub(crate) const FIVE_SECONDS_OR_NONE: Bounds =
    Bounds::zero_or_span(Duration::from_micros(1), Duration::from_secs(5));

/// The bounds of durations that dummynet limits to ten seconds (FreeBSD 10.4 `dn_aqm_pie.c`).
pub(crate) const TEN_SECONDS: Bounds =
    Bounds::span(Duration::from_micros(1), Duration::from_secs(10));

/// The bounds of a duration that is zero or within [`TEN_SECONDS`].
pub(crate) const TEN_SECONDS_OR_NONE: Bounds =
    Bounds::zero_or_span(Duration::from_micros(1), Duration::from_secs(10));

/// The bounds of the tick of a kernel's clock.
pub(crate) const TICK: Bounds = Bounds::span(Duration::from_micros(1), Duration::from_secs(1));

/// The bounds of a tick that is zero (an ideal timer) or within [`TICK`].
pub(crate) const TICK_OR_IDEAL: Bounds =
    Bounds::zero_or_span(Duration::from_micros(1), Duration::from_secs(1));

/// The bounds of the perturbation of a flow hash, 32 bits in Linux.
pub(crate) const SALT: Bounds = Bounds::Whole(0, U32);

/// The bounds of a probability.
pub(crate) const PROBABILITY: Bounds = Bounds::Real(0.0, 1.0);

/// The bounds of PIE's gains in 1/s: from zero to the gain at which a delay 1 ms above the target
/// adds 1 to the probability.
pub(crate) const GAIN: Bounds = Bounds::Real(0.0, 1_000.0);

/// The bounds of the average packet size, which is at most the size of the largest IP packet.
pub(crate) const PACKET_BYTES: Bounds = Bounds::Whole(1, 65_535);
