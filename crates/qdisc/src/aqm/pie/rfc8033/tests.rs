use aqmlab_core::{Ecn, Packet, PacketFields};

use super::*;

const MS: u64 = 1_000_000;

fn law(settings: Settings) -> Rfc8033 {
    Rfc8033::new(settings)
}

fn design_a() -> Settings {
    Settings::appendix_a(Bytes(300_000))
}

fn design_b() -> Settings {
    Settings::appendix_b(Bytes(300_000))
}

/// Returns an active law with this probability, delay and last delay, and no burst allowance.
fn at(settings: Settings, drop_prob: f64, qdelay: f64, qdelay_old: f64) -> Rfc8033 {
    let mut law = law(settings);
    law.vars.active = true;
    (law.vars.drop_prob, law.vars.qdelay, law.vars.qdelay_old) = (drop_prob, qdelay, qdelay_old);
    law
}

fn waiting(packets: usize) -> Backlog {
    Backlog { packets, bytes: Bytes(packets as u64 * 1_000) }
}

fn offer(law: &mut Rfc8033, now_ms: u64, packets: usize, ecn: Ecn) -> Verdict {
    let packet = Packet::from(PacketFields { ecn, ..PacketFields::plain(0, 0, 1_000) });
    let now = Instant::from_millis(now_ms);
    let (waiting, fits) = (waiting(packets), packets < 300);
    law.arrive(&Arrival { now, packet: &packet, waiting, fits }, &mut Rng::stream(1, "offer"))
}

fn depart(law: &mut Rfc8033, at_ns: u64, sojourn_ns: u64, left: usize) {
    let now = Instant::from_nanos(at_ns);
    let enqueued = Instant::from_nanos(at_ns - sojourn_ns);
    let packet = Packet::from(PacketFields { enqueued, ..PacketFields::plain(0, 0, 1_000) });
    law.depart(&Departure { now, packet: &packet, left: waiting(left) });
}

fn updated(mut law: Rfc8033) -> f64 {
    let (settings, half) = (law.settings, law.half_target);
    law.vars.update(&settings, half, waiting(100));
    law.vars.drop_prob
}

#[test]
fn c34_a_step_is_scaled_by_the_probability_it_starts_from() {
    let step = 0.125 * (0.020 - 0.015) + 1.25 * (0.020 - 0.018);
    for (edge, below, above) in [
        (1e-6, 2048.0, 512.0),
        (1e-5, 512.0, 128.0),
        (1e-4, 128.0, 32.0),
        (1e-3, 32.0, 8.0),
        (1e-2, 8.0, 2.0),
        (1e-1, 2.0, 1.0),
    ] {
        for (prob, divisor) in [(edge * 0.999_999, below), (edge, above), (edge * 1.000_1, above)] {
            let got = updated(at(design_b(), prob, 0.020, 0.018));
            let want = prob + step / divisor;
            assert!((got - want).abs() < 1e-15, "at {prob}: {got} is not {want}");
        }
    }
}

#[test]
fn c35_the_probability_stays_between_0_and_1() {
    let mut rng = Rng::stream(35, "delays");
    for settings in [design_a(), design_b()] {
        let mut law = at(settings, 0.0, 0.0, 0.0);
        for _ in 0..100_000 {
            law.vars.qdelay = rng.exponential(0.05) * f64::from(rng.below(3) as u32);
            let (settings, half) = (law.settings, law.half_target);
            law.vars.update(&settings, half, waiting(100));
            assert!((0.0..=1.0).contains(&law.vars.drop_prob), "{}", law.vars.drop_prob);
        }
    }
}

#[test]
fn c36_an_empty_queue_takes_2_percent_off_the_probability() {
    for settings in [design_a(), design_b()] {
        let got = updated(at(settings, 0.5, 0.0, 0.0));
        let want = (0.5 - 0.125 * 0.015) * 0.98;
        assert!((got - want).abs() < 1e-15, "{got} is not {want}");
    }
}

#[test]
fn appendix_b_decays_below_half_the_target_and_a_only_at_zero() {
    let step = 0.125 * (0.005 - 0.015);
    let (a, b) =
        (updated(at(design_a(), 0.5, 0.005, 0.005)), updated(at(design_b(), 0.5, 0.005, 0.005)));
    assert!((a - (0.5 + step)).abs() < 1e-15);
    assert!((b - (0.5 + step) * 0.98).abs() < 1e-15);
}

