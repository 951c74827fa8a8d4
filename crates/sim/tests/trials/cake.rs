//! Tests CAKE in a home: its own shaper, hosts and codepoints.

use aqmlab_sim::Outcome;
use serde_json::{Value, json};

use crate::common::{app, home, number, run};

/// Returns a home with CAKE and its own shaper at 12 Mbit/s in both directions.
fn shaped(params: &Value, apps: &[Value]) -> Value {
    let mut params = params.clone();
    params["bandwidth"] = json!(12_000_000);
    let mut spec = home(12.0, 12.0, &json!({"kind": "cake", "params": params}), 40, apps);
    for link in 0..2 {
        spec["links"][link]["shaper"] = json!("cake");
    }
    spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
    spec
}

/// Returns a flood of datagrams at 12 Mbit/s to a host. The flood does not respond to drops, so the
/// scheduler alone determines its share.
fn flood(name: &str, host: &str) -> Value {
    let params = json!({"rate": 12_000_000, "payload": 1_000, "direction": "down"});
    let mut flood = app(name, "cbr", &params);
    flood["host"] = json!(host);
    flood
}

fn mbit(outcome: &Outcome, flow: &str) -> f64 {
    number(outcome, "flows", &[("flow", flow), ("direction", "down")], "throughput_mean_mbit")
}

#[test]
fn cakes_own_shaper_gives_the_whole_rate_and_no_more() {
    let outcome = run(&shaped(&json!({}), &[app("file", "bulk", &json!({}))]));
    let rate = mbit(&outcome, "file");
    assert!((11.0..=12.01).contains(&rate), "{rate} Mbit/s");
    let of_link = |column| number(&outcome, "queues", &[("link", "down")], column);
    let (busy, sent) = (of_link("utilisation"), of_link("bytes_out") * 8.0 / 20.0 / 12e6);
    assert!((busy - sent).abs() < 1e-5, "{busy} of the time for {sent} of the rate");
}

#[test]
fn atm_cells_take_their_part_of_the_rate() {
    let outcome = run(&shaped(&json!({"link": "pppoa-vcmux"}), &[app("file", "bulk", &json!({}))]));
    // 1510 bytes are 32 cells of 53 bytes.
    let (rate, most) = (mbit(&outcome, "file"), 12.0 * 1_500.0 / 1_696.0);
    assert!((0.92 * most..=most + 0.01).contains(&rate), "{rate} of {most} Mbit/s");
}

#[test]
fn a_host_with_six_floods_gets_as_much_as_a_host_with_one() {
    let mut apps: Vec<_> = (0..6).map(|one| flood(&format!("many-{one}"), "anna")).collect();
    apps.push(flood("one", "bert"));
    let shares = |isolation: &str| {
        let outcome = run(&shaped(&json!({"isolation": isolation}), &apps));
        ["anna", "bert"].map(|host| {
            number(&outcome, "hosts", &[("host", host), ("direction", "down")], "share_percent")
        })
    };
    for isolation in ["dual-dsthost", "triple-isolate"] {
        let [many, one] = shares(isolation);
        assert!((many - 50.0).abs() < 0.5 && (one - 50.0).abs() < 0.5, "{isolation}: {one} %");
    }
    let [many, one] = shares("flows");
    assert!((one - 100.0 / 7.0).abs() < 0.5 && (many + one - 100.0).abs() < 1e-9, "{one} %");
}

#[test]
fn voice_is_sent_before_best_effort() {
    let p95 = |dscp: u8| {
        let mut call =
            app("call", "cbr", &json!({"rate": 2_000_000, "payload": 1_000, "direction": "down"}));
        call["dscp"] = json!(dscp);
        let many = (0..6).map(|file| app(&format!("file-{file}"), "bulk", &json!({})));
        let apps: Vec<_> = many.chain([call]).collect();
        let spec = shaped(&json!({"isolation": "flowblind"}), &apps);
        number(&run(&spec), "flows", &[("flow", "call"), ("direction", "down")], "owd_p95_ms")
    };
    let (voice, ordinary) = (p95(46), p95(0));
    assert!(voice < 22.0 && ordinary > voice + 5.0, "{voice} and {ordinary} ms");
}

#[test]
fn pfifo_fast_reads_the_priority_of_a_codepoint() {
    let p95 = |dscp: u8| {
        let mut probe = app("probe", "ping", &json!({}));
        probe["dscp"] = json!(dscp);
        let file = app("file", "bulk", &json!({"direction": "up"}));
        let spec = home(12.0, 1.0, &json!({"kind": "pfifo_fast"}), 40, &[file, probe]);
        let row = [("flow", "probe"), ("direction", "up")];
        number(&run(&spec), "flows", &row, "induced_p95_ms")
    };
    // VOICE-ADMIT maps to band 0; EF maps to band 1, as best effort does.
    let (admitted, expedited) = (p95(44), p95(46));
    assert!(admitted < 15.0 && expedited > 200.0, "{admitted} and {expedited} ms");
}

#[test]
fn the_shaper_cake_needs_the_discipline_at_the_rate_of_the_link() {
    let refused = |spec: &Value| {
        let error = aqmlab_trial::check(&aqmlab_trial::parse(&spec.to_string()).unwrap());
        error.expect_err("it is refused").to_string()
    };
    let mut spec = shaped(&json!({}), &[app("file", "bulk", &json!({}))]);
    spec["links"][0]["rate_bps"] = json!(10_000_000);
    assert!(refused(&spec).contains("`bandwidth` to be `rate_bps`, 10000000"));
    spec["links"][0]["qdisc"] = json!({"kind": "fq_codel"});
    assert!(refused(&spec).contains("not of `fq_codel`"), "{}", refused(&spec));
}
