//! The main loop: it serves the sockets, calls the applications, takes samples, and drains the
//! taps.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use aqmlab_core::{Direction, Instant, Side};
use aqmlab_trial::app_runner::{deliver_one, set_marks};
use aqmlab_trial::{AppRunner, Spec};

use crate::conns::text;
use crate::qdisc::{Counters, QueueSample, StatsReader};
use crate::schedule::{DRAIN_NS, SECOND_NS, Schedule};
use crate::sockets::{Conn, Info};
use crate::sys::{self, Poll, Timer};
use crate::taps::{Capture, Record, Tap};
use crate::testbed::{self, Testbed};
use crate::userspace_qdisc::{self, Gateway};

/// The token of the timer.
const TIMER: u64 = 1 << 63;

/// The state of one TCP at one time.
pub(crate) struct TcpSample {
    pub(crate) at: Instant,
    pub(crate) conn: usize,
    pub(crate) side: Side,
    pub(crate) info: Info,
}

/// The state of a trial in its main loop.
pub(crate) struct World<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) testbed: &'a Testbed,
    pub(crate) poll: Poll,
    timer: Timer,
    /// The start of the trial, in nanoseconds since 1970.
    origin_ns: u64,
    pub(crate) now: Instant,
    pub(crate) runner: AppRunner,
    pub(crate) conns: Vec<Conn>,
    pub(crate) listeners: BTreeMap<(usize, usize), OwnedFd>,
    pub(crate) buffer: Vec<u8>,
    taps: [Tap; 2],
    /// The tap behind the disciplines of both directions, between the routers. A discipline in user
    /// space records its own packets.
    between: Option<Tap>,
    /// One reader for each link, in the link's namespace. The list is empty for disciplines in user
    /// space.
    stats_readers: Vec<StatsReader>,
    /// The results of the discipline in user space, if the trial used it.
    pub(crate) ours: Option<userspace_qdisc::Done>,
    pub(crate) records: Vec<Record>,
    /// The packets captured between the routers.
    pub(crate) passed: Vec<Record>,
    pub(crate) tcp: Vec<TcpSample>,
    pub(crate) queues: Vec<QueueSample>,
    /// The gauges of disciplines at the times of the samples: time, link, name and value.
    pub(crate) gauges: Vec<(Instant, usize, &'static str, f64)>,
    /// The captures of the taps at the two ends, if they are kept.
    pub(crate) captures: Option<[Capture; 2]>,
    pub(crate) failure: Option<String>,
}

impl<'a> World<'a> {
    /// Opens the taps and readers of a trial in the testbed that was built for it.
    pub(crate) fn new(spec: &'a Spec, testbed: &'a Testbed) -> Result<Self, String> {
        testbed.enter(Side::Home)?;
        let home = Tap::new(testbed::interface(Side::Home))?;
        testbed.enter(Side::Wan)?;
        let wan = Tap::new(testbed::interface(Side::Wan))?;
        testbed.enter_bottleneck(Direction::Up)?;
        let ours = testbed.mode.ours;
        let between = if ours { None } else { Some(Tap::new("g1")?) };
        let mut stats_readers = Vec::new();
        for installed in testbed.installed.iter().filter(|_| !ours) {
            testbed.enter_bottleneck(installed.direction)?;
            stats_readers.push(StatsReader::new()?);
        }
        let world = Self {
            spec,
            testbed,
            poll: Poll::new().map_err(text)?,
            timer: Timer::new().map_err(text)?,
            origin_ns: 0,
            now: Instant::ZERO,
            runner: AppRunner::of(spec).map_err(|error| error.to_string())?,
            conns: Vec::new(),
            listeners: BTreeMap::new(),
            buffer: Vec::new(),
            taps: [home, wan],
            between,
            stats_readers,
            ours: None,
            records: Vec::new(),
            passed: Vec::new(),
            tcp: Vec::new(),
            queues: Vec::new(),
            gauges: Vec::new(),
            captures: (keeps_packets(spec) && !testbed.mode.host)
                .then(|| [Capture::new(), Capture::new()]),
            failure: None,
        };
        world.poll.watch(world.timer.fd(), TIMER).map_err(text)?;
        Ok(world)
    }

