//! Tests of the estimator by the cases of libwebrtc's own test, `loss_based_bwe_v2_test.cc`
//! (2025-06). Most of these cases use a window of two observations and need one observation.

use proptest::prelude::*;

use super::*;
use crate::testing::close;

const BYTES: u32 = 15_000;
/// The time between the packets of a report.
const APART_MS: u64 = 250;

fn estimator(window: usize, least_observations: u64) -> LossBased {
    let seen = Observations::new(window);
    LossBased { least_observations, seen, ..LossBased::new(5e3) }
}

fn short(bps: f64) -> LossBased {
    let mut one = estimator(2, 1);
    one.set(bps);
    one
}

/// Returns a report on packets `APART_MS` apart, of which the last `lost` are lost.
fn outcomes(from_ms: u64, arrived: u64, lost: u64) -> Vec<Outcome> {
    let at = |n| Instant::from_millis(from_ms + APART_MS * n);
    let one = |n| Outcome { sent: at(n), bytes: BYTES, has_arrived: n < arrived };
    (0..arrived + lost).map(one).collect()
}

/// Returns a report on `packets` lost packets, of which the last is sent `APART_MS` after the
/// first.
fn all_lost(from_ms: u64, packets: u64) -> Vec<Outcome> {
    let at = |n| Instant::from_millis(from_ms + if n + 1 == packets { APART_MS } else { 10 * n });
    (0..packets).map(|n| Outcome { sent: at(n), bytes: BYTES, has_arrived: false }).collect()
}

/// Reports packets that arrive, from report `from` on, while the state is `state`. Returns the
/// number of the next report.
fn recover_while(one: &mut LossBased, state: LossState, from: u64, delay_bps: f64) -> u64 {
    let mut next = from;
    while one.state == state {
        assert!(next < 1_000, "the state lasts");
        one.update(&outcomes(APART_MS * next, 2, 0), delay_bps, false);
        next += 1;
    }
    next
}

/// Tests the cases `NoBandwidthEstimateGivenNoInitialization` and
/// `NoBandwidthEstimateGivenNotEnoughFeedback` of libwebrtc's own test, with the default
/// `MinNumObservations` of 3.
#[test]
fn an_estimate_needs_a_delay_based_one_and_three_observations() {
    let mut one = LossBased::new(5e3);
    one.update(&outcomes(0, 2, 0), f64::INFINITY, false);
    assert_eq!(one.estimate(), None);
    let mut one = LossBased::new(5e3);
    for n in 0..3 {
        assert_eq!(one.estimate(), None, "{n} observations");
        one.update(&outcomes(APART_MS * n, 2, 0), 1e6, false);
    }
    assert_eq!(one.estimate(), Some((1e6, LossState::Delay)));
    let mut brief = short(600e3);
    let halves = [0, 125].map(Instant::from_millis);
    let packets = halves.map(|sent| Outcome { sent, bytes: BYTES, has_arrived: true });
    brief.update(&packets, 1e6, false);
    assert_eq!(brief.estimate(), None, "125 ms");
}

/// Tests statement C-138 with the case `IncreaseByHoldFactorAfterLossBasedBweBacksOff`.
#[test]
fn after_a_decrease_the_first_increase_is_to_1_2_times_the_arrival_rate() {
    let mut one = short(600e3);
    one.set_acked(100e3);
    one.update(&all_lost(0, 2), 5e6, false);
    let low = one.bps;
    assert_eq!(one.state, LossState::Decreasing);
    recover_while(&mut one, LossState::Decreasing, 2, 5e6);
    assert_eq!(one.state, LossState::Increasing);
    close(one.bps / low, 1.2, 1e-6);
}

/// Tests statement C-138 with the cases `BackOffToAckedRateIfNotInAlr` and
/// `NotBackOffToAckedRateInAlr`.
#[test]
fn losses_lower_the_estimate_to_the_arrival_rate_unless_the_application_limits_it() {
    let after = |is_limited| {
        let mut one = short(600e3);
        one.set_acked(100e3);
        one.update(&all_lost(0, 2), 5e6, is_limited);
        one.bps
    };
    close(after(false), 100e3, 1e-6);
    assert!(after(true) > 100e3);
}

/// Tests the case `BestCandidateResetsToUpperBoundInFieldTrial`, whose setting is the default.
#[test]
fn after_a_large_loss_the_estimate_rises_slowly() {
    let mut one = short(2.5e6);
    one.update(&outcomes(0, 1, 1), f64::INFINITY, true);
    let low = one.bps;
    assert_eq!(one.state, LossState::Decreasing);
    // The average loss is a half, so the bound is 100 kbit/s / 0.45.
    close(low, 100e3 / 0.45, 1e-6);
    for n in 1..=2 {
        one.update(&outcomes(APART_MS * n, 2, 0), f64::INFINITY, true);
    }
    assert_eq!(one.state, LossState::Increasing);
    close(one.bps, low, 100e3);
}

