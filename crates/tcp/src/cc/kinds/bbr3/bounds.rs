//! The bounds of the data in flight and of the bandwidth, and their reaction to loss and marks.
//!
//! Source: google/bbr v3 `net/ipv4/tcp_bbr.c`. The draft has other names: `inflight_longterm` for
//! `inflight_hi`, `inflight_shortterm` for `inflight_lo`, and `bw_shortterm` for `bw_lo`.

use super::model::Sample;
use super::{AckPhase, Bbr3, CWND_MIN_TARGET, Mode, Phase, SCALE, UNBOUNDED, UNIT};
use crate::cc::{CaState, LostSegment};

/// The share by which a lossy round reduces the bounds (`bbr_beta`).
const BETA: u64 = UNIT * 30 / 100;
/// The largest fraction of lost segments that a probe accepts (`bbr_loss_thresh`).
const LOSS_THRESH: u64 = UNIT * 2 / 100;
/// The fraction of marked segments above which a probe's data in flight counts as too high
/// (`bbr_ecn_thresh`).
pub(super) const ECN_THRESH: u64 = UNIT / 2;
/// The largest share by which marks reduce the bounds (`bbr_ecn_factor`).
const ECN_FACTOR: u64 = UNIT / 3;
/// The share of `inflight_hi` that is left free outside probes (`bbr_inflight_headroom`).
const HEADROOM: u64 = UNIT * 15 / 100;

/// The bounds of the bandwidth, and of the data in flight in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bw_lo: u64,
    pub(super) inflight_lo: u64,
    pub(super) inflight_hi: u64,
    /// The value of `bw_lo` before the last recovery. The next two fields hold `inflight_lo` and
    /// `inflight_hi`.
    undo_bw_lo: u64,
    undo_inflight_lo: u64,
    undo_inflight_hi: u64,
    /// The number of acknowledged segments after which `inflight_hi` grows by one segment.
    probe_up_cnt: u64,
    probe_up_acks: u64,
    /// The binary logarithm of the growth in the next round, in segments.
    probe_up_rounds: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bw_lo: UNBOUNDED,
            inflight_lo: UNBOUNDED,
            inflight_hi: UNBOUNDED,
            undo_bw_lo: 0,
            undo_inflight_lo: 0,
            undo_inflight_hi: 0,
            probe_up_cnt: UNBOUNDED,
            probe_up_acks: 0,
            probe_up_rounds: 0,
        }
    }
}

impl Bounds {
    /// Saves the bounds, which an undone recovery restores.
    pub(super) fn save(&mut self) {
        self.undo_bw_lo = self.bw_lo;
        self.undo_inflight_lo = self.inflight_lo;
        self.undo_inflight_hi = self.inflight_hi;
    }

    /// Restores each saved bound, unless the present bound is higher.
    pub(super) fn restore(&mut self) {
        self.bw_lo = self.bw_lo.max(self.undo_bw_lo);
        self.inflight_lo = self.inflight_lo.max(self.undo_inflight_lo);
        self.inflight_hi = self.inflight_hi.max(self.undo_inflight_hi);
    }

    /// Removes the short-term bounds (`bbr_reset_lower_bounds`).
    pub(super) fn reset_lower(&mut self) {
        self.bw_lo = UNBOUNDED;
        self.inflight_lo = UNBOUNDED;
    }

    /// Removes the short-term bounds, and starts to count the rounds of a probe from `rounds`.
    pub(super) fn refill(&mut self, rounds: u32) {
        self.reset_lower();
        self.probe_up_rounds = rounds;
        self.probe_up_acks = 0;
    }

    /// Stops the growth of `inflight_hi`.
    pub(super) fn stop_growth(&mut self) {
        self.probe_up_cnt = UNBOUNDED;
    }

    /// Sets the growth of `inflight_hi` per round. The growth doubles with each call until the next
    /// probe (`bbr_raise_inflight_hi_slope`).
    pub(super) fn raise_slope(&mut self, cwnd: u64) {
        let growth = 1_u64 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_cnt = (cwnd / growth).max(1);
    }

