use aqmlab_core::{Duration, Side};

use super::*;
use crate::testing::{Call, Net, build, close, known, value};
use crate::{ConnId, Transport};

/// A load that does not grow. Its connections together fill the link of the test's network.
const STEADY: [(&str, Value); 2] = [("initial", Value::Count(4)), ("increment", Value::Count(0))];

/// The goodput of the test's network in Mbit/s: its rate without headers.
const GOODPUT_MBIT: f64 = 10.0 * 1_448.0 / 1_500.0;
/// The maximum rate of all probes together, in Mbit/s.
const PROBES_MBIT: f64 = 0.05 * GOODPUT_MBIT;

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Word(word, &[]))
}

/// Returns a test with a steady load and `changes`.
fn steady(changes: &[(&str, Value)]) -> Box<dyn App> {
    build("rpm", &[&STEADY, changes].concat())
}

fn run(changes: &[(&str, Value)], seconds: u64) -> (Net, Summary) {
    let mut net = Net::new(1);
    let summary = net.run_secs(&mut *steady(changes), seconds);
    (net, summary)
}

#[test]
fn a_steady_line_is_tested_in_eleven_intervals_of_each_direction() {
    let mut net = Net::new(1);
    let mut app = steady(&[]);
    let summary = net.run_secs(&mut *app, 200);
    // The window of the goodput is full after four intervals, and four of its averages must agree.
    // Four values of the responsiveness follow.
    assert_eq!(app.ended(), Some(Instant::from_millis(2 * 11 * 5_000)));
    for direction in ["down", "up"] {
        for stage in ["goodput", "responsiveness"] {
            close(known(&summary, &format!("{stage}_confidence_{direction}")), 3.0, 0.0);
        }
        close(known(&summary, &format!("load_connections_{direction}_count")), 4.0, 0.0);
    }
    close(known(&summary, "aborted_count"), 0.0, 0.0);
}

#[test]
fn each_interval_adds_a_connection_until_there_are_enough() {
    let changes = [word("direction", "down"), ("connections", Value::Count(5))];
    for (seconds, count) in [(4, 1), (6, 2), (18, 4), (50, 5)] {
        let summary = Net::new(1).run_secs(&mut *build("rpm", &changes), seconds);
        close(known(&summary, "load_connections_down_count"), f64::from(count), 0.0);
    }
}

#[test]
fn each_direction_is_loaded_by_itself() {
    for (direction, with, against) in [("down", 1, 0), ("up", 0, 1)] {
        let (net, summary) = run(&[word("direction", direction)], 55);
        let mbit = net.ip_bytes[with] as f64 * 8.0 / 55e6;
        assert!((9.0..10.3).contains(&mbit), "{mbit} Mbit/s {direction}");
        assert!(net.ip_bytes[against] * 10 < net.ip_bytes[with], "{direction}");
        let goodput = known(&summary, &format!("goodput_{direction}_mbit"));
        close(goodput, GOODPUT_MBIT, PROBES_MBIT);
    }
    let (_, summary) = run(&[], 50);
    assert!(value(&summary, "goodput_down_mbit").is_some());
    assert_eq!(value(&summary, "goodput_up_mbit"), None, "the upload has not begun");
}

#[test]
fn a_trial_that_ends_in_the_second_stage_reports_the_goodput_of_its_load() {
    // The first stage ends after 14 s, and the last interval has 0.5 s when the trial ends.
    let changes = [("interval", ms(2_000)), word("direction", "down")];
    let at = Duration::from_millis(16_500);
    let stopped = Net::new(1).run(&mut *steady(&changes), at, at + Duration::from_secs(9));
    let cut = Net::new(1).run(&mut *steady(&changes), at * 2, at);
    for summary in [stopped, cut] {
        close(known(&summary, "goodput_down_mbit"), GOODPUT_MBIT, PROBES_MBIT);
        close(known(&summary, "goodput_confidence_down"), 3.0, 0.0);
        close(known(&summary, "responsiveness_confidence_down"), 1.0, 0.0);
        assert!(known(&summary, "responsiveness_down_rpm") > 0.0);
    }
}

