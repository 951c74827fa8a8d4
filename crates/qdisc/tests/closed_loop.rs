//! Tests each PIE with an unresponsive source that sends more than the link carries. The delay must
//! settle at the target, and the drops must match the load above the link rate.

mod rig;

use aqmlab_core::{Bytes, Duration, Instant, Packet, Rng, Value};
use rig::Rig;

/// The steady state of a run.
#[derive(Debug)]
struct Settled {
    /// The mean sojourn time in milliseconds, over the second half of the run.
    delay_ms: f64,
    /// The standard deviation of the sojourn time in milliseconds, over the second half of the run.
    spread_ms: f64,
    /// The proportion of arrivals dropped in the second half of the run.
    loss: f64,
}

/// Runs a discipline for a minute at 10 Mbit/s with full frames. The offered load is `load` times
/// the link rate.
fn settle(name: &str, changes: &[(&str, Value)], load: f64) -> Settled {
    const SERVICE: u64 = 1_211_200;
    const HALF: u64 = 30_000_000_000;
    let mut rig = Rig::new(name, changes);
    let mut rng = Rng::stream(8, "arrivals");
    let (mut arrival, mut service, mut offered) = (0, 0, 0_u64);
    let (mut delays, mut drops_before, mut offered_before) = (Vec::new(), 0, 0);
    while service < 2 * HALF {
        if arrival <= service {
            rig.offer(Instant::from_nanos(arrival), Packet::plain(offered, 0, 1_514));
            offered += 1;
            arrival += (rng.uniform(0.5, 1.5) * SERVICE as f64 / load) as u64;
            continue;
        }
        let now = Instant::from_nanos(service);
        if let Some(packet) = rig.take(now) {
            if service > HALF {
                delays.push(now.since(packet.enqueued).as_secs_f64() * 1e3);
            } else {
                (drops_before, offered_before) = (rig.ledger.dropped.len(), offered);
            }
        }
        service += SERVICE;
    }
    let count = delays.len() as f64;
    let delay_ms = delays.iter().sum::<f64>() / count;
    let variance = delays.iter().map(|delay| (delay - delay_ms).powi(2)).sum::<f64>() / count;
    let dropped = rig.ledger.dropped.len() - drops_before;
    let loss = dropped as f64 / (offered - offered_before) as f64;
    Settled { delay_ms, spread_ms: variance.sqrt(), loss }
}

#[test]
fn every_pie_settles_at_its_target() {
    let wide = ("limit", Value::Count(1_000));
    let wide_bytes = ("limit", Value::Bytes(Bytes(150_000)));
    let exact = ("tick", Value::Duration(Duration::ZERO));
    for (name, changes, target) in [
        ("pie", vec![wide], 15.0),
        ("pie", vec![wide, exact], 15.0),
        ("pie", vec![wide, ("dq_rate_estimator", Value::Flag(true))], 15.0),
        ("pie", vec![wide, ("target", rig::span_ms(40))], 40.0),
        ("pie_rfc8033", vec![wide_bytes, ("appendix", Value::Word("a", &[]))], 15.0),
        ("pie_rfc8033", vec![wide_bytes, ("delay_from", Value::Word("departures", &[]))], 15.0),
        ("pie_rfc8033", vec![wide_bytes], 15.0),
        ("pie_linux_3_14", vec![wide], 20.0),
        ("pie_freebsd", vec![wide], 15.0),
        ("pie_freebsd", vec![wide, ("delay_from", Value::Word("timestamps", &[]))], 15.0),
        ("fq_pie", vec![], 15.0),
        ("fq_pie_freebsd", vec![], 15.0),
    ] {
        for load in [1.1, 1.5] {
            let settled = settle(name, &changes, load);
            let off = (settled.delay_ms / target - 1.0).abs();
            // Appendix B reduces the probability by 2 % at each update with a delay below half the
            // target. At 1.5 times the link rate, a drop probability of 33 % matches the load. The
            // probability oscillates around this value, and the delay is above the target.
            let basic = changes.iter().any(|(name, _)| *name == "appendix");
            let swings = name == "pie_rfc8033" && !basic && load > 1.2;
            let bound = if swings { 0.5 } else { 0.2 };
            assert!(off < bound, "{name} {changes:?} at {load}: {settled:?}");
            let loss = 1.0 - 1.0 / load;
            assert!(
                (settled.loss - loss).abs() < 0.01,
                "{name} {changes:?} at {load}: {settled:?}"
            );
        }
    }
}

#[test]
fn c47_halving_tupdate_with_gains_to_match_changes_little() {
    let limit = ("limit", Value::Bytes(Bytes(150_000)));
    let basic = ("appendix", Value::Word("a", &[]));
    let whole = settle("pie_rfc8033", &[limit, basic], 1.5);
    let changes = [
        limit,
        basic,
        ("tupdate", Value::Duration(Duration::from_micros(7_500))),
        ("alpha", Value::Number(0.125 / 2.0)),
        ("beta", Value::Number(1.25 + 0.125 / 4.0)),
    ];
    let halved = settle("pie_rfc8033", &changes, 1.5);
    assert!((halved.delay_ms / whole.delay_ms - 1.0).abs() < 0.05, "{whole:?} {halved:?}");
    assert!((halved.spread_ms / whole.spread_ms - 1.0).abs() < 0.25, "{whole:?} {halved:?}");
    assert!((halved.loss - whole.loss).abs() < 0.005, "{whole:?} {halved:?}");
}
