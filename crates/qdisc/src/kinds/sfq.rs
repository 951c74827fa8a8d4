//! `sfq`: stochastic fairness queueing, with a queue for each flow, served round-robin.
//!
//! Sources: Linux 6.1 `net/sched/sch_sfq.c` as Debian ships it (6.1.192); McKenney, "Stochastic
//! Fairness Queuing", INFOCOM 1990. Linux 6.1.192 no longer rounds a flow's allotment up to a
//! multiple of eight bytes.
//!
//! Two properties are easily overlooked. A flow that becomes active joins the *end* of the round,
//! so SFQ does not favour sparse flows. The packet that empties a flow is not charged, so a flow of
//! single packets never runs out of allotment.
//!
//! Differences: this module mixes the packet's own tuple hash with a salt; the kernel hashes the
//! packet with a random key (`perturbation`). This module does not implement the optional RED
//! within flows. The kernel refuses parameters for which `depth` times `flows` is one packet; this
//! module accepts them. In the kernel, every limit that the user sets also bounds the number of
//! flows. In this module, a limit of 127 packets, the default, does not bound it.

use aqmlab_core::{
    Args, Bounds, Bytes, Cx, Duration, Instant, Kind, Packet, Param, Reason, Rng, Value,
};

use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `sfq`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "sfq",
    summary: "A queue per flow, served round-robin; on overflow the longest queue loses a packet",
    source: "Linux 6.1 net/sched/sch_sfq.c; tc-sfq(8)",
    params: &[
        Param {
            name: "limit",
            default: Value::Count(127),
            bounds: LIMITS,
            doc: "Limit in packets of all queues together; at most depth times flows.",
        },
        Param {
            name: "depth",
            default: Value::Count(127),
            bounds: Bounds::Whole(1, MAX_DEPTH),
            doc: "Limit in packets of one queue.",
        },
        Param {
            name: "flows",
            default: Value::Count(128),
            bounds: Bounds::Whole(1, MAX_FLOWS),
            doc: "Maximum number of non-empty queues; arrivals of further flows are dropped.",
        },
        Param {
            name: "divisor",
            default: Value::Count(1_024),
            bounds: Bounds::Whole(1, 1 << 16),
            doc: "Buckets of the flow hash, rounded up to a power of two.",
        },
        Param {
            name: "quantum",
            default: Value::Bytes(Bytes(1_514)),
            bounds: Bounds::Whole(256, 1 << 20),
            doc: "Bytes that a flow may send in a round.",
        },
        Param {
            name: "perturb",
            default: Value::MaybeDuration(None),
            bounds: PERTURB,
            doc: "Interval at which the hash changes and the waiting packets are hashed again.",
        },
        Param {
            name: "headdrop",
            default: Value::Flag(false),
            bounds: Bounds::Any,
            doc: "Whether the longest queue loses its oldest packet rather than its newest.",
        },
        Param {
            name: "salt",
            default: Value::Count(0),
            bounds: bounds::SALT,
            doc: "Salt of the flow hash, which decides on collisions; 0 draws it from the seed.",
        },
    ],
    build: |args: &Args| Box::new(Sfq::new(args)),
}];

/// The bounds of the limit. The kernel refuses a limit of one packet, because its bookkeeping needs
/// two (`sfq_change`).
const LIMITS: Bounds = Bounds::Whole(2, MAX_DEPTH * MAX_FLOWS);
/// The bounds of the perturbation period: whole seconds that fit a signed jiffies count at 250
/// ticks per second (`sfq_change`).
const PERTURB: Bounds = Bounds::span(Duration::from_secs(1), Duration::from_secs((1 << 31) / 250));
const DEFAULT_LIMIT: u64 = 127;
const MAX_DEPTH: u64 = 127;
const MAX_FLOWS: u64 = 0x1_0000 - MAX_DEPTH - 1;
const EMPTY: u16 = u16::MAX;

struct Sfq {
    limit: usize,
    depth: usize,
    headdrop: bool,
    quantum: u32,
    perturb: Option<Duration>,
    perturb_due: Instant,
    salt: Option<u32>,
    /// The slot of each bucket, or `EMPTY`.
    buckets: Vec<u16>,
    slots: Vec<Slot>,
    depths: Depths,
    /// The last slot of the round, which is a ring; the successor of this slot is served next.
    tail: Option<usize>,
    total: Backlog,
}

