//! BBR version 3: models the path by bandwidth, round-trip time, and bounds of the data in flight.
//!
//! Sources: google/bbr, branch v3, `net/ipv4/tcp_bbr.c`, in its integer arithmetic;
//! draft-ietf-ccwg-bbr-06. Where the two differ, the parameter `variant` selects: `linux` (the
//! default) is Google's code, and `draft` has the draft's gain for draining.
//! Differences, each pinned by a test:
//!
//! - the random waits between probes come from a named stream, as in `bbr`;
//! - each segment of a burst has its own count of data in flight at its transmission. Linux's count
//!   includes the whole burst.
//!
//! PLB, which moves a flow to another path, and `fast_ack_mode` are not modelled.
//!
//! `bbr3/model.rs` measures the path, `bbr3/cycle.rs` is the state machine, `bbr3/bounds.rs` bounds
//! the data in flight, and `bbr3/send.rs` derives a rate and a window.

mod bounds;
mod cycle;
mod model;
mod send;

use aqmlab_core::{BitRate, Bounds, Duration, Instant, Kind, Param, Rng, Value};

use crate::cc::jiffies::{Jiffies, LINUX_HZ};
use crate::cc::kinds::bbr::aggregation::Aggregation;
use crate::cc::{
    Ack, CaState, CcEvent, Congestion, CongestionControl, EcnMode, Feedback, LostSegment, Start,
    TsoSegments, Window,
};
use bounds::Bounds as InflightBounds;
use model::{Sample, Signals};

/// Registers `bbr3`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "bbr3",
    summary: "BBR version 3: bounds the data in flight by loss and ECN marks while it probes",
    source: "google/bbr v3 net/ipv4/tcp_bbr.c; draft-ietf-ccwg-bbr-06",
    params: &[
        Param {
            name: "variant",
            default: Value::Word("linux", &["linux", "draft"]),
            bounds: Bounds::Any,
            doc: "Gain for draining: 0.347 as in Google's code, or 0.5 as in the draft.",
        },
        Param {
            name: "ecn_low",
            default: Value::Flag(false),
            bounds: Bounds::Any,
            doc: "Whether the path marks early (the route's feature `ecn_low`), so that BBR responds to marks.",
        },
        Param {
            name: "seed",
            default: Value::Count(1),
            bounds: Bounds::Whole(0, u32::MAX as u64),
            doc: "Seed of the random waits between probes.",
        },
        LINUX_HZ,
    ],
    build: |args| {
        let drain = if args.word("variant") == "draft" { UNIT / 2 } else { UNIT * 1_000 / 2_885 };
        let options =
            Options { seed: args.count("seed"), ecn_low: args.flag("ecn_low"), drain_gain: drain };
        Box::new(Bbr3::new(options, args.count(LINUX_HZ.name)))
    },
}];

/// The binary logarithm of the bandwidth unit. Bandwidth is in segments per microsecond, times
/// 2^24.
const BW_SCALE: u32 = 24;
const BW_UNIT: u64 = 1 << BW_SCALE;
/// The binary logarithm of the gain unit. Gains are in 256ths.
const SCALE: u32 = 8;
const UNIT: u64 = 1 << SCALE;
/// The value of a bound that does not apply (`~0U`).
const UNBOUNDED: u64 = u32::MAX as u64;
/// The start-up gain of the rate, 4 ln 2.
const STARTUP_PACING_GAIN: u64 = UNIT * 277 / 100 + 1;
/// The gain of the window, also while starting up.
const CWND_GAIN: u64 = UNIT * 2;
/// The smallest window in segments.
const CWND_MIN_TARGET: u64 = 4;

/// The mode of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate until the delivery rate stops growing.
    Startup,
    /// Drains the queue of the start-up phase.
    Drain,
    /// Sends at the delivery rate, and periodically probes for more bandwidth.
    ProbeBw,
    /// Halves the data in flight, to measure the round-trip time without a queue.
    ProbeRtt,
}

