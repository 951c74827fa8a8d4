//! Tests cake-autorate in a home, in front of a line whose rate changes.

use aqmlab_sim::Outcome;
use serde_json::{Value, json};

use crate::common::{app, home, number, run};

/// Returns a home with CAKE at 40 Mbit/s, a download and a ping. The line behind CAKE has
/// 40 Mbit/s, and 15 Mbit/s from 10 s on.
fn varying(apps: &[Value]) -> Value {
    let cake = json!({"kind": "cake", "params": {"bandwidth": 40_000_000}});
    let mut spec = home(40.0, 40.0, &cake, 40, apps);
    spec["duration_ns"] = json!(30_000_000_000_u64);
    spec["measure"] = json!({"from_ns": 15_000_000_000_u64});
    for link in 0..2 {
        spec["links"][link]["shaper"] = json!("cake");
    }
    for way in ["up", "down"] {
        let steps = json!([{"at_ns": 10_000_000_000_u64, "rate_bps": 15_000_000}]);
        let line = json!({"name": format!("modem-{way}"), "rate_bps": 40_000_000,
            "rate_steps": steps, "qdisc": {"kind": "pfifo"}});
        spec["links"].as_array_mut().unwrap().push(line);
    }
    for app in spec["apps"].as_array_mut().unwrap() {
        app["up"]["links"] = json!([0, 2]);
        app["down"]["links"] = json!([3, 1]);
    }
    spec
}

fn traffic() -> Vec<Value> {
    vec![app("file", "bulk", &json!({"direction": "down"})), app("ping", "ping", &json!({}))]
}

fn rtt_p50_ms(outcome: &Outcome) -> f64 {
    number(outcome, "flows", &[("flow", "ping"), ("direction", "up")], "rtt_p50_ms")
}

#[test]
fn the_rate_follows_a_line_that_slows_down() {
    let rates = json!({"base_down": 40_000_000, "base_up": 35_000_000, "min_down": 10_000_000});
    let with = [traffic(), vec![app("autorate", "cake_autorate", &rates)]].concat();
    let fixed = rtt_p50_ms(&run(&varying(&traffic())));
    let outcome = run(&varying(&with));
    let followed = rtt_p50_ms(&outcome);
    assert!(fixed > 400.0 && followed < 120.0, "{fixed} and {followed} ms");
    let of_app =
        |metric| number(&outcome, "apps", &[("flow", "autorate"), ("metric", metric)], "value");
    assert!(
        (10.0..15.5).contains(&of_app("shaper_down_min_mbit")),
        "{}",
        of_app("shaper_down_min_mbit")
    );
    assert!(of_app("rate_changes_count") > 20.0);
    let carried = number(
        &outcome,
        "flows",
        &[("flow", "file"), ("direction", "down")],
        "throughput_mean_mbit",
    );
    assert!((10.0..15.0).contains(&carried), "{carried} Mbit/s");
}

#[test]
fn a_run_with_rates_that_change_is_determined_by_its_seed() {
    let with = [traffic(), vec![app("autorate", "cake_autorate", &json!({}))]].concat();
    let digest = |seed: u64| {
        let mut spec = varying(&with);
        spec["seed"] = json!(seed);
        run(&spec).digest
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn a_gateway_without_cakes_shaper_is_refused() {
    let apps = [app("autorate", "cake_autorate", &json!({}))];
    let refusal = |spec: &Value| {
        let spec = aqmlab_trial::parse(&spec.to_string()).unwrap();
        aqmlab_trial::check(&spec).expect_err("it needs CAKE").to_string()
    };
    let fq_codel = home(20.0, 8.0, &json!({"kind": "fq_codel"}), 40, &apps);
    let problem = refusal(&fq_codel);
    assert!(problem.starts_with("apps[0].app: changes the rate of a CAKE"), "{problem}");
    let mut half = varying(&apps);
    half["links"][1]["shaper"] = json!("line");
    assert!(refusal(&half).contains("its route down"), "{}", refusal(&half));
    let mut odd = varying(&apps);
    odd["apps"][0]["app"]["params"]["min_down"] = json!(30_000_000);
    let problem = refusal(&odd);
    assert!(problem.starts_with("apps[0].app.min_down: above `base_down`"), "{problem}");
}
