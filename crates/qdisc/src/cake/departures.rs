//! Departures: the choice of a tin and a flow, and the decision of the law.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_dequeue`.

use aqmlab_core::{Cx, Instant, Packet, Reason};

use super::arrivals::backlog_of;
use super::cake::{Cake, UPTIME};
use super::heap::QueueId;
use super::shaper::Fate;
use super::tin::Waiting;
use crate::aqm::cobalt::Head;

/// The result of a flow's turn.
enum Taken {
    Packet(Packet),
    /// The law dropped a packet, which ends the turn.
    Dropped,
    /// The queue is empty.
    Nothing,
}

impl Cake {
    /// Removes the next packet to send, if there is one and the shaper lets it leave.
    #[inline]
    pub(super) fn depart(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let now = cx.now + UPTIME;
        let mut first = true;
        while self.backlog.packets > 0 && !self.shaper.blocks(now) && self.choose_tin(now) {
            let packet = self.serve(&mut first, now, cx);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    /// Chooses the tin to serve. Returns whether there is an active tin.
    #[inline]
    fn choose_tin(&mut self, now: Instant) -> bool {
        if self.shaper.rate.is_limited() {
            self.choose_by_schedule(now);
            return self.tins[self.turn].is_active();
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
                tin.rotate(slot, cx.rng);
                continue;
            }
            match self.take_judged(slot, now, cx) {
                Taken::Packet(packet) => return Some(packet),
                Taken::Dropped => {}
                Taken::Nothing => {
                    self.tins[self.turn].emptied(slot, now);
                    return None;
                }
            }
        }
    }

    /// Takes packets of a flow until the law lets one pass. In `ingress` mode, a drop costs as much
    /// as a delivery and ends the turn.
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
            tin.counters.drops += 1;
            let reason =
                if decision.signal && !head.is_ect { Reason::Sojourn } else { Reason::Early };
            cx.drop(packet, reason);
            if self.settings.is_ingress {
                self.charge(turn, charged, now, Fate::Dropped);
                self.spend(slot, charged);
                return Taken::Dropped;
            }
        }
        Taken::Nothing
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
