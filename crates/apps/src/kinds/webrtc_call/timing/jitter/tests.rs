use super::*;
use crate::testing::close;

/// Returns the change of the delay and the size of frame `n`, a sawtooth as in
/// `jitter_estimator_unittest.cc`.
fn sample(n: u64) -> (f64, u32) {
    let delay_ms = 10.0 * ((n % 11) as f64 - 5.0);
    (delay_ms, (1_000.0 + delay_ms / 5.0) as u32)
}

fn at(n: u64, fps: u64) -> Instant {
    Instant::from_nanos(1_000_000_000 / fps * n)
}

fn after(frames: u64, fps: u64) -> Jitter {
    let mut jitter = Jitter::default();
    for n in 0..frames {
        let (delay_ms, bytes) = sample(n);
        jitter.update(delay_ms, bytes, at(n, fps));
    }
    jitter
}

fn ms(jitter: &Jitter, now: Instant) -> f64 {
    jitter.clone().ms(Duration::ZERO, now)
}

/// Tests statement C-140 with the case `SteadyStateConvergence`, whose result is 54 ms in whole
/// milliseconds.
#[test]
fn a_steady_state_has_the_estimate_of_libwebrtc() {
    close(ms(&after(1_800, 30), at(1_800, 30)), 54.0, 1.0);
}

/// Tests the cases `SizeOutlierIsNotRejectedAndIncreasesJitterEstimate` and
/// `CongestedFrameImpactsJitterEstimate`.
#[test]
fn a_large_frame_and_a_late_frame_raise_the_estimate() {
    let steady = after(1_800, 30);
    let before = ms(&steady, at(1_800, 30));
    let (delay_ms, bytes) = sample(1_800);
    for (delay_ms, bytes, least) in
        [(delay_ms, 10 * bytes, 1.25), (-10.0 * delay_ms, bytes / 10, 1.0)]
    {
        let mut jitter = steady.clone();
        jitter.update(delay_ms, bytes, at(1_800, 30));
        let raised = ms(&jitter, at(1_800, 30));
        assert!(raised > least * before, "{raised}, before {before}");
    }
}

/// Tests the case `LowFramerateDisablesJitterEstimator`.
#[test]
fn five_frames_a_second_or_fewer_have_no_estimate() {
    for frames in 4..60 {
        close(ms(&after(frames, 5), at(frames, 5)), 0.0, 1e-9);
    }
    assert!(ms(&after(60, 6), at(60, 6)) > 0.0);
}

/// Tests the case `NackedFramesIncreaseEstimateWithinTimeoutWindow`, with the default limit of
/// three frames and the default time of a minute.
#[test]
fn three_repairs_add_nine_tenths_of_a_round_trip_for_a_minute() {
    let mut jitter = Jitter::default();
    for n in 0..10 {
        jitter.update(0.0, 1_000, at(n, 30));
    }
    let now = at(10, 30);
    let rtt = Duration::from_millis(100);
    close(ms(&jitter, now), 11.0, 0.1);
    for want in [11.0, 11.0, 101.0] {
        jitter.repaired(now);
        close(jitter.clone().ms(rtt, now), want, 0.1);
    }
    close(jitter.clone().ms(Duration::from_secs(1), now), 211.0, 0.1);
    close(jitter.ms(rtt, now + Duration::from_secs(61)), 11.0, 0.1);
}
