//! Scripts: timelines of a peer's segments, of an application's calls, and of the expected results.
//!
//! A script is read line by line; `#` starts a comment. The application is always awake, unless the
//! script sets `wakeup`. The set-up comes first, with one setting per line:
//!
//! ```text
//! host freebsd                 the profile (linux if absent)
//! cc reno                      the congestion controller (reno if absent)
//! mtu 1040                     segments of 1000 bytes without timestamps
//! set rto_min 300ms            any setting of the profile: duration, count, bytes, on or off
//! with ecn nodelay quickack timestamps nosack
//! buffers send=9000 receive=6000
//! open active | open passive   starts at time zero, and the script does the handshake
//! establish rtt=100ms win=N    or: does the handshake, which is complete at time zero
//! ```
//!
//! The timeline follows, and each line has a time: `@20ms` counts from zero, and `+5ms` from the
//! time of the previous line. `@20ms..24ms` is for a result that is expected within that interval.
//!
//! ```text
//! +0ms in  . 1(1000) ack 1 win 5000 sack 2001-3001 ecr 40ms ce
//! +0ms out P. 1(1000)x3 ack 1 win 64000 sack 5-6 ect0 again
//! +0ms write 3000 | offer 3000 | write unlimited | close | abort
//! +0ms event established | readable 3000 | writable | finished | closed | aborted
//! +0ms check cwnd = 10
//! ```
//!
//! Flags are `S F R P . E W A`; `A` is AE. All bytes of a `write` must fit into the send buffer,
//! but not all bytes of an `offer`. An `out` line checks the flags, the sequence number, the
//! length, and the fields that it mentions. P is checked only if the line has it. Every segment
//! sent needs an `out` line, in order. `x3` stands for three such segments in a row, and `again`
//! for a retransmission.

mod described;
mod words;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use aqmlab_core::{Duration, Ecn, Instant, SackBlocks, TcpFlags, TcpHeader};
use aqmlab_tcp::{Config, Connection, Event, Profile, Segment};

use self::described::{Described, show};
use self::words::{duration, number, setting};
use super::controller;

/// Runs the script in `file`. An error names the place, the actual result and the expected result.
pub(crate) fn run(file: &Path) -> Result<(), String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut script = Script::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let result = script.line(&words);
        result.map_err(|what| format!("{}:{}: {what}\n    {line}", file.display(), number + 1))?;
    }
    script.finish().map_err(|what| format!("{}: at the end: {what}", file.display()))
}

struct Script {
    config: Option<Config>,
    connection: Option<Connection>,
    timestamps: bool,
    sack: bool,
    zero: Instant,
    now: Instant,
    sent: VecDeque<(Instant, Segment)>,
    events: VecDeque<Event>,
    window: u32,
    last_ts_val: u32,
}

impl Default for Script {
    fn default() -> Self {
        let config = Config::new(awake(Profile::linux()), controller("reno"));
        Self {
            config: Some(config),
            connection: None,
            timestamps: false,
            sack: true,
            zero: Instant::ZERO,
            now: Instant::ZERO,
            sent: VecDeque::new(),
            events: VecDeque::new(),
            window: 1_000_000,
            last_ts_val: 0,
        }
    }
}

/// Returns the host with an application that never sleeps, so that the application acts at the time
/// of the script's line.
fn awake(mut profile: Profile) -> Profile {
    profile.wakeup = Duration::ZERO;
    profile
}

type Outcome = Result<(), String>;

impl Script {
    fn line(&mut self, words: &[&str]) -> Outcome {
        if words[0].starts_with(['@', '+']) {
            let (from, to) = self.time(words[0])?;
            let rest = words.get(1..).filter(|rest| !rest.is_empty()).ok_or("nothing to do")?;
            return self.action(from, to, rest);
        }
        self.set_up(words)
    }

