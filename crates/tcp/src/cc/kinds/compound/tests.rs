use super::*;

fn with_base(millis: u64) -> Compound {
    let mut compound = Compound::new(true);
    compound.base_rtt = Some(Duration::from_millis(millis));
    compound
}

fn round(window: f64, millis: u64, samples: u32) -> Round {
    Round { end: 0, window, reno: window, samples, least: Some(Duration::from_millis(millis)) }
}

#[test]
fn the_delay_window_grows_by_a_power_of_the_window_while_there_is_no_queue() {
    for (window, want) in [(10.0, 0.0), (16.0, 0.0), (256.0, 7.0), (10_000.0, 124.0)] {
        let got = with_base(100).steer(&round(window, 100, 3));
        assert!((got - want).abs() < 1e-9, "{window}: {got}, not {want}");
    }
}

#[test]
fn the_delay_window_yields_the_backlog_once_that_reaches_gamma() {
    let mut compound = with_base(100);
    compound.dwnd = 100.0;
    // 256·(1 − 100/125) = 51.2 segments are queued.
    let change = compound.steer(&round(256.0, 125, 3));
    assert!((change + 51.2).abs() < 1e-9, "{change}");
    compound.dwnd = 20.0;
    assert!((compound.steer(&round(256.0, 125, 3)) + 20.0).abs() < 1e-9);
    assert!(with_base(100).steer(&round(256.0, 125, 2)).abs() < 1e-9, "two samples");
}

#[test]
fn gamma_goes_halfway_to_three_quarters_of_renos_backlog() {
    let mut compound = with_base(100);
    compound.diff_reno = Some(20.0);
    compound.tune_gamma();
    assert!((compound.gamma - 22.5).abs() < 1e-9, "{}", compound.gamma);
    compound.tune_gamma();
    assert!((compound.gamma - 22.5).abs() < 1e-9, "a sample is used once");
    for _ in 0..9 {
        compound.diff_reno = Some(0.0);
        compound.tune_gamma();
    }
    assert!((compound.gamma - GAMMA_LOW).abs() < 1e-9, "{}", compound.gamma);
}

#[test]
fn a_loss_halves_both_windows_and_a_timeout_ends_the_delay_window() {
    let window = Window { cwnd: 100, ssthresh: 1, segment: 1, mss: 1_460, clamp: 1_000 };
    let loss = Congestion { now: Instant::ZERO, in_flight: 100, signal: Signal::Loss, srtt: None };
    let mut compound = with_base(100);
    compound.dwnd = 40.0;
    assert_eq!(compound.ssthresh(&window, &loss), 50);
    assert!((compound.dwnd - 20.0).abs() < 1e-9);
    compound.ssthresh(&window, &Congestion { signal: Signal::Rto, ..loss });
    assert!(compound.dwnd.abs() < 1e-9);
}
