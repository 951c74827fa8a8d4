//! Prague: a sender for L4S, which reduces its window or its rate in proportion to the fraction of
//! marked segments.
//!
//! Source: L4STeam's Linux, `net/ipv4/tcp_prague.c` 0.7, in its integer arithmetic. Without
//! accurate ECN the controller is Reno, and packets are not ECN-capable. Difference, pinned by a
//! test:
//!
//! - on a host that counts its window in bytes, the size of segments stays the same at low rates.
//!   L4STeam's Linux reduces it, so that two packets are sent per virtual round trip, and so does
//!   this module on a host that counts its window in segments.
//!
//! `prague/params.rs` defines the parameters, `prague/ops.rs` the operations, and
//! `prague/estimate.rs` the estimate of the fraction of marked segments. `prague/window.rs`
//! computes the additive increase and the reductions, and `prague/rate.rs` the conversions between
//! window and rate.

mod estimate;
mod ops;
mod params;
mod rate;
#[cfg(test)]
mod tests;
mod window;

use aqmlab_core::Instant;

use super::reno::Reno;
use crate::cc::{Feedback, Totals, Window};
pub use params::KINDS;
use params::{CwndMode, Options};

/// The number of fractional bits of the estimate of the fraction of marked segments. The maximum of
/// the estimate is one.
const ALPHA_BITS: u32 = 24;
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
/// The weight of a round's fraction of marked segments in the estimate, as a negative power of two.
const SHIFT_G: u32 = 4;
/// The binary logarithm of the unit of the fractional window.
const CWND_UNIT: u32 = 20;
const ONE_CWND: u64 = 1 << CWND_UNIT;
/// The size in bytes of the packet by which the window grows per round trip.
const MTU_SYS: u64 = 1_500;
/// The weight of a round's smoothed round-trip time in the long-term round-trip time, as a negative
/// power of two.
const HSRTT_SHIFT: u32 = 7;
/// The threshold before the first reduction (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

/// The part of a connection's state that the controller reads. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    now: u64,
    /// The congestion window, in segments.
    cwnd: u64,
    /// The slow-start threshold, in segments.
    ssthresh: u64,
    in_flight: u64,
    /// Eight times the smoothed round-trip time (`srtt_us`).
    srtt8: u64,
    /// The size of a full-sized packet in bytes (`tcp_mss_to_mtu`).
    mtu: u64,
    /// The largest congestion window, in segments.
    clamp: u64,
    totals: Totals,
}

/// The Prague controller. Times are in microseconds, and rates in bytes per second.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, as in the source")]
struct Prague {
    options: Options,
    /// Whether the connection has accurate ECN. If not, the controller is Reno.
    has_ecn: bool,
    reno: Reno,
    feedback: Option<Feedback>,
    view: View,
    /// The number of bytes of a packet beside its payload.
    header: u64,
    /// The size of the largest packet in bytes (`mtu_cache`).
    max_mtu: u64,
    /// Whether the controller may change the size of segments.
    sizes_segments: bool,
    cwr_stamp: u64,
    alpha_stamp: u64,
    /// The estimate of the fraction of marked segments, times [`MAX_ALPHA`] and times
    /// 2^[`SHIFT_G`].
    upscaled_alpha: u64,
    /// The growth of the window in units of [`ONE_CWND`] when all segments of one window are
    /// acknowledged without a mark.
    ai_ack_increase: u64,
    /// The long-term round-trip time in microseconds, times eight and times 2^[`HSRTT_SHIFT`].
    hsrtt: u64,
    /// The window in units of [`ONE_CWND`].
    frac_cwnd: u64,
    /// The rate in bytes per second.
    rate: u64,
    loss_rate: u64,
    loss_cwnd: u64,
    pacing_rate: u64,
    burst: u64,
    /// The totals at the start of the round.
    round_start: Totals,
    /// The number of rounds that began outside slow start.
    round: u64,
    /// Whether a mark was seen, which shows that there is an AQM on the path.
    saw_ce: bool,
    /// Whether the controller adapts the rate and derives the window from it. If not, the
    /// controller adapts the window.
    by_rate: bool,
    in_loss: bool,
}

impl Prague {
    fn new(options: Options) -> Self {
        Self {
            options,
            has_ecn: false,
            reno: Reno::default(),
            feedback: None,
            view: View::default(),
            header: 40,
            max_mtu: MTU_SYS,
            sizes_segments: true,
            cwr_stamp: 0,
            alpha_stamp: 0,
            upscaled_alpha: if options.starts_at_one { MAX_ALPHA << SHIFT_G } else { 0 },
            ai_ack_increase: ONE_CWND,
            hsrtt: 0,
            frac_cwnd: 0,
            rate: 0,
            loss_rate: 0,
            loss_cwnd: 0,
            pacing_rate: 0,
            burst: 1,
            round_start: Totals::default(),
            round: 0,
            saw_ce: false,
            by_rate: options.cwnd_mode == CwndMode::Rate,
            in_loss: false,
        }
    }

    /// Records the time, and the connection's window, threshold, packet size and clamp.
    fn look(&mut self, window: &Window, now: Instant) {
        let view = &mut self.view;
        view.now = now.as_nanos() / 1_000;
        view.cwnd = window.cwnd / window.segment;
        view.ssthresh = (window.ssthresh / window.segment).min(INFINITE_SSTHRESH);
        view.mtu = u64::from(window.mss) + self.header;
        view.clamp = window.clamp / window.segment;
    }

    /// Sets the window and the threshold of the connection and, if it may change, the size of
    /// segments.
    fn apply(&self, window: &mut Window) {
        let View { cwnd, ssthresh, mtu, .. } = self.view;
        if cwnd != window.cwnd / window.segment {
            window.cwnd = cwnd.saturating_mul(window.segment).min(window.clamp);
        }
        if ssthresh != (window.ssthresh / window.segment).min(INFINITE_SSTHRESH) {
            window.ssthresh = ssthresh.saturating_mul(window.segment);
        }
        if self.sizes_segments {
            window.mss = (mtu - self.header) as u32;
        }
    }

    fn in_slow_start(&self) -> bool {
        self.view.cwnd < self.view.ssthresh
    }

    /// Returns whether the growth does not depend on the round-trip time
    /// (`prague_is_rtt_indep`).
    fn is_rtt_independent(&self) -> bool {
        !self.in_slow_start() && self.round >= self.options.transition
    }

    /// Returns whether the controller adapts the rate now.
    fn is_by_rate(&self) -> bool {
        self.is_rtt_independent() && self.by_rate
    }

    /// With [`CwndMode::Switching`], selects whether the window or the rate is adapted.
    fn select_mode(&mut self) {
        if self.options.cwnd_mode != CwndMode::Switching {
            return;
        }
        self.by_rate =
            self.saw_ce && self.view.cwnd * self.view.mtu <= self.options.transit * MTU_SYS;
        if self.by_rate {
            self.frac_cwnd = self.frac_cwnd_of_rate();
        } else {
            self.rate = self.rate_of_frac_cwnd();
        }
    }
}
