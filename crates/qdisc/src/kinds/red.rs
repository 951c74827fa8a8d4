//! `red`: random early detection as Linux has it.
//!
//! Source: Linux 6.1 `net/sched/sch_red.c`; the law is [`crate::aqm::red`]. Inside is a FIFO with
//! room for `limit` bytes. With `ecn`, packets that can be are marked where others are dropped;
//! `harddrop` drops them too once the average is above `max`; `nodrop` lets the others pass.

use aqmlab_core::{Args, BitRate, Bytes, Cx, Duration, Kind, Packet, Param, Reason, Value};

use super::codel::ecn;
use crate::aqm::red::{Action, Red, Settings};
use crate::aqm::timer::Clock;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `red`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "red",
    summary: "Drop arrivals in proportion to the average queue, as Linux has it",
    source: "Linux 6.1 net/sched/sch_red.c, include/net/red.h; iproute2 tc/tc_red.c; tc-red(8)",
    params: &[
        Param {
            name: "limit",
            default: Value::Bytes(Bytes(400_000)),
            doc: "Bytes that may wait; tc-red(8) wants it well above max.",
        },
        Param {
            name: "min",
            default: Value::Bytes(Bytes(0)),
            doc: "Average queue from which arrivals are signalled; 0 for a third of max.",
        },
        Param {
            name: "max",
            default: Value::Bytes(Bytes(0)),
            doc: "Average queue from which all are signalled; 0 for a quarter of limit or 3 min.",
        },
        Param {
            name: "avpkt",
            default: Value::Bytes(Bytes(1_000)),
            doc: "Size of an average packet, for bursts and idle times.",
        },
        Param {
            name: "burst",
            default: Value::Count(0),
            doc: "Packets that may come at once and be let pass; 0 for (2 min + max) / (3 avpkt).",
        },
        Param {
            name: "probability",
            default: Value::Number(0.02),
            doc: "Probability of a signal when the average is at max.",
        },
        ecn(false),
        Param {
            name: "harddrop",
            default: Value::Flag(false),
            doc: "Whether packets are dropped and not marked when the average is above max.",
        },
        Param {
            name: "nodrop",
            default: Value::Flag(false),
            doc: "Whether, with ecn, packets that cannot be marked are let pass.",
        },
        Param {
            name: "adaptive",
            default: Value::Flag(false),
            doc: "Whether the probability adapts to keep the average half way.",
        },
        Param {
            name: "tick",
            default: Value::Duration(Duration::from_millis(4)),
            doc: "Timer tick of the kernel, by which adapting comes late; 0 for an ideal timer.",
        },
    ],
    build: |args: &Args| {
        let adapts = args.flag("adaptive");
        let law = Red::new(&Settings {
            limit: args.bytes("limit"),
            min: args.bytes("min"),
            max: args.bytes("max"),
            avpkt: args.bytes("avpkt"),
            burst: args.count("burst"),
            probability: args.number("probability"),
            adaptive: adapts.then(|| Clock::wheel(args.duration("tick"))),
        });
        Box::new(RedQueue {
            law,
            limit: args.bytes("limit"),
            habits: Habits {
                ecn: args.flag("ecn"),
                harddrop: args.flag("harddrop"),
                nodrop: args.flag("nodrop"),
            },
            queue: PacketQueue::default(),
        })
    },
}];

/// How congestion is signalled.
struct Habits {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

impl Habits {
    /// Does to `packet` what the law wants done; returns it if it survived.
    fn apply(&self, action: Action, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        let (reason, may_mark) = match action {
            Action::Keep => return Some(packet),
            Action::Early => (Reason::Early, self.ecn),
            Action::Forced => (Reason::Forced, self.ecn && !self.harddrop),
        };
        if may_mark && packet.ecn.is_capable() {
            return Some(cx.mark(packet, reason));
        }
        if may_mark && self.nodrop {
            return Some(packet);
        }
        cx.drop(packet, reason);
        None
    }
}

struct RedQueue {
    law: Red,
    limit: Bytes,
    habits: Habits,
    queue: PacketQueue,
}

impl Qdisc for RedQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.law.catch_up(cx.now);
        let waiting = self.queue.backlog().bytes;
        let action = self.law.arrive(cx.now, waiting, cx.rng);
        let Some(packet) = self.habits.apply(action, packet, cx) else { return };
        if waiting + packet.bytes() <= self.limit {
            self.queue.push(packet, cx.now);
        } else {
            cx.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.law.catch_up(cx.now);
        let taken = self.queue.pop(cx.now);
        if self.queue.is_empty() {
            self.law.emptied(cx.now);
        }
        taken.map(|(packet, _sojourn)| packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn link_rate(&mut self, rate: BitRate) {
        self.law.link_rate(rate);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("average_queue_bytes", self.law.average().0 as f64),
            ("max_probability", self.law.max_p()),
        ]
    }
}
