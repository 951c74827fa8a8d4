//! Conformance statement C-57, and the behaviour of `sch_sfq.c` that users notice.

mod rig;

use aqmlab_core::{Bytes, Packet, Value};
use rig::{Rig, ms};

fn sfq(changes: &[(&str, Value)]) -> Rig {
    let mut all = vec![("salt", Value::Count(1))];
    all.extend_from_slice(changes);
    Rig::new("sfq", &all)
}

fn of(conn: u32, id: u64, len: u32) -> Packet {
    Packet::plain(id, conn, len)
}

#[test]
fn c57_the_longest_flow_loses_its_tail_and_a_short_one_survives() {
    let mut rig = sfq(&[("limit", Value::Count(6))]);
    (1..=6).for_each(|id| rig.offer(ms(0), of(0, id, 100)));
    rig.offer(ms(0), of(1, 11, 1_500));
    assert_eq!(rig.ledger.drops(), [6]);
    rig.offer(ms(0), of(0, 7, 100));
    assert_eq!(rig.ledger.drops(), [6, 7], "the arrival is the tail of the longest");
    assert_eq!(rig.packets(), 6);
}

#[test]
fn c57_with_headdrop_the_longest_flow_loses_its_head() {
    let mut rig = sfq(&[("limit", Value::Count(4)), ("headdrop", Value::Flag(true))]);
    (1..=4).for_each(|id| rig.offer(ms(0), of(0, id, 100)));
    rig.offer(ms(0), of(1, 11, 100));
    assert_eq!(rig.ledger.drops(), [1]);
}

#[test]
fn c57_of_equally_long_flows_the_last_to_become_so_loses() {
    let mut rig = sfq(&[("limit", Value::Count(4))]);
    for (conn, id) in [(0, 1), (1, 11), (0, 2), (1, 12)] {
        rig.offer(ms(0), of(conn, id, 100));
    }
    rig.offer(ms(0), of(2, 21, 100));
    assert_eq!(rig.ledger.drops(), [12]);
}

#[test]
fn c57_where_every_flow_has_one_packet_the_next_in_turn_loses_it() {
    let mut rig = sfq(&[("limit", Value::Count(4)), ("flows", Value::Count(8))]);
    for conn in 0..4 {
        rig.offer(ms(0), of(conn, u64::from(conn), 100));
    }
    // An explicit limit also limits the number of flows: a fifth flow finds no slot.
    rig.offer(ms(0), of(4, 4, 100));
    assert_eq!(rig.ledger.drops(), [4]);
    // With the default limit, the number of slots is the limit in packets plus one.
    let mut rig = Rig::new("sfq", &[("salt", Value::Count(1)), ("divisor", Value::Count(65_536))]);
    (0..128).for_each(|conn| rig.offer(ms(0), of(conn, u64::from(conn), 100)));
    assert_eq!(rig.ledger.drops(), [0]);
    assert_eq!(rig.packets(), 127);
}

#[test]
fn a_full_queue_drops_the_arrival_or_its_head() {
    for (headdrop, lost) in [(false, 3), (true, 1)] {
        let mut rig = sfq(&[("depth", Value::Count(2)), ("headdrop", Value::Flag(headdrop))]);
        (1..=3).for_each(|id| rig.offer(ms(0), of(0, id, 100 * id as u32)));
        assert_eq!(rig.ledger.drops(), [lost]);
        let left = if headdrop { 500 } else { 300 };
        assert_eq!(rig.bytes(), Bytes(left));
    }
}

#[test]
fn flows_take_turns_of_a_quantum_and_a_new_one_waits_for_its_turn() {
    let mut rig = sfq(&[("quantum", Value::Bytes(Bytes(1_000)))]);
    for id in 1..=4 {
        rig.offer(ms(0), of(0, id, 500));
        rig.offer(ms(0), of(1, 10 + id, 1_000));
    }
    assert_eq!(rig.take_id(ms(1)), Some(1));
    rig.offer(ms(1), of(2, 21, 100));
    // Flow 0 has 500 bytes of allotment left and is first; the new flow is last in the round.
    assert_eq!(rig.drain(ms(1)), [2, 11, 21, 3, 4, 12, 13, 14]);
}

#[test]
fn perturbation_hashes_what_waits_anew_and_keeps_the_order_of_flows() {
    let second = Value::MaybeDuration(Some(aqmlab_core::Duration::from_secs(1)));
    let mut rig = Rig::new("sfq", &[("perturb", second), ("divisor", Value::Count(4))]);
    let mut gone = Vec::new();
    let mut rounds = Vec::new();
    for round in 0..12 {
        for id in 0..8 {
            rig.offer(ms(round * 1_000), of(id % 4, u64::from(id), 100));
        }
        let order = rig.drain(ms(round * 1_000 + 999));
        for conn in 0..4 {
            let mine: Vec<_> = order.iter().filter(|id| *id % 4 == conn).collect();
            assert!(mine.is_sorted(), "flow {conn}: {order:?}");
        }
        gone.extend_from_slice(&order);
        rounds.push(order);
    }
    assert_eq!(gone.len() + rig.ledger.dropped.len(), 12 * 8);
    rounds.dedup();
    assert!(rounds.len() > 3, "four buckets for four flows, and always the same ones collide");
}
