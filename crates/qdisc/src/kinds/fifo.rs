//! First in, first out, with tail drop: what most home gateways ship with.
//!
//! Source: Linux 6.1 `net/sched/sch_fifo.c`.

use aqmlab_core::{Args, Bytes, Cx, Kind, Packet, Param, Reason, Value};

use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `pfifo` and `bfifo`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "pfifo",
        summary: "First in, first out, with room for so many packets",
        source: "Linux 6.1 net/sched/sch_fifo.c; tc-pfifo(8)",
        params: &[Param {
            name: "limit",
            default: Value::Count(1_000),
            doc: "Packets that may wait; an arrival beyond them is dropped.",
        }],
        build: |args: &Args| {
            Box::new(Fifo {
                room: Room::Packets(args.count("limit")),
                queue: PacketQueue::default(),
            })
        },
    },
    Kind {
        name: "bfifo",
        summary: "First in, first out, with room for so many bytes",
        source: "Linux 6.1 net/sched/sch_fifo.c; tc-bfifo(8)",
        params: &[Param {
            name: "limit",
            default: Value::Bytes(Bytes(1_514_000)),
            doc: "Bytes that may wait; an arrival that would exceed them is dropped.",
        }],
        build: |args: &Args| {
            Box::new(Fifo { room: Room::Bytes(args.bytes("limit")), queue: PacketQueue::default() })
        },
    },
];

/// How much may wait.
enum Room {
    Packets(u64),
    Bytes(Bytes),
}

struct Fifo {
    room: Room,
    queue: PacketQueue,
}

impl Fifo {
    fn admits(&self, packet: &Packet) -> bool {
        let waiting = self.queue.backlog();
        match self.room {
            Room::Packets(limit) => (waiting.packets as u64) < limit,
            Room::Bytes(limit) => waiting.bytes + packet.bytes() <= limit,
        }
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.admits(&packet) {
            self.queue.push(packet, cx.now);
        } else {
            cx.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.pop(cx.now).map(|(packet, _sojourn)| packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}
