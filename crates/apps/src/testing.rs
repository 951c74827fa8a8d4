//! A small network for tests, with one rate and one delay. Streams are lossless, and datagrams may
//! be lost.
//!
//! The network does not implement TCP. A stream has a handshake of one round trip, a send buffer,
//! and segments that wait for the link. This is sufficient to run every application to its end.

use std::collections::{BTreeMap, VecDeque};

use aqmlab_core::{BitRate, Bytes, Direction, Duration, Instant, Rng, Side};

use crate::quantiles::Summary;
use crate::{App, ConnId, Io, Notice, Open, ShaperStatus, Transport};

const SEGMENT: u64 = 1_448;
const HEADERS: u64 = 52;
const SEND_BUFFER: u64 = 64 * 1_024;

/// A call that the application made, for tests of the application's contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Open(Open),
    Write(ConnId, Side, u64),
    SendUnlimited(ConnId, Side),
    Close(ConnId, Side),
    Abort(ConnId, Side),
    Send(ConnId, Side, u32, u64),
    SetShaperRate(Direction, BitRate),
    Note(&'static str, f64),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Tell(Notice),
    /// The end that sent a segment with this number of bytes received the acknowledgement.
    Acked(ConnId, Side, u64),
    Arrive(ConnId, Side, u64),
    /// A change of the network, such as a change of its rate.
    Change(fn(&mut Net)),
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about a half")]
struct Half {
    /// The number of bytes written and not yet acknowledged.
    held: u64,
    cut_short: bool,
    unlimited: bool,
    closing: bool,
    finished: bool,
    last_arrival: Instant,
}

#[derive(Debug)]
struct Conn {
    open: Open,
    established: Instant,
    halves: [Half; 2],
    gone: bool,
}

/// The network, its clock, and the calls that the application made.
#[derive(Debug)]
pub(crate) struct Net {
    now: Instant,
    rng: Rng,
    path_rng: Rng,
    seq: u64,
    agenda: BTreeMap<(Instant, u64), Event>,
    conns: Vec<Conn>,
    free: [Instant; 2],
    pub(crate) rate: BitRate,
    pub(crate) one_way: Duration,
    pub(crate) loss: f64,
    /// The bytes that the shaper of each direction has sent until a time.
    pub(crate) counters: [fn(Instant) -> u64; 2],
    pub(crate) calls: VecDeque<(Instant, Call)>,
    /// The bytes that each side sent, with the headers of IPv4 and of UDP or of TCP with
    /// timestamps.
    pub(crate) ip_bytes: [u64; 2],
    pub(crate) packets: [u64; 2],
}

impl Net {
    /// Returns a network of 10 Mbit/s, with a delay of 20 ms in each direction and no loss.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: Instant::ZERO,
            rng: Rng::stream(seed, "app"),
            path_rng: Rng::stream(seed, "path"),
            seq: 0,
            agenda: BTreeMap::new(),
            conns: Vec::new(),
            free: [Instant::ZERO; 2],
            rate: BitRate::new(10_000_000).unwrap(),
            one_way: Duration::from_millis(20),
            loss: 0.0,
            counters: [|_| 0; 2],
            calls: VecDeque::new(),
            ip_bytes: [0; 2],
            packets: [0; 2],
        }
    }

    pub(crate) fn with_rate(self, bps: u64) -> Self {
        Self { rate: BitRate::new(bps).unwrap(), ..self }
    }

    pub(crate) fn with_delay(self, one_way: Duration) -> Self {
        Self { one_way, ..self }
    }

    pub(crate) fn with_loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    /// Returns the network with a change that occurs `after` the start of the run.
    pub(crate) fn then(mut self, after: Duration, change: fn(&mut Net)) -> Self {
        self.at(Instant::ZERO + after, Event::Change(change));
        self
    }

    /// Runs `app` from the start to `end`, with the stop notice at `stop`. Returns its metrics.
    pub(crate) fn run(&mut self, app: &mut dyn App, stop: Duration, end: Duration) -> Summary {
        self.at(Instant::ZERO, Event::Tell(Notice::Start));
        self.at(Instant::ZERO + stop, Event::Tell(Notice::Stop));
        let end = Instant::ZERO + end;
        while let Some(entry) = self.agenda.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            self.happen(event, app);
        }
        self.now = end;
        app.summary(end)
    }

    /// Runs `app` for `seconds`, stops it, and runs the network for another minute. Returns the
    /// application's metrics.
    pub(crate) fn run_secs(&mut self, app: &mut dyn App, seconds: u64) -> Summary {
        self.run(app, Duration::from_secs(seconds), Duration::from_secs(seconds + 60))
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.seq += 1;
        self.agenda.insert((at.max(self.now), self.seq), event);
    }

    fn happen(&mut self, event: Event, app: &mut dyn App) {
        match event {
            Event::Tell(notice) => app.handle(notice, self),
            Event::Change(change) => change(self),
            Event::Arrive(conn, at, bytes) => {
                let conn_ref = &self.conns[conn.0 as usize];
                if conn_ref.gone {
                    return;
                }
                self.at(self.now + self.one_way, Event::Acked(conn, at.peer(), bytes));
                if self.conns[conn.0 as usize].open.reads {
                    app.handle(Notice::Read { conn, at, bytes }, self);
                }
            }
            Event::Acked(conn, at, bytes) => {
                let half = &mut self.conns[conn.0 as usize].halves[at.index()];
                half.held -= bytes;
                if half.unlimited {
                    self.fill(conn, at, self.room(conn, at));
                }
                let half = &mut self.conns[conn.0 as usize].halves[at.index()];
                // As on Linux, the writer wakes when a third of the buffer is free. Otherwise
                // the writes, and with them the segments, would become ever smaller.
                if half.held <= SEND_BUFFER / 3 * 2 && std::mem::take(&mut half.cut_short) {
                    app.handle(Notice::Writable { conn, at }, self);
                }
            }
        }
    }

    /// Puts a packet that is ready at `ready` on the link from `from`. Returns its arrival time.
    fn transmit(&mut self, from: Side, ready: Instant, ip_len: u64) -> Instant {
        let free = &mut self.free[from.index()];
        *free = (*free).max(ready).max(self.now) + self.rate.transmit_time(Bytes(ip_len));
        self.ip_bytes[from.index()] += ip_len;
        self.packets[from.index()] += 1;
        *free + self.one_way
    }

    /// Returns the free space of the send buffer.
    fn room(&self, conn: ConnId, at: Side) -> u64 {
        SEND_BUFFER.saturating_sub(self.conns[conn.0 as usize].halves[at.index()].held)
    }

    /// Puts `bytes` from `at` on the link, as segments.
    fn fill(&mut self, conn: ConnId, at: Side, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let segment = left.min(SEGMENT);
            left -= segment;
            let established = self.conns[conn.0 as usize].established;
            let arrival = self.transmit(at, established, segment + HEADERS);
            self.at(arrival, Event::Arrive(conn, at.peer(), segment));
            self.conns[conn.0 as usize].halves[at.index()].last_arrival = arrival;
        }
        self.conns[conn.0 as usize].halves[at.index()].held += bytes;
    }

    fn writable(&self, conn: ConnId, at: Side) -> bool {
        self.conns.get(conn.0 as usize).is_some_and(|conn| {
            is_stream(conn.open.transport) && !conn.gone && !conn.halves[at.index()].closing
        })
    }

    fn log(&mut self, call: Call) {
        self.calls.push_back((self.now, call));
    }
}