/// Tests the case `DecreaseAfterPadding`, in which the padding lasts one second instead of two.
#[test]
fn padding_that_does_not_raise_the_arrival_rate_ends_after_2_seconds() {
    let mut one = short(2.5e6);
    one.set_acked(51e3);
    one.update(&outcomes(0, 1, 1), f64::INFINITY, false);
    close(one.bps, 51e3, 1e-6);
    one.set_acked(26e3);
    let begun = recover_while(&mut one, LossState::Decreasing, 1, f64::INFINITY);
    let ended = recover_while(&mut one, LossState::Increasing, begun, f64::INFINITY);
    assert_eq!(one.state, LossState::Decreasing);
    assert_eq!(APART_MS * (ended - 1 - begun), 2_000);
}

/// Tests the case `HoldRateNotLowerThanAckedRate`.
#[test]
fn the_held_rate_is_at_least_the_arrival_rate() {
    let mut one = short(2.5e6);
    one.update(&outcomes(0, 1, 1), f64::INFINITY, false);
    one.set_acked(1e6);
    one.update(&outcomes(APART_MS, 1, 1), f64::INFINITY, false);
    assert_eq!(one.state, LossState::Decreasing);
    close(one.bps, 1e6, 1e-6);
}

/// Tests statement C-138 with the case `EndHoldDurationIfDelayBasedEstimateWorks`, with a
/// `kInitHoldDuration` of 300 ms and a `HoldDurationFactor` of 2.
#[test]
fn each_decrease_doubles_the_hold_until_the_delay_limits_again() {
    let mut one = short(2.5e6);
    let at = Instant::from_millis;
    let decrease = |one: &mut LossBased, now| {
        (one.state, one.bps) = (LossState::Increasing, 2e6);
        one.enter(1e6, now);
    };
    for (now, ms) in [(0, 300), (10_000, 600), (20_000, 1_200), (30_000, 2_400)] {
        decrease(&mut one, at(now));
        assert_eq!(one.hold.until, Some(at(now + ms)));
    }
    one.hold.span = Duration::from_secs(59);
    decrease(&mut one, at(40_000));
    assert_eq!(one.hold.span, Duration::from_secs(60), "the longest hold");
    one.delay_bps = 1e6;
    one.enter(1e6, at(50_000));
    assert_eq!((one.state, one.hold.until), (LossState::Delay, None));
    assert_eq!(one.hold.span, Duration::from_millis(300));
}

/// Tests the case `UseByteLossRate`: of ten packets, the lost packet has more than half of the
/// bytes.
#[test]
fn lost_bytes_count_and_not_lost_packets() {
    let mut one = short(500e3);
    let mut report = outcomes(0, 9, 1);
    report[9].bytes = 20 * BYTES;
    one.update(&report, f64::INFINITY, false);
    assert_eq!(one.state, LossState::Decreasing);
    assert!(one.bps < 160e3, "{}", one.bps);
}

/// Tests statement C-138 with the case `UseByteLossRateIgnoreLossSpike`.
#[test]
fn a_single_spike_of_loss_does_not_lower_the_estimate_and_two_do() {
    let mut one = estimator(5, 3);
    one.set(500e3);
    for n in 0..5 {
        one.update(&outcomes(APART_MS * n, 2, 0), 500e3, false);
    }
    one.update(&all_lost(5 * APART_MS, 2), 500e3, false);
    one.update(&outcomes(6 * APART_MS, 2, 0), 500e3, false);
    assert_eq!(one.estimate(), Some((500e3, LossState::Delay)));
    one.update(&all_lost(7 * APART_MS, 2), 500e3, false);
    assert_eq!(one.state, LossState::Decreasing);
    assert!(one.bps < 500e3, "{}", one.bps);
}

/// Tests the case `UseByteLossRateDoesNotIgnoreLossSpikeOnSendBurst`.
#[test]
fn a_spike_of_loss_counts_if_the_sender_sent_a_burst() {
    let mut one = estimator(5, 3);
    one.set(500e3);
    for n in 0..5 {
        one.update(&outcomes(APART_MS * n, 2, 0), 500e3, false);
    }
    one.update(&all_lost(5 * APART_MS, 5), 500e3, false);
    assert_eq!(one.state, LossState::Decreasing);
    assert!(one.bps <= 500e3);
}

/// Runs a sender of 1,250 B packets at its estimate for `seconds`. Every `nth` packet is lost, or
/// none if `nth` is 0. Returns the minimum and the mean of the estimates after 5 s.
fn with_loss(nth: u64, seconds: u64, delay_bps: f64) -> (f64, f64) {
    let mut one = LossBased::new(5e3);
    let (mut now, mut number, mut bps) = (Instant::ZERO, 0, delay_bps);
    let mut estimates = Vec::new();
    while now < Instant::from_millis(1_000 * seconds) {
        let mut report = Vec::new();
        let end = now + Duration::from_millis(50);
        while now < end {
            number += 1;
            let has_arrived = nth == 0 || number % nth != 0;
            report.push(Outcome { sent: now, bytes: 1_250, has_arrived });
            now += Duration::from_secs_f64(10_000.0 / bps);
        }
        one.set_acked(if nth == 0 { bps } else { bps * (1.0 - 1.0 / nth as f64) });
        one.update(&report, delay_bps, false);
        bps = one.estimate().map_or(bps, |estimate| estimate.0);
        if now > Instant::from_millis(5_000) {
            estimates.push(bps);
        }
    }
    let mean = estimates.iter().sum::<f64>() / estimates.len() as f64;
    (estimates.into_iter().fold(f64::INFINITY, f64::min), mean)
}

