use proptest::prelude::*;

use super::*;
use crate::testing::close;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn usage() -> impl Strategy<Value = Usage> {
    prop_oneof![Just(Usage::Normal), Just(Usage::Over), Just(Usage::Under)]
}

/// Tests statement C-97.
#[test]
fn over_use_decreases_to_85_percent_of_what_arrives_less_5_kbit() {
    let mut aimd = Aimd::new(2e6, 5e3);
    aimd.update(Usage::Over, Some(1e6), ms(0));
    close(aimd.bps(), 845_000.0, 1e-6);
}

/// Tests statement C-97.
#[test]
fn near_the_capacity_the_rate_grows_by_half_a_packet_each_reaction() {
    let aimd = Aimd { rtt: Duration::from_millis(100), ..Aimd::new(1e6, 5e3) };
    // A frame of 4,167 B in 4 packets gives 8,333 bit per 0.4 s.
    close(aimd.slope_bps(), 1e6 / 30.0 / 4.0 / 0.4, 1e-6);
    close(aimd.slope_bps(), 20_833.3, 0.1);
    assert!(Aimd::new(20e3, 5e3).slope_bps() >= 4_000.0);
}

/// Tests statement C-97.
#[test]
fn from_1_to_2_5_mbit_takes_11_9_seconds() {
    let mut aimd = Aimd::new(1e6, 5e3);
    let reached = (0..1_000).find(|n| {
        aimd.update(Usage::Normal, Some(2.5e6), ms(50 * n));
        aimd.bps() >= 2.5e6
    });
    // The expected time is ln 2.5 / ln 1.08 = 11.906 s.
    close(reached.unwrap() as f64 * 0.05, 11.906, 0.06);
}

/// Tests statement C-98.
#[test]
fn without_a_queue_the_rate_climbs_by_8_percent_a_second_to_its_cap() {
    let mut aimd = Aimd::new(1e6, 5e3);
    aimd.update(Usage::Normal, Some(1e6), ms(0));
    let first = aimd.bps();
    for n in 1..=20 {
        aimd.update(Usage::Normal, Some(1e6), ms(50 * n));
    }
    close(aimd.bps() / first, 1.08, 1e-3);
    for n in 21..=600 {
        aimd.update(Usage::Normal, Some(1e6), ms(50 * n));
    }
    close(aimd.bps(), 1.5e6 + 10e3, 1e-6);
}

/// Tests statement C-102.
#[test]
fn decreases_are_a_round_trip_apart_unless_half_of_the_rate_is_lost() {
    for (rtt, pause) in [(1, 10), (80, 80), (3_000, 200)] {
        let mut aimd = Aimd::new(1e6, 5e3);
        aimd.set_rtt(Duration::from_millis(rtt));
        aimd.set(1e6, ms(1_000));
        assert!(!aimd.may_decrease(ms(1_000 + pause - 1), 9e5), "{rtt} ms");
        assert!(aimd.may_decrease(ms(1_000 + pause), 9e5), "{rtt} ms");
        assert!(aimd.may_decrease(ms(1_001), 4.9e5), "less than half arrives");
    }
}

#[test]
fn without_a_measured_rate_it_halves_every_200_ms() {
    let mut aimd = Aimd::new(1e6, 5e3);
    let halved = (0..=600).step_by(50).filter(|&n| aimd.halve(ms(n))).count();
    assert_eq!(halved, 4, "at 0, 200, 400 and 600 ms");
    close(aimd.bps(), 62_500.0, 1e-6);
}

proptest! {
    /// Tests statement C-99.
    #[test]
    fn an_increase_never_exceeds_half_again_of_what_arrives(
        acked in prop::collection::vec((1e3..20e6_f64, usage()), 1..200),
    ) {
        let mut aimd = Aimd::new(300e3, 5e3);
        for (n, (acked, usage)) in acked.into_iter().enumerate() {
            let before = aimd.bps();
            aimd.update(usage, Some(acked), ms(50 * n as u64));
            let cap = (1.5 * acked + 10e3).max(before).max(5e3);
            prop_assert!(aimd.bps() <= cap + 1e-6, "{} over {cap}", aimd.bps());
            prop_assert!(usage == Usage::Normal || aimd.bps() <= before);
            prop_assert!((5e3..=30e6).contains(&aimd.bps()));
        }
    }
}
