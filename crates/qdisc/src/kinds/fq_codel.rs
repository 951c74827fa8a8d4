//! `fq_codel`: a queue for each flow, served round-robin, each under CoDel.
//!
//! Sources: RFC 8290; Linux 6.1 `net/sched/sch_fq_codel.c` as Debian ships it (6.1.192), and the
//! same file of Linux 3.5 to 4.6 with `include/net/codel.h`; FreeBSD 10.4
//! `sys/netpfil/ipfw/dn_sched_fq_codel.c`. The scheduler is [`crate::flows`], and the law is
//! [`crate::aqm::codel`]. The implementations also differ in the handling of overflow:
//!
//! | | victim | packets dropped | reported to CoDel |
//! |---|---|---|---|
//! | RFC 8290 §4.1 | the queue with most bytes | half its packets, at most 64 | no |
//! | Linux | the queue with most bytes | 64, or half its bytes if that is sooner | `count` |
//! | Linux 3.5 to 4.6 | the queue with most bytes | one | no |
//! | FreeBSD | the queue with most packets | one | no |
//!
//! An empty queue resets `first_above_time`, except in `fq_codel_linux_3_5`, which has the error of
//! Linux from 2012 to 2026 ([`crate::aqm::codel`] describes it).
//!
//! CoDel signals no packet if the backlog behind it is at most one MTU. In Linux and in the RFC,
//! this backlog is the backlog of all flows, as RFC 8289 §4.4 requires for queues that share a
//! link. In FreeBSD it is the backlog of the flow's own queue.
//!
//! Differences, each pinned by a test:
//!
//! - Linux counts the true size of its buffers, which depends on the driver, against
//!   `memory_limit`; [`Flows::memory`] models one driver;
//! - until 4.1 Linux learned `mtu` from the packets that it dequeued, with 256 bytes initially;
//!   here `mtu` is known from the start.

use std::marker::PhantomData;

use aqmlab_core::{Args, Bounds, Bytes, Cx, Duration, Kind, Packet, Param, Value};

use super::codel::{self, CE_THRESHOLD, INTERVAL, MTU, TARGET, TICK, ecn};
use crate::aqm::codel::{self as law, Codel, Selector, State, Supply};
use crate::bounds;
use crate::flows::{Flows, Rules, Settings, Turn};
use crate::{Backlog, Qdisc};

/// Registers `fq_codel`, `fq_codel_linux_3_5`, `fq_codel_rfc` and `fq_codel_freebsd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "fq_codel",
        summary: "A queue per flow, served round-robin, each under CoDel, as in Linux",
        source: "RFC 8290; Linux 6.1 net/sched/sch_fq_codel.c; tc-fq_codel(8)",
        params: &[
            LIMIT,
            FLOWS,
            QUANTUM,
            TARGET,
            INTERVAL,
            ecn(true),
            MTU,
            CE_THRESHOLD,
            CE_THRESHOLD_SELECTOR,
            DROP_BATCH,
            MEMORY_LIMIT,
            SALT,
        ],
        build: |args: &Args| {
            Box::new(FqCodel::<Linux> {
                codel: Codel::new(law::Settings { selector: selector(args), ..codel::linux(args) }),
                flows: flows(args, Rules::Linux),
                limit: args.count("limit"),
                extra: Linux {
                    batch: args.count("drop_batch"),
                    memory_limit: args.bytes("memory_limit"),
                },
            })
        },
    },
    Kind {
        name: "fq_codel_linux_3_5",
        summary: "A queue per flow, served round-robin, each under CoDel, as in Linux 3.5 to 4.6",
        source: "Linux 3.6 and 3.10 net/sched/sch_fq_codel.c, include/net/codel.h",
        params: &[LIMIT, FLOWS, QUANTUM, TARGET, INTERVAL, ecn(true), MTU, SALT],
        build: |args: &Args| {
            Box::new(FqCodel::<Linux35> {
                codel: Codel::new(codel::linux_without_threshold(args)),
                flows: flows(args, Rules::Linux),
                limit: args.count("limit"),
                extra: Linux35,
            })
        },
    },
    Kind {
        name: "fq_codel_rfc",
        summary: "A queue per flow, served round-robin, each under CoDel, as specified in the RFCs",
        source: "RFC 8290 section 4; RFC 8289 section 5",
        params: &[LIMIT, FLOWS, ANY_QUANTUM, TARGET, INTERVAL, ecn(true), MTU, SALT],
        build: |args: &Args| {
            Box::new(FqCodel::<Rfc> {
                codel: Codel::new(codel::rfc(args)),
                flows: flows(args, Rules::Rfc8290),
                limit: args.count("limit"),
                extra: Rfc,
            })
        },
    },
    Kind {
        name: "fq_codel_freebsd",
        summary: "A queue per flow, served round-robin, each under CoDel, as in FreeBSD's dummynet",
        source: "FreeBSD 10.4 sys/netpfil/ipfw/dn_sched_fq_codel.c; ipfw(8)",
        params: &[
            Param { bounds: DUMMYNET_LIMIT, ..LIMIT },
            Param { bounds: DUMMYNET_FLOWS, ..FLOWS },
            Param { bounds: DUMMYNET_QUANTUM, ..QUANTUM },
            Param { bounds: bounds::FIVE_SECONDS, ..TARGET },
            Param { bounds: HUNDRED_SECONDS, ..INTERVAL },
            ecn(true),
            TICK,
            SALT,
        ],
        build: |args: &Args| {
            Box::new(FqCodel::<FreeBsd> {
                codel: Codel::new(codel::freebsd(args)),
                flows: flows(args, Rules::FreeBsd),
                limit: args.count("limit"),
                extra: FreeBsd,
            })
        },
    },
];

