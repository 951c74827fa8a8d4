//! Conformance statements C-145, C-148, C-149, C-151, C-156, C-160 and C-181 of CAKE's parts.

use aqmlab_core::{Duration, Instant, PacketFields, Rng};

use super::cake::law;
use super::diffserv::{Mode, Share};
use super::heap::{Heap, QueueId};
use super::length::{Charge, Framing};
use super::rate::Rate;
use super::sets::{Hosts, Tags, Way};
use super::settings::{Isolation, LINK_WORDS, times};
use super::shaper::Fate::{Delivered, Dropped};
use super::shaper::{Clock, Shaper};
use super::tin::Hashes;
use super::tin::Tin;
use crate::aqm::cobalt::Params;

/// The tin of each DSCP with `diffserv3`, from the table in the kernel's source.
const THREE: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, //
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, //
    2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, //
];
/// The tin of each DSCP with `diffserv4`, from the table in the kernel's source.
const FOUR: [u8; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, //
    2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, //
    3, 0, 2, 0, 2, 0, 2, 0, 3, 0, 0, 0, 3, 0, 3, 0, //
    3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, //
];

#[test]
fn c145_codepoints_have_the_kernels_tins() {
    for dscp in 0..64_u8 {
        assert_eq!(Mode::Diffserv3.tin(dscp), THREE[usize::from(dscp)].into(), "{dscp}");
        assert_eq!(Mode::Diffserv4.tin(dscp), FOUR[usize::from(dscp)].into(), "{dscp}");
        assert_eq!(Mode::Precedence.tin(dscp), usize::from(dscp / 8));
        assert_eq!(Mode::BestEffort.tin(dscp), 0);
    }
    // Diffserv8: LE, AF1x, best effort, AF4x, 4, CS2, EF and CS7.
    let eight = [(1, 0), (10, 1), (0, 2), (34, 3), (4, 4), (16, 5), (46, 6), (56, 7)];
    for (dscp, tin) in eight {
        assert_eq!(Mode::Diffserv8.tin(dscp), tin);
    }
}

fn params(bps: u64, network: &str) -> Params {
    let (target, interval) = times(network, None);
    law(Rate::new(bps / 8), 1_514, target, interval)
}

#[test]
fn c148_times_follow_the_rate() {
    let ns = Duration::from_nanos;
    for (bps, mtu_time, target, interval) in [
        (1_000_000, 12_112_000, 18_168_000, 113_168_000),
        (3_600_000, 3_364_444, 5_046_666, 100_046_666),
        (10_000_000, 1_211_200, 5_000_000, 100_000_000),
        (20_000_000, 605_600, 5_000_000, 100_000_000),
        (50_000_000, 242_240, 5_000_000, 100_000_000),
        (1_250_000, 9_689_600, 14_534_400, 109_534_400),
        (5_000_000, 2_422_400, 5_000_000, 100_000_000),
    ] {
        let want = Params { mtu_time: ns(mtu_time), target: ns(target), interval: ns(interval) };
        assert_eq!(params(bps, "internet"), want, "{bps} bit/s");
    }
    let lan = params(1_000_000_000, "lan");
    assert_eq!((lan.target, lan.interval), (ns(50_000), ns(1_000_000)));
}

#[test]
fn c148_tins_have_the_kernels_thresholds_and_weights() {
    let of = |mode: Mode, rate| -> Vec<_> {
        mode.shares(rate).into_iter().map(|Share { rate, quantum }| (rate, quantum)).collect()
    };
    assert_eq!(of(Mode::BestEffort, 1_000), [(1_000, 65_535)]);
    assert_eq!(of(Mode::Diffserv3, 1_600), [(1_600, 1_024), (100, 64), (400, 256)]);
    assert_eq!(of(Mode::Diffserv4, 1_600), [(1_600, 1_024), (100, 64), (800, 512), (400, 256)]);
    let eight = of(Mode::Diffserv8, 1_000);
    assert_eq!(&eight[..4], [(1_000, 256), (875, 224), (765, 196), (669, 171)]);
    assert_eq!(eight.len(), 8);
}

