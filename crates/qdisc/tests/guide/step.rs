//! `step`: signals every packet that waited longer than a threshold.
//!
//! Source: RFC 8257 §3.1, with the time in the queue in place of its length.

use aqmlab_core::{Args, Cx, Duration, Kind, Packet, Param, Reason, Value};

use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `step`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "step",
    summary: "Signal every packet that waited longer than a threshold",
    source: "RFC 8257 section 3.1",
    params: &[
        Param {
            name: "limit",
            default: Value::Count(1_000),
            bounds: bounds::ROOM,
            doc: "Packets that may wait; an arrival beyond them is dropped.",
        },
        Param {
            name: "threshold",
            default: Value::Duration(Duration::from_millis(20)),
            bounds: bounds::MICROS_OR_NONE,
            doc: "Time in the queue beyond which a packet is marked, or else dropped.",
        },
    ],
    build: |args: &Args| {
        Box::new(Step {
            limit: args.count("limit"),
            threshold: args.duration("threshold"),
            queue: PacketQueue::default(),
        })
    },
}];

struct Step {
    limit: u64,
    threshold: Duration,
    queue: PacketQueue,
}

impl Qdisc for Step {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if (self.queue.len() as u64) < self.limit {
            self.queue.push(packet, cx.now);
        } else {
            cx.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        while let Some((packet, sojourn)) = self.queue.pop(cx.now) {
            if sojourn <= self.threshold {
                return Some(packet);
            }
            if let Some(marked) = cx.signal(packet, Reason::Sojourn) {
                return Some(marked);
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}
