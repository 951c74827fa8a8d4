//! BBR version 3: models the path by bandwidth, round-trip time, and bounds of the data in flight.
//!
//! Sources: google/bbr, branch v3, `net/ipv4/tcp_bbr.c`, in its integer arithmetic;
//! draft-ietf-ccwg-bbr-06. Where the two differ, this module follows Google's code. With `variant =
//! draft`, the gain for draining is the draft's.
//! Differences, each pinned by a test:
//!
//! - the random waits between probes come from a named stream, as in `bbr`;
//! - each segment of a burst has its own count of data in flight at its transmission. Linux's count
//!   includes the whole burst.
//!
//! PLB, which moves a flow to another path, and `fast_ack_mode` are not modelled.
//!
//! `bbr3/params.rs` defines the parameters, `bbr3/ops.rs` the operations, `bbr3/phase.rs` the
//! phases, and `bbr3/cycle.rs` the state machine. `bbr3/model.rs` measures the path.
//! `bbr3/bounds.rs` bounds the data in flight. `bbr3/send.rs` derives a rate and a window.
//! `bbr/shared.rs` and `bbr/aggregation.rs` contain the parts that `bbr` and `bbr3` share.

mod bounds;
mod cycle;
mod model;
mod ops;
mod params;
mod phase;
mod send;
#[cfg(test)]
mod tests;

use aqmlab_core::{Instant, Rng};

use crate::cc::jiffies::Jiffies;
use crate::cc::kinds::bbr::aggregation::Aggregation;
use crate::cc::kinds::bbr::shared::{
    BW_SCALE, BW_UNIT, CWND_GAIN, CWND_MIN_TARGET, DRAIN_GAIN, Mode, SCALE, UNIT,
};
use crate::cc::{CaState, Feedback, Window};
use bounds::Bounds;
use model::{Sample, Signals};
pub use params::KINDS;
use params::Options;
use phase::{AckPhase, Phase};

/// The value of a bound that does not apply (`~0U`).
const UNBOUNDED: u64 = u32::MAX as u64;
/// The start-up gain of the rate, 4 ln 2.
const STARTUP_PACING_GAIN: u64 = UNIT * 277 / 100 + 1;
/// The part of a connection's state that the model reads. Amounts are in segments; `mss` is in
/// bytes.
#[derive(Clone, Copy, Debug)]
struct View {
    now: Instant,
    cwnd: u64,
    mss: u64,
    in_flight: u64,
    delivered: u64,
}

/// The controller of BBR version 3. Amounts are in segments, and times in microseconds.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, as in the source")]
struct Bbr3 {
    options: Options,
    rng: Rng,
    clock: Jiffies,
    view: View,
    feedback: Option<Feedback>,
    /// Whether the handshake agreed on ECN.
    has_ecn: bool,

    mode: Mode,
    phase: Phase,
    ack_phase: AckPhase,
    pacing_gain: u64,
    cwnd_gain: u64,
    prev_ca: CaState,
    /// Whether the retransmission timer expired and recovery is not complete.
    in_loss: bool,
    prior_cwnd: u64,
    init_cwnd: u64,
    idle_restart: bool,
    /// Whether the window has reached its target, so that the controller may take the fast path
    /// (`bbr_run_fast_path`).
    try_fast_path: bool,

    min_rtt: u64,
    min_rtt_stamp: u64,
    probe_rtt_min: u64,
    probe_rtt_min_stamp: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,

    /// The total number of delivered segments at the start of the round. The round ends when data
    /// sent at or after this number is acknowledged.
    next_round_delivered: u64,
    round_start: bool,
    cycle_start: Instant,

    full_bw: u64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,

    aggregation: Aggregation,
    signals: Signals,
    bounds: Bounds,
    /// The maximum bandwidth of the previous cycle and of the present cycle.
    bw_hi: [u64; 2],

    rounds_since_probe: u64,
    probe_wait: u64,
    /// Whether samples come from a probe whose amount of data in flight has not yet been found too
    /// high.
    bw_probe_samples: bool,
    prev_probe_too_high: bool,
    stopped_risky_probe: bool,

    ecn_eligible: bool,
    ecn_alpha: u64,
    alpha_last_delivered: u64,
    alpha_last_delivered_ce: u64,
    startup_ecn_rounds: u32,

    has_seen_rtt: bool,
    pacing_rate: u64,
    delivered_at: Instant,
}

