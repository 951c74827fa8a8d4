//! The test of one direction: its load, its probes and its intervals.

use std::collections::BTreeMap;

use aqmlab_core::{Direction, Duration, Instant, Side};

use super::Config;
use super::channel::{Channel, Heard};
use super::foreign::{ForeignProbe, ms};
use super::history::History;
use super::report::Names;
use super::stages::Stages;
use crate::quantiles::Summary;
use crate::{ConnId, Io, Notice};

/// The state of a test after a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Running,
    /// Both stages are over.
    Complete,
    /// A connection of the load has failed.
    Failed,
}

/// A connection of the load.
#[derive(Debug)]
struct Load {
    channel: Channel,
    is_open: bool,
    /// Whether the TLS handshake is complete and the transfer has been requested.
    is_active: bool,
}

/// The kind of a wake-up that ends an interval, in the lowest bit of its token.
const EVALUATE: u64 = 0;
/// The kind of a wake-up that sends a probe.
const PROBE: u64 = 1;

/// The test of one direction, in progress or ended.
pub(crate) struct DirectionTest {
    direction: Direction,
    config: Config,
    loads: Vec<Load>,
    /// The number of connections of the load that were opened.
    opened: usize,
    foreign: BTreeMap<ConnId, ForeignProbe>,
    history: History,
    stages: Stages,
    /// The number of the present interval. Wake-ups for earlier intervals are ignored.
    interval: u64,
    /// The time between two probes; `None` while the capacity is unknown.
    pace: Option<Duration>,
    last_probe: Option<Instant>,
    /// Whether the next probe is a foreign probe.
    is_foreign_next: bool,
    has_failed: bool,
    ended: Option<Instant>,
}

impl DirectionTest {
    /// Begins a test: opens the first connections of the load.
    pub(crate) fn begin(direction: Direction, config: Config, io: &mut dyn Io) -> Self {
        let mut test = Self {
            direction,
            config,
            loads: Vec::new(),
            opened: 0,
            foreign: BTreeMap::new(),
            history: History::new(config.rule.distance, io.now()),
            stages: Stages::new(config.rule),
            interval: 0,
            pace: None,
            last_probe: None,
            is_foreign_next: true,
            has_failed: false,
            ended: None,
        };
        test.add_loads(config.initial, io);
        test.wake_at(io.now() + config.interval, EVALUATE, io);
        test
    }

    /// Ends the test: resets its connections, as a client does that closes sockets with unread
    /// data.
    pub(crate) fn end(&mut self, io: &mut dyn Io) {
        if self.ended.is_none() {
            self.ended = Some(io.now());
            let loads = self.loads.drain(..).map(|load| load.channel.conn);
            for conn in loads.chain(std::mem::take(&mut self.foreign).into_keys()) {
                io.abort(conn, Side::Home);
            }
        }
    }

    pub(crate) fn handle(&mut self, notice: Notice, io: &mut dyn Io) -> Progress {
        match notice {
            Notice::Wake(token) if token == self.token(EVALUATE) => return self.evaluate(io),
            Notice::Wake(token) if token == self.token(PROBE) => self.send_probe(io),
            Notice::Opened(conn) => self.on_opened(conn, io),
            Notice::Read { conn, at, bytes } => self.on_read(conn, at, bytes, io),
            Notice::Writable { conn, at } => self.on_writable(conn, at, io),
            Notice::Closed(conn) => self.on_closed(conn, io),
            _ => {}
        }
        Progress::Running
    }

    fn token(&self, kind: u64) -> u64 {
        self.interval << 2 | (self.direction.index() as u64) << 1 | kind
    }

    fn wake_at(&self, at: Instant, kind: u64, io: &mut dyn Io) {
        io.wake_at(at, self.token(kind));
    }

    /// Opens up to `count` connections of the load.
    fn add_loads(&mut self, count: usize, io: &mut dyn Io) {
        for _ in 0..count.min(self.config.most - self.opened) {
            let channel = Channel::open(self.config.sizes, io);
            self.loads.push(Load { channel, is_open: false, is_active: false });
            self.opened += 1;
        }
    }

    /// Ends an interval: evaluates it, and begins the next unless the test is over.
    fn evaluate(&mut self, io: &mut dyn Io) -> Progress {
        if self.has_failed {
            self.end(io);
            return Progress::Failed;
        }
        let length = self.config.interval;
        let rpm = self.history.means(self.config.trim).responsiveness_rpm();
        let goodput_bps = self.history.present_bps(length);
        self.note(goodput_bps, rpm, io);
        if self.stages.add(self.history.average_bps(length), rpm) {
            self.end(io);
            return Progress::Complete;
        }
        self.history.begin_interval(io.now());
        self.interval += 1;
        self.add_loads(self.config.increment, io);
        self.wake_at(io.now() + length, EVALUATE, io);
        self.set_pace(goodput_bps, io);
        Progress::Running
    }

    fn note(&self, goodput_bps: f64, rpm: Option<f64>, io: &mut dyn Io) {
        let names = Names::of(self.direction);
        io.note(names.goodput, goodput_bps / 1e6);
        if let Some(rpm) = rpm {
            io.note(names.responsiveness, rpm);
        }
    }

