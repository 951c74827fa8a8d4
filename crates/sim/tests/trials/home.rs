//! Tests the performance of a home, at rates for which the result can be computed by hand.

use crate::common::{app, home, number, run};
use aqmlab_trial::Column;
use serde_json::json;

fn up(name: &str) -> [(&str, &str); 2] {
    [("flow", name), ("direction", "up")]
}

#[test]
fn a_lone_download_fills_the_link_and_no_more() {
    for qdisc in [json!({"kind": "pfifo", "params": {"limit": 200}}), json!({"kind": "fq_codel"})] {
        let mut spec = home(12.0, 1.0, &qdisc, 40, &[app("file", "bulk", &json!({}))]);
        spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
        let outcome = run(&spec);
        let row = [("flow", "file"), ("direction", "down")];
        let mbit = number(&outcome, "flows", &row, "throughput_mean_mbit");
        // When CoDel drops a packet, the window is the path's capacity and 5 ms of queue. CUBIC
        // reduces it to 0.7 of this size, which costs some throughput.
        assert!((11.0..=12.01).contains(&mbit), "{mbit} Mbit/s under {qdisc}");
    }
}

#[test]
fn a_full_fifo_delays_everybody_by_its_size_over_its_rate() {
    // 100 packets of 1500 B at 1 Mbit/s take 1.2 s.
    let qdisc = json!({"kind": "pfifo", "params": {"limit": 100}});
    let probe = app("probe", "ping", &json!({}));
    let mut spec =
        home(12.0, 1.0, &qdisc, 40, &[app("file", "bulk", &json!({"direction": "up"})), probe]);
    spec["duration_ns"] = json!(60_000_000_000_u64);
    spec["measure"] = json!({"from_ns": 20_000_000_000_u64});
    let outcome = run(&spec);
    let p95 = number(&outcome, "flows", &up("probe"), "induced_p95_ms");
    assert!((900.0..=1_250.0).contains(&p95), "{p95} ms");
    let base = number(&outcome, "flows", &up("probe"), "rtt_base_ms");
    assert!((base - 40.0).abs() < 1e-9, "{base} ms");
}

#[test]
fn fair_queueing_keeps_the_probe_out_of_it() {
    let probe = app("probe", "ping", &json!({}));
    let file = app("file", "bulk", &json!({"direction": "up"}));
    let mut spec = home(12.0, 1.0, &json!({"kind": "fq_codel"}), 40, &[file, probe]);
    spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
    let outcome = run(&spec);
    let p95 = number(&outcome, "flows", &up("probe"), "induced_p95_ms");
    // One full-sized packet of the upload may be on the wire, which takes 12 ms at 1 Mbit/s.
    assert!(p95 < 15.0, "{p95} ms");
}

#[test]
fn random_loss_is_lost_and_counted() {
    let mut call = app("call", "cbr", &json!({}));
    call["up"] = json!({"links": [0], "delay_ns": 10_000_000, "loss": 0.1});
    let outcome = run(&home(12.0, 1.0, &json!({"kind": "pfifo"}), 20, &[call]));
    let percent = number(&outcome, "flows", &up("call"), "loss_percent");
    assert!((7.0..13.0).contains(&percent), "{percent} %");
}

#[test]
fn two_links_in_a_row_give_the_rate_of_the_slower() {
    let mut file = app("file", "bulk", &json!({}));
    file["down"] = json!({"links": [1, 0], "delay_ns": 10_000_000});
    file["up"] = json!({"links": [], "delay_ns": 10_000_000});
    let mut spec =
        home(10.0, 4.0, &json!({"kind": "pfifo", "params": {"limit": 100}}), 20, &[file]);
    spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
    let outcome = run(&spec);
    let row = [("flow", "file"), ("direction", "down")];
    let mbit = number(&outcome, "flows", &row, "throughput_mean_mbit");
    assert!((3.8..=4.01).contains(&mbit), "{mbit} Mbit/s");
}

#[test]
fn an_application_stops_when_told() {
    let mut file = app("file", "bulk", &json!({}));
    file["stop_ns"] = json!(5_000_000_000_u64);
    let outcome = run(&home(12.0, 1.0, &json!({"kind": "fq_codel"}), 40, &[file]));
    let closed = number(&outcome, "conns", &[("flow", "file")], "closed_s");
    assert!((5.0..8.0).contains(&closed), "closed at {closed} s");
}

/// Runs an upload from a host whose own link of 10 Mbit/s is the bottleneck, with a FIFO of 1000
/// packets. Returns the longest sojourn time in that link and the longest smoothed round-trip time,
/// in milliseconds.
fn own_link(profile: &str) -> [f64; 2] {
    let mut file = app("file", "bulk", &json!({"direction": "up"}));
    file["home"] = json!({"profile": profile});
    let qdisc = json!({"kind": "pfifo"});
    let mut spec = home(100.0, 10.0, &qdisc, 40, &[file]);
    spec["links"][0]["own"] = json!(true);
    let outcome = run(&spec);
    let Some(Column::Float(srtt)) = outcome.table("tcp_series").unwrap().column("srtt_ms") else {
        panic!("there are samples");
    };
    let wait = number(&outcome, "queues", &[("link", "up")], "sojourn_max_ms");
    [wait, srtt.iter().copied().fold(0.0, f64::max)]
}

