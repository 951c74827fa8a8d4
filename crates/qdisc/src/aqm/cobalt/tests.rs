//! Conformance statements C-163 to C-169 of COBALT.

use super::*;

const PARAMS: Params = Params {
    interval: Duration::from_millis(100),
    target: Duration::from_millis(5),
    mtu_time: Duration::from_nanos(121_120),
};
/// The start time of a test in milliseconds. It is long after zero, the value of unset times.
const START: u64 = 3_600_000;

fn at(ms: u64) -> Instant {
    Instant::from_millis(START + ms)
}

fn packet(sojourn_ms: u64) -> Head {
    Head { sojourn: Duration::from_millis(sojourn_ms), is_ect: true, bulk_flows: 0 }
}

/// Judges a packet in each millisecond of `times`; each packet waited longer than the target.
/// Returns the times of signals.
fn signals(law: &mut Cobalt, times: std::ops::Range<u64>) -> Vec<u64> {
    let mut signalled = |&ms: &u64| law.judge(&PARAMS, at(ms), packet(50), || 0).signal;
    times.filter(|ms| signalled(ms)).collect()
}

#[test]
fn the_table_of_reciprocal_roots_has_the_kernels_entries() {
    let root = |n: usize| f64::from(INV_SQRT[n]) / 4_294_967_296.0;
    assert_eq!((INV_SQRT[0], INV_SQRT[1]), (u32::MAX, u32::MAX));
    for (n, want) in
        [(2, 0.706_71), (3, 0.577_35), (4, 0.5), (5, 0.447_21), (8, 0.353_55), (15, 0.258_2)]
    {
        assert!((root(n) - want).abs() < 5e-6, "{n}: {}", root(n));
    }
}

#[test]
fn c163_over_target_needs_more_than_four_mtu_times() {
    let mtu_time = Duration::from_nanos(12_112_000);
    let params = Params { target: Duration::from_nanos(18_168_000), mtu_time, ..PARAMS };
    assert!(!params.is_over(Duration::from_millis(40), 0));
    assert!(!params.is_over(mtu_time * 4, 0));
    assert!(params.is_over(Duration::from_millis(49), 0));
}

#[test]
fn c164_bulk_flows_raise_the_threshold_in_ingress_mode() {
    let params = Params { mtu_time: Duration::from_nanos(1_211_200), ..PARAMS };
    assert!(params.is_over(Duration::from_millis(6), 0));
    assert!(!params.is_over(Duration::from_micros(24_224), 10));
    assert!(params.is_over(Duration::from_micros(24_225), 10));
}

/// Tests that the spacing of signals is the interval over the square root of the count.
#[test]
fn c165_signals_follow_the_roots_of_the_count() {
    let mut law = Cobalt { count: 1, rec_inv_sqrt: u32::MAX, drop_next: at(0), ..law() };
    law.dropping = true;
    let mut due = Vec::new();
    for _ in 0..7 {
        let now = law.drop_next;
        due.push(now);
        assert!(law.judge(&PARAMS, now, packet(50), || 0).signal);
    }
    let gaps: Vec<_> = due.windows(2).map(|pair| pair[1].since(pair[0]).as_micros()).collect();
    for (gap, want) in gaps.iter().zip([70_671_u64, 57_735, 50_000, 44_721, 40_825, 37_796]) {
        assert!(gap.abs_diff(want) <= 1, "{gaps:?}");
    }
}

fn law() -> Cobalt {
    Cobalt::default()
}

#[test]
fn c166_the_count_decays_by_one_per_passed_signal() {
    let mut law = law();
    signals(&mut law, 0..400);
    let count = law.count;
    assert!(count > 4);
    let next = law.drop_next;
    let judged = |law: &mut Cobalt, now| law.judge(&PARAMS, now, packet(1), || 0);
    judged(&mut law, next);
    assert_eq!(law.count, count - 1, "one signal has passed");
    judged(&mut law, at(10_000));
    assert_eq!(law.count, 0, "all signals have passed");
}

#[test]
fn c167_a_new_queue_is_signalled_at_the_second_packet_above_target() {
    let mut law = law();
    assert_eq!(signals(&mut law, 0..300), [1, 71, 129, 179, 224, 264]);
}

#[test]
fn c167_a_queue_whose_count_decayed_waits_an_interval() {
    let mut law = law();
    signals(&mut law, 0..10);
    for ms in 10..2_000 {
        law.judge(&PARAMS, at(ms), packet(1), || 0);
    }
    assert_eq!(law.count, 0);
    let times: Vec<_> = signals(&mut law, 2_000..2_300).iter().map(|ms| ms - 2_000).collect();
    assert_eq!(times, [100, 171, 229, 279]);
}

#[test]
fn c168_only_a_packet_without_ect_is_dropped_by_a_signal() {
    for is_ect in [true, false] {
        let mut law = law();
        law.judge(&PARAMS, at(0), Head { is_ect, ..packet(50) }, || 0);
        let decision = law.judge(&PARAMS, at(1), Head { is_ect, ..packet(50) }, || 0);
        assert_eq!((decision.signal, decision.drop), (true, !is_ect));
    }
}

#[test]
fn c169_blue_rises_by_a_256th_per_overflow_and_drops_ect() {
    let mut law = law();
    for (n, want) in [(1_u64, Blue::Started), (2, Blue::Unchanged), (3, Blue::Unchanged)] {
        assert_eq!(law.overflowed(&PARAMS, at(6 * n)), want);
        assert_eq!(law.overflowed(&PARAMS, at(6 * n + 1)), Blue::Unchanged, "within the target");
        assert!((law.probability() - n as f64 / 256.0).abs() < 1e-12);
    }
    let drop = |law: &mut Cobalt, draw| law.judge(&PARAMS, at(40), packet(1), || draw).blue;
    assert!(drop(&mut law, (3 << 24) - 1));
    assert!(!drop(&mut law, 3 << 24));
    let mut full = Cobalt { p_drop: u32::MAX - 5, ..law };
    full.overflowed(&PARAMS, at(100));
    assert_eq!(full.p_drop, u32::MAX);
}

/// Tests the second part of statement C-63: BLUE's probability falls while the queue is empty.
/// [`c169_blue_rises_by_a_256th_per_overflow_and_drops_ect`] tests the first part.
#[test]
fn blue_falls_while_the_queue_is_empty_and_the_law_comes_to_rest() {
    let mut law = law();
    law.overflowed(&PARAMS, at(0));
    law.count = 0;
    assert!(!law.is_at_rest(at(1)));
    let falls = (1..=16).map(|n| law.emptied(&PARAMS, at(6 * n))).collect::<Vec<_>>();
    assert!(falls[..15].iter().all(|&change| change == Blue::Unchanged));
    assert_eq!(falls[15], Blue::Ended);
    assert!(law.is_at_rest(at(200)));
}

/// Tests that `reciprocal_scale` reads only 32 bits of the interval: 1000 s becomes 3567587328 ns.
#[test]
fn a_long_interval_loses_its_upper_bits() {
    let params = Params { interval: Duration::from_secs(1_000), ..PARAMS };
    let law = Cobalt { rec_inv_sqrt: 1 << 31, ..law() };
    assert_eq!(law.control(&params, at(0)).since(at(0)).as_nanos(), 3_567_587_328 / 2);
}
