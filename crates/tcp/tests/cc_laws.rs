//! Compares the window of each controller with its law.

mod cc_path;

use aqmlab_core::{Duration, Instant, Value};
use aqmlab_tcp::cc::{CcEvent, Congestion, Signal, Window};
use cc_path::steps::{acknowledge_for, lose, plain_ack, sample};
use cc_path::{controller, fresh_window, gauge};

/// C-81: after a loss, Reno keeps 1/2 of the window and CUBIC 0.7 (Linux: 717/1024). FreeBSD's
/// CUBIC keeps 1/2 at the first loss and 0.8 later.
#[test]
fn c81_a_loss_leaves_each_its_share() {
    for (name, at, want) in [
        ("reno", 100, [50, 50]),
        ("reno", 3, [2, 2]),
        ("cubic", 100, [70, 70]),
        ("cubic", 1_024, [717, 717]),
        ("cubic", 2, [2, 2]),
        ("cubic_rfc", 100, [70, 70]),
        ("cubic_rfc", 2, [2, 2]),
        ("cubic_freebsd", 256, [128, 204]),
        ("compound", 100, [50, 50]),
    ] {
        let (mut cc, mut window) = (controller(name, &[]), fresh_window(1));
        cc.on_established(&mut window, Instant::ZERO, None);
        for want in want {
            lose(&mut *cc, &mut window, at, Instant::from_millis(1));
            assert_eq!(window.ssthresh, want, "{name} at {at}");
        }
    }
}

/// C-83: after a second loss at a window below the former maximum, the new maximum is 0.85 of that
/// window.
#[test]
fn c83_fast_convergence_gives_up_more() {
    for name in ["cubic", "cubic_rfc"] {
        for (converge, second, want) in [(true, 80, 68.0), (true, 120, 120.0), (false, 80, 80.0)] {
            let mut cc = controller(name, &[("fast_convergence", Value::Flag(converge))]);
            let mut window = fresh_window(1);
            lose(&mut *cc, &mut window, 100, Instant::ZERO);
            lose(&mut *cc, &mut window, second, Instant::from_millis(1));
            let w_max = gauge(&*cc, "w_max");
            assert!((w_max - want).abs() < 1e-9, "{name} at {second}: {w_max}, not {want}");
        }
    }
}

/// Linux's law in its simplest form, written independently of the module.
struct Oracle {
    /// The time from the start of growth to the plateau in 1024ths of a second.
    k: i128,
    /// The window at the plateau.
    w_max: i128,
    start_tick: u64,
    delay_ticks: u64,
    /// The number of segments acknowledged towards Reno's next increase.
    acked: i128,
    reno: i128,
    cwnd: i128,
    credit: i128,
    cnt: i128,
    evaluated: Option<(u64, i128)>,
}

