//! Departures and their times at ports with a dummynet pipe.

use aqmlab_core::{Args, BitRate, Bytes, Duration, Instant, Overhead, Packet, Rng, Value};

use super::{HZ, Pipe};
use crate::{Port, Shaper};

fn port(kind: &str, rate_bps: u64, changes: &[(&str, Value)]) -> Port {
    let kind = aqmlab_qdisc::kinds::find(kind).expect("a discipline");
    let args = Args::defaults(kind.params);
    let args = changes.iter().fold(args, |args, (name, value)| args.with(name, *value));
    let rate = BitRate::new(rate_bps).expect("a rate");
    Port::new((kind.build)(&args), rate, Overhead::default(), Rng::stream(1, "pipe"))
        .shaped_by(Shaper::Dummynet)
}

/// Lets `port` send until `end`; returns each departure with its time.
fn sent(port: &mut Port, end: Instant) -> Vec<(u64, Instant)> {
    let mut left = Vec::new();
    while let Some(due) = port.poll_timeout().filter(|due| *due < end) {
        left.extend(sent_at(port, due));
    }
    left
}

fn sent_at(port: &mut Port, now: Instant) -> Vec<(u64, Instant)> {
    std::iter::from_fn(|| port.poll_transmit(now))
        .map(|(packet, departure)| (packet.id, departure.done))
        .collect()
}

/// Offers each packet at its time; returns each departure with its time, in order.
fn sent_of(port: &mut Port, packets: &[(Instant, Packet)]) -> Vec<(u64, Instant)> {
    let mut left = Vec::new();
    for (now, packet) in packets {
        left.extend(sent(port, *now));
        port.offer(packet.clone(), *now);
        left.extend(sent_at(port, *now));
    }
    left.extend(sent(port, Instant::NEVER));
    left
}

/// Returns the departure times in microseconds of packets with these arrival times and sizes.
fn left_us(rate_bps: u64, arrivals: &[(u64, u32)]) -> Vec<u64> {
    let packet = |(id, &(us, len))| (Instant::from_micros(us), Packet::plain(id, 0, len));
    let packets: Vec<_> = (0..).zip(arrivals).map(packet).collect();
    let left = sent_of(&mut port("pfifo_freebsd", rate_bps, &[]), &packets);
    left.iter().map(|(_, done)| done.as_nanos() / 1_000).collect()
}

/// Tests statement C-73 (FreeBSD 10.4 `serve_sched`). At 12 Mbit/s two full packets take two ticks,
/// and a packet of 90 bytes takes 60 us of one tick.
#[test]
fn dummynet_lets_packets_go_at_ticks() {
    let full = 1_500;
    for (arrivals, want) in [
        // A single packet leaves at the next tick, whenever it arrived.
        (&[(5_000, 90)][..], &[6_000][..]),
        (&[(5_900, 90)], &[6_000]),
        // Of two packets that arrive together, each leaves at the tick at which it is paid for.
        // Payment begins at the tick before the arrival.
        (&[(5_300, full), (5_300, full)], &[6_000, 7_000]),
        // Four packets of 250 us fill one tick and leave together at the next tick.
        (&[(5_000, 375), (5_000, 375), (5_000, 375), (5_000, 375)], &[6_000; 4]),
        // The payment for the next packet begins where the payment for the last packet ended, even
        // within a tick. The rate is therefore exact.
        (&[(5_000, 900), (5_000, 900), (5_000, 900)], &[6_000, 7_000, 7_000]),
        // An idle time begins at the end of a tick; the remaining credit of the tick is lost.
        (&[(5_000, 900), (8_500, 900)], &[6_000, 9_000]),
    ] {
        assert_eq!(left_us(12_000_000, arrivals), want, "{arrivals:?}");
    }
}

/// Tests that a pipe counts its credit in bits (FreeBSD 10.4 `serve_sched`): three packets that
/// each take 2 2/3 ms take exactly 8 ms together.
#[test]
fn dummynet_rounds_nothing_but_the_tick() {
    assert_eq!(left_us(3_000_000, &[(5_100, 1_000); 3]), [8_000, 11_000, 13_000]);
}

/// Tests that a pipe polls until the discipline is empty (FreeBSD 10.4 `fq_codel_dequeue`). Empty
/// flows are removed from all lists, so the first flow that becomes active again is served first.
#[test]
fn c96_a_pipe_that_runs_idle_makes_all_flows_new() {
    let ms = Instant::from_millis;
    let of = |at, id, flow| (at, Packet::plain(id, flow, 1_500));
    // Flow 0 sent more than its quantum before the pause.
    let packets = [of(ms(1), 0, 0), of(ms(30), 1, 1), of(ms(30), 2, 0), of(ms(30), 3, 7)];
    let quantum = ("quantum", Value::Bytes(Bytes(300)));
    let salt = ("salt", Value::Count(1));
    for kind in ["fq_codel_freebsd", "fq_pie_freebsd"] {
        let mut port = port(kind, 1_200_000, &[quantum, salt]);
        let ids: Vec<_> = sent_of(&mut port, &packets).iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 1, 2, 3], "{kind}");
    }
}

