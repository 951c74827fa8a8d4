//! FIFO disciplines: first in, first out, the default of most home gateways.
//!
//! Sources: Linux 6.1 `net/sched/sch_fifo.c`; FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c` for
//! dummynet's two FIFOs. The byte limit differs: dummynet compares the backlog without the arrival,
//! so the last packet admitted can exceed the limit.

use aqmlab_core::hint::rare;
use aqmlab_core::{Args, Bytes, Cx, Kind, Packet, Param, Reason, Value};

use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `pfifo`, `bfifo`, `pfifo_head_drop`, `pfifo_freebsd` and `bfifo_freebsd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "pfifo",
        summary: "First in, first out, with a limit in packets",
        source: "Linux 6.1 net/sched/sch_fifo.c; tc-pfifo(8)",
        params: &[packets(1_000)],
        build: |args: &Args| Fifo::boxed(Room::Packets(args.count("limit")), Victim::Arrival),
    },
    Kind {
        name: "bfifo",
        summary: "First in, first out, with a limit in bytes",
        source: "Linux 6.1 net/sched/sch_fifo.c; tc-bfifo(8)",
        params: &[Param {
            name: "limit",
            default: Value::Bytes(Bytes(1_514_000)),
            bounds: bounds::ROOM,
            doc: "Queue limit in bytes; an arrival that would exceed it is dropped.",
        }],
        build: |args: &Args| Fifo::boxed(Room::Bytes(args.bytes("limit")), Victim::Arrival),
    },
    Kind {
        name: "pfifo_head_drop",
        summary: "First in, first out, with a limit in packets; a full queue drops its oldest packet",
        source: "Linux 6.1 net/sched/sch_fifo.c",
        params: &[Param {
            name: "limit",
            default: Value::Count(1_000),
            bounds: bounds::ROOM_OR_NONE, // zero drops every arrival (`pfifo_tail_enqueue`)
            doc: "Queue limit in packets; an arrival beyond it pushes out the oldest packet.",
        }],
        build: |args: &Args| Fifo::boxed(Room::Packets(args.count("limit")), Victim::Oldest),
    },
    Kind {
        name: "pfifo_freebsd",
        summary: "First in, first out, with a limit in packets, as in dummynet",
        source: "FreeBSD 10.4 sys/netpfil/ipfw/ip_dn_io.c; ipfw(8) queue in slots",
        params: &[packets(50)],
        build: |args: &Args| Fifo::boxed(Room::Packets(args.count("limit")), Victim::Arrival),
    },
    Kind {
        name: "bfifo_freebsd",
        summary: "First in, first out, with a byte limit that one packet can exceed, as in dummynet",
        source: "FreeBSD 10.4 sys/netpfil/ipfw/ip_dn_io.c; ipfw(8) queue in bytes",
        params: &[Param {
            name: "limit",
            default: Value::Bytes(Bytes(16_384)),
            bounds: bounds::ROOM,
            doc: "Queue limit in bytes; an arrival that finds a larger backlog is dropped.",
        }],
        build: |args: &Args| Fifo::boxed(Room::BytesBefore(args.bytes("limit")), Victim::Arrival),
    },
];

const fn packets(default: u64) -> Param {
    Param {
        name: "limit",
        default: Value::Count(default),
        bounds: bounds::ROOM,
        doc: "Queue limit in packets; arrivals beyond it are dropped.",
    }
}

/// The limit of a queue.
#[derive(Clone, Copy)]
enum Room {
    Packets(u64),
    /// The limit of the backlog in bytes, including the arrival.
    Bytes(Bytes),
    /// The limit of the backlog in bytes before the arrival, which can then exceed the limit.
    BytesBefore(Bytes),
}

/// The packet that a full queue drops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Arrival,
    Oldest,
}

struct Fifo {
    room: Room,
    victim: Victim,
    queue: PacketQueue,
}

impl Fifo {
    fn boxed(room: Room, victim: Victim) -> Box<dyn Qdisc> {
        Box::new(Self { room, victim, queue: PacketQueue::default() })
    }

    fn admits(&self, packet: &Packet) -> bool {
        let waiting = self.queue.backlog();
        match self.room {
            Room::Packets(limit) => (waiting.packets as u64) < limit,
            Room::Bytes(limit) => {
                rare();
                waiting.bytes + packet.bytes() <= limit
            }
            Room::BytesBefore(limit) => {
                rare();
                waiting.bytes <= limit
            }
        }
    }

    /// Drops the arrival at a full queue, or drops the oldest packet and keeps the arrival, as the
    /// kind requires. With a limit of zero there is no oldest packet, so the arrival is dropped.
    #[cold]
    fn overflow(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let oldest = match self.victim {
            Victim::Arrival => None,
            Victim::Oldest => self.queue.pop(cx.now),
        };
        let Some((oldest, _)) = oldest else {
            return cx.drop(packet, Reason::Overlimit);
        };
        cx.drop(oldest, Reason::Overlimit);
        self.queue.push(packet, cx.now);
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.admits(&packet) {
            self.queue.push(packet, cx.now);
        } else {
            rare();
            self.overflow(packet, cx);
        }
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.take()
    }

    fn pass(&mut self, mut packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.queue.is_empty() && self.admits(&packet) {
            packet.enqueued = cx.now;
            return Some(packet);
        }
        self.enqueue(packet, cx);
        self.dequeue(cx)
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}
