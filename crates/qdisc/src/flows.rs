//! The scheduler of the flow-queueing disciplines: a queue for each flow, served round-robin by
//! bytes. New flows are served before flows with a standing backlog.
//!
//! Sources: RFC 8290 §4.1 and §4.2; Linux 6.1 `net/sched/sch_fq_codel.c`; FreeBSD 10.4
//! `sys/netpfil/ipfw/dn_sched_fq_codel.c`. [`Rules`] selects one of the three.
//!
//! Difference: RFC 8290, Linux and FreeBSD hash the five-tuple with a random key, so their hash
//! collisions cannot be reproduced. This module mixes the packet's own tuple hash with a salt of
//! the discipline. It scales the result to the number of queues as in Linux.

use aqmlab_core::{Bytes, Cx, Duration, Instant, Packet, Reason, Rng};

use crate::{Backlog, PacketQueue};

/// The implementation of the scheduler to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Credit is used up when it reaches zero. An empty new flow leaves the lists at once if there
    /// are no old flows.
    Linux,
    /// Credit is used up when it is negative (RFC 8290 §4.2). An empty new flow always joins the
    /// old flows.
    Rfc8290,
    /// The rules of [`Rules::Rfc8290`], but [`Flows::reset`] resets the flows, as dummynet does.
    FreeBsd,
}

impl Rules {
    /// Returns the smallest credit with which a flow may send.
    const fn least_credit(self) -> i64 {
        match self {
            Self::Linux => 1,
            Self::Rfc8290 | Self::FreeBsd => 0,
        }
    }
}

/// The settings of a set of flows.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of queues, at least one.
    pub flows: u64,
    /// The bytes of credit that a flow gets in each round, at least one.
    pub quantum: Bytes,
    /// The salt of every hash. If it is zero, the first call of [`Flows::classify`] draws a salt.
    pub salt: u64,
    /// The implementation to follow.
    pub rules: Rules,
}

/// A fixed number of queues, each with the state `S` of its control law.
///
/// # Driving it
///
/// To enqueue, call [`classify`](Self::classify), judge the packet, and call [`push`](Self::push).
/// To dequeue, find the [`next_flow`](Self::next_flow) and take packets from its
/// [`turn`](Self::turn). Then call [`sent`](Self::sent). If the queue is empty, call
/// [`emptied`](Self::emptied) and repeat. No operation allocates memory once the queues have
/// reached their largest length.
pub struct Flows<S> {
    table: Vec<Flow<S>>,
    new: List,
    old: List,
    totals: Totals,
    quantum: i64,
    /// The smallest credit with which a flow may send.
    least_credit: i64,
    salt: Option<u32>,
    /// Whether the salt is drawn at random.
    draws: bool,
    rules: Rules,
}

struct Flow<S> {
    queue: PacketQueue,
    state: S,
    deficit: i64,
    next: u32,
    on: On,
}

/// The list that holds a flow, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Neither,
    New,
    Old,
}

/// The total backlog and memory of all queues.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    total: Backlog,
    memory: Bytes,
}

impl<S> Flows<S> {
    /// Returns empty queues, each with its own state from `state`.
    pub fn new(settings: Settings, state: impl Fn() -> S) -> Self {
        let flow = || Flow {
            queue: PacketQueue::default(),
            state: state(),
            deficit: 0,
            next: NO_FLOW,
            on: On::Neither,
        };
        Self {
            table: (0..settings.flows.max(1)).map(|_| flow()).collect(),
            new: List::default(),
            old: List::default(),
            totals: Totals::default(),
            quantum: i64::try_from(settings.quantum.0.max(1)).unwrap_or(i64::MAX),
            least_credit: settings.rules.least_credit(),
            salt: (settings.salt != 0).then_some(settings.salt as u32),
            draws: settings.salt == 0,
            rules: settings.rules,
        }
    }

