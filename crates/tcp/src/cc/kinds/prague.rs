//! Prague: a sender for L4S, which reduces its window or its rate in proportion to the share of
//! marked segments.
//!
//! Source: L4STeam's Linux, `net/ipv4/tcp_prague.c` 0.7, in its integer arithmetic. Without accurate
//! ECN the controller is Reno, and packets are not ECN-capable.
//! Differences, each pinned by a test:
//!
//! - on a host that counts bytes, the size of segments stays the same at low rates.
//!
//! `prague/window.rs` has the additive increase and the reductions, and `prague/rate.rs` the
//! conversions between window and rate.

mod rate;
mod window;

use aqmlab_core::{BitRate, Bounds, Duration, Instant, Kind, Param, Value};

use super::reno::Reno;
use crate::cc::{
    Ack, CcEvent, Congestion, CongestionControl, EcnMode, EcnNeed, Feedback, Signal, Start, Totals,
    TsoSegments, Window,
};

/// Registers `prague`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "prague",
    summary: "Prague: a scalable sender for L4S with AccECN and ECT(1)",
    source: "L4STeam Linux net/ipv4/tcp_prague.c 0.7; RFC 9331",
    params: &[
        Param {
            name: "prague_rtt_target",
            default: Value::Duration(Duration::from_millis(25)),
            bounds: Bounds::span(Duration::from_micros(1), Duration::from_millis(100)),
            doc: "Round-trip time below which the rate does not depend on the round-trip time.",
        },
        Param {
            name: "prague_rtt_transition",
            default: Value::Count(4),
            bounds: Bounds::Whole(0, u32::MAX as u64),
            doc: "Rounds after slow start before the rate becomes independent of the round-trip time.",
        },
        Param {
            name: "prague_alpha_mode",
            default: Value::Count(0),
            bounds: Bounds::Whole(0, 1),
            doc: "First estimate of the share of marked segments: 0 or 1. With 0 the first mark halves the window.",
        },
        Param {
            name: "prague_cwnd_mode",
            default: Value::Count(2),
            bounds: Bounds::Whole(0, 2),
            doc: "Controlled quantity: the window (0), the rate (1), or the rate at small windows and otherwise the window (2).",
        },
        Param {
            name: "prague_cwnd_transit",
            default: Value::Count(4),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Largest window, in packets of 1500 B, at which `prague_cwnd_mode = 2` controls the rate.",
        },
        Param {
            name: "prague_burst_shift",
            default: Value::Count(12),
            bounds: Bounds::Whole(0, 31),
            doc: "Longest burst in seconds, as a negative power of two.",
        },
    ],
    build: |args| {
        Box::new(Prague::new(Options {
            target: args.duration("prague_rtt_target").as_micros() << 3,
            transition: args.count("prague_rtt_transition"),
            alpha_mode: args.count("prague_alpha_mode"),
            cwnd_mode: args.count("prague_cwnd_mode"),
            transit: args.count("prague_cwnd_transit"),
            burst_shift: args.count("prague_burst_shift").min(31) as u32,
        }))
    },
}];

/// The estimate of the share of marked segments is in units of 2^-24. The largest estimate is one.
const ALPHA_BITS: u32 = 24;
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
/// The weight of a round's share of marked segments in the estimate, as a negative power of two.
const SHIFT_G: u32 = 4;
/// The binary logarithm of the unit of the fractional window.
const CWND_UNIT: u32 = 20;
const ONE_CWND: u64 = 1 << CWND_UNIT;
/// The packet in bytes by which the window grows per round trip.
const MTU_SYS: u64 = 1_500;
/// The weight of a round's smoothed round-trip time in the long-term round-trip time, as a negative
/// power of two.
const HSRTT_SHIFT: u32 = 7;

/// The parameters of a controller. `target` is eight times `prague_rtt_target` in microseconds.
#[derive(Clone, Copy, Debug)]
struct Options {
    target: u64,
    transition: u64,
    alpha_mode: u64,
    cwnd_mode: u64,
    transit: u64,
    burst_shift: u32,
}

/// The part of a connection's state that the controller reads. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    now: u64,
    /// The congestion window and the slow-start threshold, in segments.
    cwnd: u64,
    ssthresh: u64,
    in_flight: u64,
    /// Eight times the smoothed round-trip time (`srtt_us`).
    srtt8: u64,
    /// The size of a full-sized packet (`tcp_mss_to_mtu`).
    mtu: u64,
    totals: Totals,
}

