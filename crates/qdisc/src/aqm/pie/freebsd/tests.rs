use aqmlab_core::{Bytes, Ecn, Packet, PacketFields};

use super::*;

const TARGET: u32 = 15_000;

fn settings() -> Settings {
    Settings {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(15),
        max_burst: Duration::from_millis(150),
        alpha: 0.125,
        beta: 1.25,
        ecn_below: None,
        capdrop: true,
        derand: true,
        delay_from: DelayFrom::Timestamps,
        switch: Switch::AlwaysOn,
        tick: Duration::from_millis(1),
    }
}

/// Returns an active law with this probability, delay and last delay, and no burst allowance.
fn at(settings: &Settings, drop_prob: i64, current_qdelay: u32, qdelay_old: u32) -> FreeBsd {
    let mut law = FreeBsd::new(settings);
    law.born = true;
    law.vars = Vars { active: true, drop_prob, current_qdelay, qdelay_old, ..law.vars };
    law
}

fn waiting(packets: usize) -> Backlog {
    Backlog { packets, bytes: Bytes(packets as u64 * 1_000) }
}

fn offer(law: &mut FreeBsd, now_ms: u64, packets: usize) -> Verdict {
    offer_ecn(law, now_ms, packets, Ecn::NotEct)
}

fn offer_ecn(law: &mut FreeBsd, now_ms: u64, packets: usize, ecn: Ecn) -> Verdict {
    let packet = Packet::from(PacketFields { ecn, ..PacketFields::plain(0, 0, 1_000) });
    let now = Instant::from_millis(now_ms);
    let (waiting, fits) = (waiting(packets), packets < 300);
    law.arrive(&Arrival { now, packet: &packet, waiting, fits }, &mut Rng::stream(1, "offer"))
}

fn depart(law: &mut FreeBsd, now: Instant, enqueued: Instant, left: usize) {
    let packet = Packet::from(PacketFields { enqueued, ..PacketFields::plain(0, 0, 1_000) });
    law.depart(&Departure { now, packet: &packet, left: waiting(left) });
}

fn updated(mut law: FreeBsd, waiting: u64) -> Vars {
    law.vars.update(&law.params, waiting);
    law.vars
}

#[test]
fn c34_a_step_is_scaled_by_the_probability_it_starts_from() {
    let (qdelay, old) = (20_000, 18_000);
    let whole = (1_024 * (20_000 - 15_000) + 10_240 * (20_000 - 18_000)) * 8_796_093;
    for (power, below, above) in [
        (1_000_000, 11, 9),
        (100_000, 9, 7),
        (10_000, 7, 5),
        (1_000, 5, 3),
        (100, 3, 1),
        (10, 1, 0),
    ] {
        for (prob, shift) in [(MAX_PROB / power - 1, below), (MAX_PROB / power, above)] {
            let got = updated(at(&settings(), prob, qdelay, old), 9_999).drop_prob;
            assert_eq!(got, prob + (whole >> (shift + 25)), "1/{power}");
        }
    }
}

#[test]
fn c35_the_probability_stays_between_0_and_1() {
    let mut rng = Rng::stream(35, "delays");
    let mut law = at(&settings(), 0, 0, 0);
    for _ in 0..100_000 {
        law.vars.current_qdelay = (rng.below(3) * rng.below(60_000)) as u32;
        law.vars.update(&law.params, 9_999);
        assert!((0..=MAX_PROB).contains(&law.vars.drop_prob));
    }
}

#[test]
fn c36_an_empty_queue_takes_a_64th_off_the_probability() {
    let after = MAX_PROB / 2 - ((1_024 * 15_000 * 8_796_093) >> 25);
    let got = updated(at(&settings(), MAX_PROB / 2, 0, 0), 0).drop_prob;
    assert_eq!(got, after - (after >> 6));
}

#[test]
fn c37_after_a_quiet_time_nothing_is_dropped_for_ten_updates() {
    let mut law = FreeBsd::new(&settings());
    assert_eq!(offer(&mut law, 0, 100), Verdict::Keep);
    for ms in 1..200 {
        law.catch_up(Instant::from_millis(ms), waiting(100));
        (law.vars.drop_prob, law.vars.current_qdelay, law.vars.qdelay_old) =
            (MAX_PROB, 100_000, 100_000);
        assert_eq!(offer(&mut law, ms, 100) == Verdict::Keep, ms < 150, "at {ms} ms");
    }
}

#[test]
fn the_burst_allowance_is_given_back_after_the_decision() {
    let low = TARGET / 2 - 1;
    let mut law = at(&settings(), 0, low, low);
    offer(&mut law, 1, 100);
    assert_eq!(law.vars.burst_allowance, 150_000);
    let mut law = at(&settings(), MAX_PROB / 4, low, low);
    offer(&mut law, 1, 100);
    assert_eq!(law.vars.burst_allowance, 0);
}

#[test]
fn c40_from_10_percent_on_an_update_adds_at_most_2_and_there_is_no_kick() {
    let prob = MAX_PROB / 10;
    let step =
        |settings: &Settings| updated(at(settings, prob, 1_000_000, 0), 9_999).drop_prob - prob;
    assert_eq!(step(&settings()), MAX_PROB / 50);
    assert!(step(&Settings { capdrop: false, ..settings() }) > MAX_PROB / 2);
}

