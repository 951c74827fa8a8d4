//! Tests QUIC on whole trials.

use std::collections::BTreeSet;

use aqmlab_sim::Outcome;
use aqmlab_trial::Column;
use serde_json::{Value, json};

use crate::common::{app, home, number, run};

fn fifo(packets: u64) -> Value {
    json!({"kind": "pfifo", "params": {"limit": packets}})
}

fn way<'a>(name: &'a str, direction: &'a str) -> [(&'a str, &'a str); 2] {
    [("flow", name), ("direction", direction)]
}

fn transfer(name: &str, transport: &str, size: u64) -> Value {
    app(name, "bulk", &json!({"transport": transport, "size": size}))
}

fn seconds(spec: &Value, name: &str) -> f64 {
    number(&run(spec), "apps", &[("flow", name), ("metric", "completion_time_s")], "value")
}

#[test]
fn a_download_fills_the_line_and_has_rows_in_every_table() {
    let file = app("file", "bulk", &json!({"transport": "quic"}));
    let mut spec = home(20.0, 5.0, &fifo(100), 40, &[file]);
    spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
    let outcome = run(&spec);
    let rate = number(&outcome, "flows", &way("file", "down"), "throughput_mean_mbit");
    // The interval of 15 s may contain one packet more than the line's rate carries.
    let packet = 1_480.0 * 8.0 / 15e6;
    assert!((18.5..=20.0 + packet).contains(&rate), "{rate} Mbit/s");
    // A full packet of 1480 bytes has at most 1418 bytes of the application.
    let goodput = number(&outcome, "flows", &way("file", "down"), "goodput_mbit");
    assert!((0.95..0.965).contains(&(goodput / rate)), "{goodput} of {rate} Mbit/s");
    assert!(number(&outcome, "flows", &way("file", "down"), "loss_percent") > 0.0);
    let rtt = number(&outcome, "flows", &way("file", "down"), "rtt_p50_ms");
    assert!((40.0..150.0).contains(&rtt), "{rtt} ms");
    let row = [("flow", "file")];
    let established = number(&outcome, "conns", &row, "established_s");
    assert!((0.04..0.05).contains(&established), "{established} s");
    for column in ["retransmissions", "fast_recoveries", "bytes_down"] {
        assert!(number(&outcome, "conns", &row, column) > 0.0, "{column}");
    }
    let samples = outcome.table("tcp_series").expect("there is a series");
    assert!(samples.rows() > 10);
}

/// Tests statement C-235, second half: with one stream, QUIC and TCP take about the same time.
#[test]
fn a_transfer_takes_about_as_long_as_over_tcp() {
    for cc in ["cubic", "reno", "bbr"] {
        let took = |transport| {
            let mut file = transfer("file", transport, 10_000_000);
            file["wan"] = json!({"cc": {"kind": cc}});
            seconds(&home(10.0, 5.0, &fifo(100), 40, &[file]), "file")
        };
        let (tcp, quic) = (took("tcp"), took("quic"));
        // QUIC's headers take 4.2 % of a packet, and TCP's 3.5 %.
        assert!((quic / tcp - 1.0).abs() < 0.05, "{cc}: {quic} s over QUIC, {tcp} s over TCP");
    }
}

#[test]
fn a_resumed_connection_saves_a_round_trip() {
    let took = |transport| {
        seconds(&home(10.0, 5.0, &fifo(100), 100, &[transfer("file", transport, 5_000)]), "file")
    };
    let (full, resumed) = (took("quic"), took("quic_0rtt"));
    assert!((full - resumed - 0.1).abs() < 0.01, "{full} s and {resumed} s");
}

#[test]
fn marks_replace_losses() {
    let mut file = app("file", "bulk", &json!({"transport": "quic"}));
    file["wan"] = json!({"ecn": true});
    let outcome = run(&home(20.0, 5.0, &json!({"kind": "fq_codel"}), 40, &[file]));
    let row = [("flow", "file")];
    assert!(number(&outcome, "conns", &row, "ece_reductions") > 3.0);
    assert!(number(&outcome, "flows", &way("file", "down"), "lost") < 1.0);
}