    /// Spreads the probes of an interval over its time. The two kinds alternate.
    fn set_pace(&mut self, capacity_bps: f64, io: &mut dyn Io) {
        self.pace = self.config.probes.between_pairs(capacity_bps).map(|pair| pair / 2);
        if let Some(pace) = self.pace {
            let due = self.last_probe.map_or(io.now(), |last| last.saturating_add(pace));
            self.wake_at(due.max(io.now()), PROBE, io);
        }
    }

    fn send_probe(&mut self, io: &mut dyn Io) {
        let Some(pace) = self.pace else { return };
        if self.is_foreign_next {
            let probe = ForeignProbe::begin(self.config.sizes, io);
            self.foreign.insert(probe.channel.conn, probe);
        } else {
            self.send_self_probe(io);
        }
        self.is_foreign_next = !self.is_foreign_next;
        self.last_probe = Some(io.now());
        self.wake_at(io.now().saturating_add(pace), PROBE, io);
    }

    /// Sends a self probe on a connection that is drawn from the active connections of the load.
    fn send_self_probe(&mut self, io: &mut dyn Io) {
        let active = self.loads.iter_mut().filter(|load| load.is_active);
        let mut active: Vec<&mut Load> = active.collect();
        if !active.is_empty() {
            let drawn = io.rng().below(active.len() as u64) as usize;
            let handed = active[drawn].channel.probe(io);
            self.history.add_transferred(handed);
        }
    }

    fn load(&mut self, conn: ConnId) -> Option<&mut Load> {
        self.loads.iter_mut().find(|load| load.channel.conn == conn)
    }

    fn on_opened(&mut self, conn: ConnId, io: &mut dyn Io) {
        if let Some(probe) = self.foreign.get_mut(&conn) {
            probe.opened(io);
        } else if let Some(load) = self.load(conn).filter(|load| !load.is_open) {
            load.is_open = true;
            if load.channel.secure(io) {
                self.start_transfer(conn, io);
            }
        }
    }

    fn start_transfer(&mut self, conn: ConnId, io: &mut dyn Io) {
        let direction = self.direction;
        let Some(load) = self.load(conn) else { return };
        load.is_active = true;
        match direction {
            Direction::Down => load.channel.download(io),
            Direction::Up => {
                let handed = load.channel.upload(io);
                self.history.add_transferred(handed);
            }
        }
    }

    fn on_read(&mut self, conn: ConnId, at: Side, bytes: u64, io: &mut dyn Io) {
        if let Some(probe) = self.foreign.get_mut(&conn) {
            probe.channel.advance(at, bytes);
            if at == Side::Wan {
                probe.channel.serve(io);
            } else if let Some(times) = probe.hear(io) {
                self.foreign.remove(&conn);
                self.history.add_foreign(times);
            }
            return;
        }
        let receiver = self.direction.receiver();
        let Some(load) = self.load(conn) else { return };
        load.channel.advance(at, bytes);
        if at == Side::Wan {
            load.channel.serve(io);
        }
        if at == receiver {
            self.history.add_read(bytes);
            if at == Side::Home {
                self.history.add_transferred(bytes);
            }
        }
        if at == Side::Home {
            self.hear(conn, io);
        }
    }

    /// Processes the messages of the load that the client has read.
    fn hear(&mut self, conn: ConnId, io: &mut dyn Io) {
        while let Some(heard) = self.load(conn).and_then(|load| load.channel.hear(io)) {
            match heard {
                Heard::Secured => self.start_transfer(conn, io),
                Heard::Response(requested) => self.history.add_loaded(ms(requested, io.now())),
            }
        }
    }

    fn on_writable(&mut self, conn: ConnId, at: Side, io: &mut dyn Io) {
        if let Some(probe) = self.foreign.get_mut(&conn) {
            probe.channel.fill(at, io);
        } else if let Some(load) = self.load(conn) {
            let handed = load.channel.fill(at, io);
            if at == Side::Home {
                self.history.add_transferred(handed);
            }
        }
    }

    /// Handles a connection that ended although the test did not end it. The failure of a
    /// connection of the load ends the test.
    fn on_closed(&mut self, conn: ConnId, io: &mut dyn Io) {
        self.foreign.remove(&conn);
        if self.load(conn).is_some() {
            self.has_failed = true;
            // The driver notices the end of an application only after a wake-up.
            self.wake_at(io.now(), EVALUATE, io);
        }
    }

    /// Adds the metrics of this direction to `out`.
    pub(crate) fn report(&self, now: Instant, out: &mut Summary) {
        let names = Names::of(self.direction);
        names.report(&self.history, self.config.trim, self.ended.unwrap_or(now), out);
        let (goodput, rpm) =
            (self.stages.goodput_confidence(), self.stages.responsiveness_confidence());
        out.push((names.loads, self.opened as f64));
        out.push((names.goodput_confidence, goodput.number()));
        out.push((names.responsiveness_confidence, rpm.number()));
    }
}