/// A slot, which holds the packets of a flow or is free.
#[derive(Default)]
struct Slot {
    queue: PacketQueue,
    next: usize,
    bucket: usize,
    allot: i64,
}

impl Sfq {
    fn new(args: &Args) -> Self {
        let depth = args.count("depth");
        let buckets = args.count("divisor").next_power_of_two();
        let mut flows = args.count("flows").min(buckets);
        let limit = args.count("limit").min(depth * flows);
        if limit != DEFAULT_LIMIT {
            flows = flows.min(limit);
        }
        let perturb = args.maybe_duration("perturb");
        Self {
            limit: limit as usize,
            depth: depth as usize,
            headdrop: args.flag("headdrop"),
            quantum: args.bytes("quantum").0 as u32,
            perturb,
            perturb_due: perturb.map_or(Instant::NEVER, |period| Instant::ZERO + period),
            salt: Some(args.count("salt") as u32).filter(|salt| *salt != 0),
            buckets: vec![EMPTY; buckets as usize],
            slots: (0..flows).map(|_| Slot::default()).collect(),
            depths: Depths::new(flows as usize, depth as usize),
            tail: None,
            total: Backlog::default(),
        }
    }

    fn bucket(&mut self, packet: &Packet, rng: &mut Rng) -> usize {
        let salt = *self.salt.get_or_insert_with(|| rng.next_u32());
        crate::flows::spread(packet.tuple_hash ^ salt) as usize & (self.buckets.len() - 1)
    }

    /// Returns the slot of `bucket`; assigns a free slot if the bucket has none. Returns `None` if
    /// no slot is free.
    fn slot_of(&mut self, bucket: usize) -> Option<usize> {
        if self.buckets[bucket] != EMPTY {
            return Some(usize::from(self.buckets[bucket]));
        }
        let free = self.depths.first(0)?;
        self.buckets[bucket] = free as u16;
        self.slots[free].bucket = bucket;
        Some(free)
    }

    /// Appends `packet` to slot `index`; an empty slot joins the end of the round.
    fn append(&mut self, index: usize, packet: Packet, arrived: Instant) {
        let slot = &mut self.slots[index];
        slot.queue.push(packet, arrived);
        let depth = slot.queue.len();
        self.depths.relink(index, depth - 1, depth);
        if depth == 1 {
            slot.allot = i64::from(self.quantum);
            slot.next = index;
            if let Some(tail) = self.tail.replace(index) {
                self.slots[index].next = std::mem::replace(&mut self.slots[tail].next, index);
            }
        }
    }

    /// Removes the oldest or the newest packet of slot `index`, if there is one.
    fn take(&mut self, index: usize, oldest: bool, now: Instant) -> Option<Packet> {
        let queue = &mut self.slots[index].queue;
        let depth = queue.len();
        let packet =
            if oldest { queue.pop(now).map(|(packet, _)| packet) } else { queue.pop_back() }?;
        self.depths.relink(index, depth, depth - 1);
        self.total.packets -= 1;
        self.total.bytes -= packet.bytes();
        Some(packet)
    }

    /// Removes slot `index`, which follows `tail`, from the round, and frees its bucket. The slot
    /// is empty or is about to become empty.
    fn leave(&mut self, tail: usize, index: usize) {
        self.buckets[self.slots[index].bucket] = EMPTY;
        let next = self.slots[index].next;
        if next == index {
            self.tail = None;
        } else {
            self.slots[tail].next = next;
        }
    }

    /// Drops a packet of the longest queue (Linux's `sfq_drop`). Among equally long queues, it
    /// chooses the queue that reached this length last. If all queues have one packet, it chooses
    /// the next queue in the round.
    fn overflow(&mut self, cx: &mut Cx<'_>) {
        let deepest = self.depths.deepest;
        let victim = if deepest > 1 {
            self.depths.first(deepest)
        } else {
            self.tail.map(|tail| {
                let next = self.slots[tail].next;
                self.leave(tail, next);
                next
            })
        };
        if let Some(packet) = victim.and_then(|index| self.take(index, self.headdrop, cx.now)) {
            cx.drop(packet, Reason::Overlimit);
        }
    }