#[test]
fn c149_the_charged_length_has_overhead_mpu_and_framing() {
    let charged = |link: &str, ip_len: u32| {
        let packet = PacketFields { len: ip_len + 14, ..PacketFields::plain(0, 0, ip_len) };
        let charge = Charge::of_link(link, 0, "link", 0);
        charge.of(charge.network_len(&packet))
    };
    for (link, ip_len, want) in [
        ("pppoa-vcmux", 1_500, 1_696),
        ("pppoa-vcmux", 40, 106),
        ("pppoe-llcsnap", 1_500, 1_749),
        ("pppoe-ptm", 1_492, 1_546),
        ("docsis", 40, 64),
        ("ethernet", 40, 84),
        ("raw", 1_500, 1_514),
        ("ip", 1_500, 1_500),
    ] {
        assert_eq!(charged(link, ip_len), want, "{link} {ip_len}");
    }
}

#[test]
fn c149_keywords_add_and_a_framing_replaces() {
    let of = |link: &str, extra, framing, mpu| Charge::of_link(link, extra, framing, mpu);
    assert_eq!(of("docsis", 4, "link", 0).overhead, Some(22));
    assert_eq!(of("raw", 4, "link", 0).overhead, Some(4));
    assert_eq!(of("conservative", 0, "ptm", 0).framing, Framing::Ptm);
    assert_eq!(of("pppoe-ptm", 0, "noatm", 0).framing, Framing::None);
    assert_eq!(of("docsis", 0, "link", 70).mpu, 70);
    for word in LINK_WORDS {
        let charge = of(word, 0, "link", 0);
        assert_eq!(charge.overhead.is_none(), *word == "raw");
        let atm = ["conservative", "vcmux", "llc", "llcsnap"].iter().any(|end| word.ends_with(end));
        assert_eq!(charge.framing == Framing::Atm, atm, "{word}");
    }
}

const NOW: Instant = Instant::from_millis(1_000);

#[test]
fn c151_a_drop_moves_one_clock_and_a_delivery_the_other_by_half_more() {
    let rate = Rate::new(1_000_000);
    let mut shaper = Shaper::default();
    shaper.rate = rate;
    shaper.wake(NOW);
    for fate in [Delivered, Dropped, Delivered, Dropped, Delivered, Dropped] {
        shaper.charge(1_000, fate);
    }
    // Six packets of 1 ms, and three of 1.5 ms.
    assert_eq!(shaper.ready_at(), NOW + Duration::from_micros(4_500));
    shaper.charge(1_000, Delivered);
    assert_eq!(shaper.ready_at(), NOW + Duration::from_micros(6_000));
    shaper.charge(1_000, Delivered);
    assert_eq!(shaper.ready_at(), NOW + Duration::from_micros(7_500));
    shaper.charge(1_000, Delivered);
    assert_eq!(shaper.ready_at(), NOW + Duration::from_micros(9_000));
}

#[test]
fn c156_a_tin_is_ahead_of_its_schedule_by_one_packet_at_most() {
    let mut clock = Clock { rate: Rate::new(1_000_000), ..Clock::default() };
    clock.wake(NOW);
    for n in 0..20 {
        let now = NOW + Duration::from_micros(100 * n);
        clock.charge(1_000, now);
        assert!(clock.next <= now + Duration::from_millis(1));
    }
    // A tin that is far behind its schedule catches up packet by packet.
    let late = NOW + Duration::from_millis(50);
    let before = clock.next;
    clock.charge(1_000, late);
    assert_eq!(clock.next, before + Duration::from_millis(1));
}

#[test]
fn c160_the_quantum_of_a_hosts_flow_is_exact_in_the_mean() {
    let mut tin = Tin::new(Isolation::of("dual-srchost"));
    tin.flow_quantum = 1_514;
    let mut rng = Rng::stream(1, "dither");
    // Three bulk flows of one host.
    for flow in 0..3 {
        let slot = tin.classify(Hashes { flow, hosts: [7, flow] });
        tin.joined(slot, &mut rng);
        tin.become_bulk(slot);
    }
    let draws: Vec<_> = (0..100_000).map(|_| tin.quantum_of(1, &mut rng)).collect();
    assert!(draws.iter().all(|quantum| [504, 505].contains(quantum)));
    let mean = draws.iter().sum::<i64>() as f64 / 1e5;
    assert!((mean - 504.66).abs() < 0.02, "{mean}");
}

