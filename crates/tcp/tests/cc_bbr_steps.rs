//! Tests BBR step by step: the effect of one acknowledgement, timeout or idle period.

mod cc_path;

use aqmlab_core::{Duration, Instant, Value};
use aqmlab_tcp::cc::{Ack, CcEvent, Congestion, CongestionControl, RateSample, Signal, Window};
use cc_path::{MSS, controller, fresh_window, gauge};

/// The value of the gauge `mode` in start-up. The constants below are the gauge's other values.
const STARTUP: u64 = 0;
const DRAIN: u64 = 1;
const PROBE_BW: u64 = 2;
const PROBE_RTT: u64 = 3;

fn mode(cc: &dyn CongestionControl) -> u64 {
    gauge(cc, "mode") as u64
}

/// A path that delivers one segment per millisecond with a round trip of 100 ms. The controller
/// gets one acknowledgement of a window per round.
struct Script {
    cc: Box<dyn CongestionControl>,
    window: Window,
    now: Instant,
    total: u64,
    lost: u64,
    rtt_ms: u64,
    app_limited: bool,
    /// The number of bytes of an acknowledged segment.
    bytes: u64,
}

impl Script {
    fn new() -> Self {
        let (mut cc, mut window) = (controller("bbr", &[]), fresh_window(1));
        let now = Instant::from_millis(500);
        cc.on_established(&mut window, now, Some(Duration::from_millis(100)));
        Self {
            cc,
            window,
            now,
            total: 0,
            lost: 0,
            rtt_ms: 100,
            app_limited: false,
            bytes: u64::from(MSS),
        }
    }

    /// Simulates a round of 100 ms in which `delivered` segments arrive and `losses` segments are
    /// lost.
    fn round(&mut self, delivered: u64, losses: u64, in_recovery: bool) {
        self.now += Duration::from_millis(100);
        let prior = self.total;
        self.total += delivered;
        self.lost += losses;
        self.tell(delivered, delivered, prior, losses, in_recovery);
    }

    fn tell(&mut self, acked: u64, delivered: u64, prior: u64, losses: u64, in_recovery: bool) {
        let rtt = Some(Duration::from_millis(self.rtt_ms));
        let ack = Ack {
            now: self.now,
            acked,
            bytes: acked * self.bytes,
            in_flight: (self.window.cwnd / 2).min(90),
            until_departure: Duration::ZERO,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            cwnd_limited: true,
            snd_una: self.total * u64::from(MSS),
            snd_nxt: (self.total + self.window.cwnd) * u64::from(MSS),
            rate: RateSample {
                delivered,
                interval: Duration::from_millis(100),
                prior_delivered: prior,
                total_delivered: self.total,
                losses,
                total_lost: self.lost,
                acked_sacked: acked,
                app_limited: self.app_limited,
                retransmitted: false,
            },
        };
        self.cc.on_sample(&mut self.window, &ack);
        self.cc.control(&mut self.window, &ack, in_recovery);
    }

    fn start(&mut self) {
        for delivered in [10, 20, 40, 80, 100, 100, 100, 100, 100] {
            self.round(delivered, 0, false);
        }
        assert_eq!(mode(&*self.cc), PROBE_BW);
    }
}

#[test]
fn startup_is_left_after_three_rounds_without_a_quarter_more() {
    let mut script = Script::new();
    // Deliveries of 10, 20, 40 and 80 segments grow enough. 99 is less than 1.25 times 80, so its
    // round is the first without growth.
    for (round, delivered, want) in [
        (1, 10, STARTUP),
        (2, 20, STARTUP),
        (3, 40, STARTUP),
        (4, 80, STARTUP),
        (5, 99, STARTUP),
        (6, 99, STARTUP),
    ] {
        script.round(delivered, 0, false);
        assert_eq!(mode(&*script.cc), want, "round {round}");
    }
    assert!((gauge(&*script.cc, "pacing_gain") - 2.89).abs() < 0.01);
    assert_eq!(script.window.ssthresh, u64::MAX);
    script.round(99, 0, false);
    assert!(mode(&*script.cc) > STARTUP, "the third round without growth");
    assert!(script.window.ssthresh < 200, "{}", script.window.ssthresh);
}

#[test]
fn growth_by_a_quarter_starts_the_count_anew() {
    let mut script = Script::new();
    for delivered in [100, 110, 120, 130, 140, 160] {
        script.round(delivered, 0, false);
        assert_eq!(mode(&*script.cc), STARTUP, "{delivered}");
    }
}