    fn set_up(&mut self, words: &[&str]) -> Outcome {
        let config = self.config.as_mut().ok_or("the connection is open already")?;
        match words {
            ["host", name] => {
                config.profile =
                    awake(Profile::find(name).ok_or(format!("no host `{name}`"))?).into();
            }
            ["cc", name] => config.cc = controller(name),
            ["mtu", bytes] => config.mtu = number(bytes)? as u32,
            ["set", name, value] => {
                let old = config.profile.get(name).ok_or(format!("no setting `{name}`"))?;
                let value = setting(old, value)?;
                let profile = Arc::make_mut(&mut config.profile);
                profile.set(name, value).map_err(|error| error.to_string())?;
            }
            ["with", options @ ..] => {
                for option in options {
                    match *option {
                        "ecn" => config.ecn = true,
                        "nodelay" => config.nodelay = true,
                        "quickack" => config.quickack = true,
                        "timestamps" => self.timestamps = true,
                        "nosack" => self.sack = false,
                        other => return Err(format!("no option `{other}`")),
                    }
                }
            }
            ["buffers", sizes @ ..] => {
                for size in sizes {
                    match size.split_once('=') {
                        Some(("send", bytes)) => config.send_buffer = Some(number(bytes)?),
                        Some(("receive", bytes)) => config.receive_buffer = Some(number(bytes)?),
                        _ => return Err(format!("`{size}` is neither send=N nor receive=N")),
                    }
                }
            }
            ["open", side] => self.open(side)?,
            ["establish", options @ ..] => self.establish(options)?,
            _ => return Err("unknown: host, cc, mtu, set, with, buffers, open, establish".into()),
        }
        Ok(())
    }

    fn open(&mut self, side: &str) -> Outcome {
        let config = self.config.take().expect("checked before");
        self.connection = Some(match side {
            "active" => Connection::active(config, Instant::ZERO),
            "passive" => Connection::passive(config),
            _ => return Err(format!("`{side}` is neither active nor passive")),
        });
        self.drain();
        Ok(())
    }

    /// Performs the handshake of an active opener with a peer that offers the options of the
    /// script.
    fn establish(&mut self, options: &[&str]) -> Outcome {
        let mut rtt = Duration::from_millis(100);
        for option in options {
            match option.split_once('=') {
                Some(("rtt", span)) => rtt = duration(span)?,
                Some(("win", bytes)) => self.window = number(bytes)? as u32,
                _ => return Err(format!("`{option}` is neither rtt=TIME nor win=N")),
            }
        }
        self.open("active")?;
        let (_, syn) = self.sent.pop_front().ok_or("no SYN was sent")?;
        self.now = Instant::ZERO + rtt;
        // The peer accepts the ECN that the SYN requests. The SYN of accurate ECN was not
        // ECN-capable, or had ECT(1).
        let ecn = match (syn.header.flags.ace(), syn.ecn) {
            (0b000, _) => TcpFlags::default(),
            (0b111, Ecn::Ect1) => TcpFlags::of_ace(0b011),
            (0b111, _) => TcpFlags::of_ace(0b010),
            _ => TcpFlags::ECE,
        };
        let flags = TcpFlags::SYN.with(TcpFlags::ACK).with(ecn);
        let header = TcpHeader {
            ack: 1,
            window: self.window.min(65_535),
            ts_val: if self.timestamps { self.clock() } else { 0 },
            ts_ecr: if self.timestamps { syn.header.ts_val } else { 0 },
            flags,
            mss: 1_460,
            window_scale: 10,
            sack_permitted: self.sack,
            timestamps: self.timestamps,
            ..TcpHeader::default()
        };
        let now = self.now;
        self.connection().handle_segment(&header, Ecn::NotEct, now);
        self.drain();
        let answer = self.sent.pop_front().ok_or("no acknowledgement completed the handshake")?;
        if answer.1.header.flags.0 & !TcpFlags::ACE.0 != TcpFlags::ACK.0 || answer.1.header.ack != 1
        {
            return Err(format!("the handshake was completed by {}", show(&answer.1)));
        }
        // The window of a SYN is never scaled, so another segment with the actual window follows.
        if self.window > 65_535 {
            let header = self.header(TcpFlags::ACK, 1, 0, 1);
            self.connection().handle_segment(&header, Ecn::NotEct, now);
            self.drain();
        }
        self.zero = self.now;
        Ok(())
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("opened before")
    }

    /// Returns the peer's clock in milliseconds, which equals the clock of this end.
    fn clock(&self) -> u32 {
        (self.now.as_nanos() / 1_000_000) as u32 + 1_000
    }

