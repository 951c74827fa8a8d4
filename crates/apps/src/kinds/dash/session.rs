//! A session of the player: its schedule, its connection, and both ends of the HTTP exchange.

use aqmlab_core::{Duration, Instant, Side};

use super::abr::{self, DashJs, LOCK_OUT, Progress, Throughputs, View};
use super::bola::{Bola, Choice};
use super::ladder::{Segments, Spread};
use super::measures::Measures;
use super::player::Player;
use crate::pipe::Pipe;
use crate::quantiles::Summary;
use crate::{ConnId, Io, Notice, Open};

/// The throughput that determines the rate of the first request (dash.js 2.0.0, `AbrController`).
const INITIAL_KBPS: f64 = 1_000.0;
/// The time after which the scheduler checks again if nothing is to be requested.
const POLL: Duration = Duration::from_secs(1);
/// The buffer target at every rate except the highest (`STABLE_BUFFER_TIME`).
const STABLE: Duration = Duration::from_secs(12);
/// The buffer target at the highest rate, for videos shorter than [`LONG`].
const AT_TOP: Duration = Duration::from_secs(30);
/// The buffer target at the highest rate, for long and endless videos.
const AT_TOP_LONG: Duration = Duration::from_secs(60);
/// The length at and above which a video is long.
const LONG: Duration = Duration::from_secs(600);
/// The maximum throughput recorded, in bits per second, for segments that take no time.
const FASTEST_BPS: f64 = 1e12;
/// The maximum number of repetitions of a failed request (`FRAGMENT_RETRY_ATTEMPTS`).
const RETRIES: u32 = 3;
/// The time before a repetition (`FRAGMENT_RETRY_INTERVAL`).
const RETRY: Duration = Duration::from_secs(1);
/// The estimated download time, in segment lengths, at and above which a download is abandoned
/// (`ABANDON_MULTIPLIER` of dash.js 2.0.0).
const PATIENCE: f64 = 1.5;
/// The value of [`PATIENCE`] in dash.js 2.9.3.
const PATIENCE_BOLA: f64 = 1.8;

/// The rule that chooses the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Abr {
    DashJs,
    Bola,
    Fixed(usize),
}

/// The settings of a session.
#[derive(Debug)]
pub(crate) struct Config {
    /// The end that serves the video.
    pub(crate) server: Side,
    pub(crate) segment: Duration,
    /// The rates in bits per second, each with the variation of its segments.
    pub(crate) ladder: Vec<(u64, Spread)>,
    /// The lines of the picture at each rate. The list is empty for music.
    pub(crate) lines: &'static [u16],
    pub(crate) abr: Abr,
    pub(crate) length: Option<Duration>,
    /// The playing time in the buffer below which the player requests the next segment; `None`
    /// for the rule of dash.js.
    pub(crate) reserve: Option<Duration>,
    /// The playing time in the buffer at the start.
    pub(crate) buffered: Duration,
    pub(crate) request: u64,
    pub(crate) header: u64,
}

#[derive(Debug)]
struct Link {
    conn: ConnId,
    /// The requests, each with the number of bytes of its response.
    requests: Pipe<u64>,
    responses: Pipe<()>,
}

/// A request in progress.
#[derive(Clone, Copy, Debug)]
struct Request {
    quality: usize,
    asked: Instant,
    first_byte: Option<Instant>,
}

#[derive(Debug)]
enum Rules {
    DashJs(DashJs),
    Bola(Bola),
    Fixed(usize),
}

/// A session from its start to its end.
pub(crate) struct Session {
    config: Config,
    rates: Vec<u64>,
    running: bool,
    link: Link,
    player: Player,
    segments: Segments,
    throughputs: Throughputs,
    rules: Rules,
    measures: Measures,
    quality: usize,
    /// The number of the segment in progress, or of the next segment.
    number: u64,
    request: Option<Request>,
    /// Whether segment `number` has been abandoned before.
    abandoned: bool,
    retries: u32,
    /// The time before which the rate must not rise.
    locked_until: Instant,
    /// The token of the current wake-up. Earlier wake-ups are ignored.
    plan: u64,
}