/// Tests the estimate at a loss of up to 2 %. Until the estimator has learned the inherent loss, it
/// attributes a part of a small loss to its own rate.
#[test]
fn a_loss_of_up_to_2_percent_leaves_nine_tenths_of_the_delay_based_estimate() {
    assert_eq!(with_loss(0, 60, 1e6), (1e6, 1e6));
    for nth in [200, 100, 50] {
        let (least, mean) = with_loss(nth, 60, 1e6);
        assert!(least > 0.9e6 && mean > 0.95e6, "1 of {nth}: {least}, mean {mean}");
    }
}

/// Tests that a loss of 20 % bounds the rate. At this average loss the bound is 100 kbit/s / (0.2 −
/// 0.05).
#[test]
fn a_loss_of_20_percent_bounds_the_rate() {
    let (least, mean) = with_loss(5, 60, 1e6);
    assert!(mean < 0.7e6, "{least}, mean {mean}");
}

/// Returns report `k` of the trace, and advances the time and the packet number. The rates and the
/// losses change between reports.
fn traced(k: u64, now: &mut u64, number: &mut u64) -> Vec<Outcome> {
    let bps = [1_000_000, 2_500_000, 400_000, 1_500_000, 800_000, 3_000_000][k as usize / 40 % 6];
    let loss = [0, 10, 50, 0, 200, 100, 20][k as usize / 25 % 7];
    let mut report = Vec::new();
    while *now < (k + 1) * 50_000_000 {
        let bytes = [138, 1_258, 1_258, 900][*number as usize % 4];
        let has_arrived = (*number * 7_919 + 104_729 * (*number / 13)) % 1_000 >= loss;
        report.push(Outcome { sent: Instant::from_nanos(*now), bytes, has_arrived });
        *now += 8 * u64::from(bytes) * 1_000_000_000 / bps;
        *number += 1;
    }
    report
}

/// Tests statement C-138 with a trace. `trace.txt` holds every eighth result of libwebrtc's own
/// `loss_based_bwe_v2.cc` (2025-06) for these reports, in bit/s with the state: `+` increasing, `-`
/// decreasing, `=` delay.
#[test]
fn a_trace_has_the_results_of_libwebrtc() {
    let mut wanted = include_str!("trace.txt").split_whitespace();
    let (mut one, mut now, mut number) = (LossBased::new(5e3), 0, 0);
    for k in 0..800 {
        let report = traced(k, &mut now, &mut number);
        let bps = [1e6, 2.5e6, 0.4e6, 1.5e6, 0.8e6, 3e6][k as usize / 40 % 6];
        let loss = [0.0, 10.0, 50.0, 0.0, 200.0, 100.0, 20.0][k as usize / 25 % 7];
        let delay_bps = bps * [1.1, 0.9, 1.4][k as usize / 17 % 3];
        one.set_acked(0.95 * bps * (1.0 - loss / 1e3));
        one.update(&report, delay_bps, k % 10 == 3);
        if k % 8 != 7 {
            continue;
        }
        let (bps, state) = one.estimate().unwrap_or((delay_bps, LossState::Delay));
        let sign = match state {
            LossState::Increasing => '+',
            LossState::Decreasing => '-',
            LossState::Delay => '=',
        };
        assert_eq!(Some(&*format!("{bps:.0}{sign}")), wanted.next(), "report {k}");
    }
    assert_eq!(wanted.next(), None);
}

proptest! {
    #[test]
    fn the_estimate_keeps_its_bounds(
        steps in prop::collection::vec(
            (prop::collection::vec((40..1_500_u32, 0..100_u64, any::<bool>()), 1..40), 5e3..5e6_f64,
             any::<bool>(), 1e3..5e6_f64),
            1..100,
        ),
    ) {
        let mut one = LossBased::new(60e3);
        let mut now = Instant::ZERO;
        for (packets, delay_bps, is_limited, acked) in steps {
            let report: Vec<_> = packets.into_iter().map(|(bytes, ms, has_arrived)| {
                now += Duration::from_millis(ms);
                Outcome { sent: now, bytes, has_arrived }
            }).collect();
            one.set_acked(acked);
            one.update(&report, delay_bps, is_limited);
            if let Some((bps, _)) = one.estimate() {
                prop_assert!(bps.is_finite() && bps >= 60e3, "{bps}");
            }
        }
    }
}
