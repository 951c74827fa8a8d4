//! A wrong trial is refused with the place of the mistake.

use crate::common::{app, home};
use serde_json::{Value, json};

fn refusal(spec: &Value) -> String {
    match aqmlab_sim::parse(&spec.to_string()).and_then(|spec| aqmlab_sim::run(&spec).map(drop)) {
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
    spec["measure"] = json!({"step_ns": 1, "window_ns": 1});
    let got = refusal(&spec);
    assert!(got.contains("more than 20 million steps"), "{got}");
}
