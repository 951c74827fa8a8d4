//! Runs two FreeBSD hosts on a path with given drops and delays, and records the segments that they
//! send.
//!
//! A scenario describes the path, the hosts and the applications in lines of words. `until` (ms) is
//! for the whole scenario. The other words are for host 0 or 1. The words for the path from the
//! host are `delay` (ns), `rate` (bit/s), `queue` (packets), `drop` (the n-th packet sent, from 0)
//! and `late` (n:ns). The words for its settings are `sack`, `rfc1323`, `nots`, `cubic`, `sndbuf`,
//! `rcvbuf`, `nodelay` and `news` (FreeBSD 10.3). The words for its application are `write T
//! BYTES`, `pour T` (without limit) and `close T`, where `T` is a time in ns.

use std::collections::BTreeMap;
use std::fmt::Write;

use aqmlab_core::{Args, Instant, TcpFlags, TcpHeader};
use aqmlab_tcp::cc::kinds;
use aqmlab_tcp::{Config, Connection, Event, Profile, Segment};

/// The words that change a host's profile or socket.
const SETTINGS: &[&str] =
    &["sack", "rfc1323", "nots", "cubic", "sndbuf", "rcvbuf", "nodelay", "news"];

/// An action of an application.
#[derive(Clone, Copy, Debug)]
enum Act {
    Write(u64),
    WriteUnlimited,
    Close,
}

/// A host, its application, and the link that it sends on.
#[derive(Debug, Default)]
struct Host {
    delay: u64,
    rate: u64,
    queue: usize,
    drop: Vec<usize>,
    late: BTreeMap<usize, u64>,
    settings: BTreeMap<String, u64>,
    acts: Vec<(u64, Act)>,
}

/// A path, two hosts and their applications.
#[derive(Debug, Default)]
pub(crate) struct Scenario {
    hosts: [Host; 2],
    until: u64,
}

fn number(word: Option<&str>) -> u64 {
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{word:?} is no number"))
}

impl Scenario {
    /// Parses a scenario. Lines that begin with `#` are comments.
    pub(crate) fn parse(text: &str) -> Self {
        let mut scenario = Self::default();
        for host in &mut scenario.hosts {
            host.delay = 10_000_000;
        }
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let Some(key) = words.next().filter(|key| !key.starts_with('#')) else { continue };
            if key == "until" {
                scenario.until = number(words.next()) * 1_000_000;
                continue;
            }
            let host = &mut scenario.hosts[number(words.next()) as usize];
            match key {
                "drop" => host.drop.extend(words.map(|word| number(Some(word)) as usize)),
                "late" => host.late.extend(words.map(|word| {
                    let (which, by) = word.split_once(':').expect("n:ns");
                    (number(Some(which)) as usize, number(Some(by)))
                })),
                "write" => {
                    let at = number(words.next());
                    host.acts.push((at, Act::Write(number(words.next()))));
                }
                "pour" => host.acts.push((number(words.next()), Act::WriteUnlimited)),
                "close" => host.acts.push((number(words.next()), Act::Close)),
                "delay" => host.delay = number(words.next()),
                "rate" => host.rate = number(words.next()),
                "queue" => host.queue = number(words.next()) as usize,
                _ if SETTINGS.contains(&key) => {
                    host.settings.insert(key.to_owned(), number(words.next()));
                }
                _ => panic!("nothing is called {key}"),
            }
        }
        scenario
    }

    fn config(&self, at: usize) -> Config {
        let settings = &self.hosts[at].settings;
        let get = |key: &str| settings.get(key).copied();
        let news = get("news").unwrap_or(0) > 0;
        let mut profile = if news { Profile::freebsd_10_3() } else { Profile::freebsd() };
        profile.sack = get("sack") != Some(0);
        profile.window_scale = get("rfc1323") != Some(0);
        profile.timestamps = profile.window_scale && (at == 1 || get("nots").unwrap_or(0) == 0);
        let cubic = get("cubic").unwrap_or(0) > 0;
        let kind = kinds::find(if cubic { "cubic_freebsd" } else { "newreno" }).expect("a kind");
        let mut config = Config::new(profile, (kind.build)(&Args::defaults(kind.params)));
        config.nodelay = get("nodelay").unwrap_or(0) > 0;
        config.send_buffer = get("sndbuf").filter(|bytes| *bytes > 0);
        config.receive_buffer = get("rcvbuf").filter(|bytes| *bytes > 0);
        config
    }
}

