//! Tests the end of slow start.

mod cc_path;

use aqmlab_core::{Duration, Instant, Value};
use aqmlab_tcp::cc::CcEvent;
use cc_path::steps::plain_ack;
use cc_path::{MSS, Path, Run, controller, fresh_window};

const LARGE_BUFFER: Path = Path { mbit: 50, rtt: Duration::from_millis(40), buffer: 2_000 };

#[test]
fn hystart_leaves_slow_start_before_a_large_buffer_overflows() {
    for (name, how, leaves) in [
        ("cubic", "on", true),
        ("cubic", "plusplus", true),
        ("cubic_rfc", "plusplus", true),
        ("cubic", "off", false),
        ("cubic_rfc", "off", false),
    ] {
        let word = Value::Word(how, &[]);
        let mut run = Run::new(controller(name, &[("hystart", word)]), LARGE_BUFFER, 1);
        let (mut exit, mut lost) = (None, None);
        run.run(Duration::from_secs(3), |view| {
            if view.losses > 0 && lost.is_none() {
                lost = Some(view.now);
            }
            if view.window.ssthresh < u64::MAX && exit.is_none() {
                exit = Some((view.now, view.window.cwnd, view.losses));
            }
        });
        let (_, cwnd, losses) = exit.unwrap_or_else(|| panic!("{name} {how}: slow start ends"));
        // The path holds 167 segments and the buffer 2000 more. Conservative slow start may triple
        // the window from the time when the delay rose (1.25⁵).
        assert_eq!(losses == 0, leaves, "{name} {how}: at {cwnd} segments");
        if leaves {
            assert!((80..2_100).contains(&cwnd), "{name} {how}: left at {cwnd} segments");
        }
    }
}

/// Tests that the train of acknowledgements ends slow start on a fast path without a queue. Only
/// the length of the train shows that the window fills half of the round trip.
#[test]
fn hystart_sees_the_train_before_the_delay() {
    let path = Path { mbit: 100, rtt: Duration::from_millis(100), buffer: 5_000 };
    let mut run = Run::new(controller("cubic", &[]), path, 1);
    let mut exit = None;
    run.run(Duration::from_secs(2), |view| {
        if view.window.ssthresh < u64::MAX && exit.is_none() {
            exit = Some((view.window.cwnd, view.rtt));
        }
    });
    let (cwnd, rtt) = exit.expect("HyStart ends slow start");
    // Rounds have 10, 20 … 640 segments at 0.12 ms per segment. The last round is the first that
    // lasts longer than half of 101 ms, with its 421st acknowledgement.
    assert!((1_055..1_067).contains(&cwnd), "left at {cwnd} segments, rtt {rtt}");
}

/// Tests that the growth in conservative slow start is a quarter of the normal growth, for five
/// rounds (RFC 9406 §4.2).
#[test]
fn hystart_plusplus_grows_at_a_quarter_for_five_rounds() {
    let plusplus = ("hystart", Value::Word("plusplus", &[]));
    let (mut cc, mut window) = (controller("cubic", &[plusplus]), fresh_window(1));
    let (mut now, mut number, mut sizes) = (Instant::from_millis(1_000), 0, vec![]);
    // The delay rises by 20 ms in the fourth round and stays at that value.
    for round in 0..12 {
        let rtt = Duration::from_millis(if round < 3 { 50 } else { 70 });
        let acks = window.cwnd;
        let end = number + acks;
        for _ in 0..acks {
            number += 1;
            let mut ack = plain_ack(&window, number, now, rtt);
            ack.snd_nxt = (end + window.cwnd - acks) * u64::from(MSS);
            cc.on_sample(&mut window, &ack);
            cc.on_ack(&mut window, &ack);
        }
        now += rtt;
        sizes.push(window.cwnd);
        if window.ssthresh < u64::MAX {
            break;
        }
    }
    let growth: Vec<f64> = sizes.windows(2).map(|pair| pair[1] as f64 / pair[0] as f64).collect();
    assert!(growth[..2].iter().all(|g| (g - 2.0).abs() < 0.05), "{growth:?}");
    let slow = growth.iter().filter(|g| (*g - 1.25).abs() < 0.05).count();
    assert!((4..=5).contains(&slow), "{growth:?} {sizes:?}");
    assert_eq!(window.ssthresh, sizes[sizes.len() - 2], "left at the start of the last round");
}

