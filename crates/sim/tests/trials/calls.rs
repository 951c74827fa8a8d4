//! Tests adaptive calls beside other traffic, by the properties of Google congestion control.

use crate::common::{app, home, number, run};
use aqmlab_sim::Outcome;
use serde_json::{Value, json};

/// Runs a call on 5 Mbit/s in each direction for 80 s, with uploads from 20 s on.
fn beside_uploads(qdisc: &Value, uploads: &[&str]) -> Outcome {
    let mut apps = vec![app("call", "webrtc_call", &json!({}))];
    for name in uploads {
        let mut file = app(name, "bulk", &json!({"direction": "up"}));
        file["start_ns"] = json!(20_000_000_000_u64);
        apps.push(file);
    }
    let mut spec = home(5.0, 5.0, qdisc, 30, &apps);
    spec["duration_ns"] = json!(80_000_000_000_u64);
    spec["measure"] = json!({"from_ns": 30_000_000_000_u64});
    run(&spec)
}

fn rate(outcome: &Outcome, flow: &str) -> f64 {
    number(outcome, "flows", &[("flow", flow), ("direction", "up")], "throughput_mean_mbit")
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    number(outcome, "apps", &[("flow", "call"), ("metric", name)], "value")
}

/// Tests statement C-104.
#[test]
fn a_call_yields_to_cubic_in_a_deep_fifo_and_keeps_its_share_under_fair_queueing() {
    let deep = json!({"kind": "pfifo", "params": {"limit": 1_000}});
    let fifo = beside_uploads(&deep, &["file"]);
    let (call, file) = (rate(&fifo, "call"), rate(&fifo, "file"));
    assert!(call < 0.1 * 5.0 && file > 4.0, "call {call}, upload {file} Mbit/s");
    assert!(metric(&fifo, "frame_delay_up_p95_ms") > 1_000.0);
    assert!(metric(&fifo, "mos_up") < 2.0);

    let fair = beside_uploads(&json!({"kind": "fq_codel"}), &["file"]);
    let (call, file) = (rate(&fair, "call"), rate(&fair, "file"));
    assert!(call > 0.8 * 2.5, "call {call}, upload {file} Mbit/s");
    assert!(metric(&fair, "mos_up") > 3.6, "{}", metric(&fair, "mos_up"));
    assert!(metric(&fair, "rendered_up_fps") > 28.0);
}

#[test]
fn a_call_alone_on_a_slow_fifo_settles_below_its_rate_with_little_delay() {
    let fifo = json!({"kind": "pfifo", "params": {"limit": 1_000}});
    let mut spec = home(1.0, 1.0, &fifo, 30, &[app("call", "webrtc_call", &json!({}))]);
    spec["duration_ns"] = json!(80_000_000_000_u64);
    spec["measure"] = json!({"from_ns": 20_000_000_000_u64});
    let outcome = run(&spec);
    for direction in ["up", "down"] {
        let row = [("flow", "call"), ("direction", direction)];
        let mbit = number(&outcome, "flows", &row, "throughput_mean_mbit");
        assert!((0.75..0.98).contains(&mbit), "{mbit} Mbit/s {direction}");
        let p95 = number(&outcome, "flows", &row, "induced_p95_ms");
        assert!(p95 < 150.0, "{p95} ms {direction}");
    }
}

#[test]
fn a_fast_line_makes_a_call_of_2_5_mbit_and_the_picture_of_720_lines() {
    let mut spec = home(
        10.0,
        10.0,
        &json!({"kind": "fq_codel"}),
        30,
        &[app("call", "webrtc_call", &json!({}))],
    );
    spec["duration_ns"] = json!(40_000_000_000_u64);
    let outcome = run(&spec);
    for direction in ["up", "down"] {
        let video = metric(&outcome, &format!("video_{direction}_mbit"));
        assert!((2.4..2.6).contains(&video), "{video} Mbit/s {direction}");
        // The picture grows by a step after 2 s and after 4 s.
        assert!(metric(&outcome, &format!("top_picture_{direction}_percent")) > 89.0);
        assert!(metric(&outcome, &format!("frozen_{direction}_percent")) < 0.01);
    }
}
