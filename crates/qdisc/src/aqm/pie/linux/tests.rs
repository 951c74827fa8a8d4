use aqmlab_core::{Ecn, Packet, PacketFields};

use super::*;

const MS: u64 = 1_000_000;
const TARGET: u64 = (15 * MS) >> 6;

fn settings() -> Settings {
    Settings {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(15),
        alpha: 2,
        beta: 20,
        mark_up_to: None,
        bytemode: false,
        dq_rate_estimator: false,
        mtu: Bytes(1_514),
        clock: Clock::Ideal,
    }
}

/// Returns a law with this probability, delay and last delay, and no burst allowance.
fn at(settings: &Settings, prob: u64, qdelay: u64, qdelay_old: u64) -> Linux {
    let mut law = Linux::new(settings);
    law.vars.burst_time = 0;
    (law.vars.prob, law.vars.qdelay, law.vars.qdelay_old) = (prob, qdelay, qdelay_old);
    law
}

fn updated(mut law: Linux, waiting: u64) -> Vars {
    law.vars.update(&law.params, waiting);
    law.vars
}

fn waiting(packets: usize) -> Backlog {
    Backlog { packets, bytes: Bytes(packets as u64 * 1_514) }
}

fn offer(law: &mut Linux, packet: &Packet, packets: usize, rng: &mut Rng) -> Verdict {
    let (waiting, fits) = (waiting(packets), packets < 1_000);
    law.arrive(&Arrival { now: Instant::ZERO, packet, waiting, fits }, rng)
}

fn depart(law: &mut Linux, at_ns: u64, sojourn_ns: u64, left: usize) {
    let enqueued = Instant::from_nanos(at_ns - sojourn_ns);
    let packet = Packet::from(PacketFields { enqueued, ..PacketFields::plain(0, 0, 1_514) });
    let now = Instant::from_nanos(at_ns);
    law.depart(&Departure { now, packet: &packet, left: waiting(left) });
}

#[test]
fn c34_the_gains_are_cut_by_powers_of_four_from_half() {
    let (qdelay, qdelay_old) = (TARGET * 2, TARGET);
    let gain = MAX_PROB / 15_625_000;
    let (alpha, beta) = ((2 * gain) >> 4, (20 * gain) >> 4);
    for (power, above) in [(10, 0), (100, 1), (1_000, 3), (10_000, 5), (100_000, 7), (1_000_000, 9)]
    {
        let below = if power == 10 { 1 } else { above + 2 };
        for (prob, shift) in [(MAX_PROB / power, above), (MAX_PROB / power - 1, below)] {
            let got = updated(at(&settings(), prob, qdelay, qdelay_old), 9_999).prob;
            let error = (alpha >> shift) * (qdelay - TARGET);
            let trend = (beta >> shift) * (qdelay - qdelay_old);
            let step = error + trend;
            let capped = power == 10 && shift == 0 && step > MAX_PROB / 50;
            let want = prob + if capped { MAX_PROB / 100 * 2 } else { step };
            assert_eq!(got, want, "1/{power}, cut by {shift}");
        }
    }
}

#[test]
fn c35_the_probability_never_falls_below_0() {
    let mut rng = Rng::stream(35, "delays");
    let mut law = at(&settings(), 0, 0, 0);
    for _ in 0..100_000 {
        let old = law.vars.prob;
        law.vars.qdelay = rng.below(3) * rng.below(2 * TARGET);
        law.vars.update(&law.params, 9_999);
        assert!(law.vars.prob <= old.saturating_add(MAX_PROB), "it wrapped");
        assert!((0.0..=1.0).contains(&law.probability()));
    }
}

#[test]
fn the_probability_winds_up_beyond_1_and_takes_long_to_come_down() {
    let mut law = at(&settings(), MAX_PROB, TARGET * 50, TARGET * 50);
    law.catch_up(Instant::from_millis(500 + 99 * 15), waiting(900));
    assert!(law.vars.prob / 3 > MAX_PROB, "100 updates of 2 % + 2 % make 500 %");
    assert_eq!(law.probability().to_bits(), 1.0_f64.to_bits());
    law.vars.qdelay = 0;
    let mut updates = 0;
    while law.vars.prob > MAX_PROB {
        law.vars.update(&law.params, 0);
        updates += 1;
    }
    // The fall of the delay reduces the probability by 94 % at once; the rest decays by 1/64 per
    // update.
    assert_eq!(updates, 85);
}

