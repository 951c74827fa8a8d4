//! Tests that the results of a whole trial do not depend on the resolution of the measurement, the
//! order of the applications, or the length and the start of the trial.

use aqmlab_sim::Outcome;
use aqmlab_trial::Column;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{app, home, number, run};

const MS: u64 = 1_000_000;

/// The tables without a time axis.
const SCALARS: [&str; 6] = ["flows", "queues", "queue_drops", "conns", "apps", "summary"];

/// Returns a home without jitter, so that a shift in time changes nothing else.
fn still(qdisc: &str, apps: &[Value]) -> Value {
    let mut spec = home(20.0, 5.0, &json!({"kind": qdisc}), 20, apps);
    (spec["host_jitter_ns"], spec["start_jitter_ns"]) = (json!(0), json!(0));
    spec
}

fn at(app: Value, start_ms: u64, stop_ms: Option<u64>) -> Value {
    let mut app = app;
    app["start_ns"] = json!(start_ms * MS);
    app["stop_ns"] = json!(stop_ms.map(|stop_ms| stop_ms * MS));
    app
}

/// Returns transfers of limited and unlimited length, and flows of datagrams. None of them starts
/// before `start_ms`.
fn traffic(start_ms: u64) -> Vec<Value> {
    let of = |name: &str, kind: &str, params: Value, later: u64, stop: Option<u64>| {
        at(app(name, kind, &params), start_ms + later, stop.map(|stop| start_ms + stop))
    };
    vec![
        of("file", "bulk", json!({"size": 600_000}), 37, None),
        of("up", "bulk", json!({"direction": "up"}), 0, Some(3_611)),
        of("timed", "bulk", json!({"duration": 1_777 * MS}), 402, None),
        of("call", "voip", json!({}), 113, Some(3_208)),
        of("ping", "ping", json!({"interval": 200 * MS}), 0, Some(3_000)),
    ]
}

fn cells(column: &Column) -> Vec<String> {
    match column {
        // NaN is not equal to itself, but its printed form is.
        Column::Float(values) => values.iter().map(|value| format!("{value:?}")).collect(),
        Column::Count(values) => values.iter().map(u64::to_string).collect(),
        Column::Flag(values) => values.iter().map(bool::to_string).collect(),
        Column::Word(rows, words) => rows.iter().map(|&row| words[row as usize].clone()).collect(),
    }
}

/// Returns the rows of the tables without a time axis as text, sorted. The columns in `without` are
/// left out.
fn scalars(outcome: &Outcome, without: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in SCALARS {
        let table = outcome.table(name).unwrap();
        let kept = table.columns.iter().filter(|(column, _)| !without.contains(column));
        let columns: Vec<_> = kept.map(|(column, values)| (*column, cells(values))).collect();
        let row = |place: usize| {
            let cells = columns.iter().map(|(column, cells)| format!("{column}={}", cells[place]));
            format!("{name}: {}", cells.collect::<Vec<_>>().join(" "))
        };
        found.extend((0..table.rows()).map(row));
    }
    found.sort();
    found
}

fn of(outcome: &Outcome, flow: &str, direction: &str, column: &str) -> f64 {
    number(outcome, "flows", &[("flow", flow), ("direction", direction)], column)
}

fn assert_alike(one: &[String], other: &[String], what: &str) {
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(one.len(), other.len(), "{what}");
}

#[test]
fn the_throughput_of_a_short_transfer_is_the_same_in_a_long_trial() {
    let transfer = at(app("save", "bulk", &json!({"size": 2_000_000})), 10_300, None);
    let mut spec = still("pfifo", &[transfer, app("ping", "ping", &json!({}))]);
    let mut found = Vec::new();
    for (seconds, step_ms) in [(20, 250), (20, 10), (20, 1_000), (600, 250), (14_400, 250)] {
        spec["duration_ns"] = json!(seconds * 1_000 * MS);
        spec["measure"] = json!({"step_ns": step_ms * MS});
        let outcome = run(&spec);
        let throughput = of(&outcome, "save", "down", "throughput_mean_mbit");
        let goodput = of(&outcome, "save", "down", "goodput_mbit");
        assert!(throughput > goodput && throughput < 1.05 * goodput, "{throughput} {goodput}");
        found.push(throughput.to_bits());
    }
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
}