    /// Returns `inflight_hi` minus the headroom, but at least the minimum window. An unbounded
    /// `inflight_hi` stays unbounded (`bbr_inflight_with_headroom`).
    pub(super) fn with_headroom(&self) -> u64 {
        if self.inflight_hi == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((self.inflight_hi * HEADROOM) >> SCALE).max(1);
        self.inflight_hi.saturating_sub(headroom).max(CWND_MIN_TARGET)
    }
}

/// Returns the part of `value` that a lossy round leaves.
const fn after_loss(value: u64) -> u64 {
    (value * (UNIT - BETA)) >> SCALE
}

impl Bbr3 {
    /// Returns the target for the data in flight, at most the window.
    pub(super) fn target_inflight(&self) -> u64 {
        self.inflight(self.bw(), UNIT).min(self.view.cwnd)
    }

    fn is_probing_bandwidth(&self) -> bool {
        self.mode == Mode::Startup
            || (self.mode == Mode::ProbeBw && matches!(self.phase, Phase::Refill | Phase::Up))
    }

    /// Reduces the short-term bounds after a round with loss or marks, except while probing
    /// (`bbr_adapt_lower_bounds`).
    pub(super) fn adapt_lower_bounds(&mut self) {
        if self.is_probing_bandwidth() {
            return;
        }
        let mut by_ecn = UNBOUNDED;
        if self.signals.ecn_in_round {
            self.init_inflight_lo();
            let cut = UNIT - ((self.ecn_alpha * ECN_FACTOR) >> SCALE);
            by_ecn = (self.bounds.inflight_lo * cut) >> SCALE;
        }
        if self.signals.loss_in_round {
            if self.bounds.bw_lo == UNBOUNDED {
                self.bounds.bw_lo = self.max_bw();
            }
            self.init_inflight_lo();
            let (bounds, signals) = (&mut self.bounds, &self.signals);
            bounds.bw_lo = signals.bw_latest.max(after_loss(bounds.bw_lo));
            bounds.inflight_lo = signals.inflight_latest.max(after_loss(bounds.inflight_lo));
        }
        self.bounds.inflight_lo = self.bounds.inflight_lo.min(by_ecn);
        self.bounds.bw_lo = self.bounds.bw_lo.max(1);
    }

    fn init_inflight_lo(&mut self) {
        if self.bounds.inflight_lo == UNBOUNDED {
            self.bounds.inflight_lo = self.view.cwnd;
        }
    }

    /// Handles a timeout: restarts the check for a full pipe. Outside probes, bounds the data in
    /// flight if no short-term bound applies (`bbr_set_state`).
    pub(super) fn enter_loss(&mut self) {
        self.in_loss = true;
        self.prev_ca = CaState::Loss;
        self.reset_full_bw();
        if !self.is_probing_bandwidth() && self.bounds.inflight_lo == UNBOUNDED {
            // The window has been reduced already.
            self.bounds.inflight_lo = self.view.cwnd.max(self.prior_cwnd);
        }
    }

    /// Returns whether loss or marks show that a flight was too large
    /// (`bbr_is_inflight_too_high`).
    pub(super) fn is_inflight_too_high(&self, sample: &Flight) -> bool {
        let by_loss = sample.lost > 0
            && sample.segments > 0
            && sample.lost > (sample.segments * LOSS_THRESH) >> SCALE;
        let by_ecn = sample.delivered_ce > 0
            && sample.delivered > 0
            && self.ecn_eligible
            && sample.delivered_ce > (sample.delivered * ECN_THRESH) >> SCALE;
        by_loss || by_ecn
    }

    /// Sets the long-term bound once per probe, unless the application limited the sender, and ends
    /// the probe (`bbr_handle_inflight_too_high`).
    fn on_inflight_too_high(&mut self, in_flight: u64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.bw_probe_samples = false;
        if !app_limited {
            self.bounds.inflight_hi = in_flight.max(after_loss(self.target_inflight()));
        }
        if self.mode == Mode::ProbeBw && self.phase == Phase::Up {
            self.start_down();
        }
    }

