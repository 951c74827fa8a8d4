//! Tests the controllers of other hosts: FreeBSD's CUBIC and Windows' Compound TCP.

mod cc_path;

use aqmlab_core::{Duration, Instant};
use cc_path::steps::{acknowledge_for, lose, plain_ack, sample};
use cc_path::{MSS, Path, Run, controller, fresh_window, gauge};

/// Tests that FreeBSD's CUBIC reduces the window to 0.8 of the maximum. The window returns to the
/// maximum after K = ∛(max·0.2/0.4).
#[test]
fn freebsd_cubic_returns_to_its_maximum_after_its_k() {
    let segment = u64::from(MSS);
    let rtt = Duration::from_millis(100);
    let (mut cc, mut window) = (controller("cubic_freebsd", &[]), fresh_window(segment));
    cc.on_established(&mut window, Instant::ZERO, None);
    for number in 1..=8 {
        sample(&mut *cc, &mut window, number, (Instant::from_millis(100), rtt));
    }
    lose(&mut *cc, &mut window, 900, Instant::from_millis(200));
    let from = Instant::from_millis(1_000);
    lose(&mut *cc, &mut window, 1_000, from);
    assert_eq!(window.cwnd, (1_000 * segment * 204) >> 8);
    let mut at_k = None;
    let span = Duration::from_secs(12);
    acknowledge_for(&mut *cc, &mut window, (from, span, rtt), |_, window, now| {
        // ∛500 = 7.94 s.
        if now.since(from) >= Duration::from_millis(7_940) && at_k.is_none() {
            at_k = Some(window.cwnd / segment);
        }
    });
    let at_k = at_k.expect("K is within the run");
    assert!((985..=1_010).contains(&at_k), "{at_k} segments at K");
    assert!(window.cwnd / segment > 1_010, "and then beyond: {}", window.cwnd / segment);
}

#[test]
fn compounds_delay_window_fills_an_idle_path_and_yields_to_a_queue() {
    let path = Path { mbit: 100, rtt: Duration::from_millis(100), buffer: 3_000 };
    let mut run = Run::new(controller("compound", &[]), path, u64::from(MSS));
    // Slow start ends at about half of the segments that fill the path (833).
    run.window.ssthresh = 400 * u64::from(MSS);
    let (mut peak, mut at_peak, mut last, mut reno) = (0.0_f64, 0, 0.0_f64, 0);
    run.run(Duration::from_secs(30), |view| {
        let dwnd = gauge(view.cc, "dwnd");
        if dwnd > peak {
            (peak, at_peak) = (dwnd, view.window.cwnd / u64::from(MSS));
        }
        last = dwnd;
        reno = view.losses;
    });
    assert_eq!(reno, 0, "the buffer never overflows in this time");
    assert!(peak > 250.0, "the delay window grew only to {peak}");
    assert!((700..1_000).contains(&at_peak), "its peak is where the path is full: {at_peak}");
    assert!(last < 0.7 * peak, "it yields as Reno's window makes a queue: {last} of {peak}");
}

/// Tests FreeBSD's CUBIC after a loss at a window below the former maximum. The plateau is 0.9 of
/// the window. The new window is 0.8 of the plateau, below the threshold of 0.8 of the window.
#[test]
fn freebsd_leaves_recovery_at_the_reduced_maximum() {
    let segment = u64::from(MSS);
    let (mut cc, mut window) = (controller("cubic_freebsd", &[]), fresh_window(segment));
    cc.on_established(&mut window, Instant::ZERO, None);
    for (at, w_max, cwnd) in [(1_000, 1_000.0, 797.0), (800, 718.8, 572.8), (900, 900.0, 717.2)] {
        lose(&mut *cc, &mut window, at, Instant::from_millis(1));
        let per = segment as f64;
        let (got_max, got) = (gauge(&*cc, "w_max") / per, window.cwnd as f64 / per);
        assert!((got_max - w_max).abs() < 0.1, "a maximum of {got_max} after {at}");
        assert!((got - cwnd).abs() < 0.5, "a window of {got} after {at}");
    }
}

/// Tests that a large acknowledgement during go-back-N grows the window by only one segment (RFC
/// 3465 §2.3).
#[test]
fn freebsd_counts_one_segment_per_acknowledgement_while_it_repairs() {
    let segment = u64::from(MSS);
    let rtt = Duration::from_millis(50);
    let (mut cc, mut window) = (controller("cubic_freebsd", &[]), fresh_window(segment));
    sample(&mut *cc, &mut window, 1, (Instant::from_millis(1), rtt));
    window.cwnd = segment;
    for (number, repaired, grown) in [(4, 4, 1), (7, 9, 1), (10, 10, 1), (13, 13 + 11, 2)] {
        let before = window.cwnd;
        let mut ack = plain_ack(&window, number, Instant::from_millis(1_000), rtt);
        ack.bytes = 3 * segment;
        (ack.snd_nxt, ack.in_flight) = (repaired * segment, 11 * segment);
        cc.on_ack(&mut window, &ack);
        assert_eq!((window.cwnd - before) / segment, grown, "up to segment {number}");
    }
}
