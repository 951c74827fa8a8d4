//! The scheduler of the flow-queueing disciplines: a queue for each flow, served in rounds of
//! so many bytes, with those that just woke before those that always have something to say.
//!
//! Sources: RFC 8290 §4.1 and §4.2; Linux 6.1 `net/sched/sch_fq_codel.c`; FreeBSD 10.4
//! `sys/netpfil/ipfw/dn_sched_fq_codel.c`. Where the three differ, [`Rules`] chooses.
//!
//! Difference: all three hash the five-tuple with a keyed function whose key is drawn at boot,
//! so which flows collide cannot be reproduced from outside; here the packet's own tuple hash is
//! mixed with a salt of the discipline and scaled to the number of queues, as Linux scales its.

use aqmlab_core::{Bytes, Cx, Duration, Instant, Packet, Reason, Rng};

use crate::{Backlog, PacketQueue};

/// Where implementations of the scheduler part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Credit is used up at zero; a new flow found empty leaves at once if no old one waits.
    Linux,
    /// RFC 8290 §4.2: used up when negative; a new flow found empty always joins the old ones.
    Rfc8290,
    /// As [`Rules::Rfc8290`].
    FreeBsd,
}

impl Rules {
    fn used_up(self, deficit: i64) -> bool {
        match self {
            Self::Linux => deficit <= 0,
            Self::Rfc8290 | Self::FreeBsd => deficit < 0,
        }
    }
}

/// The settings of a set of flows.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many queues there are; at least one is made.
    pub flows: u64,
    /// Bytes that a flow may send in a round; at least one.
    pub quantum: Bytes,
    /// Mixed into every hash; zero lets the first packet draw it from the caller's stream.
    pub salt: u64,
    /// Whose scheduler it is.
    pub rules: Rules,
}

/// A fixed number of queues, each with a state `S` of the law that rules it.
///
/// # Driving it
///
/// To enqueue: [`classify`](Self::classify), judge, [`push`](Self::push). To dequeue: find the
/// [`next_flow`](Self::next_flow) and take packets from its [`turn`](Self::turn); then
/// report either [`sent`](Self::sent) or, if the queue was empty, [`emptied`](Self::emptied) and
/// repeat. Nothing is allocated once the queues have grown to their size.
pub struct Flows<S> {
    table: Vec<Flow<S>>,
    new: List,
    old: List,
    books: Books,
    quantum: i64,
    salt: Option<u32>,
    /// Whether the salt is drawn and not given.
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

/// Which list a flow is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Neither,
    New,
    Old,
}

/// The total of all queues.
#[derive(Clone, Copy, Debug, Default)]
struct Books {
    total: Backlog,
    memory: Bytes,
}

impl<S> Flows<S> {
    /// Empty queues, each with the state that `state` makes.
    pub fn new(settings: Settings, state: impl Fn() -> S) -> Self {
        let flow = || Flow {
            queue: PacketQueue::default(),
            state: state(),
            deficit: 0,
            next: NOBODY,
            on: On::Neither,
        };
        Self {
            table: (0..settings.flows.max(1)).map(|_| flow()).collect(),
            new: List::default(),
            old: List::default(),
            books: Books::default(),
            quantum: i64::try_from(settings.quantum.0.max(1)).unwrap_or(i64::MAX),
            salt: (settings.salt != 0).then_some(settings.salt as u32),
            draws: settings.salt == 0,
            rules: settings.rules,
        }
    }

    /// The queue that `packet` belongs to.
    #[inline]
    pub fn classify(&mut self, packet: &Packet, rng: &mut Rng) -> usize {
        let salt = *self.salt.get_or_insert_with(|| rng.next_u32());
        let hash = u64::from(spread(packet.tuple_hash ^ salt));
        ((hash * self.table.len() as u64) >> 32) as usize
    }

    /// Resets all flows of dummynet's scheduler, which are empty: `forget` resets a flow's state,
    /// and the next packet draws another salt.
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

