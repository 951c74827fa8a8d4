//! Conformance statements C-07 to C-19: CoDel. The arithmetic of C-19 is tested beside the code, in
//! `aqm/codel/pace.rs`. The oracles test the whole law.

mod rig;

use aqmlab_core::{Bytes, Cx, Duration, Instant, NoLog, Packet, Reason, Rng, Value};
use aqmlab_qdisc::PacketQueue;
use aqmlab_qdisc::aqm::codel::{Codel, Dialect, Selector, Settings, State, Supply};
use rig::{Rig, ect, ms, packet, span_ms, us};

const KINDS: [&str; 3] = ["codel", "codel_rfc", "codel_freebsd"];

fn gauge(rig: &Rig, name: &str) -> f64 {
    let gauges = rig.qdisc.gauges();
    gauges.iter().find(|(gauge, _)| *gauge == name).expect("such a gauge").1
}

fn count(rig: &Rig) -> u64 {
    gauge(rig, "count") as u64
}

/// Returns a discipline with a large limit that holds `packets` packets offered at `at`.
fn full(name: &str, packets: u64, at: Instant) -> Rig {
    let mut rig = Rig::new(name, &[("limit", Value::Count(100_000))]);
    refill(&mut rig, packets, at);
    rig
}

fn refill(rig: &mut Rig, packets: u64, at: Instant) {
    for id in 0..packets {
        rig.offer(at, packet(id, 1_000));
    }
}

/// Dequeues a packet every millisecond until `how_many` signals were sent. Returns the times of the
/// signals and of the last dequeue, in milliseconds.
fn signals(rig: &mut Rig, from: u64, how_many: usize) -> (Vec<u64>, u64) {
    let mut now = from;
    while rig.ledger.times.len() < how_many {
        assert!(rig.take(ms(now)).is_some(), "the queue ran dry at {now} ms");
        now += 1;
    }
    (rig.ledger.times.iter().map(|at| at.as_nanos() / 1_000_000).collect(), now - 1)
}

#[test]
fn c07_a_sojourn_below_target_is_never_signalled() {
    for name in ["codel", "codel_rfc"] {
        let mut rig = Rig::new(name, &[("mtu", Value::Bytes(Bytes(0)))]);
        for at in 0..1_000 {
            // A tick of Linux's CoDel clock is 1.024 µs. 5 ms are 4882 ticks, and 4.998 ms are
            // fewer.
            rig.offer(us(1_000 * at), packet(at, 1_500));
            if at >= 5 {
                assert_eq!(rig.take_id(us(1_000 * at - 2)), Some(at - 5), "{name}");
            }
        }
        assert!(rig.ledger.dropped.is_empty(), "{name}");
    }
}

#[test]
fn c07_the_first_signal_comes_a_whole_interval_after_target_was_first_exceeded() {
    // Linux signals strictly after the end of the interval, by its clock; the other kinds signal
    // exactly at the end.
    for (name, want) in [("codel_rfc", 106), ("codel_freebsd", 106), ("codel", 107)] {
        let mut rig = full(name, 400, ms(0));
        let (times, _) = signals(&mut rig, 6, 1);
        assert_eq!(times, [want], "{name}");
    }
}

#[test]
fn c08_a_backlog_of_one_mtu_is_never_bad() {
    for (name, left, drops) in [("codel", 1_514, 0), ("codel", 1_515, 1), ("codel_rfc", 1_514, 0)] {
        let mut rig = Rig::new(name, &[]);
        rig.offer(ms(0), packet(1, 1_000));
        rig.offer(ms(0), packet(2, 1_000));
        rig.offer(ms(0), packet(3, left));
        rig.offer(ms(0), packet(4, 100));
        rig.take(ms(1_000));
        rig.offer(ms(1_000), packet(5, 0));
        // The backlog behind packet 2 is `left + 100` bytes; the backlog behind packet 3 is 100
        // bytes.
        let first = rig.take_id(ms(2_000));
        assert_eq!(first, Some(3), "{name}: 2 is dropped while 1614 bytes wait");
        assert_eq!(rig.ledger.drops(), [2]);

        let mut rig = Rig::new(name, &[]);
        rig.offer(ms(0), packet(1, 1_000));
        rig.offer(ms(0), packet(2, 1_000));
        rig.offer(ms(0), packet(3, left));
        rig.take(ms(1_000));
        rig.take(ms(2_000));
        assert_eq!(rig.ledger.dropped.len(), drops, "{name}: {left} bytes wait behind 2");
    }
}