    fn time(&self, word: &str) -> Result<(Instant, Instant), String> {
        let (relative, rest) = (word.starts_with('+'), &word[1..]);
        let base = if relative { self.now } else { self.zero };
        let (from, to) = rest.split_once("..").unwrap_or((rest, rest));
        let (from, to) = (base + duration(from)?, base + duration(to)?);
        if from < self.now || to < from {
            return Err(format!("time runs back to {word}"));
        }
        Ok((from, to))
    }

    fn action(&mut self, from: Instant, to: Instant, words: &[&str]) -> Outcome {
        if self.connection.is_none() {
            return Err("nothing is open: `open` or `establish` first".into());
        }
        if words[0] == "out" {
            self.advance(to);
            return self.expect(from, to, &words[1..]);
        }
        if from != to {
            return Err("a span is for `out` only".into());
        }
        self.advance(to);
        if words[0] != "check" && words[0] != "event" {
            self.expect_nothing()?;
        }
        match words {
            ["in", rest @ ..] => self.arrive(rest)?,
            ["write", "unlimited"] => self.connection().send_unlimited(),
            ["write", bytes] => {
                let bytes = number(bytes)?;
                let now = self.now;
                let taken = self.connection().write(now, bytes);
                if taken != bytes {
                    return Err(format!("the buffer took {taken} bytes only"));
                }
            }
            ["offer", bytes] => {
                let bytes = number(bytes)?;
                let now = self.now;
                self.connection().write(now, bytes);
            }
            ["close"] => self.connection().close(),
            ["abort"] => self.connection().abort(),
            ["event", rest @ ..] => return self.event(rest),
            ["check", name, relation, value] => return self.check(name, relation, value),
            _ => {
                return Err("unknown: in, out, write, offer, close, abort, event, check".into());
            }
        }
        self.drain();
        Ok(())
    }

    /// Runs timers until `to`.
    fn advance(&mut self, to: Instant) {
        while let Some(at) = self.connection().poll_timeout().filter(|at| *at <= to) {
            self.now = self.now.max(at);
            let now = self.now;
            self.connection().handle_timeout(now);
            self.drain();
        }
        self.now = self.now.max(to);
    }

    fn drain(&mut self) {
        let now = self.now;
        while let Some(segment) = self.connection().poll_transmit(now) {
            if segment.header.timestamps {
                self.last_ts_val = segment.header.ts_val;
            }
            self.sent.push_back((now, segment));
        }
        while let Some(event) = self.connection().poll_event() {
            self.events.push_back(event);
        }
    }

    fn expect_nothing(&mut self) -> Outcome {
        match self.sent.pop_front() {
            None => Ok(()),
            Some((at, segment)) => {
                Err(format!("unexpected at @{}: {}", at.since(self.zero), show(&segment)))
            }
        }
    }

    fn finish(&mut self) -> Outcome {
        if self.connection.is_none() {
            return Err("nothing was opened".into());
        }
        self.expect_nothing()
    }

    fn header(&self, flags: TcpFlags, seq: u64, payload: u32, ack: u64) -> TcpHeader {
        TcpHeader {
            seq,
            ack,
            payload,
            window: self.window,
            ts_val: if self.timestamps { self.clock() } else { 0 },
            ts_ecr: if self.timestamps { self.last_ts_val } else { 0 },
            flags,
            options_len: if self.timestamps { 12 } else { 0 },
            window_scale: 255,
            timestamps: self.timestamps,
            ..TcpHeader::default()
        }
    }

