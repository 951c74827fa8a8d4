//! The two queues of a dual-queue discipline, and their weighted round robin.
//!
//! Source: Linux 6.18 `net/sched/sch_dualpi2.c`, `dequeue_packet`. The weights are shares of the
//! link while both queues are busy. A queue is charged for each packet: the packet's length times
//! the weight of the other queue. A queue that is served alone is not charged.

use aqmlab_core::{Duration, Instant, Packet};

use crate::aqm::dualpi2::{self, Heads};
use crate::{Backlog, PacketQueue};

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Classic,
    L4s,
}

/// The queues that have packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    None,
    One(Queue),
    Both,
}

/// The packets of both queues.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) classic: PacketQueue,
    pub(super) l4s: PacketQueue,
}

impl Queues {
    pub(super) fn push(&mut self, queue: Queue, packet: Packet, now: Instant) {
        match queue {
            Queue::Classic => self.classic.push(packet, now),
            Queue::L4s => self.l4s.push(packet, now),
        }
    }

    pub(super) fn pop(&mut self, queue: Queue, now: Instant) -> Option<(Packet, Duration)> {
        match queue {
            Queue::Classic => self.classic.pop(now),
            Queue::L4s => self.l4s.pop(now),
        }
    }

    pub(super) fn heads(&self) -> Heads {
        let head = |queue: &PacketQueue| queue.front().map(|packet| packet.enqueued);
        Heads { classic: head(&self.classic), l4s: head(&self.l4s) }
    }

    pub(super) fn backlog(&self) -> Backlog {
        let (classic, l4s) = (self.classic.backlog(), self.l4s.backlog());
        Backlog { packets: classic.packets + l4s.packets, bytes: classic.bytes + l4s.bytes }
    }

    /// Returns which queues have packets.
    pub(super) fn busy(&self) -> Busy {
        match (self.classic.is_empty(), self.l4s.is_empty()) {
            (true, true) => Busy::None,
            (false, true) => Busy::One(Queue::Classic),
            (true, false) => Busy::One(Queue::L4s),
            (false, false) => Busy::Both,
        }
    }

    /// Returns the delays of the classic and of the L4S queue at `now`, in milliseconds.
    pub(super) fn delays_ms(&self, now: Instant) -> [f64; 2] {
        let heads = self.heads();
        [heads.classic, heads.l4s].map(|head| dualpi2::age(head, now).as_secs_f64() * 1e3)
    }
}

/// A packet's turn: its queue, and the change of the credit per byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) queue: Queue,
    per_byte: i64,
}

impl Turn {
    /// Returns a turn that changes no credit.
    pub(super) const fn free(queue: Queue) -> Self {
        Self { queue, per_byte: 0 }
    }
}

/// Weighted round robin by a credit, whose sign selects the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrr {
    classic: i64,
    l4s: i64,
    initial: i64,
    credit: i64,
    /// Whether the last departure left both queues empty.
    emptied: bool,
    never_polled_empty: bool,
}

impl Wrr {
    /// Returns the scheduler with these weights, for packets of at most `mtu` bytes.
    pub(super) fn new(classic: u32, l4s: u32, mtu: u64) -> Self {
        let (classic, l4s) = (i64::from(classic), i64::from(l4s));
        let initial = (mtu as u32 as i64) * (classic - l4s);
        Self { classic, l4s, initial, credit: initial, emptied: false, never_polled_empty: false }
    }

    /// Records that the parent never polls an empty discipline, so idle times leave the credit
    /// unchanged.
    pub(super) fn below_htb(&mut self) {
        self.never_polled_empty = true;
    }

    /// Restores the initial credit if both queues were empty when the parent polled them last.
    ///
    /// A parent polls when its link is free. The port does not call the discipline for a poll that
    /// would find both queues empty. A packet that leaves at the time of its arrival, however,
    /// shows that the link was free.
    #[inline]
    pub(super) fn wake(&mut self, now: Instant, queues: &Queues) {
        if std::mem::take(&mut self.emptied) && !self.never_polled_empty {
            let Heads { classic, l4s } = queues.heads();
            if [classic, l4s].into_iter().flatten().all(|arrival| arrival == now) {
                self.reset();
            }
        }
    }

    /// Returns the turn of the next packet; `None` if both queues are empty.
    #[inline]
    pub(super) fn next(&self, queues: &Queues) -> Option<Turn> {
        match queues.busy() {
            Busy::None => None,
            Busy::One(queue) => Some(Turn::free(queue)),
            Busy::Both if self.credit <= 0 => {
                Some(Turn { queue: Queue::L4s, per_byte: self.classic })
            }
            Busy::Both => Some(Turn { queue: Queue::Classic, per_byte: -self.l4s }),
        }
    }

    /// Charges `packet`, which leaves, and records whether both queues are now empty.
    #[inline]
    pub(super) fn charge(&mut self, turn: Turn, packet: &Packet, queues: &Queues) {
        self.credit += turn.per_byte * i64::from(packet.len);
        self.emptied = queues.busy() == Busy::None;
    }

    /// Restores the initial credit: both queues were found empty.
    pub(super) fn reset(&mut self) {
        self.credit = self.initial;
    }

    /// Returns the credit. While it is above zero and both queues have packets, the classic queue
    /// is served.
    pub(super) const fn credit(&self) -> i64 {
        self.credit
    }
}
