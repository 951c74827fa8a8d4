//! Tests whole trials over 802.11n.

use crate::common::{app, home, number, run};
use aqmlab_sim::Outcome;
use aqmlab_trial::Column;
use serde_json::{Value, json};

const UP: [(&str, &str); 2] = [("flow", "file"), ("direction", "up")];

/// Returns a home of 1 Gbit/s whose hosts share one radio in each direction, with `qdisc` above
/// both radios.
fn wireless(qdisc: &str, mcs: u8, apps: &[Value]) -> Value {
    let mut spec = home(1_000.0, 1_000.0, &json!({"kind": "pfifo"}), 20, apps);
    let radio = |name: &str, own: bool| {
        json!({"name": name, "qdisc": {"kind": qdisc}, "own": own, "wifi": {
            "cell": 0, "mcs": mcs, "width_mhz": 20, "short_guard": false, "loss": 0.0,
            "aggregate": 32, "airtime_ns": 4_096_000, "driver": 124,
        }})
    };
    let links = spec["links"].as_array_mut().unwrap();
    links.extend([radio("wifi-up", true), radio("wifi-down", false)]);
    for app in spec["apps"].as_array_mut().unwrap() {
        app["up"]["links"] = json!([2, 0]);
        app["down"]["links"] = json!([1, 3]);
    }
    spec
}

fn bulk(direction: &str) -> Vec<Value> {
    vec![
        app("file", "bulk", &json!({"direction": direction})),
        app("ping", "ping", &json!({"interval": 50_000_000})),
    ]
}

fn rtt_ms(outcome: &Outcome, quantile: &str) -> f64 {
    number(outcome, "flows", &[("flow", "ping"), ("direction", "up")], quantile)
}

/// Tests the throughput of a transfer on the air. A full aggregate of 21 frames takes 4028 us, and
/// acknowledgements share the air. The throughput is below the 60 Mbit/s of datagrams alone, and
/// far above the 31 Mbit/s without aggregates.
#[test]
fn a_transfer_gets_what_the_air_allows() {
    for direction in ["up", "down"] {
        let outcome = run(&wireless("fq_codel", 7, &bulk(direction)));
        let row = [("flow", "file"), ("direction", direction)];
        let mbit = number(&outcome, "flows", &row, "throughput_mean_mbit");
        assert!((40.0..60.0).contains(&mbit), "{direction}: {mbit} Mbit/s");
    }
}

/// Tests that the discipline cannot control the driver's queue. At 13 Mbit/s, the 124 frames of
/// that queue take more than 90 ms, which CoDel does not measure.
#[test]
fn a_discipline_does_not_control_what_waits_below_it() {
    let mut greedy = wireless("fq_codel", 1, &bulk("down"));
    greedy["duration_ns"] = json!(10_000_000_000_u64);
    let outcome = run(&greedy);
    let sojourn = number(&outcome, "queues", &[("link", "wifi-down")], "sojourn_p50_ms");
    assert!(sojourn < 30.0, "the discipline keeps what it holds short: {sojourn} ms");
    let rtt = rtt_ms(&outcome, "rtt_p50_ms");
    assert!(rtt > 20.0 + 90.0, "{rtt} ms");
    // If the driver has room for only one aggregate, nearly the whole queue is in the discipline.
    for link in [2, 3] {
        greedy["links"][link]["wifi"]["driver"] = json!(8);
    }
    let controlled = rtt_ms(&run(&greedy), "rtt_p50_ms");
    assert!(controlled < rtt / 2.0, "{controlled} ms with a short driver's queue, {rtt} with 124");
}

/// Tests the shaper of CAKE above a radio. The shaper lets packets wait although the driver has
/// room. A call that fills the driver must not be repeated at the same instant.
#[test]
fn the_shaper_of_cake_limits_a_radio() {
    let mut spec = wireless("cake", 7, &bulk("down"));
    for link in [2, 3] {
        spec["links"][link]["qdisc"]["params"] = json!({"bandwidth": 12_000_000});
        spec["links"][link]["wifi"]["driver"] = json!(1);
    }
    let row = [("flow", "file"), ("direction", "down")];
    let mbit = number(&run(&spec), "flows", &row, "throughput_mean_mbit");
    assert!((10.0..=12.01).contains(&mbit), "{mbit} Mbit/s");
}

#[test]
fn nobody_else_s_queue_grows_when_frames_are_lost() {
    let mut spec = wireless("fq_codel", 7, &bulk("up"));
    for link in [2, 3] {
        spec["links"][link]["wifi"]["loss"] = json!(0.2);
    }
    let outcome = run(&spec);
    // The radio repeats lost frames, so TCP sees hardly any loss.
    let loss = number(&outcome, "flows", &UP, "loss_percent");
    assert!(loss < 0.5, "{loss} %");
    assert!(number(&outcome, "flows", &UP, "throughput_mean_mbit") > 25.0);
}

#[test]
fn drivers_show_what_they_hold() {
    let outcome = run(&wireless("fq_codel", 1, &bulk("down")));
    let gauges = outcome.table("queue_gauges").unwrap();
    let (Some(Column::Word(which, words)), Some(Column::Float(values))) =
        (gauges.column("gauge"), gauges.column("value"))
    else {
        panic!("gauges are words and numbers")
    };
    let of = |name: &str| {
        let known = words.iter().position(|word| *word == name).expect("it is shown") as u32;
        let rows = which.iter().zip(values).filter(move |(index, _)| **index == known);
        rows.map(|(_, value)| *value).fold(0.0, f64::max)
    };
    assert!((120.0..=124.0).contains(&of("driver_packets")), "{}", of("driver_packets"));
    assert!(of("driver_oldest_ms") > 50.0);
}

#[test]
fn what_a_radio_cannot_be_is_refused_with_its_place() {
    for (key, value, want) in [
        ("mcs", json!(8), "links[2].rate_bps: `65000000` is not its radio's 13000000"),
        ("mcs", json!(32), "links[2].wifi.mcs: `32` is not an index of 802.11n, 0 to 31"),
        ("width_mhz", json!(80), "links[2].wifi.width: `80` is neither 20 nor 40 MHz"),
        ("loss", json!(1.0), "links[2].wifi.loss: `1` is not from 0 to less than 1"),
        ("aggregate", json!(64), "links[2].wifi.aggregate: `64 frames` is not between 1 and 32"),
        ("driver", json!(0), "links[2].wifi.driver: `0 frames` is not between 1 and 10000"),
        ("airtime_ns", json!(1), "links[2].wifi.airtime: `0 us` is not between 100 and 10000 us"),
    ] {
        let mut spec = wireless("pfifo", 7, &bulk("up"));
        spec["links"][2]["rate_bps"] = json!(65_000_000);
        spec["links"][2]["wifi"][key] = value;
        let spec = aqmlab_trial::parse(&spec.to_string()).unwrap();
        let got = aqmlab_trial::check(&spec).unwrap_err().to_string();
        assert!(got.contains(want), "{key}: `{got}` does not contain `{want}`");
    }
}
