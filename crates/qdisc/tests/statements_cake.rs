//! Conformance statements among C-142 to C-156, C-170, C-171 and C-177 to C-181, on CAKE's hash,
//! tins, shaper and memory. `src/cake/tests.rs` checks further statements on CAKE's parts.

mod rig;

use aqmlab_core::{Duration, Ecn, Packet, PacketFields};
use rig::Rig;
use rig::cake::{
    START, bytes, cake, coded, departures, flag, hashed, mbit, rtt_ms, statistic, word,
};

/// The transmission time of a frame of 1514 bytes at 10 Mbit/s.
const FRAME: Duration = Duration::from_nanos(1_211_200);

/// Returns `cake` with one tin, to which one packet with each of these hashes was offered.
fn flows(hashes: impl IntoIterator<Item = u32>) -> Rig {
    let mut rig = cake(&[word("diffserv", "besteffort")]);
    for (id, hash) in hashes.into_iter().enumerate() {
        rig.offer(START, hashed(id as u64, hash));
    }
    rig
}

fn ways(rig: &Rig) -> [u64; 3] {
    ["tin0_way_indirect_hits", "tin0_way_misses", "tin0_way_collisions"]
        .map(|name| statistic(rig, name))
}

#[test]
fn c142_nine_flows_of_one_slot_need_one_queue_more_than_a_set_has() {
    let mut rig = flows((0..9).map(|n| 5 + 1_024 * n));
    assert_eq!(ways(&rig), [0, 8, 1]);
    for (turn, hash) in [5, 5 + 1_024 * 8].into_iter().cycle().take(6).enumerate() {
        rig.offer(START, hashed(100 + turn as u64, hash));
        assert_eq!(ways(&rig), [0, 8, 2 + turn as u64], "both flows claim one slot in turn");
    }
}

#[test]
fn c143_a_second_flow_of_a_slot_uses_another_way() {
    let mut rig = flows([5, 5 + 1_024]);
    assert_eq!(ways(&rig), [0, 2, 0]);
    for n in 1..=4 {
        rig.offer(START, hashed(10 + n, 5 + 1_024));
        assert_eq!(ways(&rig), [n, 2, 0]);
    }
}

#[test]
fn c144_a_decaying_queue_keeps_its_slot() {
    let mut rig = cake(&[word("diffserv", "besteffort"), rtt_ms(100)]);
    let mut signalled = hashed(0, 5);
    signalled.ecn = Ecn::Ect0;
    for id in 0..4 {
        rig.offer(START, Packet::from(PacketFields { id, ..(*signalled).clone() }));
    }
    // The packets wait too long, so the count is above zero when the queue becomes empty.
    for step in 0..4 {
        rig.take(START + Duration::from_millis(500 + step));
    }
    assert_eq!(statistic(&rig, "tin0_ecn_mark"), 1);
    // The dequeues after the arrivals of other flows find the queue empty. Its state then decays.
    let later = START + Duration::from_millis(510);
    for n in 1..8 {
        (0..3).for_each(|id| rig.offer(later, hashed(10 + id, 5 + 1_024 * n)));
    }
    (0..17).for_each(|_| drop(rig.take(later)));
    assert_eq!(statistic(&rig, "tin0_way_misses"), 8);
    let flows = ["tin0_sparse_flows", "tin0_bulk_flows"].map(|name| statistic(&rig, name));
    assert_eq!(flows, [1, 7], "tc counts the decaying flow with the sparse ones");
    rig.offer(later, hashed(30, 5 + 1_024 * 8));
    assert_eq!(statistic(&rig, "tin0_way_collisions"), 1, "no slot of the set is free");
}

#[test]
fn c146_wash_clears_the_codepoint_after_the_choice_of_a_tin() {
    let mut rig = cake(&[flag("wash"), mbit(10)]);
    rig.offer(START, coded(0, 0));
    let mut voice = coded(1, 46);
    voice.ecn = Ecn::Ect0;
    rig.offer(START, voice);
    let first = rig.take(START).expect("a packet");
    assert_eq!((first.id, first.dscp, first.ecn), (1, 0, Ecn::Ect0), "voice goes first");
}

#[test]
fn c147_besteffort_ignores_the_codepoint() {
    let mut rig = cake(&[word("diffserv", "besteffort")]);
    for (id, dscp) in [0, 8, 46, 56].into_iter().enumerate() {
        rig.offer(START, coded(id as u64, dscp));
    }
    assert_eq!(rig.drain(START), [0, 1, 2, 3]);
}