#[test]
fn a_transfer_that_takes_less_than_a_step_has_a_throughput_and_no_windows() {
    let photo = at(app("photo", "bulk", &json!({"size": 100_000})), 1_010, None);
    let outcome = run(&still("pfifo", &[photo]));
    assert!(of(&outcome, "photo", "down", "throughput_mean_mbit") > 5.0);
    assert!(of(&outcome, "photo", "down", "throughput_p50_mbit").is_nan());
    let ran = ["active_to_s", "active_from_s"].map(|one| of(&outcome, "photo", "down", one));
    let took = number(&outcome, "apps", &[("metric", "completion_time_s")], "value");
    assert!((ran[0] - ran[1] - took).abs() < 1e-9 && (ran[1] - 1.01).abs() < 1e-9, "{ran:?}");
}

#[test]
fn a_flow_is_active_from_when_its_start_jitter_lets_it_start() {
    let mut spec = still("pfifo", &[at(app("call", "voip", &json!({})), 500, Some(2_000))]);
    spec["start_jitter_ns"] = json!(400 * MS);
    let outcome = run(&spec);
    let [from, to] = ["active_from_s", "active_to_s"].map(|one| of(&outcome, "call", "up", one));
    assert!(from > 0.5 && from < 0.9 && (to - from - 1.5).abs() < 1e-9, "{from} to {to}");
    // A voice frame of 20 B is sent every 20 ms in an IP packet of 60 B.
    let mbit = of(&outcome, "call", "up", "throughput_mean_mbit");
    assert!((mbit / of(&outcome, "call", "up", "goodput_mbit") - 200.0 / 172.0).abs() < 0.01);
}

#[test]
fn a_flow_that_never_was_active_in_the_interval_has_no_throughput() {
    let transfer = app("file", "bulk", &json!({"size": 100_000}));
    let mut spec = still("pfifo", &[transfer, app("ping", "ping", &json!({}))]);
    spec["measure"] = json!({"from_ns": 10_000 * MS});
    let outcome = run(&spec);
    assert!(of(&outcome, "file", "down", "throughput_mean_mbit").is_nan());
    assert!(of(&outcome, "file", "down", "goodput_mbit").is_nan());
    assert!(of(&outcome, "ping", "up", "throughput_mean_mbit") > 0.0);
}

#[test]
fn a_day_is_measured_in_coarser_steps() {
    let mut spec = still("pfifo", &[at(app("ping", "ping", &json!({})), 0, Some(5_000))]);
    spec["duration_ns"] = json!(86_400_000 * MS);
    let outcome = run(&spec);
    let rows = outcome.table("queue_series").unwrap().rows();
    assert!(rows > 2 * 512 && rows <= 2 * 2_048, "{rows}");
    assert!(outcome.table("windows").unwrap().rows() <= 2 * 1_024);
    assert!((of(&outcome, "ping", "up", "active_to_s") - 5.0).abs() < 1e-9);
}

#[test]
fn series_may_have_as_many_points_as_32_bits_hold() {
    let mut spec = still("pfifo", &[app("ping", "ping", &json!({}))]);
    spec["measure"] = json!({"points": u32::MAX});
    let pings = number(&run(&spec), "apps", &[("metric", "sent_packets")], "value");
    assert!(run(&spec).table("app_series").unwrap().rows() as f64 >= pings - 1.0 && pings > 10.0);
}

#[test]
fn the_order_of_applications_changes_no_number_of_theirs() {
    // Each application has its own two links, so that no packets of different applications share a
    // queue.
    let apps = traffic(0);
    let place =
        |order: &[usize]| -> Vec<Value> { order.iter().map(|&one| apps[one].clone()).collect() };
    let mut spec = still("fq_codel", &place(&[0, 1, 2, 3, 4]));
    let links: Vec<_> = (0..10)
        .map(|n| {
            json!({"name": format!("{n}"), "rate_bps": 5_000_000,
        "qdisc": {"kind": "fq_codel"}})
        })
        .collect();
    spec["links"] = json!(links);
    let own_links = |spec: &mut Value| {
        for app in spec["apps"].as_array_mut().unwrap() {
            let own = apps.iter().position(|one| one["name"] == app["name"]).unwrap();
            app["up"]["links"] = json!([2 * own]);
            app["down"]["links"] = json!([2 * own + 1]);
        }
    };
    own_links(&mut spec);
    let mut other = spec.clone();
    let turned: Vec<_> = spec["apps"].as_array().unwrap().iter().rev().cloned().collect();
    other["apps"] = json!(turned);
    // The number of agenda steps at one instant and sums of floating-point numbers depend on the
    // order.
    let without = ["events", "jain_up", "jain_down"];
    assert_alike(
        &scalars(&run(&spec), &without),
        &scalars(&run(&other), &without),
        "the other way round",
    );
}

