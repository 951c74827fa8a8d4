//! `tc` and `ip` commands of a Linux gateway.
//!
//! HTB shapes below the line's rate, and its only class holds the discipline. `stab` makes HTB
//! charge what the line charges. CAKE shapes and charges the framing itself, without HTB and
//! `stab`. Arriving packets pass an IFB, because a discipline queues only departing packets.
//! Source: tc-htb(8), tc-stab(8), tc-mirred(8); sqm-scripts takes the same steps.

use aqmlab_core::Overhead;

use crate::cake;
use crate::device::{Bottleneck, Framing, Gateway};

const IFB: &str = "ifb4wan";

/// Returns the commands, one per line; an empty text for a gateway without a shaper. The first
/// commands remove an earlier shaper, because the kernel cannot change the options of HTB's root.
pub(crate) fn commands(gateway: &Gateway) -> String {
    let device = &gateway.device;
    if gateway.up.is_none() && gateway.down.is_none() {
        return String::new();
    }
    let mut lines = vec![
        "# Nothing here outlives a restart. These three lines remove an earlier shaper".to_owned(),
        format!("tc qdisc del dev {device} root 2>/dev/null"),
        format!("tc qdisc del dev {device} ingress 2>/dev/null"),
        format!("ip link del dev {IFB} 2>/dev/null"),
        "# Offloads join packets, and a discipline would queue the whole batch".to_owned(),
        format!("ethtool -K {device} gro off gso off tso off"),
    ];
    if let Some(up) = &gateway.up {
        lines.push(format!("# Packets that leave the home: {} kbit/s on {device}", up.kbit()));
        lines.extend(shaped(device, up, gateway.framing));
    }
    if let Some(down) = &gateway.down {
        lines.push(format!("# Packets that arrive: {} kbit/s on {IFB}", down.kbit()));
        lines.push(format!("ip link add name {IFB} type ifb"));
        lines.push(format!("ip link set dev {IFB} up"));
        lines.extend(shaped(IFB, down, gateway.framing));
        lines.push(format!("tc qdisc replace dev {device} handle ffff: ingress"));
        lines.push(format!(
            "tc filter replace dev {device} parent ffff: protocol all prio 10 handle 1 matchall \
             action mirred egress redirect dev {IFB}"
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn shaped(device: &str, shaper: &Bottleneck, framing: Framing) -> Vec<String> {
    if cake::is_cake(shaper) {
        let cake = cake::spelled(shaper, framing);
        return vec![format!("tc qdisc replace dev {device} root handle 10: {cake}")];
    }
    let rate = shaper.kbit();
    let burst = burst(rate);
    vec![
        format!(
            "tc qdisc replace dev {device} root handle 1: {} htb default 1",
            size_table(framing)
        ),
        format!(
            "tc class replace dev {device} parent 1: classid 1:1 htb rate {rate}kbit \
             ceil {rate}kbit burst {burst} cburst {burst} quantum 1514"
        ),
        format!("tc qdisc replace dev {device} parent 1:1 handle 10: {}", shaper.spelled()),
    ]
}

/// Returns the number of bytes that HTB may send at once: the bytes that take 1 ms, and at least a
/// full packet on ATM. With tc's default of 1600 bytes, HTB on a fast line would need a timer for
/// each packet. sqm-scripts computes the same values (functions.sh, `get_burst`). The simulated HTB
/// has tc's default, because its timer is never late.
fn burst(kbit: u64) -> u64 {
    let on_atm = Overhead { bytes: 48, atm: true, ..Overhead::default() };
    (kbit / 8).max(on_atm.on_link(1500).0)
}

/// Returns the options of `tc stab`. `tc` requires the dimensions of the size table even if only
/// the overhead matters.
fn size_table(framing: Framing) -> String {
    let layer = if framing.atm { "atm" } else { "ethernet" };
    format!(
        "stab mtu 2047 tsize 512 mpu {} overhead {} linklayer {layer}",
        framing.minimum,
        framing.beyond_counted()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Setting;
    use crate::testing::{gateway, shaper};

    fn limited() -> Gateway {
        let limit = Setting::Text("1000".to_owned());
        let params = [("limit".to_owned(), limit)].into();
        gateway(Bottleneck { params, ..shaper(1_900_500, "fq_codel") })
    }

    #[test]
    fn a_shaper_stays_below_its_rate_and_adds_what_linux_does_not_count() {
        let text = commands(&limited());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[7..],
            [
                "tc qdisc replace dev eth0 root handle 1: stab mtu 2047 tsize 512 mpu 64 \
                 overhead 4 linklayer ethernet htb default 1",
                "tc class replace dev eth0 parent 1: classid 1:1 htb rate 1900kbit ceil 1900kbit \
                 burst 1749 cburst 1749 quantum 1514",
                "tc qdisc replace dev eth0 parent 1:1 handle 10: fq_codel limit 1000",
            ]
        );
    }

    #[test]
    fn arriving_packets_pass_an_ifb() {
        let down = Some(shaper(19_000_000, "cake"));
        let text = commands(&Gateway { down, ..limited() });
        assert!(text.contains("ip link add name ifb4wan type ifb"));
        assert!(
            text.contains("tc qdisc replace dev ifb4wan root handle 10: cake bandwidth 19000kbit")
        );
        assert!(text.contains("action mirred egress redirect dev ifb4wan"));
    }
}