    /// Adapts the long-term bound. Returns whether a new probe starts (`bbr_adapt_upper_bounds`).
    pub(super) fn adapt_upper_bounds(&mut self, sample: &Sample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.bw_probe_samples = false;
            self.ack_phase = AckPhase::Init;
            let cycles = self.mode == Mode::ProbeBw;
            if cycles && !sample.app_limited {
                self.advance_max_bw_filter();
            }
            // The early end of the last probe was not necessary: the bound was reached without
            // loss.
            if cycles && self.stopped_risky_probe && !self.prev_probe_too_high {
                self.start_refill(0);
                return true;
            }
        }
        if self.is_inflight_too_high(&Flight::of(sample)) {
            if self.bw_probe_samples {
                self.on_inflight_too_high(sample.tx_in_flight, sample.app_limited);
            }
            return false;
        }
        if self.bounds.inflight_hi == UNBOUNDED {
            return false;
        }
        self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.tx_in_flight);
        if self.mode == Mode::ProbeBw && self.phase == Phase::Up {
            self.probe_upward(sample);
        }
        false
    }

    /// Raises the long-term bound while it limits the window (`bbr_probe_inflight_hi_upward`).
    fn probe_upward(&mut self, sample: &Sample) {
        if !sample.cwnd_limited || self.view.cwnd < self.bounds.inflight_hi {
            return;
        }
        let bounds = &mut self.bounds;
        bounds.probe_up_acks += sample.acked_sacked;
        if bounds.probe_up_acks >= bounds.probe_up_cnt {
            let delta = bounds.probe_up_acks / bounds.probe_up_cnt;
            bounds.probe_up_acks -= delta * bounds.probe_up_cnt;
            bounds.inflight_hi += delta;
            self.try_fast_path = false;
        }
        if self.round_start {
            self.bounds.raise_slope(self.view.cwnd);
        }
    }

    /// Handles a lost segment. If a probe sent it, finds the amount of data in flight at which the
    /// losses became too high (`bbr_skb_marked_lost`).
    pub(super) fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.signals.note_loss(self.view.delivered);
        if !self.bw_probe_samples || lost.was_delivered {
            return;
        }
        let flight = Flight { segments: lost.tx_in_flight, lost: lost.lost, ..Flight::default() };
        if self.is_inflight_too_high(&flight) {
            self.on_inflight_too_high(inflight_at_loss(&flight), lost.app_limited);
        }
    }

    /// Handles a loss that a tail loss probe has repaired (`bbr_run_loss_probe_recovery`).
    pub(super) fn on_probe_repaired(&mut self, app_limited: bool) {
        self.signals.note_loss(self.view.delivered);
        if !self.bw_probe_samples {
            return;
        }
        let in_flight = self.signals.inflight_latest + 1;
        if self.is_inflight_too_high(&Flight { segments: in_flight, lost: 1, ..Flight::default() })
        {
            self.on_inflight_too_high(in_flight, app_limited);
        }
    }
}

/// A flight of segments with its losses and marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    pub(super) segments: u64,
    pub(super) lost: u64,
    pub(super) delivered: u64,
    pub(super) delivered_ce: u64,
}

impl Flight {
    pub(super) fn of(sample: &Sample) -> Self {
        Self {
            segments: sample.tx_in_flight,
            lost: sample.lost,
            delivered: sample.delivered,
            delivered_ce: sample.delivered_ce,
        }
    }
}

/// Returns the amount of data in flight at which the losses of `flight` crossed the threshold. The
/// last lost segment made the losses cross this threshold (`bbr_inflight_hi_from_lost_skb`).
pub(super) fn inflight_at_loss(flight: &Flight) -> u64 {
    let (Some(in_flight), Some(lost)) =
        (flight.segments.checked_sub(1), flight.lost.checked_sub(1))
    else {
        return UNBOUNDED;
    };
    let budget = (in_flight * LOSS_THRESH + UNIT - 1) >> SCALE;
    in_flight + ((budget.saturating_sub(lost)) << SCALE) / (UNIT - LOSS_THRESH)
}