/// Offers 60 packets at once; returns the port and the time at which the last packet has left.
fn after_overload(kind: &str, changes: &[(&str, Value)]) -> (Port, Instant) {
    let mut port = port(kind, 1_200_000, changes);
    let packets: Vec<_> =
        (0..60).map(|id| (Instant::from_millis(5), Packet::plain(id, 0, 1_500))).collect();
    let done = sent_of(&mut port, &packets).last().expect("a packet").1;
    (port, done)
}

fn gauge(port: &Port, name: &str) -> f64 {
    port.gauges().iter().find(|(gauge, _)| *gauge == name).expect("such a gauge").1
}

/// Tests that a discipline loses its state when dummynet visits its idle pipe. At every tick
/// dummynet visits one of 64 buckets (FreeBSD 10.4 `dn_drain_scheduler`). In this test, the visits
/// are at multiples of 64 ticks.
#[test]
fn c95_what_is_idle_when_dummynet_looks_forgets_all() {
    let ms = |ms| Value::Duration(Duration::from_millis(ms));
    for (kind, name, changes) in [
        ("codel_freebsd", "count", &[("limit", Value::Count(100)), ("interval", ms(20))][..]),
        ("pie_freebsd", "drop_probability", &[("limit", Value::Count(100)), ("max_burst", ms(0))]),
    ] {
        let (mut port, done) = after_overload(kind, changes);
        let known = gauge(&port, name);
        assert!(known > 0.0, "{kind}: {known}");
        let look_ms = (done.as_nanos() / 1_000_000).next_multiple_of(64);
        let before = Instant::from_micros(look_ms * 1_000 - 1);
        sent_of(&mut port, &[(before, Packet::plain(100, 0, 40))]);
        assert!(gauge(&port, name) > 0.0, "{kind}: not yet visited");
        let after = Instant::from_micros((look_ms + 64) * 1_000 + 1);
        sent_of(&mut port, &[(after, Packet::plain(101, 0, 40))]);
        assert_eq!(gauge(&port, name).to_bits(), 0, "{kind}: visited");
    }
}

/// Tests that the remaining credit of the tick is lost when a pipe is freed.
#[test]
fn a_pipe_taken_away_in_a_tick_owes_nothing_to_that_tick() {
    // 40 bytes take 0.32 ms. The garbage collector visits the pipe at 64 ms. Before that, the
    // credit left from the previous tick pays for the second packet.
    for (first_us, second_us, want) in
        [(62_100, 63_200, [63_000, 63_200]), (63_100, 64_200, [64_000, 65_000])]
    {
        assert_eq!(left_us(1_000_000, &[(first_us, 40), (second_us, 40)]), want);
    }
}

/// Tests that the first packet at an idle pipe sets the credit to zero, even if the discipline
/// drops the packet (FreeBSD 10.4 `dummynet_io`). The pipe gains no credit for the time in which it
/// was idle.
#[test]
fn a_drop_at_an_idle_pipe_gives_no_credit() {
    let limit = [("limit", Value::Bytes(Bytes(1_000)))];
    let start = Instant::from_millis(5);
    let later = Instant::from_micros(39_300);
    let packets = [(start, 500), (later, 1_500), (later, 500), (later, 500)];
    let packet = |(id, (at, len))| (at, Packet::plain(id, 0, len));
    let packets: Vec<_> = (0..).zip(packets).map(packet).collect();
    let left = sent_of(&mut port("bfifo", 1_000_000, &limit), &packets);
    assert_eq!(left.iter().map(|&(id, _)| id).collect::<Vec<_>>(), [0, 2, 3]);
    // At 1 Mbit/s, 500 bytes take four ticks.
    assert_eq!(left[1].1, Instant::from_millis(43));
    assert_eq!(left[2].1, Instant::from_millis(47));
}

/// Tests that the time of the next poll is the debt divided by the credit of a tick, rounded up,
/// for packets that one tick pays for and for longer ones.
#[test]
fn a_pipe_waits_until_the_ticks_have_paid_its_debt() {
    let mut rng = Rng::stream(1, "wait");
    for _ in 0..2_000 {
        let bps = 1_000 + rng.below(200_000_000);
        let mut pipe = Pipe::new(BitRate::new(bps).expect("the rate is not zero"));
        let bytes = 1 + rng.below(2_000);
        pipe.charge(Bytes(bytes), Instant::from_millis(5));
        let ticks = (bytes * 8 * HZ).div_ceil(bps);
        assert_eq!(pipe.wakes_after_charge(), Instant::from_millis(5 + ticks), "{bytes} at {bps}");
    }
}