/// Tests statement C-60.
#[test]
fn c150_departures_follow_the_rate_without_drift_and_a_pause_earns_nothing() {
    let mut rig = cake(&[mbit(10)]);
    (0..100).for_each(|id| rig.offer(START, hashed(id, 5)));
    let left = departures(&mut rig, START, 100);
    for (n, (_, at)) in left.iter().enumerate() {
        assert_eq!(*at, START + FRAME * n as u64);
    }
    let later = left[99].1 + Duration::from_secs(1);
    (0..3).for_each(|id| rig.offer(later, hashed(id, 5)));
    assert!(rig.take(later).is_some());
    assert!(rig.take(later).is_none());
    assert_eq!(rig.qdisc.ready_at(), later + FRAME);
}

/// Tests statement C-151, as do the tests of the shaper in `src/cake/tests.rs`.
#[test]
fn c151_ingress_mode_delivers_two_thirds_of_the_rate_however_much_is_dropped() {
    let mut rig = cake(&[mbit(10), rtt_ms(1), flag("ingress")]);
    let mut delivered = 0;
    let (mut now, end) = (START, START + Duration::from_secs(4));
    let mut arrivals = 0;
    while now < end {
        // Arrivals at 40 Mbit/s of a flow that does not respond.
        rig.offer(now, hashed(arrivals, 5));
        arrivals += 1;
        delivered += u64::from(rig.take(now).is_some());
        now += Duration::from_nanos(302_800);
    }
    let at_full_rate = 4_000_000_000 / FRAME.as_nanos();
    assert!(delivered * 3 >= at_full_rate * 2 - 6, "{delivered} of {at_full_rate}");
    assert!(delivered < at_full_rate, "drops are charged");
    assert!(statistic(&rig, "best_effort_drops") > 1_000);
}

#[test]
fn c152_in_egress_mode_a_drop_costs_nothing() {
    let mut rig = cake(&[mbit(10), rtt_ms(20)]);
    (0..400).for_each(|id| rig.offer(START, hashed(id, 5)));
    let left = departures(&mut rig, START, 400);
    assert!(rig.ledger.dropped.len() > 5);
    for (n, (_, at)) in left.iter().enumerate() {
        assert_eq!(*at, START + FRAME * n as u64, "drops delay nothing");
    }
}

/// Returns the number of packets of each tin among the first `count` departures, while the tins are
/// backlogged.
fn tin_shares(rig: &mut Rig, dscps: &[u8], count: usize) -> Vec<u64> {
    for id in 0..count as u64 {
        for &dscp in dscps {
            rig.offer(START, coded(id, dscp));
        }
    }
    let left = departures(rig, START, count);
    let of = |dscp| left.iter().filter(|(packet, _)| packet.dscp == dscp).count() as u64;
    dscps.iter().map(|&dscp| of(dscp)).collect()
}

#[test]
fn c153_backlogged_tins_share_a_shaped_rate_by_their_thresholds() {
    let near = |got: &[u64], want: &[u64]| {
        assert!(got.iter().zip(want).all(|(got, want)| got.abs_diff(*want) <= 1), "{got:?}");
    };
    // Best effort, bulk and voice.
    let three = tin_shares(&mut cake(&[mbit(10)]), &[0, 8, 46], 1_600);
    near(&three, &[1_100, 100, 400]);
    let four = word("diffserv", "diffserv4");
    let four = tin_shares(&mut cake(&[mbit(10), four]), &[0, 8, 34, 46], 1_600);
    near(&four, &[300, 100, 800, 400]);
}

#[test]
fn c154_voice_alone_has_the_whole_rate_and_with_others_its_quarter() {
    let alone = tin_shares(&mut cake(&[mbit(10)]), &[46], 400);
    assert_eq!(alone, [400]);
    let both = tin_shares(&mut cake(&[mbit(10)]), &[0, 46], 400);
    assert!(both[1] >= 99, "{both:?}");
}

#[test]
fn c155_without_a_rate_tins_share_by_their_weights() {
    let four = word("diffserv", "diffserv4");
    let got = tin_shares(&mut cake(&[four]), &[0, 8, 34, 46], 1_856);
    for (got, want) in got.iter().zip([1_024_u64, 64, 512, 256]) {
        assert!(got.abs_diff(want) <= 3, "{got} is not {want}");
    }
}