/// The phases of [`Mode::ProbeBw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Sends faster than the bandwidth, to find more.
    Up,
    /// Drains the queue of the probe.
    Down,
    /// Sends at the bandwidth, with headroom.
    Cruise,
    /// Fills the pipe before the next probe.
    Refill,
}

impl Phase {
    const fn pacing_gain(self) -> u64 {
        match self {
            Self::Up => UNIT * 5 / 4,
            Self::Down => UNIT * 91 / 100,
            Self::Cruise | Self::Refill => UNIT,
        }
    }
}

/// The relation of acknowledgements to the last probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    /// The data was not sent by a probe.
    Init,
    Refilling,
    /// A probe has begun, and the acknowledgements are of data sent before it.
    ProbeStarting,
    /// The acknowledgements are of data of the probe.
    ProbeFeedback,
    /// The probe has ended, and the acknowledgements are still of its data.
    ProbeStopping,
}

/// The fixed properties of a controller.
#[derive(Clone, Copy, Debug)]
struct Options {
    seed: u64,
    ecn_low: bool,
    drain_gain: u64,
}

/// The part of a connection's state that the model reads. Amounts are in segments; `mss` is in bytes.
#[derive(Clone, Copy, Debug)]
struct View {
    now: Instant,
    cwnd: u64,
    mss: u64,
    in_flight: u64,
    delivered: u64,
}

/// The BBR controller. Amounts are in segments, and times in microseconds.
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
    /// Whether the window has reached its target, so that less is computed while the application
    /// limits the sender.
    try_fast_path: bool,

    min_rtt: u64,
    min_rtt_stamp: u64,
    probe_rtt_min: u64,
    probe_rtt_min_stamp: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,

    /// The total number of delivered segments at which the round ends.
    next_round_delivered: u64,
    round_start: bool,
    cycle_start: Instant,

    full_bw: u64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,

    aggregation: Aggregation,
    signals: Signals,
    bounds: InflightBounds,
    /// The maximum bandwidth of the previous cycle and of the present cycle.
    bw_hi: [u64; 2],

    rounds_since_probe: u64,
    probe_wait: u64,
    /// Whether samples come from a probe that has not yet been found too high.
    bw_probe_samples: bool,
    prev_probe_too_high: bool,
    stopped_risky_probe: bool,

    ecn_eligible: bool,
    ecn_alpha: u64,
    alpha_delivered: (u64, u64),
    startup_ecn_rounds: u32,

    has_seen_rtt: bool,
    pacing_rate: u64,
    delivered_at: Instant,
}

impl Bbr3 {
    fn new(options: Options, hz: u64) -> Self {
        let view = View { now: Instant::ZERO, cwnd: 10, mss: 1_448, in_flight: 0, delivered: 0 };
        Self {
            options,
            rng: Rng::stream(options.seed, "bbr3"),
            clock: Jiffies::new(hz),
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
            bounds: InflightBounds::default(),
            bw_hi: [0; 2],
            rounds_since_probe: 0,
            probe_wait: 0,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
            ecn_eligible: false,
            ecn_alpha: UNIT,
            alpha_delivered: (0, 0),
            startup_ecn_rounds: 0,
            has_seen_rtt: false,
            pacing_rate: 0,
            delivered_at: Instant::ZERO,
        }
    }

    /// Reads the window of the connection.
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

    /// Returns the state of recovery. Without feedback, an end of recovery also ends the recovery of
    /// a timeout.
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
    /// only the state machine runs. Returns whether the rate and the window stay as they are
    /// (`bbr_run_fast_path`).
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

impl CongestionControl for Bbr3 {
    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_start(&mut self, start: &Start) {
        self.has_ecn = start.ecn != EcnMode::Off;
        self.next_round_delivered = start.totals.delivered;
        self.signals.loss_round_delivered = start.totals.delivered + 1;
        self.view.delivered = start.totals.delivered;
    }

