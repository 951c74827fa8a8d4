//! Arrivals, and the loss of packets when the buffer overflows.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_enqueue` and `cake_drop`.

use aqmlab_core::{Cx, Instant, Packet, Reason};

use super::ack_filter;
use super::autorate::ewma;
use super::cake::{Cake, UPTIME};
use super::heap::QueueId;
use super::length::Measured;
use super::settings::{AckFilter, Settings};
use super::shaper::Fate;
use super::tin::{Hashes, Tin, Waiting};
use crate::flows::{memory_of, spread};

impl Cake {
    /// Queues a packet and removes an acknowledgement that the packet makes redundant. Updates the
    /// autorate estimate, and drops packets of the longest queues if the buffer overflows.
    #[inline]
    pub(super) fn arrive(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let now = cx.now + UPTIME;
        let number = self.settings.diffserv.tin(packet.dscp);
        let hashes = self.hashes(&packet, cx);
        let (len, charged) = (packet.len, self.measure(&packet));
        let tin = &mut self.tins[number];
        let slot = tin.classify(hashes);
        if self.settings.washes {
            packet.dscp = 0;
        }
        if tin.backlog == 0 {
            tin.clock.wake(now);
            if self.backlog.packets == 0 {
                self.shaper.wake(now);
            }
        }
        packet.enqueued = cx.now;
        self.memory += memory_of(&packet);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.bytes();
        tin.flows[slot].queue.push_back(Waiting { packet, charged });
        tin.grow(slot, len);
        if self.is_watched() {
            self.look_at_growth(QueueId { tin: number, slot }, len, now, cx);
        }
        self.tins[number].joined(slot, cx.rng);
        self.active |= 1 << number;
        self.memory_max = self.memory_max.max(self.memory);
        if self.memory > self.memory_limit {
            self.overflow(number, cx);
        }
    }

    /// Returns whether an arrival has effects outside its flow.
    #[inline]
    fn is_watched(&self) -> bool {
        let Settings { ack_filter, is_autorate, .. } = self.settings;
        ack_filter != AckFilter::Off || is_autorate || self.heap.is_kept()
    }

    /// Removes an acknowledgement that a packet of `len` bytes, which was just queued, makes
    /// redundant. Updates the heap and the autorate estimate.
    #[inline(never)]
    fn look_at_growth(&mut self, at: QueueId, len: u32, now: Instant, cx: &mut Cx<'_>) {
        let removed = match self.settings.ack_filter {
            AckFilter::Off => 0,
            AckFilter::On | AckFilter::Aggressive => self.filter_ack(at, now, cx).unwrap_or(0),
        };
        self.tins[at.tin].shrink(at.slot, removed);
        if self.heap.is_kept() {
            self.heap.grew(at, |queue| backlog_of(&self.tins, queue));
        }
        if self.settings.is_autorate {
            let bytes = i64::from(len) - i64::from(removed);
            if let Some(rate) = self.autorate.note(bytes, now) {
                self.reconfigure(rate);
            }
        }
    }

    fn hashes(&mut self, packet: &Packet, cx: &mut Cx<'_>) -> Hashes {
        let salt = *self.salt.get_or_insert_with(|| cx.rng.next_u32());
        let isolation = self.settings.isolation;
        let hosts = [packet.source, packet.destination].map(|address| address ^ salt);
        let flow = if isolation.flows {
            spread(packet.tuple_hash ^ salt)
        } else {
            let chosen = hosts.iter().zip(isolation.hosts).filter(|(_, chosen)| *chosen);
            chosen.fold(0, |flow, (host, _)| flow ^ spread(*host))
        };
        Hashes { flow, hosts }
    }

    /// Returns the charged length of a packet, and records the packet's lengths for the statistics.
    #[inline]
    fn measure(&mut self, packet: &Packet) -> u32 {
        let given = [packet.len, packet.ip_len];
        if given != self.last.given {
            self.measure_anew(packet);
        }
        let header = u64::from(packet.len - packet.ip_len);
        self.header = ewma(self.header, header << 16, 8);
        self.last.charged
    }

    /// Computes the charged length of a packet whose lengths are not those of the packet before it.
    #[inline(never)]
    fn measure_anew(&mut self, packet: &Packet) {
        let charge = self.settings.charge;
        let network = charge.network_len(packet);
        let charged = charge.of(network);
        for (extremes, len) in self.lengths.iter_mut().zip([network, charged]) {
            extremes.note(len);
        }
        self.last = Measured { given: [packet.len, packet.ip_len], charged };
    }

    /// Removes an acknowledgement that the packet just queued makes redundant, if there is one.
    /// Returns the length of the acknowledgement.
    #[inline(never)]
    fn filter_ack(&mut self, at: QueueId, now: Instant, cx: &mut Cx<'_>) -> Option<u32> {
        let tin = &mut self.tins[at.tin];
        let queue = &mut tin.flows[at.slot].queue;
        let place = ack_filter::redundant(queue, self.settings.ack_filter)?;
        let Waiting { packet, charged } = queue.remove(place)?;
        tin.counters.ack_drops += 1;
        if self.settings.is_ingress {
            self.charge(at.tin, charged, now, Fate::Dropped);
        }
        let len = packet.len;
        self.forget(&packet);
        cx.drop(packet, Reason::Filtered);
        Some(len)
    }

    /// Drops packets until the memory is within its limit. The drops count for the tin of the
    /// arrival.
    #[cold]
    fn overflow(&mut self, arrival: usize, cx: &mut Cx<'_>) {
        let before = self.backlog.packets;
        while self.memory > self.memory_limit {
            self.drop_longest(cx);
        }
        let dropped = before - self.backlog.packets;
        self.tins[arrival].counters.drop_overlimit += dropped as u64;
    }

    /// Drops the first packet of the queue at the root of the heap (`cake_drop`). If this queue is
    /// empty, discards the heap.
    fn drop_longest(&mut self, cx: &mut Cx<'_>) {
        let now = cx.read_clock() + UPTIME;
        let at = self.heap.longest(|queue| backlog_of(&self.tins, queue));
        let taken = self.tins.get_mut(at.tin).and_then(|tin| tin.take(at.slot));
        let Some(Waiting { packet, charged }) = taken else {
            self.heap.discard();
            return;
        };
        self.forget(&packet);
        let tin = &mut self.tins[at.tin];
        let blue = tin.flows[at.slot].cobalt.overflowed(&tin.params, now);
        tin.note_blue(blue);
        tin.counters.drops += 1;
        if self.settings.is_ingress {
            self.charge(at.tin, charged, now, Fate::Dropped);
        }
        cx.drop(packet, Reason::Overlimit);
        self.heap.root_shrank(|queue| backlog_of(&self.tins, queue));
    }
}

/// Returns the backlog of a queue; zero for a queue of an unused tin, which the heap also has.
pub(super) fn backlog_of(tins: &[Tin], queue: QueueId) -> u32 {
    tins.get(queue.tin).map_or(0, |tin| tin.flows[queue.slot].backlog)
}
