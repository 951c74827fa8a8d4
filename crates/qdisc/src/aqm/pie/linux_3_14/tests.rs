use aqmlab_core::{Ecn, Packet, PacketFields};

use super::*;

const MS: u64 = 1_000_000;
const TARGET: u64 = (20 * MS) >> 6;

fn settings() -> Settings {
    Settings {
        target: Duration::from_millis(20),
        tupdate: Duration::from_millis(30),
        alpha: 2,
        beta: 20,
        ecn: false,
        bytemode: false,
        mtu: Bytes(1_514),
        clock: Clock::Ideal,
    }
}

/// Returns a law with this probability, this last delay and no burst allowance. At its estimated
/// rate, one byte of backlog takes one unit of 64 ns.
fn at(prob: u32, qdelay_old: u64) -> Linux314 {
    let mut law = Linux314::new(&settings());
    law.vars.burst_time = 0;
    (law.vars.prob, law.vars.qdelay, law.vars.avg_dq_rate) = (prob, qdelay_old, 256);
    law
}

fn updated(mut law: Linux314, waiting: u64) -> Vars {
    law.vars.update(&law.params, waiting);
    law.vars
}

fn change(prob: u32, qdelay: u64, qdelay_old: u64) -> i64 {
    i64::from(updated(at(prob, qdelay_old), qdelay).prob) - i64::from(prob)
}

#[test]
fn c46_three_gains_and_a_kick_above_250_ms() {
    let (qdelay, old) = (TARGET + 1_000, TARGET);
    for (prob, shift) in [
        (1_000, 7),
        (u32::MAX / 100 - 1, 7),
        (u32::MAX / 100, 5),
        (u32::MAX / 10 - 1, 5),
        (u32::MAX / 10, 4),
    ] {
        let want = ((2 * 274) >> shift) * 1_000 + ((20 * 274) >> shift) * 1_000;
        assert_eq!(change(prob, qdelay, old), want, "at {prob}");
    }
    let tenth = u32::MAX / 10;
    let (two, kick) = (i64::from(u32::MAX / 100 * 2), i64::from(u32::MAX / 50));
    assert_eq!(change(tenth, LONG_DELAY, LONG_DELAY - 1_000_000), two);
    assert_eq!(change(tenth, LONG_DELAY + 1, LONG_DELAY - 1_000_000), two + kick);
}

#[test]
fn c36_the_decay_by_2_percent_overflows_above_1_percent() {
    let alpha = |shift: u32| ((2 * 274_u32) >> shift) * TARGET as u32;
    let small = 43_000_000 + alpha(5);
    assert_eq!(updated(at(small, 0), 0).prob, 43_000_000 * 98 / 100);
    let half = u32::MAX / 2;
    let after = half - alpha(4);
    assert_eq!(updated(at(half, 0), 0).prob, after.wrapping_mul(98) / 100);
    assert!(updated(at(half, 0), 0).prob < u32::MAX / 100, "from 50 % to below 1 % at once");
}

#[test]
fn a_delay_that_jumps_far_makes_the_probability_fall() {
    let tick = |ms: u64| (ms * MS) >> 6;
    let prob = u32::MAX / 4;
    assert!(change(prob, tick(360), 0) > 0);
    assert!(change(prob, tick(370), 0) < 0, "the step no longer fits 31 bits");
}

#[test]
fn there_is_no_delay_before_10_000_bytes_have_left_a_standing_queue() {
    let mut law = Linux314::new(&settings());
    let packet = Packet::plain(0, 0, 1_000);
    let mut first = None;
    for ms in 1..=40 {
        let left = Backlog { packets: 100, bytes: Bytes(100_000) };
        law.depart(&Departure { now: Instant::from_millis(ms), packet: &packet, left });
        if law.vars.avg_dq_rate > 0 {
            first = first.or(Some(ms));
        }
    }
    assert_eq!(first, Some(10));
    let spent = BURST - law.vars.burst_time;
    assert_eq!(spent, ((9 + 10 * 3) * MS) >> 6, "the burst allowance is spent by measurements");
}

#[test]
fn each_packet_is_a_throw_of_its_own() {
    let mut law = at(u32::MAX / 4, TARGET);
    law.vars.qdelay = TARGET;
    let mut rng = Rng::stream(1, "throws");
    let mut adjacent = 0;
    let mut last = false;
    let hits = (0..40_000)
        .filter(|_| {
            let hit = law.drop_early(100_000, 1_514, &mut rng);
            adjacent += u32::from(hit && last);
            last = hit;
            hit
        })
        .count();
    assert!((9_700..10_300).contains(&hits), "{hits}");
    assert!((2_300..2_700).contains(&adjacent), "a sixteenth of all pairs, not {adjacent}");
}

#[test]
fn c42_marks_at_10_percent_exactly() {
    for (prob, ecn, want) in [
        (u32::MAX / 10, Ecn::Ect1, true),
        (u32::MAX / 10 + 1, Ecn::Ect1, false),
        (u32::MAX / 10, Ecn::NotEct, false),
    ] {
        let mut law = at(prob, TARGET);
        law.vars.qdelay = TARGET;
        law.params.ecn = true;
        let packet = Packet::from(PacketFields { ecn, ..PacketFields::plain(0, 0, 1_000) });
        let waiting = Backlog { packets: 100, bytes: Bytes(100_000) };
        let arrival = Arrival { now: Instant::ZERO, packet: &packet, waiting, fits: true };
        let mut rng = Rng::stream(1, "c42");
        let verdict = (0..1_000).find_map(|_| match law.arrive(&arrival, &mut rng) {
            Verdict::Keep => None,
            verdict => Some(verdict),
        });
        assert_eq!(verdict == Some(Verdict::Mark), want, "{prob} {ecn:?} {verdict:?}");
    }
}
