//! `cake`: a shaper, tins by DSCP, a queue per flow under COBALT, and fairness between hosts.
//!
//! Source: Linux 6.1 `net/sched/sch_cake.c` as Debian ships it (6.1.192); iproute2 6.1
//! `tc/q_cake.c`. [`crate::cake`] contains the parts, and states the differences from the kernel.

use aqmlab_core::{Args, BitRate, Bounds, Bytes, Duration, Kind, Param, Value};

use super::fq_codel::SALT;
use crate::cake::Cake;
use crate::cake::diffserv::Mode;
use crate::cake::settings::{
    AckFilter, Charge, FRAMING_WORDS, Isolation, LINK_WORDS, NETWORK_WORDS, Settings, times,
};
use crate::{Qdisc, bounds};

/// Registers `cake`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "cake",
    summary: "A shaper, tins by DSCP, a queue per flow and host fairness, as in Linux",
    source: "Linux 6.1 net/sched/sch_cake.c; tc-cake(8)",
    params: &[
        BANDWIDTH,
        word(
            "diffserv",
            "diffserv3",
            Mode::WORDS,
            "Tins into which packets are sorted by their DSCP.",
        ),
        word(
            "isolation",
            "triple-isolate",
            Isolation::WORDS,
            "Flows and hosts that get equal shares of the rate.",
        ),
        word(
            "network",
            "internet",
            NETWORK_WORDS,
            "Distance of the hosts, which sets CoDel's target and interval.",
        ),
        RTT,
        word("link", "raw", LINK_WORDS, "Link layer whose overhead is charged for each packet."),
        Param {
            name: "overhead",
            default: Value::Count(0),
            bounds: Bounds::Whole(0, 256),
            doc: "Bytes charged for each packet beyond those of `link`; `link=ip` itself has none.",
        },
        Param {
            name: "vlans",
            default: Value::Count(0),
            bounds: Bounds::Whole(0, 4),
            doc: "VLAN tags of 4 bytes each on Ethernet, tc's `ether-vlan`.",
        },
        word(
            "framing",
            "link",
            FRAMING_WORDS,
            "Framing to charge for; `link` keeps the framing of the link layer.",
        ),
        Param {
            name: "mpu",
            default: Value::Bytes(Bytes(0)),
            bounds: Bounds::Whole(0, 256),
            doc: "Least length charged for a packet; 0 takes the least length of `link`.",
        },
        Param {
            name: "memlimit",
            default: Value::Bytes(Bytes(0)),
            bounds: bounds::ROOM_OR_NONE,
            doc: "Limit on the memory of all queues; 0 computes it from the bandwidth and the RTT.",
        },
        word(
            "ack_filter",
            "off",
            ACK_FILTER_WORDS,
            "Whether redundant acknowledgements are removed.",
        ),
        flag(
            "ingress",
            "Whether dropped packets are charged, because they have used the link before CAKE.",
        ),
        flag("autorate_ingress", "Whether the bandwidth follows the rate of arrivals."),
        flag("wash", "Whether the DSCP is cleared after the choice of a tin."),
        Param {
            name: "mtu",
            default: Value::Bytes(Bytes(1_514)),
            bounds: Bounds::Whole(82, 65_549),
            doc: "Largest packet of the device, link header included.",
        },
        SALT,
    ],
    build: |args: &Args| Box::new(Cake::new(settings(args))),
}];

const ACK_FILTER_WORDS: &[&str] = &["off", "on", "aggressive"];

/// The parameter for the rate of the shaper. The lowest rate is one byte per second, which is the
/// unit of netlink.
const BANDWIDTH: Param = Param {
    name: "bandwidth",
    default: Value::MaybeRate(None),
    bounds: Bounds::Whole(8, 1_000_000_000_000),
    doc: "Rate of the shaper; off removes the limit.",
};

/// The parameter for the round-trip time, which the kernel stores as microseconds in 32 bits.
const RTT: Param = Param {
    name: "rtt",
    default: Value::MaybeDuration(None),
    bounds: Bounds::span(Duration::from_micros(1), Duration::from_micros(u32::MAX as u64)),
    doc: "Typical RTT, in place of `network`; CoDel's interval is the RTT, its target a twentieth.",
};

const fn word(
    name: &'static str,
    default: &'static str,
    words: &'static [&'static str],
    doc: &'static str,
) -> Param {
    Param { name, default: Value::Word(default, words), bounds: Bounds::Any, doc }
}

const fn flag(name: &'static str, doc: &'static str) -> Param {
    Param { name, default: Value::Flag(false), bounds: Bounds::Any, doc }
}

fn settings(args: &Args) -> Settings {
    let (target, interval) = times(args.word("network"), args.maybe_duration("rtt"));
    let extra = args.count("overhead") + 4 * args.count("vlans");
    let memory = args.bytes("memlimit");
    Settings {
        rate: args.maybe_rate("bandwidth").map_or(0, BitRate::as_bps) / 8,
        diffserv: Mode::of(args.word("diffserv")),
        isolation: Isolation::of(args.word("isolation")),
        interval,
        target,
        charge: Charge::of_link(
            args.word("link"),
            extra as u16,
            args.word("framing"),
            args.bytes("mpu").0 as u16,
        ),
        memory_limit: (memory.0 > 0).then_some(memory),
        ack_filter: match args.word("ack_filter") {
            "on" => AckFilter::On,
            "aggressive" => AckFilter::Aggressive,
            _ => AckFilter::Off,
        },
        is_ingress: args.flag("ingress"),
        is_autorate: args.flag("autorate_ingress"),
        washes: args.flag("wash"),
        mtu: args.bytes("mtu").0 as u32,
        salt: args.count("salt") as u32,
    }
}