    /// Appends `packet` to queue `index`. Returns whether that woke the flow: it was on neither
    /// list and is now the last of the new ones, with one quantum (RFC 8290 §4.1).
    #[inline]
    pub fn push(&mut self, index: usize, packet: Packet, now: Instant) -> bool {
        self.books.add(&packet);
        let flow = &mut self.table[index];
        flow.queue.push(packet, now);
        let woken = flow.on == On::Neither;
        if woken {
            self.wake(index);
        }
        woken
    }

    // Apart, so that what every packet passes through stays small enough to be inlined.
    #[inline(never)]
    fn wake(&mut self, index: usize) {
        self.table[index].deficit = self.quantum;
        self.append(index, On::New);
    }

    /// The next flow to serve: the first new flow with credit, else the first old one. Flows on the
    /// way that have used theirs up get another quantum and wait at the end of the old list.
    #[inline]
    pub fn next_flow(&mut self) -> Option<usize> {
        loop {
            let index = self.new.first().or_else(|| self.old.first())?;
            let flow = &mut self.table[index];
            if !self.rules.used_up(flow.deficit) {
                return Some(index);
            }
            flow.deficit += self.quantum;
            self.remove_first(index);
            self.append(index, On::Old);
        }
    }

    /// Queue `index`, to take packets from, and the state of its law.
    #[inline]
    pub fn turn(&mut self, index: usize) -> (Turn<'_>, &mut S) {
        let flow = &mut self.table[index];
        (Turn { queue: &mut flow.queue, books: &mut self.books }, &mut flow.state)
    }

    /// Charges the flow whose turn it is for `packet`, which leaves.
    #[inline]
    pub fn sent(&mut self, index: usize, packet: &Packet) {
        self.table[index].deficit -= i64::from(packet.len);
    }

    /// Notes that the flow whose turn it is had nothing to send. A new flow passes through the
    /// old list first, lest a trickle of lone packets starve the old flows (RFC 8290 §4.2).
    /// Returns whether it is on neither list now.
    pub fn emptied(&mut self, index: usize) -> bool {
        let was_new = self.table[index].on == On::New;
        self.remove_first(index);
        let stays = was_new && (self.rules != Rules::Linux || self.old.first().is_some());
        if stays {
            self.append(index, On::Old);
        }
        !stays
    }

    /// Makes room: drops from the head of queue `index` until `enough` packets are gone or at
    /// least `bytes` of them, and never fewer than one. Returns how many were dropped.
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

    /// The queue with the largest `size`; of equals, the one of lowest index.
    pub fn fattest(&self, size: impl Fn(Backlog) -> u64) -> Option<usize> {
        // Whoever holds packets is on a list, and lists are short beside the table.
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
                at = named(self.table[index].next);
            }
        }
        best.map(|(_, index)| index)
    }

    /// The backlog of all queues.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.books.total
    }

    /// The memory of the packets in a kernel, buffers and descriptors included.
    #[inline]
    pub fn memory(&self) -> Bytes {
        self.books.memory
    }

    /// How many queues there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no queue holds anything.
    pub fn is_empty(&self) -> bool {
        self.books.total.packets == 0
    }

    /// Whether flow `index` is on a list.
    pub fn is_active(&self, index: usize) -> bool {
        self.table[index].on != On::Neither
    }

    /// The backlog of queue `index`.
    #[inline]
    pub fn backlog_of(&self, index: usize) -> Backlog {
        self.table[index].queue.backlog()
    }

    /// The state of the law of queue `index`.
    #[inline]
    pub fn state(&mut self, index: usize) -> &mut S {
        &mut self.table[index].state
    }

    /// Every queue's content and state, in order of index, for laws with a timer.
    pub fn each(&mut self) -> impl Iterator<Item = (Backlog, &mut S)> {
        self.table.iter_mut().map(|flow| (flow.queue.backlog(), &mut flow.state))
    }

    /// The states of the flows that are on a list, in order of index.
    pub fn active_states(&self) -> impl Iterator<Item = &S> {
        self.table.iter().filter(|flow| flow.on != On::Neither).map(|flow| &flow.state)
    }

    /// How many flows are new and how many old.
    pub fn active(&self) -> (usize, usize) {
        (self.new.len, self.old.len)
    }

    fn append(&mut self, index: usize, on: On) {
        let list = if on == On::New { &mut self.new } else { &mut self.old };
        if let Some(last) = list.push(index) {
            self.table[last].next = index as u32;
        }
        let flow = &mut self.table[index];
        (flow.next, flow.on) = (NOBODY, on);
    }

    /// Takes flow `index`, which is the first of its list, off that list.
    fn remove_first(&mut self, index: usize) {
        let flow = &mut self.table[index];
        let list = if flow.on == On::New { &mut self.new } else { &mut self.old };
        debug_assert_eq!(list.first(), Some(index), "only the first flow of a list leaves it");
        list.pop(flow.next);
        flow.on = On::Neither;
    }
}