    /// Runs the trial. `tick` is called once for each second of the trial.
    pub(crate) fn run(&mut self, mut tick: impl FnMut()) -> Result<(), String> {
        let mut due = Schedule::new(self.spec);
        // The trial begins at a whole second, so it does not depend on how long the setup took.
        self.origin_ns = (sys::now_ns() / SECOND_NS + 2) * SECOND_NS;
        let (spec, delays) = (self.spec, self.testbed.mode.host);
        let start = |tuns| Gateway::start(spec, tuns, self.origin_ns, delays);
        let gateway = self.testbed.tuns.as_ref().map(start).transpose()?;
        self.wait_for(self.origin_ns)?;
        let mut tokens = Vec::new();
        loop {
            self.look();
            self.do_chores(&mut due, &mut tick)?;
            if self.now.as_nanos() >= due.end {
                break;
            }
            while self.runner.wake_all(self.now) || self.runner.has_notices() {
                while deliver_one(self) {}
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let runner = [self.runner.next_wake(), self.runner.next_mark()];
            let next =
                runner.into_iter().flatten().map(Instant::as_nanos).fold(due.next(), u64::min);
            self.timer.set(self.origin_ns + next).map_err(text)?;
            self.poll.wait(&mut tokens).map_err(text)?;
            self.look();
            for &token in tokens.iter().filter(|&&token| token != TIMER) {
                self.event(token);
            }
        }
        if let Some(gateway) = gateway {
            self.take_userspace_results(gateway.join()?)?;
        }
        match self.taps.iter().chain(&self.between).map(Tap::missed).sum::<u64>() {
            0 => Ok(()),
            missed => Err(format!("the taps missed {missed} packets: their buffer was full")),
        }
    }

    /// Moves this process into the namespace of an end.
    pub(crate) fn enter(&self, side: Side) -> Result<(), String> {
        self.testbed.enter(side)
    }

    fn look(&mut self) {
        self.now = Instant::from_nanos(sys::now_ns().saturating_sub(self.origin_ns));
    }

    /// Does the periodic work that is due.
    fn do_chores(&mut self, due: &mut Schedule, tick: &mut impl FnMut()) -> Result<(), String> {
        let now = self.now.as_nanos();
        set_marks(self, self.now);
        if now >= due.drain.min(due.end) {
            self.empty_taps();
            due.drain = now + DRAIN_NS;
        }
        if now >= due.second {
            tick();
            due.second += SECOND_NS;
        }
        if now >= due.sample && now < due.end {
            self.sample()?;
            due.sample = due.sample.saturating_add(due.every);
        }
        Ok(())
    }

    fn wait_for(&self, at_ns: u64) -> Result<(), String> {
        let mut tokens = Vec::new();
        self.timer.set(at_ns).map_err(text)?;
        while sys::now_ns() < at_ns {
            self.poll.wait(&mut tokens).map_err(text)?;
        }
        Ok(())
    }

    fn empty_taps(&mut self) {
        for (side, tap) in self.taps.iter_mut().enumerate() {
            let capture = self.captures.as_mut().map(|both| &mut both[side]);
            tap.drain(self.origin_ns, &mut self.records, capture);
        }
        if let Some(between) = &mut self.between {
            between.drain(self.origin_ns, &mut self.passed, None);
        }
    }

    /// Stores the results of the discipline in user space. Returns an error if the discipline
    /// missed a packet.
    fn take_userspace_results(&mut self, mut done: userspace_qdisc::Done) -> Result<(), String> {
        self.passed = std::mem::take(&mut done.passed);
        // Sorts the packets by time, as they are without a discipline in user space.
        self.passed.sort_by_key(|record| record.at);
        self.queues = std::mem::take(&mut done.samples);
        self.gauges = std::mem::take(&mut done.gauges);
        self.ours = Some(done);
        match self.testbed.missed_by_userspace_qdisc()? {
            0 => Ok(()),
            missed => Err(format!("the gateway missed {missed} packets: it was too slow")),
        }
    }

    fn sample(&mut self) -> Result<(), String> {
        for (index, conn) in self.conns.iter_mut().enumerate().filter(|(_, conn)| conn.is_tcp()) {
            for side in [Side::Home, Side::Wan] {
                let end = &mut conn.ends[side.index()];
                let Some(info) = end.fd.as_ref().and_then(Info::of) else { continue };
                end.info = info;
                if info.data_segs_out > 0 {
                    self.tcp.push(TcpSample { at: self.now, conn: index, side, info });
                }
            }
        }
        let all = self.testbed.installed.iter().zip(&mut self.stats_readers).enumerate();
        for (link, (installed, reader)) in all {
            let (counters, gauges) = reader.read(installed.device)?;
            self.queues.push(QueueSample { at: self.now, link, counters });
            let all = gauges.into_iter().map(|(name, value)| (self.now, link, name, value));
            self.gauges.extend(all);
        }
        Ok(())
    }

    /// Reads every connection and discipline for the last time. Returns the counters of the
    /// disciplines.
    pub(crate) fn finish(&mut self) -> Result<Vec<Counters>, String> {
        for conn in self.conns.iter_mut().filter(|conn| conn.is_tcp()) {
            for end in &mut conn.ends {
                if let Some(info) = end.fd.as_ref().and_then(Info::of) {
                    end.info = info;
                }
            }
        }
        if let Some(done) = &self.ours {
            return Ok(done.links.iter().map(|link| link.counters).collect());
        }
        let both = self.testbed.installed.iter().zip(&mut self.stats_readers);
        both.map(|(one, reader)| reader.read(one.device).map(|(counters, _)| counters)).collect()
    }
}

/// Returns whether to keep every packet.
fn keeps_packets(spec: &Spec) -> bool {
    spec.measure.enabled && spec.measure.packets
}
