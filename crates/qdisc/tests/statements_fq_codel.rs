//! Conformance statements C-20 to C-33, on the scheduler and the overflow of `fq_codel`, and C-136.

mod rig;

use aqmlab_core::{Bytes, Ecn, FiveTuple, Instant, Packet, Rng, Value};
use aqmlab_qdisc::flows::{Flows, Rules, Settings};
use rig::{Rig, ms, packet, span_ms};

const RULES: [Rules; 3] = [Rules::Linux, Rules::Rfc8290, Rules::FreeBsd];
const KINDS: [&str; 4] = ["fq_codel", "fq_codel_linux_3_5", "fq_codel_rfc", "fq_codel_freebsd"];

fn of(conn: u32, id: u64, len: u32) -> Packet {
    Packet::plain(id, conn, len)
}

fn flows(rules: Rules, quantum: u64) -> Flows<()> {
    let settings = Settings { flows: 1_024, quantum: Bytes(quantum), salt: 1, rules };
    Flows::new(settings, || ())
}

fn rig(name: &str, limit: u64, quantum: u64) -> Rig {
    let (limit, quantum) = (Value::Count(limit), Value::Bytes(Bytes(quantum)));
    Rig::new(name, &[("limit", limit), ("quantum", quantum), ("salt", Value::Count(1))])
}

/// Dequeues one packet of the next flow. Returns the flow, and the packet's id or `None` if the
/// flow's queue is empty.
fn serve(flows: &mut Flows<()>) -> (usize, Option<u64>) {
    let index = flows.next_flow().expect("a flow is active");
    match flows.turn(index).0.pop(ms(1)) {
        Some((packet, _)) => {
            flows.sent(index, &packet);
            (index, Some(packet.id))
        }
        None => (index, None),
    }
}

#[test]
fn c20_a_flow_that_wakes_is_last_of_the_new_ones_with_one_quantum() {
    for rules in RULES {
        let mut flows = flows(rules, 1_000);
        assert!(flows.push(5, of(0, 1, 600), Instant::ZERO));
        assert!(flows.push(3, of(1, 11, 600), Instant::ZERO));
        assert_eq!(flows.active(), (2, 0));
        flows.push(5, of(0, 2, 600), Instant::ZERO);
        flows.push(5, of(0, 3, 600), Instant::ZERO);
        // 1000 − 600 − 600 leaves no credit: flow 5 is served twice, then flow 3.
        let order: Vec<_> = (0..3).map(|_| serve(&mut flows)).collect();
        assert_eq!(order, [(5, Some(1)), (5, Some(2)), (3, Some(11))], "{rules:?}");
    }
}

#[test]
fn c21_an_arrival_to_an_active_flow_changes_neither_list_nor_credit() {
    for rules in RULES {
        let mut flows = flows(rules, 1_000);
        flows.push(5, of(0, 1, 900), Instant::ZERO);
        flows.push(3, of(1, 11, 900), Instant::ZERO);
        assert_eq!(serve(&mut flows), (5, Some(1)));
        assert!(!flows.push(5, of(0, 2, 900), Instant::ZERO));
        assert!(!flows.push(5, of(0, 3, 900), Instant::ZERO));
        assert_eq!(flows.active(), (2, 0));
        // 100 bytes of the first quantum of flow 5 were left, and no further quantum was granted.
        assert_eq!(serve(&mut flows), (5, Some(2)));
        assert_eq!(serve(&mut flows), (3, Some(11)), "{rules:?}");
    }
}

#[test]
fn c22_new_flows_are_served_before_old_ones() {
    for name in KINDS {
        let mut rig = rig(name, 10_000, 1_000);
        for id in 0..100 {
            rig.offer(ms(0), of((id % 5) as u32, id, 1_500));
        }
        // Every flow has used a quantum and is old.
        assert_eq!((0..7).filter_map(|_| rig.take(ms(1))).count(), 7);
        for (conn, id) in [(50, 500), (51, 510), (52, 520)] {
            rig.offer(ms(1), of(conn, id, 100));
        }
        let next: Vec<_> = (0..3).filter_map(|_| rig.take_id(ms(1))).collect();
        assert_eq!(next, [500, 510, 520], "{name}");
    }
}

