//! Compares PIE with two naive transcriptions. The first transcribes the pseudo-code of RFC 8033,
//! Appendices A and B, in floating point, with every update made when it is due. The second
//! transcribes Linux 6.1's integer arithmetic.
//!
//! The law and its transcription get the same packets at the same times and the same random
//! numbers. They must drop, mark and deliver the same packets.

mod linux;
mod rfc8033;
#[path = "../rig/mod.rs"]
mod rig;

use std::collections::VecDeque;

use aqmlab_core::{Ecn, Instant, Packet, PacketFields, Rng, Value};
use rig::Rig;

/// An operation on a queue.
enum Step {
    Offer(Packet),
    Take,
}

/// The packets that a queue dropped, marked and sent.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    dropped: Vec<u64>,
    marked: Vec<u64>,
    sent: Vec<u64>,
}

/// Generates overload, low load, idle times and bursts in random order, at a link rate of about 10
/// Mbit/s.
fn schedule(seed: u64) -> Vec<(u64, Step)> {
    let mut rng = Rng::stream(seed, "schedule");
    let mut steps = Vec::new();
    let (mut arrival, mut service, mut id) = (0_u64, 0_u64, 0_u64);
    for _ in 0..8 {
        let gap = [300_000, 700_000, 1_150_000, 1_250_000, 2_500_000][rng.below(5) as usize];
        let end = arrival + rng.below(900) * 1_000_000;
        while arrival < end {
            let len = if rng.below(4) == 0 { 60 + rng.below(1_400) as u32 } else { 1_500 };
            let ecn = if rng.below(2) == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            steps.push((
                arrival,
                Step::Offer(Packet::from(PacketFields { ecn, ..PacketFields::plain(id, 0, len) })),
            ));
            id += 1;
            arrival += if rng.below(20) == 0 { 0 } else { rng.below(2 * gap) };
        }
        if rng.below(3) == 0 {
            arrival += rng.below(4_000) * 1_000_000;
        }
        while service < arrival {
            steps.push((service, Step::Take));
            service += 1_000_000 + rng.below(400_000);
        }
    }
    steps.sort_by_key(|(at, _)| *at);
    steps
}

fn ours(name: &str, changes: &[(&str, Value)], seed: u64) -> Outcome {
    let mut rig = Rig::new(name, changes);
    rig.rng = Rng::stream(seed, "draws");
    let mut sent = Vec::new();
    for (at, step) in schedule(seed) {
        let at = Instant::from_nanos(at);
        match step {
            Step::Offer(packet) => rig.offer(at, packet),
            Step::Take => sent.extend(rig.take_id(at)),
        }
    }
    Outcome { dropped: rig.ledger.drops(), marked: rig.ledger.marks(), sent }
}

/// The interface of both transcriptions.
trait Oracle {
    /// Returns the time of the law's next update in nanoseconds. The caller may change this time.
    fn next_update(&mut self) -> &mut u64;
    fn after(&self, update: u64) -> u64;
    fn update(&mut self, bytes: u64, packets: usize);
    /// Judges an arrival: returns 0 to keep it, 1 to mark it, 2 to drop it.
    fn arrive(&mut self, now: u64, packet: &Packet, queue: &Queue, rng: &mut Rng) -> u8;
    fn depart(&mut self, now: u64, arrived: u64, len: u64, left: u64);
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<(u64, Packet)>,
    bytes: u64,
}

fn theirs(oracle: &mut dyn Oracle, seed: u64) -> Outcome {
    let mut rng = Rng::stream(seed, "draws");
    let (mut queue, mut outcome) = (Queue::default(), Outcome::default());
    for (now, step) in schedule(seed) {
        while *oracle.next_update() <= now {
            oracle.update(queue.bytes, queue.packets.len());
            let due = *oracle.next_update();
            *oracle.next_update() = oracle.after(due);
        }
        match step {
            Step::Offer(packet) => {
                let verdict = oracle.arrive(now, &packet, &queue, &mut rng);
                if verdict == 2 {
                    outcome.dropped.push(packet.id);
                    continue;
                }
                if verdict == 1 {
                    outcome.marked.push(packet.id);
                }
                queue.bytes += u64::from(packet.len);
                queue.packets.push_back((now, packet));
            }
            Step::Take => {
                let Some((arrived, packet)) = queue.packets.pop_front() else { continue };
                queue.bytes -= u64::from(packet.len);
                oracle.depart(now, arrived, packet.len.into(), queue.bytes);
                outcome.sent.push(packet.id);
            }
        }
    }
    outcome
}

/// Compares the law and its transcription over `seeds` seeds. Returns the number of dropped packets
/// and the number of marked packets.
fn agree(
    name: &str,
    changes: &[(&str, Value)],
    seeds: u64,
    oracle: impl Fn() -> Box<dyn Oracle>,
) -> (usize, usize) {
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..seeds {
        let (got, want) = (ours(name, changes, seed), theirs(&mut *oracle(), seed));
        assert_eq!(got.dropped, want.dropped, "{name} {changes:?} seed {seed}: dropped");
        assert_eq!(got.marked, want.marked, "{name} {changes:?} seed {seed}: marked");
        assert_eq!(got.sent, want.sent, "{name} {changes:?} seed {seed}: sent");
        drops += got.dropped.len();
        marks += got.marked.len();
    }
    (drops, marks)
}
