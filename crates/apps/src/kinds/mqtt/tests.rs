use super::*;
use crate::testing::{Call, Net, build, close, known, value};

fn qos(word: &'static str) -> (&'static str, Value) {
    ("qos", Value::Word(word, &[]))
}

#[test]
fn packets_have_the_lengths_of_the_standard() {
    assert_eq!(packet(0), 2);
    assert_eq!(packet(127), 129);
    assert_eq!(packet(128), 131);
    assert_eq!(packet(2_097_152), 2_097_157);
    assert_eq!(publish(20, 100, 0), 2 + 22 + 100);
    assert_eq!(publish(20, 104, 1), 1 + 2 + 22 + 2 + 104, "128 remaining take two bytes");
}

#[test]
fn each_quality_of_service_takes_its_round_trips() {
    for (word, acknowledged) in [("0", None), ("1", Some(40.1)), ("2", Some(80.2))] {
        let summary = Net::new(1).run_secs(&mut *build("mqtt", &[qos(word)]), 30);
        close(known(&summary, "delivered_messages"), 30.0, 1.0);
        close(known(&summary, "delivery_p50_ms"), 20.1, 0.1);
        match acknowledged {
            Some(want) => close(known(&summary, "puback_p50_ms"), want, 0.2),
            None => assert_eq!(value(&summary, "puback_p50_ms"), None),
        }
    }
}

#[test]
fn an_idle_client_pings_after_its_keep_alive_time() {
    let changes = [("interval", ms(1_000_000)), ("keepalive", ms(10_000))];
    let mut net = Net::new(1);
    let summary = net.run_secs(&mut *build("mqtt", &changes), 65);
    close(known(&summary, "pings_count"), 6.0, 0.0);
    let pings = net.calls.iter().filter(|(_, call)| matches!(call, Call::Write(_, _, PING)));
    assert_eq!(pings.count(), 12, "each is answered");
    let busy = [("interval", ms(1_000)), ("keepalive", ms(10_000))];
    let summary = Net::new(1).run_secs(&mut *build("mqtt", &busy), 65);
    close(known(&summary, "pings_count"), 0.0, 0.0);
}

#[test]
fn a_keep_alive_time_has_whole_seconds() {
    for (value, want) in [(0, true), (1_000, true), (1_500, false), (65_536_000, false)] {
        assert_eq!(KEEPALIVE.admit(ms(value)), want, "{value} ms");
    }
}

#[test]
fn messages_beyond_the_window_wait_and_are_counted() {
    // With a round trip of 2 s and 20 messages in flight, at most 10 of 100 messages are
    // published per second.
    let mut net = Net::new(1).with_delay(Duration::from_secs(1));
    let app = &mut *build("mqtt", &[("interval", ms(10))]);
    let summary = net.run(app, Duration::from_secs(99), Duration::from_secs(30));
    assert!(known(&summary, "published_messages") <= 10.0 * 30.0 + 20.0);
    assert!(known(&summary, "backlog_messages") > 2_000.0);
    assert!(known(&summary, "puback_max_ms") > 10_000.0, "waiting counts");
}