#[test]
fn c177_an_arrival_does_not_lift_the_shapers_debt() {
    let mut rig = cake(&[mbit(10)]);
    rig.offer(START, hashed(0, 5));
    assert!(rig.take(START).is_some());
    rig.offer(START + Duration::from_micros(10), hashed(1, 5));
    assert!(rig.take(START + Duration::from_micros(10)).is_none());
    assert_eq!(rig.qdisc.ready_at(), START + FRAME);
    assert!(rig.take(START + FRAME).is_some());
}

#[test]
fn c171_the_longest_queue_of_any_tin_loses_its_head_beyond_the_memory_limit() {
    let mut rig = cake(&[mbit(50), rtt_ms(100), bytes("memlimit", 0)]);
    assert_eq!(statistic(&rig, "memory_limit"), 4 << 20);
    // A full frame takes 2304 bytes.
    for id in 0..1_700 {
        rig.offer(START, coded(id, 0));
    }
    (2_000..2_120).for_each(|id| rig.offer(START, coded(id, 46)));
    assert_eq!((rig.packets(), rig.ledger.dropped.len()), (1_820, 0));
    rig.offer(START, coded(3_000, 46));
    assert_eq!(rig.ledger.drops(), [0], "the head of the longer queue, in another tin");
    assert_eq!(rig.packets(), 1_820);
}

/// Tests statement C-62.
#[test]
fn c170_the_last_packet_of_a_queue_is_never_dropped() {
    let mut rig = cake(&[word("diffserv", "besteffort"), rtt_ms(100)]);
    for id in 0..20 {
        let at = START + Duration::from_millis(200 * id);
        rig.offer(at, hashed(id, 5));
        // Each packet waits far beyond the target, and a signal is due for most packets.
        assert!(rig.take(at + Duration::from_millis(190)).is_some());
    }
    assert!(rig.ledger.dropped.is_empty());
}

#[test]
fn c171_the_memory_limit_follows_the_rate() {
    for (rate, want) in [(50, 4 << 20), (100, 5_000_000), (1_000, 15_503_360)] {
        let rig = cake(&[mbit(rate), rtt_ms(100), bytes("memlimit", 0)]);
        assert_eq!(statistic(&rig, "memory_limit"), want, "{rate} Mbit/s");
    }
    let given = cake(&[mbit(1_000), bytes("memlimit", 64_000_000)]);
    assert_eq!(statistic(&given, "memory_limit"), 64_000_000);
    assert_eq!(statistic(&cake(&[bytes("memlimit", 0)]), "memory_limit"), 15_503_360);
}

/// Tests that the rate approaches 15/16 of the arrival rate with `autorate-ingress`.
#[test]
fn c179_the_rate_follows_the_arrivals_and_queues_keep_their_packets() {
    let mut rig = cake(&[mbit(1), flag("autorate_ingress")]);
    let (mut now, mut left) = (START, 0);
    for id in 0..20_000_u64 {
        rig.offer(now, hashed(id, 5));
        left += usize::from(rig.take(now).is_some());
        // The mean gap is 1.005 ms, which is 12 Mbit/s with 1514 bytes.
        now += Duration::from_micros(if id % 10 == 0 { 1_500 } else { 950 });
    }
    assert_eq!(left + rig.packets(), 20_000);
    let estimate = statistic(&rig, "capacity_estimate") * 8;
    assert!((11_000_000..13_500_000).contains(&estimate), "{estimate}");
    assert_eq!(statistic(&rig, "best_effort_threshold_rate"), estimate / 8 * 15 / 16);
}

/// The packet that was just sent remains charged at the old rate.
#[test]
fn c251_a_change_of_the_bandwidth_keeps_the_queue_and_the_debt() {
    let mut rig = cake(&[mbit(1)]);
    for id in 0..4 {
        rig.offer(START, hashed(id, 5));
    }
    assert!(rig.take(START).is_some());
    rig.change_rate(8_000_000);
    assert_eq!(rig.packets(), 3);
    // A frame of 1514 bytes takes 12.112 ms at 1 Mbit/s and 1.514 ms at 8 Mbit/s.
    let at = |micros| START + Duration::from_micros(micros);
    assert!(rig.take(at(12_111)).is_none());
    assert!(rig.take(at(12_112)).is_some());
    assert!(rig.take(at(13_625)).is_none());
    assert!(rig.take(at(13_626)).is_some());
    assert_eq!(statistic(&rig, "best_effort_threshold_rate"), 1_000_000);
}