#[test]
fn the_first_phase_is_random_by_seed_and_time_and_never_the_one_that_drains() {
    let entry = |seed: u64, at: u64| {
        let mut script = Script::new();
        script.cc = controller("bbr", &[("seed", Value::Count(seed))]);
        script.window = fresh_window(1);
        let rtt = Some(Duration::from_millis(100));
        script.cc.on_established(&mut script.window, Instant::from_micros(at), rtt);
        let mut phase = 0;
        for delivered in [10, 20, 40, 80, 100, 100, 100] {
            script.round(delivered, 0, false);
        }
        // In the phases 2 to 7 the gain is 1; the test counts the rounds until the gain rises.
        while mode(&*script.cc) != PROBE_BW {
            script.round(100, 0, false);
        }
        assert!(gauge(&*script.cc, "pacing_gain") > 0.9, "never enters at the drain");
        while gauge(&*script.cc, "pacing_gain") < 1.1 {
            phase += 1;
            script.round(100, 0, false);
            assert!(phase < 50, "the cycle turns");
        }
        phase
    };
    assert_eq!(entry(1, 17), entry(1, 17), "a repeated run is the same");
    let mut seen: Vec<_> = (0..40).map(|at| entry(1, at)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= 6, "established at other times, at other phases: {seen:?}");
    let mut seeds: Vec<_> = (0..40).map(|seed| entry(seed, 17)).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert!(seeds.len() >= 6, "{seeds:?}");
}

#[test]
fn the_rate_is_paced_one_per_cent_below_the_bandwidth() {
    let mut script = Script::new();
    script.start();
    while (gauge(&*script.cc, "pacing_gain") - 1.0).abs() > 1e-9 {
        script.round(100, 0, false);
    }
    // The rate is 100 segments of 1448 bytes in 100 ms.
    let rate = script.cc.pacing_rate().expect("BBR paces").as_bps() as f64;
    assert!((rate / (1_448.0 * 8.0 * 1_000.0) - 0.99).abs() < 1e-4, "{rate} bit/s");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
    let mut script = Script::new();
    script.start();
    script.round(100, 0, false);
    let before = script.window.cwnd;
    let congestion =
        Congestion { now: script.now, in_flight: before, signal: Signal::Loss, srtt: None };
    let kept = script.window.ssthresh;
    assert_eq!(script.cc.ssthresh(&script.window, &congestion), kept, "loss sets no threshold");
    script.cc.on_event(&mut script.window, CcEvent::RecoveryEntered, script.now);
    // One segment is delivered and two are lost. The window is the data in flight plus the
    // delivered segment.
    let prior = script.total - 50;
    script.total += 1;
    script.lost += 2;
    script.tell(1, 1, prior, 2, true);
    assert_eq!(script.window.cwnd, 90 + 1);
    let held = script.window.cwnd;
    script.total += 1;
    script.tell(1, 1, prior, 0, true);
    assert!(script.window.cwnd <= held, "{} after {held}", script.window.cwnd);
    script.cc.on_event(&mut script.window, CcEvent::RecoveryLeft, script.now);
    script.round(100, 0, false);
    assert!(script.window.cwnd >= before, "{} restored to {before}", script.window.cwnd);
}

#[test]
fn a_restart_from_idle_is_paced_at_the_bandwidth() {
    let mut script = Script::new();
    script.start();
    while gauge(&*script.cc, "pacing_gain") < 1.1 {
        script.round(100, 0, false);
    }
    let probing = script.cc.pacing_rate();
    script.now += Duration::from_secs(2);
    let idle = CcEvent::TransmitStart { idle: Duration::from_secs(2), app_limited: true };
    script.cc.on_event(&mut script.window, idle, script.now);
    let restarted = script.cc.pacing_rate();
    let ratio = probing.unwrap().as_bps() as f64 / restarted.unwrap().as_bps() as f64;
    assert!((ratio - 1.25).abs() < 0.001, "{ratio}");
}

/// Tests that the drain phase of the gain cycle ends as soon as the data in flight is at most the
/// bandwidth-delay product.
#[test]
fn the_draining_phase_ends_early_once_drained() {
    let mut script = Script::new();
    script.start();
    while gauge(&*script.cc, "pacing_gain") > 0.9 {
        script.round(100, 0, false);
    }
    // One further segment is acknowledged 1 ms later. 91 segments were in flight before it, and the
    // path holds 100.
    script.now += Duration::from_millis(1);
    script.total += 1;
    script.tell(1, 100, script.total - 101, 0, false);
    assert!(gauge(&*script.cc, "pacing_gain") > 0.9);
}

#[test]
fn a_loss_during_near_silence_does_not_lose_the_saved_window() {
    let mut script = Script::new();
    script.start();
    let mut before = 0;
    while mode(&*script.cc) != PROBE_RTT {
        before = script.window.cwnd;
        script.round(100, 0, false);
    }
    assert_eq!(script.window.cwnd, 4);
    let congestion = Congestion { now: script.now, in_flight: 4, signal: Signal::Loss, srtt: None };
    script.cc.ssthresh(&script.window, &congestion);
    while mode(&*script.cc) == PROBE_RTT {
        assert_eq!(script.window.cwnd, 4);
        script.round(4, 0, false);
    }
    let after = script.window.cwnd;
    assert!(after + 2 >= before, "the window of {before} is back at once, not {after}");
}