#[test]
fn a_foreign_probe_measures_a_round_trip_of_each_protocol() {
    // The handshake of TCP does not wait in the test's network. The other messages wait behind the
    // data in the send buffers, at most four times 64 KiB, which take 217 ms.
    let with_queue = 40.0..40.0 + 217.0;
    for (tls, changes) in [
        (true, vec![]),
        (true, vec![("tls_rtts", Value::Count(2))]),
        (false, vec![("tls_rtts", Value::Count(0))]),
    ] {
        let all: Vec<_> = [word("direction", "up")].into_iter().chain(changes).collect();
        let (_, summary) = run(&all, 40);
        close(known(&summary, "tcp_foreign_up_ms"), 40.0, 0.01);
        let tls_ms = value(&summary, "tls_foreign_up_ms");
        assert_eq!(tls_ms.is_some(), tls);
        assert!(tls_ms.is_none_or(|ms| with_queue.contains(&ms)), "{tls_ms:?}");
        let http_ms = known(&summary, "http_foreign_up_ms");
        assert!(with_queue.contains(&http_ms), "{http_ms}");
        let times = [Some(40.0), tls_ms, Some(http_ms)];
        let times: Vec<f64> = times.into_iter().flatten().collect();
        let rpm = 60_000.0 * times.len() as f64 / times.iter().sum::<f64>();
        close(known(&summary, "foreign_up_rpm"), rpm, 0.5);
    }
}

#[test]
fn a_self_probe_waits_behind_the_data_of_its_sender() {
    for direction in ["down", "up"] {
        let (_, summary) = run(&[word("direction", direction)], 40);
        let of = |name: &str| known(&summary, &name.replace('*', direction));
        // The send buffer accepts a message only when a third of its 64 KiB is free.
        assert!(of("http_loaded_*_ms") > of("http_foreign_*_ms"), "{summary:?}");
        let mean = f64::midpoint(of("foreign_*_rpm"), of("loaded_*_rpm"));
        close(of("responsiveness_*_rpm"), mean, 1e-9);
    }
}

#[test]
fn probes_take_at_most_their_share_of_the_line() {
    for (mbit, share) in [(10, 0.05), (2, 0.05), (10, 0.01)] {
        let changes = [word("direction", "down"), ("probe_share", Value::Number(share))];
        let mut net = Net::new(1).with_rate(mbit * 1_000_000);
        net.run_secs(&mut *steady(&changes), 25);
        let tcp =
            |call: &Call| matches!(call, Call::Open(open) if open.transport == Transport::Tcp);
        // The probes begin after 5 s, and four connections are the load.
        let pairs = net.calls.iter().filter(|(_, call)| tcp(call)).count() as f64 - 4.0;
        let most = 20.0 * share * mbit as f64 * 1e6 / 48_000.0;
        assert!((0.85 * most..=most + 1.0).contains(&pairs), "{pairs} of {most}");
    }
}

#[test]
fn self_probes_use_all_connections_of_the_load() {
    let (net, _) = run(&[word("direction", "down")], 40);
    let requests = |conn| {
        let on = |call: &Call| *call == Call::Write(ConnId(conn), Side::Home, 400);
        net.calls.iter().filter(|(_, call)| on(call)).count()
    };
    let counts = [0, 1, 2, 3].map(requests);
    let mean = counts.iter().sum::<usize>() / 4;
    assert!(counts.iter().all(|count| (mean / 2..2 * mean).contains(count)), "{counts:?}");
    assert!(mean > 40, "{counts:?}");
}

#[test]
fn a_failed_connection_of_the_load_ends_the_test_without_a_result() {
    let mut app = steady(&[]);
    let mut net = Net::new(1);
    app.handle(Notice::Start, &mut net);
    app.handle(Notice::Closed(ConnId(0)), &mut net);
    assert_eq!(app.ended(), None, "the driver must notice the end");
    // The wake-up of the first interval of the download.
    app.handle(Notice::Wake(1 << 1), &mut net);
    assert_eq!(app.ended(), Some(Instant::ZERO));
    let summary = app.summary(Instant::from_millis(60_000));
    assert_eq!(summary, [("aborted_count", 1.0)]);
    let opened = net.calls.iter().filter(|(_, call)| matches!(call, Call::Open(_))).count();
    assert_eq!(opened, 4, "the upload is not tested");
}

#[test]
fn a_trial_that_ends_in_the_first_interval_has_no_responsiveness() {
    let (_, summary) = run(&[], 4);
    assert_eq!(value(&summary, "responsiveness_down_rpm"), None);
    close(known(&summary, "goodput_confidence_down"), 1.0, 0.0);
    close(known(&summary, "foreign_probes_down_count"), 0.0, 0.0);
}
