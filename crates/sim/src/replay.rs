//! Compares a discipline with a recording of another, operation by operation.
//!
//! A [`Recording`] holds the operations of a discipline in order: enqueues and dequeues, each with
//! the time that the discipline read and its result. The agent records the kernel's disciplines, but
//! nothing here depends on a kernel. The flows' hashes and the random numbers come from the
//! recording. So a difference of one packet is a difference of the disciplines.
//!
//! The clock of a law with a timer (PIE) is shifted by a whole number of the law's units, so that its
//! updates fall between the same operations as in the recording. The kernel's timers wait until the
//! sender has finished, so an operation may precede an update that was due some microseconds
//! before. Such an operation is moved to just before the update, by [`LATE`] at most, and counted
//! as `moved`. Sometimes the kernel's timer is late by a whole tick from then on. Then the replay
//! delays this timer at the same time, counted as `late`.

use std::collections::BTreeMap;

use aqmlab_core::{Cx, Duration, Ecn, Event, Instant, Log, Packet, Reason, Rng};
use aqmlab_qdisc::aqm::timer::{Clock, Timer};
use aqmlab_qdisc::{Qdisc, flows};
use aqmlab_trial::SpecError;
use aqmlab_trial::arguments::arguments;
use aqmlab_trial::spec::{KindSpec, QdiscKind};
use serde::Deserialize;

/// The operations of a discipline on a trace of packets.
///
/// Columns have an entry for each operation, or for each packet.
#[derive(Clone, Debug, Deserialize)]
pub struct Recording {
    /// The discipline to compare.
    pub qdisc: KindSpec<QdiscKind>,
    /// The flow of each packet.
    pub flow: Vec<u32>,
    /// The ECN field with which each flow sends.
    pub flow_ecn: Vec<u8>,
    /// Flows, and the hashes of their packets, where the discipline hashed.
    #[serde(default)]
    pub hashes: Vec<(u32, u32)>,
    /// 1 for an enqueue, 0 for a dequeue.
    pub offer: Vec<u8>,
    /// Nanoseconds since the operation before; for the first, since the clock's zero.
    pub time: Vec<i64>,
    /// The packet offered or given; −1 for none.
    pub id: Vec<i64>,
    /// The bytes that the discipline counts for a packet offered.
    pub len: Vec<u32>,
    /// The ECN field with which a packet was given.
    pub ecn: Vec<u8>,
    /// Operations, and packets destroyed in them.
    pub drops: Vec<(usize, u64)>,
    /// Operations, and random numbers drawn in them, in the upper bits of 64.
    #[serde(default)]
    pub draws: Vec<(usize, u64)>,
    /// Operations before which a timer went off.
    #[serde(default)]
    pub updates: Vec<usize>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Operations that were the same.
    pub operations: usize,
    /// Packets offered in them.
    pub offered: usize,
    /// Packets given.
    pub given: usize,
    /// Packets destroyed.
    pub dropped: usize,
    /// Packets that arrived unmarked and left marked.
    pub marked: usize,
    /// Operations of the whole recording that were moved before an update of a timer.
    pub moved: usize,
    /// The number of times that a timer was late by a tick.
    pub late: usize,
    /// The first operation that was not the same, with the difference.
    pub difference: Option<String>,
}

/// The longest time by which an operation is moved to keep its place before an update.
pub const LATE: Duration = Duration::from_micros(20);
/// The salt that a discipline is given, so that a flow's bucket can be chosen.
const SALT: u32 = 1;
/// PIE counts time in units of 64 ns; a shift by whole units leaves every difference as it is.
const UNIT: i64 = 64;

/// Compares our discipline with `recording`, operation by operation, up to the first difference.
///
/// # Errors
///
/// If the discipline or a parameter does not exist, or the recording is not whole.
pub fn replay(recording: &Recording) -> Result<Comparison, SpecError> {
    recording.check()?;
    let mut qdisc = recording.build()?;
    let Course { times, moved, late } = recording.course()?;
    let mut player = Player::new(recording);
    (player.result.moved, player.result.late) = (moved, late.len());
    if !late.is_empty() {
        // A few bytes that are never freed, once per recording with late timers. Timers are copied
        // with their laws, so they own nothing.
        let late: &'static [Instant] = late.leak();
        qdisc.visit_timers(&mut |timer| timer.late_at(late));
    }
    for (place, now) in times.into_iter().enumerate() {
        let got = player.step(place, now, &mut *qdisc);
        let want = player.expected(place);
        if got != want {
            let difference =
                format!("operation {place} at {now}: recorded {want}, simulated {got}");
            player.result.difference = Some(difference);
            break;
        }
        player.result.count(&want);
    }
    Ok(player.result)
}

