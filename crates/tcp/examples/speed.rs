//! Prints what a data segment costs: sent, received, and its share of the acknowledgements.
//!
//! Two connections are joined by wires without loss: an ideal bottleneck of 100 Mbit/s and 10 ms
//! each way.

#![expect(clippy::disallowed_types, clippy::print_stdout, reason = "a stopwatch for people")]

use std::collections::VecDeque;

use aqmlab_core::{Args, BitRate, Bytes, Duration, Ecn, Instant, TcpHeader};
use aqmlab_tcp::cc::kinds;
use aqmlab_tcp::{Config, Connection, Profile};

const SEGMENTS: u64 = 5_000_000;

fn config(profile: &Profile, cc: &str) -> Config {
    let kind = kinds::find(cc).expect("the controller exists");
    let mut config = Config::new(profile.clone(), (kind.build)(&Args::defaults(kind.params)));
    // A window of about the product of rate and delay: nothing is ever lost.
    config.receive_buffer = Some(250_000);
    config.profile.send_buffer_max = 40_000_000;
    config
}

struct Wire {
    queue: VecDeque<(Instant, TcpHeader, Ecn)>,
    free: Instant,
    rate: BitRate,
}

impl Wire {
    fn new() -> Self {
        let rate = BitRate::new(100_000_000).expect("a rate");
        Self { queue: VecDeque::new(), free: Instant::ZERO, rate }
    }

    fn next(&self) -> Instant {
        self.queue.front().map_or(Instant::NEVER, |entry| entry.0)
    }
}

fn run(profile: &Profile, cc: &str) {
    let mut ends = [
        Connection::active(config(profile, cc), Instant::ZERO),
        Connection::passive(config(profile, cc)),
    ];
    let mut wires = [Wire::new(), Wire::new()];
    ends[0].pour();
    let mut now = Instant::ZERO;
    let watch = std::time::Instant::now();
    while ends[0].stats().data_segments_sent < SEGMENTS {
        for at in 0..2 {
            while let Some(segment) = ends[at].poll_transmit(now) {
                let wire = &mut wires[at];
                let header = segment.header;
                let size = Bytes(u64::from(40 + u32::from(header.options_len) + header.payload));
                wire.free = wire.free.max(now) + wire.rate.transmit_time(size);
                wire.queue.push_back((wire.free + Duration::from_millis(10), header, segment.ecn));
            }
            while ends[at].poll_event().is_some() {}
        }
        let timers = [0, 1].map(|at| ends[at].poll_timeout().unwrap_or(Instant::NEVER));
        let arrivals = [wires[1].next(), wires[0].next()];
        now = timers[0].min(timers[1]).min(arrivals[0]).min(arrivals[1]);
        for at in 0..2 {
            if arrivals[at] == now {
                let (_, header, ecn) = wires[1 - at].queue.pop_front().expect("it is there");
                ends[at].handle_segment(&header, ecn, now);
            } else if timers[at] <= now {
                ends[at].handle_timeout(now);
            }
        }
    }
    let took = watch.elapsed().as_nanos() as f64;
    let stats = ends[0].stats();
    println!(
        "{:10} {cc:9} {:6.1} ns a data segment, both ends and all acknowledgements; {} retransmitted",
        profile.name,
        took / stats.data_segments_sent as f64,
        stats.retransmitted_segments,
    );
}

fn main() {
    for (profile, cc) in [
        (Profile::linux(), "reno"),
        (Profile::linux(), "cubic"),
        (Profile::linux(), "bbr"),
        (Profile::freebsd(), "newreno"),
        (Profile::windows(), "compound"),
    ] {
        run(&profile, cc);
    }
}