    /// Passes the peer's segments of a line to the connection.
    fn arrive(&mut self, words: &[&str]) -> Outcome {
        let wanted = Described::parse(words)?;
        if let Some(window) = wanted.window {
            self.window = window;
        }
        let ack = wanted.ack.unwrap_or(0);
        let mut header = self.header(wanted.flags, wanted.seq, wanted.payload, ack);
        let mut sack = SackBlocks::default();
        for (start, end) in wanted.sack.iter().flatten() {
            sack.push(ack, *start, *end);
        }
        header.sack = sack;
        if let Some(at) = wanted.echo {
            header.ts_ecr = ((self.zero + at).as_nanos() / 1_000_000) as u32 + 1_000;
        }
        if wanted.flags.has(TcpFlags::SYN) {
            header.mss = wanted.mss.unwrap_or(1_460);
            header.window_scale = wanted.scale.unwrap_or(255);
            header.sack_permitted = wanted.sack_permitted;
            header.timestamps = wanted.timestamps;
            self.timestamps = wanted.timestamps;
        }
        let (now, ecn) = (self.now, wanted.ecn.unwrap_or(Ecn::NotEct));
        for _ in 0..wanted.count {
            self.connection().handle_segment(&header, ecn, now);
            header.seq += u64::from(header.payload);
            self.drain();
        }
        Ok(())
    }

    /// Checks the next segments that the connection sent, as many as the line states.
    fn expect(&mut self, from: Instant, to: Instant, words: &[&str]) -> Outcome {
        let mut wanted = Described::parse(words)?;
        for _ in 0..wanted.count {
            let Some((at, segment)) = self.sent.pop_front() else {
                return Err("nothing was sent".into());
            };
            let found = || format!("found @{}: {}", at.since(self.zero), show(&segment));
            if at < from || at > to {
                return Err(format!("not at this time; {}", found()));
            }
            wanted.compare(&segment).map_err(|what| format!("{what}; {}", found()))?;
            wanted.seq += u64::from(wanted.payload);
        }
        Ok(())
    }

    fn event(&mut self, words: &[&str]) -> Outcome {
        let wanted = match words {
            ["established"] => Event::Established,
            ["readable", bytes] => Event::Readable(number(bytes)?),
            ["writable"] => Event::Writable,
            ["finished"] => Event::PeerFinished,
            ["closed"] => Event::Closed,
            ["aborted"] => Event::Aborted,
            _ => return Err("no such event".into()),
        };
        let mut passed = Vec::new();
        while let Some(event) = self.events.pop_front() {
            if event == wanted {
                return Ok(());
            }
            passed.push(event);
        }
        Err(format!("it did not happen; found {passed:?}"))
    }

    fn check(&mut self, name: &str, relation: &str, value: &str) -> Outcome {
        let connection = self.connection.as_ref().expect("opened before");
        let (metrics, stats) = (connection.metrics(), connection.stats());
        let span = |span: Option<Duration>| span.map_or(0, Duration::as_nanos);
        let words = [("state", metrics.state), ("recovery", metrics.recovery)];
        if let Some((_, found)) = words.iter().find(|(word, _)| *word == name) {
            return match (relation, *found == value) {
                ("=", true) => Ok(()),
                _ => Err(format!("it is {found}")),
            };
        }
        let found = match name {
            "cwnd" => metrics.sender.cwnd_bytes,
            "ssthresh" => metrics.sender.ssthresh_bytes.unwrap_or(0),
            "in_flight" => metrics.sender.in_flight_bytes,
            "rwnd" => metrics.rwnd_bytes,
            "srtt" => span(metrics.sender.srtt),
            "rto" => metrics.rto.as_nanos(),
            "rtos" => stats.rtos,
            "tlps" => stats.tlps,
            "recoveries" => stats.fast_recoveries,
            "undos" => stats.spurious_undos,
            "dup_acks" => stats.dup_acks,
            "dsacks" => stats.dsacks,
            "ce" => stats.ce_received,
            "ece_reductions" => stats.ece_reductions,
            "delivered" => stats.bytes_delivered,
            "probes" => stats.window_probes,
            "retransmitted" => stats.retransmitted_segments,
            _ => return Err(format!("`{name}` is nothing that can be checked")),
        };
        let timed = matches!(name, "srtt" | "rto");
        let wanted = if timed { duration(value)?.as_nanos() } else { number(value)? };
        let holds = match relation {
            "=" => found == wanted,
            "<" => found < wanted,
            ">" => found > wanted,
            _ => return Err(format!("`{relation}` is none of = < >")),
        };
        if holds {
            return Ok(());
        }
        let shown = if timed { Duration::from_nanos(found).to_string() } else { found.to_string() };
        Err(format!("it is {shown}"))
    }
}