impl Recording {
    fn check(&self) -> Result<(), SpecError> {
        let all = self.offer.len();
        let columns = [self.time.len(), self.id.len(), self.len.len(), self.ecn.len()];
        let packets = self.flow.len() as u64;
        let ids = self.id.iter().all(|&id| id == -1 || (id as u64) < packets);
        let flows = self.flow.iter().all(|&flow| (flow as usize) < self.flow_ecn.len());
        let lists = self.drops.iter().all(|&(place, id)| place < all && id < packets)
            && self.draws.iter().all(|&(place, _)| place < all)
            && self.updates.iter().all(|&place| place <= all);
        if columns == [all; 4] && ids && flows && lists {
            return Ok(());
        }
        Err(SpecError::new("recording", "its columns do not fit together"))
    }

    fn build(&self) -> Result<Box<dyn Qdisc>, SpecError> {
        let (kind, mut params) = (self.qdisc.kind.0, self.qdisc.params.clone());
        if kind.params.iter().any(|param| param.name == "salt") {
            params.insert("salt".into(), SALT.into());
        }
        let args = arguments("qdisc", kind.params, &params)?;
        Ok((kind.build)(&args))
    }

    /// Returns the times of the operations for our discipline.
    fn course(&self) -> Result<Course, SpecError> {
        let mut at = 0;
        let mut times: Vec<i64> = self
            .time
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        let (moved, late) = self.align(&mut times)?;
        let early = || SpecError::new("recording", "it begins before the clock's zero");
        let instants = times.iter().map(|&at| u64::try_from(at).ok().map(Instant::from_nanos));
        Ok(Course { times: instants.collect::<Option<_>>().ok_or_else(early)?, moved, late })
    }

    /// Shifts all times so that the timer's updates fall where they fell. Returns how many
    /// operations had to be moved besides, and when the timer has to be late.
    fn align(&self, times: &mut [i64]) -> Result<(usize, Vec<Instant>), SpecError> {
        if self.updates.is_empty() {
            return Ok((0, Vec::new()));
        }
        let schedule = self.schedule(times)?;
        let shift = schedule.shift.div_euclid(UNIT) * UNIT;
        for at in times.iter_mut() {
            *at -= shift;
        }
        let mut moved = 0;
        for (&place, &due) in self.updates.iter().zip(&schedule.dues) {
            for at in times[..place].iter_mut().rev().take_while(|at| **at >= due) {
                *at = due - 1;
                moved += 1;
            }
        }
        Ok((moved, schedule.late))
    }

    /// Returns the expiries of our timer, one for each update.
    fn schedule(&self, seen: &[i64]) -> Result<Schedule, SpecError> {
        let args = arguments("qdisc", self.qdisc.kind.0.params, &self.qdisc.params)?;
        let clock = Clock::wheel(args.duration("tick"));
        let half = Duration::from_millis(500);
        let mut timer = Timer::start(clock, Instant::ZERO, half, args.duration("tupdate"));
        let mut schedule = Schedule { dues: Vec::new(), shift: i64::MAX, late: Vec::new() };
        for &place in &self.updates {
            let before = place.checked_sub(1).and_then(|place| seen.get(place));
            let least = before.map_or(i64::MIN, |at| at - signed(LATE));
            // An operation before this update would come after it, so the timer must have been
            // late.
            while least.saturating_sub(signed(since_zero(timer.due()))) > schedule.shift {
                schedule.late.push(timer.due());
                timer.wait();
            }
            let due = signed(since_zero(timer.due()));
            if let Some(after) = seen.get(place) {
                schedule.shift = schedule.shift.min(after - due);
            }
            schedule.dues.push(due);
            timer.advance();
        }
        schedule.check(&self.updates, seen)?;
        Ok(schedule)
    }
}

/// The times of the operations for our discipline.
struct Course {
    times: Vec<Instant>,
    moved: usize,
    late: Vec<Instant>,
}

/// The times of a timer's updates by its own clock, and the shift of all operations by which those
/// that followed an update stay after it.
struct Schedule {
    dues: Vec<i64>,
    shift: i64,
    late: Vec<Instant>,
}