impl Session {
    /// Starts a session: opens the connection, and requests the first segment or a wake-up.
    pub(crate) fn start(config: Config, io: &mut dyn Io) -> Self {
        let rates: Vec<u64> = config.ladder.iter().map(|(rate, _)| *rate).collect();
        let rules = match config.abr {
            Abr::DashJs => Rules::DashJs(DashJs::default()),
            Abr::Bola => Rules::Bola(Bola::new(&rates)),
            Abr::Fixed(index) => Rules::Fixed(index),
        };
        let mut session = Self {
            link: Link::open(config.server, io),
            player: Player::new(io.now(), config.buffered),
            segments: Segments::new(config.segment, config.ladder.clone()),
            throughputs: Throughputs::default(),
            rules,
            measures: Measures::default(),
            quality: if config.buffered > Duration::ZERO {
                rates.len() - 1
            } else {
                abr::index_for(&rates, INITIAL_KBPS)
            },
            number: 0,
            request: None,
            abandoned: false,
            retries: 0,
            locked_until: Instant::ZERO,
            plan: 0,
            running: true,
            rates,
            config,
        };
        session.schedule(io);
        session
    }

    /// Processes a notice.
    pub(crate) fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Finished { conn, at } => io.close(conn, at),
            Notice::Stop => self.stop(io),
            _ if !self.running => {}
            Notice::Wake(plan) if plan == self.plan => self.schedule(io),
            Notice::Closed(conn) if conn == self.link.conn => self.fail(io),
            Notice::Writable { conn, at } if conn == self.link.conn => {
                if at == self.config.server {
                    self.link.responses.flush(io);
                } else {
                    self.link.requests.flush(io);
                }
            }
            Notice::Read { conn, at, bytes } if conn == self.link.conn => {
                if at == self.config.server {
                    self.serve(bytes, io);
                } else {
                    self.receive(bytes, io);
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, io: &mut dyn Io) {
        if std::mem::take(&mut self.running) {
            self.player.advance(io.now());
            io.close(self.link.conn, self.config.server.peer());
            io.close(self.link.conn, self.config.server);
        }
    }

    /// Lets the server read requests and respond to each.
    fn serve(&mut self, bytes: u64, io: &mut dyn Io) {
        self.link.requests.advance(bytes);
        while let Some(size) = self.link.requests.pop() {
            self.link.responses.push(size, (), io);
        }
    }

    /// Processes `bytes` that the player has read of a response: completes the segment, or
    /// considers abandoning it.
    fn receive(&mut self, bytes: u64, io: &mut dyn Io) {
        let now = io.now();
        self.link.responses.advance(bytes);
        if let Some(request) = &mut self.request {
            request.first_byte = request.first_byte.or(Some(now));
        }
        let size = self.link.responses.head().map_or(0, |((), _, size)| size);
        if self.link.responses.pop().is_some() {
            self.finish(size, io);
        } else {
            self.consider_abandoning(io);
        }
    }

    /// Completes a segment: measures it, adds it to the buffer, and schedules the next request.
    fn finish(&mut self, size: u64, io: &mut dyn Io) {
        let Some(request) = self.request.take() else { return };
        let now = io.now();
        let sample = bps(size, now.since(request.first_byte.unwrap_or(request.asked)));
        self.throughputs.push(sample);
        self.player.append(self.config.segment, now);
        if let Rules::Bola(bola) = &mut self.rules {
            bola.received(now);
        }
        self.note_segment(request, size, sample, io);
        self.number += 1;
        self.abandoned = false;
        self.retries = 0;
        self.schedule(io);
    }

    /// Records a segment: its rate, achieved rate, picture height, size and download time, the
    /// buffer level, and the player's sample.
    ///
    /// The achieved rate is computed as Kua et al. (2017, §III-E) compute it from a capture. It is
    /// the length in the response's header, divided by the time from the request to the last byte.
    /// The player's sample begins at the first byte, and counts both header and body.
    fn note_segment(&mut self, request: Request, size: u64, sample: f64, io: &mut dyn Io) {
        let fetching = io.now().since(request.asked);
        let body = size - self.config.header;
        let achieved = bps(body, fetching).min(FASTEST_BPS) / 1e6;
        let represented = self.rates[request.quality] as f64 / 1e6;
        // A response read in one piece has the same time for its first and its last byte.
        let sample = if sample.is_finite() { sample } else { bps(size, fetching) };
        self.measures.segment(represented, achieved);
        if let Some(&lines) = self.config.lines.get(request.quality) {
            self.measures.picture(lines);
        }
        io.note("ar_mbit", achieved);
        io.note("rr_mbit", represented);
        io.note("buffer_s", self.player.level().as_secs_f64());
        io.note("fetch_s", fetching.as_secs_f64());
        io.note("chunk_bytes", body as f64);
        io.note("player_mbit", sample.min(FASTEST_BPS) / 1e6);
    }

    /// Returns whether the video has a segment of this number.
    fn exists(&self, number: u64) -> bool {
        self.config.length.is_none_or(|length| {
            u128::from(number) * u128::from(self.config.segment.as_nanos())
                < u128::from(length.as_nanos())
        })
    }

    fn target(&self) -> Duration {
        self.config.reserve.unwrap_or_else(|| self.dashjs_target())
    }

    fn dashjs_target(&self) -> Duration {
        match (self.quality == self.rates.len() - 1, self.config.length) {
            (false, _) => STABLE,
            (true, Some(length)) if length < LONG => AT_TOP,
            (true, _) => AT_TOP_LONG,
        }
    }

    /// Does nothing while a request is in progress. Otherwise requests the next segment or a
    /// wake-up for another check; after the last segment, closes the connection.
    fn schedule(&mut self, io: &mut dyn Io) {
        if self.request.is_some() {
            return;
        }
        let now = io.now();
        self.player.advance(now);
        if !self.exists(self.number) {
            self.player.complete(now);
            io.close(self.link.conn, self.config.server.peer());
        } else if self.player.level() >= self.target() {
            self.wake_in(POLL, io);
        } else {
            match self.choose(now) {
                Choice::Ask(quality) => self.ask(quality, io),
                Choice::Wait(span) => self.wake_in(span, io),
            }
        }
    }

    fn wake_in(&mut self, span: Duration, io: &mut dyn Io) {
        self.plan += 1;
        io.wake_at(io.now() + span, self.plan);
    }

    fn choose(&mut self, now: Instant) -> Choice {
        let view = View {
            now,
            rates: &self.rates,
            quality: self.quality,
            buffer: self.player.level(),
            loaded: self.player.is_loaded(),
            loaded_once: self.player.has_begun(),
        };
        let choice = match &mut self.rules {
            Rules::DashJs(rules) => Choice::Ask(rules.choose(view, &self.throughputs)),
            Rules::Bola(bola) => bola.choose(view, self.config.segment, &self.throughputs),
            Rules::Fixed(index) => Choice::Ask(*index),
        };
        match choice {
            Choice::Ask(index) if now < self.locked_until => Choice::Ask(index.min(self.quality)),
            choice => choice,
        }
    }

    fn ask(&mut self, quality: usize, io: &mut dyn Io) {
        self.quality = quality;
        let size = self.segments.size(self.number, quality, io.rng()) + self.config.header;
        self.request = Some(Request { quality, asked: io.now(), first_byte: None });
        self.link.requests.push(self.config.request, size, io);
    }

    /// Abandons a segment that would take too long, and requests it at a lower rate over a new
    /// connection.
    fn consider_abandoning(&mut self, io: &mut dyn Io) {
        let patience = match self.config.abr {
            Abr::DashJs => PATIENCE,
            Abr::Bola => PATIENCE_BOLA,
            Abr::Fixed(_) => return,
        };
        let (Some(request), Some(((), read, size))) = (self.request, self.link.responses.head())
        else {
            return;
        };
        let Some(first_byte) = request.first_byte.filter(|_| !self.abandoned) else { return };
        let elapsed = io.now().since(first_byte);
        let length = self.config.segment;
        let progress = Progress { elapsed, read, size, length, patience };
        if let Some(lower) = abr::abandon(progress, request.quality, &self.rates) {
            self.abandoned = true;
            self.measures.abandoned += 1;
            self.locked_until = io.now() + LOCK_OUT;
            io.abort(self.link.conn, self.config.server.peer());
            self.link = Link::open(self.config.server, io);
            self.ask(lower, io);
        }
    }

    /// Handles a lost connection. Repeats the request a second later over a new connection, at most
    /// three times, and then ends the session.
    fn fail(&mut self, io: &mut dyn Io) {
        if !self.exists(self.number) {
            return;
        }
        self.request = None;
        self.measures.failed += 1;
        self.retries += 1;
        if self.retries > RETRIES {
            self.player.advance(io.now());
            self.running = false;
            return;
        }
        self.link = Link::open(self.config.server, io);
        self.wake_in(RETRY, io);
    }

    /// Returns the metrics until `now`, or until the session ended.
    pub(crate) fn summary(&self, now: Instant) -> Summary {
        let mut player = self.player.clone();
        if self.running {
            player.advance(now);
        }
        let mut out = self.measures.report(&player);
        let top = self.config.lines.get(self.rates.len() - 1);
        out.extend(top.map(|&lines| ("offered_lines", f64::from(lines))));
        out
    }
}

/// Returns the rate of `bytes` in `span` in bits per second; infinite if `span` is zero.
fn bps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64()
}

impl Link {
    fn open(server: Side, io: &mut dyn Io) -> Self {
        let conn = io.open(Open { nodelay: true, ..Open::tcp(server.peer()) });
        let requests = Pipe::new(conn, server.peer());
        let responses = Pipe::new(conn, server);
        Self { conn, requests, responses }
    }
}
