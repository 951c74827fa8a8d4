//! BBR: sends at the delivery rate of the path, with about one bandwidth-delay product in flight.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` (BBR version 1), in its integer arithmetic; Cardwell
//! and others, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016.
//! Differences, each pinned by a test:
//!
//! - the random phase at which a connection enters the gain cycle comes from a named stream. The
//!   seed of this stream is computed from the parameter `seed`, the time at which the connection
//!   was established, and the handshake's round-trip time. Two connections draw the same phases if
//!   their seed, round-trip time and nanosecond of establishment are equal. Other connections draw
//!   independently, and a repeated run draws the same phases;
//! - the `delivered` count at transmission identifies samples that `Mode::ProbeRtt` limited.
//!   Linux sets the connection's `app_limited` instead.
//!
//! `bbr/model.rs` models the path, and `bbr/send.rs` derives a rate and a window from the model.

pub(super) mod aggregation;
mod filter;
mod model;
mod policer;
mod send;
pub(super) mod shared;

use aqmlab_core::{BitRate, Bounds, Duration, Instant, Kind, Param, Rng, Value};

use crate::cc::jiffies::{Jiffies, LINUX_HZ};
use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, TsoSegments, Window};
use aggregation::Aggregation;
use filter::WindowedMax;
use policer::Policer;
use shared::{BW_SCALE, BW_UNIT, CWND_GAIN, CWND_MIN_TARGET, DRAIN_GAIN, Mode, SCALE, UNIT};

/// Registers `bbr`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "bbr",
    summary: "BBR version 1: paces at the measured bandwidth and reacts little to loss",
    source: "Linux 6.1 net/ipv4/tcp_bbr.c",
    params: &[
        Param {
            name: "seed",
            default: Value::Count(1),
            bounds: Bounds::Whole(0, u32::MAX as u64),
            doc: "Seed of the random phase at which a connection enters the gain cycle.",
        },
        LINUX_HZ,
    ],
    build: |args| Box::new(Bbr::new(args.count("seed"), args.count(LINUX_HZ.name))),
}];

/// The gain 2/ln 2, which doubles the rate in every round trip.
const HIGH_GAIN: u64 = UNIT * 2_885 / 1_000 + 1;
/// The gain cycle of [`Mode::ProbeBw`]: a phase above 1, a phase below 1 by the same amount, and
/// then six phases of 1.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The number of phases at which the cycle may be entered: all phases except the draining phase.
const CYCLE_RANDOM: u64 = 7;
/// The number of segments in flight while the round-trip time is unknown.
const INIT_CWND: u64 = 10;

/// The loss recovery state of the connection (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RecoveryState {
    Open,
    Recovery,
    Loss,
}

/// The conversion between the unit of the window and bytes.
#[derive(Clone, Copy, Debug)]
struct Units {
    segment: u64,
    mss: u64,
}

/// The BBR controller. Amounts are in the unit of the window, rates in bytes per second unless
/// stated otherwise.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, as in the source")]
struct Bbr {
    seed: u64,
    rng: Rng,
    clock: Jiffies,
    units: Units,
    mode: Mode,

    /// The windowed maximum of the bandwidth, over the last ten rounds.
    bw: WindowedMax,
    rounds: u64,
    /// The `delivered` count at which the round began. The round ends when data sent after that
    /// count is acknowledged.
    next_round_delivered: u64,
    round_start: bool,

    /// The minimum round-trip time of the last ten seconds in microseconds, if it is known.
    min_rtt: Option<u64>,
    /// The tick of the sample in `min_rtt` or, if later, the tick at which the last
    /// [`Mode::ProbeRtt`] ended.
    min_rtt_stamp: u64,
    /// The tick at which [`Mode::ProbeRtt`] may end; `None` until the data in flight is small
    /// enough.
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    /// The range of `delivered` counts at transmission for which [`Mode::ProbeRtt`] limited the
    /// samples.
    limited: Option<(u64, u64)>,

    cycle_index: usize,
    cycle_start: Instant,
    pacing_gain: u64,
    cwnd_gain: u64,

    full_bw: u64,
    full_bw_count: u32,
    full_bw_reached: bool,

    policer: Policer,
    aggregation: Aggregation,

    recovery: RecoveryState,
    /// Whether the retransmission timer expired and recovery is not complete.
    in_loss: bool,
    packet_conservation: bool,
    prior_cwnd: u64,
    idle_restart: bool,

    has_seen_rtt: bool,
    pacing_rate: u64,
    /// The time of the last delivery.
    delivered_at: Instant,
    /// The total number of units delivered so far.
    delivered: u64,
    /// The total number of units lost so far.
    lost: u64,
}