    fn echoes_precisely(&self) -> bool {
        self.can_use_ecn()
    }

    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        let round_trip = srtt.unwrap_or_default().as_nanos().rotate_left(32);
        self.rng = Rng::stream(self.options.seed ^ now.as_nanos() ^ round_trip, "bbr3");
        self.look(window, now);
        self.init_cwnd = self.view.cwnd.min(0x7f);
        window.ssthresh = u64::MAX;
        self.min_rtt = srtt.map_or(UNBOUNDED, Duration::as_micros);
        self.probe_rtt_min = self.min_rtt;
        self.min_rtt_stamp = self.clock.at(now);
        self.probe_rtt_min_stamp = self.min_rtt_stamp;
        self.delivered_at = now;
        self.aggregation.begin_epoch(now);
        self.init_pacing_rate(srtt);
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {
        // Empty on purpose: `control` processes every acknowledgement.
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.look(window, congestion.now);
        self.save_cwnd();
        self.bounds.save();
        window.ssthresh
    }

    fn on_transmit_start(&mut self, window: &mut Window, now: Instant, app_limited: bool) {
        if !app_limited {
            return;
        }
        self.look(window, now);
        self.idle_restart = true;
        self.aggregation.begin_epoch(now);
        match self.mode {
            // The application does not need more than the known bandwidth.
            Mode::ProbeBw => self.set_pacing_rate(UNIT, None),
            Mode::ProbeRtt => self.check_probe_rtt_done(window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        self.look(window, now);
        match event {
            CcEvent::RtoEntered => self.enter_loss(),
            CcEvent::RecoveryEntered | CcEvent::RecoveryLeft => self.in_loss = false,
            CcEvent::Undone => {
                self.in_loss = false;
                self.reset_full_bw();
                self.signals.loss_in_round = false;
                self.bounds.restore();
                self.try_fast_path = false;
            }
            CcEvent::ProbeRepaired { app_limited, delivered } => {
                self.view.delivered = delivered;
                self.on_probe_repaired(app_limited);
            }
            _ => {}
        }
    }

    fn post_recovery_cwnd(&mut self, window: &Window) -> u64 {
        window.cwnd
    }

    fn undo_cwnd(&self, window: &Window, _prior_cwnd: u64) -> u64 {
        self.prior_cwnd.saturating_mul(window.segment).clamp(window.segment, window.clamp)
    }

    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        self.look(window, lost.now);
        self.view.delivered = lost.delivered;
        self.on_segment_lost(lost);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.feedback = Some(*feedback);
    }

    fn controls_cwnd(&self) -> bool {
        true
    }

    fn control(&mut self, window: &mut Window, ack: &Ack, in_recovery: bool) {
        let ca = self.ca_state(in_recovery);
        let segment = window.segment;
        self.look(window, ack.now);
        self.view.in_flight = ack.in_flight / segment;
        self.view.delivered = ack.rate.total_delivered / segment;
        if ack.rate.acked_sacked > 0 {
            self.delivered_at = ack.now;
        }
        if self.prev_ca == CaState::Loss && ca != CaState::Loss {
            self.exit_loss_recovery(window);
        }
        let sample = Sample::new(ack, self.feedback.take(), segment, ca);
        self.process(window, &sample);
    }

    fn limits_samples(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::new(self.pacing_rate.max(1).saturating_mul(8))
    }

    fn tso_segments(&self) -> TsoSegments {
        TsoSegments::Exactly(self.burst())
    }

    fn sndbuf_windows(&self) -> u64 {
        3
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let bound = |bound| if bound == UNBOUNDED { 0.0 } else { bound as f64 };
        let min_rtt = if self.min_rtt == UNBOUNDED { 0 } else { self.min_rtt };
        vec![
            ("bw_mbit", self.rate_of(self.bw(), UNIT) as f64 * 8.0 / 1e6),
            ("min_rtt_ms", min_rtt as f64 / 1e3),
            ("pacing_gain", self.pacing_gain as f64 / UNIT as f64),
            ("mode", f64::from(self.mode as u8)),
            ("phase", f64::from(self.phase as u8)),
            ("inflight_hi", bound(self.bounds.inflight_hi)),
            ("inflight_lo", bound(self.bounds.inflight_lo)),
        ]
    }
}

#[cfg(test)]
mod tests;
