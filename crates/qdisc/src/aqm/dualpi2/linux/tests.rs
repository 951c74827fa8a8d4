use super::*;

const DEFAULTS: Settings = Settings {
    target: Duration::from_millis(15),
    tupdate: Duration::from_millis(16),
    gains: Gains { alpha: 41, beta: 819 },
    coupling_factor: 2,
    drop_overload: true,
};

fn after(delays_ms: &[u64], settings: &Settings) -> Linux {
    let mut law = Linux::new(settings);
    for &ms in delays_ms {
        law.vars.update(&law.params, Duration::from_millis(ms));
    }
    law
}

/// Returns a law with these settings and this probability.
fn at(prob: u32, settings: &Settings) -> Linux {
    let mut law = Linux::new(settings);
    law.vars.prob = prob;
    law
}

/// Judges a packet with a given first draw of 32 bits. Returns the verdict and the number of draws,
/// which is one or two.
fn judged(law: &Linux, l4s: bool, draw: u32) -> (Verdict, usize) {
    let mut rng = Rng::saying(&[u64::from(draw) << 32]);
    let mut after_one = rng.clone();
    after_one.next_u32();
    let verdict = if l4s { law.judge_l4s(&mut rng) } else { law.judge_classic(&mut rng) };
    (verdict, 1 + usize::from(rng != after_one))
}

/// Tests statement C-110: the probabilities after these delays equal probabilities computed by
/// hand, in units of 2⁻³².
#[test]
fn updates_give_the_probabilities_of_the_kernel() {
    for (delays, want) in [
        (&[20][..], 278_125_000),
        (&[20, 20], 281_562_500),
        (&[20, 20, 10], 140_781_250),
        (&[15, 15], 206_015_625),
    ] {
        assert_eq!(after(delays, &DEFAULTS).prob(), want, "{delays:?} ms");
    }
    assert_eq!((scaled(41), scaled(819)), (44, 879));
}

/// Tests statement C-111.
#[test]
fn a_constant_delay_at_the_target_leaves_the_probability_unchanged() {
    let once = after(&[15], &DEFAULTS).prob();
    assert_eq!(after(&[15; 400], &DEFAULTS).prob(), once);
}

/// Tests statement C-112.
#[test]
fn the_probability_saturates_at_both_ends() {
    let mut high = at(MAX_PROB - 5, &DEFAULTS);
    high.vars.last_qdelay = signed(Duration::from_millis(100));
    high.vars.update(&high.params, Duration::from_millis(100));
    assert_eq!(high.prob(), MAX_PROB);
    assert_eq!(after(&[20, 0], &DEFAULTS).prob(), 0);
    assert_eq!(after(&[0; 9], &DEFAULTS).prob(), 0);
}

/// Tests that the change of the probability wraps at 32 bits. With the scaled gains 44 and 879, 44
/// · 15 ms + 879 · 300 ms is 264.36e9 ns. A 64th of this sum is 4 130 625 000, below 2³². With 312
/// ms instead of 300 ms it is 2³² + 470 204.
#[test]
fn a_change_of_more_than_32_bits_wraps() {
    let mut law = at(MAX_PROB / 2, &DEFAULTS);
    law.vars.last_qdelay = 300_000_000;
    law.vars.update(&law.params, Duration::ZERO);
    assert_eq!(law.prob(), 0);
    let mut law = at(MAX_PROB / 2, &DEFAULTS);
    law.vars.last_qdelay = 312_000_000;
    law.vars.update(&law.params, Duration::ZERO);
    let change: u64 = (44 * 15_000_000 + 879 * 312_000_000) / 64;
    assert_eq!(u64::from(MAX_PROB / 2 - law.prob()), change - (1 << 32));
}

/// C-122: overload begins strictly above `MAX_PROB / k`.
#[test]
fn overload_begins_above_a_coupled_probability_of_one() {
    assert!(!at(MAX_PROB / 2, &DEFAULTS).is_overloaded());
    assert!(at(MAX_PROB / 2 + 1, &DEFAULTS).is_overloaded());
    let single = Settings { coupling_factor: 1, ..DEFAULTS };
    assert!(!at(MAX_PROB, &single).is_overloaded());
}

