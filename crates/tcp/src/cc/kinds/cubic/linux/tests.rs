use super::*;

fn law_after_loss(last_max: u64, cwnd: u64) -> Law {
    let mut law = Law { last_max_cwnd: last_max, ..Law::default() };
    law.begin_epoch(cwnd, 1, 0);
    law
}

/// C-82: for a maximum window of 100 segments and a window of 70, K is 4.217 s. The function starts
/// at the window, and reaches the maximum window after K.
#[test]
fn the_function_starts_at_beta_and_reaches_the_maximum_after_k() {
    let law = law_after_loss(100, 70);
    let k = law.k as f64 / 1_024.0;
    assert!((k - 4.217).abs() < 0.03, "K = {k} s");
    assert_eq!(law.target(law.k), 100);
    assert!(law.target(0).abs_diff(70) <= 1, "W(0) = {}", law.target(0));
    assert!(law.target(2 * law.k).abs_diff(130) <= 1);
}

#[test]
fn where_linux_would_wrap_the_function_stays_at_its_limit() {
    let law = law_after_loss(100, 70);
    // 345 s after the plateau, 410·t³ exceeds 64 bits; at 2200 s, the window exceeds 32 bits.
    assert_eq!(law.target(law.k + 400 * 1_024), 100 + 25_625_000);
    assert_eq!(law.target(u64::MAX >> 12), 100 + u64::from(u32::MAX));
    let tiny = Law { origin: 1, k: 4_000, ..Law::default() };
    assert_eq!(tiny.target(0), 0, "below nothing there is nothing");
}

#[test]
fn credit_from_slower_growth_is_applied_gently() {
    let mut cubic = Cubic::new(&aqmlab_core::Args::defaults(super::super::KINDS[0].params));
    cubic.law.cnt = 100;
    assert_eq!(cubic.additive_increase(99), 0);
    cubic.law.cnt = 10;
    assert_eq!(cubic.additive_increase(1), 1, "99 credits at ten each are worth one");
    assert_eq!(cubic.credit, 1);
    assert_eq!(cubic.additive_increase(25), 2);
    assert_eq!(cubic.credit, 6, "what was acknowledged beyond is carried over");
}

#[test]
fn bytes_are_gathered_into_whole_segments() {
    let mut cubic = Cubic::new(&aqmlab_core::Args::defaults(super::super::KINDS[0].params));
    let wholes: Vec<_> =
        [1_000, 1_000, 1_000].map(|bytes| cubic.whole_segments(1_448, bytes)).into();
    assert_eq!((wholes, cubic.partial), (vec![0, 1, 1], 104));
}
