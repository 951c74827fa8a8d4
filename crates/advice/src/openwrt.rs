//! `uci` commands of OpenWrt with the package `sqm-scripts`.
//!
//! The script `simplest.qos` sets up one HTB class with one discipline. CAKE has separate scripts.
//! A rate of 0 leaves a direction unshaped. For disciplines other than CAKE, sqm-scripts passes
//! `overhead` to `tc stab` unchanged (functions.sh, `get_stab_string`). The value of `overhead` is
//! therefore the overhead beyond the bytes that Linux counts.
//!
//! sqm-scripts has its own defaults (`get_limit`, `get_target`, `get_ecn`). They are a limit of
//! 1001 packets, a target that depends on the line's rate, and ECN for every discipline. For
//! `fq_pie` it writes `target us`, which tc refuses. The commands therefore state limit, target and
//! ECN in each direction. With the target `default`, the script writes no target. All parameters
//! except the limit and ECN are in `eqdisc_opts` and `iqdisc_opts`.

use crate::cake;
use crate::device::{Bottleneck, Gateway, Setting};

/// The disciplines that `simplest.qos` sets up, with the package of the kernel module, the default
/// limit in packets, and whether Linux marks by default. Source: `sch_*.c` of Linux 6.1.
const KNOWN: [(&str, &str, &str, bool); 4] = [
    ("codel", "kmod-sched", "1000", false),
    ("fq_codel", "", "10240", true),
    ("pie", "kmod-sched-pie", "1000", false),
    ("fq_pie", "kmod-sched-fq-pie", "10240", false),
];

/// The commands that turn off flow offloading, because packets of offloaded flows bypass every
/// discipline.
const OFFLOADING: &str = "\
# Offloaded flows would bypass the shaper
uci set firewall.@defaults[0].flow_offloading='0'
uci set firewall.@defaults[0].flow_offloading_hw='0'
uci commit firewall
service firewall restart
";

/// Returns the commands, one per line. Returns a comment with the reason if sqm-scripts cannot set
/// up the gateway, and an empty text for a gateway without a shaper.
pub(crate) fn commands(gateway: &Gateway) -> String {
    let Some(some) = gateway.up.as_ref().or(gateway.down.as_ref()) else { return String::new() };
    let kind = some.qdisc.as_str();
    if let Some(other) = gateway.down.as_ref().filter(|down| down.qdisc != kind) {
        return format!(
            "# sqm-scripts has one discipline for both directions, and this gateway has `{kind}` \
             and `{}`\n",
            other.qdisc
        );
    }
    if cake::is_cake(some) {
        return of_cake(gateway);
    }
    let Some((_, package, limit, marks)) = KNOWN.iter().find(|(name, ..)| *name == kind) else {
        return format!("# sqm-scripts cannot set up `{kind}` with HTB as the simulation has it\n");
    };
    let overhead = gateway.framing.beyond_counted();
    let mut options = shared(gateway, kind, "simplest.qos", overhead);
    for (way, letter, shaper) in [("egress", 'e', &gateway.up), ("ingress", 'i', &gateway.down)] {
        if let Some(shaper) = shaper {
            options.extend(of_direction(shaper, way, letter, limit, *marks));
        }
    }
    written(&format!("sqm-scripts {package}"), &options)
}

/// Returns the commands for CAKE in both directions, or a comment if no script has the tins. The
/// scripts for CAKE use no HTB.
fn of_cake(gateway: &Gateway) -> String {
    let Some((script, own)) = cake::script(gateway.up.as_ref(), gateway.down.as_ref()) else {
        return "# sqm-scripts has no script with these tins of CAKE\n".to_owned();
    };
    // CAKE adds its overhead to the IP length, so the overhead is the whole framing.
    let mut options = shared(gateway, "cake", script, gateway.framing.bytes.into());
    options.extend(own);
    written("sqm-scripts kmod-sched-cake", &options)
}

fn written(packages: &str, options: &[(String, String)]) -> String {
    let options = options.iter().map(|(name, value)| format!("uci set sqm.wan.{name}='{value}'\n"));
    let packages = packages.trim_end();
    format!(
        "# Newer releases have the package manager apk, older ones opkg\n\
         if command -v apk; then apk update && apk add {packages}; \
         else opkg update && opkg install {packages}; fi\n\
         uci set sqm.wan=queue\n{}uci commit sqm\nservice sqm restart\n{OFFLOADING}",
        options.collect::<String>()
    )
}

/// Returns the options of both directions, for the discipline `kind` in `script`. `overhead` is the
/// framing beyond the bytes that the discipline counts.
fn shared(gateway: &Gateway, kind: &str, script: &str, overhead: i64) -> Vec<(String, String)> {
    let rate = |shaper: &Option<Bottleneck>| shaper.as_ref().map_or(0, Bottleneck::kbit);
    let framing = gateway.framing;
    let options = [
        ("interface", gateway.device.clone()),
        ("enabled", "1".to_owned()),
        ("upload", rate(&gateway.up).to_string()),
        ("download", rate(&gateway.down).to_string()),
        ("script", script.to_owned()),
        ("qdisc", kind.to_owned()),
        ("linklayer", if framing.atm { "atm" } else { "ethernet" }.to_owned()),
        ("overhead", overhead.to_string()),
        ("linklayer_advanced", "1".to_owned()),
        ("tcMPU", framing.minimum.to_string()),
        // LuCI deletes the options of the directions unless both switches are set.
        ("qdisc_advanced", "1".to_owned()),
        ("qdisc_really_really_advanced", "1".to_owned()),
    ];
    options.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Returns the options of one direction, whose names begin with `letter` or with `way`. `limit` and
/// `marks` are Linux's defaults for the limit and for ECN.
fn of_direction(
    shaper: &Bottleneck,
    way: &str,
    letter: char,
    limit: &str,
    marks: bool,
) -> [(String, String); 4] {
    let marks = match shaper.params.get("ecn") {
        Some(Setting::Flag(on)) => *on,
        _ => marks,
    };
    let limit = match shaper.params.get("limit") {
        Some(Setting::Text(packets)) => packets,
        _ => limit,
    };
    let others = shaper.params.iter().filter(|(name, _)| *name != "ecn" && *name != "limit");
    let others: Vec<_> = others.map(|(name, value)| value.words(name)).collect();
    [
        (format!("{letter}limit"), limit.to_owned()),
        (format!("{letter}target"), "default".to_owned()),
        (format!("{way}_ecn"), if marks { "ECN" } else { "NOECN" }.to_owned()),
        (format!("{letter}qdisc_opts"), others.join(" ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Framing;
    use crate::testing::{gateway, shaper};

    #[test]
    fn a_direction_without_a_shaper_has_a_rate_of_zero() {
        let gateway = Gateway {
            framing: Framing { bytes: 40, minimum: 0, atm: true, counted: 0 },
            ..gateway(shaper(950_000, "fq_codel"))
        };
        let text = commands(&gateway);
        for line in ["upload='950'", "download='0'", "linklayer='atm'", "overhead='40'"] {
            assert!(text.contains(&format!("uci set sqm.wan.{line}\n")), "{line} in\n{text}");
        }
    }
}