/// Tests that a restart after an idle period does not begin a probe of the round-trip time. The
/// queue of the flow has emptied during the idle period, so no probe is needed.
#[test]
fn a_restart_from_idle_does_not_probe_the_round_trip() {
    for (idle, want) in [(true, PROBE_BW), (false, PROBE_RTT)] {
        let mut script = Script::new();
        script.start();
        script.now += Duration::from_secs(11);
        if idle {
            let event = CcEvent::TransmitStart { idle: Duration::from_secs(11), app_limited: true };
            script.cc.on_event(&mut script.window, event, script.now);
        }
        script.round(4, 0, false);
        assert_eq!(mode(&*script.cc), want, "idle {idle}");
    }
}

#[test]
fn near_silence_ends_with_a_round_trip_only() {
    let mut script = Script::new();
    script.start();
    while mode(&*script.cc) != PROBE_RTT {
        script.round(100, 0, false);
    }
    // From this time on, few segments are in flight. A round trip and 200 ms follow.
    script.window.cwnd = 4;
    let sent_before = script.total - 100;
    for _ in 0..5 {
        script.now += Duration::from_millis(100);
        script.total += 1;
        script.tell(1, 100, sent_before, 0, false);
        assert_eq!(mode(&*script.cc), PROBE_RTT, "nothing sent since is acknowledged");
    }
    script.round(4, 0, false);
    assert_eq!(mode(&*script.cc), PROBE_BW);
}

/// Tests that a sample renews the minimum round-trip time after ten seconds, except a sample of a
/// single small segment. The acknowledgement of such a segment may have been delayed.
#[test]
fn an_acknowledgement_that_may_be_delayed_renews_no_least_time() {
    for (bytes, want) in [(100, 100.0), (u64::from(MSS), 140.0)] {
        let mut script = Script::new();
        script.start();
        script.now += Duration::from_secs(11);
        (script.rtt_ms, script.bytes) = (140, bytes);
        script.round(1, 0, false);
        let got = gauge(&*script.cc, "min_rtt_ms");
        assert!((got - want).abs() < 1e-9, "{got} ms from {bytes} bytes");
    }
}

#[test]
fn rounds_limited_by_the_application_do_not_show_a_full_pipe() {
    let mut script = Script::new();
    script.app_limited = true;
    for _ in 0..10 {
        script.round(10, 0, false);
    }
    assert_eq!(mode(&*script.cc), STARTUP);
}

#[test]
fn a_timeout_restarts_the_search_for_the_full_pipe() {
    for (timeout, want) in [(false, DRAIN), (true, STARTUP)] {
        let mut script = Script::new();
        for delivered in [10, 20, 40, 80, 80, 80] {
            script.round(delivered, 0, false);
        }
        if timeout {
            script.cc.on_event(&mut script.window, CcEvent::RtoEntered, script.now);
        }
        script.round(80, 0, false);
        assert_eq!(mode(&*script.cc), want, "timeout {timeout}");
    }
}

/// Tests that the pacing rate stays the same after a timeout. The retransmission finds nothing in
/// flight, but is not a restart from idle.
#[test]
fn repair_after_a_timeout_keeps_the_rate() {
    let mut script = Script::new();
    script.start();
    while gauge(&*script.cc, "pacing_gain") < 1.1 {
        script.round(100, 0, false);
    }
    let rate = script.cc.pacing_rate();
    script.cc.on_event(&mut script.window, CcEvent::RtoEntered, script.now);
    let event = CcEvent::TransmitStart { idle: Duration::from_millis(300), app_limited: true };
    script.cc.on_event(&mut script.window, event, script.now);
    assert_eq!(script.cc.pacing_rate(), rate);
}

/// Tests that the acknowledgement that ends the recovery of a timeout restores the window, with or
/// without an event of the connection.
#[test]
fn the_window_is_restored_after_a_timeout() {
    let mut script = Script::new();
    script.start();
    script.round(100, 0, false);
    let before = script.window.cwnd;
    let congestion =
        Congestion { now: script.now, in_flight: before, signal: Signal::Rto, srtt: None };
    script.cc.ssthresh(&script.window, &congestion);
    script.window.cwnd = 1;
    script.cc.on_event(&mut script.window, CcEvent::RtoEntered, script.now);
    script.round(1, 0, true);
    assert!(script.window.cwnd <= 4, "{} while repairing", script.window.cwnd);
    script.round(4, 0, false);
    let after = script.window.cwnd;
    assert!(after + 2 >= before, "the window of {before} comes back, not {after}");
}
