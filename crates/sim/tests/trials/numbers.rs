//! Tests that numbers stay possible at the edges of an interval: no rate exceeds the link's rate,
//! and no proportion exceeds one.

use crate::common::{app, home, number, run};
use serde_json::{Value, json};

fn pfifo() -> Value {
    json!({"kind": "pfifo"})
}

/// Returns a trial of 20 s with one download that stops at `stop_ms`, over a link of 1 Mbit/s.
fn stopped_download(stop_ms: u64) -> Value {
    stopped_download_over(1.0, stop_ms)
}

fn stopped_download_over(mbit: f64, stop_ms: u64) -> Value {
    let mut bulk = app("a", "bulk", &json!({"direction": "down"}));
    bulk["stop_ns"] = json!(stop_ms * 1_000_000);
    home(mbit, mbit, &pfifo(), 10, &[bulk])
}

#[test]
fn goodput_ends_when_its_flow_does() {
    // Data in buffers continues to arrive for seconds. This data must not count as if it had
    // arrived in the second in which the flow ran.
    let params = json!({"direction": "down", "duration": 1_000_000_000_u64});
    let by_itself = home(0.3, 0.3, &pfifo(), 10, &[app("a", "bulk", &params)]);
    for spec in [stopped_download_over(0.3, 1_000), by_itself] {
        let outcome = run(&spec);
        let row = [("flow", "a"), ("direction", "down")];
        let of = |column| number(&outcome, "flows", &row, column);
        assert!(of("bytes_received") > 2.0 * 37_500.0, "the buffers did not outlast the flow");
        assert!(of("goodput_mbit") > 0.15, "{}", of("goodput_mbit"));
        assert!(of("goodput_mbit") <= of("throughput_mean_mbit"), "{}", of("goodput_mbit"));
    }
}

#[test]
fn throughput_is_over_the_time_of_the_steps_counted() {
    // 1.3 s are 5.2 steps of 250 ms, and 99 ms are less than one step.
    for stop_ms in [99, 1_300] {
        let outcome = run(&stopped_download(stop_ms));
        let row = [("flow", "a"), ("direction", "down")];
        let mean = number(&outcome, "flows", &row, "throughput_mean_mbit");
        assert!(mean > 0.5 && mean <= 1.02, "stopped after {stop_ms} ms: {mean} Mbit/s");
    }
}

#[test]
fn a_flow_within_one_step_has_a_throughput() {
    let mut call = app("a", "video_call", &json!({}));
    (call["start_ns"], call["stop_ns"]) = (json!(1_300_000_000_u64), json!(1_450_000_000_u64));
    let outcome = run(&home(1.0, 1.0, &pfifo(), 10, &[call]));
    let row = [("flow", "a"), ("direction", "up")];
    assert!(number(&outcome, "flows", &row, "throughput_mean_mbit") > 0.0);
}

#[test]
fn a_link_is_never_busier_than_always() {
    let mut spec = home(0.064, 0.064, &pfifo(), 0, &[app("a", "cbr", &json!({}))]);
    spec["duration_ns"] = json!(100_000_000);
    spec["start_jitter_ns"] = json!(0);
    spec["measure"] = json!({"step_ns": 10_000_000, "window_ns": 10_000_000});
    let busy = number(&run(&spec), "queues", &[("link", "up")], "utilisation");
    assert!(busy > 0.9 && busy <= 1.0, "{busy}");
}

#[test]
fn tables_of_flows_have_their_columns_when_nothing_was_sent() {
    let mut late = app("a", "bulk", &json!({}));
    late["start_ns"] = json!(60_000_000_000_u64);
    let outcome = run(&home(1.0, 1.0, &pfifo(), 10, &[late]));
    let flows = outcome.table("flows").unwrap();
    assert_eq!(flows.rows(), 0);
    for name in ["flow", "packets_sent", "throughput_mean_mbit", "rtt_p50_ms", "jitter_ms"] {
        assert!(flows.column(name).is_some(), "no column `{name}`");
    }
}

#[test]
fn a_series_has_no_more_points_the_longer_the_trial() {
    let apps = [app("a", "bulk", &json!({"direction": "down"})), app("b", "ping", &json!({}))];
    let mut spec = home(2.0, 1.0, &pfifo(), 20, &apps);
    spec["measure"] = json!({"points": 20, "sample_ns": 50_000_000});
    for seconds in [5_u64, 50] {
        spec["duration_ns"] = json!(seconds * 1_000_000_000);
        let outcome = run(&spec);
        let ways = outcome.table("flows").unwrap().rows();
        for (table, most) in [
            ("windows", 20 * ways),
            ("rtt", 20 * ways),
            ("queue_series", 2 * 40),
            ("tcp_series", 40),
        ] {
            let rows = outcome.table(table).unwrap().rows();
            assert!(rows > most / 4 && rows <= most, "{table} after {seconds} s: {rows}");
        }
        let notes = outcome.table("app_series").unwrap().rows();
        assert!(notes <= 40 * apps.len(), "{notes} notes");
        let typical = number(
            &outcome,
            "flows",
            &[("flow", "a"), ("direction", "down")],
            "throughput_p50_mbit",
        );
        assert!((1.9..2.02).contains(&typical), "{typical}");
    }
}