impl Schedule {
    /// Checks that operations before an update are not too far after it.
    fn check(&self, updates: &[usize], times: &[i64]) -> Result<(), SpecError> {
        for (&place, due) in updates.iter().zip(&self.dues) {
            let before = place.checked_sub(1).and_then(|place| times.get(place));
            let after = before.map_or(0, |at| at - self.shift + UNIT - due);
            if after > signed(LATE) + 2 * UNIT {
                let problem = format!("its timer was {after} ns late");
                return Err(SpecError::new("recording", problem));
            }
        }
        Ok(())
    }
}

const fn since_zero(at: Instant) -> Duration {
    Duration::from_nanos(at.as_nanos())
}

fn signed(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// The result of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Done {
    offered: bool,
    given: Option<(u64, u8)>,
    marked: bool,
    dropped: Vec<u64>,
    drew: bool,
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.given {
            Some((id, ecn)) => write!(f, "packet {id} with ECN {ecn}")?,
            None if self.offered => write!(f, "an offer")?,
            None => write!(f, "no packet")?,
        }
        write!(f, ", dropped {:?}", self.dropped)?;
        if self.drew { write!(f, ", by chance") } else { Ok(()) }
    }
}

impl Comparison {
    fn count(&mut self, done: &Done) {
        self.operations += 1;
        self.offered += usize::from(done.offered);
        self.given += usize::from(done.given.is_some());
        self.marked += usize::from(done.marked);
        self.dropped += done.dropped.len();
    }
}

struct Player<'a> {
    recording: &'a Recording,
    hashes: BTreeMap<u32, u32>,
    drops: BTreeMap<usize, Vec<u64>>,
    draws: BTreeMap<usize, u64>,
    result: Comparison,
}

impl<'a> Player<'a> {
    fn new(recording: &'a Recording) -> Self {
        let mut drops: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for &(place, id) in &recording.drops {
            drops.entry(place).or_default().push(id);
        }
        Self {
            recording,
            hashes: recording.hashes.iter().copied().collect(),
            drops,
            draws: recording.draws.iter().copied().collect(),
            result: Comparison::default(),
        }
    }

    /// Lets our discipline do operation `place`.
    fn step(&self, place: usize, now: Instant, qdisc: &mut dyn Qdisc) -> Done {
        let before = Rng::saying(self.draws.get(&place).copied().unwrap_or(0));
        let (mut rng, mut log) = (before.clone(), Dropped::default());
        let mut cx = Cx { now, rng: &mut rng, log: &mut log };
        let offered = self.recording.offer[place] == 1;
        let given = if offered {
            qdisc.enqueue(self.packet(place), &mut cx);
            None
        } else {
            qdisc.dequeue(&mut cx)
        };
        let given = given.map(|packet| (packet.id, packet.ecn.bits()));
        let drew = rng != before;
        Done { offered, given, marked: self.is_marked(given), dropped: log.0, drew }
    }

    fn expected(&self, place: usize) -> Done {
        let offered = self.recording.offer[place] == 1;
        let id = u64::try_from(self.recording.id[place]).ok().filter(|_| !offered);
        let given = id.map(|id| (id, self.recording.ecn[place]));
        Done {
            offered,
            given,
            marked: self.is_marked(given),
            dropped: self.drops.get(&place).cloned().unwrap_or_default(),
            drew: self.draws.contains_key(&place),
        }
    }

    fn is_marked(&self, given: Option<(u64, u8)>) -> bool {
        given.is_some_and(|(id, ecn)| ecn != self.sent_with(id))
    }

    fn sent_with(&self, id: u64) -> u8 {
        self.recording.flow_ecn[self.recording.flow[id as usize] as usize]
    }

    fn packet(&self, place: usize) -> Packet {
        let id = self.recording.id[place].max(0) as u64;
        let flow = self.recording.flow[id as usize];
        let mut packet = Packet::plain(id, flow, self.recording.len[place]);
        packet.ecn = match self.sent_with(id) {
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => Ecn::NotEct,
        };
        if let Some(&hash) = self.hashes.get(&flow) {
            packet.tuple_hash = flows::tuple_hash_for(hash, SALT);
        }
        packet
    }
}

/// The packets that were destroyed.
#[derive(Default)]
struct Dropped(Vec<u64>);

impl Log for Dropped {
    fn record(&mut self, _now: Instant, packet: &Packet, event: Event) {
        if let Event::Drop(Reason::Overlimit | Reason::Sojourn | Reason::Early | Reason::Forced) =
            event
        {
            self.0.push(packet.id);
        }
    }
}

#[cfg(test)]
mod tests;
