//! Prints the processing time of a data segment: its transmission, its reception, and its share of
//! the acknowledgements.
//!
//! Two connections are joined by a lossless path: an ideal bottleneck of 100 Mbit/s, and a delay of
//! 10 ms in each direction.

#![expect(clippy::disallowed_types, clippy::print_stdout, reason = "a stopwatch for people")]

use std::collections::VecDeque;
use std::sync::Arc;

use aqmlab_core::{Args, BitRate, Bytes, Duration, Ecn, Instant, TcpHeader};
use aqmlab_tcp::cc::kinds;
use aqmlab_tcp::{Config, Connection, Profile};

/// The number of data segments in a stretch.
const STRETCH: u64 = 100_000;
/// The number of stretches. Only the fastest stretch counts, because the machine is shared.
const STRETCHES: u64 = 30;

fn config(profile: &Profile, cc: &str) -> Config {
    let kind = kinds::find(cc).expect("the controller exists");
    let mut config = Config::new(profile.clone(), (kind.build)(&Args::defaults(kind.params)));
    // The receive window is about the bandwidth-delay product, so that no packet is lost.
    config.receive_buffer = Some(250_000);
    Arc::make_mut(&mut config.profile).send_buffer_max = 40_000_000;
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

/// A sender with unlimited data and its receiver.
struct Pair {
    ends: [Connection; 2],
    wires: [Wire; 2],
    now: Instant,
}

impl Pair {
    fn new(profile: &Profile, cc: &str) -> Self {
        let mut sender = Connection::active(config(profile, cc), Instant::ZERO);
        sender.send_unlimited();
        let receiver = Connection::passive(config(profile, cc));
        Self { ends: [sender, receiver], wires: [Wire::new(), Wire::new()], now: Instant::ZERO }
    }

    fn run_until_sent(&mut self, segments: u64) {
        while self.ends[0].stats().data_segments_sent < segments {
            self.transmit(0);
            self.transmit(1);
            self.advance();
        }
    }

    fn transmit(&mut self, at: usize) {
        let (end, wire) = (&mut self.ends[at], &mut self.wires[at]);
        while let Some(segment) = end.poll_transmit(self.now) {
            let header = segment.header;
            let size = Bytes(u64::from(40 + u32::from(header.options_len) + header.payload));
            wire.free = wire.free.max(self.now) + wire.rate.transmit_time(size);
            let arrival = wire.free + Duration::from_millis(10);
            wire.queue.push_back((arrival, header, segment.ecn));
        }
        while end.poll_event().is_some() {}
    }

    fn advance(&mut self) {
        let timers = [0, 1].map(|at| self.ends[at].poll_timeout().unwrap_or(Instant::NEVER));
        let arrivals = [self.wires[1].next(), self.wires[0].next()];
        self.now = timers[0].min(timers[1]).min(arrivals[0]).min(arrivals[1]);
        for at in 0..2 {
            if arrivals[at] == self.now {
                let (_, header, ecn) = self.wires[1 - at].queue.pop_front().expect("it is there");
                self.ends[at].handle_segment(&header, ecn, self.now);
            } else if timers[at] <= self.now {
                self.ends[at].handle_timeout(self.now);
            }
        }
    }
}

fn run(profile: &Profile, cc: &str) {
    let mut pair = Pair::new(profile, cc);
    let mut fastest = f64::INFINITY;
    for stretch in 1..=STRETCHES {
        let watch = std::time::Instant::now();
        pair.run_until_sent(stretch * STRETCH);
        fastest = fastest.min(watch.elapsed().as_nanos() as f64 / STRETCH as f64);
    }
    println!(
        "{:10} {cc:9} {fastest:6.1} ns a data segment, both ends and all acknowledgements; \
         {} retransmitted",
        profile.name,
        pair.ends[0].stats().retransmitted_segments,
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