#[test]
fn c09_one_good_packet_starts_the_interval_over() {
    for name in KINDS {
        let mut rig = full(name, 5, ms(0));
        rig.take(ms(6));
        for at in [60, 61] {
            rig.offer(ms(at), packet(10 + at, 1_500));
            rig.offer(ms(at), packet(20 + at, 1_500));
        }
        assert_eq!((0..4).filter_map(|_| rig.take(ms(62))).count(), 4);
        // The four old packets are gone. Packet 70 waited for 2 ms, which is below target.
        assert_eq!(rig.take_id(ms(62)), Some(70), "{name}");
        for id in 100..110 {
            rig.offer(ms(62), packet(id, 1_000));
        }
        // The interval that began at 6 ms would have ended; the new interval begins at 120 ms.
        for at in [120, 150, 219] {
            assert!(rig.take(ms(at)).is_some());
        }
        assert!(rig.ledger.dropped.is_empty(), "{name}");
        rig.take(ms(222));
        assert_eq!(rig.ledger.dropped.len(), 1, "{name}");
    }
}

#[test]
fn c10_signals_quicken_by_the_root_of_their_count_and_do_not_drift() {
    // Each signal is sent by the first dequeue, at a whole millisecond, at or after its time.
    let times = |name| signals(&mut full(name, 2_000, ms(0)), 6, 6).0;
    // The expected times are the entry plus 0, 100, 170.7, 228.4, 278.4 and 323.1 ms.
    assert_eq!(times("codel_rfc"), [106, 206, 277, 335, 385, 430]);
    // After one Newton step each from 0.7, FreeBSD's roots are 0.707, 0.530, 0.497 and 0.439.
    assert_eq!(times("codel_freebsd"), [106, 206, 277, 330, 380, 424]);
    // Linux's roots are 1, 1/2, 0.5625, 0.4878 and 0.4413: see `pace.rs`.
    assert_eq!(times("codel"), [107, 207, 257, 314, 363, 407]);
}

/// Runs an episode of six signals, waits for `pause` and runs another episode. Returns the count at
/// which the second episode begins.
fn second_episode(name: &str, pause: u64) -> u64 {
    let mut rig = full(name, 2_000, ms(0));
    let (_, now) = signals(&mut rig, 6, 6);
    assert_eq!(count(&rig), 6, "{name}");
    while rig.take(ms(now)).is_some() {}
    let again = now + pause;
    refill(&mut rig, 500, ms(again));
    rig.ledger.times.clear();
    signals(&mut rig, again + 6, 1);
    count(&rig)
}

#[test]
fn c11_congestion_that_returns_soon_resumes_at_the_pace_that_cured_it() {
    for name in ["codel", "codel_rfc"] {
        assert_eq!(second_episode(name, 100), 5, "{name}: six less the one it began with");
        assert_eq!(second_episode(name, 1_400), 5, "{name}: within 16 intervals");
        assert_eq!(second_episode(name, 1_700), 1, "{name}: later than 16 intervals");
    }
}

#[test]
fn c12_freebsd_resumes_two_below_within_eight_intervals() {
    assert_eq!(second_episode("codel_freebsd", 600), 4);
    assert_eq!(second_episode("codel_freebsd", 900), 1);
}

#[test]
fn c13_a_mark_is_the_one_signal_of_a_dequeue_and_its_packet_is_delivered() {
    for name in KINDS {
        let mut rig = Rig::new(name, &[("ecn", Value::Flag(true))]);
        (0..30).for_each(|id| rig.offer(ms(0), ect(id, 1_000)));
        rig.take(ms(6));
        assert_eq!(rig.take_id(ms(107)), Some(1), "{name}: marked on entry");
        // At this time, many signals are overdue.
        for id in 2..5 {
            assert_eq!(rig.take_id(ms(900)), Some(id), "{name}");
        }
        assert_eq!(rig.ledger.marks(), [1, 2, 3, 4], "{name}");
        assert!(rig.ledger.dropped.is_empty(), "{name}");
        assert_eq!(count(&rig), 4, "{name}");
    }
}

#[test]
fn c14_what_cannot_be_marked_is_dropped_in_the_same_place() {
    for name in KINDS {
        let mut marks = Rig::new(name, &[("ecn", Value::Flag(true))]);
        let mut drops = Rig::new(name, &[("ecn", Value::Flag(true))]);
        for id in 0..30 {
            marks.offer(ms(0), ect(id, 1_000));
            drops.offer(ms(0), packet(id, 1_000));
        }
        for rig in [&mut marks, &mut drops] {
            rig.take(ms(6));
            rig.take(ms(107));
        }
        assert_eq!(marks.ledger.marked, [(1, Reason::Sojourn)], "{name}");
        assert_eq!(drops.ledger.dropped, [(1, Reason::Sojourn)], "{name}");
        assert_eq!(marks.ledger.times, drops.ledger.times, "{name}");
    }
}

#[test]
fn c15_ce_threshold_marks_whatever_leaves_late_and_can_carry_it() {
    // The test runs without `ecn` and below target. 1 ms is 976 ticks of 1.024 µs.
    let mut rig = Rig::new("codel", &[("ce_threshold", span_ms(1))]);
    for id in 0..6 {
        let one = if id == 3 { packet(id, 1_000) } else { ect(id, 1_000) };
        rig.offer(ms(0), one);
    }
    for at in [998, 999, 1_002, 1_002, 4_000, 4_000] {
        rig.take(us(at));
    }
    let late = [2, 4, 5].map(|id| (id, Reason::Threshold));
    assert_eq!(rig.ledger.marked, late);
    assert!(rig.ledger.dropped.is_empty());
}

