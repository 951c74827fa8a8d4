//! Tests that a run is a function of its spec.

use crate::common::{app, home, run};
use serde_json::{Value, json};

fn mixed(qdisc: &str) -> Value {
    home(
        12.0,
        1.0,
        &json!({"kind": qdisc}),
        40,
        &[
            app("file", "bulk", &json!({"direction": "up"})),
            app("call", "video_call", &json!({})),
            app("film", "dash", &json!({})),
            app("page", "web", &json!({})),
        ],
    )
}

#[test]
fn equal_specs_give_equal_digests_and_tables() {
    for kind in aqmlab_qdisc::kinds::all() {
        let mut spec = mixed(kind.name);
        spec["duration_ns"] = json!(5_000_000_000_u64);
        let (first, second) = (run(&spec), run(&spec));
        assert_eq!(first.digest, second.digest, "{}", kind.name);
        // NaN is not equal to itself, but its printed form is.
        assert_eq!(format!("{:?}", first.tables), format!("{:?}", second.tables), "{}", kind.name);
    }
}

#[test]
fn another_seed_is_another_run() {
    let spec = mixed("fq_codel");
    let mut other = spec.clone();
    other["seed"] = json!(2);
    assert_ne!(run(&spec).digest, run(&other).digest);
}

#[test]
fn measuring_changes_nothing() {
    let spec = mixed("pie");
    let mut bare = spec.clone();
    bare["measure"] = json!({"enabled": false});
    let mut thorough = spec.clone();
    thorough["measure"] = json!({"packets": true, "sample_ns": 10_000_000});
    let mut lean = spec.clone();
    lean["measure"] = json!({"series": false});
    let digest = run(&spec).digest;
    let lean = run(&lean);
    assert_eq!(digest, lean.digest);
    assert!(
        ["windows", "rtt", "tcp_series", "queue_series", "app_series"]
            .iter()
            .all(|name| { lean.table(name).is_some_and(|table| table.rows() == 0) })
    );
    assert_eq!(digest, run(&bare).digest);
    assert_eq!(digest, run(&thorough).digest);
}

#[test]
fn disciplines_see_the_same_draws() {
    // Page sizes come from the application's own stream, so the pages do not depend on the queue.
    let bytes = |qdisc: &str| {
        let mut spec =
            home(100.0, 100.0, &json!({"kind": qdisc}), 10, &[app("page", "web", &json!({}))]);
        spec["host_jitter_ns"] = json!(0);
        crate::common::number(
            &run(&spec),
            "flows",
            &[("flow", "page"), ("direction", "down")],
            "goodput_mbit",
        )
    };
    assert_eq!(bytes("pfifo").to_bits(), bytes("fq_codel").to_bits());
}