/// C-69 and C-113: both draws must hit, so the probability of a signal is the square.
#[test]
fn a_classic_packet_is_signalled_by_two_hits() {
    for prob in [MAX_PROB / 10, MAX_PROB / 2] {
        let law = at(prob, &DEFAULTS);
        let mut rng = Rng::stream(1, "pi2");
        let hits = (0..400_000).filter(|_| law.judge_classic(&mut rng) == Verdict::Signal).count();
        let share = f64::from(prob) / f64::from(MAX_PROB);
        let (got, want) = (hits as f64 / 400_000.0, share * share);
        // Four standard deviations of a binomial proportion.
        let bound = 4.0 * (want * (1.0 - want) / 400_000.0).sqrt();
        assert!((got - want).abs() < bound, "{got} is not {want}");
    }
}

/// C-113: the coupled probability is `k` times the output of the controller.
#[test]
fn an_l4s_packet_is_signalled_by_one_hit_of_the_coupled_probability() {
    for (coupling_factor, prob) in [(2, 1_000), (1, 1_000), (255, 1_000)] {
        let law = at(prob, &Settings { coupling_factor, ..DEFAULTS });
        let edge = prob * u32::from(coupling_factor);
        assert_eq!(judged(&law, true, edge), (Verdict::Signal, 1));
        assert_eq!(judged(&law, true, edge + 1), (Verdict::Keep, 1));
    }
}

/// Tests statement C-129: draws are taken before the comparison with the probability.
#[test]
fn a_probability_of_zero_takes_a_draw_and_a_draw_of_zero_hits() {
    let law = at(0, &DEFAULTS);
    for l4s in [false, true] {
        assert_eq!(judged(&law, l4s, 1), (Verdict::Keep, 1));
    }
    assert_eq!(judged(&law, true, 0), (Verdict::Signal, 1));
    assert_eq!(judged(&law, false, 0).1, 2, "a first hit takes a second draw");
}

/// Tests statements C-67, C-120 and C-121 with the random draws of Linux: packets are dropped only
/// in overload, and both queues drop with the classic probability.
#[test]
fn in_overload_both_queues_drop_by_the_classic_probability() {
    let over = at(MAX_PROB, &DEFAULTS);
    assert_eq!(judged(&over, false, 7), (Verdict::Drop, 2));
    assert_eq!(judged(&over, true, 7), (Verdict::Drop, 2));
    let half = at(MAX_PROB / 2 + 1, &DEFAULTS);
    assert_eq!(judged(&half, true, u32::MAX), (Verdict::Signal, 1), "what survives is marked");
    let below = at(MAX_PROB / 2, &DEFAULTS);
    let mut rng = Rng::stream(2, "pi2");
    for _ in 0..10_000 {
        assert_ne!(below.judge_l4s(&mut rng), Verdict::Drop);
        assert_ne!(below.judge_classic(&mut rng), Verdict::Drop);
    }
}

#[test]
fn without_drop_overload_the_probability_stops_at_a_coupled_one() {
    for coupling_factor in [1, 2, 3, 255] {
        let settings = Settings { coupling_factor, drop_overload: false, ..DEFAULTS };
        let law = after(&[50, 100, 150, 200, 250, 300, 350, 400], &settings);
        assert_eq!(law.prob(), MAX_PROB / u32::from(coupling_factor));
        assert!(!law.is_overloaded());
    }
}

/// Tests statement C-128: an update uses the delay of the older of both heads, and an empty queue
/// has no delay.
#[test]
fn updates_use_the_older_head_at_the_time_of_each_update() {
    let ms = Instant::from_millis;
    for (heads, delays) in [
        (Heads { classic: Some(ms(0)), l4s: Some(ms(10)) }, [16, 32]),
        (Heads { classic: Some(ms(10)), l4s: Some(ms(2)) }, [14, 30]),
        (Heads { classic: None, l4s: Some(ms(12)) }, [4, 20]),
        (Heads::default(), [0; 2]),
    ] {
        let mut law = Linux::new(&DEFAULTS);
        law.catch_up(ms(15), heads);
        assert_eq!(law.prob(), 0, "no update is due before 16 ms");
        law.catch_up(ms(47), heads);
        assert_eq!(law.vars, after(&delays, &DEFAULTS).vars, "{heads:?}");
    }
}