#[test]
fn c37_after_a_quiet_time_nothing_is_dropped_for_ten_updates() {
    let mut law = law(design_a());
    assert_eq!(offer(&mut law, 1, 100, Ecn::NotEct), Verdict::Keep);
    // From 2 ms on, the queue is not quiet.
    for ms in 2..200 {
        law.catch_up(Instant::from_millis(ms), waiting(100));
        (law.vars.drop_prob, law.vars.qdelay, law.vars.qdelay_old) = (1.0, 0.1, 0.1);
        let verdict = offer(&mut law, ms, 100, Ecn::NotEct);
        assert_eq!(verdict == Verdict::Keep, ms < 150, "at {ms} ms: {verdict:?}");
    }
}

#[test]
fn max_burst_is_rounded_up_to_whole_updates() {
    let max_burst = Duration::from_millis(151);
    assert_eq!(
        law(Settings { max_burst, ..design_a() }).settings.max_burst,
        Duration::from_millis(165)
    );
}

#[test]
fn during_a_burst_allowance_b_makes_its_throws_and_a_does_not() {
    for (settings, want) in [(design_a(), 0.0), (design_b(), 0.3)] {
        let settings = Settings { derandomise: true, ..settings };
        let mut law = at(settings, 0.3, 0.1, 0.1);
        law.vars.burst_allowance = Duration::from_millis(150);
        offer(&mut law, 1, 100, Ecn::NotEct);
        assert!((law.vars.accu_prob - want).abs() < 1e-15, "{}", law.vars.accu_prob);
    }
}

#[test]
fn c38_two_mean_packets_are_never_dropped_early() {
    let verdict = |bytes: u64| {
        let mut law = at(design_a(), 1.0, 0.1, 0.1);
        let packet = Packet::plain(0, 0, 1_000);
        let waiting = Backlog { packets: 2, bytes: Bytes(bytes) };
        let arrival = Arrival { now: Instant::ZERO, packet: &packet, waiting, fits: true };
        law.arrive(&arrival, &mut Rng::stream(1, "c38"))
    };
    assert_eq!(verdict(1_600), Verdict::Keep);
    assert_eq!(verdict(1_601), Verdict::Drop(Reason::Early));
}

#[test]
fn c39_a_low_delay_protects_below_20_percent_only() {
    let dropped = |prob: f64, old: f64| {
        let mut law = at(design_a(), prob, 0.1, old);
        let mut rng = Rng::stream(39, "c39");
        (0..1_000).filter(|_| law.drop_early(100_000, &mut rng)).count()
    };
    assert_eq!(dropped(0.199_999, 0.007_4), 0);
    assert!(dropped(0.2, 0.007_4) > 100);
    assert!(dropped(0.199_999, 0.007_6) > 100, "the last delay counts, not this one");
}

#[test]
fn c40_from_10_percent_on_an_update_adds_at_most_2() {
    let got = updated(at(design_b(), 0.1, 1.0, 0.0));
    assert!((got - 0.12).abs() < 1e-15, "{got}");
    assert!(updated(at(design_b(), 0.099_9, 1.0, 0.0)) > 0.5, "below there is no cap");
    assert!(updated(at(design_a(), 0.1, 1.0, 0.0)) > 0.5, "nor in the basic design");
}

#[test]
fn c41_drops_are_neither_too_close_nor_too_far() {
    for prob in [0.001, 0.01, 0.07] {
        let mut law = at(design_b(), prob, 0.1, 0.1);
        let mut rng = Rng::stream(41, "c41");
        let (mut gap, mut gaps) = (0_u32, Vec::new());
        while gaps.len() < 200 {
            gap += 1;
            if offer_with(&mut law, &mut rng) {
                gaps.push(f64::from(std::mem::take(&mut gap)));
            }
        }
        let (least, most) = gaps
            .iter()
            .fold((f64::MAX, 0.0_f64), |(low, high), &gap| (low.min(gap), high.max(gap)));
        assert!(least >= (0.85 / prob).ceil() - 1.0, "{prob}: {least}");
        assert!(most <= (8.5 / prob).ceil() + 1.0, "{prob}: {most}");
    }
    let mut law = at(design_b(), 0.001, 0.1, 0.1);
    law.vars.accu_prob = 8.499_5;
    assert!(law.drop_early(100_000, &mut Rng::stream(1, "c41")), "8.5 is a sure drop");
}

fn offer_with(law: &mut Rfc8033, rng: &mut Rng) -> bool {
    let packet = Packet::plain(0, 0, 1_000);
    let arrival = Arrival { now: Instant::ZERO, packet: &packet, waiting: waiting(90), fits: true };
    law.arrive(&arrival, rng) != Verdict::Keep
}

