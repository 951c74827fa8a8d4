//! Departures: the choice of a tin and a flow, and the decision of the law.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_dequeue`.
//!
//! The functions for several tins, and for paths that repeat a step, are not inlined. The compiler
//! would otherwise move instructions of their loops to the start of every departure.

use aqmlab_core::{Cx, Instant, Packet, Reason};

use super::arrivals::backlog_of;
use super::cake::{Cake, UPTIME};
use super::heap::QueueId;
use super::shaper::Fate;
use super::tin::Waiting;
use crate::aqm::cobalt::Head;

/// The result of `take_judged`.
enum Taken {
    Packet(Packet),
    /// The law dropped a packet in `ingress` mode. The deficit of the flow must be tested again.
    Dropped,
    /// The queue is empty.
    Nothing,
}

impl Cake {
    /// Returns whether there are packets and the shaper lets a packet leave.
    #[inline]
    pub(super) fn may_send(&mut self, now: Instant) -> bool {
        self.backlog.packets > 0 && !self.shaper.blocks(now)
    }

    /// Removes the next packet to send, if there is one. The caller has called
    /// [`Self::may_send`], which allows the first attempt.
    #[inline(never)]
    pub(super) fn depart(&mut self, now: Instant, cx: &mut Cx<'_>) -> Option<Packet> {
        let mut first = true;
        while self.choose_tin(now) {
            let packet = self.serve(&mut first, now, cx);
            if packet.is_some() || !self.may_send(now) {
                return packet;
            }
        }
        None
    }

    /// Chooses the tin to serve. Returns whether there is an active tin.
    #[inline]
    fn choose_tin(&mut self, now: Instant) -> bool {
        debug_assert!(
            self.knows_active_tins(),
            "the bits {:#b} are not the active tins",
            self.active
        );
        if self.shaper.rate.is_limited() && self.active.is_power_of_two() {
            // A single active tin is chosen whatever its clock is.
            self.turn = self.active.trailing_zeros() as usize;
            return true;
        }
        self.choose_among_tins(now)
    }

    /// Chooses the tin to serve if several tins may be active.
    #[inline(never)]
    fn choose_among_tins(&mut self, now: Instant) -> bool {
        if self.shaper.rate.is_limited() {
            self.choose_by_schedule(now);
            return self.active != 0;
        }
        self.choose_by_weight()
    }

    /// Chooses the active tin with the highest number among those whose clock is not after `now`.
    /// If there is none, chooses the active tin with the earliest clock.
    #[inline]
    fn choose_by_schedule(&mut self, now: Instant) {
        let mut best = Instant::NEVER;
        self.turn = 0;
        for (number, tin) in self.tins.iter().enumerate() {
            let next = tin.clock.next;
            if tin.is_active() && (next <= now || next <= best) {
                (best, self.turn) = (next, number);
            }
        }
    }

    /// Chooses the next active tin in rotation, by the tins' weights. Returns whether there is such
    /// a tin.
    #[inline]
    fn choose_by_weight(&mut self) -> bool {
        let (mut wrapped, mut empty) = (false, true);
        loop {
            if let Some(tin) = self.tins.get_mut(self.turn) {
                let is_active = tin.is_active();
                if tin.deficit >= 0 && is_active {
                    return true;
                }
                if tin.deficit <= 0 {
                    tin.deficit += i64::from(tin.quantum);
                }
                empty &= !is_active;
            }
            self.turn += 1;
            if self.turn >= self.tins.len() {
                self.turn = 0;
                if wrapped && empty {
                    return false;
                }
                wrapped = true;
            }
        }
    }

    /// Serves a flow of the chosen tin. Returns `None` if no packet was taken; a tin must then be
    /// chosen again.
    fn serve(&mut self, first: &mut bool, now: Instant, cx: &mut Cx<'_>) -> Option<Packet> {
        loop {
            let tin = &mut self.tins[self.turn];
            let slot = tin.first(std::mem::take(first))?;
            if tin.flows[slot].deficit <= 0 {
                self.rotate(slot, cx);
                continue;
            }
            match self.take_judged(slot, now, cx) {
                Taken::Packet(packet) => return Some(packet),
                Taken::Dropped => {}
                Taken::Nothing => {
                    self.rest(slot, now);
                    return None;
                }
            }
        }
    }

    /// Gives a flow without credit its next quantum.
    #[inline(never)]
    fn rotate(&mut self, slot: usize, cx: &mut Cx<'_>) {
        self.tins[self.turn].rotate(slot, cx.rng);
    }

    /// Records that a flow was served and is empty.
    #[inline(never)]
    fn rest(&mut self, slot: usize, now: Instant) {
        let tin = &mut self.tins[self.turn];
        tin.emptied(slot, now);
        if !tin.is_active() {
            self.active &= !(1 << self.turn);
        }
    }

    /// Takes packets of a flow until the law lets one pass. In `ingress` mode, a drop costs as much
    /// as a delivery, and this function returns after the drop, so that the deficit of the flow is
    /// tested again.
    fn take_judged(&mut self, slot: usize, now: Instant, cx: &mut Cx<'_>) -> Taken {
        let turn = self.turn;
        while let Some(Waiting { packet, charged }) = self.tins[turn].take(slot) {
            self.forget(&packet);
            if self.heap.is_kept() {
                let queue = QueueId { tin: turn, slot };
                self.heap.shrank(queue, |queue| backlog_of(&self.tins, queue));
            }
            let tin = &mut self.tins[turn];
            let head = Head {
                sojourn: cx.now.since(packet.enqueued),
                is_ect: packet.ecn.is_capable(),
                bulk_flows: if self.settings.is_ingress { tin.bulk_flows.into() } else { 0 },
            };
            let flow = &mut tin.flows[slot];
            let decision = flow.cobalt.judge(&tin.params, now, head, || cx.rng.next_u32());
            let is_last = flow.queue.is_empty();
            if !decision.drop || is_last {
                let is_marked = decision.signal && head.is_ect;
                tin.counters.note_delivery(head.sojourn, is_marked);
                let packet = if is_marked { cx.mark(packet, Reason::Sojourn) } else { packet };
                self.deliver(slot, charged, now);
                return Taken::Packet(packet);
            }
            let reason =
                if decision.signal && !head.is_ect { Reason::Sojourn } else { Reason::Early };
            if self.discard(slot, Waiting { packet, charged }, reason, cx) {
                return Taken::Dropped;
            }
        }
        Taken::Nothing
    }

    /// Drops a packet of the flow that is served. Returns whether the deficit of the flow must be
    /// tested again, as in `ingress` mode.
    #[inline(never)]
    fn discard(
        &mut self,
        slot: usize,
        Waiting { packet, charged }: Waiting,
        reason: Reason,
        cx: &mut Cx<'_>,
    ) -> bool {
        self.tins[self.turn].counters.drops += 1;
        cx.drop(packet, reason);
        if self.settings.is_ingress {
            self.charge(self.turn, charged, cx.now + UPTIME, Fate::Dropped);
            self.spend(slot, charged);
        }
        self.settings.is_ingress
    }

    #[inline]
    fn deliver(&mut self, slot: usize, charged: u32, now: Instant) {
        self.charge(self.turn, charged, now, Fate::Delivered);
        self.spend(slot, charged);
        self.heap.age();
    }

    /// Charges the deficits of the flow and the tin that are served.
    #[inline]
    fn spend(&mut self, slot: usize, charged: u32) {
        let tin = &mut self.tins[self.turn];
        tin.flows[slot].deficit -= i64::from(charged);
        tin.deficit -= i64::from(charged);
    }
}
