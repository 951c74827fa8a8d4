//! Compares a discipline with a recording of another implementation, operation by operation.
//!
//! A [`Recording`] contains the operations of a discipline in order. Each operation is an enqueue
//! or a dequeue, with its result and with the time that the discipline read. The agent records the
//! kernel's disciplines, but this module does not depend on a kernel. The hashes of the flows and
//! the random numbers come from the recording. A different result for a packet therefore shows a
//! difference between the disciplines.
//!
//! For a discipline whose control law has a timer (PIE), all times are shifted by a whole number of
//! the law's time units. The updates of the law then fall between the same operations as in the
//! recording. The kernel's timers wait until the sender has finished, so an operation may precede
//! an update that was due a few microseconds earlier. Such an operation is moved in time to just
//! before the update, by at most about [`LATE`], and is counted as `moved`. An operation that read
//! no clock has the time of the operation before it. If an update took place between the two, the
//! second operation is moved to the update, and is also counted. Sometimes the kernel's timer is
//! late by a whole tick from some time on. The replay then delays its timer at the same time, and
//! counts this as `late`.

mod sent;

use std::collections::BTreeMap;

use aqmlab_core::{Cx, Duration, Ecn, Event, Instant, Log, Packet, Reason, Rng};
use aqmlab_qdisc::aqm::timer::{Clock, Timer};
use aqmlab_qdisc::{Qdisc, flows};
use aqmlab_trial::SpecError;
use aqmlab_trial::arguments::arguments;
use aqmlab_trial::spec::{KindSpec, QdiscKind};
use serde::Deserialize;

pub use self::sent::SentTcp;

/// The operations of a discipline on a trace of packets.
///
/// Most columns have an entry for each operation, for each packet or for each flow. The other
/// columns list some of the operations or flows.
#[derive(Clone, Debug, Deserialize)]
pub struct Recording {
    /// The discipline to compare, with its parameters.
    pub qdisc: KindSpec<QdiscKind>,
    /// The flow of each packet.
    pub flow: Vec<u32>,
    /// The ECN field that each flow sends.
    pub flow_ecn: Vec<u8>,
    /// The Differentiated Services codepoint that each flow sends; empty if all send 0.
    #[serde(default)]
    pub flow_dscp: Vec<u8>,
    /// Pairs of a flow and the hash of its packets, for disciplines that hash.
    #[serde(default)]
    pub hashes: Vec<(u32, u32)>,
    /// Triples of a flow, the hash of its source and the hash of its destination, for disciplines
    /// that hash hosts.
    #[serde(default)]
    pub hosts: Vec<(u32, u32, u32)>,
    /// The TCP header of each packet, if the packets are segments.
    #[serde(default)]
    pub tcp: Vec<Option<SentTcp>>,
    /// The number of bytes that the discipline counts beyond the IP length.
    #[serde(default)]
    pub link_header: u32,
    /// 1 for an enqueue, 0 for a dequeue.
    pub offer: Vec<u8>,
    /// The nanoseconds since the previous operation. For the first operation, they count from the
    /// clock's zero.
    pub time: Vec<i64>,
    /// The packet enqueued or dequeued; −1 for none.
    pub id: Vec<i64>,
    /// The number of bytes that the discipline counts for an enqueued packet.
    pub len: Vec<u32>,
    /// The ECN field of the packet dequeued.
    pub ecn: Vec<u8>,
    /// The codepoint of the packet dequeued; empty if codepoints were not recorded.
    #[serde(default)]
    pub dscp: Vec<u8>,
    /// Pairs of an operation and a packet that was dropped in it.
    pub drops: Vec<(usize, u64)>,
    /// Pairs of an operation and a random number drawn in it, in the upper bits of 64 bits.
    #[serde(default)]
    pub draws: Vec<(usize, u64)>,
    /// Pairs of an operation and a further time that the discipline read in it, in nanoseconds
    /// since the clock's zero.
    #[serde(default)]
    pub later: Vec<(usize, u64)>,
    /// The discipline's statistics after the last operation, by the names of its gauges.
    #[serde(default)]
    pub gauges: BTreeMap<String, f64>,
    /// The operations before which a timer expired, with one entry for each expiry.
    #[serde(default)]
    pub updates: Vec<usize>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of operations with equal results, up to the first difference.
    pub operations: usize,
    /// The number of packets enqueued in these operations.
    pub offered: usize,
    /// The number of packets dequeued in these operations.
    pub given: usize,
    /// The number of packets dropped in these operations.
    pub dropped: usize,
    /// The number of packets dequeued in these operations with an ECN field that the queue had
    /// changed.
    pub marked: usize,
    /// The number of operations in the whole recording that were moved to just before an update of
    /// a timer, or to an update.
    pub moved: usize,
    /// The number of times in the whole recording that a timer was late by a tick.
    pub late: usize,
    /// The first difference, if there is one: the operation or the statistic, and both values.
    pub difference: Option<String>,
}