    /// Returns the index of the queue of `packet`. Draws the salt from `rng` if the salt is random
    /// and has not been drawn yet.
    #[inline]
    pub fn classify(&mut self, packet: &Packet, rng: &mut Rng) -> usize {
        let salt = *self.salt.get_or_insert_with(|| rng.next_u32());
        let hash = u64::from(spread(packet.tuple_hash ^ salt));
        ((hash * self.table.len() as u64) >> 32) as usize
    }

    /// Resets all flows of dummynet's scheduler, which must be empty. `forget` resets the state of
    /// a flow. If salts are drawn at random, the next packet draws a new salt. Other schedulers
    /// keep their state.
    pub fn reset(&mut self, forget: impl Fn(&mut S)) {
        debug_assert!(self.is_empty(), "dummynet destroys empty disciplines only");
        if self.rules != Rules::FreeBsd {
            return;
        }
        for flow in &mut self.table {
            forget(&mut flow.state);
        }
        if self.draws {
            self.salt = None;
        }
    }

    /// Appends `packet` to queue `index`. Returns whether the flow was on neither list; it is then
    /// the last new flow, with one quantum (RFC 8290 §4.1).
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn push(&mut self, index: usize, packet: Packet, now: Instant) -> bool {
        self.totals.add(&packet);
        let flow = &mut self.table[index];
        flow.queue.push(packet, now);
        let woken = flow.on == On::Neither;
        if woken {
            self.wake(index);
        }
        woken
    }

