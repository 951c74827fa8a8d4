//! The discipline: arrivals, overflow and departures.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_enqueue`, `cake_drop`, `cake_dequeue` and
//! `cake_reconfigure`.

use aqmlab_core::{Bytes, Cx, Duration, Instant, Packet, Reason};

use super::ack_filter;
use super::autorate::{Autorate, ewma};
use super::diffserv::TINS;
use super::heap::{Heap, QueueId};
use super::length::Extremes;
use super::rate::Rate;
use super::settings::{AckFilter, Settings};
use super::shaper::Shaper;
use super::tin::{Hashes, Tin, Waiting};
use crate::aqm::cobalt::{self, Head};
use crate::flows::{memory_of, spread};
use crate::{Backlog, Qdisc};

/// The time for which the gateway has run when a trial begins. The kernel's unset times are zero,
/// which is then long ago.
const UPTIME: Duration = Duration::from_secs(3_600);
/// The memory limit without a rate.
const UNLIMITED: u64 = u32::MAX as u64;
/// The number of packets from which the kernel derives an upper bound of the memory limit.
const LIMIT: u64 = 10_240;

/// CAKE.
pub struct Cake {
    pub(super) settings: Settings,
    pub(super) tins: Vec<Tin>,
    /// The tin that is served. It may be an unused one before the first turn.
    turn: usize,
    pub(super) shaper: Shaper,
    pub(super) autorate: Autorate,
    heap: Heap,
    backlog: Backlog,
    pub(super) memory: Bytes,
    pub(super) memory_max: Bytes,
    pub(super) memory_limit: Bytes,
    /// Lengths before and after overhead and framing.
    pub(super) lengths: [Extremes; 2],
    /// The average length of the link header, times 2¹⁶.
    pub(super) header: u64,
    salt: Option<u32>,
}

impl Cake {
    /// Returns an empty CAKE.
    pub fn new(settings: Settings) -> Self {
        let count = settings.diffserv.shares(0).len();
        let mut cake = Self {
            settings,
            tins: (0..count).map(|_| Tin::new(settings.isolation)).collect(),
            turn: 0,
            shaper: Shaper::default(),
            autorate: Autorate::from(settings.rate),
            heap: Heap::default(),
            backlog: Backlog::default(),
            memory: Bytes(0),
            memory_max: Bytes(0),
            memory_limit: Bytes(UNLIMITED),
            lengths: [Extremes::default(); 2],
            header: 0,
            salt: (settings.salt != 0).then_some(settings.salt),
        };
        cake.reconfigure(settings.rate);
        cake
    }

    /// Sets the rate in bytes per second (`cake_reconfigure`).
    fn reconfigure(&mut self, rate: u64) {
        self.settings.rate = rate;
        let settings = self.settings;
        for (tin, share) in self.tins.iter_mut().zip(settings.diffserv.shares(rate)) {
            let rate = Rate::new(share.rate);
            tin.clock.rate = rate;
            tin.params = law(rate, settings.mtu, settings.target, settings.interval);
            tin.threshold = share.rate;
            tin.quantum = share.quantum;
            tin.flow_quantum = match share.rate {
                0 => 1_514,
                rate => (rate >> 12).clamp(300, 1_514) as u16,
            };
        }
        // The kernel empties the unused tins, and the last of them keeps the turn.
        if self.tins.len() < TINS {
            self.turn = TINS - 1;
        }
        self.shaper.rate = self.tins[0].clock.rate;
        self.memory_limit = memory_limit(&settings);
    }

    fn hashes(&mut self, packet: &Packet, cx: &mut Cx<'_>) -> Hashes {
        let salt = *self.salt.get_or_insert_with(|| cx.rng.next_u32());
        let isolation = self.settings.isolation;
        let hosts = [packet.source, packet.destination].map(|address| spread(address ^ salt));
        let flow = if isolation.flows {
            spread(packet.tuple_hash ^ salt)
        } else {
            let chosen = hosts.iter().zip(isolation.hosts).filter(|(_, chosen)| *chosen);
            chosen.fold(0, |flow, (host, _)| flow ^ host)
        };
        Hashes { flow, hosts }
    }

    /// Returns the charged length of a packet, and records its lengths.
    #[inline]
    fn measure(&mut self, packet: &Packet) -> u32 {
        let charge = &self.settings.charge;
        let network = charge.network_len(packet);
        let charged = charge.of(network);
        for (extremes, len) in self.lengths.iter_mut().zip([network, charged]) {
            extremes.note(len);
        }
        let header = u64::from(packet.len - packet.ip_len);
        self.header = ewma(self.header, header << 16, 8);
        charged
    }

    /// Removes an acknowledgement that the packet just queued makes redundant. Returns its length.
    #[inline(never)]
    fn filter_ack(&mut self, at: QueueId, now: Instant, cx: &mut Cx<'_>) -> Option<u32> {
        let tin = &mut self.tins[at.tin];
        let queue = &mut tin.flows[at.slot].queue;
        let place = ack_filter::redundant(queue, self.settings.ack_filter)?;
        let Waiting { packet, charged } = queue.remove(place)?;
        tin.counters.ack_drops += 1;
        if self.settings.is_ingress {
            self.charge(at.tin, charged, now, false);
        }
        let len = packet.len;
        self.forget(&packet);
        cx.drop(packet, Reason::Filtered);
        Some(len)
    }