#[test]
fn c181_a_flow_that_returns_to_its_own_idle_slot_is_counted_nowhere() {
    let mut tin = Tin::new(Isolation::of("flows"));
    let hashes = Hashes { flow: 5, hosts: [1, 2] };
    let mut rng = Rng::stream(1, "rig");
    let slot = tin.classify(hashes);
    assert_eq!(tin.counters.way_misses, 1);
    tin.joined(slot, &mut rng);
    tin.classify(hashes);
    assert_eq!(tin.counters.way_directs, 1);
    tin.emptied(slot, NOW);
    tin.classify(hashes);
    let counters = &tin.counters;
    let known = counters.way_directs + counters.way_hits + counters.way_misses;
    assert_eq!((known, counters.way_collisions), (2, 0));
}

#[test]
fn a_host_takes_the_slot_of_one_without_bulk_flows() {
    let mut hosts = Hosts::default();
    let slots: Vec<_> = (1..=8)
        .map(|n| {
            let slot = hosts.find(5 + 1_024 * n);
            hosts.add(slot);
            slot
        })
        .collect();
    assert_eq!(slots, [5, 6, 7, 0, 1, 2, 3, 4]);
    hosts.remove(2);
    assert_eq!(hosts.find(5 + 1_024 * 9), 2);
    hosts.add(2);
    assert_eq!(hosts.find(5 + 1_024 * 10), 5, "its own, if none is free");
}

#[test]
fn tags_are_searched_from_the_own_slot_on() {
    let mut tags = Tags::default();
    let used = |_| true;
    assert_eq!(tags.find(9, |_| false), (9, Way::Free));
    assert_eq!(tags.find(9, used), (9, Way::Direct));
    assert_eq!(tags.find(9, |_| false), (9, Way::Tagged(false)));
    assert_eq!(tags.find(9 + 1_024, |slot| slot == 9), (10, Way::Free));
    assert_eq!(tags.find(9 + 1_024, used), (10, Way::Tagged(true)));
    assert_eq!(tags.find(9 + 2_048, used), (9, Way::Collision));
}

/// Tests that a flow whose tag was overwritten gets another slot, as in the kernel. The packets
/// that wait in slot 9 may therefore leave after later packets.
#[test]
fn a_flow_whose_tag_was_taken_over_gets_another_slot() {
    let mut tags = Tags::default();
    assert_eq!(tags.find(9, |_| false), (9, Way::Free));
    assert_eq!(tags.find(9 + 1_024, |_| true), (9, Way::Collision));
    assert_eq!(tags.find(9, |slot| slot != 12), (12, Way::Free));
}

/// Tests that the heap sifts down by one level only, as in `cake_heapify`. If the queue at the root
/// shrinks, the root may therefore no longer be the longest queue.
#[test]
fn the_heap_sifts_down_by_one_level_only() {
    let mut heap = Heap::default();
    let mut backlogs = vec![0_u32; 8_192];
    // The backlogs at these places of the heap; place 0 is the root. The other queues are empty.
    for (place, backlog) in [(0, 100), (1, 90), (2, 10), (3, 80), (4, 5), (7, 70)] {
        backlogs[place] = backlog;
    }
    let number = |queue: QueueId| queue.slot * 8 + queue.tin;
    let longest = heap.longest(|queue| backlogs[number(queue)]);
    assert_eq!(number(longest), 0);
    backlogs[0] = 1;
    heap.root_shrank(|queue| backlogs[number(queue)]);
    assert_eq!(number(heap.longest(|queue| backlogs[number(queue)])), 1);
    backlogs[1] = 2;
    heap.root_shrank(|queue| backlogs[number(queue)]);
    // In the heap, the queue of 80 bytes is below a queue of a single byte.
    assert_eq!(number(heap.longest(|queue| backlogs[number(queue)])), 2);
}