/// Tests the rise in delay that ends slow start: 1/8 of the minimum delay, at least 4 ms and at
/// most 16 ms. The rise counts from the ninth sample of a round on.
#[test]
fn hystart_believes_a_rise_of_an_eighth_within_4_and_16_ms() {
    for (least_ms, rise_us, ends) in [
        (20, 3_900, false),
        (20, 4_100, true),
        (80, 9_900, false),
        (80, 10_100, true),
        (200, 15_900, false),
        (200, 16_100, true),
    ] {
        let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
        window.cwnd = 100;
        // The first round has the minimum delay and the second a longer delay. The acknowledgements
        // are too far apart to form a train.
        let mut left_at = None;
        for number in 1..=40_u64 {
            let second = number > 20;
            let extra = if second { rise_us } else { 0 };
            let rtt = Duration::from_micros(least_ms * 1_000 + extra);
            let mut ack = plain_ack(&window, number, Instant::from_millis(number * 3), rtt);
            ack.snd_nxt = (if second { 40 } else { 20 }) * u64::from(MSS);
            cc.on_sample(&mut window, &ack);
            if window.ssthresh < u64::MAX && left_at.is_none() {
                left_at = Some(number);
            }
        }
        let want = ends.then_some(20 + 9);
        assert_eq!(left_at, want, "{least_ms} ms and {rise_us} us");
    }
}

/// Tests that a round is judged after its eighth sample (RFC 9406 §4.2).
#[test]
fn hystart_plusplus_judges_a_round_by_eight_samples() {
    for (raised, slows) in [(7, false), (8, true)] {
        let plusplus = ("hystart", Value::Word("plusplus", &[]));
        let (mut cc, mut window) = (controller("cubic", &[plusplus]), fresh_window(1));
        for number in 1..=40_u64 {
            // In the second round, the first `raised` samples have a longer delay.
            let late = number > 20 && number <= 20 + raised;
            let rtt = Duration::from_millis(if late { 60 } else { 50 });
            let mut ack = plain_ack(&window, number, Instant::from_millis(number), rtt);
            ack.snd_nxt = (if number > 20 { 40 } else { 20 }) * u64::from(MSS);
            cc.on_sample(&mut window, &ack);
            if number == 20 + raised {
                let before = window.cwnd;
                cc.on_ack(&mut window, &ack);
                assert_eq!(window.cwnd == before, slows, "after {raised} samples");
            }
        }
        // The delay falls again, so growth returns to the normal rate.
        let before = window.cwnd;
        let ack = plain_ack(&window, 40, Instant::from_millis(41), Duration::from_millis(50));
        cc.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, before + 1);
    }
}

/// Tests that Linux checks again after a timeout whether to end slow start.
#[test]
fn hystart_works_again_after_a_timeout() {
    let (mut cc, mut window) = (controller("cubic", &[]), fresh_window(1));
    let mut number = 0;
    for attempt in 0..2 {
        (window.cwnd, window.ssthresh) = (100, u64::MAX);
        for round in 0..2_u64 {
            let end = number + 20;
            while number < end {
                number += 1;
                let rtt = Duration::from_millis(40 + 10 * round);
                let mut ack = plain_ack(&window, number, Instant::from_millis(number * 3), rtt);
                ack.snd_nxt = end * u64::from(MSS);
                cc.on_sample(&mut window, &ack);
            }
        }
        assert_eq!(window.ssthresh, 100, "attempt {attempt}");
        cc.on_event(&mut window, CcEvent::RtoEntered, Instant::from_millis(number * 3));
    }
}
