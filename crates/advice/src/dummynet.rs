//! `dnctl` and `ipfw` commands of FreeBSD and OPNsense.
//!
//! Dummynet counts IP bytes and ignores framing. Its rate is therefore the IP rate at which
//! full-sized packets fill the line up to the shaper's rate. A line full of small packets needs a
//! lower rate. `codel` and `pie` manage the queue of a pipe; `fq_codel` and `fq_pie` are schedulers
//! with queues of their own. The commands state each parameter whose default differs between
//! dummynet and Linux, so that both have the same parameters. Source: dnctl(8), ipfw(8) of FreeBSD
//! 14.
//!
//! By default, a packet that leaves dummynet skips the remaining rules of ipfw (`one_pass`). The
//! shaper's rules come before the home's own rules. By default they would therefore accept every
//! packet of the line. The commands clear `one_pass`, so that packets continue at the next rule.
//! The setting also applies to the home's own `pipe`, `queue` and `nat` rules. pf has a separate
//! hook and sees the packets with either setting. Source: FreeBSD 14
//! `sys/netpfil/ipfw/ip_fw_pfil.c`, `ipfw_check_packet`.

use crate::device::{Bottleneck, Gateway, Setting};

/// The commands that load the modules. Without `default_to_accept`, ipfw would block all traffic
/// after it is loaded.
const LOADED: &str = "kenv net.inet.ip.fw.default_to_accept=1\nkldload -n ipfw dummynet\n";

/// The commands that remove an earlier shaper and clear `one_pass`. The shaper's rules are in a
/// separate set, because `ipfw add` would add a second copy of a rule instead of replacing the
/// rule.
const REMOVED: &str = "\
# Nothing here outlives a restart. These four lines remove an earlier shaper
ipfw -q delete set 17 2>/dev/null
dnctl queue delete 1 2 2>/dev/null
dnctl sched delete 1 2 2>/dev/null
dnctl pipe delete 1 2 2>/dev/null
# With one_pass=1, the shaper's rules would accept packets that a later rule of ipfw denies
sysctl net.inet.ip.fw.one_pass=0
";

/// The default limit in packets of Linux's `codel` and `pie`.
const LIMIT: &str = "1000";

/// The parameters that dummynet's four disciplines share with Linux's disciplines.
const SHARED: [&str; 9] =
    ["alpha", "beta", "ecn", "flows", "interval", "limit", "quantum", "target", "tupdate"];

/// The disciplines of dummynet that have the parameters of Linux's disciplines of these names.
const DISCIPLINES: [&str; 4] = ["codel", "pie", "fq_codel", "fq_pie"];

/// Returns the commands, one per line; an empty text for a gateway without a shaper. If dummynet
/// has the discipline of neither direction, the lines are comments, which change nothing.
pub(crate) fn commands(gateway: &Gateway) -> String {
    let ways =
        [(&gateway.up, 1, "out xmit", "leave the home"), (&gateway.down, 2, "in recv", "arrive")];
    let mut text = String::new();
    let mut sets_up = false;
    for (shaper, number, side, packets) in ways {
        if let Some(shaper) = shaper {
            text += &shaped(gateway, shaper, number, side, packets);
            sets_up |= DISCIPLINES.contains(&shaper.qdisc.as_str());
        }
    }
    if sets_up { format!("{LOADED}{REMOVED}{text}") } else { text }
}

fn shaped(
    gateway: &Gateway,
    shaper: &Bottleneck,
    number: u32,
    side: &str,
    packets: &str,
) -> String {
    let rate = shaper.ip_kbit(gateway.framing);
    let pipe = format!("dnctl pipe {number} config bw {rate}Kbit/s");
    let words = words(shaper);
    let (target, configured) = match shaper.qdisc.as_str() {
        "codel" | "pie" => {
            let limit = limit(shaper);
            // By default, dummynet refuses a queue limit of more than 100 packets.
            let allowed = format!("sysctl net.inet.ip.dummynet.pipe_slot_limit={limit}");
            ("pipe", format!("{allowed}\n{pipe} queue {limit} {words}"))
        }
        "fq_codel" | "fq_pie" => (
            "queue",
            format!(
                "{pipe}\ndnctl sched {number} config pipe {number} type {words}\n\
                 dnctl queue {number} config sched {number}"
            ),
        ),
        other => {
            return format!("# Packets that {packets}: dummynet has no discipline `{other}`\n");
        }
    };
    format!(
        "# Packets that {packets}: {} kbit/s of the line are {rate} kbit/s of IP\n{}{configured}\n\
         ipfw add {number}00 set 17 {target} {number} ip from any to any {side} {}\n",
        shaper.kbit(),
        unknown(shaper),
        gateway.bsd_device,
    )
}

/// Returns a comment for each given parameter that dummynet lacks, except `dq_rate_estimator`.
fn unknown(shaper: &Bottleneck) -> String {
    let lacks =
        |name: &&String| !SHARED.contains(&name.as_str()) && name.as_str() != "dq_rate_estimator";
    let names = shaper.params.keys().filter(lacks);
    let lines: Vec<_> =
        names.map(|name| format!("# dummynet has no parameter `{name}`\n")).collect();
    lines.concat()
}

/// Returns the limit of a pipe's queue in packets.
fn limit(shaper: &Bottleneck) -> &str {
    match shaper.params.get("limit") {
        Some(Setting::Text(packets)) => packets,
        _ => LIMIT,
    }
}

/// Returns the discipline with its parameters, in the words of dnctl.
fn words(shaper: &Bottleneck) -> String {
    let kind = shaper.qdisc.as_str();
    let is_fair = kind.starts_with("fq_");
    let known = shaper.params.iter().filter(|(name, _)| {
        SHARED.contains(&name.as_str()) && name.as_str() != "ecn" && (is_fair || *name != "limit")
    });
    let mut words = vec![kind.to_owned()];
    words.extend(known.map(|(name, value)| parameter(name, value)));
    // Linux marks by default with `fq_codel` alone; dummynet also marks with `fq_pie`.
    let is_marking = match shaper.params.get("ecn") {
        Some(Setting::Flag(on)) => *on,
        _ => kind == "fq_codel",
    };
    words.push(if is_marking { "ecn" } else { "noecn" }.to_owned());
    if kind.ends_with("pie") {
        let is_estimated = shaper.params.get("dq_rate_estimator") == Some(&Setting::Flag(true));
        words.push(if is_estimated { "dre" } else { "ts" }.to_owned());
    }
    words.join(" ")
}

fn parameter(name: &str, value: &Setting) -> String {
    match (name, value) {
        // Linux counts these weights in sixteenths.
        ("alpha" | "beta", Setting::Text(text)) => match text.parse::<f64>() {
            Ok(weight) => format!("{name} {}", weight / 16.0),
            Err(_) => value.words(name),
        },
        _ => value.words(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gateway, shaper};

    #[test]
    fn a_rate_of_the_line_becomes_one_of_ip_bytes() {
        let text = commands(&gateway(shaper(1_900_000, "fq_codel")));
        // The rate is 1900 · 1500 / 1518.
        assert!(text.contains("dnctl pipe 1 config bw 1877Kbit/s\n"), "{text}");
        assert!(
            text.contains("ipfw add 100 set 17 queue 1 ip from any to any out xmit em0\n"),
            "{text}"
        );
        assert!(!text.contains("pipe 2"), "{text}");
    }

    #[test]
    fn without_a_discipline_of_dummynet_all_lines_are_comments() {
        let text = commands(&gateway(shaper(1_900_000, "cake")));
        assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
        assert!(text.contains("dummynet has no discipline `cake`"), "{text}");
    }
}