/// The state of an end during a run.
#[expect(clippy::struct_excessive_bools, reason = "what the application is about to do")]
struct End {
    tcp: Connection,
    established: bool,
    /// Whether the application waits for space.
    waits: bool,
    pending: u64,
    writes_unlimited: bool,
    close: bool,
    acts: usize,
    sent: usize,
    departures: Vec<u64>,
    read: u64,
}

/// A run of a scenario, with a line for each segment sent.
pub(crate) struct Run {
    scenario: Scenario,
    ends: [End; 2],
    now: u64,
    air: BTreeMap<(u64, u64), (usize, Segment)>,
    count: u64,
    lines: String,
    /// Whether to print the state after each step.
    pub(crate) verbose: bool,
}

impl Run {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let end = |tcp| End {
            tcp,
            established: false,
            waits: false,
            pending: 0,
            writes_unlimited: false,
            close: false,
            acts: 0,
            sent: 0,
            departures: Vec::new(),
            read: 0,
        };
        let client = end(Connection::active(scenario.config(0), Instant::ZERO));
        let server = end(Connection::passive(scenario.config(1)));
        Self {
            scenario,
            ends: [client, server],
            now: 0,
            air: BTreeMap::new(),
            count: 0,
            lines: String::new(),
            verbose: false,
        }
    }

    /// Runs the scenario. Returns a line for each segment sent, and the number of bytes that each
    /// side read.
    pub(crate) fn run(mut self) -> String {
        self.serve(0);
        while let Some((at, which)) = self.next().filter(|(at, _)| *at <= self.scenario.until) {
            self.now = at;
            self.step(which);
        }
        let read = self.ends.each_ref().map(|end| end.read);
        writeln!(self.lines, "end {} {}", read[0], read[1]).expect("a string");
        self.lines
    }

    /// Returns the next event, if there is one. At equal times, an arrival precedes a timer, and a
    /// timer precedes an application.
    fn next(&self) -> Option<(u64, usize)> {
        let arrival = self.air.keys().next().map(|(at, _)| (*at, 0));
        let timer = |end: &End| end.tcp.poll_timeout().map(|at| (at.as_nanos(), 1));
        let timers = self.ends.iter().filter_map(timer);
        let act = |at: usize| {
            let acts = &self.scenario.hosts[at].acts;
            acts.get(self.ends[at].acts).map(|act| (act.0, 2))
        };
        arrival.into_iter().chain(timers).chain(act(0)).chain(act(1)).min()
    }

    fn step(&mut self, which: usize) {
        let now = Instant::from_nanos(self.now);
        match which {
            0 => {
                let (_, (to, segment)) = self.air.pop_first().expect("an arrival");
                self.ends[to].tcp.handle_segment(&segment.header, segment.ecn, now);
                self.serve(to);
            }
            1 => {
                for at in 0..2 {
                    if self.ends[at].tcp.poll_timeout().is_some_and(|due| due <= now) {
                        self.ends[at].tcp.handle_timeout(now);
                        self.serve(at);
                    }
                }
            }
            _ => self.act(),
        }
    }

    fn act(&mut self) {
        for at in 0..2 {
            let acts = &self.scenario.hosts[at].acts;
            let Some((due, act)) = acts.get(self.ends[at].acts).copied() else { continue };
            if due != self.now {
                continue;
            }
            let end = &mut self.ends[at];
            end.acts += 1;
            match act {
                Act::Write(bytes) => end.pending += bytes,
                Act::WriteUnlimited => end.writes_unlimited = true,
                Act::Close => end.close = true,
            }
            self.serve(at);
            return;
        }
    }

    /// Runs the application, and sends its segments.
    fn serve(&mut self, at: usize) {
        let now = Instant::from_nanos(self.now);
        loop {
            self.events(at);
            let end = &mut self.ends[at];
            let mut acted = false;
            if end.established && end.pending > 0 && !end.waits {
                acted = true;
                end.pending -= end.tcp.write(now, end.pending);
                end.waits = end.pending > 0;
            }
            if end.established && std::mem::take(&mut end.writes_unlimited) {
                acted = true;
                end.tcp.send_unlimited();
            }
            // Data that was written before is sent without the FIN.
            if end.established && !acted && end.close && end.pending == 0 {
                end.close = false;
                end.tcp.close();
            }
            let Some(segment) = self.ends[at].tcp.poll_transmit(now) else { break };
            self.transmit(at, segment);
        }
        self.events(at);
        if self.verbose {
            let metrics = self.ends[at].tcp.metrics();
            writeln!(self.lines, "# {at} {metrics:?}").expect("a string");
        }
    }

    fn events(&mut self, at: usize) {
        let end = &mut self.ends[at];
        while let Some(event) = end.tcp.poll_event() {
            match event {
                Event::Established => end.established = true,
                Event::Readable(bytes) => end.read += bytes,
                Event::Writable => end.waits = false,
                Event::PeerFinished | Event::Closed | Event::Aborted => {}
            }
        }
    }

    fn transmit(&mut self, from: usize, segment: Segment) {
        let host = &self.scenario.hosts[from];
        let end = &mut self.ends[from];
        let which = end.sent;
        end.sent += 1;
        let header = &segment.header;
        let size = 40 + u64::from(header.options_len) + u64::from(header.payload);
        end.departures.retain(|at| *at > self.now);
        let lost = host.drop.contains(&which);
        let full = !lost && host.queue > 0 && end.departures.len() >= host.queue;
        write!(self.lines, "{}.{:06} ", self.now / 1_000_000, self.now % 1_000_000)
            .expect("a string");
        describe(&mut self.lines, from, header);
        self.lines.push_str(if lost {
            " LOST\n"
        } else if full {
            " FULL\n"
        } else {
            "\n"
        });
        if lost || full {
            return;
        }
        let begun = end.departures.last().map_or(self.now, |last| self.now.max(*last));
        // On a link without a rate, transmission takes no time.
        let sent = begun + (size * 8_000_000_000).checked_div(host.rate).unwrap_or(0);
        end.departures.push(sent);
        let at = sent + host.delay + host.late.get(&which).copied().unwrap_or(0);
        self.air.insert((at, self.count), (1 - from, segment));
        self.count += 1;
    }
}

