//! `ared` and `red_floyd`: random early detection as its authors define it, with and without
//! self-tuning.
//!
//! Sources: Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; ns-3. The law is
//! [`crate::aqm::floyd`]; the queue is counted in packets.

use aqmlab_core::{Args, Bounds, Bytes, Cx, Duration, Kind, Packet, Param, Reason, Value};

use super::codel::ecn;
use crate::aqm::floyd::{Floyd, Settings, Tuning};
use crate::aqm::red::Action;
use crate::bounds;
use crate::{Backlog, PacketQueue, Parent, Qdisc};

/// Registers `ared` and `red_floyd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "ared",
        summary: "RED that tunes its thresholds to the link rate and adapts its drop probability",
        source: "Floyd, Gummadi and Shenker 2001; ns-3 red-queue-disc.cc",
        params: &[
            limit(1_000),
            Param {
                name: "target_delay",
                default: Value::Duration(Duration::from_millis(5)),
                bounds: bounds::MICROS,
                doc: "Target for the average queueing delay.",
            },
            Param {
                name: "interval",
                default: Value::Duration(Duration::from_millis(500)),
                bounds: bounds::MICROS,
                doc: "Time between adaptations of the drop probability.",
            },
            MAX_P,
            MEAN_PACKET,
            GENTLE,
            WAIT,
            ecn(false),
            HARDDROP,
        ],
        build: |args: &Args| {
            let tuning = Tuning::Automatic {
                target_delay: args.duration("target_delay"),
                interval: args.duration("interval"),
            };
            FloydQueue::boxed(args, tuning)
        },
    },
    Kind {
        name: "red_floyd",
        summary: "RED with its thresholds in packets, as in ns-3",
        source: "Floyd and Jacobson 1993; ns-3 red-queue-disc.cc",
        params: &[
            limit(25),
            Param {
                name: "min",
                default: Value::Number(5.0),
                bounds: AVERAGES,
                doc: "Average queue length in packets from which arrivals are signalled at \
                      random.",
            },
            Param {
                name: "max",
                default: Value::Number(15.0),
                bounds: AVERAGES,
                doc: "Average queue length in packets from which all arrivals are signalled \
                      (with gentle, from 2 max).",
            },
            Param {
                name: "weight",
                default: Value::Number(0.002),
                bounds: WEIGHTS,
                doc: "Weight of the current queue length in the moving average.",
            },
            MAX_P,
            MEAN_PACKET,
            GENTLE,
            WAIT,
            ecn(false),
            HARDDROP,
        ],
        build: |args: &Args| {
            let tuning = Tuning::Fixed {
                min: args.number("min"),
                max: args.number("max"),
                weight: args.number("weight"),
            };
            FloydQueue::boxed(args, tuning)
        },
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

/// The bounds of an average queue length in packets.
const AVERAGES: Bounds = Bounds::Real(0.0, 4_294_967_295.0);
/// The bounds of a weight. With a smaller weight, the average would hardly change within a trial.
const WEIGHTS: Bounds = Bounds::Real(1e-9, 1.0);

const MAX_P: Param = Param {
    name: "max_p",
    default: Value::Number(0.02),
    bounds: bounds::PROBABILITY,
    doc: "Probability of a signal when the average queue length is max; ared adapts it.",
};

const MEAN_PACKET: Param = Param {
    name: "mean_packet",
    default: Value::Bytes(Bytes(500)),
    bounds: bounds::PACKET_BYTES,
    doc: "Average packet size assumed for idle times and automatic thresholds.",
};

const GENTLE: Param = Param {
    name: "gentle",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether the probability rises to 1 at twice max instead of jumping to 1 at max.",
};

const WAIT: Param = Param {
    name: "wait",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether at least 1/p packets lie between two signals of probability p.",
};

const HARDDROP: Param = Param {
    name: "harddrop",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether packets are dropped rather than marked where all arrivals are signalled.",
};

struct FloydQueue {
    law: Floyd,
    limit: u64,
    ecn: bool,
    harddrop: bool,
    queue: PacketQueue,
}

impl FloydQueue {
    fn boxed(args: &Args, tuning: Tuning) -> Box<dyn Qdisc> {
        let law = Floyd::new(Settings {
            tuning,
            max_p: args.number("max_p"),
            gentle: args.flag("gentle"),
            wait: args.flag("wait"),
            mean_packet: args.bytes("mean_packet"),
        });
        Box::new(Self {
            law,
            limit: args.count("limit"),
            ecn: args.flag("ecn"),
            harddrop: args.flag("harddrop"),
            queue: PacketQueue::default(),
        })
    }

    /// Applies the law's decision to `packet`; returns the packet unless it was dropped.
    fn apply(&self, action: Action, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        let (reason, may_mark) = match action {
            Action::Keep => return Some(packet),
            Action::Early => (Reason::Early, self.ecn),
            Action::Forced => (Reason::Forced, self.ecn && !self.harddrop),
        };
        if may_mark {
            return cx.signal(packet, reason);
        }
        cx.drop(packet, reason);
        None
    }
}

impl Qdisc for FloydQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let action = self.law.arrive(cx.now, self.queue.len(), cx.rng);
        let Some(packet) = self.apply(action, packet, cx) else { return };
        if (self.queue.len() as u64) < self.limit {
            self.queue.push(packet, cx.now);
        } else {
            cx.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let taken = self.queue.pop(cx.now);
        if self.queue.is_empty() {
            self.law.emptied(cx.now);
        }
        taken.map(|(packet, _sojourn)| packet)
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn attach(&mut self, to: Parent) {
        self.law.link_rate(to.rate);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("average_queue_packets", self.law.average()), ("max_probability", self.law.max_p())]
    }
}