#[test]
fn c36_an_empty_queue_takes_a_64th_off_the_probability() {
    let alpha = (2 * (MAX_PROB / 15_625_000)) >> 4;
    let after = MAX_PROB / 2 - alpha * TARGET;
    let law = at(&settings(), MAX_PROB / 2, 0, 0);
    assert_eq!(updated(law, 0).prob, after - after / 64);
    assert_eq!(updated(law, 1).prob, after, "but not while anything waits");
}

#[test]
fn c37_the_burst_allowance_is_spent_by_departures() {
    let mut law = Linux::new(&settings());
    law.catch_up(Instant::from_millis(5_000), waiting(0));
    assert_eq!(law.vars.burst_time, BURST, "time alone does not spend it");
    for ms in 5_000..=5_151 {
        assert_eq!(law.vars.burst_time > 0, ms <= 5_150, "{ms}");
        depart(&mut law, ms * MS, 50 * MS, 100);
    }
}

#[test]
fn a_quiet_queue_gets_its_burst_allowance_back() {
    let mut law = at(&settings(), 0, TARGET / 2 - 1, TARGET / 2 - 1);
    law.vars.update(&law.params, 9_999);
    assert_eq!(law.vars.burst_time, BURST);
    let law = at(&settings(), 0, TARGET / 2 - 1, TARGET / 2);
    assert_eq!(updated(law, 9_999).burst_time, 0, "the last delay was not low");
}

#[test]
fn c38_below_two_frames_nothing_is_dropped_early() {
    let mut rng = Rng::stream(38, "c38");
    let mut law = at(&settings(), MAX_PROB, TARGET, TARGET);
    assert!(!law.drop_early(3_027, 1_514, &mut rng));
    assert!(law.drop_early(3_028, 1_514, &mut rng));
}

#[test]
fn c39_this_delay_protects_below_20_percent_only() {
    let dropped = |prob: u64, qdelay: u64| {
        let mut law = at(&settings(), prob, qdelay, TARGET);
        let mut rng = Rng::stream(39, "c39");
        (0..1_000).filter(|_| law.drop_early(100_000, 1_514, &mut rng)).count()
    };
    assert_eq!(dropped(MAX_PROB / 5 - 1, TARGET / 2 - 1), 0);
    assert!(dropped(MAX_PROB / 5, TARGET / 2 - 1) > 100);
    assert!(dropped(MAX_PROB / 5 - 1, TARGET / 2) > 100);
}

#[test]
fn c40_from_10_percent_on_an_update_adds_2_and_2_more_above_250_ms() {
    let prob = MAX_PROB / 10;
    let step = |qdelay: u64| updated(at(&settings(), prob, qdelay, 0), 9_999).prob - prob;
    assert_eq!(step(LONG_DELAY), MAX_PROB / 100 * 2);
    assert_eq!(step(LONG_DELAY + 1), MAX_PROB / 100 * 2 + MAX_PROB / 50);
}