#[test]
fn c23_a_spent_flow_gets_one_quantum_and_waits_behind_the_old_ones() {
    for rules in RULES {
        let mut flows = flows(rules, 300);
        for id in 0..100 {
            flows.push(1, of(0, id, 1_500), Instant::ZERO);
            flows.push(2, of(1, 1_000 + id, 300), Instant::ZERO);
        }
        let order: Vec<_> = (0..61).map(|_| serve(&mut flows).0).collect();
        // In the long run, five small packets are sent for each large packet, because a large
        // packet costs five quanta.
        let large: Vec<_> = (0..order.len()).filter(|&at| order[at] == 1).skip(1).take(6).collect();
        let gaps: Vec<_> = large.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [6; 5], "{rules:?}: {order:?}");
    }
}

#[test]
fn c24_where_a_flow_goes_when_it_is_found_empty() {
    for (rules, alone) in
        [(Rules::Linux, (0, 0)), (Rules::Rfc8290, (0, 1)), (Rules::FreeBsd, (0, 1))]
    {
        // The flow is new, and there is no old flow.
        let mut flows = flows(rules, 1_000);
        flows.push(7, of(0, 1, 100), Instant::ZERO);
        serve(&mut flows);
        let (index, none) = serve(&mut flows);
        assert_eq!(none, None);
        assert_eq!(flows.emptied(index), alone == (0, 0));
        assert_eq!(flows.active(), alone, "{rules:?}");

        // There is an old flow. The flow is first new, and then old.
        let mut flows = self::flows(rules, 100);
        for id in 0..9 {
            flows.push(1, of(0, id, 500), Instant::ZERO);
        }
        serve(&mut flows);
        flows.push(2, of(1, 10, 50), Instant::ZERO);
        assert_eq!(serve(&mut flows), (2, Some(10)));
        assert_eq!(serve(&mut flows), (2, None));
        assert!(!flows.emptied(2), "{rules:?}: through the old list");
        assert_eq!(flows.active(), (0, 2));
        while serve(&mut flows) != (2, None) {}
        assert!(flows.emptied(2), "{rules:?}: and then out");
        assert!(!flows.is_active(2) && flows.is_active(1));
    }
}

#[test]
fn c25_lone_packets_go_first_but_cannot_starve_the_old_flows() {
    for name in KINDS {
        let mut rig = rig(name, 10_000, 1_514);
        (0..500).for_each(|id| rig.offer(ms(0), of(0, id, 1_514)));
        rig.take(ms(1));
        let (mut lone, mut bulk) = (0_u64, 0_u64);
        rig.offer(ms(1), of(1, 9_999, 100));
        for step in 0..300 {
            if rig.take_id(ms(1)).expect("plenty") < 5_000 {
                bulk += 1;
            } else {
                lone += 1;
                rig.offer(ms(1), of(1, 10_000 + step, 100));
            }
        }
        // In each round the bulk flow sends one packet, and the sparse flows never send more than a
        // quantum.
        assert!(bulk >= 18 && bulk * 1_514 + 3_028 >= lone * 100, "{name}: {bulk} and {lone}");
        assert!(lone >= bulk, "{name}: {bulk} and {lone}");
    }
}

#[test]
fn c26_flows_of_small_and_large_packets_get_equal_bytes() {
    for name in KINDS.into_iter().chain(["fq_nocodel"]) {
        let mut rig = rig(name, 10_000, 1_514);
        for id in 0..1_000 {
            rig.offer(ms(0), of(0, id, 1_500));
            (0..5).for_each(|part| rig.offer(ms(0), of(1, 10_000 + id * 5 + part, 300)));
        }
        let mut sent = [0_u64; 2];
        for _ in 0..5_000 {
            let packet = rig.take(ms(1)).expect("plenty");
            sent[packet.conn as usize] += u64::from(packet.len);
            assert!(sent[0].abs_diff(sent[1]) <= 1_514 + 1_500, "{name}: {sent:?}");
        }
        assert!(rig.ledger.dropped.is_empty());
    }
}

