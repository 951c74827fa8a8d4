use super::*;

fn with(changes: &[(&str, Value)]) -> Control {
    let params = super::super::KINDS[0].params;
    let args =
        changes.iter().fold(Args::defaults(params), |args, (name, value)| args.with(name, *value));
    Control::of(&args)
}

fn ms(ms: u64) -> Value {
    Value::Duration(Duration::from_millis(ms))
}

fn control(target_us: u64, tupdate_us: u64, alpha: u32, beta: u32) -> Control {
    Control {
        target: Duration::from_micros(target_us),
        tupdate: Duration::from_micros(tupdate_us),
        gains: Gains { alpha, beta },
    }
}

#[test]
fn defaults_are_those_of_the_kernel() {
    assert_eq!(with(&[]), control(15_000, 16_000, 41, 819));
}

/// Tests that a gain is multiplied by 256 and rounded down, as in `tc`: the 0.16 of its manual is
/// 40 and not 41.
#[test]
fn gains_are_rounded_down_to_a_256th() {
    let gains =
        |alpha, beta| with(&[("alpha", Value::Number(alpha)), ("beta", Value::Number(beta))]).gains;
    assert_eq!(gains(0.16, 3.2), Gains { alpha: 40, beta: 819 });
    assert_eq!(gains(1.0 / 256.0, 8_388_607.0), Gains { alpha: 1, beta: 0x7fff_ff00 });
}

/// Tests the gains against the values that `tc` prints and sends. In the first case `alpha` is
/// 16.666 ms · 0.1 / (100 ms)² = 0.16666 Hz, or 42.66/256 Hz.
#[test]
fn round_trip_times_give_the_constants_of_tc() {
    for (changes, want) in [
        (vec![("max_rtt", ms(100))], control(16_666, 16_666, 42, 768)),
        (vec![("typical_rtt", ms(15))], control(15_000, 15_000, 47, 853)),
        (vec![("typical_rtt", ms(15)), ("max_rtt", ms(100))], control(15_000, 15_000, 38, 768)),
        (vec![("typical_rtt", ms(60)), ("max_rtt", ms(90))], control(60_000, 30_000, 94, 853)),
        (vec![("max_rtt", ms(100)), ("target", ms(3))], control(16_666, 16_666, 42, 768)),
    ] {
        assert_eq!(with(&changes), want, "{changes:?}");
    }
}

#[test]
fn round_trip_times_that_tc_refuses_are_limited() {
    let swapped = with(&[("typical_rtt", ms(200)), ("max_rtt", ms(100))]);
    assert_eq!(swapped.target, Duration::from_millis(100));
    let slow = with(&[("typical_rtt", ms(1)), ("max_rtt", ms(100_000))]);
    assert_eq!(slow.gains, Gains { alpha: 1, beta: 1 });
}
