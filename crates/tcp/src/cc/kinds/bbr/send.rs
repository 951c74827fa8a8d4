//! The rate and the window that follow from the model.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` (`bbr_set_pacing_rate`, `bbr_set_cwnd` and their
//! callees).

use aqmlab_core::Duration;

use super::shared::{MARGIN_PERCENT, PACING_SHIFT};
use super::{
    BW_SCALE, BW_UNIT, Bbr, CWND_MIN_TARGET, HIGH_GAIN, INIT_CWND, Mode, RecoveryState, SCALE,
    Units,
};
use crate::cc::{Ack, LARGEST_BURST, Window};

/// The rate below which the minimum burst is one segment: 1.2 Mbit/s, in bytes per second.
const MIN_TSO_RATE: u64 = 1_200_000 / 8;

/// Returns the bandwidth `bw` times `gain`, minus the margin, in bytes per second.
pub(super) fn rate_of(units: Units, bw: u64, gain: u64) -> u64 {
    // The match avoids a division in the two cases that occur: windows in segments and windows in
    // bytes.
    let per_micro = match units.segment {
        1 => u128::from(bw) * u128::from(units.mss),
        segment if segment == units.mss => u128::from(bw),
        segment => u128::from(bw) * u128::from(units.mss) / u128::from(segment),
    };
    let gained = (per_micro * u128::from(gain)) >> SCALE;
    let rate = (gained * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> BW_SCALE;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl Bbr {
    /// Returns the bandwidth `bw` times `gain`, minus the margin, in bytes per second.
    pub(super) fn rate_of(&self, bw: u64, gain: u64) -> u64 {
        rate_of(self.units, bw, gain)
    }

    /// Sets the first rate: the initial window per round trip, times the start-up gain. An unknown
    /// round-trip time counts as one millisecond.
    pub(super) fn init_pacing_rate(&mut self, cwnd: u64, srtt: Option<Duration>) {
        self.has_seen_rtt = srtt.is_some();
        let micros = srtt.map_or(1_000, |srtt| srtt.as_micros().max(1));
        self.pacing_rate = self.rate_of(cwnd.saturating_mul(BW_UNIT) / micros, HIGH_GAIN);
    }

    /// Sets the rate. Until the pipe is full, the rate never falls.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.rate_of(self.bandwidth(), gain);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Returns the bandwidth-delay product of `bw` times a gain, or ten segments without a sample.
    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else {
            return INIT_CWND * self.units.segment;
        };
        let gained = (u128::from(bw) * u128::from(min_rtt) * u128::from(gain)) >> SCALE;
        u64::try_from(gained.div_ceil(u128::from(BW_UNIT))).unwrap_or(u64::MAX >> 8)
    }

    /// Returns the size of a burst, in the unit of the window.
    pub(super) fn burst(&self) -> u64 {
        let bytes = (self.pacing_rate >> PACING_SHIFT).min(LARGEST_BURST);
        (bytes / self.units.mss).max(self.least_segments()).min(127) * self.units.segment
    }

    /// Returns the minimum number of segments of a burst (`bbr_min_tso_segs`).
    pub(super) fn least_segments(&self) -> u64 {
        if self.pacing_rate < MIN_TSO_RATE { 1 } else { 2 }
    }

    /// Returns `amount` plus three bursts, for the data that sender and receiver hold. The sum is
    /// rounded up to an even number of segments, for receivers that acknowledge every second
    /// segment. A probe for bandwidth adds two segments (`bbr_quantization_budget`).
    pub(super) fn with_quantum(&self, amount: u64) -> u64 {
        let even = 2 * self.units.segment;
        let rounded = (amount + 3 * self.burst()).div_ceil(even) * even;
        let probing = self.mode == Mode::ProbeBw && self.cycle_index == 0;
        rounded + if probing { even } else { 0 }
    }

    /// Returns the target for the data in flight at bandwidth `bw` times a gain.
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_quantum(self.bdp(bw, gain))
    }

    /// Sets the window after an acknowledgement (`bbr_set_cwnd`).
    pub(super) fn set_cwnd(&mut self, window: &mut Window, ack: &Ack, state: RecoveryState) {
        let acked = ack.rate.acked_sacked;
        let least = CWND_MIN_TARGET * window.segment;
        let mut cwnd = window.cwnd;
        if acked > 0 {
            cwnd = match self.recover_or_restore(window, ack, state) {
                Conserve::Exactly(cwnd) => cwnd,
                Conserve::No(cwnd) => self.approach_target(cwnd, acked).max(least),
            };
        }
        window.cwnd = cwnd.max(window.segment).min(window.clamp);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(least);
        }
    }

    /// Returns the window after an acknowledgement of `acked`. Once the pipe is known to be full,
    /// the target limits the growth. Before that, the window grows while it is below the target or
    /// while fewer than ten segments have been delivered.
    fn approach_target(&self, cwnd: u64, acked: u64) -> u64 {
        let bw = self.bandwidth();
        let aggregated = if self.full_bw_reached { self.aggregation.allowance(bw) } else { 0 };
        let target = self.with_quantum(self.bdp(bw, self.cwnd_gain) + aggregated);
        let grown = cwnd.saturating_add(acked);
        if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || self.delivered < INIT_CWND * self.units.segment {
            grown
        } else {
            cwnd
        }
    }

    /// Returns the window after losses, and after a change of the recovery state. In the first
    /// round of recovery, the sender sends as much data as was delivered. After recovery, the
    /// window is restored (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, window: &Window, ack: &Ack, state: RecoveryState) -> Conserve {
        let acked = ack.rate.acked_sacked;
        let mut cwnd = window.cwnd.saturating_sub(ack.rate.losses).max(window.segment);
        let before = std::mem::replace(&mut self.recovery, state);
        if state == RecoveryState::Recovery && before != RecoveryState::Recovery {
            self.packet_conservation = true;
            self.next_round_delivered = self.delivered;
            cwnd = ack.in_flight + acked;
        } else if before >= RecoveryState::Recovery && state < RecoveryState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            return Conserve::Exactly(cwnd.max(ack.in_flight + acked));
        }
        Conserve::No(cwnd)
    }
}

/// Whether packet conservation applies, and the window so far.
enum Conserve {
    Exactly(u64),
    No(u64),
}