/// Returns a discipline with a limit of 200 packets, to which 201 packets were offered. A thin flow
/// has ten packets, a fat flow has 190, and a third flow has one.
fn overflowing(name: &str) -> Rig {
    let mut rig = rig(name, 200, 1_514);
    (0..10).for_each(|id| rig.offer(ms(0), of(1, 1_000 + id, 1_000)));
    (0..190).for_each(|id| rig.offer(ms(0), of(0, id, 1_000)));
    assert!(rig.ledger.dropped.is_empty(), "{name}");
    rig.offer(ms(0), of(2, 2_000, 1_000));
    rig
}

#[test]
fn c27_overflow_takes_the_head_of_the_fattest_queue_half_of_it_or_64_packets() {
    for name in ["fq_codel", "fq_codel_rfc", "fq_nocodel"] {
        let want: Vec<_> = (0..64).collect();
        assert_eq!(overflowing(name).ledger.drops(), want, "{name}");
        let mut rig = rig(name, 20, 1_514);
        rig.offer(ms(0), of(1, 1_000, 1_000));
        (0..20).for_each(|id| rig.offer(ms(0), of(0, id, 1_000)));
        assert_eq!(rig.ledger.drops(), (0..10).collect::<Vec<_>>(), "{name}: half of twenty");
    }
}

#[test]
fn c27_fattest_is_by_bytes_and_linux_stops_at_half_of_them() {
    for (name, want) in [("fq_codel", vec![1_000]), ("fq_codel_rfc", vec![1_000])] {
        let mut rig = rig(name, 12, 1_514);
        (0..10).for_each(|id| rig.offer(ms(0), of(0, id, 100)));
        // This flow has only three packets, but more bytes than the other flow. Its first packet
        // has more than half of these bytes.
        for (id, len) in [(1_000, 1_500), (1_001, 400), (1_002, 900)] {
            rig.offer(ms(0), of(1, id, len));
        }
        assert_eq!(rig.ledger.drops(), want, "{name}");
    }
}

#[test]
fn c27_linux_also_bounds_the_memory() {
    // A full frame occupies 2304 bytes.
    let limit = ("memory_limit", Value::Bytes(Bytes(10 * 2_304)));
    for name in ["fq_codel", "fq_nocodel"] {
        let mut rig = Rig::new(name, &[limit]);
        (0..10).for_each(|id| rig.offer(ms(0), of(0, id, 1_514)));
        assert!(rig.ledger.dropped.is_empty(), "{name}");
        rig.offer(ms(0), of(0, 10, 1_514));
        assert_eq!(rig.ledger.drops(), [0, 1, 2, 3, 4, 5], "{name}: half the bytes of eleven");
    }
}

#[test]
fn c28_the_arrival_is_kept_if_its_queue_is_not_the_fattest() {
    for name in KINDS {
        let mut rig = overflowing(name);
        let left = rig.drain(ms(0));
        assert!(left.contains(&2_000), "{name}");
        assert_eq!(left.iter().filter(|id| (1_000..1_010).contains(*id)).count(), 10, "{name}");
    }
}

#[test]
fn c29_linux_3_5_takes_one_packet_from_the_queue_with_most_bytes() {
    assert_eq!(overflowing("fq_codel_linux_3_5").ledger.drops(), [0]);
    let mut rig = rig("fq_codel_linux_3_5", 5, 1_514);
    (0..3).for_each(|id| rig.offer(ms(0), of(0, id, 100)));
    (0..2).for_each(|id| rig.offer(ms(0), of(1, 10 + id, 1_500)));
    rig.offer(ms(0), of(2, 20, 1_500));
    assert_eq!(rig.ledger.drops(), [10], "two large packets are more than three small ones");
}

