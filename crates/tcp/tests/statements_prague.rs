//! Tests the conformance statements on Prague. `prague/main.rs` compares the module with L4STeam's
//! code.

#![allow(unreachable_pub, dead_code, reason = "the modules serve several tests")]

#[path = "authors/module.rs"]
mod module;
#[path = "authors/play.rs"]
mod play;

use aqmlab_tcp::cc::{CaState, EcnMode};
use module::Module;
use play::{Change, Conn, Controller, Decision, Facts};

/// A sender whose packets are all acknowledged, one by one. A constant fraction of the packets is
/// marked.
struct Steady {
    module: Module,
    conn: Conn,
    /// The fraction of marked packets in millionths.
    share: u64,
    /// The fraction of a mark that is carried over, in millionths.
    rest: u64,
    high: u64,
    reductions: Vec<u64>,
}

impl Steady {
    fn new(rtt_us: u64, share: u64) -> Self {
        let conn = Conn {
            in_flight: 10,
            snd_nxt: 1 + 10 * 1_448,
            cwnd_limited: true,
            max_packets_out: 10,
            ..Conn::new(1_000_000, rtt_us)
        };
        let mut module = Module::new("prague", &[], EcnMode::Accurate);
        module.start(&conn);
        Self { module, conn, share, rest: 0, high: 0, reductions: Vec::new() }
    }

    fn frac_cwnd(&self) -> f64 {
        self.module.gauge("frac_cwnd")
    }

    fn change(&mut self, ca: CaState, change: Change) {
        let before = self.frac_cwnd();
        self.conn.ca = ca;
        self.module.change(&self.conn, change);
        if change == Change::Cwr && self.frac_cwnd() < before {
            self.reductions.push(self.conn.now);
        }
    }

    /// Acknowledges the next packet, which was sent at the pace of the window or of the rate,
    /// whichever is slower.
    fn ack(&mut self) {
        let decision = self.module.decision();
        let rtt = self.conn.srtt8 / 8;
        let gap = (decision.mss + 52) * 1_000_000 / decision.rate.max(1);
        self.conn.now += gap.max(rtt / decision.cwnd).max(1);
        self.rest += self.share;
        let marks = self.rest / 1_000_000;
        self.rest %= 1_000_000;
        self.conn.delivered += 1;
        self.conn.delivered_ce += marks;
        self.conn.snd_una += decision.mss;
        self.conn.snd_nxt = self.conn.snd_una + decision.cwnd * decision.mss;
        self.conn.in_flight = decision.cwnd - 1;
        if self.conn.ca != CaState::Open && self.conn.snd_una > self.high {
            self.change(CaState::Open, Change::Open);
        }
        if marks > 0 && self.conn.ca == CaState::Open {
            self.high = self.conn.snd_nxt;
            self.change(CaState::Cwr, Change::Cwr);
        }
        let facts = Facts { rtt, acked: 1, marks, interval: Some(rtt), ..Facts::default() };
        self.module.ack(&self.conn, &facts);
    }

    fn run(&mut self, seconds: u64) {
        let end = self.conn.now + seconds * 1_000_000;
        while self.conn.now < end {
            self.ack();
        }
    }
}

/// C-184: if a constant fraction p of the packets is marked, the window is at least 2·√(1 − p)/p
/// packets and at most √(6·(1 − p))/p packets. About two marks therefore arrive per round trip.
///
/// Every reduction lowers the window W by the share p/2. Between reductions, N packets are
/// acknowledged and raise the window by (1 − p)·N/W (`prague_enter_cwr`, `prague_update_cwnd`). In
/// balance W² = 2·(1 − p)·N/p. The state CWR lasts for a window, and the first mark after it
/// reduces the window again. A mark arrives every 1/p packets, so N is the first multiple of 1/p
/// that is greater than W: 2/p or 3/p. The window deviates from its mean by at most half of a
/// reduction, a packet.
#[test]
fn two_marks_arrive_per_round_trip() {
    for share in [20_000, 50_000, 100_000] {
        let mut steady = Steady::new(40_000, share);
        steady.run(60);
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in 0..4_000 {
            steady.ack();
            sum += steady.frac_cwnd();
            count += 1.0;
        }
        let p = share as f64 / 1e6;
        let window = sum / count;
        let [least, most] = [2.0, 3.0].map(|marks| (2.0 * (1.0 - p) * marks).sqrt() / p);
        assert!((least - 1.0..=most + 1.0).contains(&window), "{p}: {window}, {least} to {most}");
    }
}