#[test]
fn c42_what_can_be_marked_is_marked_below_10_percent() {
    let settings = Settings { ecn_below: Some(0.1), derandomise: false, ..design_b() };
    for (prob, ecn, want) in [
        (0.099_99, Ecn::Ect0, Verdict::Mark),
        (0.099_99, Ecn::NotEct, Verdict::Drop(Reason::Early)),
        (0.1, Ecn::Ect0, Verdict::Drop(Reason::Early)),
    ] {
        let mut law = at(settings, prob, 0.1, 0.1);
        let mut rng = Rng::stream(42, "c42");
        let packet = Packet::from(PacketFields { ecn, ..PacketFields::plain(0, 0, 1_000) });
        let mut verdict = Verdict::Keep;
        while verdict == Verdict::Keep {
            let arrival =
                Arrival { now: Instant::ZERO, packet: &packet, waiting: waiting(90), fits: true };
            verdict = law.arrive(&arrival, &mut rng);
        }
        assert_eq!(verdict, want, "{prob} {ecn:?}");
    }
}

#[test]
fn c43_a_tail_drop_clears_what_was_accumulated() {
    let mut law = at(design_b(), 0.3, 0.1, 0.1);
    law.vars.accu_prob = 0.5;
    assert_eq!(offer(&mut law, 1, 300, Ecn::NotEct), Verdict::Drop(Reason::Overlimit));
    assert_eq!(law.vars.accu_prob.to_bits(), 0);
}

#[test]
fn c44_the_estimator_finds_the_rate() {
    // One packet is sent every millisecond, and a hundred are queued: the delay is 100 ms. Sixteen
    // packets of 1024 bytes are exactly the threshold. With 1000 bytes, seventeen packets are
    // needed, and RFC 8033 §5.2 does not correct for the bytes beyond the threshold.
    for (size, packets, delay) in [(1_024, 16.0, 0.100), (1_000, 17.0, 0.100 * 17.0 / 16.384)] {
        let mut law = law(Settings { delay_from: DelayFrom::Departures, ..design_b() });
        offer(&mut law, 0, 150, Ecn::NotEct);
        let packet = Packet::plain(0, 0, size);
        let left = Backlog { packets: 100, bytes: Bytes(100 * u64::from(size)) };
        for now in (1..=200).map(Instant::from_millis) {
            law.depart(&Departure { now, packet: &packet, left });
            law.catch_up(now, left);
        }
        let Vars { avg_dq_time, qdelay, .. } = law.vars;
        assert!((avg_dq_time - packets / 1_000.0).abs() < 1e-9, "{size}: {avg_dq_time}");
        assert!((qdelay - delay).abs() < 1e-9, "{size}: {qdelay}");
    }
}

#[test]
fn c45_it_wakes_at_a_third_of_the_limit_with_a_full_burst_allowance() {
    let mut law = law(design_b());
    (law.vars.drop_prob, law.vars.qdelay, law.vars.qdelay_old) = (1.0, 0.1, 0.1);
    law.vars.accu_prob = 5.0;
    for packets in 0..99 {
        assert_eq!(offer(&mut law, 1, packets, Ecn::NotEct), Verdict::Keep);
        assert!(!law.vars.active, "{packets}");
    }
    assert_eq!(offer(&mut law, 1, 99, Ecn::NotEct), Verdict::Keep);
    let Vars { active, drop_prob, qdelay_old, accu_prob, burst_allowance, .. } = law.vars;
    assert!(active);
    assert_eq!([drop_prob, qdelay_old, accu_prob].map(f64::to_bits), [0; 3]);
    assert_eq!(burst_allowance, Duration::from_millis(150));
}

#[test]
fn it_sleeps_when_all_is_quiet_but_not_before_it_has_measured_a_delay() {
    let mut law = law(design_b());
    offer(&mut law, 1, 120, Ecn::NotEct);
    offer(&mut law, 2, 121, Ecn::NotEct);
    assert!(law.vars.active, "no delay is known yet");
    depart(&mut law, 3 * MS, 2 * MS, 121);
    offer(&mut law, 3, 121, Ecn::NotEct);
    assert!(law.vars.active, "there is a delay");
    law.catch_up(Instant::from_millis(100), waiting(0));
    offer(&mut law, 100, 0, Ecn::NotEct);
    assert!(!law.vars.active, "{:?}", law.vars);
}

#[test]
fn an_empty_queue_has_no_delay_whatever_the_last_packet_had() {
    let mut law = at(design_a(), 0.0, 0.0, 0.0);
    depart(&mut law, 40 * MS, 40 * MS, 0);
    assert_eq!(law.delay(), Duration::from_millis(40));
    law.catch_up(Instant::from_millis(50), waiting(0));
    assert_eq!(law.delay(), Duration::ZERO);
}
