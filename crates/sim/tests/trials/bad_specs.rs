//! Tests that a wrong trial is refused with the place of the mistake.

use crate::common::{app, home};
use serde_json::{Value, json};

fn refusal(spec: &Value) -> String {
    match aqmlab_trial::parse(&spec.to_string()).and_then(|spec| aqmlab_sim::run(&spec).map(drop)) {
        Ok(()) => "ran".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn mistakes_are_named_where_they_are() {
    let good = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[app("a", "bulk", &json!({}))]);
    for (pointer, value, want) in [
        ("/links/0/rate_bps", json!(0), "links[0].rate_bps: a rate of zero sends nothing"),
        ("/links/1/qdisc/kind", json!("fifi"), "links[1].qdisc: there is no kind called `fifi`"),
        ("/apps/0/app/kind", json!("bulky"), "apps[0].app: there is no kind called `bulky`"),
        ("/duration_ns", json!(0), "duration_ns: a trial of no length shows nothing"),
        (
            "/apps/0/up/links",
            json!([7]),
            "apps[0].up.links: there is no link number 7; there are 2",
        ),
        ("/seed", json!("one"), "invalid type: string \"one\""),
    ] {
        let mut spec = good.clone();
        *spec.pointer_mut(pointer).unwrap() = value;
        let got = refusal(&spec);
        assert!(got.contains(want), "{pointer}: `{got}` does not contain `{want}`");
    }
}

#[test]
fn a_member_above_its_limit_is_refused_by_its_own_name() {
    for (place, name, want) in [
        ("/apps/0/up", "delay_ns", "apps[0].up.delay_ns: longer than an hour"),
        ("/apps/0/down", "jitter_ns", "apps[0].down.jitter_ns: longer than an hour"),
        ("/apps/0/up", "loss", "apps[0].up.loss: not between 0 and 1"),
        ("", "host_jitter_ns", "host_jitter_ns: longer than an hour"),
    ] {
        let bulk = app("a", "bulk", &json!({}));
        let mut spec = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[bulk]);
        spec.pointer_mut(place).unwrap()[name] = json!(3_600_000_000_001_u64);
        assert_eq!(refusal(&spec), want);
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused_where_they_stand() {
    let mut good = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[app("a", "bulk", &json!({}))]);
    good["links"][0]["overhead"] = json!({"bytes": 0, "minimum": 0, "counted": 0});
    good["apps"][0]["wan"] = json!({"mtu": 1_500});
    for (pointer, value, want) in [
        (
            "/links/0/overhead/bytes",
            json!(1_500_000_000_000_u64),
            "links[0].overhead.bytes: `1500000000000` is not a whole number between 0 and 4294967295",
        ),
        (
            "/links/0/overhead/counted",
            json!(-1),
            "links[0].overhead.counted: `-1` is not a whole number between 0 and 4294967295",
        ),
        (
            "/links/0/overhead/minimum",
            json!(u32::MAX),
            "links[0].overhead.minimum: `4294967295` is not between 0 and 65535 bytes",
        ),
        ("/apps/0/wan/mtu", json!(100_000_000_000_u64), "apps[0].wan.mtu: `100000000000` is not"),
        ("/links/0/overhead/bytes", json!(1.5), "links[0].overhead.bytes: `1.5` is not a whole"),
        ("/links/0/overhead/bytes", json!("x"), "links[0].overhead.bytes: invalid type: string"),
    ] {
        let mut spec = good.clone();
        *spec.pointer_mut(pointer).unwrap() = value;
        let got = refusal(&spec);
        assert!(got.contains(want), "{pointer}: `{got}` does not contain `{want}`");
        assert!(!got.contains("column"), "{got}");
    }
    for text in ["{", "1 2", "{}x"] {
        assert!(aqmlab_trial::parse(text).is_err());
    }
}

#[test]
fn values_out_of_bounds_are_refused_with_what_is_allowed() {
    for (qdisc, params, want) in [
        ("ared", json!({"max_p": -1.0}), "links[0].qdisc.max_p: `-1` is not between 0 and 1"),
        ("fq_codel", json!({"flows": 1_u64 << 32}), "`4294967296` is not between 1 and 65536"),
        ("codel", json!({"target": 0}), "`0s` is not between 1us and"),
        ("fq_codel", json!({"quantum": 0}), "`0 B` is not between 256 B and 1048576 B"),
        ("sfq", json!({"perturb": 1}), "nor off"),
        ("codel", json!({"ce_threshold": 999}), "nor between 1us and"),
        ("red", json!({"tick": 999}), "`999ns` is not 0s, nor between 1us and 1s"),
    ] {
        let qdisc = json!({"kind": qdisc, "params": params});
        let got = refusal(&home(1.0, 1.0, &qdisc, 10, &[]));
        assert!(got.contains(want), "`{got}` does not contain `{want}`");
    }
    let mut spec = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[app("a", "bulk", &json!({}))]);
    spec["apps"][0]["home"] = json!({"settings": {"syn_retries": 256}});
    assert!(refusal(&spec).contains("`256` is not between 0 and 255"), "{}", refusal(&spec));
}

