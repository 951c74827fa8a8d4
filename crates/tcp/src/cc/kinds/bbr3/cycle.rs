//! The state machine: start-up, draining, the cycle of probes (`ProbeBw`), and the probe for the
//! round-trip time (`ProbeRtt`).
//!
//! Source: google/bbr v3 `net/ipv4/tcp_bbr.c`.

use super::bounds::{ECN_THRESH, Flight};
use super::model::Sample;
use super::{
    AckPhase, Bbr3, CWND_GAIN, CWND_MIN_TARGET, Mode, Phase, SCALE, STARTUP_PACING_GAIN, UNBOUNDED,
    UNIT,
};
use crate::cc::kinds::bbr::shared::{FULL_BW_ROUNDS, FULL_BW_THRESH, PROBE_RTT_MICROS};
use crate::cc::{CaState, Window};

/// The minimum number of acknowledgements with new losses in a round for start-up to end
/// (`bbr_full_loss_cnt`).
const FULL_LOSS_COUNT: u32 = 6;
/// The number of consecutive rounds with many marks that end start-up (`bbr_full_ecn_cnt`).
const FULL_ECN_ROUNDS: u32 = 2;
/// The length in milliseconds of the minimum filter that gives the model its round-trip time.
const MIN_RTT_MILLIS: u64 = 10_000;
/// The length in milliseconds of the minimum filter whose expiry starts [`Mode::ProbeRtt`].
const PROBE_RTT_MILLIS: u64 = 5_000;
/// The gain of the window in [`Mode::ProbeRtt`].
const PROBE_RTT_CWND_GAIN: u64 = UNIT / 2;
/// The largest number of rounds between probes.
const PROBE_MAX_ROUNDS: u64 = 63;
/// The range of the random reduction of the number of rounds between probes.
const PROBE_RANDOM_ROUNDS: u64 = 2;
/// The minimum of the random wait from the end of a probe to the next probe, in microseconds. The
/// next probe starts earlier if enough rounds have passed or marks have ceased.
const PROBE_BASE_MICROS: u64 = 2_000_000;
/// The range of the random extension of the time between probes, in microseconds.
const PROBE_RANDOM_MICROS: u64 = 1_000_000;
/// The share of `inflight_hi` by which a probe that begins because marks have ceased may raise this
/// bound in the probe's first round (`bbr_ecn_reprobe_gain`).
const ECN_REPROBE_GAIN: u64 = UNIT / 2;

impl Bbr3 {
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            Mode::Drain => (self.options.drain_gain, CWND_GAIN),
            Mode::ProbeBw if self.phase == Phase::Up => {
                (self.phase.pacing_gain(), CWND_GAIN + UNIT / 4)
            }
            Mode::ProbeBw => (self.phase.pacing_gain(), CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    fn on_queue_too_high_in_startup(&mut self) {
        self.full_bw_reached = true;
        let bdp = self.inflight(self.max_bw(), UNIT);
        self.bounds.inflight_hi = bdp.max(self.signals.inflight_latest);
    }

    /// If marks count, ends start-up after two consecutive rounds in which at least half of the
    /// segments were marked.
    pub(super) fn check_ecn_too_high_in_startup(&mut self, ratio: u64) {
        if self.full_bw_reached || !self.ecn_eligible {
            return;
        }
        self.startup_ecn_rounds = if ratio >= ECN_THRESH { self.startup_ecn_rounds + 1 } else { 0 };
        if self.startup_ecn_rounds >= FULL_ECN_ROUNDS {
            self.on_queue_too_high_in_startup();
        }
    }

    /// Ends start-up after a round of recovery in which too many segments were lost.
    pub(super) fn check_loss_too_high_in_startup(&mut self, sample: &Sample) {
        if self.full_bw_reached {
            return;
        }
        if sample.losses > 0 {
            self.signals.loss_events_in_round = (self.signals.loss_events_in_round + 1).min(0xf);
        }
        if !self.signals.loss_round_start {
            return;
        }
        if sample.ca == CaState::Recovery
            && self.signals.loss_events_in_round >= FULL_LOSS_COUNT
            && self.is_inflight_too_high(&Flight::of(sample))
        {
            self.on_queue_too_high_in_startup();
            return;
        }
        self.signals.loss_events_in_round = 0;
    }

    /// Estimates from the growth of the bandwidth whether the pipe is full.
    pub(super) fn check_full_bw_reached(&mut self, sample: &Sample) {
        if self.full_bw_now || sample.app_limited {
            return;
        }
        if sample.bw >= (self.full_bw * FULL_BW_THRESH) >> SCALE {
            self.reset_full_bw();
            self.full_bw = sample.bw;
            return;
        }
        if !self.round_start {
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    pub(super) fn check_drain(&mut self, window: &mut Window, sample: &Sample) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(self.max_bw(), UNIT) * window.segment;
            self.signals.reset();
        }
        if self.mode == Mode::Drain
            && self.at_departure(self.view.in_flight, sample.until_departure)
                <= self.inflight(self.max_bw(), UNIT)
        {
            self.mode = Mode::ProbeBw;
            self.start_down();
        }
    }

    fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.try_fast_path = false;
    }

    pub(super) fn start_refill(&mut self, rounds: u32) {
        self.bounds.refill(rounds);
        self.stopped_risky_probe = false;
        self.ack_phase = AckPhase::Refilling;
        self.next_round_delivered = self.view.delivered;
        self.set_phase(Phase::Refill);
    }

