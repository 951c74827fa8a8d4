//! The commands for three systems, from gateways as JSON.

use serde_json::{Value, json};

/// The commands for a gateway on a cable line, with a discipline in each given direction.
fn commands(up: &Value, down: &Value) -> Value {
    let shaper = |qdisc: &Value, bps: u64| match qdisc {
        Value::Null => Value::Null,
        Value::String(kind) => json!({"bps": bps, "qdisc": kind}),
        _ => json!({"bps": bps, "qdisc": qdisc["kind"], "params": qdisc["params"]}),
    };
    let gateway = json!({
        "device": "eth0", "bsd_device": "em0",
        "framing": {"bytes": 18, "minimum": 64, "atm": false, "counted": 14},
        "up": shaper(up, 1_900_000), "down": shaper(down, 19_000_000),
    });
    let told = aqmlab_advice::settings(&gateway.to_string()).expect("it is a gateway");
    serde_json::from_str(&told).expect("settings are JSON")
}

/// The commands of one system.
fn told(system: &str, up: &Value, down: &Value) -> String {
    commands(up, down)[system].as_str().expect("they are text").to_owned()
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|one| one == line), "no line `{line}` in\n{text}");
}

#[test]
fn a_switch_is_one_word_of_tc() {
    let pie = json!({"kind": "pie", "params": {
        "ecn": true, "bytemode": false, "dq_rate_estimator": false, "target": "20000us",
    }});
    let text = told("tc", &pie, &Value::Null);
    let words = "pie nobytemode no_dq_rate_estimator ecn target 20000us";
    assert!(text.contains(words), "{text}");
    let fq = json!({"kind": "fq_codel", "params": {"ecn": false}});
    let text = told("tc", &fq, &Value::Null);
    assert!(text.trim_end().ends_with("fq_codel noecn"), "{text}");
}

#[test]
fn codel_and_pie_manage_the_queue_of_a_pipe_of_freebsd() {
    for (kind, words) in [("codel", "codel noecn"), ("pie", "pie noecn ts")] {
        let text = told("dnctl", &json!(kind), &json!(kind));
        has(&text, "sysctl net.inet.ip.dummynet.pipe_slot_limit=1000");
        has(&text, &format!("dnctl pipe 1 config bw 1877Kbit/s queue 1000 {words}"));
        has(&text, &format!("dnctl pipe 2 config bw 18774Kbit/s queue 1000 {words}"));
        has(&text, "ipfw add 100 pipe 1 ip from any to any out xmit em0");
        assert!(!text.contains("sched 1 config"), "{text}");
    }
}

#[test]
fn flow_queues_are_schedulers_of_freebsd() {
    for (kind, words) in [("fq_codel", "fq_codel ecn"), ("fq_pie", "fq_pie noecn ts")] {
        let text = told("dnctl", &json!(kind), &Value::Null);
        has(&text, "dnctl pipe 1 config bw 1877Kbit/s");
        has(&text, &format!("dnctl sched 1 config pipe 1 type {words}"));
        has(&text, "dnctl queue 1 config sched 1");
        has(&text, "ipfw add 100 queue 1 ip from any to any out xmit em0");
    }
}

#[test]
fn parameters_have_the_units_of_freebsd_and_the_missing_ones_are_named() {
    let pie = json!({"kind": "pie", "params": {
        "alpha": "4", "limit": "300", "target": "20000us", "ecn": true, "bytemode": true,
    }});
    let text = told("dnctl", &pie, &json!("sfq"));
    has(&text, "dnctl pipe 1 config bw 1877Kbit/s queue 300 pie alpha 0.25 target 20000us ecn ts");
    has(&text, "# dummynet has no parameter `bytemode`");
    has(&text, "# Packets that arrive: dummynet has no discipline `sfq`");
}
