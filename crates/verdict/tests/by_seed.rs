//! Each seed has a word of its own, and the measurements are medians of the worst directions.

use std::collections::BTreeMap;

use aqmlab_verdict::rows::FLOW_NUMBERS;
use aqmlab_verdict::{FlowRow, Judge, Report, Stated, Trial, Verdict, Word};

const TRIAL: &str = r#"{"duration_ns": 60000000000, "links": [], "apps": [
    {"name": "a", "app": {"kind": "something new"}, "start_ns": 0, "up": {}, "down": {}}]}"#;

/// Returns a row of `flows` for a direction. Columns that are not in `known` have no value.
fn row(direction: &str, known: &[(&str, f64)]) -> FlowRow {
    let number =
        |name: &&str| known.iter().find(|(one, _)| one == name).map_or(f64::NAN, |one| one.1);
    FlowRow {
        flow: "a".to_owned(),
        direction: direction.to_owned(),
        primary: true,
        numbers: FLOW_NUMBERS.map(|name| number(&name)),
    }
}

/// Returns the verdict over seeds. Each seed has the 95th percentiles of the round-trip times in
/// the two directions.
fn judged(seeds: &[[f64; 2]]) -> Report {
    let trial = Trial::parse(TRIAL).expect("it is a trial");
    let stated =
        Stated { limits_ms: BTreeMap::from([("a".to_owned(), 100.0)]), ..Stated::default() };
    let mut judge = Judge::default();
    for (seed, [up, down]) in (1..).zip(seeds) {
        let of = |p95: f64| {
            [("rtt_p50_ms", p95 / 2.0), ("rtt_p95_ms", p95), ("throughput_mean_mbit", p95 / 10.0)]
        };
        let rows = [row("up", &of(*up)), row("down", &of(*down))];
        judge.add((0, seed), &trial, (&rows, &[]), &stated);
    }
    judge.verdicts().first().map(Verdict::report).expect("there is one application")
}

#[test]
fn a_seed_has_the_word_that_it_gives_alone() {
    let seeds = [[50.0, 20.0], [30.0, 900.0], [60.0, 10.0]];
    let told = judged(&seeds);
    assert_eq!((told.word, told.seeds), (Word::Good, 3));
    assert_eq!(told.words_by_seed, [(1, Word::Good), (2, Word::Bad), (3, Word::Good)]);
    for (one, (_, word)) in seeds.iter().zip(&told.words_by_seed) {
        assert_eq!(judged(&[*one]).word, *word);
    }
}

#[test]
fn measurements_are_medians_over_seeds_of_the_worst_direction() {
    let medians = judged(&[[50.0, 20.0], [30.0, 900.0], [60.0, f64::NAN]]).medians;
    assert_eq!(medians.rtt_p95_ms, Some(60.0));
    assert_eq!(medians.rtt_p50_ms, Some(30.0));
    assert_eq!(medians.throughput_mean_mbit, Some(3.0));
    assert_eq!(judged(&[[f64::NAN, f64::NAN]]).medians.rtt_p95_ms, None);
}
