//! Responsiveness under working conditions, in round trips per minute (RPM).
//!
//! Source: draft-ietf-ippm-responsiveness (commit a9c9536 of 2026-07-06). A client loads the line
//! in one direction and measures round trips while the line is loaded. The load consists of endless
//! transfers over HTTP/2, downloads (GET) or uploads (POST). By default it begins with one
//! connection, and each interval adds one. Two kinds of probes request an object of one byte. A
//! foreign probe opens a connection for its request. A self probe uses one of the connections of
//! the load, drawn uniformly. The first stage ends when the goodput is stable, and the second stage
//! when the responsiveness is stable.
//!
//! These modules follow the draft:
//!
//! - `formula`: the trimmed mean, the responsiveness, and the test of stability;
//! - `stages`: the two stages, their limit, and the confidence in their results;
//! - `pace`: the rate of probes;
//! - `history`: the transfers and the probes of the last intervals;
//! - `channel`: a connection with TLS and HTTP/2 and its two ends;
//! - `foreign`: a foreign probe;
//! - `direction`: the test of one direction;
//! - `report`: the metrics of one direction.
//!
//! The draft leaves some points open. Both directions are tested one after the other, the download
//! first. The client knows no capacity before the end of the first interval, so the probes begin
//! with the second interval. The capacity that bounds the probes is the goodput of the latest
//! complete interval. "The past MAD values" include the present value. A stage has a maximum number
//! of intervals; the draft only recommends such a limit. The default of ten intervals follows the
//! draft's example of a limit of 10 s, which is ten intervals of 1 s. This example is older than
//! the draft's interval of 5 s. The goodput of an upload is the number of bytes in frames that the
//! client hands to its socket, because the client does not know when they arrive.
//!
//! Differences: the sockets have neither `TCP_NOTSENT_LOWAT` nor `TCP_REPLENISH_TIME`, which
//! draft-ietf-ippm-responsiveness recommends, so a self probe also waits behind the data in the
//! send buffer. There is no HTTP/3, and the client does not fetch the configuration of the test.
//! The sizes of requests and headers are those of `web`.

use aqmlab_core::{Args, Bounds, Direction, Duration, Instant, Kind, Param, Value};

use crate::needs::{Measure, Need, Needs};
use crate::params::ms;
use crate::quantiles::Summary;
use crate::{App, Carries, Io, Notice, http};

mod channel;
mod direction;
mod foreign;
mod formula;
mod history;
mod pace;
mod report;
mod stages;

use channel::Sizes;
use direction::{DirectionTest, Progress};
use pace::Limits;
use stages::Rule;

/// The bounds of a parameter that is a proportion and must be above zero.
const PROPORTION: Bounds = Bounds::Real(0.001, 1.0);

/// Registers `rpm`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "rpm",
    summary: "A test of responsiveness under load, in round trips per minute",
    source: "draft-ietf-ippm-responsiveness (commit a9c9536 of 2026-07-06)",
    params: &[
        Param {
            name: "direction",
            default: Value::Word("both", &["both", "down", "up"]),
            bounds: Bounds::Any,
            doc: "Direction of the load; `both` tests the download and then the upload.",
        },
        Param {
            name: "interval",
            default: ms(5_000),
            bounds: Bounds::span(Duration::from_millis(100), Duration::from_secs(3_600)),
            doc: "Time between evaluations (ID).",
        },
        Param {
            name: "distance",
            default: Value::Count(4),
            bounds: Bounds::Whole(1, 100),
            doc: "Number of intervals in a moving average (MAD).",
        },
        Param {
            name: "trim",
            default: Value::Number(0.95),
            bounds: PROPORTION,
            doc: "Proportion of the smallest times that a mean contains (TMP).",
        },
        Param {
            name: "tolerance",
            default: Value::Number(0.05),
            bounds: PROPORTION,
            doc: "Standard deviation below which a value is stable, relative to the value (SDT).",
        },
        Param {
            name: "initial",
            default: Value::Count(1),
            bounds: Bounds::Whole(1, 256),
            doc: "Number of connections of the load at the start (INP).",
        },
        Param {
            name: "increment",
            default: Value::Count(1),
            bounds: Bounds::Whole(0, 256),
            doc: "Number of connections that each interval adds to the load (INC).",
        },
        Param {
            name: "connections",
            default: Value::Count(16),
            bounds: Bounds::Whole(1, 256),
            doc: "Maximum number of connections of the load (MNP).",
        },
        Param {
            name: "probes",
            default: Value::Count(100),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Maximum number of probes of each kind per second (MPS).",
        },
        Param {
            name: "probe_share",
            default: Value::Number(0.05),
            bounds: PROPORTION,
            doc: "Maximum proportion of the goodput that probes may use (PTC).",
        },
        Param {
            name: "stage_intervals",
            default: Value::Count(10),
            bounds: Bounds::Whole(1, 10_000),
            doc: "Maximum number of intervals of a stage; a direction has two stages.",
        },
        http::TLS_RTTS,
        http::REQUEST,
        http::HEADER,
    ],
    build: |args: &Args| Box::new(Rpm::new(Config::of(args), args.word("direction"))),
}];

