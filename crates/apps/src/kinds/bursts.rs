//! Timed transfers. Each opens a connection, sends for a given time or a given number of bytes, and
//! closes the connection.
//!
//! Sources: Boerlage and Collom (2016, Tables VII–XIII) model web and e-mail traffic as greedy TCP
//! for one or three seconds at given times. Armitage et al. (2017, §VI) state the sizes of
//! notifications and photo uploads, and the times within which they should complete. They do not
//! state the interval of notifications and uploads; the default of once a minute is not from a
//! source.

use aqmlab_core::{Args, Bounds, Duration, Instant, Kind, Param, Side, Value};

use crate::bounds;
use crate::needs::{BULK_BYTES, BULK_MS, Measure, Need, Needs};
use crate::params::{self, bytes, ms};
use crate::quantiles::{Quantiles, Summary};
use crate::{App, Carries, ConnId, Io, Notice, Open};

#[cfg(test)]
mod tests;

/// The token of the wake-up that starts a transfer. Any other token is the number of the connection
/// to close.
const NEXT: u64 = u64::MAX;

/// The bounds of the period. Connections are opened at most once per millisecond.
const PERIODS: Bounds = Bounds::span(Duration::from_millis(1), Duration::from_secs(86_400));

const DIRECTION: Param = params::direction("down");
const FIRST: Param = Param {
    name: "first",
    default: ms(0),
    bounds: bounds::WAIT,
    doc: "Time from the start of the application to the first transfer.",
};
const PERIOD: Param = Param {
    name: "period",
    default: ms(15_000),
    bounds: PERIODS,
    doc: "Time between the starts of transfers.",
};
const MINUTE: Param = Param { default: ms(60_000), ..PERIOD };
const COUNT: Param = Param {
    name: "count",
    default: Value::Count(0),
    bounds: bounds::TIMES_OR_ENDLESS,
    doc: "Number of transfers; 0 sets no limit.",
};
const SIZE: Param = Param {
    name: "size",
    default: bytes(0),
    bounds: bounds::TRANSFER_OR_NONE,
    doc: "Bytes of a transfer; 0 sends as much as possible for the duration.",
};
const DURATION: Param = Param {
    name: "duration",
    default: ms(1_000),
    bounds: bounds::WAIT,
    doc: "Duration of a transfer without a size.",
};
const DEADLINE: Param = Param {
    name: "deadline",
    default: Value::MaybeDuration(None),
    bounds: bounds::SPAN,
    doc: "Time within which a transfer of a given size should complete.",
};

const fn seconds(s: u64) -> Value {
    Value::MaybeDuration(Some(Duration::from_secs(s)))
}

/// Registers `bursts`, `notification` and `photo_upload`.
pub const KINDS: &[Kind<dyn App>] = &[
    Kind {
        name: "bursts",
        summary: "Timed TCP transfers, such as web pages and mail",
        source: "Boerlage and Collom 2016, Tables VII-XIII",
        params: &[DIRECTION, FIRST, PERIOD, COUNT, SIZE, DURATION, DEADLINE],
        build: |args: &Args| Box::new(Bursts::new(args.duration("duration"), args)),
    },
    Kind {
        name: "notification",
        summary: "Notifications: 100 kB that should take less than 4 s",
        source: "Armitage et al. 2017, §VI",
        params: &[
            DIRECTION,
            FIRST,
            MINUTE,
            COUNT,
            Param {
                default: bytes(100_000),
                bounds: bounds::TRANSFER,
                doc: "Bytes of a notification.",
                ..SIZE
            },
            Param { default: seconds(4), ..DEADLINE },
        ],
        build: |args: &Args| Box::new(Bursts::new(Duration::ZERO, args)),
    },
    Kind {
        name: "photo_upload",
        summary: "Photo uploads: 2 MB that should take less than 30 s",
        source: "Armitage et al. 2017, §VI",
        params: &[
            params::direction("up"),
            FIRST,
            MINUTE,
            COUNT,
            Param {
                default: bytes(2_000_000),
                bounds: bounds::TRANSFER,
                doc: "Bytes of a photo.",
                ..SIZE
            },
            Param { default: seconds(30), ..DEADLINE },
        ],
        build: |args: &Args| Box::new(Bursts::new(Duration::ZERO, args)),
    },
];

const LATE: Need = Need::up_to("late", Measure::Own(&["late_percent"]), [0.0, 5.0], "%");

/// The needs of `bursts`, `notification` and `photo_upload`. A transfer with a deadline is late if
/// it takes longer than the deadline. Without a deadline, transfers of up to 10 MB are judged as
/// bulk data. `bursts` stands for web pages and mail, so its round trips are judged too.
pub const NEEDS: &[Needs] = &[
    Needs::of(
        "bursts",
        "each transfer is over at once",
        &[
            LATE.because("transfers miss their deadline", "the scenario; 5 % is our choice"),
            Need::up_to("transfers", Measure::Own(&["transfer_p75_ms"]), BULK_MS, "ms")
                .because("transfers crawl", "G.1010 Table I.2: bulk data, up to 10 MB"),
            Need::up_to("round trips", Measure::RoundTrip, [1_000.0, 2_000.0], "ms")
                .because("pages are slow", "Boerlage and Collom 2016, Table I (G.1010)"),
        ],
    ),
    Needs::of(
        "notification",
        "each one comes in time",
        &[LATE.because("notifications are late", "Armitage et al. 2017, §VI; 5 % is our choice")],
    ),
    Needs::of(
        "photo_upload",
        "each photo is sent in time",
        &[LATE.because("photos crawl", "Armitage et al. 2017, §VI; 5 % is our choice")],
    ),
];

