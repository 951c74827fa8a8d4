use super::*;
use crate::testing::{Call, Net, build, close, known, value};

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Word(word, &[]))
}

fn one_page(changes: &[(&'static str, Value)]) -> (Net, Summary) {
    let mut all = vec![("pages", Value::Count(1))];
    all.extend_from_slice(changes);
    let mut net = Net::new(1).with_rate(100_000_000);
    let summary = net.run_secs(&mut *build("web", &all), 30);
    (net, summary)
}

fn opens(net: &Net) -> usize {
    let tcp =
        |call: &Call| matches!(call, Call::Open(open) if open.transport == crate::Transport::Tcp);
    net.calls.iter().filter(|(_, call)| tcp(call)).count()
}

#[test]
fn a_page_of_one_small_object_takes_its_round_trips() {
    let tiny = [word("page", "custom"), ("objects", Value::Count(1)), ("size", bytes(1_000))];
    for (dns, tls, rtts) in [(false, 0, 2.0), (true, 0, 3.0), (false, 1, 3.0), (true, 2, 5.0)] {
        let mut changes = tiny.to_vec();
        changes.push(("dns", Value::Flag(dns)));
        changes.push(("tls_rtts", Value::Count(tls)));
        let (_, summary) = one_page(&changes);
        close(known(&summary, "page_load_p50_ms"), 40.0 * rtts, 1.5);
        close(known(&summary, "first_object_p50_ms"), known(&summary, "page_load_p50_ms"), 0.0);
    }
}

#[test]
fn each_step_of_a_page_takes_a_round_trip() {
    let time = |depth| {
        let changes = [
            word("page", "custom"),
            word("protocol", "http2"),
            ("objects", Value::Count(40)),
            ("size", bytes(4_000)),
            ("hosts", Value::Count(1)),
            ("depth", Value::Count(depth)),
        ];
        known(&one_page(&changes).1, "page_load_p50_ms")
    };
    close(time(3) - time(2), 40.0, 2.0);
    close(time(6) - time(2), 160.0, 4.0);
}

#[test]
fn a_page_of_2016_opens_three_dozen_connections_or_six() {
    let (net, summary) = one_page(&[]);
    assert!((30..=36).contains(&opens(&net)), "{}", opens(&net));
    close(known(&summary, "connections_per_page_mean"), opens(&net) as f64, 0.0);
    let (net, _) = one_page(&[word("protocol", "http2")]);
    assert_eq!(opens(&net), 6);
    close(net.ip_bytes[1] as f64, 2.4e6 * 1.05, 1e5);
}

#[test]
fn http1_asks_for_one_object_at_a_time_on_each_connection() {
    let changes = [
        word("page", "custom"),
        ("objects", Value::Count(21)),
        ("size", bytes(2_100)),
        ("hosts", Value::Count(1)),
        ("connections", Value::Count(1)),
        ("depth", Value::Count(2)),
        ("dns", Value::Flag(false)),
        ("tls_rtts", Value::Count(0)),
    ];
    let (_, summary) = one_page(&changes);
    close(known(&summary, "page_load_p50_ms"), 40.0 * 22.0, 5.0);
}

#[test]
fn a_lost_lookup_is_repeated_after_five_seconds() {
    let mut app = build("web", &[]);
    let mut net = Net::new(1).with_loss(1.0);
    let summary = net.run(
        &mut *app,
        aqmlab_core::Duration::from_secs(12),
        aqmlab_core::Duration::from_secs(20),
    );
    let lookups = net.calls.iter().filter(|(_, call)| matches!(call, Call::Send(..))).count();
    assert_eq!(lookups, 3, "at 0, 5 and 10 s");
    assert_eq!(value(&summary, "page_load_p50_ms"), None);
    close(known(&summary, "unfinished_pages_count"), 1.0, 0.0);
}

#[test]
fn servers_and_readers_take_their_time() {
    let slow = [("server_time", ms(100)), word("page", "small"), ("think", ms(1_000))];
    let mut net = Net::new(1);
    let summary = net.run_secs(&mut *build("web", &slow), 300);
    assert!(known(&summary, "page_load_p50_ms") > 2.0 * (100.0 + 40.0));
    let pages = known(&summary, "pages_count");
    assert!((150.0..300.0).contains(&pages), "{pages}");
    let mut net = Net::new(1);
    let summary = net.run_secs(&mut *build("web", &[word("page", "3gpp")]), 3_000);
    close(known(&summary, "pages_count"), 100.0, 35.0);
}

#[test]
fn a_connection_that_is_lost_is_replaced() {
    let mut net = Net::new(1);
    let mut app = build("web", &[("dns", Value::Flag(false))]);
    app.handle(Notice::Start, &mut net);
    assert_eq!(opens(&net), 1);
    app.handle(Notice::Closed(crate::ConnId(0)), &mut net);
    assert_eq!(opens(&net), 2);
}

#[test]
fn a_page_over_http3_needs_no_round_trip_for_tls_and_none_at_all_if_resumed() {
    let tiny = [word("page", "custom"), ("objects", Value::Count(1)), ("size", bytes(1_000))];
    for (protocol, rtts) in [("http2", 3.0), ("http3", 2.0), ("http3_0rtt", 1.0)] {
        let mut changes = tiny.to_vec();
        changes.push(("dns", Value::Flag(false)));
        changes.push(word("protocol", protocol));
        close(known(&one_page(&changes).1, "page_load_p50_ms"), 40.0 * rtts, 1.5);
    }
}

#[test]
fn a_page_over_http3_has_one_connection_for_a_host_and_one_stream_for_an_object() {
    let (net, summary) = one_page(&[word("protocol", "http3")]);
    assert_eq!(opens(&net), 0);
    let of = |is: fn(&crate::Open) -> bool| {
        let opened = |call: &Call| matches!(call, Call::Open(open) if is(open));
        net.calls.iter().filter(|(_, call)| opened(call)).count()
    };
    assert_eq!(of(|open| open.transport == crate::Transport::Quic && open.over.is_none()), 6);
    assert_eq!(of(|open| open.over.is_some()), 106, "objects of the page");
    close(known(&summary, "connections_per_page_mean"), 6.0, 0.0);
}

#[test]
fn connections_of_http3_are_closed_at_both_ends() {
    for stop in [1, 30] {
        let mut net = Net::new(1).with_rate(2_000_000);
        net.run_secs(&mut *build("web", &[word("protocol", "http3")]), stop);
        let mut conns = Vec::new();
        for (_, call) in &net.calls {
            if let Call::Open(open) = call {
                conns.push(*open);
            }
        }
        for (number, open) in conns.iter().enumerate().filter(|(_, open)| open.over.is_none()) {
            let conn = crate::ConnId(number as u32);
            for side in [aqmlab_core::Side::Home, aqmlab_core::Side::Wan] {
                let closed = net.calls.iter().any(|(_, call)| *call == Call::Close(conn, side));
                assert!(closed, "{open:?} at {side:?}, stopped after {stop} s");
            }
        }
    }
}