#[test]
fn linux_3_5_knows_its_largest_packet_from_the_beginning() {
    // The kernel would have learned only packets of 100 bytes, so its `mtu` would be 256 bytes and
    // it would signal.
    let mut rig = rig("fq_codel_linux_3_5", 100, 1_514);
    (0..15).for_each(|id| rig.offer(ms(0), of(0, id, 100)));
    assert!(rig.take(ms(10)).is_some());
    assert_eq!(rig.drain(ms(200)).len(), 14, "1400 bytes are never bad");
}

#[test]
fn c29_freebsd_takes_one_packet_from_the_queue_with_most_of_them() {
    assert_eq!(overflowing("fq_codel_freebsd").ledger.drops(), [0]);
    let mut rig = rig("fq_codel_freebsd", 5, 1_514);
    (0..3).for_each(|id| rig.offer(ms(0), of(0, id, 100)));
    (0..2).for_each(|id| rig.offer(ms(0), of(1, 10 + id, 1_500)));
    rig.offer(ms(0), of(2, 20, 1_500));
    assert_eq!(rig.ledger.drops(), [0], "three small packets are more than two large ones");
}

/// Returns the packets dropped at 358 ms, in a second episode that begins 200 ms after a first
/// episode. The first episode has a single signal. Between the two signals, an overflow drops two
/// packets.
fn second_episode_after_overflow(name: &str) -> Vec<u64> {
    let changes = [("limit", Value::Count(3)), ("mtu", Value::Bytes(Bytes(500)))];
    let mut rig = Rig::new(name, &changes);
    let offer = |rig: &mut Rig, at, ids: &[u64]| {
        for &id in ids {
            rig.offer(ms(at), of(0, id, 1_000));
        }
    };
    offer(&mut rig, 0, &[1, 2, 3]);
    assert_eq!(rig.take_id(ms(6)), Some(1));
    offer(&mut rig, 6, &[4]);
    assert_eq!(rig.take_id(ms(107)), Some(3), "{name}: an episode begins with the loss of 2");
    offer(&mut rig, 107, &[5, 6, 7]);
    assert_eq!(rig.drain(ms(108)), [6, 7], "{name}: 4 and 5 were lost to the overflow");
    offer(&mut rig, 200, &[10, 11, 12]);
    assert_eq!(rig.take_id(ms(206)), Some(10));
    offer(&mut rig, 206, &[13]);
    assert_eq!(rig.take_id(ms(307)), Some(12), "{name}: a second episode begins with 11");
    offer(&mut rig, 307, &[14, 15]);
    assert_eq!(rig.take_id(ms(340)), Some(13));
    offer(&mut rig, 340, &[16]);
    rig.ledger.dropped.clear();
    rig.take(ms(358));
    rig.ledger.drops()
}

#[test]
fn c30_linux_counts_packets_lost_to_an_overflow_as_signals() {
    // The second episode resumes at a count of two, so its first gap is half an interval.
    assert_eq!(second_episode_after_overflow("fq_codel"), [14]);
    assert_eq!(second_episode_after_overflow("fq_codel_rfc"), []);
}

fn bucket(salt: u64, tuple_hash: u32) -> usize {
    let settings = Settings { flows: 1_024, quantum: Bytes(1_514), salt, rules: Rules::Linux };
    let mut flows = Flows::new(settings, || ());
    let mut packet = of(0, 1, 100);
    packet.tuple_hash = tuple_hash;
    flows.classify(&packet, &mut Rng::stream(3, "unused"))
}

#[test]
fn c31_a_tuple_has_one_queue_and_the_salt_decides_which() {
    let hashes: Vec<_> = (0..2_000).map(|n| FiveTuple::nth(n).hash()).collect();
    let map = |salt| -> Vec<_> { hashes.iter().map(|&hash| bucket(salt, hash)).collect() };
    assert_eq!(map(1), map(1));
    let same = map(1).iter().zip(map(2)).filter(|(one, two)| **one == *two).count();
    assert!(same < 20, "{same} of 2000 tuples have the same queue under another salt");
    // 2000 tuples in 1024 queues: the distribution is as even as a random distribution, which
    // leaves a proportion of e^-1.95 of the queues empty.
    let mut used = map(1);
    used.sort_unstable();
    used.dedup();
    assert!((850..910).contains(&used.len()), "{} queues in use", used.len());
}