    /// Drops packets until the memory is within its limit.
    #[cold]
    fn overflow(&mut self, arrival: usize, cx: &mut Cx<'_>) {
        let before = self.backlog.packets;
        while self.memory > self.memory_limit {
            self.drop_longest(cx);
        }
        let dropped = before - self.backlog.packets;
        self.tins[arrival].counters.drop_overlimit += dropped as u64;
    }

    /// Drops the first packet of the longest queue (`cake_drop`).
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
            self.charge(at.tin, charged, now, false);
        }
        cx.drop(packet, Reason::Overlimit);
        self.heap.root_shrank(|queue| backlog_of(&self.tins, queue));
    }

    /// Removes a packet from the totals.
    #[inline]
    fn forget(&mut self, packet: &Packet) {
        self.memory -= memory_of(packet);
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.bytes();
    }

    /// Charges the shaper and a tin's clock (`cake_advance_shaper`).
    #[inline]
    fn charge(&mut self, tin: usize, len: u32, now: Instant, is_delivered: bool) {
        self.shaper.charge(len, is_delivered);
        self.tins[tin].clock.charge(len, now);
    }

    /// Chooses the tin to serve. Returns whether there is one.
    #[inline]
    fn choose_tin(&mut self, now: Instant) -> bool {
        if self.shaper.rate.is_limited() {
            self.choose_by_schedule(now);
            return self.tins[self.turn].is_active();
        }
        self.choose_by_weight()
    }

    /// Chooses the last tin that is on schedule, or else the one whose schedule is next.
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

    /// Goes round the tins by their weights.
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
                    tin.deficit += i32::from(tin.quantum);
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

    /// Serves a flow of the chosen tin. The outer `None` means that no packet left and the tin must
    /// be chosen again.
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
                self.charge(turn, charged, now, false);
                self.spend(slot, charged);
                return Taken::Dropped;
            }
        }
        Taken::Nothing
    }

    #[inline]
    fn deliver(&mut self, slot: usize, charged: u32, now: Instant) {
        self.charge(self.turn, charged, now, true);
        self.spend(slot, charged);
        self.heap.age();
    }

    /// Charges the deficits of the flow and the tin that are served.
    #[inline]
    fn spend(&mut self, slot: usize, charged: u32) {
        let tin = &mut self.tins[self.turn];
        tin.flows[slot].deficit -= charged as i32;
        tin.deficit = tin.deficit.wrapping_sub(charged as i32);
    }
}

/// The result of a flow's turn.
enum Taken {
    Packet(Packet),
    /// The law dropped a packet, which ends the turn.
    Dropped,
    /// The queue is empty.
    Nothing,
}

/// Returns the settings of the law in a tin of this rate.
pub(super) fn law(rate: Rate, mtu: u32, target: Duration, interval: Duration) -> cobalt::Params {
    let mtu_time = rate.time(mtu);
    let raised = target.max(mtu_time * 3 / 2);
    let interval = (interval + raised - target).max(raised * 2);
    cobalt::Params { interval, target: raised, mtu_time }
}

/// Returns the memory limit: the given one, or the arrivals of four intervals.
fn memory_limit(settings: &Settings) -> Bytes {
    let given = settings.memory_limit.map_or(0, |limit| limit.0);
    let wanted = match (given, settings.rate) {
        (0, 0) => UNLIMITED,
        (0, rate) => {
            let bytes = rate.wrapping_mul(settings.interval.as_micros()) / 250_000;
            (bytes & UNLIMITED).max(4 << 20)
        }
        (given, _) => given,
    };
    Bytes(wanted.min(given.max(LIMIT * u64::from(settings.mtu))))
}

fn backlog_of(tins: &[Tin], queue: QueueId) -> u32 {
    tins.get(queue.tin).map_or(0, |tin| tin.flows[queue.slot].backlog)
}

impl Qdisc for Cake {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let now = cx.now + UPTIME;
        let tin = self.settings.diffserv.tin(packet.dscp);
        let hashes = self.hashes(&packet, cx);
        let slot = self.tins[tin].classify(hashes);
        if self.settings.washes {
            packet.dscp = 0;
        }
        if self.tins[tin].backlog == 0 {
            self.tins[tin].clock.wake(now);
            if self.backlog.packets == 0 {
                self.shaper.wake(now);
            }
        }
        packet.enqueued = cx.now;
        let (len, charged) = (packet.len, self.measure(&packet));
        self.memory += memory_of(&packet);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.bytes();
        self.tins[tin].flows[slot].queue.push_back(Waiting { packet, charged });
        let at = QueueId { tin, slot };
        let removed = match self.settings.ack_filter {
            AckFilter::Off => None,
            AckFilter::On | AckFilter::Aggressive => self.filter_ack(at, now, cx),
        };
        self.tins[tin].grow(slot, len, removed.unwrap_or(0));
        if self.heap.is_kept() {
            self.heap.grew(at, |queue| backlog_of(&self.tins, queue));
        }
        if self.settings.is_autorate {
            let bytes = i64::from(len) - i64::from(removed.unwrap_or(0));
            if let Some(rate) = self.autorate.note(bytes, now) {
                self.reconfigure(rate);
            }
        }
        self.tins[tin].joined(slot, cx.rng);
        self.memory_max = self.memory_max.max(self.memory);
        if self.memory > self.memory_limit {
            self.overflow(tin, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
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

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Instant {
        let ready = self.shaper.ready_at().as_nanos();
        Instant::from_nanos(ready.saturating_sub(UPTIME.as_nanos()))
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        super::report::gauges(self)
    }
}