fn describe(line: &mut String, from: usize, header: &TcpHeader) {
    let names = [
        (TcpFlags::SYN, 'S'),
        (TcpFlags::FIN, 'F'),
        (TcpFlags::RST, 'R'),
        (TcpFlags::PSH, 'P'),
        (TcpFlags::ACK, '.'),
    ];
    line.push(if from == 0 { '>' } else { '<' });
    line.push(' ');
    line.extend(names.iter().filter(|(flag, _)| header.flags.has(*flag)).map(|(_, name)| name));
    let ack = if header.flags.has(TcpFlags::ACK) { header.ack } else { 0 };
    let (seq, len, window) = (header.seq, header.payload, header.window);
    write!(line, " seq {seq} ack {ack} len {len} win {window}").expect("a string");
    if header.timestamps {
        write!(line, " ts {} {}", header.ts_val, header.ts_ecr).expect("a string");
    }
    if !header.sack.is_empty() {
        line.push_str(" sack");
        for (start, end) in header.sack.iter(header.ack) {
            write!(line, " {start}-{end}").expect("a string");
        }
    }
    if header.flags.has(TcpFlags::SYN) {
        let scale = if header.window_scale == 255 { -1 } else { i32::from(header.window_scale) };
        let sack = i32::from(header.sack_permitted);
        write!(line, " mss {} ws {scale} sackok {sack}", header.mss).expect("a string");
    }
}