impl Io for Net {
    fn now(&self) -> Instant {
        self.now
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    fn open(&mut self, open: Open) -> ConnId {
        self.log(Call::Open(open));
        let conn = ConnId(self.conns.len() as u32);
        let over = open.over.and_then(|over| self.conns.get(over.0 as usize));
        let round_trip = if open.zero_rtt { Duration::ZERO } else { self.one_way * 2 };
        let established = over.map_or(self.now + round_trip, |over| over.established);
        self.conns.push(Conn { open, established, halves: [const { NEW_HALF }; 2], gone: false });
        if is_stream(open.transport) && open.over.is_none() {
            self.at(established, Event::Tell(Notice::Opened(conn)));
        }
        conn
    }

    fn write(&mut self, conn: ConnId, at: Side, bytes: u64) -> u64 {
        if !self.writable(conn, at) {
            return 0;
        }
        self.log(Call::Write(conn, at, bytes));
        // QUIC accepts all bytes.
        let is_quic = self.conns[conn.0 as usize].open.transport == Transport::Quic;
        let taken = if is_quic { bytes } else { bytes.min(self.room(conn, at)) };
        self.fill(conn, at, taken);
        // A whole write ends the wait of an earlier write, as in the simulator.
        self.conns[conn.0 as usize].halves[at.index()].cut_short = taken < bytes;
        taken
    }

    fn send_unlimited(&mut self, conn: ConnId, at: Side) {
        if self.writable(conn, at) {
            self.log(Call::SendUnlimited(conn, at));
            self.conns[conn.0 as usize].halves[at.index()].unlimited = true;
            self.fill(conn, at, self.room(conn, at));
        }
    }

    fn close(&mut self, conn: ConnId, at: Side) {
        self.log(Call::Close(conn, at));
        if !self.writable(conn, at) {
            return;
        }
        let (now, delay) = (self.now, self.one_way);
        let both = &mut self.conns[conn.0 as usize];
        let established = both.established;
        let half = &mut both.halves[at.index()];
        half.unlimited = false;
        half.closing = true;
        half.finished = true;
        let fin = half.last_arrival.max(now + delay).max(established + delay);
        self.at(fin, Event::Tell(Notice::Finished { conn, at: at.peer() }));
        if self.conns[conn.0 as usize].halves.iter().all(|half| half.finished) {
            self.at(fin + delay, Event::Tell(Notice::Closed(conn)));
        }
    }

    fn abort(&mut self, conn: ConnId, at: Side) {
        self.log(Call::Abort(conn, at));
        if let Some(both) = self.conns.get_mut(conn.0 as usize) {
            both.gone = true;
            self.at(self.now, Event::Tell(Notice::Closed(conn)));
        }
    }

    fn send(&mut self, conn: ConnId, at: Side, payload: u32, tag: u64) {
        self.log(Call::Send(conn, at, payload, tag));
        let known = self.conns.get(conn.0 as usize);
        if known.is_none_or(|conn| is_stream(conn.open.transport)) {
            return;
        }
        let arrival = self.transmit(at, self.now, u64::from(payload) + 28);
        if self.path_rng.unit() >= self.loss {
            let at = at.peer();
            self.at(arrival, Event::Tell(Notice::Datagram { conn, at, payload, tag }));
        }
    }

    fn wake_at(&mut self, at: Instant, token: u64) {
        self.at(at, Event::Tell(Notice::Wake(token)));
    }

    fn shaper(&self, direction: Direction) -> ShaperStatus {
        ShaperStatus { sent_bytes: self.counters[direction.index()](self.now), packet_bytes: 1_500 }
    }

    fn set_shaper_rate(&mut self, direction: Direction, rate: BitRate) {
        self.log(Call::SetShaperRate(direction, rate));
    }

    fn note(&mut self, metric: &'static str, value: f64) {
        self.log(Call::Note(metric, value));
    }
}

/// Returns whether a transport carries streams of bytes.
const fn is_stream(transport: Transport) -> bool {
    matches!(transport, Transport::Tcp | Transport::Quic)
}

const NEW_HALF: Half = Half {
    held: 0,
    cut_short: false,
    unlimited: false,
    closing: false,
    finished: false,
    last_arrival: Instant::ZERO,
};

/// Returns the metric called `name`, if there is one.
pub(crate) fn value(summary: &Summary, name: &str) -> Option<f64> {
    summary.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Returns the metric called `name`. Panics if there is none.
#[track_caller]
pub(crate) fn known(summary: &Summary, name: &str) -> f64 {
    value(summary, name).unwrap_or_else(|| panic!("no `{name}` in {summary:?}"))
}

/// Asserts that `got` is within `by` of `want`.
#[track_caller]
pub(crate) fn close(got: f64, want: f64, by: f64) {
    assert!((got - want).abs() <= by, "{got} is not {want} ± {by}");
}

/// Returns an application of the kind `name` with the parameters `changes`, and defaults for all
/// others.
pub(crate) fn build(name: &str, changes: &[(&str, aqmlab_core::Value)]) -> Box<dyn App> {
    let kind = crate::kinds::find(name).unwrap_or_else(|| panic!("no kind `{name}`"));
    let mut args = aqmlab_core::Args::defaults(kind.params);
    for &(param, value) in changes {
        args.set(param, value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    (kind.build)(&args)
}