#[test]
fn fair_queueing_sees_one_flow_of_udp() {
    let apps = [transfer("tcp", "tcp", 0), transfer("quic", "quic", 0)];
    let mut spec = home(20.0, 5.0, &json!({"kind": "fq_codel"}), 40, &apps);
    spec["measure"] = json!({"from_ns": 5_000_000_000_u64});
    let outcome = run(&spec);
    let rate = |name| number(&outcome, "flows", &way(name, "down"), "throughput_mean_mbit");
    let share = rate("quic") / (rate("tcp") + rate("quic"));
    assert!((0.45..0.55).contains(&share), "{share}");
}

#[test]
fn a_capture_has_datagrams_of_udp() {
    let mut spec = home(10.0, 5.0, &fifo(100), 40, &[transfer("file", "quic", 100_000)]);
    spec["measure"] = json!({"packets": true});
    let outcome = run(&spec);
    let (mut at_home, mut at_wan) = (Vec::new(), Vec::new());
    outcome.write_captures(&mut at_home, &mut at_wan).expect("memory can be written to");
    for capture in [at_home, at_wan] {
        let (mut rest, mut packets, mut kinds) = (&capture[24..], 0, BTreeSet::new());
        while let Some((header, later)) = rest.split_at_checked(16) {
            let kept = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
            let (packet, later) = later.split_at(kept as usize);
            let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            kinds.insert((packet[9], port(20).min(port(22))));
            (rest, packets) = (later, packets + 1);
        }
        assert!(packets > 100, "{packets}");
        assert_eq!(kinds, BTreeSet::from([(17, 443)]), "protocol and port");
    }
}

#[test]
fn equal_trials_have_equal_digests_whatever_is_measured() {
    let spec = home(10.0, 5.0, &fifo(30), 40, &[transfer("file", "quic", 3_000_000)]);
    let mut bare = spec.clone();
    bare["measure"] = json!({"enabled": false});
    assert_eq!(run(&spec).digest, run(&bare).digest);
}

