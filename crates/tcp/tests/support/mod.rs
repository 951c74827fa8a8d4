//! Support for tests: two connections joined by a wire, and scripts.

#![allow(dead_code, reason = "every test uses a part of it")]

pub(crate) mod ecn;
pub(crate) mod script;

use std::collections::BTreeMap;

use aqmlab_core::{Args, Duration, Ecn, Instant, Rng, TcpFlags};
use aqmlab_tcp::cc::{CongestionControl, kinds};
use aqmlab_tcp::{Config, Connection, Event, Profile, Segment};

/// Returns a controller by name, with its default parameters.
pub(crate) fn controller(name: &str) -> Box<dyn CongestionControl> {
    let kind = kinds::find(name).unwrap_or_else(|| panic!("no controller `{name}`"));
    (kind.build)(&Args::defaults(kind.params))
}

/// Returns the name of every registered controller.
pub(crate) fn controllers() -> Vec<&'static str> {
    kinds::all().map(|kind| kind.name).collect()
}

/// Returns a configuration of `profile` with the controller `cc`.
pub(crate) fn config(profile: Profile, cc: &str) -> Config {
    Config::new(profile, controller(cc))
}

/// The effects of the wire on segments.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) delay: Duration,
    /// The largest random extra delay, which can reorder segments.
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    /// The probability that an ECN-capable segment is marked.
    pub(crate) marking: f64,
}

impl Wire {
    pub(crate) fn clean(delay_ms: u64) -> Self {
        Self {
            delay: Duration::from_millis(delay_ms),
            jitter: Duration::ZERO,
            loss: 0.0,
            duplication: 0.0,
            marking: 0.0,
        }
    }
}

/// The events that an end has reported.
#[expect(clippy::struct_excessive_bools, reason = "one for each event")]
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) established: bool,
    pub(crate) read: u64,
    pub(crate) finished: bool,
    pub(crate) closed: bool,
    pub(crate) aborted: bool,
}

/// A function that decides whether the wire drops a segment of an end.
pub(crate) type Filter = Box<dyn FnMut(usize, &Segment) -> bool>;

/// Two connections and a wire between them.
pub(crate) struct Pair {
    pub(crate) ends: [Connection; 2],
    pub(crate) seen: [Seen; 2],
    pub(crate) now: Instant,
    /// The bytes that each end has yet to write.
    pub(crate) to_write: [u64; 2],
    /// Whether each end closes after its last write.
    pub(crate) closes: [bool; 2],
    pub(crate) sent: [u64; 2],
    pub(crate) wire: Wire,
    /// Drops the segments for which the function returns `true`.
    pub(crate) drop: Filter,
    /// Whether wake-ups at which the application only reads are calls of [`Connection::read`].
    pub(crate) reads_directly: bool,
    /// Every segment sent, with its time and its end.
    pub(crate) log: Vec<(Instant, usize, Segment)>,
    in_air: BTreeMap<(Instant, u64), (usize, Segment)>,
    next: u64,
    rng: Rng,
}

impl Pair {
    pub(crate) fn new(client: Config, server: Config, wire: Wire, seed: u64) -> Self {
        Self {
            ends: [Connection::active(client, Instant::ZERO), Connection::passive(server)],
            seen: Default::default(),
            now: Instant::ZERO,
            to_write: [0; 2],
            closes: [false; 2],
            sent: [0; 2],
            wire,
            drop: Box::new(|_, _| false),
            reads_directly: false,
            log: Vec::new(),
            in_air: BTreeMap::new(),
            next: 0,
            rng: Rng::stream(seed, "wire"),
        }
    }

    /// Runs until `until`, or until there are no events. Returns the number of steps.
    pub(crate) fn run(&mut self, until: Instant) -> u64 {
        let mut steps = 0;
        self.drain();
        while let Some(at) = self.next_at() {
            if at > until {
                break;
            }
            self.now = at;
            self.step();
            steps += 1;
            assert!(steps < 20_000_000, "livelock at {}", self.now);
        }
        steps
    }

    fn next_at(&self) -> Option<Instant> {
        let arrival = self.in_air.keys().next().map(|(at, _)| *at);
        let timers = self.ends.iter().filter_map(Connection::poll_timeout);
        arrival.into_iter().chain(timers).min()
    }

    fn step(&mut self) {
        if let Some(entry) = self.in_air.first_entry()
            && entry.key().0 <= self.now
        {
            let (to, segment) = entry.remove();
            self.ends[to].handle_segment(&segment.header, segment.ecn, self.now);
        } else {
            for end in &mut self.ends {
                if end.poll_timeout().is_some_and(|at| at <= self.now) {
                    if self.reads_directly && end.only_reads_next() {
                        end.read();
                    } else {
                        end.handle_timeout(self.now);
                    }
                    let again = end.poll_timeout();
                    assert!(again.is_none_or(|at| at > self.now), "a timer that stays due");
                }
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        for at in 0..2 {
            loop {
                self.events(at);
                self.write(at);
                let Some(segment) = self.ends[at].poll_transmit(self.now) else { break };
                self.sent[at] += 1;
                self.transmit(at, segment);
            }
        }
    }

    fn events(&mut self, at: usize) {
        while let Some(event) = self.ends[at].poll_event() {
            let seen = &mut self.seen[at];
            assert!(!seen.closed && !seen.aborted, "{event:?} after the end");
            match event {
                Event::Established => seen.established = true,
                Event::Readable(bytes) => seen.read += bytes,
                Event::Writable => {}
                Event::PeerFinished => seen.finished = true,
                Event::Closed => seen.closed = true,
                Event::Aborted => seen.aborted = true,
            }
        }
    }

    fn write(&mut self, at: usize) {
        if at == 1 && !self.seen[at].established {
            return;
        }
        if self.to_write[at] > 0 {
            self.to_write[at] -= self.ends[at].write(self.now, self.to_write[at]);
        }
        if self.to_write[at] == 0 && std::mem::take(&mut self.closes[at]) {
            self.ends[at].close();
        }
    }

    fn transmit(&mut self, from: usize, mut segment: Segment) {
        assert!(segment.header.payload == 0 || segment.header.flags.has(TcpFlags::ACK));
        let size = 40 + u32::from(segment.header.options_len) + segment.header.payload;
        assert!(size <= 1_500, "a packet of {size} B");
        self.log.push((self.now, from, segment.clone()));
        if (self.drop)(from, &segment) || self.rng.unit() < self.wire.loss {
            return;
        }
        if segment.ecn.is_capable() && self.rng.unit() < self.wire.marking {
            segment.ecn = Ecn::Ce;
        }
        let copies = 1 + u64::from(self.rng.unit() < self.wire.duplication);
        for _ in 0..copies {
            let jitter = self.rng.below(self.wire.jitter.as_nanos() + 1);
            let at = self.now + self.wire.delay + Duration::from_nanos(jitter);
            self.in_air.insert((at, self.next), (1 - from, segment.clone()));
            self.next += 1;
        }
    }
}
