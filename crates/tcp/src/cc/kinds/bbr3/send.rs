//! The rate and the window that follow from the model.
//!
//! Source: google/bbr v3 `net/ipv4/tcp_bbr.c` (`bbr_set_pacing_rate`, `bbr_set_cwnd` and their
//! callees).

use aqmlab_core::Duration;

use super::model::Sample;
use super::{
    BW_SCALE, BW_UNIT, Bbr3, CWND_MIN_TARGET, Mode, Phase, SCALE, STARTUP_PACING_GAIN, UNBOUNDED,
    UNIT,
};
use crate::cc::kinds::bbr::shared::{MARGIN_PERCENT, PACING_SHIFT};
use crate::cc::{LARGEST_BURST, MIN_TSO_SEGMENTS, Window};

/// The additional data of a burst in bytes. It is halved for each 512 µs of round-trip time.
const GSO_MAX: u64 = 65_536;
const RTT_SHIFT: u32 = 9;

impl Bbr3 {
    /// Returns the rate that corresponds to `bw` times a gain, minus the margin, in bytes per
    /// second.
    pub(super) fn rate_of(&self, bw: u64, gain: u64) -> u64 {
        let gained = (bw * self.view.mss).saturating_mul(gain) >> SCALE;
        let rate = gained.saturating_mul(1_000_000 / 100 * (100 - MARGIN_PERCENT)) >> BW_SCALE;
        rate.max(1)
    }

    /// Sets the first rate: the window per round trip, times the start-up gain. An unknown
    /// round-trip time counts as one millisecond.
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.has_seen_rtt |= srtt.is_some();
        let micros = srtt.map_or(1_000, |srtt| srtt.as_micros().max(1));
        let bw = (self.view.cwnd.saturating_mul(BW_UNIT) / micros) & UNBOUNDED;
        self.pacing_rate = self.rate_of(bw, STARTUP_PACING_GAIN);
    }

    /// Sets the rate. Until the pipe is full, the rate never falls.
    pub(super) fn set_pacing_rate(&mut self, gain: u64, srtt: Option<Duration>) {
        let rate = self.rate_of(self.bw(), gain);
        if !self.has_seen_rtt && srtt.is_some() {
            self.init_pacing_rate(srtt);
        }
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Returns the bandwidth-delay product of `bw` times a gain; without a sample, the first
    /// window.
    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u64 {
        if self.min_rtt == UNBOUNDED {
            return self.init_cwnd;
        }
        let gained = (bw * self.min_rtt).saturating_mul(gain) >> SCALE;
        gained.div_ceil(BW_UNIT)
    }

    /// Returns the size of a burst in segments (`bbr_tso_segs_goal`).
    pub(super) fn burst(&self) -> u64 {
        let halvings = self.min_rtt >> RTT_SHIFT;
        let by_rtt = if halvings < 32 { GSO_MAX >> halvings } else { 0 };
        let bytes = ((self.pacing_rate >> PACING_SHIFT) + by_rtt).min(LARGEST_BURST);
        (bytes / self.view.mss.max(1)).max(MIN_TSO_SEGMENTS)
    }

    /// Raises `amount` to at least three bursts and four segments, for the data that sender and
    /// receiver hold. A probe for bandwidth adds two segments (`bbr_quantization_budget`).
    fn with_budget(&self, amount: u64) -> u64 {
        let probes = self.mode == Mode::ProbeBw && self.phase == Phase::Up;
        amount.max(3 * self.burst()).max(CWND_MIN_TARGET) + if probes { 2 } else { 0 }
    }

    /// Returns the target for the data in flight at bandwidth `bw` times a gain.
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_budget(self.bdp(bw, gain))
    }

    /// Returns the number of segments in the network when the next burst departs. `in_flight` is
    /// the present number, and `micros` is the time until the departure in microseconds. While the
    /// rate is above the bandwidth, the result includes that burst (`bbr_packets_in_net_at_edt`).
    pub(super) fn at_departure(&self, in_flight: u64, micros: u64) -> u64 {
        let departing = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        let delivered = (self.bw() * micros) >> BW_SCALE;
        (in_flight + departing).saturating_sub(delivered)
    }

    /// Moves the window towards the target, by the amount of data acknowledged (`bbr_set_cwnd`).
    pub(super) fn set_cwnd(&mut self, window: &mut Window, sample: &Sample) {
        let acked = sample.acked_sacked;
        let mut cwnd = self.view.cwnd;
        if acked > 0 {
            let bw = self.bw();
            let target = self.bdp(bw, self.cwnd_gain) + self.aggregation.allowance(bw);
            let target = self.with_budget(target);
            self.try_fast_path = false;
            if self.full_bw_reached {
                cwnd += acked;
                if cwnd >= target {
                    cwnd = target;
                    self.try_fast_path = true;
                }
            } else if cwnd < target || cwnd < 2 * self.init_cwnd {
                cwnd += acked;
            } else {
                self.try_fast_path = true;
            }
            cwnd = cwnd.max(CWND_MIN_TARGET);
        }
        cwnd = cwnd.min(window.clamp / window.segment);
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        self.set_window(window, cwnd);
    }

    /// Limits the window by the bounds (`bbr_bound_cwnd_for_inflight_model`).
    pub(super) fn bound_cwnd(&mut self, window: &mut Window) {
        let cap = match (self.mode, self.phase) {
            (Mode::ProbeRtt, _) | (Mode::ProbeBw, Phase::Cruise) => self.bounds.with_headroom(),
            (Mode::ProbeBw, _) => self.bounds.inflight_hi,
            (Mode::Startup | Mode::Drain, _) => UNBOUNDED,
        };
        let cap = cap.min(self.bounds.inflight_lo).max(CWND_MIN_TARGET);
        self.set_window(window, cap.min(self.view.cwnd));
    }

    /// Restores the window after the recovery of a timeout (`bbr_exit_loss_recovery`).
    pub(super) fn exit_loss_recovery(&mut self, window: &mut Window) {
        self.set_window(window, self.view.cwnd.max(self.prior_cwnd));
        self.try_fast_path = false;
    }
}
