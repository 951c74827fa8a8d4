//! Conformance statements on `dualpi2` and `dualpi2_rfc`. The arithmetic of the laws is tested
//! beside them, in `aqm/dualpi2`; `dualpi2/main.rs` compares the discipline with Linux's code.

mod rig;

use aqmlab_core::{BitRate, Bytes, Duration, Ecn, Instant, Packet, Reason, Value};
use aqmlab_qdisc::Parent;
use rig::{Rig, ms, packet, us};

const KINDS: [&str; 2] = ["dualpi2", "dualpi2_rfc"];
const FRAME: u32 = 1_514;

fn with_ecn(id: u64, len: u32, ecn: Ecn) -> Packet {
    let mut packet = packet(id, len);
    packet.ecn = ecn;
    packet
}

fn l4s(id: u64, len: u32) -> Packet {
    with_ecn(id, len, Ecn::Ect1)
}

fn ns(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

fn gauge(rig: &Rig, name: &str) -> f64 {
    let gauges = rig.qdisc.gauges();
    gauges.iter().find(|(gauge, _)| *gauge == name).expect("such a gauge").1
}

/// Returns a counter of `tc -s`.
fn counter(rig: &Rig, name: &str) -> i64 {
    gauge(rig, name) as i64
}

/// Returns a discipline with `classic` and `l4s` packets, offered at 1 ms. Packets of the L4S queue
/// are numbered from 1000.
fn filled(name: &str, changes: &[(&str, Value)], classic: (u64, u32), low: (u64, u32)) -> Rig {
    let mut rig = Rig::new(name, changes);
    (0..classic.0).for_each(|id| rig.offer(ms(1), packet(id, classic.1)));
    (0..low.0).for_each(|id| rig.offer(ms(1), l4s(1_000 + id, low.1)));
    rig
}

/// Dequeues up to `packets` packets and returns the queue of each, `L` or `C`. L4S packets are
/// numbered from 1000.
fn served(rig: &mut Rig, at: Instant, packets: usize) -> String {
    let queue = |id| if id >= 1_000 { 'L' } else { 'C' };
    (0..packets).filter_map(|_| rig.take_id(at)).map(queue).collect()
}

/// Returns a discipline with `packets` packets offered at 1 ms, and one packet offered at `until`.
/// All packets are classic.
fn aged(changes: &[(&str, Value)], packets: u64, len: u32, until: Instant) -> Rig {
    let mut rig = Rig::new("dualpi2", changes);
    (0..packets).for_each(|id| rig.offer(ms(1), packet(id, len)));
    rig.offer(until, packet(9_999, 40));
    rig
}

/// Tests statement C-109.
#[test]
fn ect1_and_ce_select_the_l4s_queue() {
    let kinds = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for name in KINDS {
        let mut rig = Rig::new(name, &[]);
        for (id, ecn) in (0..).zip(kinds) {
            rig.offer(ms(1), with_ecn(id, 100, ecn));
        }
        assert_eq!(rig.drain(ms(1)), [2, 3, 0, 1], "{name}: the L4S queue is served first");
    }
}

/// Tests statement C-130.
#[test]
fn any_ect_adds_ect0_to_the_l4s_queue() {
    let any = Value::Word("any_ect", &[]);
    let mut rig = Rig::new("dualpi2", &[("ecn_mask", any)]);
    for (id, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) {
        rig.offer(ms(1), with_ecn(id, 100, ecn));
    }
    assert_eq!((counter(&rig, "pkts_in_c"), counter(&rig, "pkts_in_l")), (1, 3));
    assert_eq!(rig.drain(ms(1)), [1, 2, 3, 0]);
}

/// Tests statement C-117.
#[test]
fn the_step_marks_strictly_above_its_threshold() {
    for (sojourn_ns, marks) in [(1_000_000, 0), (1_000_001, 1)] {
        let mut rig = Rig::new("dualpi2", &[]);
        rig.offer(ms(1), l4s(0, FRAME));
        let taken = rig.take(ns(1_000_000 + sojourn_ns)).expect("it is there");
        assert_eq!(taken.ecn == Ecn::Ce, marks == 1, "{sojourn_ns} ns");
        assert_eq!(counter(&rig, "step_mark"), marks);
        assert_eq!(counter(&rig, "ecn_mark"), marks, "step marks count as marks");
    }
}

#[test]
fn a_step_in_packets_counts_those_left_behind() {
    let mut rig = filled("dualpi2", &[("step_thresh_packets", Value::Count(2))], (0, 0), (5, 100));
    rig.drain(ms(500));
    assert_eq!(rig.ledger.marked, [(1_000, Reason::Threshold), (1_001, Reason::Threshold)]);
}

/// Tests statement C-118.
#[test]
fn min_qlen_step_is_compared_at_arrival_and_the_step_at_departure() {
    let mut rig = filled("dualpi2", &[("min_qlen_step", Value::Count(2))], (0, 0), (4, 100));
    assert_eq!(rig.drain(ms(5)), [1_000, 1_001, 1_002, 1_003]);
    assert_eq!(rig.ledger.marks(), [1_002, 1_003], "two packets were there when they arrived");
}

/// Tests statement C-123.
#[test]
fn less_than_two_frames_left_behind_are_never_signalled_by_pi2() {
    for (left, drops) in [(3_028, 1), (3_027, 0)] {
        let mut rig = aged(&[], 1, FRAME, ms(2_000));
        assert!(gauge(&rig, "probability") >= 1.0);
        rig.offer(ms(2_000), packet(1, left - 40));
        rig.take(ms(2_000));
        assert_eq!(rig.ledger.dropped.len(), drops, "{left} bytes left");
    }
    let mut rig = filled("dualpi2", &[], (0, 0), (1, FRAME));
    assert_eq!(rig.take(ms(3)).map(|packet| packet.ecn), Some(Ecn::Ce), "the step is exempt");
}

/// Tests statement C-124.
#[test]
fn both_queues_share_the_link_by_their_weights() {
    let mut rig = filled("dualpi2", &[], (100, FRAME), (900, FRAME));
    assert_eq!(served(&mut rig, us(1_001), 30), "LLLLLLLLLC".repeat(3));
    let mut half = filled("dualpi2", &[], (400, FRAME / 2), (1_800, FRAME));
    let order = served(&mut half, us(1_001), 1_100);
    let classic = order.matches('C').count();
    assert!((199..=201).contains(&classic), "{classic} is not two in eleven");
}

/// Tests statement C-125.
#[test]
fn a_queue_that_is_served_alone_pays_nothing() {
    for (classic, low) in [((9, FRAME), (0, 0)), ((0, 0), (9, FRAME))] {
        let mut rig = filled("dualpi2", &[], classic, low);
        let before = counter(&rig, "credit");
        assert_eq!(before, -121_120);
        served(&mut rig, us(1_001), 8);
        assert_eq!(counter(&rig, "credit"), before);
    }
}

/// Tests that an empty dequeue restores the credit, as in the kernel. HTB never polls an empty
/// class, so below HTB the credit is not restored.
#[test]
fn an_idle_link_restores_the_credit_and_a_busy_one_does_not() {
    let credit_after = |second_ms, polls_empty: bool, below_htb| {
        let mut rig = filled("dualpi2", &[], (2, FRAME), (2, FRAME));
        let rate = BitRate::new(10_000_000).expect("not zero");
        rig.qdisc.attach(Parent { rate, never_polls_empty: below_htb });
        served(&mut rig, us(1_001), if polls_empty { 5 } else { 4 });
        rig.offer(ms(5), packet(0, FRAME));
        rig.take(ms(second_ms));
        counter(&rig, "credit")
    };
    // While the classic queue waits, each L4S packet adds ten times its bytes to the credit.
    let paid = -121_120 + 2 * 15_140;
    assert_eq!(credit_after(5, true, false), -121_120, "an empty poll");
    assert_eq!(credit_after(5, false, false), -121_120, "the packet found a free link");
    assert_eq!(credit_after(6, false, false), paid, "the packet waited for the link");
    assert_eq!(credit_after(5, false, true), paid, "below HTB");
}

/// Tests statement C-126.
#[test]
fn an_arrival_at_an_empty_l4s_queue_is_next_while_the_credit_is_not_above_zero() {
    let mut rig = filled("dualpi2", &[], (50, FRAME), (0, 0));
    assert_eq!(served(&mut rig, us(1_001), 3), "CCC");
    rig.offer(us(1_002), l4s(1_000, FRAME));
    assert_eq!(served(&mut rig, us(1_002), 2), "LC");
    // Nine L4S packets raise the credit above zero; then it is the turn of the classic queue.
    (0..8).for_each(|id| rig.offer(us(1_003), l4s(1_001 + id, FRAME)));
    assert_eq!(served(&mut rig, us(1_003), 7), "LLLLLLL");
    assert_eq!(counter(&rig, "credit"), 0);
    assert_eq!(served(&mut rig, us(1_003), 1), "L");
    assert!(counter(&rig, "credit") > 0);
    rig.offer(us(1_004), l4s(1_009, FRAME));
    assert_eq!(served(&mut rig, us(1_004), 2), "CL");
}

/// Tests statement C-127.
#[test]
fn both_queues_share_one_limit() {
    for (name, limit) in
        [("dualpi2", Value::Count(20)), ("dualpi2_rfc", Value::Bytes(Bytes(20 * 1_514)))]
    {
        let mut rig = filled(name, &[("limit", limit)], (20, FRAME), (1, 40));
        assert_eq!(rig.ledger.dropped, [(1_000, Reason::Overlimit)], "{name}");
        rig.take(ms(1));
        rig.offer(ms(1), l4s(1_001, 40));
        assert_eq!(rig.ledger.dropped.len(), 1, "{name}");
    }
}

#[test]
fn the_rfc_keeps_room_for_a_full_frame_in_250_ms_of_the_link() {
    let mut rig = Rig::new("dualpi2_rfc", &[]);
    let rate = BitRate::new(1_000_000).expect("not zero");
    rig.qdisc.attach(Parent { rate, never_polls_empty: false });
    (0..40).for_each(|id| rig.offer(ms(1), packet(id, 1_000)));
    // The limit is 31 250 bytes. The 30th packet finds 29 000 bytes, and 1514 fit; the 31st
    // finds 30 000.
    assert_eq!(rig.packets(), 30);
}

/// Tests statement C-128.
#[test]
fn an_old_l4s_head_raises_the_probability() {
    let mut rig = filled("dualpi2", &[], (0, 0), (5, FRAME));
    rig.offer(ms(40), packet(0, 40));
    let low = gauge(&rig, "probability");
    assert!(low > 0.05, "{low}");
    let classic = aged(&[], 5, FRAME, ms(40));
    assert!((gauge(&classic, "probability") - low).abs() < 1e-12, "whichever queue it is");
}

/// Tests statement C-132.
#[test]
fn drop_early_moves_pi2_to_the_arrival_and_leaves_the_step() {
    let early = [("drop_early", Value::Flag(true))];
    let mut rig = aged(&early, 3, FRAME, ms(2_000));
    assert_eq!(rig.ledger.dropped, [(9_999, Reason::Early)], "it arrived in overload");
    rig.offer(ms(2_000), l4s(1_000, FRAME));
    rig.ledger.dropped.clear();
    rig.drain(ms(2_002));
    assert!(rig.ledger.dropped.is_empty(), "nothing is dropped at departure");
    let mut rig = Rig::new("dualpi2", &early);
    rig.offer(ms(1), l4s(0, FRAME));
    assert_eq!(rig.take(ms(3)).map(|packet| packet.ecn), Some(Ecn::Ce));
}

/// Tests statement C-135.
#[test]
fn the_memory_limit_is_twice_the_limit_in_frames_and_counts_buffers() {
    let rig = Rig::new("dualpi2", &[]);
    assert_eq!(counter(&rig, "memory_limit_bytes"), 30_280_000);
    let most = Rig::new("dualpi2", &[("limit", Value::Count(u32::MAX.into()))]);
    assert_eq!(counter(&most, "memory_limit_bytes"), u32::MAX.into());
    // A full frame takes 2304 bytes.
    let three = [("memlimit", Value::Bytes(Bytes(3 * 2_304)))];
    let rig = filled("dualpi2", &three, (5, FRAME), (0, 0));
    assert_eq!((rig.packets(), counter(&rig, "memory_used_bytes")), (3, 6_912));
}

/// Tests statements C-67, C-121 and C-122.
#[test]
fn only_overload_drops_packets_that_could_be_marked() {
    let mut over = aged(&[], 4, FRAME, ms(2_000));
    for id in 0..4 {
        over.offer(ms(2_000), with_ecn(100 + id, FRAME, Ecn::Ect0));
        over.offer(ms(2_000), l4s(1_000 + id, FRAME));
    }
    over.drain(ms(2_000));
    let dropped = over.ledger.drops();
    assert!(dropped.contains(&100) && dropped.contains(&1_000), "{dropped:?}");
    let kept = [("drop_overload", Value::Flag(false))];
    let mut full = aged(&kept, 4, FRAME, ms(2_000));
    assert!((gauge(&full, "probability") - 0.5).abs() < 1e-9, "1/k");
    for id in 0..400 {
        full.offer(ms(2_000), l4s(1_000 + id, FRAME));
        full.offer(ms(2_000), with_ecn(10_000 + id, FRAME, Ecn::Ect0));
    }
    full.drain(ms(2_000));
    assert!(full.ledger.drops().iter().all(|id| *id < 100 || *id == 9_999), "ECT is marked");
}

/// Tests the discipline with packets that have neither ECT(1) nor CE. It is then one queue whose
/// packets are signalled with the square of the probability.
#[test]
fn classic_traffic_alone_meets_pi2() {
    let mut rig = aged(&[], 3_000, 100, ms(60));
    let p = gauge(&rig, "probability");
    let mut order = rig.drain(ms(60));
    assert_eq!(counter(&rig, "pkts_in_l"), 0);
    let loss = rig.ledger.dropped.len() as f64 / 3_001.0;
    assert!((loss / (p * p) - 1.0).abs() < 0.5, "{loss} is not the square of {p}");
    let sent = order.clone();
    order.sort_unstable();
    assert_eq!(order, sent);
}

#[test]
fn a_time_shifted_fifo_serves_l4s_packets_as_if_they_were_older() {
    let shifted = [("scheduler", Value::Word("ts_fifo", &[]))];
    let mut rig = Rig::new("dualpi2_rfc", &shifted);
    rig.offer(ms(1), packet(0, 100));
    rig.offer(ms(50), packet(1, 100));
    rig.offer(ms(51), l4s(1_000, 100));
    rig.offer(ms(52), l4s(1_001, 100));
    // L4S packets count as arrived at 1 ms and 2 ms; a tie goes to the L4S queue.
    assert_eq!(served(&mut rig, ms(52), 4), "LCLC");
}

/// Tests statements C-66, C-115 and C-116.
#[test]
fn the_ramp_of_the_rfc_spares_the_last_two_packets() {
    let mut rig = filled("dualpi2_rfc", &[], (0, 0), (6, FRAME));
    rig.drain(ms(9));
    // Among the packets with a probability of 1, the accumulator signals all but the first.
    assert_eq!(rig.ledger.marks(), [1_001, 1_002, 1_003]);
}

#[test]
fn an_rfc_interval_follows_from_target_and_rtt() {
    // Updates at 10 ms and 20 ms: the head has waited for 9 ms and 19 ms.
    let rtt = Value::Duration(Duration::from_millis(30));
    let mut rig = filled("dualpi2_rfc", &[("max_rtt", rtt)], (1, FRAME), (0, 0));
    rig.offer(ms(25), packet(1, 40));
    let (alpha, beta) = (0.1 * 0.010 / 0.0009, 0.3 / 0.030);
    let first: f64 = alpha * (0.009 - 0.015) + beta * 0.009;
    let second = first + alpha * (0.019 - 0.015) + beta * 0.010;
    assert!((gauge(&rig, "probability") - second).abs() < 1e-9);
}
