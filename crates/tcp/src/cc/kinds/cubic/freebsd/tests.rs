use super::*;

const MSS: u64 = 1_448;

fn after_loss(segments: u64, mean_ticks: u64) -> Cubic {
    let mut cubic = Cubic::new(&aqmlab_core::Args::defaults(super::super::KINDS[2].params));
    cubic.max_cwnd = segments * MSS;
    cubic.k = k_of(segments);
    cubic.rtt.mean = mean_ticks;
    cubic
}

#[test]
fn the_function_starts_at_four_fifths_and_reaches_the_maximum_after_k() {
    // ∛(100·0.2/0.4) = 3.684 s; the parabola has an error of less than 2 %.
    let cubic = after_loss(100, 100);
    assert!((cubic.k as f64 / 256.0 - 3.684).abs() < 0.07, "K = {}", cubic.k);
    let start = cubic.cubic_window(0, MSS) as f64 / MSS as f64;
    assert!((start - 80.0).abs() < 1.5, "W(0) = {start}");
    let ticks = cubic.k as u64 * 1_000 / 256;
    let plateau = cubic.cubic_window(ticks, MSS) as f64 / MSS as f64;
    assert!((plateau - 100.0).abs() < 0.01, "W(K) = {plateau}");
}

/// Tests that equation 4 of the draft overflows as on FreeBSD. It does not overflow for 75 ticks:
/// 153·75·1448·256 < 2³² < 153·76·1448·256.
#[test]
fn renos_window_wraps_as_on_freebsd() {
    let cubic = after_loss(100, 10);
    let (at_75, at_76) = (cubic.tf_window(75, MSS), cubic.tf_window(76, MSS));
    let grown = 3.0 * 51.0 / (512.0 - 51.0) * 7.5 * MSS as f64;
    let want = 100.0 * MSS as f64 * 204.0 / 256.0 + grown;
    assert!((at_75 as f64 - want).abs() < 2.0, "{at_75} is not {want}");
    assert!(at_76 + 3_000 < at_75, "{at_76} after {at_75}");
}

#[test]
fn the_threshold_is_half_first_then_four_fifths_and_only_a_timeouts_has_a_floor() {
    let mut cubic = after_loss(100, 10);
    let window =
        Window { cwnd: 100 * MSS, ssthresh: u64::MAX, segment: MSS, mss: 1_448, clamp: 1 << 30 };
    let loss =
        Congestion { now: Instant::ZERO, in_flight: 100 * MSS, signal: Signal::Loss, srtt: None };
    assert_eq!(cubic.ssthresh(&window, &loss), 50 * MSS);
    assert_eq!(cubic.ssthresh(&window, &loss), (100 * MSS * 204) >> 8);
    let tiny = Window { cwnd: MSS, ..window };
    assert_eq!(cubic.ssthresh(&tiny, &loss), (MSS * 204) >> 8);
    assert_eq!(cubic.ssthresh(&tiny, &Congestion { signal: Signal::Rto, ..loss }), 2 * MSS);
}

#[test]
fn the_smoothed_time_counts_from_the_eighth_sample_on() {
    let mut cubic = after_loss(100, 1);
    let window = Window { cwnd: MSS, ssthresh: u64::MAX, segment: MSS, mss: 1_448, clamp: 1 << 30 };
    for number in 1..=8 {
        assert_eq!(cubic.rtt.min, 0, "before sample {number}");
        let rtt = Some(Duration::from_millis(30));
        let ack = Ack {
            now: Instant::from_millis(number),
            acked: MSS,
            bytes: MSS,
            in_flight: MSS,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            cwnd_limited: true,
            snd_una: number * MSS,
            snd_nxt: number * MSS,
            ..Ack::default()
        };
        cubic.on_sample(&mut window.clone(), &ack);
    }
    assert_eq!((cubic.rtt.min, cubic.rtt.mean), (30, 30));
}

#[test]
fn only_a_second_timeout_in_a_row_counts_as_congestion() {
    let mut cubic = after_loss(100, 10);
    let window =
        Window { cwnd: 9 * MSS, ssthresh: u64::MAX, segment: MSS, mss: 1_448, clamp: 1 << 30 };
    let rto = Congestion { now: Instant::ZERO, in_flight: 0, signal: Signal::Rto, srtt: None };
    assert_eq!(cubic.ssthresh(&window, &rto), 4 * MSS);
    assert_eq!(cubic.congestions, 0);
    cubic.ssthresh(&window, &rto);
    assert_eq!(cubic.congestions, 1);
}
