//! Compares the composition of scheduler, law and overflow in `fq_codel` with naive transcriptions
//! of RFC 8290 §4 and of the two kernels. Each part can be right alone while the composition is
//! wrong.

mod oracle;
mod rig;

use std::collections::VecDeque;

use aqmlab_core::{Bytes, Ecn, Instant, Packet, PacketFields, Rng, Value};
use aqmlab_qdisc::flows::{Flows, Rules, Settings};
use oracle::{Fates, FreeBsd, Item, Law, Line, Linux, Linux35, Rfc};
use rig::Rig;

const FLOWS: usize = 16;
const QUANTUM: i64 = 1_000;
const LIMIT: usize = 60;

struct Flow<L> {
    queue: VecDeque<Item>,
    law: L,
    credit: i64,
}

impl<L> Flow<L> {
    fn bytes(&self) -> u64 {
        self.queue.iter().map(|item| item.len).sum()
    }
}

/// An implementation of RFC 8290 §4 and of the kernels' differences, with plain lists.
struct Oracle<L> {
    rules: Rules,
    flows: Vec<Flow<L>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    fates: Fates,
}

impl<L: Law> Oracle<L> {
    fn new(rules: Rules, ecn: bool) -> Self {
        let flow = || Flow { queue: VecDeque::new(), law: L::new(ecn), credit: 0 };
        Self {
            rules,
            flows: (0..FLOWS).map(|_| flow()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            fates: Fates::default(),
        }
    }

    /// Enqueues a packet (RFC 8290 §4.1).
    fn enqueue(&mut self, index: usize, item: Item) {
        let flow = &mut self.flows[index];
        flow.law.on_offer(item.len);
        flow.queue.push_back(item);
        if !self.new.contains(&index) && !self.old.contains(&index) {
            flow.credit = QUANTUM;
            flow.law.on_wake();
            self.new.push_back(index);
        }
        if self.flows.iter().map(|flow| flow.queue.len()).sum::<usize>() > LIMIT {
            self.overflow();
        }
    }

    fn overflow(&mut self) {
        let size = |flow: &Flow<L>| match self.rules {
            Rules::FreeBsd => flow.queue.len() as u64,
            Rules::Linux | Rules::Rfc8290 => flow.bytes(),
        };
        let most = self.flows.iter().map(size).max().expect("there are flows");
        let index = self.flows.iter().position(|flow| size(flow) == most).expect("one has most");
        let flow = &mut self.flows[index];
        let half_bytes = flow.bytes() / 2;
        let half_packets = flow.queue.len() / 2;
        let mut gone = (0, 0);
        loop {
            let item = flow.queue.pop_front().expect("the fattest flow holds packets");
            self.fates.dropped.push(item.id);
            gone = (gone.0 + 1, gone.1 + item.len);
            let enough = match self.rules {
                Rules::FreeBsd => true,
                Rules::Linux => gone.0 == L::BATCH || gone.1 >= half_bytes,
                Rules::Rfc8290 => gone.0 == 64 || gone.0 >= half_packets,
            };
            if enough {
                break;
            }
        }
        flow.law.on_overflow(gone.0 as u32);
    }

    /// Dequeues a packet, if there is one (RFC 8290 §4.2).
    fn dequeue(&mut self, now: u64) -> Option<Item> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *if from_new { self.new.front() } else { self.old.front() }?;
            let used_up = match self.rules {
                Rules::Linux => self.flows[index].credit <= 0,
                Rules::FreeBsd | Rules::Rfc8290 => self.flows[index].credit < 0,
            };
            if used_up {
                self.flows[index].credit += QUANTUM;
                self.leave(from_new);
                self.old.push_back(index);
                continue;
            }
            let all: u64 = self.flows.iter().map(Flow::bytes).sum();
            let flow = &mut self.flows[index];
            let others = all - flow.bytes();
            let line = Line { queue: &mut flow.queue, others, fates: &mut self.fates };
            if let Some(item) = flow.law.dequeue(line, now) {
                flow.credit -= i64::try_from(item.len).expect("a packet's size");
                return Some(item);
            }
            self.leave(from_new);
            if from_new && (self.rules != Rules::Linux || !self.old.is_empty()) {
                self.old.push_back(index);
            }
        }
    }

    fn leave(&mut self, from_new: bool) {
        if from_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}

