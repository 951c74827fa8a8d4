//! Tests of the contract that every registered kind must obey.

use aqmlab_core::{Args, BitRate, Bytes, Duration, Instant, Kind, Side, Value};
use proptest::prelude::*;

use crate::kinds::all;
use crate::needs::Measure;
use crate::testing::{Call, Net};
use crate::{App, Carries, ConnId, Notice, Transport};

const SECONDS: u64 = 40;
/// A time in which every kind makes all of its measurements.
const LONG_SECONDS: u64 = 120;

fn fresh(kind: &Kind<dyn App>) -> Box<dyn App> {
    (kind.build)(&Args::defaults(kind.params))
}

fn networks() -> Vec<(&'static str, Net)> {
    vec![
        ("a fast line", Net::new(7)),
        ("a slow line", Net::new(7).with_rate(200_000)),
        ("a lossy line", Net::new(7).with_loss(0.2)),
        ("a dead line", Net::new(7).with_loss(1.0)),
        ("a long line", Net::new(7).with_delay(Duration::from_millis(1_500))),
    ]
}

#[test]
fn declarations_are_complete() {
    let mut names: Vec<_> = all().map(|kind| kind.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for kind in all() {
        let name = kind.name;
        assert!(!kind.source.is_empty(), "{name}: say what it follows");
        assert!(!kind.summary.is_empty() && !kind.summary.ends_with('.'), "{name}: a phrase");
        let mut params: Vec<_> = kind.params.iter().map(|param| param.name).collect();
        params.sort_unstable();
        assert!(params.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {params:?}");
        for param in kind.params {
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(param.name.chars().all(snake), "{name}.{}", param.name);
            assert!(param.doc.ends_with('.'), "{name}.{}: a sentence", param.name);
            assert!(param.bounds.admit(param.default), "{name}.{}: out of bounds", param.name);
        }
    }
}

#[test]
fn every_name_that_scenarios_rely_on_is_there() {
    for name in [
        "bulk",
        "bursts",
        "notification",
        "photo_upload",
        "iot_low",
        "iot_high",
        "telemetry",
        "mqtt",
        "coap",
        "cbr",
        "video_call",
        "webrtc_call",
        "voip",
        "voip_g729",
        "game",
        "dash",
        "audio_stream",
        "web",
        "irtt",
        "ping",
        "rpm",
        "cake_autorate",
    ] {
        assert!(crate::kinds::find(name).is_some(), "{name}");
    }
}

#[test]
fn every_kind_sends_what_it_says_it_carries() {
    for kind in all() {
        let mut net = Net::new(7);
        let mut app = fresh(kind);
        net.run_secs(&mut *app, SECONDS);
        let [up, down] = net.ip_bytes;
        assert!(up + down > 0, "{} sent nothing", kind.name);
        match app.carries() {
            Carries::Both => assert!(up > 0 && down > 0, "{}: {up}, {down}", kind.name),
            // A ping has equal bytes in both directions. Other one-way traffic has more bytes in
            // its own direction.
            Carries::One(way) => {
                let (with, against) = if way.index() == 0 { (up, down) } else { (down, up) };
                assert!(with >= against, "{}: {up} up, {down} down", kind.name);
            }
        }
    }
}

#[test]
fn every_kind_states_its_needs_with_limits_in_order_and_their_sources() {
    for kind in all() {
        let stated = crate::kinds::needs_of(kind.name);
        let needs = stated.unwrap_or_else(|| panic!("{} states no needs", kind.name));
        assert!(!needs.fine.is_empty(), "{}", kind.name);
        for (number, need) in needs.needs.iter().enumerate() {
            let said = format!("{}: {}", kind.name, need.name);
            let sign = if need.more_is_better { -1.0 } else { 1.0 };
            assert!(sign * need.best <= sign * need.good, "{said}");
            assert!(sign * need.good <= sign * need.tolerable, "{said}");
            assert!(!need.source.is_empty() && !need.felt.is_empty(), "{said}");
            let before = &needs.needs[..number];
            assert!(before.iter().all(|other| other.name != need.name), "{said} stands twice");
        }
    }
}

#[test]
fn every_kind_reports_the_measures_of_its_needs() {
    for kind in all() {
        let (mut net, mut app) = (Net::new(7), fresh(kind));
        let summary = net.run_secs(&mut *app, LONG_SECONDS);
        let Some(needs) = crate::kinds::needs_of(kind.name) else { continue };
        let reported = |name: &str| summary.iter().any(|(metric, _)| *metric == name);
        for need in needs.needs {
            let Measure::Own(metrics) = need.measure else { continue };
            // A timed transfer has one of two metrics, depending on whether it has a deadline or a
            // size.
            if kind.name != "bursts" {
                assert!(metrics.iter().all(|name| reported(name)), "{}: {metrics:?}", kind.name);
            }
            assert!(need.at_most.is_none_or(reported), "{}: {}", kind.name, need.name);
        }
    }
}

#[test]
fn every_kind_opens_tcp_connections_if_it_says_so() {
    for kind in all() {
        let (mut net, mut app) = (Net::new(7), fresh(kind));
        net.run_secs(&mut *app, SECONDS);
        let is_tcp =
            |call: &Call| matches!(call, Call::Open(open) if open.transport == Transport::Tcp);
        let opens_tcp = net.calls.iter().any(|(_, call)| is_tcp(call));
        assert_eq!(opens_tcp, app.uses_tcp(), "{}", kind.name);
    }
}

#[test]
fn nothing_is_sent_once_told_to_stop() {
    for kind in all() {
        for (line, mut net) in networks() {
            net.run_secs(&mut *fresh(kind), SECONDS);
            let stop = Instant::ZERO + Duration::from_secs(SECONDS);
            let after = net.calls.iter().find(|(at, call)| {
                *at > stop && !matches!(call, Call::Close(..) | Call::Abort(..) | Call::Note(..))
            });
            assert_eq!(after, None, "{} on {line}", kind.name);
        }
    }
}

#[test]
fn everything_opened_is_closed_at_both_ends() {
    for kind in all() {
        let mut net = Net::new(7);
        net.run_secs(&mut *fresh(kind), SECONDS);
        let opened = net.calls.iter().filter(|(_, call)| matches!(call, Call::Open(_))).count();
        for n in 0..opened as u32 {
            for side in Side::BOTH {
                let closed = net.calls.iter().any(|(_, call)| match *call {
                    Call::Close(conn, at) => conn == ConnId(n) && at == side,
                    Call::Abort(conn, _) => conn == ConnId(n),
                    _ => false,
                });
                assert!(closed, "{}: connection {n} at {side:?}", kind.name);
            }
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    for kind in all() {
        let run = |seed| {
            let mut net = Net::new(seed).with_rate(1_000_000).with_loss(0.05);
            let summary = net.run_secs(&mut *fresh(kind), SECONDS);
            (net.calls, summary)
        };
        assert_eq!(run(3), run(3), "{}", kind.name);
    }
}

#[test]
fn summaries_have_unique_names_and_real_values() {
    for kind in all() {
        for (line, mut net) in networks() {
            let summary = net.run_secs(&mut *fresh(kind), SECONDS);
            let mut names: Vec<_> = summary.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), summary.len(), "{} on {line}: {summary:?}", kind.name);
            for (name, value) in summary {
                assert!(value.is_finite(), "{}.{name} on {line} is {value}", kind.name);
                let percent = !name.ends_with("_percent") || (0.0..=100.0).contains(&value);
                assert!(percent, "{}.{name} on {line} is {value}", kind.name);
            }
        }
        let idle = fresh(kind).summary(Instant::from_millis(5));
        assert!(idle.iter().all(|(_, value)| value.is_finite()), "{}: {idle:?}", kind.name);
    }
}

#[test]
fn stopping_twice_or_at_once_does_no_harm() {
    for kind in all() {
        let mut net = Net::new(1);
        let mut app = fresh(kind);
        app.handle(Notice::Stop, &mut net);
        let mut app = fresh(kind);
        app.handle(Notice::Start, &mut net);
        app.handle(Notice::Stop, &mut net);
        let before = net.calls.len();
        app.handle(Notice::Stop, &mut net);
        let sent = net.calls.iter().skip(before);
        assert!(sent.into_iter().all(|(_, call)| matches!(call, Call::Close(..))), "{}", kind.name);
    }
}

/// Returns values of the type of `value` that users may write by mistake. For a flag or a word,
/// returns every value.
fn extremes(value: Value) -> Vec<Value> {
    let spans = [0, 1, 1_000_000_000_000_000].map(Duration::from_nanos);
    match value {
        Value::Duration(_) => spans.map(Value::Duration).to_vec(),
        Value::MaybeDuration(_) => {
            let all = spans.map(Some).into_iter().chain([None]);
            all.map(Value::MaybeDuration).collect()
        }
        Value::Count(_) => [0, 1, 1 << 40].map(Value::Count).to_vec(),
        Value::Bytes(_) => [0, 1, 1 << 40].map(|size| Value::Bytes(Bytes(size))).to_vec(),
        Value::Rate(_) => [1, 1 << 50].map(|bps| Value::Rate(BitRate::new(bps).unwrap())).to_vec(),
        Value::MaybeRate(_) => {
            let all = [None, BitRate::new(1), BitRate::new(1 << 50)];
            all.map(Value::MaybeRate).to_vec()
        }
        Value::Number(_) => [0.0, -1.0, 1e300].map(Value::Number).to_vec(),
        Value::Flag(_) => [false, true].map(Value::Flag).to_vec(),
        Value::Word(_, words) => words.iter().map(|word| Value::Word(word, words)).collect(),
    }
}

#[test]
fn no_value_of_a_parameter_brings_a_kind_down() {
    for kind in all() {
        for param in kind.params {
            let ends = param.bounds.ends(param.default).map(|(least, most)| [least, most]);
            let mut values = extremes(param.default);
            values.extend(ends.into_iter().flatten());
            for value in values.into_iter().filter(|value| param.bounds.admit(*value)) {
                let args = Args::defaults(kind.params).with(param.name, value);
                let mut app = (kind.build)(&args);
                let (stop, end) = (Duration::from_millis(90), Duration::from_millis(150));
                let summary = Net::new(1).run(&mut *app, stop, end);
                let finite = summary.iter().all(|(_, value)| value.is_finite());
                assert!(finite, "{}.{} = {value:?}: {summary:?}", kind.name, param.name);
            }
        }
    }
}

fn notices() -> impl Strategy<Value = Notice> {
    let conn = (0..4_u32).prop_map(ConnId);
    let at = prop_oneof![Just(Side::Home), Just(Side::Wan)];
    let number =
        prop_oneof![0..8_u64, any::<u64>(), (0..4_u64, 0..4_u64).prop_map(|(a, b)| a << 32 | b)];
    prop_oneof![
        Just(Notice::Start),
        Just(Notice::Stop),
        number.clone().prop_map(Notice::Wake),
        conn.clone().prop_map(Notice::Opened),
        (conn.clone(), at.clone(), prop_oneof![1..5_000_u64, any::<u64>()])
            .prop_map(|(conn, at, bytes)| Notice::Read { conn, at, bytes }),
        (conn.clone(), at.clone()).prop_map(|(conn, at)| Notice::Writable { conn, at }),
        (conn.clone(), at.clone()).prop_map(|(conn, at)| Notice::Finished { conn, at }),
        conn.clone().prop_map(Notice::Closed),
        (conn, at, 0..2_000_u32, number).prop_map(|(conn, at, payload, tag)| Notice::Datagram {
            conn,
            at,
            payload,
            tag
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_order_of_notices_brings_a_kind_down(notices in prop::collection::vec(notices(), 0..120)) {
        for kind in all() {
            let mut net = Net::new(1);
            let mut app = fresh(kind);
            app.handle(Notice::Start, &mut net);
            for &notice in &notices {
                if notice != Notice::Start {
                    app.handle(notice, &mut net);
                }
            }
            let summary = app.summary(Instant::from_millis(9_000));
            let finite = summary.iter().all(|(_, value)| value.is_finite());
            prop_assert!(finite, "{}: {summary:?}", kind.name);
        }
    }
}
