//! A link that serves a discipline, and the outcome of every packet.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aqmlab_core::{BitRate, Bytes, Digest, Ecn, Instant};

use super::arrivals::Arrival;

/// A discipline under comparison: Linux's code or the module.
pub trait Discipline {
    fn offer(&mut self, id: u64, arrival: Arrival);
    fn take(&mut self, now: Instant) -> Option<(u64, u32, Ecn)>;
    fn is_empty(&self) -> bool;
    /// Returns the packets dropped since the last call.
    fn drops(&mut self) -> Vec<u64>;
    /// Returns the statistics in the order of `tc -s`; delays are in microseconds.
    fn stats(&mut self, now: Instant) -> Vec<i64>;
    /// Returns the next random number, which shows how many numbers were drawn before.
    fn next_draw(&mut self) -> u32;
}

/// The outcome of a packet: whether it was sent or dropped, the time, and its ECN field.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    pub sent: bool,
    /// The time at which the packet left the queue or was dropped.
    pub at: Instant,
    pub ecn: Ecn,
}

/// The outcome of a run: each packet's fate, and the statistics.
#[derive(Default)]
pub struct Played {
    pub fates: BTreeMap<u64, Fate>,
    pub stats: Vec<i64>,
}

/// The way in which a link detects that its discipline is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polls {
    /// The link polls the discipline, as the kernel does.
    Empty,
    /// The link checks the backlog, as the port of the simulator does.
    NeverEmpty,
}

/// A link that polls its discipline when it becomes free, and rests while the discipline is empty.
struct Link {
    polls: Polls,
    rate: BitRate,
    free: Instant,
    rests: bool,
}

impl Link {
    /// Serves the discipline until just before `end`.
    fn serve(&mut self, to: &mut impl Discipline, end: Instant, played: &mut Played) {
        while !self.rests && self.free < end {
            if self.polls == Polls::NeverEmpty && to.is_empty() {
                self.rests = true;
            } else {
                self.poll(self.free, to, played);
            }
        }
    }

    fn poll(&mut self, now: Instant, to: &mut impl Discipline, played: &mut Played) {
        let sent = to.take(now);
        played.drop_all(to.drops(), now);
        self.rests = sent.is_none();
        if let Some((id, len, ecn)) = sent {
            played.fates.insert(id, Fate { sent: true, at: now, ecn });
            self.free = now + self.rate.transmit_time(Bytes(len.into()));
        }
    }
}

impl Played {
    fn drop_all(&mut self, ids: Vec<u64>, at: Instant) {
        for id in ids {
            self.fates.insert(id, Fate { sent: false, at, ecn: Ecn::NotEct });
        }
    }
}

/// Plays the arrivals; takes the statistics after the last arrival and after the last departure,
/// then the next random draw.
pub fn play(to: &mut impl Discipline, arrivals: &[Arrival], rate: u64, polls: Polls) -> Played {
    let rate = BitRate::new(rate).expect("a rate");
    let mut link = Link { polls, rate, free: Instant::ZERO, rests: true };
    let mut played = Played::default();
    for (id, &arrival) in (0..).zip(arrivals) {
        link.serve(to, arrival.at, &mut played);
        to.offer(id, arrival);
        played.drop_all(to.drops(), arrival.at);
        if link.free <= arrival.at {
            link.poll(arrival.at, to, &mut played);
        }
    }
    let last = arrivals.last().expect("an arrival").at;
    played.stats.extend(to.stats(last));
    link.serve(to, Instant::NEVER, &mut played);
    link.poll(link.free, to, &mut played);
    played.stats.extend(to.stats(link.free));
    played.stats.push(to.next_draw().into());
    played
}

/// Formats the outcome of a run: drops, marks, and a digest of all outcomes and statistics.
pub fn outcome(played: &Played, arrivals: &[Arrival]) -> String {
    let mut digest = Digest::default();
    for fate in played.fates.values() {
        digest.fold(fate.sent.into());
        digest.fold(fate.at.as_nanos());
        digest.fold(fate.ecn.bits().into());
    }
    for &number in &played.stats {
        digest.fold(number as u64);
    }
    assert_eq!(played.fates.len(), arrivals.len(), "every packet has a fate");
    let drops = played.fates.values().filter(|fate| !fate.sent).count();
    let marks = played
        .fates
        .iter()
        .filter(|(id, fate)| fate.ecn == Ecn::Ce && arrivals[**id as usize].ecn != Ecn::Ce);
    format!("{drops} {} {digest}", marks.count())
}

/// Formats every packet of a run: its arrival, length and ECN field, and its outcome.
pub fn whole(played: &Played, arrivals: &[Arrival]) -> String {
    let mut text = String::new();
    for (id, fate) in &played.fates {
        let Arrival { at, len, ecn } = arrivals[*id as usize];
        let end = if fate.sent { format!("sent {}", fate.ecn.bits()) } else { "drop".to_owned() };
        writeln!(
            text,
            "{id} {} {len} {} {end} {}",
            at.as_nanos(),
            ecn.bits(),
            fate.at.since(at).as_nanos()
        )
        .expect("a string takes it");
    }
    text
}