    /// Adds flow `index`, which is on neither list, to the new flows with one quantum.
    #[expect(
        clippy::inline_always,
        reason = "a fourth of the packets pass; a call costs 0.6 % of a run"
    )]
    #[inline(always)]
    fn wake(&mut self, index: usize) {
        self.table[index].deficit = self.quantum;
        self.append(index, On::New);
    }

    /// Returns the next flow to serve: the first new flow with credit, otherwise the first old flow
    /// with credit. A flow without credit gets another quantum and moves to the end of the old
    /// list. Returns `None` if both lists are empty.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn next_flow(&mut self) -> Option<usize> {
        loop {
            let index = self.new.first().or_else(|| self.old.first())?;
            let flow = &mut self.table[index];
            if flow.deficit >= self.least_credit {
                return Some(index);
            }
            flow.deficit += self.quantum;
            if flow.on == On::Old {
                self.rotate(index);
            } else {
                self.remove_first(index);
                self.append(index, On::Old);
            }
        }
    }

    /// Moves flow `index`, the first of the old list, to the end of this list.
    #[inline]
    fn rotate(&mut self, index: usize) {
        let next = std::mem::replace(&mut self.table[index].next, NO_FLOW);
        if next == NO_FLOW {
            // The only flow of the list keeps its place.
            return;
        }
        let last = std::mem::replace(&mut self.old.tail, index as u32);
        self.table[last as usize].next = index as u32;
        self.old.head = next;
    }

    /// Returns queue `index` and the state of the queue's control law.
    #[inline]
    pub fn turn(&mut self, index: usize) -> (Turn<'_>, &mut S) {
        let flow = &mut self.table[index];
        (Turn { queue: &mut flow.queue, totals: &mut self.totals }, &mut flow.state)
    }

    /// Charges flow `index` for `packet`, which leaves.
    #[inline]
    pub fn sent(&mut self, index: usize, packet: &Packet) {
        self.table[index].deficit -= i64::from(packet.len);
    }

    /// Records that flow `index` had nothing to send. An old flow leaves the lists. A new flow
    /// moves to the old list, because a flow of single packets could otherwise always be new and
    /// starve the old flows (RFC 8290 §4.2). In Linux a new flow moves only if there are old flows.
    /// Returns whether the flow is now on neither list.
    #[expect(
        clippy::inline_always,
        reason = "most packets of sparse flows pass; a call costs 0.1 % of a run"
    )]
    #[inline(always)]
    pub fn emptied(&mut self, index: usize) -> bool {
        let was_new = self.table[index].on == On::New;
        self.remove_first(index);
        let stays = was_new && (self.rules != Rules::Linux || self.old.first().is_some());
        if stays {
            self.append(index, On::Old);
        }
        !stays
    }

    /// Drops packets from the head of queue `index` until `enough` packets or at least `bytes`
    /// bytes are dropped, or the queue is empty. A queue with packets loses at least one. Returns
    /// the number of drops.
    pub fn shed(&mut self, index: usize, enough: u64, bytes: Bytes, cx: &mut Cx<'_>) -> u32 {
        let (mut turn, _) = self.turn(index);
        let (mut packets, mut size) = (0, Bytes(0));
        while let Some((packet, _)) = turn.pop(cx.now) {
            packets += 1;
            size += packet.bytes();
            cx.drop(packet, Reason::Overlimit);
            if u64::from(packets) >= enough || size >= bytes {
                break;
            }
        }
        packets
    }

    /// Returns the queue with the largest `size` of its backlog. Among equal queues, returns the
    /// queue with the lowest index. Returns `None` if every `size` is zero.
    pub fn longest(&self, size: impl Fn(Backlog) -> u64) -> Option<usize> {
        // Every queue with packets is on a list, and the lists are shorter than the table.
        let mut best: Option<(u64, usize)> = None;
        for start in [self.new.first(), self.old.first()] {
            let mut at = start;
            while let Some(index) = at {
                let amount = size(self.table[index].queue.backlog());
                let better = best
                    .is_none_or(|(most, first)| amount > most || (amount == most && index < first));
                if amount > 0 && better {
                    best = Some((amount, index));
                }
                at = flow_of(self.table[index].next);
            }
        }
        best.map(|(_, index)| index)
    }

    /// Returns the backlog of all queues.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.totals.total
    }

    /// Returns the memory that the packets would take in a kernel, including buffers and
    /// descriptors.
    #[inline]
    pub fn memory(&self) -> Bytes {
        self.totals.memory
    }

    /// Returns the number of queues.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether all queues are empty.
    pub fn is_empty(&self) -> bool {
        self.totals.total.packets == 0
    }

    /// Returns whether flow `index` is on a list.
    pub fn is_active(&self, index: usize) -> bool {
        self.table[index].on != On::Neither
    }

    /// Returns the backlog of queue `index`.
    #[inline]
    pub fn backlog_of(&self, index: usize) -> Backlog {
        self.table[index].queue.backlog()
    }

    /// Returns the state of the control law of queue `index`.
    #[inline]
    pub fn state(&mut self, index: usize) -> &mut S {
        &mut self.table[index].state
    }

    /// Returns the backlog and state of every queue, by index, for laws with a timer.
    pub fn each(&mut self) -> impl Iterator<Item = (Backlog, &mut S)> {
        self.table.iter_mut().map(|flow| (flow.queue.backlog(), &mut flow.state))
    }

    /// Returns the states of the flows on a list, by index.
    pub fn active_states(&self) -> impl Iterator<Item = &S> {
        self.table.iter().filter(|flow| flow.on != On::Neither).map(|flow| &flow.state)
    }

    /// Returns the number of new flows and the number of old flows.
    pub fn active(&self) -> (usize, usize) {
        (self.new.len, self.old.len)
    }

    fn append(&mut self, index: usize, on: On) {
        let list = if on == On::New { &mut self.new } else { &mut self.old };
        if let Some(last) = list.push(index) {
            self.table[last].next = index as u32;
        }
        let flow = &mut self.table[index];
        (flow.next, flow.on) = (NO_FLOW, on);
    }

    /// Removes flow `index`, the first of its list, from that list.
    fn remove_first(&mut self, index: usize) {
        let flow = &mut self.table[index];
        let list = if flow.on == On::New { &mut self.new } else { &mut self.old };
        debug_assert_eq!(list.first(), Some(index), "only the first flow of a list leaves it");
        list.pop(flow.next);
        flow.on = On::Neither;
    }
}

/// One flow's queue, with access to the totals of all queues.
pub struct Turn<'a> {
    queue: &'a mut PacketQueue,
    totals: &'a mut Totals,
}