#[test]
fn c16_a_full_buffer_leaves_the_law_alone() {
    for name in KINDS {
        let mut rig = Rig::new(name, &[("limit", Value::Count(400))]);
        refill(&mut rig, 400, ms(0));
        signals(&mut rig, 6, 1);
        let before = (count(&rig), gauge(&rig, "dropping") as u64);
        assert_eq!(before, (1, 1), "{name}");
        while rig.packets() < 400 {
            rig.offer(ms(150), packet(900, 1_000));
        }
        rig.ledger.dropped.clear();
        for id in 1_000..1_010 {
            rig.offer(ms(150), packet(id, 1_000));
        }
        assert!(
            rig.ledger.dropped.iter().all(|(id, why)| *id >= 1_000 && *why == Reason::Overlimit)
        );
        assert_eq!(rig.ledger.dropped.len(), 10, "{name}");
        assert_eq!((count(&rig), gauge(&rig, "dropping") as u64), before, "{name}");
    }
}

#[test]
fn c17_a_dequeue_returns_a_packet_as_long_as_one_is_left() {
    for name in KINDS {
        let mut rig = full(name, 3_000, ms(0));
        let mut now = 6;
        while rig.packets() > 0 {
            assert!(rig.take(ms(now)).is_some(), "{name} at {now} ms");
            now += 40;
        }
        assert!(rig.ledger.dropped.len() > 1_000, "{name}: {} drops", rig.ledger.dropped.len());
    }
}

/// The queue of one flow, beside other queues with large backlogs. The one-MTU rule therefore has
/// no effect.
#[derive(Default)]
struct Crowded(PacketQueue);

impl Supply for Crowded {
    fn head(&self) -> Option<&Packet> {
        self.0.front()
    }

    fn take(&mut self) -> Option<Packet> {
        self.0.take()
    }

    fn waiting(&self) -> Bytes {
        Bytes(100_000)
    }
}

fn law(dialect: Dialect) -> Codel {
    Codel::new(Settings {
        dialect,
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: Bytes(1_514),
        ecn: false,
        ce_threshold: None,
        selector: Selector::default(),
    })
}

#[test]
fn c18_an_empty_queue_disarms_the_law() {
    let tick = Duration::from_millis(1);
    for dialect in [Dialect::Linux, Dialect::Rfc8289, Dialect::FreeBsd { tick }] {
        for found_empty in [true, false] {
            let (codel, mut state, mut queue) =
                (law(dialect), State::default(), Crowded::default());
            let mut rng = Rng::stream(1, "unused");
            let mut take = |state: &mut State, queue: &mut Crowded, at| {
                let mut cx = Cx { now: at, rng: &mut rng, log: &mut NoLog };
                codel.dequeue(state, queue, &mut cx).map(|packet| packet.id)
            };
            queue.0.push(packet(1, 100), ms(0));
            assert_eq!(take(&mut state, &mut queue, ms(6)), Some(1));
            if found_empty {
                assert_eq!(take(&mut state, &mut queue, ms(6)), None);
            }
            queue.0.push(packet(2, 100), ms(200));
            let second = take(&mut state, &mut queue, ms(206));
            assert_eq!(second, found_empty.then_some(2), "{dialect:?}, empty: {found_empty}");
        }
    }
}

#[test]
fn c18_an_empty_queue_ends_the_dropping_state() {
    for name in KINDS {
        let mut rig = full(name, 400, ms(0));
        let (_, now) = signals(&mut rig, 6, 2);
        assert!(gauge(&rig, "dropping") > 0.0, "{name}");
        while rig.take(ms(now)).is_some() {}
        assert!(gauge(&rig, "dropping") < 1.0, "{name}");
    }
}

#[test]
fn c19_count_rises_by_one_with_each_signal_of_an_episode() {
    for name in KINDS {
        let mut rig = full(name, 4_000, ms(0));
        let mut now = 6;
        for wanted in 1..60 {
            (_, now) = signals(&mut rig, now, wanted);
            now += 1;
            assert_eq!(count(&rig), wanted as u64, "{name}");
        }
    }
}

#[test]
fn c19_a_count_that_wraps_does_no_harm() {
    let (codel, mut state, mut queue) = (law(Dialect::Linux), State::default(), Crowded::default());
    state.strengthen(u32::MAX);
    state.strengthen(3);
    assert_eq!(state.count(), 2);
    state.strengthen(u32::MAX - 3);
    let mut rng = Rng::stream(1, "unused");
    (0..3_000).for_each(|id| queue.0.push(packet(id, 1_000), ms(0)));
    let sent = (0..200).filter_map(|step| {
        let mut cx = Cx { now: ms(6 + 20 * step), rng: &mut rng, log: &mut NoLog };
        codel.dequeue(&mut state, &mut queue, &mut cx)
    });
    assert_eq!(sent.count(), 200);
    assert!(state.count() < 2_800, "the episode began anew: {}", state.count());
}