    /// Handles an arrival at a queue that is at its own limit: drops the arrival, or drops the
    /// oldest packet to make room.
    fn full(&mut self, index: usize, packet: Packet, cx: &mut Cx<'_>) {
        if !self.headdrop {
            return cx.drop(packet, Reason::Overlimit);
        }
        let queue = &mut self.slots[index].queue;
        if let Some((oldest, _)) = queue.pop(cx.now) {
            self.total.bytes -= oldest.bytes();
            self.total.bytes += packet.bytes();
            cx.drop(oldest, Reason::Overlimit);
        }
        queue.push(packet, cx.now);
    }

    /// Changes the hash, and hashes the queued packets again, for every perturbation that was due
    /// since the last call.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        let Some(period) = self.perturb else { return };
        while cx.now >= self.perturb_due {
            self.salt = Some(cx.rng.next_u32());
            self.perturb_due += period;
            if self.tail.is_some() {
                self.rehash(cx);
            }
        }
    }

    /// Assigns the queued packets to slots again, flow by flow (Linux's `sfq_rehash`). Packets for
    /// which no slot is free, or whose new slot is full, are dropped.
    fn rehash(&mut self, cx: &mut Cx<'_>) {
        let mut waiting = Vec::with_capacity(self.total.packets);
        for index in 0..self.slots.len() {
            if self.slots[index].queue.is_empty() {
                continue;
            }
            self.buckets[self.slots[index].bucket] = EMPTY;
            while let Some(packet) = self.take(index, true, cx.now) {
                waiting.push(packet);
            }
        }
        self.tail = None;
        for packet in waiting {
            let bucket = self.bucket(&packet, cx.rng);
            match self.slot_of(bucket) {
                Some(index) if self.slots[index].queue.len() < self.depth => {
                    self.count(&packet);
                    let arrived = packet.enqueued;
                    self.append(index, packet, arrived);
                }
                _ => cx.drop(packet, Reason::Overlimit),
            }
        }
    }

    fn count(&mut self, packet: &Packet) {
        self.total.packets += 1;
        self.total.bytes += packet.bytes();
    }
}

impl Qdisc for Sfq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.catch_up(cx);
        let bucket = self.bucket(&packet, cx.rng);
        let Some(index) = self.slot_of(bucket) else {
            return cx.drop(packet, Reason::Overlimit);
        };
        if self.slots[index].queue.len() >= self.depth {
            return self.full(index, packet, cx);
        }
        self.count(&packet);
        self.append(index, packet, cx.now);
        if self.total.packets > self.limit {
            self.overflow(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.catch_up(cx);
        loop {
            let tail = self.tail?;
            let index = self.slots[tail].next;
            if self.slots[index].allot <= 0 {
                self.tail = Some(index);
                self.slots[index].allot += i64::from(self.quantum);
                continue;
            }
            let packet = self.take(index, true, cx.now)?;
            if self.slots[index].queue.is_empty() {
                self.leave(tail, index);
            } else {
                self.slots[index].allot -= i64::from(packet.len);
            }
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }
}

/// The slots by their number of packets. Each depth is a list with its newest member first, so
/// finding the longest queue needs no search.
struct Depths {
    /// The links of the slots, followed by the links of the list heads.
    links: Vec<Link>,
    slots: usize,
    deepest: usize,
}

#[derive(Clone, Copy)]
struct Link {
    next: usize,
    prev: usize,
}

impl Depths {
    fn new(slots: usize, depth: usize) -> Self {
        let alone = |at| Link { next: at, prev: at };
        let mut depths =
            Self { links: (0..=slots + depth).map(alone).collect(), slots, deepest: 0 };
        for index in 0..slots {
            depths.link(index, 0);
        }
        depths
    }

    /// Returns the slot with `depth` packets that reached this depth last, if there is one.
    fn first(&self, depth: usize) -> Option<usize> {
        let next = self.links[self.slots + depth].next;
        (next < self.slots).then_some(next)
    }

    /// Moves slot `index` from one depth to a neighbouring depth.
    fn relink(&mut self, index: usize, from: usize, to: usize) {
        let Link { next, prev } = self.links[index];
        self.links[prev].next = next;
        self.links[next].prev = prev;
        if to > from {
            self.deepest = self.deepest.max(to);
        } else if next == prev && self.deepest == from {
            self.deepest = to;
        }
        self.link(index, to);
    }

    fn link(&mut self, index: usize, depth: usize) {
        let head = self.slots + depth;
        let next = std::mem::replace(&mut self.links[head].next, index);
        self.links[index] = Link { next, prev: head };
        self.links[next].prev = index;
    }
}