#[test]
fn controllers_that_need_tcp_and_small_mtus_are_refused() {
    for (end, said) in [
        (json!({"cc": {"kind": "dctcp"}}), "apps[0].wan.cc: `dctcp` needs"),
        (json!({"cc": {"kind": "bbr3"}}), "apps[0].wan.cc: `bbr3` needs"),
        (json!({"mtu": 1_000}), "apps[0].wan.mtu: 1000 B: QUIC needs 1228 B"),
    ] {
        let mut file = transfer("file", "quic", 0);
        file["wan"] = end;
        let spec = home(10.0, 5.0, &fifo(30), 40, &[file]);
        let spec = aqmlab_trial::parse(&spec.to_string()).expect("it is a trial");
        let error = aqmlab_trial::check(&spec).expect_err("it is refused").to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn a_table_of_connections_has_one_row_for_a_connection() {
    let outcome = run(&home(10.0, 5.0, &fifo(30), 40, &[transfer("file", "quic", 1_000)]));
    let conns = outcome.table("conns").expect("there is a table");
    assert_eq!(conns.rows(), 1);
    assert!(matches!(conns.column("closed_s"), Some(Column::Float(at)) if at[0] > 0.0));
}

/// Runs one page with one object of `size` bytes over a line of 20 Mbit/s with a round-trip time of
/// 100 ms.
fn page_of_one_object(protocol: &str, size: u64) -> Outcome {
    let params = json!({
        "protocol": protocol, "pages": 1, "page": "custom", "objects": 1, "size": size, "hosts": 1,
    });
    run(&home(20.0, 5.0, &fifo(100), 100, &[app("browsing", "web", &params)]))
}

fn load_ms(outcome: &Outcome) -> f64 {
    let row = [("flow", "browsing"), ("metric", "page_load_p50_ms")];
    number(outcome, "apps", &row, "value")
}

#[test]
fn pages_over_http3_open_sooner_and_resumed_ones_soonest() {
    // The object is small, so that only the handshakes differ.
    let pages =
        ["http2", "http3", "http3_0rtt"].map(|protocol| page_of_one_object(protocol, 5_000));
    let conns = pages[1].table("conns").expect("there is a table").rows();
    assert_eq!(conns, 1, "streams are not connections");
    let [http2, http3, resumed] = pages.each_ref().map(load_ms);
    assert!((http2 - http3 - 100.0).abs() < 10.0, "{http2} ms and {http3} ms");
    assert!((http3 - resumed - 100.0).abs() < 10.0, "{http3} ms and {resumed} ms");
}

/// Tests that a response of ten datagrams saves no round trip over HTTP/3. The initial window of
/// QUIC has ten datagrams of 1452 bytes, up to 1418 bytes of them data. The server sends
/// `HANDSHAKE_DONE` before its response. While it is in flight, only nine full datagrams fit into
/// the window (RFC 9001 §4.1.2, RFC 9002 §7 and §7.2). TCP's initial window has ten segments of
/// 1448 bytes. A response has 300 bytes in addition to its object.
#[test]
fn a_response_of_ten_datagrams_saves_no_round_trip_over_http3() {
    let nine = 9 * 1_418 - 300;
    for (size, saved_ms) in [(nine - 200, 100.0), (nine + 50, 0.0), (14_100, 0.0), (14_400, 100.0)]
    {
        let [http2, http3] =
            ["http2", "http3"].map(|protocol| load_ms(&page_of_one_object(protocol, size)));
        let saves_ms = http2 - http3;
        assert!((saves_ms - saved_ms).abs() < 3.0, "{size} bytes: HTTP/3 saves {saves_ms} ms");
    }
}

#[test]
fn pages_over_http3_survive_losses_and_close_their_connections() {
    for protocol in ["http3", "http3_0rtt"] {
        let params = json!({"protocol": protocol, "think": 1_000_000_000});
        let mut browsing = app("browsing", "web", &params);
        browsing["stop_ns"] = json!(12_000_000_000_u64);
        let mut spec = home(20.0, 5.0, &fifo(20), 40, &[browsing]);
        spec["apps"][0]["down"]["loss"] = json!(0.02);
        let outcome = run(&spec);
        let row = [("flow", "browsing"), ("metric", "pages_count")];
        assert!(number(&outcome, "apps", &row, "value") >= 2.0);
        let conns = outcome.table("conns").expect("there is a table");
        let Some(Column::Float(closed)) = conns.column("closed_s") else { panic!("no column") };
        assert!(closed.len() >= 12 && closed.iter().all(|at| at.is_finite()), "{closed:?}");
    }
}

/// Tests that a client whose packets are all lost gives up, although its server has heard nothing:
/// over QUIC after 30 s without a packet, and over TCP after the last repetition of the SYN. On
/// Linux this is after 127 s, and by up to an eighth later because of the timer wheel.
#[test]
fn a_client_that_gives_up_unheard_closes_the_connection() {
    for (transport, duration_s, closes_s) in
        [("quic", 40, 30.0..30.1), ("tcp", 145, 127.0..127.0 * 1.125)]
    {
        let mut spec = home(10.0, 5.0, &fifo(30), 40, &[transfer("file", transport, 1_000)]);
        spec["duration_ns"] = json!(duration_s * 1_000_000_000_u64);
        spec["apps"][0]["down"]["loss"] = json!(1.0);
        let closed = number(&run(&spec), "conns", &[("flow", "file")], "closed_s");
        assert!(closes_s.contains(&closed), "{transport}: {closed} s");
    }
}

#[test]
fn a_browser_over_http3_connects_again_after_its_client_has_given_up() {
    let params = json!({"protocol": "http3", "hosts": 1, "dns": false});
    let mut spec = home(20.0, 5.0, &fifo(30), 40, &[app("browsing", "web", &params)]);
    spec["duration_ns"] = json!(40_000_000_000_u64);
    spec["apps"][0]["up"]["loss"] = json!(1.0);
    assert_eq!(run(&spec).table("conns").expect("there is a table").rows(), 2);
}
