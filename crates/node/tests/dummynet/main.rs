//! Compares the models of dummynet's disciplines and pipe with FreeBSD's own code, packet by
//! packet.
//!
//! `outcomes.txt` records the output of FreeBSD's code for arrivals drawn from a seed. The code is
//! `sys/netpfil/ipfw` of FreeBSD 10.4, compiled for user space and driven by a virtual clock. A
//! line names a discipline, its pipe and its parameters. After the bar, the line states the number
//! of packets dropped, the number of packets marked, and a digest of the outcomes, times and ECN
//! fields of all packets. The test draws the same arrivals and expects the same outcomes.
//! docs/explanation/traces.md describes the method.

mod arrivals;

use std::collections::BTreeMap;

use aqmlab_core::{
    Args, BitRate, Digest, Duration, Ecn, Event, Instant, Kind, Overhead, Packet, Rng, Value,
};
use aqmlab_node::{Port, Shaper};
use aqmlab_qdisc::{Qdisc, flows, kinds};
use aqmlab_recipe::value;

use arrivals::Arrival;

/// The salt of the hash. A salt of 0 would draw the queues of the flows at random.
const SALT: u32 = 1;

/// A line of `outcomes.txt`.
struct Case<'a> {
    kind: &'static Kind<dyn Qdisc>,
    /// The values of the pipe, the arrivals and the parameters, by key.
    says: BTreeMap<&'a str, &'a str>,
    /// The queue of each flow.
    queues: Vec<u64>,
    outcome: &'a str,
}

impl<'a> Case<'a> {
    fn parse(line: &'a str) -> Self {
        let (recipe, outcome) = line.split_once(" | ").expect("a bar before the outcome");
        let (kind, rest) = recipe.split_once(' ').expect("a recipe");
        let mut says: BTreeMap<_, _> =
            rest.split(' ').map(|item| item.split_once('=').expect("name=value")).collect();
        let queues = says.remove("queues").unwrap_or_default();
        let queues = queues.split(',').filter_map(|index| index.parse().ok()).collect();
        let kind = kinds::find(kind).unwrap_or_else(|| panic!("no discipline `{kind}`"));
        Self { kind, says, queues, outcome }
    }

    fn number(&self, name: &str) -> u64 {
        self.says.get(name).map_or(0, |value| value.parse().expect("a whole number"))
    }

    fn qdisc(&self) -> Box<dyn Qdisc> {
        let mut args = Args::defaults(self.kind.params);
        for param in self.kind.params {
            if let Some(said) = self.says.get(param.name) {
                args = args.with(param.name, value(said, param.default));
            }
        }
        if self.kind.params.iter().any(|param| param.name == "salt") {
            args = args.with("salt", Value::Count(SALT.into()));
        }
        (self.kind.build)(&args)
    }

    fn port(&self) -> Port {
        let rate = BitRate::new(self.number("rate")).expect("a rate");
        let rng = Rng::stream(self.number("seed"), "dummynet");
        let mut port =
            Port::new(self.qdisc(), rate, Overhead::default(), rng).shaped_by(Shaper::Dummynet);
        port = port.delayed_by(self.delay());
        // The pipe's number determines that the garbage collector visits it at the third of 64
        // ticks.
        port.warm_up(2 << 58);
        port.log.events = Some(Vec::new());
        port
    }

    fn packet(&self, id: u64, arrival: Arrival) -> Packet {
        let mut packet = Packet::plain(id, arrival.flow, arrival.len);
        packet.ecn = if arrival.capable { Ecn::Ect0 } else { Ecn::NotEct };
        if let Some(&index) = self.queues.get(arrival.flow as usize) {
            let hash = (index << 32).div_ceil(self.flows());
            packet.tuple_hash = flows::tuple_hash_for(hash as u32, SALT);
        }
        packet
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(self.number("delay_ms"))
    }

    fn flows(&self) -> u64 {
        if self.says.contains_key("flows") { self.number("flows") } else { 1_024 }
    }
}

/// Whether a packet was sent or dropped, the time of this event, and the ECN field of a sent
/// packet.
#[derive(Clone, Copy, Debug)]
struct Fate {
    sent: bool,
    at: Instant,
    ecn: Ecn,
}

/// Returns the packets that `port` sends before `end`.
fn sent(port: &mut Port, end: Instant) -> Vec<(u64, Fate)> {
    let mut sent = Vec::new();
    while let Some(due) = port.poll_timeout().filter(|due| *due < end) {
        sent.extend(sent_at(port, due));
    }
    sent
}

/// Returns the packets that `port` sends at `now`. The function polls as the simulator does: once,
/// and again while the port's timeout is `now`.
fn sent_at(port: &mut Port, now: Instant) -> Vec<(u64, Fate)> {
    let mut sent = Vec::new();
    while let Some((packet, departure)) = port.poll_transmit(now) {
        sent.push((packet.id, Fate { sent: true, at: departure.done, ecn: packet.ecn }));
        if port.poll_timeout().is_none_or(|due| due > now) {
            break;
        }
    }
    sent
}

/// Plays a case on the port; returns the outcome of each packet.
fn play(case: &Case<'_>) -> Vec<Fate> {
    let (seed, rate) = (case.number("seed"), case.number("rate"));
    let arrivals = arrivals::arrivals(seed, rate, case.number("packets") as usize);
    let mut port = case.port();
    let mut fates: BTreeMap<u64, Fate> = BTreeMap::new();
    for (id, &arrival) in (0..).zip(&arrivals) {
        fates.extend(sent(&mut port, arrival.at));
        port.offer(case.packet(id, arrival), arrival.at);
        fates.extend(sent_at(&mut port, arrival.at));
    }
    fates.extend(sent(&mut port, Instant::NEVER));
    if case.delay() > Duration::ZERO {
        for fate in fates.values_mut() {
            fate.at = delayed(fate.at, case.delay());
        }
    }
    for (at, id, event) in port.log.events.take().unwrap_or_default() {
        if let Event::Drop(_) = event {
            fates.insert(id, Fate { sent: false, at, ecn: Ecn::NotEct });
        }
    }
    fates.into_values().collect()
}

/// Returns the time at which a pipe releases a packet: `delay` after the start of the tick in which
/// the packet was sent.
fn delayed(sent: Instant, delay: Duration) -> Instant {
    let tick = Duration::from_millis(1).as_nanos();
    Instant::from_nanos(sent.as_nanos() / tick * tick) + delay
}

/// Formats the outcome of a case in the form of `outcomes.txt`.
fn outcome(fates: &[Fate]) -> String {
    let mut digest = Digest::default();
    for fate in fates {
        digest.fold(fate.sent.into());
        digest.fold(fate.at.as_nanos());
        digest.fold(fate.ecn.bits().into());
    }
    let drops = fates.iter().filter(|fate| !fate.sent).count();
    let marks = fates.iter().filter(|fate| fate.ecn == Ecn::Ce).count();
    format!("{drops} {marks} {digest}")
}

#[test]
fn ours_does_what_freebsd_does() {
    let mut parted = Vec::new();
    for line in include_str!("outcomes.txt").lines() {
        let case = Case::parse(line);
        let got = outcome(&play(&case));
        if got != case.outcome {
            parted.push(format!("{line}\n  ours: {got}"));
        }
    }
    assert!(parted.is_empty(), "{} traces part:\n{}", parted.len(), parted.join("\n"));
}