    fn start_up(&mut self, sample: &Sample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.next_round_delivered = self.view.delivered;
        self.cycle_start = self.view.now;
        self.reset_full_bw();
        self.full_bw = sample.bw;
        self.set_phase(Phase::Up);
        self.bounds.raise_slope(self.view.cwnd);
    }

    pub(super) fn start_down(&mut self) {
        self.signals.reset();
        self.bounds.stop_growth();
        self.rounds_since_probe = self.rng.below(PROBE_RANDOM_ROUNDS);
        self.probe_wait = PROBE_BASE_MICROS + self.rng.below(PROBE_RANDOM_MICROS);
        self.cycle_start = self.view.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.next_round_delivered = self.view.delivered;
        self.set_phase(Phase::Down);
    }

    fn start_cruise(&mut self) {
        if self.bounds.inflight_lo != UNBOUNDED {
            self.bounds.inflight_lo = self.bounds.inflight_lo.min(self.bounds.inflight_hi);
        }
        self.set_phase(Phase::Cruise);
    }

    /// Starts a probe when marks have ceased, after two to three seconds, or after a number of
    /// rounds. This number is the target in segments, at most 63. In as many rounds, a Reno flow
    /// would grow by the target. Returns whether a probe was started.
    fn check_time_to_probe(&mut self, sample: &Sample) -> bool {
        let marks_ceased = self.ecn_eligible
            && self.signals.ecn_in_cycle
            && !self.signals.loss_in_cycle
            && sample.ca == CaState::Open;
        if marks_ceased {
            let growth = (self.bounds.inflight_hi * ECN_REPROBE_GAIN) >> SCALE;
            self.start_refill(growth.max(1).ilog2());
            return true;
        }
        let elapsed = self.view.now.since(self.cycle_start).as_micros();
        let rounds = PROBE_MAX_ROUNDS.min(self.target_inflight());
        let is_due = elapsed > self.probe_wait || self.rounds_since_probe >= rounds;
        if is_due {
            self.start_refill(0);
        }
        is_due
    }

    /// Runs the cycle of probes (`bbr_update_cycle_phase`).
    pub(super) fn update_cycle_phase(&mut self, sample: &Sample) {
        if !self.full_bw_reached || self.adapt_upper_bounds(sample) || self.mode != Mode::ProbeBw {
            return;
        }
        let in_flight = self.at_departure(sample.prior_in_flight, sample.until_departure);
        match self.phase {
            Phase::Cruise => {
                self.check_time_to_probe(sample);
            }
            Phase::Refill => {
                if self.round_start {
                    self.bw_probe_samples = true;
                    self.start_up(sample);
                }
            }
            Phase::Up => self.check_time_to_go_down(sample, in_flight),
            Phase::Down => {
                let has_drained = |bbr: &Self| {
                    in_flight <= bbr.bounds.with_headroom()
                        && in_flight <= bbr.inflight(bbr.max_bw(), UNIT)
                };
                if !self.check_time_to_probe(sample) && has_drained(self) {
                    self.start_cruise();
                }
            }
        }
    }

    fn check_time_to_go_down(&mut self, sample: &Sample, in_flight: u64) {
        let mut is_done = false;
        if self.prev_probe_too_high && in_flight >= self.bounds.inflight_hi {
            // The queue is probably about to overflow.
            self.stopped_risky_probe = true;
            is_done = true;
        } else if sample.cwnd_limited && self.view.cwnd >= self.bounds.inflight_hi {
            // The bound limits the growth of the bandwidth.
            self.reset_full_bw();
            self.full_bw = sample.bw;
        } else {
            is_done = self.full_bw_now;
        }
        if is_done {
            self.prev_probe_too_high = false;
            self.start_down();
        }
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(CWND_MIN_TARGET)
    }

    /// Updates both minima of the round-trip time, and runs [`Mode::ProbeRtt`]
    /// (`bbr_update_min_rtt`).
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, sample: &Sample) {
        let now = self.clock.at(self.view.now);
        let span = self.clock.covering_micros(PROBE_RTT_MILLIS * 1_000);
        let is_expired = now > self.probe_rtt_min_stamp + span;
        if let Some(rtt) = sample.rtt
            && (rtt < self.probe_rtt_min || (is_expired && !sample.ack_delayed))
        {
            self.probe_rtt_min = rtt;
            self.probe_rtt_min_stamp = now;
        }
        let is_old = now > self.min_rtt_stamp + self.clock.covering_micros(MIN_RTT_MILLIS * 1_000);
        if self.probe_rtt_min <= self.min_rtt || is_old {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
        if is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.next_round_delivered = self.view.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Ends [`Mode::ProbeRtt`] when little data has been in flight for 200 ms and for a round.
    fn probe_rtt(&mut self, window: &mut Window) {
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(window);
            }
        } else if self.view.in_flight <= self.probe_rtt_cwnd() {
            let span = self.clock.covering_micros(PROBE_RTT_MICROS);
            self.probe_rtt_done = Some(self.clock.at(self.view.now) + span);
            self.probe_rtt_round_done = false;
            self.next_round_delivered = self.view.delivered;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window) {
        let now = self.clock.at(self.view.now);
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.set_window(window, self.view.cwnd.max(self.prior_cwnd));
        self.bounds.reset_lower();
        if self.full_bw_reached {
            self.mode = Mode::ProbeBw;
            self.start_down();
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
