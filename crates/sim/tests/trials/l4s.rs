//! Tests senders for L4S on whole trials.

use serde_json::{Value, json};

use crate::common::{app, home, number, run};

fn down(name: &str) -> [(&str, &str); 2] {
    [("flow", name), ("direction", "down")]
}

/// Returns a download by `cc`, with half of `rtt_ms` in each direction.
fn download(name: &str, cc: &str, rtt_ms: u64) -> Value {
    let mut file = app(name, "bulk", &json!({}));
    let delay = rtt_ms * 500_000;
    file["down"] = json!({"links": [1], "delay_ns": delay});
    file["up"] = json!({"links": [0], "delay_ns": delay});
    file["wan"] = json!({"cc": {"kind": cc}, "settings": {"tcp_ecn": 3}});
    file["home"] = json!({"settings": {"tcp_ecn": 3}});
    file
}

fn trial(mbit: f64, qdisc: &Value, apps: &[Value]) -> Value {
    let mut spec = home(mbit, 10.0, qdisc, 40, apps);
    spec["duration_ns"] = json!(40_000_000_000_u64);
    spec["measure"] = json!({"from_ns": 15_000_000_000_u64});
    spec
}

/// Returns the ratio between the rates of two Prague flows with round-trip times of 5 and 25 ms.
fn ratio(mbit: f64, qdisc: &str, params: &Value) -> f64 {
    let mut apps = [download("short", "prague", 5), download("long", "prague", 25)];
    for app in &mut apps {
        app["wan"]["cc"]["params"] = params.clone();
    }
    let outcome = run(&trial(mbit, &json!({"kind": qdisc}), &apps));
    let rate = |name| number(&outcome, "flows", &down(name), "throughput_mean_mbit");
    assert!(rate("short") + rate("long") > 0.9 * mbit, "{qdisc}: the link of {mbit} Mbit/s idles");
    rate("short") / rate("long")
}

/// Tests statement C-187.
///
/// A flow sends N packets between two reductions. At a share p of marked packets, its window W
/// satisfies W² = 2·(1 − p)·N/p, and N is at least 2/p. If marks are random, the next mark is 1/p
/// packets after the window, and W·p approaches 1 + √3. For equal shares of marked packets, the
/// ratio of two windows is therefore at most (1 + √3)/2. With independence of the round-trip time,
/// both flows have the window for a round-trip time of at least 25 ms, to which the queue adds at
/// most 1 ms. Without independence, each rate is the window divided by the round-trip time. The
/// ratio of the rates is then at least 26/6 divided by (1 + √3)/2. The ratio is greater, because
/// the ramp marks in groups. The flow with the shorter round-trip time waits several round trips
/// for the next group.
///
/// Linux's step marks all packets of a period. The code of Prague's authors names the consequence,
/// which is unfairness between round-trip times. As a remedy, the code varies the pacing rate, but
/// only while it adapts the rate.
#[test]
fn prague_flows_of_different_round_trip_times_share_a_link() {
    let spread = f64::midpoint(1.0, 3.0_f64.sqrt());
    let alone = json!({});
    for mbit in [20.0, 40.0] {
        let ramp = ratio(mbit, "dualpi2_rfc", &alone);
        assert!(ramp.max(1.0 / ramp) <= spread * 26.0 / 25.0, "{mbit} Mbit/s: {ramp}");
    }
    let (step, ramp) = (ratio(40.0, "dualpi2", &alone), ratio(40.0, "dualpi2_rfc", &alone));
    assert!(step > ramp, "{step} with the step, {ramp} with the ramp");
    let dependent = ratio(40.0, "dualpi2_rfc", &json!({"prague_rtt_transition": 4_000_000}));
    assert!(dependent >= 26.0 / 6.0 / spread, "{dependent} without independence");
}

/// Tests statement C-195.
#[test]
fn prague_in_fq_codel_has_a_standing_queue_of_codels_target() {
    let mean = |qdisc: Value| {
        let outcome = run(&trial(40.0, &qdisc, &[download("file", "prague", 20)]));
        let rate = number(&outcome, "flows", &down("file"), "throughput_mean_mbit");
        assert!(rate > 35.0, "{rate} Mbit/s under {qdisc}");
        number(&outcome, "flows", &down("file"), "owd_p50_ms") - 10.0
    };
    let codel = mean(json!({"kind": "fq_codel"}));
    assert!((3.0..12.0).contains(&codel), "{codel} ms");
    let step = mean(json!({"kind": "dualpi2"}));
    assert!(step < 1.5, "{step} ms under dualpi2");
}

#[test]
fn bbr3_fills_a_line_with_little_delay() {
    let qdisc = json!({"kind": "pfifo", "params": {"limit": 1_000}});
    let outcome = run(&trial(40.0, &qdisc, &[download("file", "bbr3", 20)]));
    let rate = number(&outcome, "flows", &down("file"), "throughput_mean_mbit");
    assert!(rate > 36.0, "{rate} Mbit/s");
    let delay = number(&outcome, "flows", &down("file"), "owd_p50_ms") - 10.0;
    assert!(delay < 10.0, "{delay} ms");
}