/// The longest time by which an operation is moved to keep its place before an update, apart from
/// rounding to the law's time units.
pub const LATE: Duration = Duration::from_micros(20);
/// The salt of the simulator's discipline. With a known salt, a packet can get the recorded hash.
const SALT: u32 = 1;
/// The unit of PIE's time in nanoseconds (`PSCHED_SHIFT`). A shift by whole units leaves every time
/// difference unchanged.
const UNIT: i64 = 64;

/// Compares the simulator's discipline with `recording`, operation by operation, up to the first
/// difference.
///
/// # Errors
///
/// If a parameter of the discipline does not exist or is out of bounds, or if the recording is
/// inconsistent.
pub fn replay(recording: &Recording) -> Result<Comparison, SpecError> {
    recording.check()?;
    let mut qdisc = recording.build()?;
    let Course { times, shift, moved, late } = recording.course()?;
    let mut player = Player::new(recording, shift);
    (player.result.moved, player.result.late) = (moved, late.len());
    if !late.is_empty() {
        // A few bytes are leaked once per recording with late timers. Timers are copied with their
        // laws, so they cannot own memory.
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
    if player.result.difference.is_none() {
        player.result.difference = recording.compare_gauges(&*qdisc);
    }
    Ok(player.result)
}

impl Recording {
    fn check(&self) -> Result<(), SpecError> {
        let all = self.offer.len();
        let columns = [self.time.len(), self.id.len(), self.len.len(), self.ecn.len()];
        let packets = self.flow.len() as u64;
        let ids = self.id.iter().all(|&id| id == -1 || (id as u64) < packets);
        let flows = self.flow.iter().all(|&flow| (flow as usize) < self.flow_ecn.len())
            && fits(self.flow_dscp.len(), self.flow_ecn.len())
            && fits(self.dscp.len(), all)
            && fits(self.tcp.len(), self.flow.len());
        let lists = self.drops.iter().all(|&(place, id)| place < all && id < packets)
            && self.draws.iter().chain(&self.later).all(|&(place, _)| place < all)
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

    /// Compares the discipline's statistics with the recorded statistics. Returns the first
    /// difference, if any.
    fn compare_gauges(&self, qdisc: &dyn Qdisc) -> Option<String> {
        let got: BTreeMap<_, _> = qdisc.gauges().into_iter().collect();
        self.gauges.iter().find_map(|(name, want)| match got.get(name.as_str()) {
            Some(value) if value.total_cmp(want).is_eq() => None,
            Some(value) => Some(format!("statistic {name}: recorded {want}, simulated {value}")),
            None => Some(format!("statistic {name}: recorded {want}, but not simulated")),
        })
    }

    /// Returns the times of the operations for the simulator's discipline, as [`Self::align`]
    /// shifts them.
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
        let Alignment { shift, moved, late } = self.align(&mut times)?;
        let early = || SpecError::new("recording", "it begins before the clock's zero");
        let instants = times.iter().map(|&at| u64::try_from(at).ok().map(Instant::from_nanos));
        let times = instants.collect::<Option<_>>().ok_or_else(early)?;
        Ok(Course { times, shift, moved, late })
    }

    /// Shifts all times so that the timer's updates fall between the same operations as in the
    /// recording.
    fn align(&self, times: &mut [i64]) -> Result<Alignment, SpecError> {
        if self.updates.is_empty() {
            return Ok(Alignment::default());
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
            for at in times[place..].iter_mut().take_while(|at| **at < due) {
                *at = due;
                moved += 1;
            }
        }
        Ok(Alignment { shift, moved, late: schedule.late })
    }

    /// Returns the schedule of the simulator's timer, with one expiry for each update.
    fn schedule(&self, seen: &[i64]) -> Result<Schedule, SpecError> {
        let args = arguments("qdisc", self.qdisc.kind.0.params, &self.qdisc.params)?;
        let clock = Clock::wheel(args.duration("tick"));
        let half = Duration::from_millis(500);
        let mut timer = Timer::start(clock, Instant::ZERO, half, args.duration("tupdate"));
        let mut schedule = Schedule { dues: Vec::new(), shift: i64::MAX, late: Vec::new() };
        for &place in &self.updates {
            let before = place.checked_sub(1).and_then(|place| seen.get(place));
            let least = before.map_or(i64::MIN, |at| at - signed(LATE));
            // With a punctual timer, an operation that preceded this update would follow it. The
            // timer was therefore late.
            while least.saturating_sub(signed(since_zero(timer.due()))) > schedule.shift {
                schedule.late.push(timer.due());
                timer.wait();
            }
            let due = signed(since_zero(timer.due()));
            // An operation that read no clock has the time of the operation before it. If it
            // follows the update, its time says nothing about the time of the update.
            let mut following = seen.iter().skip(place);
            if let Some(after) = following.find(|after| before.is_none_or(|at| *after > at)) {
                schedule.shift = schedule.shift.min(after - due);
            }
            schedule.dues.push(due);
            timer.advance();
        }
        schedule.check(&self.updates, seen)?;
        Ok(schedule)
    }
}

/// The change of all times by [`Recording::align`].
#[derive(Default)]
struct Alignment {
    /// The nanoseconds by which all times are earlier than recorded.
    shift: i64,
    /// The number of operations that were moved in addition.
    moved: usize,
    /// The expiries at which the timer must be late.
    late: Vec<Instant>,
}

/// The times of the operations for the simulator's discipline, and how they were aligned.
struct Course {
    times: Vec<Instant>,
    shift: i64,
    moved: usize,
    late: Vec<Instant>,
}

/// The expiries of a timer, matched to the recorded updates.
struct Schedule {
    /// The time of each update by the timer's own clock.
    dues: Vec<i64>,
    /// The time to subtract from all operations. Operations that followed an update then still
    /// follow it.
    shift: i64,
    /// The expiries at which the timer must be late.
    late: Vec<Instant>,
}

impl Schedule {
    /// Checks that no operation that preceded an update takes place too long after the update was
    /// due.
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

/// Returns whether a column has `all` entries, or none because it was left out.
const fn fits(len: usize, all: usize) -> bool {
    len == 0 || len == all
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
    given: Option<Given>,
    marked: bool,
    dropped: Vec<u64>,
    draws: usize,
}

/// A packet that an operation dequeued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given {
    id: u64,
    ecn: u8,
    dscp: u8,
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.given {
            Some(Given { id, ecn, dscp: 0 }) => write!(f, "packet {id} with ECN {ecn}")?,
            Some(Given { id, ecn, dscp }) => {
                write!(f, "packet {id} with ECN {ecn} and codepoint {dscp}")?;
            }
            None if self.offered => write!(f, "an offer")?,
            None => write!(f, "no packet")?,
        }
        write!(f, ", dropped {:?}", self.dropped)?;
        match self.draws {
            0 => Ok(()),
            1 => write!(f, ", by chance"),
            draws => write!(f, ", by {draws} chances"),
        }
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
    hosts: BTreeMap<u32, [u32; 2]>,
    drops: BTreeMap<usize, Vec<u64>>,
    draws: BTreeMap<usize, Vec<u64>>,
    later: BTreeMap<usize, Vec<u64>>,
    /// The nanoseconds by which all times are earlier than recorded.
    shift: i64,
    result: Comparison,
}

impl<'a> Player<'a> {
    fn new(recording: &'a Recording, shift: i64) -> Self {
        let hosts = recording.hosts.iter();
        Self {
            recording,
            hashes: recording.hashes.iter().copied().collect(),
            hosts: hosts
                .map(|&(flow, source, destination)| (flow, [source, destination]))
                .collect(),
            drops: by_place(&recording.drops),
            draws: by_place(&recording.draws),
            later: by_place(&recording.later),
            shift,
            result: Comparison::default(),
        }
    }

    /// Performs operation `place` on the simulator's discipline.
    fn step(&self, place: usize, now: Instant, qdisc: &mut dyn Qdisc) -> Done {
        let mut rng = Rng::saying(self.draws.get(&place).map_or(&[], Vec::as_slice));
        let mut log = self.log(place);
        let mut cx = Cx { now, rng: &mut rng, log: &mut log };
        let offered = self.recording.offer[place] == 1;
        let given = if offered {
            qdisc.enqueue(self.packet(place), &mut cx);
            None
        } else {
            qdisc.dequeue(&mut cx)
        };
        let has_dscp = !self.recording.dscp.is_empty();
        let given = given.map(|packet| Given {
            id: packet.id,
            ecn: packet.ecn.bits(),
            dscp: if has_dscp { packet.dscp } else { 0 },
        });
        let marked = self.is_marked(given);
        Done { offered, given, marked, dropped: log.ids, draws: rng.said() }
    }

    fn log(&self, place: usize) -> Dropped<'_> {
        let later = self.later.get(&place).map_or(&[][..], Vec::as_slice).iter();
        Dropped { ids: Vec::new(), later, shift: self.shift }
    }

    fn expected(&self, place: usize) -> Done {
        let offered = self.recording.offer[place] == 1;
        let id = u64::try_from(self.recording.id[place]).ok().filter(|_| !offered);
        let dscp = self.recording.dscp.get(place).copied().unwrap_or(0);
        let given = id.map(|id| Given { id, ecn: self.recording.ecn[place], dscp });
        Done {
            offered,
            given,
            marked: self.is_marked(given),
            dropped: self.drops.get(&place).cloned().unwrap_or_default(),
            draws: self.draws.get(&place).map_or(0, Vec::len),
        }
    }

    fn is_marked(&self, given: Option<Given>) -> bool {
        given.is_some_and(|given| given.ecn != self.sent_with(given.id))
    }

    fn sent_with(&self, id: u64) -> u8 {
        self.recording.flow_ecn[self.recording.flow[id as usize] as usize]
    }

    fn packet(&self, place: usize) -> Packet {
        let id = self.recording.id[place].max(0) as u64;
        let flow = self.recording.flow[id as usize];
        let len = self.recording.len[place];
        let ip_len = len.saturating_sub(self.recording.link_header);
        let mut packet = Packet::plain(id, flow, ip_len);
        packet.len = len;
        packet.dscp = self.recording.flow_dscp.get(flow as usize).copied().unwrap_or(0);
        packet.ecn = match self.sent_with(id) {
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => Ecn::NotEct,
        };
        if let Some(&hash) = self.hashes.get(&flow) {
            packet.tuple_hash = flows::tuple_hash_for(hash, SALT);
        }
        if let Some(hosts) = self.hosts.get(&flow) {
            [packet.source, packet.destination] =
                hosts.map(|hash| flows::tuple_hash_for(hash, SALT));
        }
        if let Some(Some(tcp)) = self.recording.tcp.get(id as usize) {
            packet.header = tcp.header();
        }
        packet
    }
}

/// Returns the values in `pairs` by operation.
fn by_place(pairs: &[(usize, u64)]) -> BTreeMap<usize, Vec<u64>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for &(place, value) in pairs {
        all.entry(place).or_default().push(value);
    }
    all
}

/// The packets that were dropped in an operation, and the further clock readings in it.
struct Dropped<'a> {
    ids: Vec<u64>,
    /// The recorded readings, in nanoseconds since the clock's zero.
    later: std::slice::Iter<'a, u64>,
    /// The nanoseconds by which all times are earlier than recorded.
    shift: i64,
}

impl Log for Dropped<'_> {
    fn record(&mut self, _now: Instant, packet: &Packet, event: Event) {
        match event {
            Event::Drop(Reason::Path) | Event::Mark(_) => {}
            Event::Drop(_) => self.ids.push(packet.id),
        }
    }

    fn read_clock(&mut self, now: Instant) -> Instant {
        let read = |&ns: &u64| Instant::from_nanos(ns.saturating_add_signed(-self.shift));
        self.later.next().map_or(now, read)
    }
}

#[cfg(test)]
mod tests;
