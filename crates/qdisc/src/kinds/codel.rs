//! `codel`: one queue under the CoDel law, as Linux, the RFC and FreeBSD have it.
//!
//! Sources: those of [`crate::aqm::codel`]; Linux 6.1 `net/sched/sch_codel.c` for the queue
//! around the law, and for FreeBSD `sys/netinet/ip_dummynet.c`, `dn_aqm_codel.c`.
//!
//! In all three an arrival that finds the queue full is dropped without the law's hearing of it
//! (RFC 8289 §5.4).

use aqmlab_core::{Args, Bounds, Bytes, Cx, Duration, Kind, Packet, Param, Reason, Value};

use crate::aqm::codel::{Codel, Dialect, Settings, State};
use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `codel`, `codel_rfc` and `codel_freebsd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "codel",
        summary: "One queue kept short by CoDel, as Linux has it",
        source: "RFC 8289; Linux 6.1 net/sched/sch_codel.c; tc-codel(8)",
        params: &[limit(1_000), TARGET, INTERVAL, ecn(false), MTU, CE_THRESHOLD],
        build: |args: &Args| CodelQueue::boxed(linux(args), args),
    },
    Kind {
        name: "codel_rfc",
        summary: "One queue kept short by CoDel, to the letter of its RFC",
        source: "RFC 8289 section 5",
        params: &[limit(1_000), TARGET, INTERVAL, ecn(false), MTU],
        build: |args: &Args| CodelQueue::boxed(rfc(args), args),
    },
    Kind {
        name: "codel_freebsd",
        summary: "One queue kept short by CoDel, as FreeBSD's dummynet has it",
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
        doc: "Packets that may wait; an arrival beyond them is dropped.",
    }
}

/// The parameter that every CoDel calls `target`.
pub(super) const TARGET: Param = Param {
    name: "target",
    default: Value::Duration(Duration::from_millis(5)),
    bounds: bounds::MICROS,
    doc: "Standing sojourn time that is acceptable.",
};

/// The parameter that every CoDel calls `interval`.
pub(super) const INTERVAL: Param = Param {
    name: "interval",
    default: Value::Duration(Duration::from_millis(100)),
    bounds: bounds::MICROS,
    doc: "How long the target may be exceeded before the first signal; a worst-case RTT.",
};

/// Whether ECN-capable packets are marked, and by default so or not.
pub(super) const fn ecn(on: bool) -> Param {
    Param {
        name: "ecn",
        default: Value::Flag(on),
        bounds: Bounds::Any,
        doc: "Whether ECN-capable packets are marked instead of dropped.",
    }
}

/// The size of a backlog that is never bad.
pub(super) const MTU: Param = Param {
    name: "mtu",
    default: Value::Bytes(Bytes(1_514)),
    bounds: bounds::ROOM_OR_NONE,
    doc: "A backlog of no more than this is never signalled; the link's largest packet.",
};

/// Linux's step marking.
pub(super) const CE_THRESHOLD: Param = Param {
    name: "ce_threshold",
    default: Value::MaybeDuration(None),
    bounds: bounds::MICROS_OR_NONE,
    doc: "Sojourn time beyond which every ECN-capable packet is marked as it leaves.",
};

/// FreeBSD's clock.
pub(super) const TICK: Param = Param {
    name: "tick",
    default: Value::Duration(Duration::from_millis(1)),
    bounds: bounds::TICK,
    doc: "The timer tick by which the law tells the time; 1/HZ of the kernel.",
};

/// Linux's law with the arguments of a kind that declares its parameters.
pub(super) fn linux(args: &Args) -> Settings {
    Settings { ce_threshold: args.maybe_duration("ce_threshold"), ..common(args, Dialect::Linux) }
}

/// The same where `ce_threshold` is unknown.
pub(super) fn linux_without_threshold(args: &Args) -> Settings {
    common(args, Dialect::Linux)
}

/// The RFC's law with the arguments of a kind that declares its parameters.
pub(super) fn rfc(args: &Args) -> Settings {
    common(args, Dialect::Rfc8289)
}

/// FreeBSD's law with the arguments of a kind that declares its parameters.
pub(super) fn freebsd(args: &Args) -> Settings {
    Settings {
        dialect: Dialect::FreeBsd { tick: args.duration("tick") },
        target: args.duration("target"),
        interval: args.duration("interval"),
        mtu: Bytes(0),
        ecn: args.flag("ecn"),
        ce_threshold: None,
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
