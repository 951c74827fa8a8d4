//! `pie`: one queue that drops arrivals to hold its delay near a target.
//!
//! Sources: RFC 8033, Linux and FreeBSD; see [`crate::aqm::pie`] for the differences. This file
//! adds the limit: packets in Linux, bytes in the RFC, and packets or bytes in dummynet. Dummynet
//! checks its byte limit before it adds the packet, so a queue can exceed the limit by one packet.

pub(super) mod params;

use aqmlab_core::{Args, Bounds, Bytes, Cx, Kind, Packet, Param, Reason, Value};

use self::params::{ALPHA, ALPHA_PER_SECOND, BETA, BETA_PER_SECOND, BYTEMODE, CAPDROP, DERAND};
use self::params::{DQ_RATE_ESTIMATOR, LIMIT_BYTES, MAX_BURST, MAX_ECNTH, MTU, ON_OFF};
use self::params::{delay_from, dummynet, limit, target, tick, tupdate};
use super::codel::{TICK, ecn};
use crate::aqm::pie::freebsd::{self, FreeBsd};
use crate::aqm::pie::linux::{self, Linux, MAX_PROB};
use crate::aqm::pie::linux_3_14::{self, Linux314};
use crate::aqm::pie::rfc8033::{self, Rfc8033};
use crate::aqm::pie::{Arrival, Departure, Law, Verdict};
use crate::aqm::timer::{Clock, Timer};
use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `pie`, `pie_rfc8033`, `pie_linux_3_14` and `pie_freebsd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "pie",
        summary: "Drops arrivals so that the delay settles at a target, as in Linux since 5.5",
        source: "Linux 6.1 net/sched/sch_pie.c; tc-pie(8); RFC 8033",
        params: &[
            limit(1_000),
            target(15),
            tupdate(15),
            ALPHA,
            BETA,
            ecn(false),
            BYTEMODE,
            DQ_RATE_ESTIMATOR,
            MTU,
            tick(4_000),
        ],
        build: |args: &Args| {
            let mark_up_to = args.flag("ecn").then_some(MAX_PROB / 10);
            Pie::boxed(Linux::new(&linux(args, mark_up_to)), Room::Packets(args.count("limit")))
        },
    },
    Kind {
        name: "pie_rfc8033",
        summary: "Drops arrivals so that the delay settles at a target, as specified in RFC 8033",
        source: "RFC 8033 sections 4 and 5, Appendices A and B",
        params: &[
            Param {
                name: "limit",
                default: Value::Bytes(Bytes(150_000)),
                bounds: bounds::ROOM,
                doc: "Queue limit in bytes; the RFC leaves it to the operator.",
            },
            target(15),
            tupdate(15),
            MAX_BURST,
            ALPHA_PER_SECOND,
            BETA_PER_SECOND,
            ecn(false),
            MAX_ECNTH,
            Param {
                name: "appendix",
                default: Value::Word("b", &["a", "b"]),
                bounds: Bounds::Any,
                doc: "Basic design (a) or the design with all optional parts (b); only b marks.",
            },
            delay_from("timestamps"),
        ],
        build: |args: &Args| {
            Pie::boxed(Rfc8033::new(rfc8033(args)), Room::Bytes(args.bytes("limit").0))
        },
    },
    Kind {
        name: "pie_linux_3_14",
        summary: "Drops arrivals so that the delay settles at a target, as in Linux 3.14 to 5.0",
        source: "Linux 3.14 to 5.0 net/sched/sch_pie.c; tc-pie(8)",
        params: &[
            limit(1_000),
            target(20),
            tupdate(30),
            ALPHA,
            BETA,
            ecn(false),
            BYTEMODE,
            MTU,
            tick(100),
        ],
        build: |args: &Args| {
            Pie::boxed(Linux314::new(&linux_3_14(args)), Room::Packets(args.count("limit")))
        },
    },
    Kind {
        name: "pie_freebsd",
        summary: "Drops arrivals so that the delay settles at a target, as in dummynet",
        source: "FreeBSD 10.4 sys/netpfil/ipfw/dn_aqm_pie.c; ipfw(8)",
        params: &[
            limit(50),
            LIMIT_BYTES,
            dummynet::TARGET,
            dummynet::TUPDATE,
            dummynet::MAX_BURST,
            dummynet::ALPHA,
            dummynet::BETA,
            ecn(false),
            MAX_ECNTH,
            CAPDROP,
            DERAND,
            ON_OFF,
            delay_from("departures"),
            TICK,
        ],
        build: |args: &Args| {
            let room = match args.bytes("limit_bytes") {
                Bytes(0) => Room::Packets(args.count("limit")),
                Bytes(limit) => Room::UntilBytes(limit),
            };
            let switch = match room {
                _ if !args.flag("onoff") => freebsd::Switch::AlwaysOn,
                Room::Packets(limit) => freebsd::Switch::FromPackets(limit as usize / 3),
                Room::Bytes(limit) | Room::UntilBytes(limit) => {
                    freebsd::Switch::FromBytes(limit / 3)
                }
            };
            let delay_from = match args.word("delay_from") {
                "timestamps" => freebsd::DelayFrom::Timestamps,
                _ => freebsd::DelayFrom::Departures,
            };
            Pie::boxed(FreeBsd::new(&freebsd(args, delay_from, switch)), room)
        },
    },
];

/// Returns Linux's settings from the arguments of `pie` or `fq_pie`. `mark_up_to` is the
/// probability up to which ECN-capable packets are marked.
pub(super) fn linux(args: &Args, mark_up_to: Option<u64>) -> linux::Settings {
    linux::Settings {
        target: args.duration("target"),
        tupdate: args.duration("tupdate"),
        alpha: args.count("alpha"),
        beta: args.count("beta"),
        mark_up_to,
        bytemode: args.flag("bytemode"),
        dq_rate_estimator: args.flag("dq_rate_estimator"),
        mtu: args.bytes("mtu"),
        clock: Clock::wheel(args.duration("tick")),
    }
}

fn linux_3_14(args: &Args) -> linux_3_14::Settings {
    linux_3_14::Settings {
        target: args.duration("target"),
        tupdate: args.duration("tupdate"),
        alpha: args.count("alpha"),
        beta: args.count("beta"),
        ecn: args.flag("ecn"),
        bytemode: args.flag("bytemode"),
        mtu: args.bytes("mtu"),
        clock: Clock::ticks(args.duration("tick")),
    }
}

fn rfc8033(args: &Args) -> rfc8033::Settings {
    let limit = args.bytes("limit");
    let (design, marks) = match args.word("appendix") {
        "a" => (rfc8033::Settings::appendix_a(limit), false),
        _ => (rfc8033::Settings::appendix_b(limit), args.flag("ecn")),
    };
    rfc8033::Settings {
        target: args.duration("target"),
        tupdate: args.duration("tupdate"),
        max_burst: args.duration("max_burst"),
        alpha: args.number("alpha"),
        beta: args.number("beta"),
        ecn_below: marks.then(|| args.number("max_ecnth")),
        delay_from: match args.word("delay_from") {
            "departures" => rfc8033::DelayFrom::Departures,
            _ => rfc8033::DelayFrom::Timestamps,
        },
        ..design
    }
}

/// Returns FreeBSD's settings from the arguments of `pie_freebsd` or `fq_pie_freebsd`.
pub(super) fn freebsd(
    args: &Args,
    delay_from: freebsd::DelayFrom,
    switch: freebsd::Switch,
) -> freebsd::Settings {
    freebsd::Settings {
        target: args.duration("target"),
        tupdate: args.duration("tupdate"),
        max_burst: args.duration("max_burst"),
        alpha: args.number("alpha"),
        beta: args.number("beta"),
        ecn_below: args.flag("ecn").then(|| args.number("max_ecnth")),
        capdrop: args.flag("capdrop"),
        derand: args.flag("derand"),
        delay_from,
        switch,
        tick: args.duration("tick"),
    }
}

/// The limit of a queue.
#[derive(Clone, Copy)]
enum Room {
    /// The number of queued packets must be below this limit.
    Packets(u64),
    /// The size of the queued packets and the arrival together must not exceed this limit.
    Bytes(u64),
    /// The number of queued bytes must be below this limit.
    UntilBytes(u64),
}

impl Room {
    #[inline]
    fn fits(self, packet: &Packet, waiting: Backlog) -> bool {
        match self {
            Self::Packets(limit) => (waiting.packets as u64) < limit,
            Self::Bytes(limit) => (waiting.bytes + packet.bytes()).0 <= limit,
            Self::UntilBytes(limit) => waiting.bytes.0 < limit,
        }
    }
}

struct Pie<L> {
    law: L,
    room: Room,
    queue: PacketQueue,
}

impl<L: Law + 'static> Pie<L> {
    fn boxed(law: L, room: Room) -> Box<dyn Qdisc> {
        Box::new(Self { law, room, queue: PacketQueue::default() })
    }
}

impl<L: Law> Qdisc for Pie<L> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let waiting = self.queue.backlog();
        self.law.catch_up(cx.now, waiting);
        let fits = self.room.fits(&packet, waiting);
        let arrival = Arrival { now: cx.now, packet: &packet, waiting, fits };
        match self.law.arrive(&arrival, cx.rng) {
            Verdict::Keep => self.queue.push(packet, cx.now),
            Verdict::Mark => {
                let marked = cx.mark(packet, Reason::Early);
                self.queue.push(marked, cx.now);
            }
            Verdict::Drop(reason) => cx.drop(packet, reason),
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.law.catch_up(cx.now, self.queue.backlog());
        let (packet, _sojourn) = self.queue.pop(cx.now)?;
        let left = self.queue.backlog();
        self.law.depart(&Departure { now: cx.now, packet: &packet, left });
        Some(packet)
    }

    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        if let Some(timer) = self.law.timer() {
            visit(timer);
        }
    }

    fn reset(&mut self) {
        self.law.reset();
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("drop_probability", self.law.probability()),
            ("queue_delay_ms", self.law.delay().as_secs_f64() * 1e3),
        ]
    }
}