#[test]
fn c31_protocols_without_ports_are_told_apart_by_addresses() {
    let icmp =
        FiveTuple { protocol: 1, source: 1, destination: 2, source_port: 0, destination_port: 0 };
    assert_eq!(bucket(1, icmp.hash()), bucket(1, icmp.hash()));
    let others: Vec<_> =
        (3..30).map(|destination| bucket(1, FiveTuple { destination, ..icmp }.hash())).collect();
    assert!(others.iter().any(|other| *other != others[0]));
}

#[test]
fn c31_a_salt_of_zero_is_drawn_from_the_seed() {
    let order = |seed| {
        let mut rig = Rig::new("fq_codel", &[("flows", Value::Count(4))]);
        rig.rng = Rng::stream(seed, "salt");
        for id in 0..32 {
            rig.offer(ms(0), of((id % 8) as u32, id, 1_000));
        }
        rig.drain(ms(1))
    };
    assert_eq!(order(1), order(1));
    assert!((2..20).any(|seed| order(seed) != order(1)), "the seed decides who collides");
}

#[test]
fn c32_credit_of_exactly_zero_is_spent_in_linux_and_not_elsewhere() {
    for (rules, second) in [(Rules::Linux, 2), (Rules::Rfc8290, 1), (Rules::FreeBsd, 1)] {
        let mut flows = flows(rules, 1_000);
        for id in 0..3 {
            flows.push(1, of(0, id, 1_000), Instant::ZERO);
            flows.push(2, of(1, 10 + id, 1_000), Instant::ZERO);
        }
        assert_eq!(serve(&mut flows).0, 1);
        assert_eq!(serve(&mut flows).0, second, "{rules:?}");
    }
}

#[test]
fn c33_the_count_of_a_flow_survives_its_idleness() {
    // Ten signals, then 300 ms without packets, in which the flow leaves every list, and then
    // congestion again.
    for name in KINDS {
        let mut rig = rig(name, 10_000, 1_514);
        (0..900).for_each(|id| rig.offer(ms(0), of(0, id, 1_000)));
        let mut now = 6;
        while rig.ledger.dropped.len() < 10 {
            rig.take(ms(now));
            now += 1;
        }
        rig.drain(ms(now));
        assert_eq!(rig.qdisc.gauges(), [("new_flows", 0.0), ("old_flows", 0.0)], "{name}");
        let first = rig.ledger.times.len();
        (0..900).for_each(|id| rig.offer(ms(now + 300), of(0, id, 1_000)));
        now += 306;
        while rig.ledger.times.len() < first + 2 {
            rig.take(ms(now));
            now += 1;
        }
        let gap = rig.ledger.times[first + 1].since(rig.ledger.times[first]).as_millis();
        // A new episode would wait 100 ms.
        assert!((28..60).contains(&gap), "{name}: {gap} ms");
    }
}

/// Tests statement C-136.
#[test]
fn a_selector_limits_ce_threshold_to_one_codepoint() {
    for (selector, marked) in
        [("0x00/0x00", vec![1, 2, 3]), ("0x01/0x03", vec![1]), ("0x02/0x03", vec![2])]
    {
        let changes =
            [("ce_threshold", span_ms(1)), ("ce_threshold_selector", Value::Word(selector, &[]))];
        let mut rig = Rig::new("fq_codel", &changes);
        for (id, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]) {
            let mut one = packet(id, 1_000);
            one.ecn = ecn;
            rig.offer(ms(0), one);
        }
        assert_eq!(rig.drain(ms(2)), [0, 1, 2, 3]);
        assert_eq!(rig.ledger.marks(), marked, "{selector}");
    }
}