/// Asserts that the flows satisfy the invariants of every trial.
fn assert_possible(spec: &Value, outcome: &Outcome) {
    let flows = outcome.table("flows").unwrap();
    let column = |name: &str| match flows.column(name) {
        Some(Column::Float(values)) => values.clone(),
        Some(Column::Count(values)) => values.iter().map(|&value| value as f64).collect(),
        other => panic!("`{name}` is {other:?}"),
    };
    let [sent, received, lost] = ["packets_sent", "packets_received", "lost"].map(column);
    let [mean, goodput] = ["throughput_mean_mbit", "goodput_mbit"].map(column);
    let [least, base, active] = ["rtt_min_ms", "rtt_base_ms", "active_from_s"].map(column);
    let Some(Column::Word(ways, words)) = flows.column("direction") else { panic!("no words") };
    for row in 0..flows.rows() {
        assert!(sent[row] >= received[row] + lost[row], "row {row}");
        let link = usize::from(words[ways[row] as usize] == "down");
        let rate = spec["links"][link]["rate_bps"].as_f64().unwrap() / 1e6;
        assert!(mean[row] <= rate, "{} over {rate} Mbit/s", mean[row]);
        assert!(goodput[row] <= mean[row], "{} of {}", goodput[row], mean[row]);
        assert!(least[row].is_nan() || least[row] >= base[row], "{} ms", least[row]);
        assert!(active[row] >= 0.0);
    }
}

fn measures() -> impl Strategy<Value = Value> {
    (1..40_u64, 1..6_u64, prop::sample::select(vec![3_u32, 17, 64, 1_024]), 1..300_u64).prop_map(
        |(step, steps, points, sample)| {
            json!({"step_ns": 25 * step * MS, "window_ns": 25 * step * steps * MS,
                "points": points, "sample_ns": sample * MS})
        },
    )
}

fn a_discipline() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["pfifo", "fq_codel", "pie", "sfq", "red", "codel"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_grid_changes_only_windows(
        qdisc in a_discipline(), seed in 0..1_000_u64, measure in measures(),
    ) {
        let mut spec = still(qdisc, &traffic(250));
        (spec["seed"], spec["duration_ns"]) = (json!(seed), json!(5_000 * MS));
        spec["start_jitter_ns"] = json!(90 * MS);
        let usual = run(&spec);
        assert_possible(&spec, &usual);
        spec["measure"] = measure;
        let windows = ["throughput_p5_mbit", "throughput_p25_mbit", "throughput_p50_mbit",
            "throughput_p75_mbit", "throughput_p95_mbit", "throughput_nonempty_mean_mbit", "events"];
        let other = run(&spec);
        assert_alike(&scalars(&usual, &windows), &scalars(&other, &windows), qdisc);
        // With the same windows and a coarser series, nothing else may differ.
        spec["measure"] = json!({"points": spec["measure"]["points"]});
        let coarse = run(&spec);
        assert_alike(&scalars(&usual, &["events"]), &scalars(&coarse, &["events"]), qdisc);
    }

    #[test]
    fn a_longer_trial_changes_nothing_of_flows_that_have_ended(
        qdisc in a_discipline(), seed in 0..1_000_u64, longer in 1..400_u64,
    ) {
        let mut spec = still(qdisc, &traffic(250));
        (spec["seed"], spec["duration_ns"]) = (json!(seed), json!(30_000 * MS));
        spec["measure"] = json!({"points": 100});
        let short = run(&spec);
        spec["duration_ns"] = json!((30_000 + 1_000 * longer) * MS);
        // These columns cover the whole trial by definition.
        let whole = ["events", "utilisation", "throughput_mbit", "backlog_mean_packets"];
        assert_alike(&scalars(&short, &whole), &scalars(&run(&spec), &whole), qdisc);
    }

    #[test]
    fn when_a_trial_begins_changes_nothing(late_ms in 1..2_000_u64) {
        // A jiffy of the hosts is four milliseconds.
        let late_ms = 4 * late_ms;
        let of = |start_ms: u64| {
            let mut spec = still("pfifo", &traffic(start_ms));
            spec["duration_ns"] = json!((start_ms + 6_000) * MS);
            spec["measure"] = json!({"from_ns": start_ms * MS, "points": 50});
            let outcome = run(&spec);
            let moved = ["events", "utilisation", "active_from_s", "active_to_s", "opened_s",
                "established_s", "closed_s", "jain_up", "jain_down"];
            scalars(&outcome, &moved)
        };
        assert_eq!(of(100), of(100 + late_ms));
    }
}
