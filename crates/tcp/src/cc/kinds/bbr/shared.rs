//! The fixed point, the modes and the constants that versions 1 and 3 of BBR share.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` (version 1) and google/bbr v3, which are equal in these
//! parts.

use aqmlab_core::{Duration, Instant, Rng};

/// The binary logarithm of the bandwidth unit. Bandwidth is in units of the window per microsecond,
/// times 2^24.
pub(in crate::cc::kinds) const BW_SCALE: u32 = 24;
pub(in crate::cc::kinds) const BW_UNIT: u64 = 1 << BW_SCALE;
/// The binary logarithm of the gain unit. Gains are in 256ths.
pub(in crate::cc::kinds) const SCALE: u32 = 8;
pub(in crate::cc::kinds) const UNIT: u64 = 1 << SCALE;
/// The inverse of 2/ln 2, which drains the queue of the start-up phase (`bbr_drain_gain`).
pub(in crate::cc::kinds) const DRAIN_GAIN: u64 = UNIT * 1_000 / 2_885;
/// The gain of the window after the start-up phase (`bbr_cwnd_gain`).
pub(in crate::cc::kinds) const CWND_GAIN: u64 = UNIT * 2;
/// The minimum window in segments, except during packet conservation. With this window, a receiver
/// that acknowledges every second segment still acknowledges continuously.
pub(in crate::cc::kinds) const CWND_MIN_TARGET: u64 = 4;
/// The minimum growth of bandwidth, 25 %. After three rounds with less growth, the pipe counts as
/// full.
pub(in crate::cc::kinds) const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
pub(in crate::cc::kinds) const FULL_BW_ROUNDS: u32 = 3;
/// The duration of [`Mode::ProbeRtt`] in microseconds.
pub(in crate::cc::kinds) const PROBE_RTT_MICROS: u64 = 200_000;
/// The margin in per cent by which the rate stays below the bandwidth, so that queues drain.
pub(in crate::cc::kinds) const MARGIN_PERCENT: u64 = 1;
/// The binary logarithm of the number of bursts per second: a burst carries the data of about a
/// millisecond (`sk_pacing_shift`).
pub(in crate::cc::kinds) const PACING_SHIFT: u32 = 10;

/// A mode of BBR's state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cc::kinds) enum Mode {
    /// Doubles the rate until the delivery rate stops growing.
    Startup,
    /// Drains the queue of the start-up phase.
    Drain,
    /// Sends at the delivery rate, and periodically probes for more bandwidth.
    ProbeBw,
    /// Keeps little data in flight, to measure the round-trip time without a queue.
    ProbeRtt,
}

/// Returns the random stream `name` of a connection that is established at `now`. `srtt` is the
/// round-trip time of its handshake.
pub(in crate::cc::kinds) fn stream(
    seed: u64,
    name: &str,
    now: Instant,
    srtt: Option<Duration>,
) -> Rng {
    let round_trip = srtt.unwrap_or_default().as_nanos().rotate_left(32);
    Rng::stream(seed ^ now.as_nanos() ^ round_trip, name)
}
