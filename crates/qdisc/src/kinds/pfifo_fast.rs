//! `pfifo_fast`: three FIFOs in strict priority, once the default of Linux interfaces.
//!
//! Sources: Linux 6.1 `net/sched/sch_generic.c`, `include/linux/ptr_ring.h`. Since the qdisc became
//! lockless, each band has its own ring with room for the interface's whole queue length. The
//! places of dequeued packets become free in batches. In earlier kernels, the three bands shared
//! that length.
//!
//! The band follows from a packet's priority. `dscp.rs` of the crate `trial` derives the priority
//! from the packet's DSCP.

use aqmlab_core::{Args, Bounds, Cx, Instant, Kind, Packet, Param, Reason, Value};

use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `pfifo_fast`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "pfifo_fast",
    summary: "Three FIFOs in strict priority, by the priority of the packet",
    source: "Linux 6.1 net/sched/sch_generic.c; tc-pfifo_fast(8)",
    params: &[
        Param {
            name: "limit",
            default: Value::Count(1_000),
            bounds: bounds::ROOM,
            doc: "Limit in packets of each band; the interface's queue length.",
        },
        Param {
            name: "batch",
            default: Value::Count(16),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Number of places of a band's ring that become free together after their packets \
                  have left. A number above half of the limit acts as 1. Linux before 4.16 frees \
                  each place at once, as with 1.",
        },
    ],
    build: |args: &Args| {
        let (size, batch) = (args.count("limit"), args.count("batch"));
        let batch = if batch > size / 2 { 1 } else { batch };
        Box::new(PfifoFast { bands: std::array::from_fn(|_| Band::new(size, batch)) })
    },
}];

/// The band of each priority (`prio2band`): best effort, 0, maps to the middle band.
const BANDS: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// A band: a ring of `size` places (`ptr_ring`).
struct Band {
    queue: PacketQueue,
    size: u64,
    batch: u64,
    /// The next place to be dequeued (`consumer_head`).
    head: u64,
    /// The first place that is not yet free (`consumer_tail`).
    tail: u64,
}

impl Band {
    fn new(size: u64, batch: u64) -> Self {
        Self { queue: PacketQueue::default(), size, batch, head: 0, tail: 0 }
    }

    fn is_full(&self) -> bool {
        self.queue.len() as u64 + self.head - self.tail >= self.size
    }

    /// Takes the next packet, if there is one. A place becomes free with the last place of its
    /// batch or of the ring (`__ptr_ring_discard_one`).
    fn pop(&mut self, now: Instant) -> Option<Packet> {
        let (packet, _) = self.queue.pop(now)?;
        self.head += 1;
        if self.head - self.tail >= self.batch {
            self.tail = self.head;
        }
        if self.head >= self.size {
            (self.head, self.tail) = (0, 0);
        }
        Some(packet)
    }
}

struct PfifoFast {
    bands: [Band; 3],
}

impl Qdisc for PfifoFast {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let band = &mut self.bands[usize::from(BANDS[usize::from(packet.priority % 16)])];
        if band.is_full() {
            return cx.drop(packet, Reason::Overlimit);
        }
        band.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.bands.iter_mut().find_map(|band| band.pop(cx.now))
    }

    fn keeps_order(&self) -> bool {
        true // The packets of a connection have one priority.
    }

    fn backlog(&self) -> Backlog {
        let bands = self.bands.iter().map(|band| band.queue.backlog());
        bands.fold(Backlog::default(), |sum, band| Backlog {
            packets: sum.packets + band.packets,
            bytes: sum.bytes + band.bytes,
        })
    }
}
