//! `dnctl` and `ipfw` commands of FreeBSD and OPNsense.
//!
//! Dummynet counts IP bytes and ignores framing. Its rate is therefore the one at which full-sized
//! packets fill the same share of the line. A line full of small packets needs a lower rate.
//! Source: dnctl(8), ipfw(8) of FreeBSD 14.

use crate::device::{Bottleneck, Gateway};

/// The commands that load the modules. Without the setting, ipfw would block all traffic after it
/// is loaded.
const LOADED: &str = "kenv net.inet.ip.fw.default_to_accept=1\nkldload -n ipfw dummynet\n";

/// Returns the commands, one per line.
pub(crate) fn commands(gateway: &Gateway) -> String {
    let ways =
        [(&gateway.up, 1, "out xmit", "leave the home"), (&gateway.down, 2, "in recv", "arrive")];
    let mut text = String::new();
    for (shaper, number, side, packets) in ways {
        if let Some(shaper) = shaper {
            text += &shaped(gateway, shaper, number, side, packets);
        }
    }
    if text.is_empty() { text } else { format!("{LOADED}{text}") }
}

fn shaped(
    gateway: &Gateway,
    shaper: &Bottleneck,
    number: u32,
    side: &str,
    packets: &str,
) -> String {
    let rate = shaper.ip_kbit(gateway.framing);
    format!(
        "# Packets that {packets}: {} kbit/s of the line are {rate} kbit/s of IP\n\
         dnctl pipe {number} config bw {rate}Kbit/s\n\
         dnctl sched {number} config pipe {number} type {}\n\
         dnctl queue {number} config sched {number}\n\
         ipfw add {number}00 queue {number} ip from any to any {side} {}\n",
        shaper.kbit(),
        shaper.spelled(),
        gateway.bsd_device,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Framing;

    #[test]
    fn a_rate_of_the_line_becomes_one_of_ip_bytes() {
        let up = Bottleneck {
            bps: 1_900_000,
            qdisc: "fq_codel".to_owned(),
            params: [].into_iter().collect(),
        };
        let gateway = Gateway {
            device: "eth0".to_owned(),
            bsd_device: "em0".to_owned(),
            framing: Framing { bytes: 18, minimum: 64, atm: false, counted: 14 },
            up: Some(up),
            down: None,
        };
        let text = commands(&gateway);
        // The rate is 1900 · 1500 / 1518.
        assert!(text.contains("dnctl pipe 1 config bw 1877Kbit/s\n"), "{text}");
        assert!(text.contains("ipfw add 100 queue 1 ip from any to any out xmit em0\n"), "{text}");
        assert!(!text.contains("pipe 2"), "{text}");
    }
}