#[test]
fn datagrams_that_no_packet_holds_are_refused() {
    for (kind, params, mtu, want) in [
        ("ping", json!({"payload": 1_472}), 1_500, "ran"),
        ("ping", json!({"payload": 1_473}), 1_500, "apps[0].app.payload: 1473 B do not fit"),
        ("ping", json!({"payload": 8_000}), 9_000, "ran"),
        ("irtt", json!({"payload": 1_473}), 1_500, "1472 B at most"),
        ("cbr", json!({"payload": 1_473}), 1_500, "1472 B at most"),
        ("video_call", json!({}), 700, "672 B at most"),
        ("voip", json!({"payload": 1_461}), 1_500, "1460 B at most"),
        ("coap", json!({"payload": 1_455}), 1_500, "app.payload: 1455 B do not fit"),
        ("coap", json!({"response": 1_465}), 1_500, "app.response: 1465 B do not fit"),
        ("game", json!({"players": 32, "title": "q4"}), 1_500, "ran"),
        ("game", json!({"players": 90, "title": "q4"}), 1_500, "apps[0].app.players: makes"),
        ("game", json!({"c2s_payload": 1_463}), 1_500, "1462 B at most"),
        ("game", json!({"model": "faerber"}), 1_500, "ran"),
        ("bulk", json!({}), 576, "ran"),
        ("web", json!({}), 138, "ran"),
        ("web", json!({}), 137, "apps[0].app.dns: makes datagrams of 110 B"),
        ("web", json!({"dns": false}), 137, "ran"),
    ] {
        let mut spec = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[app("a", kind, &params)]);
        spec["apps"][0]["wan"] = json!({"mtu": mtu});
        spec["apps"][0]["home"] = json!({"mtu": 9_000});
        spec["duration_ns"] = json!(1_000_000_000);
        let got = refusal(&spec);
        assert!(got.contains(want), "{kind} {params}: `{got}` does not contain `{want}`");
    }
}

#[test]
fn what_a_run_refuses_is_found_without_one() {
    let good = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[app("a", "bulk", &json!({}))]);
    let checked = |spec: &Value| {
        aqmlab_trial::parse(&spec.to_string()).and_then(|spec| aqmlab_trial::check(&spec))
    };
    assert_eq!(checked(&good), Ok(()));
    for (pointer, value) in [
        ("/duration_ns", json!(0)),
        ("/links/1/qdisc/kind", json!("fifi")),
        ("/apps/0/up/delay_ns", json!(1_u64 << 60)),
    ] {
        let mut spec = good.clone();
        *spec.pointer_mut(pointer).unwrap() = value;
        assert_eq!(checked(&spec).unwrap_err().to_string(), refusal(&spec), "{pointer}");
    }
}

#[test]
fn unknown_keys_and_parameters_are_refused() {
    let mut spec = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[]);
    spec["colour"] = json!("red");
    assert!(refusal(&spec).contains("unknown field `colour`"));
    let spec = home(1.0, 1.0, &json!({"kind": "pfifo", "params": {"lmit": 5}}), 10, &[]);
    let got = refusal(&spec);
    assert!(got.contains("links[0].qdisc.lmit: no such parameter; there are limit"), "{got}");
}

#[test]
fn two_applications_may_not_share_a_name() {
    let twins = [app("a", "bulk", &json!({})), app("a", "bulk", &json!({}))];
    let got = refusal(&home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &twins));
    assert!(got.contains("two applications have the same name"), "{got}");
}

#[test]
fn steps_beyond_memory_are_refused_before_room_is_made_for_them() {
    let mut spec = home(1.0, 1.0, &json!({"kind": "pfifo"}), 10, &[app("a", "ping", &json!({}))]);
    spec["duration_ns"] = json!(1_u64 << 60);
    for (measure, want) in [
        (json!({"step_ns": 1}), "measure.step_ns: more than 20 million steps in the windows"),
        (
            json!({"step_ns": 1, "window_ns": 1, "points": u32::MAX}),
            "measure.points: more than 20 million steps of all",
        ),
        (json!({"points": 400_001}), "measure.points: more than 200000 samples"),
        (json!({"window_ns": 1_u64 << 61, "step_ns": 1_u64 << 61}), "measure.window_ns: longer"),
    ] {
        spec["measure"] = measure;
        let got = refusal(&spec);
        assert!(got.contains(want), "{got}");
    }
}