/// The parameter for the packet limit of all queues together.
pub(super) const LIMIT: Param = Param {
    name: "limit",
    default: Value::Count(10_240),
    bounds: bounds::ROOM,
    doc: "Limit in packets of all queues together; beyond it the longest queue drops packets.",
};

/// The parameter for the number of queues.
pub(super) const FLOWS: Param = Param {
    name: "flows",
    default: Value::Count(1_024),
    bounds: Bounds::Whole(1, 65_536),
    doc: "Number of queues into which flows are hashed.",
};

/// The parameter for the number of bytes that a flow may send per round; its bounds are as in
/// Linux's `fq_codel_change`.
pub(super) const QUANTUM: Param = Param {
    name: "quantum",
    default: Value::Bytes(Bytes(1_514)),
    bounds: Bounds::Whole(256, 1 << 20),
    doc: "Bytes that a flow may send in a round.",
};

const ANY_QUANTUM: Param = Param { bounds: bounds::ROOM, ..QUANTUM };

/// The bounds of the packet limit of all queues together in dummynet (FreeBSD 10.4
/// `dn_sched_fq_codel.c`, `dn_sched_fq_pie.c`).
pub(super) const DUMMYNET_LIMIT: Bounds = Bounds::Whole(1, 20_480);
/// The bounds of the quantum in dummynet.
pub(super) const DUMMYNET_QUANTUM: Bounds = Bounds::Whole(1, 9_000);
/// The bounds of the number of queues in dummynet. The kernel takes the hash modulo the low 16 bits
/// of this number, so it would divide by zero for 65536 queues.
pub(super) const DUMMYNET_FLOWS: Bounds = Bounds::Whole(1, 65_535);
/// The bounds of `interval` in `dn_sched_fq_codel.c`; `dn_aqm_codel.c` allows five seconds.
const HUNDRED_SECONDS: Bounds = Bounds::span(Duration::from_micros(1), Duration::from_secs(100));

/// The parameter for the maximum number of packets that Linux drops on overflow.
pub(super) const DROP_BATCH: Param = Param {
    name: "drop_batch",
    default: Value::Count(64),
    bounds: bounds::ROOM,
    doc: "Maximum number of packets dropped at once on overflow.",
};

/// The values and masks that select packets by their ECN field. `tc` compares the whole traffic
/// class; packets here have only its ECN bits.
const SELECTORS: &[(&str, Selector)] = &[
    ("0x00/0x00", Selector { value: 0, mask: 0 }),
    ("0x01/0x03", Selector { value: 1, mask: 3 }),
    ("0x02/0x03", Selector { value: 2, mask: 3 }),
];

/// The parameter that selects the packets to which `ce_threshold` applies, in `tc`'s notation.
const CE_THRESHOLD_SELECTOR: Param = Param {
    name: "ce_threshold_selector",
    default: Value::Word("0x00/0x00", &["0x00/0x00", "0x01/0x03", "0x02/0x03"]),
    bounds: Bounds::Any,
    doc: "Packets to which ce_threshold applies: all, ECT(1) (for L4S) or ECT(0), as value/mask.",
};

fn selector(args: &Args) -> Selector {
    let word = args.word("ce_threshold_selector");
    SELECTORS.iter().find(|(name, _)| *name == word).map_or_else(Selector::default, |found| found.1)
}

/// The parameter for Linux's limit on the memory of all queues.
pub(super) const MEMORY_LIMIT: Param = Param {
    name: "memory_limit",
    default: Value::Bytes(Bytes(32 << 20)),
    bounds: Bounds::Whole(1, 1 << 31),
    doc: "Limit on the memory of all queues, buffers and descriptors included.",
};

/// The parameter for the salt of the hash that assigns flows to queues.
pub(super) const SALT: Param = Param {
    name: "salt",
    default: Value::Count(0),
    bounds: bounds::SALT,
    doc: "Salt of the flow hash, which decides on collisions; 0 draws it from the run's seed.",
};

/// Returns the flows of a kind with the parameters `flows`, `quantum` and `salt`.
pub(super) fn flows<S: Default>(args: &Args, rules: Rules) -> Flows<S> {
    let settings = Settings {
        flows: args.count("flows"),
        quantum: args.bytes("quantum"),
        salt: args.count("salt"),
        rules,
    };
    Flows::new(settings, S::default)
}

struct FqCodel<V> {
    codel: Codel,
    flows: Flows<State>,
    limit: u64,
    extra: V,
}

