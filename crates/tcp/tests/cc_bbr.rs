//! Tests BBR's modes, gains and phases on a path.

mod cc_path;

use aqmlab_core::{Duration, Instant};
use aqmlab_tcp::cc::CongestionControl;
use cc_path::{Path, Run, View, controller, gauge};

const HOME: Path = Path { mbit: 12, rtt: Duration::from_millis(40), buffer: 200 };
/// The value of the gauge `mode` in start-up. The constants below are the gauge's other values.
const STARTUP: u64 = 0;
const DRAIN: u64 = 1;
const PROBE_BW: u64 = 2;
const PROBE_RTT: u64 = 3;

fn mode(cc: &dyn CongestionControl) -> u64 {
    gauge(cc, "mode") as u64
}

/// Returns the start and the gain of each phase of the gain cycle, in order.
fn phases(path: Path, span: Duration) -> Vec<(Instant, f64)> {
    let mut run = Run::new(controller("bbr", &[]), path, 1);
    let mut phases: Vec<(Instant, f64)> = vec![];
    run.run(span, |view| {
        let gain = gauge(view.cc, "pacing_gain");
        if mode(view.cc) == PROBE_BW
            && phases.last().is_none_or(|(_, last)| (last - gain).abs() > 0.01)
        {
            phases.push((view.now, gain));
        }
    });
    phases
}

/// C-87: the gain is 1.25 and then 0.75 for one round trip each, and then 1 for six round trips.
/// The mean over the 8 phases is 1.
#[test]
fn c87_the_gain_cycle_has_a_mean_of_one() {
    let phases = phases(HOME, Duration::from_secs(9));
    let ups: Vec<_> =
        phases.iter().enumerate().filter(|(_, (_, gain))| *gain > 1.1).map(|(at, _)| at).collect();
    assert!(ups.len() > 10, "{} times in nine seconds", ups.len());
    for pair in ups.windows(2) {
        let gains: Vec<_> = phases[pair[0]..pair[1]].iter().map(|(_, gain)| *gain).collect();
        assert_eq!(gains, [1.25, 0.75, 1.0], "from {}", phases[pair[0]].0);
        let mean = (gains[0] + gains[1] + 6.0 * gains[2]) / 8.0;
        assert!((mean - 1.0).abs() < 1e-12);
        let cruise = phases[pair[1]].0.since(phases[pair[0] + 2].0).as_secs_f64() / 0.040;
        assert!((6.0..7.0).contains(&cruise), "six phases of a round trip, not {cruise}");
    }
}

/// C-87: when the minimum round-trip time is ten seconds old, at most four segments are in flight
/// for 200 ms.
#[test]
fn c87_every_ten_seconds_the_window_is_four_segments_for_200_ms() {
    let mut run = Run::new(controller("bbr", &[]), HOME, 1);
    let mut visits: Vec<(Instant, Instant)> = vec![];
    let (mut inside, mut before, mut restored) = (false, 0, vec![]);
    run.run(Duration::from_secs(45), |view| {
        let now_inside = mode(view.cc) == PROBE_RTT;
        if now_inside {
            assert!(view.window.cwnd <= 4, "{} segments at {}", view.window.cwnd, view.now);
        }
        match (inside, now_inside) {
            (false, true) => visits.push((view.now, view.now)),
            (true, true) => visits.last_mut().expect("inside a visit").1 = view.now,
            (true, false) => restored.push((before, view.window.cwnd)),
            (false, false) => before = view.window.cwnd,
        }
        inside = now_inside;
    });
    assert!((4..=5).contains(&visits.len()), "{} visits", visits.len());
    for visit in &visits {
        // First the data in flight falls to four segments. This takes up to two round trips,
        // including queueing delay.
        let span = visit.1.since(visit.0).as_secs_f64();
        assert!((0.200..0.400).contains(&span), "{span} s");
    }
    for pair in visits.windows(2) {
        let apart = pair[1].0.since(pair[0].1).as_secs_f64();
        assert!((9.9..10.2).contains(&apart), "{apart} s");
    }
    for (before, after) in restored {
        // In the phase that probes for more bandwidth, the window is two segments larger.
        assert!(after + 2 >= before, "the window of {before} is restored, not {after}");
    }
}

