//! A test rig for a discipline: it enqueues and dequeues at given times, and records every drop and
//! mark.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the rig")]

use aqmlab_core::{
    Args, BitRate, Bytes, Cx, Duration, Ecn, Event, Instant, Kind, Log, Packet, Reason, Rng, Value,
};
use aqmlab_qdisc::{Qdisc, kinds};

pub mod cake;

/// The packets that were dropped or marked, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub dropped: Vec<(u64, Reason)>,
    pub marked: Vec<(u64, Reason)>,
    pub dropped_bytes: u64,
    /// The time of each drop and of each mark.
    pub times: Vec<Instant>,
}

impl Log for Ledger {
    fn record(&mut self, now: Instant, packet: &Packet, event: Event) {
        self.times.push(now);
        match event {
            Event::Drop(reason) => {
                self.dropped.push((packet.id, reason));
                self.dropped_bytes += u64::from(packet.len);
            }
            Event::Mark(reason) => self.marked.push((packet.id, reason)),
        }
    }
}

impl Ledger {
    pub fn drops(&self) -> Vec<u64> {
        self.dropped.iter().map(|(id, _)| *id).collect()
    }

    pub fn marks(&self) -> Vec<u64> {
        self.marked.iter().map(|(id, _)| *id).collect()
    }
}

/// Returns the kind called `name`, which must exist.
pub fn kind(name: &str) -> &'static Kind<dyn Qdisc> {
    kinds::find(name).unwrap_or_else(|| panic!("no discipline `{name}`"))
}

/// A discipline under test, with its random stream and its ledger.
pub struct Rig {
    pub qdisc: Box<dyn Qdisc>,
    pub rng: Rng,
    pub ledger: Ledger,
}

impl Rig {
    /// Returns the discipline `name` with some parameters changed.
    pub fn new(name: &str, changes: &[(&str, Value)]) -> Self {
        let kind = kind(name);
        let args = changes
            .iter()
            .fold(Args::defaults(kind.params), |args, (name, value)| args.with(name, *value));
        Self::of((kind.build)(&args))
    }

    pub fn of(qdisc: Box<dyn Qdisc>) -> Self {
        Self { qdisc, rng: Rng::stream(1, "rig"), ledger: Ledger::default() }
    }

    pub fn offer(&mut self, at: Instant, packet: Packet) {
        let mut cx = Cx { now: at, rng: &mut self.rng, log: &mut self.ledger };
        self.qdisc.enqueue(packet, &mut cx);
    }

    pub fn take(&mut self, at: Instant) -> Option<Packet> {
        let mut cx = Cx { now: at, rng: &mut self.rng, log: &mut self.ledger };
        self.qdisc.dequeue(&mut cx)
    }

    /// Lets a packet pass the discipline, which must be empty; returns the packet unless it was
    /// dropped or waits.
    pub fn pass(&mut self, at: Instant, packet: Packet) -> Option<Packet> {
        let mut cx = Cx { now: at, rng: &mut self.rng, log: &mut self.ledger };
        self.qdisc.pass(packet, &mut cx)
    }

    /// Dequeues a packet, if one may leave, and returns its id.
    pub fn take_id(&mut self, at: Instant) -> Option<u64> {
        self.take(at).map(|packet| packet.id)
    }

    /// Dequeues packets until the module returns none, and returns their ids.
    pub fn drain(&mut self, at: Instant) -> Vec<u64> {
        std::iter::from_fn(|| self.take_id(at)).collect()
    }

    pub fn change_rate(&mut self, bps: u64) {
        self.qdisc.change_rate(BitRate::new(bps).expect("a rate"));
    }

    pub fn packets(&self) -> usize {
        self.qdisc.backlog().packets
    }

    pub fn bytes(&self) -> Bytes {
        self.qdisc.backlog().bytes
    }
}

pub fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

pub fn us(us: u64) -> Instant {
    Instant::from_micros(us)
}

pub fn span_ms(ms: u64) -> Value {
    Value::Duration(Duration::from_millis(ms))
}

/// Returns a packet of connection 0.
pub fn packet(id: u64, len: u32) -> Packet {
    Packet::plain(id, 0, len)
}

/// Returns an ECN-capable packet of connection 0.
pub fn ect(id: u64, len: u32) -> Packet {
    let mut packet = packet(id, len);
    packet.ecn = Ecn::Ect0;
    packet
}
