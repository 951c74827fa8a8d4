//! Tests the FQ-PIE of Linux and of FreeBSD with flows that become active and idle.

mod rig;

use aqmlab_core::{Args, Instant, Packet, Value};
use rig::{Rig, ms};

const FULL: u32 = 1_514;

/// Returns a packet of connection `conn`. The ids of connection `conn` start at `conn` times 1 000
/// 000.
fn of(conn: u32, id: u64) -> Packet {
    Packet::plain(u64::from(conn) * 1_000_000 + id, conn, FULL)
}

fn rig(name: &str, changes: &[(&str, Value)]) -> Rig {
    let mut all = vec![("salt", Value::Count(7))];
    all.extend_from_slice(changes);
    Rig::new(name, &all)
}

fn drops_of(rig: &Rig, conn: u32) -> usize {
    rig.ledger.drops().iter().filter(|&&id| id / 1_000_000 == u64::from(conn)).count()
}

/// For `seconds`, offers three packets of connection 0 for each dequeue, with a dequeue every
/// millisecond.
fn overload(rig: &mut Rig, seconds: u64) {
    for tick in 0..seconds * 1_000 {
        for n in 0..3 {
            rig.offer(ms(tick), of(0, tick * 3 + n));
        }
        rig.take(ms(tick));
    }
}

/// Congests a flow and lets it idle; returns the number of drops in a burst of 100 packets right
/// after the idle time.
fn burst_after_rest(name: &str, rest_ms: u64) -> usize {
    let mut rig = rig(name, &[]);
    overload(&mut rig, 20);
    let before = drops_of(&rig, 0);
    assert!(before > 20_000, "{name}: {before}");
    rig.drain(ms(20_000));
    for id in 0..100 {
        rig.offer(ms(20_000 + rest_ms), of(0, 900_000 + id));
    }
    drops_of(&rig, 0) - before
}

#[test]
fn c50_a_flow_that_wakes_is_forgiven_by_freebsd_and_remembered_by_linux() {
    assert_eq!(burst_after_rest("fq_pie_freebsd", 200), 0);
    let dropped = burst_after_rest("fq_pie", 200);
    assert!((30..80).contains(&dropped), "{dropped}");
    assert_eq!(burst_after_rest("fq_pie", 60_000), 0, "in a minute the probability is gone");
}

#[test]
fn c50_freebsd_drops_nothing_of_a_flow_for_150_ms_after_it_woke() {
    let mut rig = rig("fq_pie_freebsd", &[]);
    let mut first = None;
    for tick in 0..400 {
        for n in 0..10 {
            rig.offer(ms(1_000 + tick), of(0, tick * 10 + n));
        }
        rig.take(ms(1_000 + tick));
        if !rig.ledger.dropped.is_empty() {
            first = first.or(Some(tick));
        }
    }
    assert!((150..400).contains(&first.unwrap()), "{first:?}");
}

#[test]
fn a_flow_at_rest_is_not_updated_by_freebsd() {
    let mut rig = rig("fq_pie_freebsd", &[]);
    rig.offer(ms(10), of(0, 0));
    assert_eq!(rig.take_id(ms(40)), Some(0));
    // This dequeue finds the flow empty. It removes the flow from the new flows, and then from the
    // old flows.
    assert_eq!(rig.take_id(ms(40)), None);
    rig.offer(ms(1_000), of(0, 1));
    let gauges = rig.qdisc.gauges();
    assert!(gauges.contains(&("queue_delay_ms", 30.0)), "{gauges:?}");
}

#[test]
fn c51_without_room_linux_drops_the_arrival_and_freebsd_the_head_of_the_longest() {
    for (name, want) in [("fq_pie", 1_000_000), ("fq_pie_freebsd", 0)] {
        let mut rig = rig(name, &[("limit", Value::Count(50))]);
        for id in 0..50 {
            rig.offer(ms(1), of(0, id));
        }
        assert!(rig.ledger.dropped.is_empty());
        rig.offer(ms(1), of(1, 0));
        assert_eq!(rig.ledger.drops(), [want], "{name}");
        assert_eq!(rig.packets(), 50);
    }
}

#[test]
fn c52_congestion_in_one_flow_leaves_others_alone() {
    for name in ["fq_pie", "fq_pie_freebsd"] {
        let mut rig = rig(name, &[]);
        for tick in 0..20_000 {
            for n in 0..3 {
                rig.offer(ms(tick), of(0, tick * 3 + n));
            }
            // Every packet of flow 1 finds its own queue empty, regardless of the queue of flow 0.
            if tick % 10 == 0 {
                rig.offer(ms(tick), of(1, tick));
            }
            rig.take(ms(tick));
        }
        assert!(drops_of(&rig, 0) > 30_000, "{name}");
        assert_eq!(drops_of(&rig, 1), 0, "{name}");
    }
}

#[test]
fn every_flow_of_linux_is_updated_at_the_ticks_of_one_timer() {
    // A discipline that is not polled for a long time has the same probability as a discipline that
    // is polled every millisecond.
    let gauge = |looks: &[u64]| {
        let mut rig = rig("fq_pie", &[]);
        overload(&mut rig, 3);
        rig.drain(ms(3_000));
        for &at in looks {
            rig.take(Instant::from_millis(at));
        }
        rig.offer(ms(3_777), of(0, 900_000));
        rig.offer(ms(3_777), of(0, 900_001));
        let gauges = rig.qdisc.gauges();
        gauges.iter().find(|(name, _)| *name == "drop_probability").unwrap().1
    };
    let often: Vec<u64> = (3_000..3_777).collect();
    let (lazy, diligent) = (gauge(&[]), gauge(&often));
    assert!(lazy > 0.1, "{lazy}");
    assert_eq!(lazy.to_bits(), diligent.to_bits());
}

/// Tests the default of `ecn` (FreeBSD 10.4 `sbin/ipfw/dummynet.c`, `process_extra_parms`). The
/// schedulers mark unless `noecn` is set. The disciplines of one queue mark only if `ecn` is set.
#[test]
fn ipfw_marks_in_the_flow_queues_unless_told_otherwise() {
    for (name, marks) in [
        ("codel_freebsd", false),
        ("fq_codel_freebsd", true),
        ("pie_freebsd", false),
        ("fq_pie_freebsd", true),
    ] {
        let param = rig::kind(name).params.iter().find(|param| param.name == "ecn");
        assert_eq!(param.expect("such a parameter").default, Value::Flag(marks), "{name}");
    }
}

/// Tests the bound of `flows`. FreeBSD 10.4 `fq_codel_classify_flow` and `fq_pie_classify_flow`
/// store the number of queues in 16 bits, where 65536 becomes 0.
#[test]
fn dummynet_has_no_more_queues_than_sixteen_bits_count() {
    for name in ["fq_codel_freebsd", "fq_pie_freebsd"] {
        let mut args = Args::defaults(rig::kind(name).params);
        assert_eq!(args.set("flows", Value::Count(65_535)), Ok(()), "{name}");
        assert!(args.set("flows", Value::Count(65_536)).is_err(), "{name}");
    }
}
