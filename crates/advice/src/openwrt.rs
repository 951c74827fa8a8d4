//! `uci` commands of OpenWrt with the package `sqm-scripts`.
//!
//! The script `simplest.qos` is one HTB class with one discipline, as in the simulated gateway. A
//! rate of 0 leaves a direction unshaped. For disciplines other than CAKE, sqm-scripts passes
//! `overhead` to `tc stab` unchanged (functions.sh, `get_stab_string`). The value of `overhead` is
//! therefore the overhead beyond the bytes that Linux counts.

use crate::device::{Bottleneck, Gateway};

/// Returns the commands, one per line.
pub(crate) fn commands(gateway: &Gateway) -> String {
    let rate = |shaper: &Option<Bottleneck>| shaper.as_ref().map_or(0, Bottleneck::kbit);
    let Some(some) = gateway.up.as_ref().or(gateway.down.as_ref()) else { return String::new() };
    let framing = gateway.framing;
    let options = [
        ("interface", gateway.device.clone()),
        ("enabled", "1".to_owned()),
        ("upload", rate(&gateway.up).to_string()),
        ("download", rate(&gateway.down).to_string()),
        ("script", "simplest.qos".to_owned()),
        ("qdisc", some.qdisc.clone()),
        ("linklayer", if framing.atm { "atm" } else { "ethernet" }.to_owned()),
        ("overhead", framing.beyond_counted().to_string()),
        ("linklayer_advanced", "1".to_owned()),
        ("tcMPU", framing.minimum.to_string()),
    ];
    let options = options.map(|(name, value)| format!("uci set sqm.wan.{name}='{value}'"));
    format!(
        "opkg update && opkg install sqm-scripts\nuci set sqm.wan=queue\n{}\n\
         uci commit sqm\nservice sqm restart\n",
        options.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Framing;

    #[test]
    fn a_direction_without_a_shaper_has_a_rate_of_zero() {
        let up = Bottleneck {
            bps: 950_000,
            qdisc: "fq_codel".to_owned(),
            params: [].into_iter().collect(),
        };
        let gateway = Gateway {
            device: "pppoe-wan".to_owned(),
            bsd_device: "pppoe0".to_owned(),
            framing: Framing { bytes: 40, minimum: 0, atm: true, counted: 0 },
            up: Some(up),
            down: None,
        };
        let text = commands(&gateway);
        for line in ["upload='950'", "download='0'", "linklayer='atm'", "overhead='40'"] {
            assert!(text.contains(&format!("uci set sqm.wan.{line}\n")), "{line} in\n{text}");
        }
    }
}
