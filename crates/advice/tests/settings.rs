//! The commands for three systems, from gateways as JSON.

use serde_json::{Value, json};

/// Returns the commands for a gateway on a cable line. A null in place of a discipline leaves the
/// direction without a shaper.
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

/// Returns the commands for one system.
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
        has(&text, "ipfw add 100 set 17 pipe 1 ip from any to any out xmit em0");
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
        has(&text, "ipfw add 100 set 17 queue 1 ip from any to any out xmit em0");
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

#[test]
fn openwrt_gets_the_simulated_limit_target_and_marking_in_each_direction() {
    let up = json!({"kind": "fq_pie", "params": {"target": "20000us", "flows": "64"}});
    let down = json!({"kind": "fq_pie", "params": {"limit": "600", "ecn": true}});
    let text = told("uci", &up, &down);
    for option in [
        "qdisc='fq_pie'",
        "elimit='10240'",
        "etarget='default'",
        "egress_ecn='NOECN'",
        "eqdisc_opts='flows 64 target 20000us'",
        "ilimit='600'",
        "itarget='default'",
        "ingress_ecn='ECN'",
        "iqdisc_opts=''",
    ] {
        has(&text, &format!("uci set sqm.wan.{option}"));
    }
    let text = told("uci", &json!("fq_codel"), &Value::Null);
    has(&text, "uci set sqm.wan.egress_ecn='ECN'");
    assert!(!text.contains("ilimit"), "{text}");
}

#[test]
fn openwrt_installs_the_module_with_either_package_manager() {
    let text = told("uci", &json!("fq_pie"), &json!("fq_pie"));
    let packages = "sqm-scripts kmod-sched-fq-pie";
    assert!(text.contains(&format!("apk update && apk add {packages};")), "{text}");
    assert!(text.contains(&format!("opkg update && opkg install {packages};")), "{text}");
}

#[test]
fn openwrt_is_told_why_it_cannot_do_what_the_simulation_does() {
    let text = told("uci", &json!("pie"), &json!("fq_codel"));
    assert!(text.starts_with("# sqm-scripts has one discipline for both directions"), "{text}");
    assert!(!text.contains("uci set"), "{text}");
    let text = told("uci", &json!("codel_rfc"), &Value::Null);
    assert!(text.contains("cannot set up `codel_rfc`") && !text.contains("uci set"), "{text}");
}

#[test]
fn offloads_that_bypass_the_queue_are_switched_off() {
    let told = commands(&json!("fq_codel"), &Value::Null);
    has(told["tc"].as_str().expect("text"), "ethtool -K eth0 gro off gso off tso off");
    for switch in ["flow_offloading", "flow_offloading_hw"] {
        let line = format!("uci set firewall.@defaults[0].{switch}='0'");
        has(told["uci"].as_str().expect("text"), &line);
    }
}

#[test]
fn commands_can_be_pasted_again_because_they_first_remove_an_earlier_shaper() {
    let told = commands(&json!("codel"), &json!("codel"));
    let first = |system: &str, made: &str, removed: &[&str]| {
        let text = told[system].as_str().expect("text");
        let made = text.find(made).expect("it is made");
        for line in removed {
            assert!(text.find(line).is_some_and(|at| at < made), "`{line}` in\n{text}");
        }
    };
    let removed = ["tc qdisc del dev eth0 root", "tc qdisc del dev eth0 ingress", "ip link del"];
    first("tc", "htb default 1", &removed);
    first("dnctl", "config bw", &["ipfw -q delete set 17", "dnctl pipe delete 1 2"]);
}

#[test]
fn htb_may_send_a_millisecond_at_once() {
    let text = told("tc", &json!("fq_codel"), &json!("fq_codel"));
    assert!(text.contains("rate 1900kbit ceil 1900kbit burst 1749 cburst 1749 "), "{text}");
    assert!(text.contains("rate 19000kbit ceil 19000kbit burst 2375 cburst 2375 "), "{text}");
}