impl Bbr {
    fn new(seed: u64, hz: u64) -> Self {
        Self {
            seed,
            rng: Rng::stream(seed, "bbr"),
            clock: Jiffies::new(hz),
            units: Units { segment: 1, mss: 1 },
            mode: Mode::Startup,
            bw: WindowedMax::default(),
            rounds: 0,
            next_round_delivered: 0,
            round_start: false,
            min_rtt: None,
            min_rtt_stamp: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            limited: None,
            cycle_index: 0,
            cycle_start: Instant::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_bw: 0,
            full_bw_count: 0,
            full_bw_reached: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            recovery: RecoveryState::Open,
            in_loss: false,
            packet_conservation: false,
            prior_cwnd: 0,
            idle_restart: false,
            has_seen_rtt: false,
            pacing_rate: 0,
            delivered_at: Instant::ZERO,
            delivered: 0,
            lost: 0,
        }
    }

    /// Returns the estimate of the bandwidth: the policer's rate if a policer was detected,
    /// otherwise the maximum sample.
    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.bw.get())
    }

    /// Saves the window that recovery or [`Mode::ProbeRtt`] restores at its end (`bbr_save_cwnd`).
    fn save_cwnd(&mut self, cwnd: u64) {
        let whole = self.recovery < RecoveryState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if whole { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Returns the connection's recovery state. A connection that leaves recovery has also
    /// completed the recovery of a timeout.
    fn recovery_state(&mut self, in_recovery: bool) -> RecoveryState {
        self.in_loss &= in_recovery;
        match (self.in_loss, in_recovery) {
            (true, _) => RecoveryState::Loss,
            (false, true) => RecoveryState::Recovery,
            (false, false) => RecoveryState::Open,
        }
    }

    fn restart_from_idle(&mut self, window: &mut Window, now: Instant) {
        self.idle_restart = true;
        self.aggregation.begin_epoch(now);
        match self.mode {
            // The application does not need more than the estimated bandwidth.
            Mode::ProbeBw => self.set_pacing_rate(UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(window, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Handles a timeout, which ends a round and restarts the check for a full pipe
    /// (`bbr_set_state`).
    fn enter_loss(&mut self) {
        self.in_loss = true;
        self.recovery = RecoveryState::Loss;
        self.full_bw = 0;
        self.round_start = true;
        self.sample_policer(1, false);
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        self.rng = shared::stream(self.seed, "bbr", now, srtt);
        self.units = Units { segment: window.segment, mss: u64::from(window.mss) };
        window.ssthresh = u64::MAX;
        self.min_rtt = srtt.map(Duration::as_micros);
        self.min_rtt_stamp = self.clock.at(now);
        self.delivered_at = now;
        self.aggregation.begin_epoch(now);
        self.init_pacing_rate(window.cwnd, srtt);
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {
        // Empty on purpose: `control` processes every acknowledgement.
    }

    fn ssthresh(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.save_cwnd(window.cwnd);
        window.ssthresh
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        match event {
            // After a timeout nothing is in flight, but the connection was not idle.
            CcEvent::TransmitStart { .. } if !self.in_loss => self.restart_from_idle(window, now),
            CcEvent::RtoEntered => self.enter_loss(),
            CcEvent::RecoveryEntered | CcEvent::RecoveryLeft => self.in_loss = false,
            CcEvent::Undone => {
                self.in_loss = false;
                self.full_bw = 0;
                self.full_bw_count = 0;
                self.reset_policer();
            }
            _ => {}
        }
    }

    fn undo_cwnd(&self, window: &Window, _prior_cwnd: u64) -> u64 {
        window.cwnd
    }

    fn controls_cwnd(&self) -> bool {
        true
    }

    fn control(&mut self, window: &mut Window, ack: &Ack, in_recovery: bool) {
        self.units = Units { segment: window.segment, mss: u64::from(window.mss) };
        self.delivered = ack.rate.total_delivered;
        self.lost = ack.rate.total_lost;
        if ack.rate.acked_sacked > 0 {
            self.delivered_at = ack.now;
        }
        let app_limited = ack.rate.app_limited || self.was_limited(ack.rate.prior_delivered);
        self.update_model(window, ack, app_limited);
        if !self.has_seen_rtt && ack.srtt.is_some() {
            self.init_pacing_rate(window.cwnd, ack.srtt);
        }
        self.set_pacing_rate(self.pacing_gain);
        let state = self.recovery_state(in_recovery);
        self.set_cwnd(window, ack, state);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::new(self.pacing_rate.max(1).saturating_mul(8))
    }

    fn tso_segments(&self) -> TsoSegments {
        TsoSegments::Least(self.least_segments())
    }

    fn sndbuf_windows(&self) -> u64 {
        3
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("bw_mbit", self.rate_of(self.bandwidth(), UNIT) as f64 * 8.0 / 1e6),
            ("min_rtt_ms", self.min_rtt.unwrap_or(0) as f64 / 1e3),
            ("pacing_gain", self.pacing_gain as f64 / UNIT as f64),
            ("mode", f64::from(self.mode as u8)),
        ]
    }
}