/// The needs of `rpm`, which are the classes of the draft: fair from 300 RPM, good from 1000 RPM
/// and excellent from 6000 RPM.
pub const NEEDS: &[Needs] = &[Needs {
    note: "the test itself loads the line",
    ..Needs::of(
        "rpm",
        "a busy line still answers at once",
        &[Need::from(
            "responsiveness",
            Measure::Own(&["responsiveness_down_rpm", "responsiveness_up_rpm"]),
            [6_000.0, 1_000.0, 300.0],
            "RPM",
        )
        .because(
            "everything feels slow while the line is busy",
            "draft-ietf-ippm-responsiveness: fair from 300 RPM, good from 1000 RPM",
        )],
    )
}];

/// The settings of a test.
#[derive(Clone, Copy, Debug)]
struct Config {
    interval: Duration,
    /// The proportion of the smallest times that a mean contains.
    trim: f64,
    rule: Rule,
    /// The number of connections of the load at the start.
    initial: usize,
    /// The number of connections that each interval adds.
    increment: usize,
    /// The maximum number of connections of the load.
    most: usize,
    probes: Limits,
    sizes: Sizes,
}

impl Config {
    fn of(args: &Args) -> Self {
        Self {
            interval: args.duration("interval"),
            trim: args.number("trim"),
            rule: Rule {
                distance: args.count("distance") as usize,
                tolerance: args.number("tolerance"),
                most: args.count("stage_intervals"),
            },
            initial: args.count("initial") as usize,
            increment: args.count("increment") as usize,
            most: args.count("connections") as usize,
            probes: Limits { per_second: args.count("probes"), share: args.number("probe_share") },
            sizes: Sizes {
                tls_rtts: args.count("tls_rtts") as u32,
                request: args.bytes("request").0,
                header: args.bytes("header").0,
            },
        }
    }
}

struct Rpm {
    config: Config,
    carries: Carries,
    /// The directions still to be tested; the next is the last of the list.
    pending: Vec<Direction>,
    /// The tests begun; the last may be in progress.
    tests: Vec<DirectionTest>,
    /// Whether the test was aborted because a connection of the load failed.
    aborted: bool,
    ended: Option<Instant>,
}

impl Rpm {
    fn new(config: Config, directions: &str) -> Self {
        let (carries, pending) = match directions {
            "down" => (Carries::One(Direction::Down), vec![Direction::Down]),
            "up" => (Carries::One(Direction::Up), vec![Direction::Up]),
            _ => (Carries::Both, Direction::BOTH.to_vec()),
        };
        Self { config, carries, pending, tests: Vec::new(), aborted: false, ended: None }
    }

    /// Begins the test of the next direction, if there is one, and ends otherwise.
    fn begin_next(&mut self, io: &mut dyn Io) {
        match self.pending.pop() {
            Some(direction) => self.tests.push(DirectionTest::begin(direction, self.config, io)),
            None => self.ended = Some(io.now()),
        }
    }

    fn stop(&mut self, io: &mut dyn Io) {
        if let (None, Some(test)) = (self.ended, self.tests.last_mut()) {
            test.end(io);
        }
        self.ended = self.ended.or(Some(io.now()));
    }

    /// Ends the test without a result for the present direction, as the draft requires if a
    /// connection fails.
    fn abort(&mut self, io: &mut dyn Io) {
        self.aborted = true;
        self.tests.pop();
        self.ended = Some(io.now());
    }
}

impl App for Rpm {
    fn most_connections(&self) -> u64 {
        self.config.most as u64
    }

    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Finished { conn, at } => io.close(conn, at),
            Notice::Stop => self.stop(io),
            _ if self.ended.is_some() => {}
            Notice::Start => self.begin_next(io),
            notice => {
                let Some(test) = self.tests.last_mut() else { return };
                match test.handle(notice, io) {
                    Progress::Running => {}
                    Progress::Complete => self.begin_next(io),
                    Progress::Failed => self.abort(io),
                }
            }
        }
    }

    fn carries(&self) -> Carries {
        self.carries
    }

    fn ended(&self) -> Option<Instant> {
        self.ended
    }

    fn summary(&self, now: Instant) -> Summary {
        let mut out = vec![("aborted_count", f64::from(u8::from(self.aborted)))];
        for test in &self.tests {
            test.report(now, &mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests;
