//! Ports behind a pipe: what comes when, and when it has left.

use aqmlab_core::{Args, BitRate, Bytes, Instant, Packet, Rng, Value};

use crate::{Overhead, Port, Shaper};

fn port(kind: &str, rate_bps: u64, changes: &[(&str, Value)]) -> Port {
    let kind = aqmlab_qdisc::kinds::find(kind).expect("a discipline");
    let args = Args::defaults(kind.params);
    let args = changes.iter().fold(args, |args, (name, value)| args.with(name, *value));
    let rate = BitRate::new(rate_bps).expect("a rate");
    Port::new((kind.build)(&args), rate, Overhead::default(), Rng::stream(1, "pipe"))
        .shaped_by(Shaper::Dummynet)
}

/// Lets `port` send until `end`; returns what left and when.
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

/// Offers `packets` when they come; returns what left and when, in order.
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

/// When packets have left, in microseconds, that come then and have these sizes.
fn left_us(rate_bps: u64, arrivals: &[(u64, u32)]) -> Vec<u64> {
    let packet = |(id, &(us, len))| (Instant::from_micros(us), Packet::plain(id, 0, len));
    let packets: Vec<_> = (0..).zip(arrivals).map(packet).collect();
    let left = sent_of(&mut port("pfifo_freebsd", rate_bps, &[]), &packets);
    left.iter().map(|(_, done)| done.as_nanos() / 1_000).collect()
}

/// FreeBSD 10.4 `serve_sched`: at 12 Mbit/s two full packets take two ticks, one of 90 bytes
/// 60 us of one.
#[test]
fn dummynet_lets_packets_go_at_ticks() {
    let full = 1_500;
    for (arrivals, want) in [
        // Alone: the tick is up, wherever in it the packet came.
        (&[(5_000, 90)][..], &[6_000][..]),
        (&[(5_900, 90)], &[6_000]),
        // Together: each at the tick at which it is paid for, counted from the tick before.
        (&[(5_300, full), (5_300, full)], &[6_000, 7_000]),
        // Four of 250 us are one tick's worth, and leave in a bunch with the next.
        (&[(5_000, 375), (5_000, 375), (5_000, 375), (5_000, 375)], &[6_000; 4]),
        // Where one ends in a tick the next is paid for from there: the rate is kept.
        (&[(5_000, 900), (5_000, 900), (5_000, 900)], &[6_000, 7_000, 7_000]),
        // A pause ends with the tick: what is left of it is lost.
        (&[(5_000, 900), (8_500, 900)], &[6_000, 9_000]),
    ] {
        assert_eq!(left_us(12_000_000, arrivals), want, "{arrivals:?}");
    }
}

/// FreeBSD 10.4 `serve_sched` counts in bits: three packets of 2 2/3 ms are 8 ms and not more.
#[test]
fn dummynet_rounds_nothing_but_the_tick() {
    assert_eq!(left_us(3_000_000, &[(5_100, 1_000); 3]), [8_000, 11_000, 13_000]);
}

/// FreeBSD 10.4 `fq_codel_dequeue`: a pipe asks until there is nothing, and flows that are found
/// empty are on no list when they come back. So the first to come is the first to be served.
#[test]
fn a_pipe_that_runs_idle_makes_all_flows_new() {
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