/// Returns the results of a single flow from second `from` to second `to`: the rate in Mbit/s, the
/// mean round-trip time, and the losses.
fn steady(path: Path, from: u64, to: u64) -> (f64, Duration, u64) {
    let mut run = Run::new(controller("bbr", &[]), path, 1);
    run.run(Duration::from_secs(from), |_| {});
    let (mut delivered, mut losses, mut sum) = (0, 0, 0);
    run.run(Duration::from_secs(to - from), |view: &View<'_>| {
        delivered += 1;
        losses = view.losses;
        sum += view.rtt.as_micros();
    });
    let mbit = delivered as f64 * 1_500.0 * 8.0 / ((to - from) as f64 * 1e6);
    (mbit, Duration::from_micros(sum / delivered), losses)
}

#[test]
fn a_lone_flow_fills_its_path_and_leaves_the_queue_empty() {
    for (mbit, rtt_ms) in [(12, 40), (50, 20), (100, 100), (1, 40)] {
        let path = Path { mbit, rtt: Duration::from_millis(rtt_ms), buffer: 4_000 };
        let (got, mean, losses) = steady(path, 5, 20);
        let share = got / mbit as f64;
        assert!((0.93..=1.0).contains(&share), "{mbit} Mbit/s, {rtt_ms} ms: {got}");
        assert_eq!(losses, 0);
        let packet = 12_000 / mbit;
        let bound = rtt_ms * 1_250 + 4 * packet;
        assert!(mean.as_micros() < bound, "{mbit} Mbit/s, {rtt_ms} ms: rtt {mean}");
    }
}

/// Tests that low samples of a limited window do not lower the bandwidth, even if they last longer
/// than the filter's ten rounds.
#[test]
fn probing_the_round_trip_leaves_the_bandwidth() {
    let path = Path { mbit: 50, rtt: Duration::from_millis(8), buffer: 1_000 };
    let mut run = Run::new(controller("bbr", &[]), path, 1);
    let (mut visits, mut inside, mut lowest) = (0, false, f64::MAX);
    run.run(Duration::from_secs(15), |view| {
        let now_inside = mode(view.cc) == PROBE_RTT;
        visits += usize::from(now_inside && !inside);
        inside = now_inside;
        if visits > 0 {
            lowest = lowest.min(gauge(view.cc, "bw_mbit"));
        }
    });
    assert_eq!(visits, 1);
    // 200 ms are 25 rounds. The gauge is 1 % lower than the bandwidth of 48.27 Mbit/s, which counts
    // payload.
    assert!(lowest > 0.95 * 0.99 * 48.27, "{lowest} Mbit/s");
}

#[test]
fn drain_empties_the_queue_that_startup_built() {
    let mut run = Run::new(controller("bbr", &[]), HOME, 1);
    let (mut seen, mut at_drain, mut after) = (vec![], None, None);
    run.run(Duration::from_secs(4), |view| {
        let mode = mode(view.cc);
        if seen.last() != Some(&mode) {
            seen.push(mode);
        }
        if mode == DRAIN && at_drain.is_none() {
            at_drain = Some(view.in_flight);
        }
        if mode == PROBE_BW && after.is_none() {
            after = Some(view.in_flight);
        }
    });
    assert_eq!(seen, [STARTUP, DRAIN, PROBE_BW]);
    // The path holds 40 segments. The target adds three bursts of two segments, rounded up to an
    // even number.
    let (full, drained) = (at_drain.unwrap(), after.unwrap());
    assert!(full > 70 && drained <= 50, "{full} in flight, then {drained}");
}

#[test]
fn near_silence_lasts_a_round_trip_even_if_that_is_longer_than_200_ms() {
    let path = Path { mbit: 2, rtt: Duration::from_millis(600), buffer: 400 };
    let mut run = Run::new(controller("bbr", &[]), path, 1);
    let (mut small_since, mut left) = (None, None);
    run.run(Duration::from_secs(30), |view| {
        if mode(view.cc) == PROBE_RTT {
            if view.in_flight <= 4 && small_since.is_none() {
                small_since = Some(view.now);
            }
        } else if let (Some(since), None) = (small_since, left) {
            left = Some(view.now.since(since));
        }
    });
    let lasted = left.expect("it ends").as_secs_f64();
    assert!((0.6..1.3).contains(&lasted), "{lasted} s");
}