#[derive(Debug)]
struct Burst {
    conn: ConnId,
    started: Instant,
    left: u64,
}

struct Bursts {
    sender: Side,
    first: Duration,
    period: Duration,
    count: u64,
    size: u64,
    span: Duration,
    deadline: Option<Duration>,
    running: bool,
    started: Instant,
    begun: u64,
    late: u64,
    /// The transfers in progress.
    active: Vec<Burst>,
    took: Quantiles,
}

impl Bursts {
    fn new(span: Duration, args: &Args) -> Self {
        Self {
            sender: params::sender(args),
            first: args.duration("first"),
            period: args.duration("period"),
            count: args.count("count"),
            size: args.bytes("size").0,
            span,
            deadline: args.maybe_duration("deadline"),
            running: false,
            started: Instant::ZERO,
            begun: 0,
            late: 0,
            active: Vec::new(),
            took: Quantiles::default(),
        }
    }

    fn plan(&self, io: &mut dyn Io) {
        if self.count == 0 || self.begun < self.count {
            io.wake_at(self.started + self.first + self.period * self.begun, NEXT);
        }
    }

    fn begin(&mut self, io: &mut dyn Io) {
        self.begun += 1;
        let conn = io.open(Open { reads: self.size > 0, ..Open::tcp(self.sender) });
        self.active.push(Burst { conn, started: io.now(), left: self.size });
        if self.size > 0 {
            self.fill(conn, io);
        } else {
            io.send_unlimited(conn, self.sender);
            io.wake_at(io.now() + self.span, u64::from(conn.0));
        }
        self.plan(io);
    }

    fn fill(&mut self, conn: ConnId, io: &mut dyn Io) {
        let Some(burst) = self.active.iter_mut().find(|burst| burst.conn == conn) else { return };
        if burst.left > 0 && self.running {
            burst.left -= io.write(conn, self.sender, burst.left).min(burst.left);
            if burst.left == 0 {
                io.close(conn, self.sender);
            }
        }
    }

    fn finish(&mut self, conn: ConnId, now: Instant) {
        let Some(at) = self.active.iter().position(|burst| burst.conn == conn) else { return };
        let burst = self.active.swap_remove(at);
        // A burst that the end of the application cut short is not complete.
        if burst.left == 0 {
            let took = now.since(burst.started);
            self.took.add_ms(took);
            self.late += u64::from(self.deadline.is_some_and(|deadline| took > deadline));
        }
    }

    /// Returns the 75th percentile of the transfer times in milliseconds; `None` if no transfer
    /// counts. An unfinished transfer counts, with its age, only if its age exceeds the tolerable
    /// time.
    fn usual_ms(&self, now: Instant) -> Option<f64> {
        let mut times = self.took.clone();
        for burst in &self.active {
            let age = now.since(burst.started);
            if age.as_secs_f64() * 1e3 > BULK_MS[1] {
                times.add_ms(age);
            }
        }
        times.at(0.75)
    }

    fn stop(&mut self, io: &mut dyn Io) {
        self.running = false;
        for burst in &self.active {
            io.close(burst.conn, self.sender);
        }
        self.active.retain(|burst| burst.left == 0);
    }
}

impl App for Bursts {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => {
                self.running = true;
                self.started = io.now();
                self.plan(io);
            }
            Notice::Stop => self.stop(io),
            Notice::Wake(NEXT) if self.running => self.begin(io),
            Notice::Wake(conn) if conn != NEXT => io.close(ConnId(conn as u32), self.sender),
            Notice::Writable { conn, .. } => self.fill(conn, io),
            Notice::Finished { conn, at } => {
                self.finish(conn, io.now());
                io.close(conn, at);
            }
            Notice::Closed(conn) => self.active.retain(|burst| burst.conn != conn),
            _ => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(self.sender.sends())
    }

    fn summary(&self, now: Instant) -> Summary {
        let mut out = vec![
            ("begun_transfers", self.begun as f64),
            ("completed_transfers", self.took.count() as f64),
        ];
        self.took.report(
            ["completion_p50_ms", "completion_p95_ms", "completion_p99_ms", "completion_max_ms"],
            &mut out,
        );
        if (1..=BULK_BYTES).contains(&self.size) && self.deadline.is_none() {
            out.extend(self.usual_ms(now).map(|ms| ("transfer_p75_ms", ms)));
        }
        if let Some(deadline) = self.deadline {
            let overdue = |burst: &&Burst| now.since(burst.started) > deadline;
            let late = self.late + self.active.iter().filter(overdue).count() as u64;
            let judged = self.took.count() + late - self.late;
            if judged > 0 {
                out.push(("late_percent", 100.0 * late as f64 / judged as f64));
            }
        }
        out
    }
}