impl Oracle {
    fn ack(&mut self, tick: u64) {
        self.acked += 1;
        let stale = self.evaluated.is_none_or(|(at, cwnd)| cwnd != self.cwnd || tick - at > 7);
        if stale {
            if self.evaluated.is_none_or(|(at, _)| at != tick) {
                self.evaluated = Some((tick, self.cwnd));
                self.cnt = self.cubic_cnt(tick);
            }
            let per = self.cwnd * 15 / 8;
            while self.acked > per {
                self.acked -= per;
                self.reno += 1;
            }
            if self.reno > self.cwnd {
                self.cnt = self.cnt.min(self.cwnd / (self.reno - self.cwnd));
            }
            self.cnt = self.cnt.max(2);
        }
        if self.credit >= self.cnt {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += 1;
        if self.credit >= self.cnt {
            self.cwnd += self.credit / self.cnt;
            self.credit %= self.cnt;
        }
    }

    fn cubic_cnt(&self, tick: u64) -> i128 {
        let ticks = i128::from(tick - self.start_tick + self.delay_ticks);
        let offset = ticks * 1_024 / 250 - self.k;
        let distance = 410 * offset.abs().pow(3) / (1 << 40);
        let target = self.w_max + offset.signum() * distance;
        if target > self.cwnd { self.cwnd / (target - self.cwnd) } else { 100 * self.cwnd }
    }
}

#[test]
fn linux_cubic_follows_the_naive_law_to_the_segment() {
    for (w_max, rtt_ms, seconds) in [(100, 40, 20), (1_000, 100, 25), (20, 10, 10), (400, 7, 15)] {
        let rtt = Duration::from_millis(rtt_ms);
        let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
        let from = Instant::from_millis(5_000);
        // There is one sample before the loss, so that the minimum delay is known.
        sample(&mut *cc, &mut window, 1, (Instant::from_millis(100), rtt));
        lose(&mut *cc, &mut window, w_max, from);
        let mut oracle: Option<Oracle> = None;
        let mut seen = 0_u64;
        let begin = i128::from(window.cwnd);
        acknowledge_for(
            &mut *cc,
            &mut window,
            (from, Duration::from_secs(seconds), rtt),
            |cc, window, now| {
                let tick = now.as_nanos() / 4_000_000;
                let oracle = oracle.get_or_insert_with(|| Oracle {
                    k: (gauge(cc, "k_s") * 1_024.0) as i128,
                    w_max: i128::from(w_max),
                    start_tick: tick,
                    delay_ticks: rtt_ms.div_ceil(4),
                    acked: 0,
                    reno: begin,
                    cwnd: begin,
                    credit: 0,
                    cnt: 0,
                    evaluated: None,
                });
                oracle.ack(tick);
                seen += 1;
                assert_eq!(
                    i128::from(window.cwnd),
                    oracle.cwnd,
                    "maximum {w_max}, acknowledgement {seen} at {now}",
                );
            },
        );
        assert!(window.cwnd > w_max, "{w_max}: growth went beyond the plateau");
    }
}

/// Tests statement C-82 for the window over time: the window follows the curve, and is back at its
/// maximum when the time K has passed since the loss.
#[test]
fn c82_the_window_returns_to_its_maximum_after_k() {
    for name in ["cubic", "cubic_rfc"] {
        let rtt = Duration::from_millis(100);
        let (mut cc, mut window) = (controller(name, &[]), fresh_window(1));
        sample(&mut *cc, &mut window, 1, (Instant::from_millis(100), rtt));
        let from = Instant::from_millis(5_000);
        lose(&mut *cc, &mut window, 1_000, from);
        // ∛(1000·0.3/0.4) = 9.086 s.
        let span = Duration::from_secs_f64(18.0);
        let mut next = 0.5;
        acknowledge_for(&mut *cc, &mut window, (from, span, rtt), |_, window, now| {
            let t = now.since(from).as_secs_f64();
            if t < next {
                return;
            }
            next += 0.5;
            let off = t - 9.086;
            let want = 1_000.0 + 0.4 * off * off * off;
            let got = window.cwnd as f64;
            assert!((got - want).abs() < 0.02 * want, "{name} at {t:.1} s: {got}, not {want:.0}");
        });
    }
}

/// Tests CUBIC at a window of 20 segments and a round-trip time of 10 ms, at which Reno grows
/// faster than the cubic function.
#[test]
fn at_a_small_bandwidth_delay_product_cubic_is_reno() {
    // In half a second, acknowledgements raise Reno's window with CUBIC's β by 50·8/15 segments.
    for (name, friendly, want) in [
        ("cubic", &[("tcp_friendliness", Value::Flag(true))][..], 14.0 + 50.0 * 0.53),
        // In RFC 9438, the growth factor α is 0.529 up to the former maximum, and 1 above it.
        ("cubic_rfc", &[][..], 20.0 + (50.0 - 6.0 / 0.529)),
        // The cubic function gives 0.4·(0.5−2.5)³+20, which is about 17.
        ("cubic", &[("tcp_friendliness", Value::Flag(false))][..], 17.0),
    ] {
        let rtt = Duration::from_millis(10);
        let (mut cc, mut window) = (controller(name, friendly), fresh_window(1));
        sample(&mut *cc, &mut window, 1, (Instant::from_millis(100), rtt));
        let from = Instant::from_millis(5_000);
        lose(&mut *cc, &mut window, 20, from);
        let span = Duration::from_millis(500);
        acknowledge_for(&mut *cc, &mut window, (from, span, rtt), |_, _, _| {});
        let got = window.cwnd as f64;
        assert!((got - want).abs() < 4.0, "{name} {friendly:?}: {got}, not {want}");
    }
}

#[test]
fn after_a_timeout_linux_forgets_the_maximum_and_the_delay() {
    let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
    lose(&mut *cc, &mut window, 100, Instant::from_millis(10));
    assert!(gauge(&*cc, "w_max") > 99.0);
    cc.on_event(&mut window, CcEvent::RtoEntered, Instant::from_millis(20));
    assert!(gauge(&*cc, "w_max") < 1.0);
}

/// Tests that the window grows by one segment per twenty acknowledged segments before the first
/// loss, when CUBIC has no maximum.
#[test]
fn linux_grows_by_a_twentieth_while_no_maximum_is_known() {
    let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
    (window.cwnd, window.ssthresh) = (400, 400);
    let rtt = Duration::from_millis(40);
    for number in 1..=400 {
        let ack = plain_ack(&window, number, Instant::from_millis(5_000), rtt);
        cc.on_ack(&mut window, &ack);
    }
    assert_eq!(window.cwnd, 420);
}

/// Tests that one window of acknowledgements grows the window by at most half, for any value of the
/// cubic function.
#[test]
fn growth_is_at_most_half_a_window_per_round_trip() {
    for name in ["cubic", "cubic_rfc"] {
        let (mut cc, mut window) = (controller(name, &[]), fresh_window(1));
        let rtt = Duration::from_millis(40);
        lose(&mut *cc, &mut window, 20, Instant::from_millis(1_000));
        let first = plain_ack(&window, 1, Instant::from_millis(1_000), rtt);
        cc.on_ack(&mut window, &first);
        let before = window.cwnd;
        // A minute later, the function is larger by 0.4·57³, which is 74 000 segments.
        for number in 0..before {
            let ack = plain_ack(&window, number, Instant::from_millis(61_000), rtt);
            cc.on_ack(&mut window, &ack);
        }
        let grown = window.cwnd - before;
        // RFC 9438 recomputes the limit for each acknowledgement, so the growth compounds slightly.
        assert!((before / 2..before * 2 / 3).contains(&grown), "{name}: {before} by {grown}");
    }
}

/// Tests that Linux ignores delay samples for a second after growth resumes, because these samples
/// include the queue of the congestion.
#[test]
fn linux_takes_no_least_delay_right_after_recovery() {
    let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
    let at = Instant::from_millis;
    sample(&mut *cc, &mut window, 1, (at(10), Duration::from_millis(80)));
    lose(&mut *cc, &mut window, 100, at(20));
    let ack = plain_ack(&window, 2, at(100), Duration::from_millis(80));
    cc.on_ack(&mut window, &ack);
    for (ms, rtt_ms, want) in [(500, 40, 80.0), (1_096, 40, 80.0), (1_100, 50, 50.0)] {
        sample(&mut *cc, &mut window, 3, (at(ms), Duration::from_millis(rtt_ms)));
        let got = gauge(&*cc, "delay_min_ms");
        assert!((got - want).abs() < 1e-9, "{got} ms at {ms} ms");
    }
}

#[test]
fn a_loss_takes_away_the_credit_gathered_for_growth() {
    let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
    (window.cwnd, window.ssthresh) = (100, 100);
    // With such a long delay, the function is evaluated far ahead. The window immediately grows by
    // one segment per two acknowledged segments.
    let rtt = Duration::from_secs(2);
    sample(&mut *cc, &mut window, 1, (Instant::from_millis(10), rtt));
    let mut acknowledge = |window: &mut Window, count: u64, lost: bool| {
        if lost {
            let now = Instant::from_millis(2_000);
            lose(&mut *cc, window, 100, now);
        }
        let before = window.cwnd;
        for number in 0..count {
            let ack = plain_ack(window, number, Instant::from_millis(2_000), rtt);
            cc.on_ack(window, &ack);
        }
        window.cwnd - before
    };
    // The window grows by one segment per twenty acknowledged segments. Nineteen segments are not
    // sufficient, and do not count after the loss.
    assert_eq!(acknowledge(&mut window, 19, false), 0);
    assert_eq!(acknowledge(&mut window, 1, true), 0);
}

/// Tests that the curve starts at its plateau after a timeout (RFC 9438 §4.8).
#[test]
fn after_a_timeout_the_rfc_starts_a_new_plateau() {
    let rtt = Duration::from_millis(40);
    let (mut cc, mut window) = (controller("cubic_rfc", &[]), fresh_window(1));
    let now = Instant::from_millis(1_000);
    window.cwnd = 1_000;
    let congestion = Congestion { now, in_flight: 1_000, signal: Signal::Rto, srtt: None };
    window.ssthresh = cc.ssthresh(&window, &congestion);
    assert_eq!(window.ssthresh, 700);
    window.cwnd = 700;
    let ack = plain_ack(&window, 1, now, rtt);
    cc.on_ack(&mut window, &ack);
    assert!((gauge(&*cc, "w_max") - 700.0).abs() < 1e-9 && gauge(&*cc, "k_s").abs() < 1e-9);
}

/// Tests that the undo of a spurious reduction restores both the curve and the window (RFC 9438
/// §4.9).
#[test]
fn a_spurious_reduction_restores_the_rfcs_curve() {
    let (mut cc, mut window) = (controller("cubic_rfc", &[]), fresh_window(1));
    lose(&mut *cc, &mut window, 1_000, Instant::from_millis(1_000));
    lose(&mut *cc, &mut window, 900, Instant::from_millis(2_000));
    assert!((gauge(&*cc, "w_max") - 765.0).abs() < 1e-9);
    assert_eq!(cc.undo_cwnd(&window, 900), 900);
    cc.on_event(&mut window, CcEvent::Undone, Instant::from_millis(2_100));
    assert!((gauge(&*cc, "w_max") - 1_000.0).abs() < 1e-9);
}

/// Tests that an idle second moves the start of the epoch, so growth continues at the same point.
#[test]
fn idle_time_is_no_time_to_grow() {
    for name in ["cubic", "cubic_rfc"] {
        let rtt = Duration::from_millis(100);
        let grow = |idle: u64| {
            let (mut cc, mut window) = (controller(name, &[]), fresh_window(1));
            sample(&mut *cc, &mut window, 1, (Instant::from_millis(9), rtt));
            let from = Instant::from_millis(5_000);
            lose(&mut *cc, &mut window, 1_000, from);
            let two = Duration::from_secs(2);
            acknowledge_for(&mut *cc, &mut window, (from, two, rtt), |_, _, _| {});
            let resumed = from + two + Duration::from_secs(idle);
            let event =
                CcEvent::TransmitStart { idle: Duration::from_secs(idle), app_limited: true };
            cc.on_event(&mut window, event, resumed);
            acknowledge_for(&mut *cc, &mut window, (resumed, two, rtt), |_, _, _| {});
            window.cwnd
        };
        let (busy, idle) = (grow(0), grow(6));
        assert!(busy.abs_diff(idle) <= 2, "{name}: {busy} without, {idle} with idling");
    }
}

/// Tests that the time in which the application limits the sender does not move the window along
/// the curve.
#[test]
fn time_with_little_to_send_is_no_time_to_grow() {
    let rtt = Duration::from_millis(100);
    let grow = |seconds: u64| {
        let (mut cc, mut window) = (controller("cubic_rfc", &[]), fresh_window(1));
        let from = Instant::from_millis(5_000);
        lose(&mut *cc, &mut window, 1_000, from);
        let two = Duration::from_secs(2);
        acknowledge_for(&mut *cc, &mut window, (from, two, rtt), |_, _, _| {});
        let mut now = from + two;
        for number in 0..seconds * 10 {
            let mut ack = plain_ack(&window, number, now, rtt);
            ack.cwnd_limited = false;
            cc.on_ack(&mut window, &ack);
            now += rtt;
        }
        acknowledge_for(&mut *cc, &mut window, (now, two, rtt), |_, _, _| {});
        window.cwnd
    };
    let (busy, limited) = (grow(0), grow(6));
    // The time before the first acknowledgement at a full window, here one round trip, counts as
    // time at a full window.
    assert!(busy.abs_diff(limited) <= 4, "{busy} without, {limited} with little to send");
}
