use proptest::prelude::*;

use super::*;
use crate::testing::close;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Returns a limit that started at 1 Mbit/s and was adapted for `seconds`, while `lost` of every
/// 100 packets were lost.
fn lossy(lost: u64, seconds: u64) -> LossLimit {
    let mut limit = LossLimit::new(1e6, 5e3);
    limit.set_rtt(Duration::from_millis(100), ms(0));
    for now in (0..1_000 * seconds).step_by(25).map(ms) {
        limit.sent(now);
        limit.set_rtt(Duration::from_millis(100), now);
        limit.count(lost, 100, now);
        limit.process(now);
    }
    limit
}

/// Tests statement C-97.
#[test]
fn a_loss_of_20_percent_at_1_mbit_leaves_900_kbit() {
    let mut limit = LossLimit::new(1e6, 5e3);
    limit.count(20, 100, ms(5_000));
    // The loss is 51/256 in RTCP's fixed point.
    close(limit.bps(), 1e6 * (1.0 - 0.5 * 51.0 / 256.0), 1e-6);
    close(limit.bps(), 900e3, 500.0);
}

#[test]
fn a_loss_between_2_and_10_percent_holds_the_rate() {
    close(lossy(5, 30).bps(), 1e6, 1e-6);
    assert!(lossy(15, 30).bps() < 0.3e6);
}

/// Tests statement C-103.
#[test]
fn a_loss_of_up_to_2_percent_never_lowers_the_rate() {
    for lost in [0, 1, 2] {
        let bps = lossy(lost, 10).bps();
        assert!(bps > 1.9e6, "{lost} %: {bps}");
        let mut limit = lossy(lost, 10);
        let before = limit.bps();
        limit.set_delay_limit(before);
        limit.process(ms(10_000));
        close(limit.bps(), before, 0.0);
    }
}

#[test]
fn fewer_than_20_packets_make_no_report() {
    let mut limit = LossLimit::new(1e6, 5e3);
    limit.count(19, 19, ms(5_000));
    close(limit.bps(), 1e6, 0.0);
    limit.count(0, 1, ms(6_000));
    assert!(limit.bps() < 0.6e6, "19 of 20");
}

#[test]
fn silence_of_more_than_3_seconds_takes_a_fifth_each_second() {
    let mut limit = LossLimit::new(1e6, 50e3);
    let mut lowered = 0;
    for now in (0..=10_000).step_by(25) {
        limit.sent(ms(now));
        let before = limit.bps();
        limit.process(ms(now));
        lowered += u32::from(limit.bps() < before);
    }
    assert_eq!(lowered, 7, "from 3.025 s to 9.025 s");
    close(limit.bps(), 1e6 * 0.8_f64.powi(7), 1.0);
}

proptest! {
    #[test]
    fn the_target_keeps_its_bounds(
        steps in prop::collection::vec((0..60_u64, 0..60_u64, 5e3..5e6_f64), 1..200),
    ) {
        let mut limit = LossLimit::new(300e3, 60e3);
        for (n, (lost, arrived, delay)) in steps.into_iter().enumerate() {
            let now = ms(200 * n as u64);
            limit.sent(now);
            limit.set_delay_limit(delay);
            limit.count(lost, lost + arrived, now);
            limit.process(now);
            prop_assert!(limit.bps() >= 60e3 && limit.bps() <= delay.max(60e3));
        }
    }
}
