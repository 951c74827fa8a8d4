//! Tests of responsiveness on a plain queue and on managed queues.

use crate::common::{app, home, number, run};
use aqmlab_sim::Outcome;
use aqmlab_trial::Column;
use serde_json::{Value, json};

/// Tests the download of a line of 10 Mbit/s with a round-trip time of 20 ms.
fn download(qdisc: &Value) -> Outcome {
    let test = app("rpm", "rpm", &json!({"direction": "down"}));
    let mut spec = home(10.0, 10.0, qdisc, 20, &[test]);
    spec["duration_ns"] = json!(100_000_000_000_u64);
    run(&spec)
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    number(outcome, "apps", &[("flow", "rpm"), ("metric", name)], "value")
}

/// Tests statement C-244. A queue of 833 packets of 1500 bytes takes a second at 10 Mbit/s. A
/// foreign probe waits in this queue once for each time that it measures. CUBIC reduces its window
/// to seven tenths, so the queue is never much below seven tenths of its limit.
#[test]
fn c244_a_second_of_buffer_gives_60_rpm_and_fair_queueing_keeps_foreign_probes_quick() {
    let fifo = download(&json!({"kind": "pfifo", "params": {"limit": 833}}));
    let foreign = metric(&fifo, "foreign_down_rpm");
    let [emptiest, fullest] = [0.7, 1.0].map(|seconds: f64| 60.0 / (seconds + 0.02));
    assert!((fullest..emptiest).contains(&foreign), "{foreign} RPM");
    // A self probe also waits in the send buffer.
    assert!(metric(&fifo, "loaded_down_rpm") < foreign);
    assert!(metric(&fifo, "responsiveness_down_rpm") < emptiest);

    let fair = download(&json!({"kind": "fq_codel"}));
    // On an idle line each of the times is 20 ms. A single packet of a new flow waits for the
    // packets of a few new flows. The certificates of TLS need three packets, and the last two wait
    // for a packet of each flow of the load: twice 16 packets of 1.2 ms.
    for (name, wait) in [("tcp", 5.0), ("tls", 2.0 * 16.0 * 1.2), ("http", 5.0)] {
        let ms = metric(&fair, &format!("{name}_foreign_down_ms"));
        assert!((20.0..20.0 + wait).contains(&ms), "{name} {ms}");
    }
    assert!(metric(&fair, "responsiveness_down_rpm") > 1_000.0);
    assert!(metric(&fair, "loaded_down_rpm") < metric(&fair, "foreign_down_rpm"));
}

#[test]
fn a_trial_that_ends_in_the_second_stage_reports_the_goodput_of_its_load() {
    // The first stage ends after 14 s, so the last interval has 0.5 s.
    let test = app("rpm", "rpm", &json!({"direction": "up", "interval": 2_000_000_000_u64}));
    let mut spec = home(50.0, 10.0, &json!({"kind": "fq_codel"}), 20, &[test]);
    spec["duration_ns"] = json!(16_500_000_000_u64);
    let outcome = run(&spec);
    assert_eq!(metric(&outcome, "goodput_confidence_up").to_bits(), 3_f64.to_bits());
    assert_eq!(metric(&outcome, "responsiveness_confidence_up").to_bits(), 1_f64.to_bits());
    // The load has what headers of 52 of 1500 bytes and the probes leave of the line.
    let goodput = metric(&outcome, "goodput_up_mbit");
    let most = 10.0 * 1_448.0 / 1_500.0;
    assert!((0.95 * most..most).contains(&goodput), "{goodput} Mbit/s");
}

/// Tests the test's end, at which the client resets its connections. The data that it has not read
/// by then is delivered to no application, so it is no goodput.
#[test]
fn data_that_the_client_never_reads_is_no_goodput() {
    let mut test = app("rpm", "rpm", &json!({"direction": "down", "interval": 500_000_000_u64}));
    test["home"] = json!({"settings": {"wakeup": 20_000_000}});
    let outcome = run(&home(50.0, 10.0, &json!({"kind": "fq_codel"}), 20, &[test]));
    let of = |column| number(&outcome, "flows", &[("flow", "rpm"), ("direction", "down")], column);
    let read = of("goodput_mbit") * 1e6 / 8.0 * (of("active_to_s") - of("active_from_s"));
    let Some(Column::Float(received)) = outcome.table("conns").unwrap().column("bytes_down") else {
        panic!("`bytes_down` is no column of numbers");
    };
    let unread = received.iter().sum::<f64>() - read;
    // In 20 ms, 125,000 bytes arrive.
    assert!((1_448.0..125_000.0).contains(&unread), "{unread} bytes");
}

#[test]
fn both_directions_are_tested_by_themselves() {
    let mut spec = home(
        50.0,
        10.0,
        &json!({"kind": "fq_codel"}),
        20,
        &[app("rpm", "rpm", &json!({"interval": 1_000_000_000_u64}))],
    );
    spec["duration_ns"] = json!(40_000_000_000_u64);
    let outcome = run(&spec);
    for (direction, mbit) in [("down", 50.0), ("up", 10.0)] {
        let of = |name: &str| metric(&outcome, &name.replace('*', direction));
        let most = mbit * 1_448.0 / 1_500.0;
        let goodput = of("goodput_*_mbit");
        assert!((0.9 * most..most).contains(&goodput), "{goodput} Mbit/s {direction}");
        let mean = f64::midpoint(of("foreign_*_rpm"), of("loaded_*_rpm"));
        assert!((of("responsiveness_*_rpm") / mean - 1.0).abs() < 1e-9);
        assert!(of("load_connections_*_count") >= 8.0);
    }
}
