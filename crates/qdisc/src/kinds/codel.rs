//! `codel`: one queue under the CoDel law, as in Linux, the RFC and FreeBSD.
//!
//! Sources: the sources of [`crate::aqm::codel`]. The queue around the law follows Linux 6.1
//! `net/sched/sch_codel.c`; for FreeBSD, `sys/netpfil/ipfw/dn_aqm_codel.c`.
//!
//! In all three, an arrival at a full queue is dropped, and the law is not called (RFC 8289 §5.4).

use aqmlab_core::{Args, Bounds, Bytes, Cx, Duration, Kind, Packet, Param, Reason, Value};

use crate::aqm::codel::{Codel, Dialect, Selector, Settings, State};
use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `codel`, `codel_rfc` and `codel_freebsd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "codel",
        summary: "One queue under CoDel, as in Linux",
        source: "RFC 8289; Linux 6.1 net/sched/sch_codel.c; tc-codel(8)",
        params: &[limit(1_000), TARGET, INTERVAL, ecn(false), MTU, CE_THRESHOLD],
        build: |args: &Args| CodelQueue::boxed(linux(args), args),
    },
    Kind {
        name: "codel_rfc",
        summary: "One queue under CoDel, as specified in RFC 8289",
        source: "RFC 8289 section 5",
        params: &[limit(1_000), TARGET, INTERVAL, ecn(false), MTU],
        build: |args: &Args| CodelQueue::boxed(rfc(args), args),
    },
    Kind {
        name: "codel_freebsd",
        summary: "One queue under CoDel, as in FreeBSD's dummynet",
        source: "FreeBSD 10.4 sys/netpfil/ipfw/dn_aqm_codel.c; ipfw(8)",
        params: &[
            limit(50),
            Param { bounds: bounds::FIVE_SECONDS, ..TARGET },
            Param { bounds: bounds::FIVE_SECONDS, ..INTERVAL },
            ecn(false),
            TICK,
        ],
        build: |args: &Args| CodelQueue::boxed(freebsd(args), args),
    },
];

const fn limit(packets: u64) -> Param {
    Param {
        name: "limit",
        default: Value::Count(packets),
        bounds: bounds::ROOM,
        doc: "Queue limit in packets; arrivals beyond it are dropped.",
    }
}

/// The parameter `target` of every kind with CoDel.
pub(super) const TARGET: Param = Param {
    name: "target",
    default: Value::Duration(Duration::from_millis(5)),
    bounds: bounds::MICROS,
    doc: "Acceptable standing sojourn time.",
};

/// The parameter `interval` of every kind with CoDel.
pub(super) const INTERVAL: Param = Param {
    name: "interval",
    default: Value::Duration(Duration::from_millis(100)),
    bounds: bounds::MICROS,
    doc: "Time for which the sojourn time must exceed `target` before the first signal; a \
          worst-case RTT.",
};

/// Returns the parameter `ecn`. The argument `on` is its default.
pub(super) const fn ecn(on: bool) -> Param {
    Param {
        name: "ecn",
        default: Value::Flag(on),
        bounds: Bounds::Any,
        doc: "Whether ECN-capable packets are marked instead of dropped.",
    }
}

/// The parameter `mtu`: the largest backlog behind a packet at which CoDel neither marks nor drops
/// the packet.
pub(super) const MTU: Param = Param {
    name: "mtu",
    default: Value::Bytes(Bytes(1_514)),
    bounds: bounds::ROOM_OR_NONE,
    doc: "Backlog up to which no packet is marked or dropped; the link's largest packet.",
};

/// The parameter `ce_threshold` of Linux's step marking.
pub(super) const CE_THRESHOLD: Param = Param {
    name: "ce_threshold",
    default: Value::MaybeDuration(None),
    bounds: bounds::MICROS_OR_NONE,
    doc: "Sojourn time above which every ECN-capable packet is marked on departure.",
};

/// The parameter `tick` of FreeBSD's clock.
pub(super) const TICK: Param = Param {
    name: "tick",
    default: Value::Duration(Duration::from_millis(1)),
    bounds: bounds::TICK,
    doc: "Timer tick of the kernel, 1/HZ; the resolution of the law's clock.",
};

/// Returns Linux's settings of CoDel from the arguments of a kind with `ce_threshold`.
pub(super) fn linux(args: &Args) -> Settings {
    Settings { ce_threshold: args.maybe_duration("ce_threshold"), ..common(args, Dialect::Linux) }
}

/// Returns Linux's settings of CoDel from the arguments of a kind without `ce_threshold`.
pub(super) fn linux_without_threshold(args: &Args) -> Settings {
    common(args, Dialect::Linux)
}

/// Returns the RFC's settings of CoDel from the arguments of a kind.
pub(super) fn rfc(args: &Args) -> Settings {
    common(args, Dialect::Rfc8289)
}

/// Returns FreeBSD's settings of CoDel from the arguments of a kind with `tick`.
pub(super) fn freebsd(args: &Args) -> Settings {
    Settings {
        dialect: Dialect::FreeBsd { tick: args.duration("tick") },
        target: args.duration("target"),
        interval: args.duration("interval"),
        mtu: Bytes(0),
        ecn: args.flag("ecn"),
        ce_threshold: None,
        selector: Selector::default(),
    }
}

fn common(args: &Args, dialect: Dialect) -> Settings {
    Settings {
        dialect,
        target: args.duration("target"),
        interval: args.duration("interval"),
        mtu: args.bytes("mtu"),
        ecn: args.flag("ecn"),
        ce_threshold: None,
        selector: Selector::default(),
    }
}

struct CodelQueue {
    limit: u64,
    queue: PacketQueue,
    codel: Codel,
    state: State,
}

impl CodelQueue {
    fn boxed(settings: Settings, args: &Args) -> Box<dyn Qdisc> {
        Box::new(Self {
            limit: args.count("limit"),
            queue: PacketQueue::default(),
            codel: Codel::new(settings),
            state: State::default(),
        })
    }
}

impl Qdisc for CodelQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.state.saw(packet.len);
        if self.queue.len() as u64 >= self.limit {
            return cx.drop(packet, Reason::Overlimit);
        }
        self.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.codel.dequeue(&mut self.state, &mut self.queue, cx)
    }

    fn reset(&mut self) {
        if self.codel.is_freebsd() {
            self.state = State::default();
        }
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", f64::from(self.state.count())),
            ("dropping", f64::from(u8::from(self.state.is_dropping()))),
        ]
    }
}
