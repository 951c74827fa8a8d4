//! Compares CoDel alone with the naive transcriptions of its three sources. In 400 runs of 1500
//! random arrivals and departures, each kind must deliver, drop and mark exactly the same packets
//! as its transcription.

mod oracle;
mod rig;

use std::collections::VecDeque;

use aqmlab_core::{Ecn, Instant, Rng, Value};
use oracle::{Fates, FreeBsd, Item, Law, Line, Linux, Rfc};
use rig::Rig;

/// Compares a kind and its oracle over bursts of arrivals and departures at a varying rate, so that
/// the queue fills, drains and idles.
fn compare<L: Law>(name: &str, ecn: bool) {
    let mut signals = 0;
    for seed in 0..400 {
        let changes = [("ecn", Value::Flag(ecn)), ("limit", Value::Count(100_000))];
        let (mut rig, mut law) = (Rig::new(name, &changes), L::new(ecn));
        let (mut queue, mut fates) = (VecDeque::new(), Fates::default());
        let mut rng = Rng::stream(seed, "oracle");
        // A random start, so that no time is a round number in any unit.
        let mut now = 3_000_000_000 + rng.below(1_000_000_000);
        for id in 0..1_500 {
            now += rng.below(4) * rng.below(3_000_000);
            let rush = (id / 300) % 2 == 0 && rng.below(100) < 20;
            if rush || rng.below(100) < 45 {
                let len = 60 + rng.below(1_455);
                let ecn = if id % 3 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
                law.on_offer(len);
                queue.push_back(Item { id, len, capable: ecn.is_capable(), arrived: now });
                let mut packet = rig::packet(id, len as u32);
                packet.ecn = ecn;
                rig.offer(Instant::from_nanos(now), packet);
            } else {
                let got = rig.take_id(Instant::from_nanos(now));
                let line = Line { queue: &mut queue, others: 0, fates: &mut fates };
                let want = law.dequeue(line, now).map(|item| item.id);
                assert_eq!(got, want, "{name} ecn {ecn} seed {seed}: departure at {now} ns");
            }
            assert_eq!(rig.ledger.drops(), fates.dropped, "{name} ecn {ecn} seed {seed}: drops");
            assert_eq!(rig.ledger.marks(), fates.marked, "{name} ecn {ecn} seed {seed}: marks");
        }
        signals += rig.ledger.times.len();
    }
    assert!(signals > 2_000, "{name} ecn {ecn}: {signals} signals put nothing to the test");
}

#[test]
fn codel_rfc_does_what_the_pseudo_code_of_rfc_8289_does() {
    compare::<Rfc>("codel_rfc", false);
    compare::<Rfc>("codel_rfc", true);
}

#[test]
fn codel_does_what_the_law_of_linux_does() {
    compare::<Linux>("codel", false);
    compare::<Linux>("codel", true);
}

#[test]
fn codel_freebsd_does_what_the_law_of_freebsd_does() {
    compare::<FreeBsd>("codel_freebsd", false);
    compare::<FreeBsd>("codel_freebsd", true);
}