#[test]
fn c41_derandomisation_can_be_had_or_not() {
    let gaps = |derand: bool| {
        let mut law = at(&Settings { derand, ..settings() }, MAX_PROB / 50, 100_000, 100_000);
        let mut rng = Rng::stream(41, "c41");
        let (mut gap, mut least) = (0, u32::MAX);
        for _ in 0..20_000 {
            gap += 1;
            let packet = Packet::plain(0, 0, 1_000);
            let waiting = waiting(100);
            let arrival = Arrival { now: Instant::ZERO, packet: &packet, waiting, fits: true };
            if law.arrive(&arrival, &mut rng) != Verdict::Keep {
                least = least.min(std::mem::take(&mut gap));
            }
        }
        least
    };
    assert_eq!(gaps(true), 43, "0.85 of 50 packets, rounded up");
    assert!(gaps(false) < 10);
}

#[test]
fn c42_marks_below_the_threshold_as_fixed_point_has_it() {
    let settings = Settings { ecn_below: Some(0.1), ..settings() };
    let threshold = 819 << 18;
    for (prob, want) in [(threshold - 1, Verdict::Mark), (threshold, Verdict::Drop(Reason::Early))]
    {
        let mut law = at(&settings, prob, 100_000, 100_000);
        law.vars.accu_prob = MAX_PROB * 17 / 2;
        assert_eq!(offer_ecn(&mut law, 1, 100, Ecn::Ect0), want);
    }
}

#[test]
fn c43_a_tail_drop_clears_what_was_accumulated() {
    let mut law = at(&settings(), MAX_PROB / 10, 100_000, 100_000);
    law.vars.accu_prob = MAX_PROB / 2;
    assert_eq!(offer(&mut law, 1, 300), Verdict::Drop(Reason::Overlimit));
    assert_eq!(law.vars.accu_prob, 0);
}

#[test]
fn c44_the_first_sample_of_the_rate_brings_a_second_that_is_longer() {
    let mut law = FreeBsd::new(&Settings { delay_from: DelayFrom::Departures, ..settings() });
    offer(&mut law, 0, 100);
    let mut averages = Vec::new();
    for ms in 1..=36 {
        depart(&mut law, Instant::from_millis(ms), Instant::ZERO, 100);
        if averages.last() != Some(&law.vars.avg_dq_time) {
            averages.push(law.vars.avg_dq_time);
        }
    }
    // 17 packets exceed 16384 bytes. The 18th packet yields a sample of 18 ms. Then a new
    // measurement begins, and its 17 packets take 17 ms.
    let second = (18_000 * 64 + 17_000 * 192) >> 8;
    let third = (17_000 * 64 + second * 192) >> 8;
    assert_eq!(averages, [0, 17_000, second, third]);
}

#[test]
fn c45_on_off_wakes_at_a_third_and_sleeps_when_empty_and_quiet() {
    let mut law = FreeBsd::new(&Settings { switch: Switch::FromPackets(100), ..settings() });
    for packets in 0..100 {
        offer(&mut law, 1, packets);
        assert!(!law.vars.active);
    }
    offer(&mut law, 1, 100);
    assert!(law.vars.active);
    assert_eq!(law.vars.burst_allowance, 150_000);
    offer(&mut law, 2, 101);
    assert!(law.vars.active, "it is quiet, but the queue is not empty");
    offer(&mut law, 3, 0);
    assert!(!law.vars.active);
}

#[test]
fn times_are_multiples_of_the_tick() {
    let mut law = FreeBsd::new(&settings());
    offer(&mut law, 0, 100);
    for (enqueued, now, want) in [(1_999, 3_001, 2), (1_001, 1_999, 0), (1_999, 2_000, 1)] {
        depart(&mut law, Instant::from_micros(now), Instant::from_micros(enqueued), 100);
        assert_eq!(law.delay(), Duration::from_millis(want), "{enqueued} to {now}");
    }
}

#[test]
fn with_timestamps_an_update_of_an_empty_queue_forgets_the_delay() {
    let mut law = FreeBsd::new(&settings());
    offer(&mut law, 0, 0);
    depart(&mut law, Instant::from_millis(9), Instant::ZERO, 0);
    law.catch_up(Instant::from_millis(14), waiting(0));
    assert_eq!(law.delay(), Duration::from_millis(9));
    law.catch_up(Instant::from_millis(15), waiting(0));
    assert_eq!(law.delay(), Duration::ZERO);
}

#[test]
fn the_last_delay_outlives_an_activation_and_nothing_else_does() {
    let mut law = at(&settings(), MAX_PROB / 3, 80_000, 70_000);
    law.vars.accu_prob = MAX_PROB;
    law.vars.avg_dq_time = 17_000;
    law.activate(Instant::from_millis(1_234));
    let want = Vars {
        active: true,
        in_measurement: true,
        burst_allowance: 150_000,
        current_qdelay: 80_000,
        measurement_start: 1_234_000,
        ..Vars::default()
    };
    assert_eq!(law.vars, want);
    assert_eq!(law.timer.due(), Instant::from_millis(1_249));
}
