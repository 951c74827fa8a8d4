//! FIFO disciplines: first in, first out, the default of most home gateways.
//!
//! Sources: Linux 6.1 `net/sched/sch_fifo.c`; FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c` for
//! dummynet's two FIFOs. The byte limit differs: dummynet compares the backlog without the arrival,
//! so the last packet admitted can exceed the limit.

use aqmlab_core::hint::rare;
use aqmlab_core::{Args, Bytes, Cx, Instant, Kind, Packet, Param, Reason, Value};

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
#[derive(Clone, Copy, Debug)]
enum Room {
    Packets(u64),
    /// The limit of the backlog in bytes, including the arrival.
    Bytes(Bytes),
    /// The limit of the backlog in bytes before the arrival, which can then exceed the limit.
    BytesBefore(Bytes),
}

/// The packet that a full queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Arrival,
    Oldest,
}

/// A FIFO with a limit in packets or bytes.
///
/// The functions outside [`Qdisc`] are for [`Discipline`](crate::Discipline), which builds a [`Cx`]
/// only for a packet that does not fit.
#[derive(Clone, Debug)]
pub struct Fifo {
    room: Room,
    victim: Victim,
    queue: PacketQueue,
}

impl Fifo {
    fn boxed(room: Room, victim: Victim) -> Box<dyn Qdisc> {
        Box::new(Self { room, victim, queue: PacketQueue::default() })
    }

    /// Appends a packet that arrives at `now`. If the queue is full, returns the packet.
    #[expect(clippy::inline_always, reason = "queued packets pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn append(&mut self, packet: Packet, now: Instant) -> Result<(), Packet> {
        if !self.admits(&packet) {
            rare();
            return Err(packet);
        }
        self.queue.push(packet, now);
        Ok(())
    }

    /// Removes and returns the packet at the head, if there is one.
    #[expect(clippy::inline_always, reason = "queued packets pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<Packet> {
        self.queue.take()
    }

    /// Does what [`Self::append`] and then [`Self::take`] do, if the queue is empty and has room
    /// for the packet. Otherwise returns the packet as an error.
    #[expect(clippy::inline_always, reason = "unqueued packets pass; a call costs 0.5 % of a run")]
    #[inline(always)]
    pub(crate) fn bypass(&self, mut packet: Packet, now: Instant) -> Result<Packet, Packet> {
        if !self.queue.is_empty() || !self.admits(&packet) {
            rare();
            return Err(packet);
        }
        packet.enqueued = now;
        Ok(packet)
    }

    #[inline]
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
    pub(crate) fn overflow(&mut self, packet: Packet, cx: &mut Cx<'_>) {
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
        if let Err(packet) = self.append(packet, cx.now) {
            self.overflow(packet, cx);
        }
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.take()
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}