#[test]
fn a_linux_sender_keeps_its_own_queue_short() {
    // Linux's own queue holds the memory of two segments, or a millisecond of the rate: a few
    // packets of 1.2 ms each. Segments that are held back are not yet sent, so they do not count in
    // the round-trip time.
    let (linux, freebsd) = (own_link("linux"), own_link("freebsd"));
    assert!(linux[0] < 10.0 && linux[1] < 60.0, "{linux:?} ms");
    assert!(freebsd[0] > 100.0 && freebsd[1] > 100.0, "{freebsd:?} ms");
}

/// A flood of datagrams fills the host's own queue for twenty seconds, and the queue drops segments
/// of the upload. Dropped segments do not count in the limit of TCP small queues, so the upload has
/// the whole rate after the flood.
#[test]
fn an_upload_recovers_from_drops_in_its_hosts_own_queue() {
    let file = app("file", "bulk", &json!({"direction": "up"}));
    let flood = json!({"direction": "up", "rate": 11_000_000, "payload": 1_400});
    let mut flood = app("flood", "cbr", &flood);
    (flood["start_ns"], flood["stop_ns"]) = (json!(2_000_000_000_u64), json!(22_000_000_000_u64));
    let mut spec = home(100.0, 10.0, &json!({"kind": "pfifo"}), 40, &[file, flood]);
    spec["links"][0]["own"] = json!(true);
    spec["duration_ns"] = json!(60_000_000_000_u64);
    spec["measure"] = json!({"from_ns": 40_000_000_000_u64});
    let outcome = run(&spec);
    let mbit = number(&outcome, "flows", &up("file"), "throughput_mean_mbit");
    assert!(mbit > 9.5, "{mbit} Mbit/s");
}

#[test]
fn uploads_share_their_hosts_own_queue_although_it_drops() {
    for qdisc in [
        json!({"kind": "codel"}),
        json!({"kind": "fq_codel"}),
        json!({"kind": "pfifo", "params": {"limit": 8}}),
    ] {
        let names: Vec<String> = (0..8).map(|number| format!("file-{number}")).collect();
        let upload = |name: &String| app(name, "bulk", &json!({"direction": "up"}));
        let mut spec = home(100.0, 10.0, &qdisc, 40, &names.iter().map(upload).collect::<Vec<_>>());
        spec["links"][0]["own"] = json!(true);
        spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
        let outcome = run(&spec);
        let sum = |column: &str| -> f64 {
            names.iter().map(|name| number(&outcome, "flows", &up(name), column)).sum()
        };
        assert!(sum("lost") > 0.0, "the own queue drops under {qdisc}");
        assert!(sum("throughput_mean_mbit") > 9.0, "the link is full under {qdisc}");
        for name in &names {
            let mbit = number(&outcome, "flows", &up(name), "throughput_mean_mbit");
            assert!(mbit > 0.6, "{name}: {mbit} Mbit/s under {qdisc}");
        }
    }
}

#[test]
fn pfifo_fast_serves_what_has_priority_first() {
    let file = app("file", "bulk", &json!({"direction": "up"}));
    let p95 = |priority: u64| {
        let mut probe = app("probe", "ping", &json!({}));
        probe["priority"] = json!(priority);
        let spec = home(12.0, 1.0, &json!({"kind": "pfifo_fast"}), 40, &[file.clone(), probe]);
        number(&run(&spec), "flows", &up("probe"), "induced_p95_ms")
    };
    // Priority 6 maps to band 0. Priority 0 maps to band 1, which also carries the upload.
    let (first, ordinary) = (p95(6), p95(0));
    assert!(first < 15.0, "{first} ms");
    assert!(ordinary > 200.0, "{ordinary} ms");
}

#[test]
fn the_mean_rate_is_over_the_time_that_an_application_ran() {
    let qdisc = json!({"kind": "fq_codel"});
    let row = [("flow", "file"), ("direction", "down")];
    let params = json!({"duration": 5_000_000_000_u64});
    let by_itself = app("file", "bulk", &params);
    let mut told = app("file", "bulk", &json!({}));
    told["stop_ns"] = json!(5_000_000_000_u64);
    for file in [by_itself, told] {
        let outcome = run(&home(12.0, 1.0, &qdisc, 40, &[file]));
        let mbit = number(&outcome, "flows", &row, "throughput_mean_mbit");
        assert!((10.0..12.5).contains(&mbit), "{mbit} Mbit/s");
    }
}

/// Tests that an L4S flow that does not respond to marks still has a shorter queue than an equal
/// flow without ECN.
#[test]
fn dualpi2_has_a_short_queue_for_ect1_beside_an_upload() {
    let file = app("file", "bulk", &json!({"direction": "up"}));
    let delay = |ecn: &str| {
        let params = json!({"ecn": ecn, "rate": 100_000, "payload": 200, "direction": "up"});
        let spec = home(
            12.0,
            2.0,
            &json!({"kind": "dualpi2"}),
            40,
            &[file.clone(), app("l4s", "cbr", &params)],
        );
        let outcome = run(&spec);
        let row = [("flow", "l4s"), ("direction", "up")];
        number(&outcome, "flows", &row, "owd_p95_ms")
    };
    // A packet of the upload takes 6 ms. The upload's own queue is near the target of 15 ms.
    let (l4s, classic) = (delay("ect1"), delay("not_ect"));
    assert!(l4s < 20.0 + 7.5, "{l4s} ms");
    assert!(classic > 20.0 + 15.0, "{classic} ms");
}
