//! Conformance statements C-01 to C-05: the FIFO family. The tests of `conformance.rs` check C-06,
//! conservation and order, for every kind.

mod rig;

use aqmlab_core::{Bytes, Packet, Reason, Value};
use rig::{Rig, ms, packet};

fn offered(name: &str, limit: Value, sizes: &[u32]) -> Rig {
    let mut rig = Rig::new(name, &[("limit", limit)]);
    for (id, &len) in (1..).zip(sizes) {
        rig.offer(ms(0), packet(id, len));
    }
    rig
}

#[test]
fn c01_pfifo_holds_its_limit_and_drops_the_next_arrival() {
    let mut rig = offered("pfifo", Value::Count(3), &[1_500; 5]);
    assert_eq!(rig.ledger.dropped, [(4, Reason::Overlimit), (5, Reason::Overlimit)]);
    assert_eq!(rig.drain(ms(1)), [1, 2, 3]);
}

#[test]
fn c02_bfifo_accepts_up_to_exactly_its_limit() {
    let mut rig = offered("bfifo", Value::Bytes(Bytes(1_000)), &[400, 601, 600, 1]);
    assert_eq!(rig.ledger.drops(), [2, 4]);
    assert_eq!(rig.bytes(), Bytes(1_000));
    assert_eq!(rig.drain(ms(1)), [1, 3]);
}

#[test]
fn c03_pfifo_head_drop_keeps_the_newest_and_loses_the_oldest() {
    let mut rig = offered("pfifo_head_drop", Value::Count(2), &[100; 4]);
    assert_eq!(rig.ledger.drops(), [1, 2]);
    assert_eq!(rig.drain(ms(1)), [3, 4]);
    let rig = offered("pfifo_head_drop", Value::Count(0), &[100]);
    assert_eq!(rig.ledger.drops(), [1], "where nothing may wait, the arrival is dropped");
}

#[test]
fn c04_dummynet_in_bytes_overshoots_by_less_than_a_packet() {
    // Backlogs of 0 and 900 bytes do not exceed the limit of 1000; a backlog of 2400 bytes exceeds
    // it.
    let mut rig = offered("bfifo_freebsd", Value::Bytes(Bytes(1_000)), &[900, 1_500, 40]);
    assert_eq!(rig.ledger.drops(), [3]);
    assert_eq!(rig.bytes(), Bytes(2_400));
    assert_eq!(rig.drain(ms(1)), [1, 2]);
    // A backlog of exactly 1000 bytes does not exceed the limit.
    let rig = offered("bfifo_freebsd", Value::Bytes(Bytes(1_000)), &[1_000, 40, 40]);
    assert_eq!(rig.ledger.drops(), [3]);
}

#[test]
fn c04_dummynet_in_slots_drops_at_its_limit() {
    let rig = offered("pfifo_freebsd", Value::Count(2), &[40, 1_500, 40]);
    assert_eq!(rig.ledger.drops(), [3]);
}

fn of_priority(priority: u8, id: u64) -> Packet {
    let mut packet = packet(id, 100);
    packet.priority = priority;
    packet
}

#[test]
fn c05_pfifo_fast_serves_bands_strictly_by_the_map_of_priorities() {
    // The band of each priority follows tc-prio(8).
    let bands = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
    let mut rig = Rig::new("pfifo_fast", &[]);
    for (priority, id) in (0..16).zip(0..) {
        rig.offer(ms(0), of_priority(priority, id));
    }
    let mut want: Vec<u64> = (0..16).collect();
    want.sort_by_key(|&id| bands[id as usize]);
    assert_eq!(rig.drain(ms(1)), want);
}

/// Tests that the places of a `pfifo_fast` band become free in batches. A ring of Linux clears
/// sixteen places at once. At the end of the ring, it clears the remaining places
/// (`__ptr_ring_discard_one`).
#[test]
fn c05_places_of_a_pfifo_fast_band_become_free_in_batches() {
    let mut rig = offered("pfifo_fast", Value::Count(40), &[1_500; 40]);
    let mut next = 41;
    for batch in [16, 16, 8, 16] {
        for _ in 1..batch {
            rig.take(ms(1));
        }
        rig.offer(ms(1), packet(next, 1_500));
        assert_eq!(rig.ledger.drops().last(), Some(&next), "before the last of {batch}");
        rig.take(ms(1));
        let drops = rig.ledger.drops().len();
        for id in next + 1..=next + batch {
            rig.offer(ms(1), packet(id, 1_500));
        }
        assert_eq!(rig.ledger.drops().len(), drops, "{batch} places are free");
        next += batch + 1;
        rig.offer(ms(1), packet(next, 1_500));
        assert_eq!(rig.ledger.drops().len(), drops + 1, "and no more");
        next += 1;
    }
}

#[test]
fn c05_places_of_a_small_band_become_free_one_by_one() {
    for (limit, params) in [(31, vec![]), (40, vec![("batch", Value::Count(1))])] {
        let mut rig =
            Rig::new("pfifo_fast", &[vec![("limit", Value::Count(limit))], params].concat());
        for id in 1..=limit {
            rig.offer(ms(0), packet(id, 1_500));
        }
        rig.take(ms(1));
        rig.offer(ms(1), packet(limit + 1, 1_500));
        assert!(rig.ledger.drops().is_empty(), "{limit}");
    }
}

#[test]
fn c05_a_band_of_pfifo_fast_has_room_of_its_own() {
    let mut rig = Rig::new("pfifo_fast", &[("limit", Value::Count(2))]);
    for id in 0..4 {
        rig.offer(ms(0), packet(id, 100));
        rig.offer(ms(0), of_priority(6, id + 10));
    }
    assert_eq!(rig.ledger.drops(), [2, 12, 3, 13]);
    assert_eq!(rig.drain(ms(1)), [10, 11, 0, 1]);
}