/// The differences between implementations outside the law and the scheduler.
trait Variant: Send + 'static {
    /// Whether an empty queue resets `first_above_time`.
    const EMPTY_DISARMS: bool = true;

    /// Drops packets above the limit after an arrival. In FreeBSD, also updates the state of the
    /// arrival's flow.
    fn enforce_limit(
        &self,
        arrival: &Arrival,
        limit: u64,
        flows: &mut Flows<State>,
        cx: &mut Cx<'_>,
    );

    /// Returns the bytes that the one-MTU rule counts.
    fn waiting(turn: &Turn<'_>) -> Bytes {
        turn.total().bytes
    }
}

/// A packet that has just joined its queue.
struct Arrival {
    flow: usize,
    woke: bool,
    len: u32,
}

struct Linux {
    batch: u64,
    memory_limit: Bytes,
}

impl Variant for Linux {
    #[inline]
    fn enforce_limit(&self, _: &Arrival, limit: u64, flows: &mut Flows<State>, cx: &mut Cx<'_>) {
        if flows.backlog().packets as u64 > limit || flows.memory() > self.memory_limit {
            shed_as_linux(self.batch, flows, cx, State::strengthen);
        }
    }
}

/// Drops packets of the queue with the most bytes (Linux's `fq_codel_drop`). `tell` reports the
/// number of drops to the law of that queue.
#[cold]
pub(super) fn shed_as_linux<S>(
    batch: u64,
    flows: &mut Flows<S>,
    cx: &mut Cx<'_>,
    tell: impl Fn(&mut S, u32),
) {
    if let Some(victim) = flows.longest(|backlog| backlog.bytes.0) {
        let half = Bytes(flows.backlog_of(victim).bytes.0 / 2);
        let dropped = flows.shed(victim, batch, half, cx);
        tell(flows.state(victim), dropped);
    }
}

struct Linux35;

impl Variant for Linux35 {
    const EMPTY_DISARMS: bool = false;

    #[inline]
    fn enforce_limit(&self, _: &Arrival, limit: u64, flows: &mut Flows<State>, cx: &mut Cx<'_>) {
        if flows.backlog().packets as u64 > limit {
            shed_as_linux(1, flows, cx, |_, _| {});
        }
    }
}

struct Rfc;

impl Variant for Rfc {
    #[inline]
    fn enforce_limit(&self, _: &Arrival, limit: u64, flows: &mut Flows<State>, cx: &mut Cx<'_>) {
        if flows.backlog().packets as u64 <= limit {
            return;
        }
        if let Some(victim) = flows.longest(|backlog| backlog.bytes.0) {
            let half = flows.backlog_of(victim).packets as u64 / 2;
            flows.shed(victim, half.min(64), Bytes(u64::MAX), cx);
        }
    }
}

struct FreeBsd;

impl Variant for FreeBsd {
    #[inline]
    fn enforce_limit(
        &self,
        arrival: &Arrival,
        limit: u64,
        flows: &mut Flows<State>,
        cx: &mut Cx<'_>,
    ) {
        let state = flows.state(arrival.flow);
        state.saw(arrival.len);
        if arrival.woke {
            state.wake();
        }
        if flows.backlog().packets as u64 > limit {
            if let Some(victim) = flows.longest(|backlog| backlog.packets as u64) {
                flows.shed(victim, 1, Bytes(u64::MAX), cx);
            }
        }
    }

    fn waiting(turn: &Turn<'_>) -> Bytes {
        turn.own().bytes
    }
}

/// The queue of one flow in its turn, from which the law of variant `V` dequeues.
struct Through<'a, V>(Turn<'a>, PhantomData<V>);

impl<V: Variant> Supply for Through<'_, V> {
    #[inline]
    fn head(&self) -> Option<&Packet> {
        self.0.head()
    }

    #[inline]
    fn take(&mut self) -> Option<Packet> {
        self.0.take()
    }

    #[inline]
    fn waiting(&self) -> Bytes {
        V::waiting(&self.0)
    }
}

impl<V: Variant> Qdisc for FqCodel<V> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let flow = self.flows.classify(&packet, cx.rng);
        let len = packet.len;
        let woke = self.flows.push(flow, packet, cx.now);
        self.extra.enforce_limit(&Arrival { flow, woke, len }, self.limit, &mut self.flows, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        // The packet stays in one variable of the caller, so the code moves it only once.
        let mut packet = None;
        while let Some(flow) = self.flows.next_flow() {
            let (turn, state) = self.flows.turn(flow);
            if !V::EMPTY_DISARMS && turn.head().is_none() {
                state.stop_dropping();
                self.flows.emptied(flow);
                continue;
            }
            packet = self.codel.dequeue(state, &mut Through::<V>(turn, PhantomData), cx);
            if let Some(sent) = &packet {
                self.flows.sent(flow, sent);
                break;
            }
            self.flows.emptied(flow);
        }
        packet
    }

    fn reset(&mut self) {
        self.flows.reset(|state| *state = State::default());
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let (new, old) = self.flows.active();
        vec![("new_flows", new as f64), ("old_flows", old as f64)]
    }
}