/// Returns the queue to which the discipline itself assigns each connection.
fn buckets(rules: Rules) -> Vec<usize> {
    let settings = Settings { flows: FLOWS as u64, quantum: Bytes(1), salt: 7, rules };
    let mut flows = Flows::new(settings, || ());
    let mut rng = Rng::stream(0, "unused");
    (0..10).map(|conn| flows.classify(&Packet::plain(0, conn, 100), &mut rng)).collect()
}

/// Compares a kind and its oracle with two greedy connections, several intermittent connections and
/// single packets. The operations include overflows, drains and idle times.
fn compare<L: Law>(name: &str, rules: Rules, ecn: bool) {
    let buckets = buckets(rules);
    let mut signals = 0;
    for seed in 0..300 {
        let changes = [
            ("ecn", Value::Flag(ecn)),
            ("limit", Value::Count(LIMIT as u64)),
            ("flows", Value::Count(FLOWS as u64)),
            ("quantum", Value::Bytes(Bytes(QUANTUM as u64))),
            ("salt", Value::Count(7)),
        ];
        let (mut rig, mut oracle) = (Rig::new(name, &changes), Oracle::<L>::new(rules, ecn));
        let mut rng = Rng::stream(seed, "oracle");
        let mut now = 3_000_000_000 + rng.below(1_000_000_000);
        for id in 0..2_500 {
            now += rng.below(4) * rng.below(2_000_000);
            let rush = (id / 500) % 2 == 0 && rng.below(100) < 12;
            if rush || rng.below(100) < 46 {
                let conn = if rng.below(10) < 7 { rng.below(2) } else { rng.below(10) };
                let len = if rng.below(2) == 0 { 1_000 } else { 60 + rng.below(1_455) };
                let ecn = if id % 3 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
                let item = Item { id, len, capable: ecn.is_capable(), arrived: now };
                oracle.enqueue(buckets[conn as usize], item);
                let packet = Packet::from(PacketFields {
                    ecn,
                    ..PacketFields::plain(id, conn as u32, len as u32)
                });
                rig.offer(Instant::from_nanos(now), packet);
            } else {
                let got = rig.take_id(Instant::from_nanos(now));
                let want = oracle.dequeue(now).map(|item| item.id);
                assert_eq!(got, want, "{name} ecn {ecn} seed {seed}: departure at {now} ns");
            }
            let fates = &oracle.fates;
            assert_eq!(rig.ledger.drops(), fates.dropped, "{name} ecn {ecn} seed {seed}: drops");
            assert_eq!(rig.ledger.marks(), fates.marked, "{name} ecn {ecn} seed {seed}: marks");
        }
        signals += rig.ledger.times.len();
    }
    assert!(signals > 2_000, "{name} ecn {ecn}: {signals} signals put nothing to the test");
}

#[test]
fn fq_codel_rfc_does_what_rfc_8290_says() {
    compare::<Rfc>("fq_codel_rfc", Rules::Rfc8290, false);
    compare::<Rfc>("fq_codel_rfc", Rules::Rfc8290, true);
}

#[test]
fn fq_codel_does_what_linux_does() {
    compare::<Linux>("fq_codel", Rules::Linux, false);
    compare::<Linux>("fq_codel", Rules::Linux, true);
}

#[test]
fn fq_codel_linux_3_5_does_what_linux_did() {
    compare::<Linux35>("fq_codel_linux_3_5", Rules::Linux, false);
    compare::<Linux35>("fq_codel_linux_3_5", Rules::Linux, true);
}

#[test]
fn fq_codel_freebsd_does_what_freebsd_does() {
    compare::<FreeBsd>("fq_codel_freebsd", Rules::FreeBsd, false);
    compare::<FreeBsd>("fq_codel_freebsd", Rules::FreeBsd, true);
}