/// The Prague controller.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, as in the source")]
struct Prague {
    options: Options,
    /// Whether the connection has accurate ECN. Otherwise the controller is Reno.
    has_ecn: bool,
    reno: Reno,
    feedback: Option<Feedback>,
    view: View,
    /// The bytes of a packet besides its payload.
    header: u64,
    /// The largest packet (`mtu_cache`).
    max_mtu: u64,
    /// The largest window, in segments.
    clamp: u64,
    /// Whether the controller may change the size of segments.
    sizes_segments: bool,
    cwr_stamp: u64,
    alpha_stamp: u64,
    /// The estimate of the share of marked segments, times 2^[`SHIFT_G`].
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
    /// The number of rounds since slow start.
    round: u64,
    /// Whether a mark was seen, so that there is an AQM on the path.
    saw_ce: bool,
    /// Whether the controller adapts the rate and derives the window from it. Otherwise it adapts
    /// the window.
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
            clamp: u64::MAX >> CWND_UNIT,
            sizes_segments: true,
            cwr_stamp: 0,
            alpha_stamp: 0,
            upscaled_alpha: if options.alpha_mode == 1 { MAX_ALPHA << SHIFT_G } else { 0 },
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
            by_rate: options.cwnd_mode == 1,
            in_loss: false,
        }
    }

    /// Reads the state of the connection.
    fn look(&mut self, window: &Window, now: Instant) {
        let view = &mut self.view;
        view.now = now.as_nanos() / 1_000;
        view.cwnd = window.cwnd / window.segment;
        view.ssthresh = (window.ssthresh / window.segment).min(INFINITE_SSTHRESH);
        view.mtu = u64::from(window.mss) + self.header;
    }

    /// Sets the window and the threshold of the connection.
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

    /// Updates the estimate after a round, and the size of packets (`prague_update_alpha`).
    fn update_alpha(&mut self) {
        if self.saw_ce {
            let (now, then) = (&self.view.totals, &self.round_start);
            let marked = now.delivered_ce - then.delivered_ce;
            let delivered = (now.delivered - then.delivered).max(1);
            let share = (marked << ALPHA_BITS) / delivered;
            let alpha = self.upscaled_alpha - (self.upscaled_alpha >> SHIFT_G) + share;
            self.alpha_stamp = self.view.now;
            self.upscaled_alpha = alpha.min(MAX_ALPHA << SHIFT_G);
            if self.is_rtt_independent() && !self.in_loss {
                self.adapt_mtu();
            }
        }
        self.hsrtt = self.hsrtt + self.view.srtt8 - (self.hsrtt >> HSRTT_SHIFT);
        self.start_round();
    }

    fn start_round(&mut self) {
        self.round_start = self.view.totals;
        if !self.in_slow_start() {
            self.round += 1;
        }
        self.update_ai_ack_increase();
    }

    /// Returns whether an update of the estimate is due: after a round trip, and after at least the
    /// target round-trip time if growth does not depend on the round-trip time
    /// (`prague_should_update_ewma`).
    fn is_alpha_due(&self) -> bool {
        let elapsed = self.view.now.saturating_sub(self.alpha_stamp);
        self.view.totals.snd_una >= self.round_start.snd_nxt
            && (!self.is_rtt_independent() || elapsed >= self.options.target >> 3)
    }

    /// Selects after an acknowledgement whether the window or the rate is adapted.
    fn select_mode(&mut self) {
        if self.options.cwnd_mode != 2 {
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

/// The threshold before the first reduction (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

/// Returns eight times a span in microseconds, the unit of `srtt_us`.
fn eightfold_micros(span: Duration) -> u64 {
    span.as_nanos() / 125
}

impl CongestionControl for Prague {
    fn ecn_need(&self) -> EcnNeed {
        EcnNeed::L4s
    }

    fn wants_feedback(&self) -> bool {
        self.has_ecn
    }

    fn on_start(&mut self, start: &Start) {
        self.has_ecn = start.ecn == EcnMode::Accurate;
        self.header = start.header.into();
        self.view.totals = start.totals;
        self.saw_ce = start.totals.delivered_ce > 0;
    }

    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        if !self.has_ecn {
            return;
        }
        self.look(window, now);
        self.sizes_segments = window.segment == 1;
        let view = &mut self.view;
        view.srtt8 = srtt.map_or(0, eightfold_micros);
        self.alpha_stamp = view.now;
        self.frac_cwnd = view.cwnd << CWND_UNIT;
        self.max_mtu = view.mtu;
        self.hsrtt = if view.srtt8 > 0 { view.srtt8 << HSRTT_SHIFT } else { 8 << HSRTT_SHIFT };
        self.init_rate();
        self.update_pacing_rate();
        self.start_round();
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack) {
        if let Some(srtt) = ack.srtt {
            self.view.srtt8 = eightfold_micros(srtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        if !self.has_ecn {
            return self.reno.ssthresh(window, congestion);
        }
        if congestion.signal == Signal::Rto {
            self.look(window, congestion.now);
            self.enter_loss();
        }
        window.ssthresh
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        if !self.has_ecn {
            return;
        }
        self.look(window, now);
        match event {
            CcEvent::RecoveryEntered => self.enter_loss(),
            CcEvent::CwrEntered => self.enter_cwr(),
            CcEvent::Opened => self.in_loss = false,
            CcEvent::Undone => {
                self.in_loss = false;
                self.rate = self.rate.max(self.loss_rate);
                self.frac_cwnd = self.frac_cwnd_of_rate();
            }
            _ => {}
        }
    }

    fn undo_cwnd(&self, window: &Window, prior_cwnd: u64) -> u64 {
        if !self.has_ecn {
            return window.cwnd.max(prior_cwnd);
        }
        window.cwnd.max(self.loss_cwnd.saturating_mul(window.segment)).min(window.clamp)
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.feedback = Some(*feedback);
    }

    fn controls_cwnd(&self) -> bool {
        self.has_ecn
    }

    fn control(&mut self, window: &mut Window, ack: &Ack, _in_recovery: bool) {
        let Some(feedback) = self.feedback.take() else { return };
        self.look(window, ack.now);
        self.view.in_flight = ack.in_flight / window.segment;
        self.view.totals = feedback.totals;
        let acked = ack.rate.acked_sacked / window.segment;
        let clamp = window.clamp / window.segment;
        self.update_cwnd(acked, feedback.marks, ack.cwnd_limited, clamp);
        if self.is_alpha_due() {
            self.update_alpha();
        }
        self.update_pacing_rate();
        self.select_mode();
        self.apply(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        if self.has_ecn { BitRate::new(self.pacing_rate.max(1).saturating_mul(8)) } else { None }
    }

    fn tso_segments(&self) -> TsoSegments {
        if self.has_ecn { TsoSegments::Exactly(self.burst) } else { TsoSegments::Least(2) }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("alpha", (self.upscaled_alpha >> SHIFT_G) as f64 / MAX_ALPHA as f64),
            ("frac_cwnd", self.frac_cwnd as f64 / ONE_CWND as f64),
            ("rate_mbit", self.rate as f64 * 8.0 / 1e6),
            ("by_rate", f64::from(u8::from(self.by_rate))),
            ("round", self.round as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Args;

    use super::*;

    #[test]
    fn a_host_that_counts_bytes_keeps_the_size_of_its_segments() {
        for (segment, want) in [(1, 150), (1_448, 1_448)] {
            let mut cc = (KINDS[0].build)(&Args::defaults(KINDS[0].params));
            let mut window = Window {
                cwnd: 2 * segment,
                ssthresh: segment,
                segment,
                mss: 1_448,
                clamp: 1 << 40,
            };
            let totals = Totals { snd_una: 1, snd_nxt: 2, delivered: 1, delivered_ce: 1 };
            cc.on_start(&Start { ecn: EcnMode::Accurate, header: 52, totals });
            cc.on_established(&mut window, Instant::ZERO, Some(Duration::from_millis(10)));
            for round in 1..200 {
                let now = Instant::from_millis(round * 1_000);
                let totals = Totals {
                    snd_una: 1 + round,
                    snd_nxt: 2 + round,
                    delivered: 1 + round,
                    delivered_ce: 1 + round,
                };
                cc.on_feedback(&Feedback { totals, marks: 1, ..Feedback::default() });
                cc.on_event(&mut window, CcEvent::CwrEntered, now);
                let mut ack = ack(now);
                ack.rate.acked_sacked = segment;
                cc.control(&mut window, &ack, false);
                cc.on_event(&mut window, CcEvent::Opened, now);
            }
            assert_eq!(window.mss, want, "{segment} units per segment");
        }
    }

    fn ack(now: Instant) -> Ack {
        Ack { now, cwnd_limited: true, ..Ack::default() }
    }
}