impl Bbr3 {
    fn new(options: Options) -> Self {
        let view = View { now: Instant::ZERO, cwnd: 10, mss: 1_448, in_flight: 0, delivered: 0 };
        Self {
            options,
            rng: Rng::stream(options.seed, "bbr3"),
            clock: Jiffies::new(options.hz),
            view,
            feedback: None,
            has_ecn: false,
            mode: Mode::Startup,
            phase: Phase::Up,
            ack_phase: AckPhase::Init,
            pacing_gain: STARTUP_PACING_GAIN,
            cwnd_gain: CWND_GAIN,
            prev_ca: CaState::Open,
            in_loss: false,
            prior_cwnd: 0,
            init_cwnd: 10,
            idle_restart: false,
            try_fast_path: false,
            min_rtt: UNBOUNDED,
            min_rtt_stamp: 0,
            probe_rtt_min: UNBOUNDED,
            probe_rtt_min_stamp: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            next_round_delivered: 0,
            round_start: false,
            cycle_start: Instant::ZERO,
            full_bw: 0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            aggregation: Aggregation::default(),
            signals: Signals::default(),
            bounds: Bounds::default(),
            bw_hi: [0; 2],
            rounds_since_probe: 0,
            probe_wait: 0,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
            ecn_eligible: false,
            ecn_alpha: UNIT,
            alpha_last_delivered: 0,
            alpha_last_delivered_ce: 0,
            startup_ecn_rounds: 0,
            has_seen_rtt: false,
            pacing_rate: 0,
            delivered_at: Instant::ZERO,
        }
    }

    /// Records the time, and the window and the segment size of the connection.
    fn look(&mut self, window: &Window, now: Instant) {
        self.view.now = now;
        self.view.cwnd = window.cwnd / window.segment;
        self.view.mss = u64::from(window.mss);
    }

    /// Sets the window, in segments.
    fn set_window(&mut self, window: &mut Window, cwnd: u64) {
        if cwnd != window.cwnd / window.segment {
            window.cwnd = cwnd.saturating_mul(window.segment).min(window.clamp);
        }
        self.view.cwnd = window.cwnd / window.segment;
    }

    /// Saves the window that recovery or [`Mode::ProbeRtt`] restores at its end (`bbr_save_cwnd`).
    fn save_cwnd(&mut self) {
        let whole = self.prev_ca < CaState::Recovery && self.mode != Mode::ProbeRtt;
        let cwnd = self.view.cwnd;
        self.prior_cwnd = if whole { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    fn restart_from_idle(&mut self, window: &mut Window) {
        self.idle_restart = true;
        self.aggregation.begin_epoch(self.view.now);
        match self.mode {
            // The application does not need more than the estimated bandwidth.
            Mode::ProbeBw => self.set_pacing_rate(UNIT, None),
            Mode::ProbeRtt => self.check_probe_rtt_done(window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Returns the state of recovery. Without feedback, an end of recovery also ends the recovery
    /// of a timeout.
    fn ca_state(&mut self, in_recovery: bool) -> CaState {
        self.in_loss &= in_recovery;
        match &self.feedback {
            Some(feedback) => feedback.ca,
            None if self.in_loss => CaState::Loss,
            None if in_recovery => CaState::Recovery,
            None => CaState::Open,
        }
    }

    /// Processes an acknowledgement (`bbr_main`).
    fn process(&mut self, window: &mut Window, sample: &Sample) {
        self.update_round_start(sample);
        let mut ce_ratio = None;
        if self.round_start {
            self.rounds_since_probe = (self.rounds_since_probe + 1).min(0xff);
            ce_ratio = self.update_ecn_alpha(sample);
        }
        if let Some(ratio) = ce_ratio {
            self.check_ecn_too_high_in_startup(ratio);
        }
        self.signals.ecn_in_round |= self.ecn_eligible && sample.ece;
        self.signals.update_latest(sample, self.view.delivered);
        if !self.run_fast_path(window, sample) {
            self.update_gains();
            self.set_pacing_rate(self.pacing_gain, sample.srtt);
            self.set_cwnd(window, sample);
            self.bound_cwnd(window);
        }
        self.signals.advance_latest(sample);
        self.prev_ca = sample.ca;
        self.signals.loss_in_cycle |= sample.lost > 0;
        self.signals.ecn_in_cycle |= sample.delivered_ce > 0;
    }

    /// Updates the model. While the application limits the sender and the path shows no congestion,
    /// only the state machine and the minimum round-trip time are updated. Returns whether the rate
    /// and the window stay as they are (`bbr_run_fast_path`).
    fn run_fast_path(&mut self, window: &mut Window, sample: &Sample) -> bool {
        let is_quiet = self.try_fast_path
            && sample.app_limited
            && sample.bw < self.max_bw()
            && !self.signals.loss_in_round
            && !self.signals.ecn_in_round;
        if !is_quiet {
            self.update_model(window, sample);
            return false;
        }
        let prior = (self.mode, self.min_rtt);
        self.check_drain(window, sample);
        self.update_cycle_phase(sample);
        self.update_min_rtt(window, sample);
        (self.mode, self.min_rtt) == prior && self.try_fast_path
    }

    fn update_model(&mut self, window: &mut Window, sample: &Sample) {
        self.update_congestion_signals(sample);
        self.update_aggregation(sample);
        self.check_loss_too_high_in_startup(sample);
        self.check_full_bw_reached(sample);
        self.check_drain(window, sample);
        self.update_cycle_phase(sample);
        self.update_min_rtt(window, sample);
    }
}