/// One flow's queue, with the books of all of them.
pub struct Turn<'a> {
    queue: &'a mut PacketQueue,
    books: &'a mut Books,
}

impl Turn<'_> {
    /// The packet at the head, left in place.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.queue.front()
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn take(&mut self) -> Option<Packet> {
        let packet = self.queue.take();
        if let Some(packet) = &packet {
            self.books.remove(packet);
        }
        packet
    }

    /// Takes the packet at the head, with its sojourn time.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Packet, Duration)> {
        let packet = self.take()?;
        let sojourn = now.since(packet.enqueued);
        Some((packet, sojourn))
    }

    /// The backlog of this queue.
    #[inline]
    pub fn own(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The backlog of all queues.
    #[inline]
    pub fn total(&self) -> Backlog {
        self.books.total
    }
}

impl Books {
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

/// A model of Linux's `skb->truesize` for a packet that a driver received: headroom, frame and
/// shared info in a buffer of a power of two, and the descriptor. It gives the familiar 768 for
/// an acknowledgement and 2304 for a full frame; the kernel's own value varies by driver.
#[inline]
fn memory_of(packet: &Packet) -> Bytes {
    const HEADROOM: u64 = 64;
    const SHARED_INFO: u64 = 320;
    const DESCRIPTOR: u64 = 256;
    let buffer = HEADROOM + u64::from(packet.len) + SHARED_INFO;
    Bytes(buffer.next_power_of_two() + DESCRIPTOR)
}

/// The finaliser of `MurmurHash3`, 32 bits: every bit of the salt reaches every bit of the index.
#[inline]
pub(crate) const fn spread(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// The tuple hash that a discipline with this salt spreads to `hash`; for packets whose hash is
/// known from elsewhere.
pub const fn tuple_hash_for(hash: u32, salt: u32) -> u32 {
    let x = (hash ^ (hash >> 16)).wrapping_mul(0x7ed1_b41d);
    let x = (x ^ (x >> 13) ^ (x >> 26)).wrapping_mul(0xa5cb_9243);
    (x ^ (x >> 16)) ^ salt
}

const NOBODY: u32 = u32::MAX;

const fn named(index: u32) -> Option<usize> {
    if index == NOBODY { None } else { Some(index as usize) }
}

/// The two ends of a list whose links are in the flows.
struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NOBODY, tail: NOBODY, len: 0 }
    }
}

impl List {
    #[inline]
    fn first(&self) -> Option<usize> {
        named(self.head)
    }

    /// Makes `index` the last; returns who was last before.
    fn push(&mut self, index: usize) -> Option<usize> {
        let last = named(self.tail);
        self.tail = index as u32;
        if last.is_none() {
            self.head = index as u32;
        }
        self.len += 1;
        last
    }

    /// Takes off the first, whom `next` follows.
    fn pop(&mut self, next: u32) {
        self.head = next;
        if next == NOBODY {
            self.tail = NOBODY;
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