impl Turn<'_> {
    /// Returns the packet at the head, if there is one, and leaves it in place.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.queue.front()
    }

    /// Removes the packet at the head, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<Packet> {
        let packet = self.queue.take();
        if let Some(packet) = &packet {
            self.totals.remove(packet);
        }
        packet
    }

    /// Removes the packet at the head, if there is one; returns it with its sojourn time.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Packet, Duration)> {
        let packet = self.take()?;
        let sojourn = now.since(packet.enqueued);
        Some((packet, sojourn))
    }

    /// Returns the backlog of this queue.
    #[inline]
    pub fn own(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Returns the backlog of all queues.
    #[inline]
    pub fn total(&self) -> Backlog {
        self.totals.total
    }
}

impl Totals {
    #[inline]
    fn add(&mut self, packet: &Packet) {
        self.total.packets += 1;
        self.total.bytes += packet.bytes();
        self.memory += memory_of(packet);
    }

    #[inline]
    fn remove(&mut self, packet: &Packet) {
        self.total.packets -= 1;
        self.total.bytes -= packet.bytes();
        self.memory -= memory_of(packet);
    }
}

/// Returns an estimate of Linux's `skb->truesize` for a packet that a driver received. The buffer
/// holds headroom, frame and shared info, and its size is a power of two; the descriptor is added.
/// The estimate is 768 bytes for an acknowledgement and 2304 bytes for a full frame, as with many
/// drivers. The kernel's own value varies by driver.
#[inline]
pub(crate) fn memory_of(packet: &Packet) -> Bytes {
    const HEADROOM: u64 = 64;
    const SHARED_INFO: u64 = 320;
    const DESCRIPTOR: u64 = 256;
    let buffer = HEADROOM + u64::from(packet.len) + SHARED_INFO;
    Bytes(buffer.next_power_of_two() + DESCRIPTOR)
}

/// Applies the finaliser of `MurmurHash3` in 32 bits: every bit of the salt affects every bit of
/// the index.
#[inline]
pub(crate) const fn spread(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// Returns the tuple hash that a discipline with this salt maps to `hash`. This function is for
/// packets whose hash comes from an external source.
pub const fn tuple_hash_for(hash: u32, salt: u32) -> u32 {
    let x = (hash ^ (hash >> 16)).wrapping_mul(0x7ed1_b41d);
    let x = (x ^ (x >> 13) ^ (x >> 26)).wrapping_mul(0xa5cb_9243);
    (x ^ (x >> 16)) ^ salt
}

/// The index that a link of a list holds if there is no flow.
const NO_FLOW: u32 = u32::MAX;

/// Returns the flow that a link of a list holds, if there is one.
const fn flow_of(index: u32) -> Option<usize> {
    if index == NO_FLOW { None } else { Some(index as usize) }
}

/// The two ends and the length of a list; the links are in the flows.
struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NO_FLOW, tail: NO_FLOW, len: 0 }
    }
}

impl List {
    #[inline]
    fn first(&self) -> Option<usize> {
        flow_of(self.head)
    }

    /// Appends `index`; returns the previous last flow, if there was one.
    fn push(&mut self, index: usize) -> Option<usize> {
        let last = flow_of(self.tail);
        self.tail = index as u32;
        if last.is_none() {
            self.head = index as u32;
        }
        self.len += 1;
        last
    }

    /// Removes the first flow; `next` is the flow after it, or [`NO_FLOW`].
    fn pop(&mut self, next: u32) {
        self.head = next;
        if next == NO_FLOW {
            self.tail = NO_FLOW;
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_can_be_given_the_hash_that_it_had_elsewhere() {
        for salt in [0, 1, 0xffff_ffff] {
            for hash in (0..1_000_u32).map(|n| n.wrapping_mul(0x9e37_79b9)) {
                assert_eq!(spread(tuple_hash_for(hash, salt) ^ salt), hash);
            }
        }
    }
}