/// C-185: each update moves the estimate by a sixteenth of its distance to the round's fraction of
/// marked packets. With one packet in ten marked, this fraction differs from 10 % by at most one
/// packet of the window.
#[test]
fn the_estimate_rises_by_a_sixteenth_of_the_rest() {
    let mut steady = Steady::new(40_000, 100_000);
    let mut updates = 0;
    let mut last = 0.0;
    while updates < 16 {
        steady.ack();
        let alpha = steady.module.gauge("alpha");
        if alpha.to_bits() != f64::to_bits(last) {
            let fraction = last + 16.0 * (alpha - last);
            assert!((fraction - 0.1).abs() <= 1.0 / steady.frac_cwnd(), "{updates}: {fraction}");
            (updates, last) = (updates + 1, alpha);
        }
    }
    let expected = 0.1 * (1.0 - (15.0_f64 / 16.0).powi(16));
    assert!((last - expected).abs() < 0.002, "{last}, {expected}");
    steady.run(30);
    let alpha = steady.module.gauge("alpha");
    assert!((alpha - 0.1).abs() < 0.02, "{alpha}");
}

/// C-186: at a round-trip time below 25 ms, the window is reduced at most once per 25 ms.
#[test]
fn the_window_is_reduced_once_per_target() {
    for (rtt, least) in [(5_000, 25_000), (40_000, 38_000)] {
        let mut steady = Steady::new(rtt, 50_000);
        steady.run(3);
        steady.reductions.clear();
        steady.run(10);
        assert!(steady.reductions.len() > 50, "{}", steady.reductions.len());
        let apart = steady.reductions.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(apart.is_some_and(|apart| apart >= least), "{rtt}: {apart:?}");
    }
}

/// C-188: a loss without marks halves the window and keeps the estimate.
#[test]
fn a_loss_halves_the_window() {
    let mut steady = Steady::new(40_000, 20_000);
    steady.run(20);
    let (before, alpha) = (steady.frac_cwnd(), steady.module.gauge("alpha"));
    steady.change(CaState::Recovery, Change::Recovery);
    assert!((steady.frac_cwnd() / before - 0.5).abs() < 1e-5);
    assert!((steady.module.gauge("alpha") - alpha).abs() < 1e-12);
}

/// C-189: the first mark ends slow start and halves the window once.
#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let mut steady = Steady::new(40_000, 0);
    while steady.frac_cwnd() < 64.0 {
        steady.ack();
    }
    let before = steady.frac_cwnd();
    steady.share = 1_000_000;
    steady.ack();
    steady.share = 0;
    assert!((steady.frac_cwnd() / before - 0.5).abs() < 0.02, "{}", steady.frac_cwnd());
    let decision = steady.module.decision();
    assert!(decision.ssthresh <= decision.cwnd, "{decision:?}");
    for _ in 0..100 {
        steady.ack();
    }
    assert!(steady.module.decision().cwnd <= 36, "{:?}", steady.module.decision());
}

/// C-193: a burst holds at most the data of 1/4096 s at the rate, but at least one packet.
#[test]
fn bursts_are_short() {
    let mut longest = 0;
    for (rtt, share) in [(40_000, 20_000), (1_000, 1_000), (100, 100)] {
        let mut steady = Steady::new(rtt, share);
        for _ in 0..20_000 {
            steady.ack();
            let Decision { rate, mss, burst, .. } = steady.module.decision();
            let is_short = burst * (mss + 52) * 4_096 <= rate;
            assert!(burst == 1 || (burst > 1 && is_short), "{burst} packets at {rate} B/s");
            longest = longest.max(burst);
        }
    }
    assert!(longest > 1, "fast senders send bursts");
}

/// Tests that packets are smaller at low rates, so that two packets are sent per 25 ms.
#[test]
fn packets_shrink_at_low_rates() {
    let mut steady = Steady::new(1_000, 900_000);
    steady.run(20);
    let mss = steady.module.decision().mss;
    assert!((150..500).contains(&mss), "{mss}");
    assert!(steady.module.gauge("by_rate") > 0.5);
}
