//! Conformance statements C-157 to C-159, C-161, C-162 and C-178 of CAKE: fairness between flows
//! and hosts.

mod rig;

use aqmlab_core::{Duration, Packet};
use rig::Rig;
use rig::cake::{START, between, cake, coded, departures, mbit, shares, statistic, word};

/// Returns `cake` with one tin. There is one connection between each pair of hosts in `pairs`, and
/// `depth` packets of each connection wait.
fn backlogged(isolation: &str, pairs: &[[u32; 2]], depth: u64) -> Rig {
    let words = [word("diffserv", "besteffort"), word("isolation", isolation), mbit(100)];
    let mut rig = cake(&words);
    for id in 0..depth {
        for (conn, pair) in pairs.iter().enumerate() {
            rig.offer(START, between(id, conn as u32, *pair, 1_514));
        }
    }
    rig
}

fn share(packets: &[u64], of: std::ops::Range<usize>) -> f64 {
    packets[of].iter().sum::<u64>() as f64 / packets.iter().sum::<u64>() as f64
}

fn assert_near(got: f64, want: f64, by: f64) {
    assert!((got - want).abs() <= by, "{got} is not {want} ± {by}");
}

/// Returns the host pairs of one flow of host 11 and ten flows of host 12, to eleven other hosts.
fn one_and_ten() -> Vec<[u32; 2]> {
    (0..11).map(|n| [if n == 0 { 11 } else { 12 }, 100 + n]).collect()
}

/// Tests statement C-59.
#[test]
fn c157_with_dual_srchost_two_hosts_have_half_each_however_many_flows_they_have() {
    let mut rig = backlogged("dual-srchost", &one_and_ten(), 2_500);
    let got = shares(&mut rig, 4_400, 11);
    assert_near(share(&got, 0..1), 0.5, 0.01);
    (1..11).for_each(|flow| assert_near(share(&got, flow..flow + 1), 0.05, 0.01));
}

#[test]
fn c158_triple_isolation_limits_by_the_busier_end() {
    // A single pair, a source with ten destinations, and a destination with ten sources.
    let mut pairs = vec![[1, 2]];
    pairs.extend((0..10).map(|n| [10, 100 + n]));
    pairs.extend((0..10).map(|n| [200 + n, 20]));
    let mut rig = backlogged("triple-isolate", &pairs, 2_500);
    let got = shares(&mut rig, 6_600, 21);
    for group in [0..1, 1..11, 11..21] {
        assert_near(share(&got, group), 1.0 / 3.0, 0.01);
    }
}

#[test]
fn c159_without_hosts_every_flow_has_the_same_share() {
    let mut rig = backlogged("flows", &one_and_ten(), 500);
    let got = shares(&mut rig, 4_400, 11);
    (0..11).for_each(|flow| assert_near(share(&got, flow..flow + 1), 1.0 / 11.0, 0.005));
}

#[test]
fn hosts_share_one_queue_each_without_flows() {
    for (isolation, queues) in
        [("srchost", 2), ("dsthost", 11), ("hosts", 11), ("flowblind", 0), ("flows", 11)]
    {
        let rig = backlogged(isolation, &one_and_ten(), 1);
        assert_eq!(statistic(&rig, "tin0_way_misses"), queues, "{isolation}");
    }
}

#[test]
fn c161_a_flow_within_its_quantum_is_served_before_bulk_flows() {
    let pairs: Vec<_> = (0..5).map(|n| [1 + n, 100]).collect();
    let mut rig = backlogged("flows", &pairs, 50);
    departures(&mut rig, START, 40);
    assert_eq!(statistic(&rig, "tin0_bulk_flows"), 5);
    let small = |id| between(id, 9, [9, 100], 114);
    let turn = |rig: &mut Rig, id| {
        let now = rig.qdisc.ready_at();
        rig.offer(now, small(1_000 + id));
        rig.offer(now, small(2_000 + id));
        departures(rig, now, 2).iter().map(|(packet, _)| packet.id).collect::<Vec<_>>()
    };
    for id in 0..7 {
        let left = turn(&mut rig, id);
        assert_eq!(left, [1_000 + id, 2_000 + id], "both packets are within the quantum");
    }
    // The flow has used its quantum up, and waits for its turn.
    assert!(turn(&mut rig, 7).iter().all(|&id| id < 1_000));
    assert_eq!(statistic(&rig, "tin0_bulk_flows"), 6);
}

#[test]
fn c162_an_empty_sparse_flow_without_credit_is_bulk_from_its_next_packet() {
    let words = [word("diffserv", "besteffort"), word("isolation", "flows"), mbit(100)];
    let mut rig = cake(&words);
    (0..50).for_each(|id| rig.offer(START, between(id, 0, [1, 100], 500)));
    // The flow is left with a part of its third quantum.
    departures(&mut rig, START, 8);
    let count =
        |rig: &Rig| ["sparse", "bulk"].map(|of| statistic(rig, &format!("tin0_{of}_flows")));
    assert_eq!(count(&rig), [0, 1]);
    // A single frame uses up the whole quantum of another flow, which is then empty.
    rig.offer(rig.qdisc.ready_at(), between(900, 7, [7, 100], 1_514));
    assert_eq!(departures(&mut rig, START, 1)[0].0.id, 900);
    departures(&mut rig, START, 1);
    assert_eq!(count(&rig), [1, 1], "it rotates with the bulk flows and counts as sparse");
    rig.offer(rig.qdisc.ready_at(), between(901, 7, [7, 100], 1_514));
    assert_eq!(count(&rig), [0, 2]);
}

#[test]
fn c178_hosts_are_counted_in_each_tin_by_itself() {
    // Host 1 has ten flows in the bulk tin. Its best-effort flow competes with the flow of host 2.
    let mut rig = cake(&[mbit(100)]);
    for id in 0..600 {
        for conn in 0..10 {
            let mut packet = between(id, conn, [1, 100 + conn], 1_514);
            packet.dscp = 8;
            rig.offer(START, packet);
        }
        rig.offer(START, between(id, 10, [1, 200], 1_514));
        rig.offer(START, between(id, 11, [2, 201], 1_514));
    }
    let got = shares(&mut rig, 800, 12);
    assert!(got[10].abs_diff(got[11]) <= 2, "{got:?}");
}

#[test]
fn a_tins_flows_are_those_of_its_codepoints() {
    let mut rig = cake(&[mbit(10)]);
    for (id, dscp) in [0, 8, 46].into_iter().enumerate() {
        rig.offer(START, coded(id as u64, dscp));
    }
    for tin in ["bulk", "best_effort", "voice"] {
        assert_eq!(statistic(&rig, &format!("{tin}_sent_packets")), 1);
        assert_eq!(statistic(&rig, &format!("{tin}_sparse_flows")), 1);
    }
    let left: Vec<Packet> =
        departures(&mut rig, START, 3).into_iter().map(|(packet, _)| packet).collect();
    assert_eq!(left.iter().map(|packet| packet.dscp).collect::<Vec<_>>(), [46, 8, 0]);
    assert!(rig.qdisc.ready_at() > START + Duration::from_millis(3));
}