#[test]
fn c41_drops_are_neither_too_close_nor_too_far() {
    let prob = MAX_PROB / 100;
    let mut law = at(&settings(), prob, TARGET, TARGET);
    let mut rng = Rng::stream(41, "c41");
    let packet = Packet::plain(0, 0, 1_514);
    let (mut gap, mut gaps) = (0, Vec::new());
    while gaps.len() < 300 {
        gap += 1;
        if offer(&mut law, &packet, 100, &mut rng) != Verdict::Keep {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    assert_eq!(gaps.iter().min(), Some(&85));
    assert!(gaps.iter().max() <= Some(&851), "{:?}", gaps.iter().max());
    law.vars.accu_prob = MAX_PROB / 2 * 17 - prob;
    assert!(law.drop_early(100_000, 1_514, &mut rng), "8.5 is a sure drop");
}

#[test]
fn c42_marks_at_10_percent_exactly() {
    let settings = Settings { mark_up_to: Some(MAX_PROB / 10), ..settings() };
    for (prob, ecn, want) in [
        (MAX_PROB / 10, Ecn::Ect0, Verdict::Mark),
        (MAX_PROB / 10, Ecn::NotEct, Verdict::Drop(Reason::Early)),
        (MAX_PROB / 10 + 1, Ecn::Ect0, Verdict::Drop(Reason::Early)),
    ] {
        let mut law = at(&settings, prob, TARGET, TARGET);
        law.vars.accu_prob = MAX_PROB / 2 * 17;
        let packet = Packet::from(PacketFields { ecn, ..PacketFields::plain(0, 0, 1_514) });
        let accu = law.vars.accu_prob;
        assert_eq!(offer(&mut law, &packet, 100, &mut Rng::stream(1, "c42")), want);
        let kept = law.vars.accu_prob > accu;
        assert_eq!(kept, want == Verdict::Mark, "a sure mark is followed by another");
    }
}

#[test]
fn c43_a_tail_drop_clears_what_was_accumulated() {
    let mut law = at(&settings(), MAX_PROB / 10, TARGET, TARGET);
    law.vars.accu_prob = MAX_PROB / 2;
    let verdict = offer(&mut law, &Packet::plain(0, 0, 1_514), 1_000, &mut Rng::stream(1, "c43"));
    assert_eq!((verdict, law.vars.accu_prob), (Verdict::Drop(Reason::Overlimit), 0));
}

#[test]
fn c44_the_estimator_finds_the_rate() {
    let mut law = Linux::new(&Settings { dq_rate_estimator: true, ..settings() });
    for ms in 1..=400 {
        depart(&mut law, ms * MS, 0, 100);
        law.catch_up(Instant::from_millis(ms), waiting(100));
    }
    // The measurement counts its first packet but not the time of that packet, so 11 packets appear
    // to take 10 ms. Every later measurement takes 11 ms. The average adapts slowly.
    let (first, later) = (11 * 1_514 * 256 / 156_250, 11 * 1_514 * 256 / 171_875);
    assert!((later..=first).contains(&law.vars.avg_dq_rate), "{}", law.vars.avg_dq_rate);
    let estimate = f64::from((100 * 1_514) << 8) / f64::from(law.vars.avg_dq_rate) * 64e-9;
    law.vars.update(&law.params, 100 * 1_514);
    assert!((law.delay().as_secs_f64() - estimate).abs() < 1e-6);
    assert!((0.090..0.110).contains(&estimate), "{estimate}");
}

#[test]
fn small_packets_are_spared_in_byte_mode() {
    let settings = Settings { bytemode: true, ..settings() };
    let dropped = |size: u64| {
        let mut law = at(&settings, MAX_PROB / 10, TARGET, TARGET);
        let mut rng = Rng::stream(1, "bytemode");
        (0..30_280).filter(|_| law.drop_early(100_000, size, &mut rng)).count()
    };
    let (small, large) = (dropped(151), dropped(1_514));
    assert!((8.0..12.5).contains(&(large as f64 / small as f64)), "{large} and {small}");
}

#[test]
fn the_delay_is_the_last_packets_or_none_if_nothing_is_left() {
    let mut law = Linux::new(&settings());
    depart(&mut law, 40 * MS, 30 * MS, 1);
    assert_eq!(law.delay(), Duration::from_millis(30));
    depart(&mut law, 41 * MS, 30 * MS, 0);
    assert_eq!(law.delay(), Duration::ZERO);
}

#[test]
fn an_idle_hour_is_caught_up_as_if_every_update_had_been_made() {
    let start = at(&settings(), MAX_PROB, TARGET * 9, 0);
    let (mut lazy, mut diligent) = (start, start);
    for minute in 1..=60 {
        for ms in (0..60_000).step_by(15) {
            diligent.catch_up(Instant::from_millis((minute - 1) * 60_000 + ms), waiting(0));
        }
    }
    let end = Instant::from_millis(3_600_000);
    diligent.catch_up(end, waiting(0));
    lazy.catch_up(end, waiting(0));
    assert_eq!(lazy.vars, diligent.vars);
    assert_eq!(lazy.timer.due(), diligent.timer.due());
}
