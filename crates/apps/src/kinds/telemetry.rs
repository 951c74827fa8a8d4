//! Telemetry: small messages at a constant rate over one TCP connection.
//!
//! Source: the telemonitoring traffic of Kua, Nguyen, Armitage and Branch (2017, Table I) and of
//! Armitage et al. (2017, §III), from a sensor of 16-bit samples. At 50 or more samples per second,
//! a message has 50 samples (100 bytes, the payload of a `ZigBee` frame). At fewer samples per
//! second, there is one message per second. The sender disables Nagle's algorithm, and the receiver
//! acknowledges at once.
//!
//! A write blocks if it does not fit into the send buffer as a whole. The same holds for nttcp in
//! TCP mode, which the experiments of these papers used. nttcp waits between two writes, so the
//! next message follows an interval after the end of the blocked write. A slow connection therefore
//! lowers the offered rate. Bytes written while TCP cannot send leave in full segments, because the
//! stream has no message boundaries.
//!
//! Differences: unless a write blocks, writes are exactly one interval apart. nttcp counts each
//! interval from the end of the write before it, so its schedule drifts. At a rate below one sample
//! per second, each message has one sample; the papers whose traffic this application models
//! (Armitage et al. 2017; Kua et al. 2017) do not cover such rates.

use aqmlab_core::{Args, Bounds, Duration, Instant, Kind, Param, Side, Value};

use crate::bounds;
use crate::needs::{Measure, Need, Needs};
use crate::params::{self, bytes, ms, rate};
use crate::pipe::Pipe;
use crate::quantiles::{Quantiles, Summary};
use crate::{App, Carries, ConnId, Io, Notice, Open, schedule};

const SAMPLE: u64 = 2;
const SAMPLES_PER_MESSAGE: u64 = 50;

/// The bounds of the rate, up to one message per microsecond.
const RATES: Bounds = Bounds::Whole(1, 8 * SAMPLE * SAMPLES_PER_MESSAGE * 1_000_000);

const MESSAGE: Param = Param {
    name: "message",
    default: bytes(100),
    bounds: bounds::MESSAGE,
    doc: "Size of a message in bytes.",
};
const INTERVAL: Param = Param {
    name: "interval",
    default: ms(400),
    bounds: bounds::SCHEDULE,
    doc: "Time between messages.",
};
const DIRECTION: Param = params::direction("up");
const NODELAY: Param = Param {
    name: "nodelay",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether the sender turns off Nagle's algorithm.",
};
const QUICKACK: Param = Param {
    name: "quickack",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether the receiver acknowledges every segment at once.",
};

#[cfg(test)]
mod tests;

/// Registers `iot_low`, `iot_high` and `telemetry`.
pub const KINDS: &[Kind<dyn App>] = &[
    Kind {
        name: "iot_low",
        summary: "A sensor of 2 kbit/s over TCP: 100 bytes every 400 ms",
        source: "Kua, Nguyen, Armitage and Branch 2017, Table I (IoT_low)",
        params: &[MESSAGE, INTERVAL, DIRECTION, NODELAY, QUICKACK],
        build: |args: &Args| {
            let interval = args.duration("interval");
            Box::new(Telemetry::new(args.bytes("message").0, interval, args))
        },
    },
    Kind {
        name: "iot_high",
        summary: "A sensor of 100 kbit/s over TCP: 100 bytes every 8 ms",
        source: "Kua, Nguyen, Armitage and Branch 2017, Table I (IoT_high)",
        params: &[MESSAGE, Param { default: ms(8), ..INTERVAL }, DIRECTION, NODELAY, QUICKACK],
        build: |args: &Args| {
            let interval = args.duration("interval");
            Box::new(Telemetry::new(args.bytes("message").0, interval, args))
        },
    },
    Kind {
        name: "telemetry",
        summary: "A sensor of any rate over TCP",
        source: "Armitage et al. 2017, §III (16-bit samples, 50 to a message)",
        params: &[
            Param {
                name: "rate",
                default: rate(10_000),
                bounds: RATES,
                doc: "Rate of the samples.",
            },
            DIRECTION,
            NODELAY,
            QUICKACK,
        ],
        build: |args: &Args| {
            let (message, interval) = pace(args.rate("rate").as_bps());
            Box::new(Telemetry::new(message, interval, args))
        },
    },
];

const SENSOR: &[Need] = &[
    Need::up_to("missing", Measure::Own(&["missing_percent"]), [1.0, 5.0], "%")
        .because("readings are missing", "Kua et al. 2017, §II-A: no loss; 5 % is our choice"),
    Need::up_to("delivery", Measure::Own(&["delivery_p95_ms"]), [250.0, 1_000.0], "ms")
        .because("readings are stale", "Kua et al. 2017, §II-A; Armitage et al. 2017, Table VII"),
];
const FINE: &str = "each reading arrives in time";

/// The needs of telemonitoring in real time.
pub const NEEDS: &[Needs] = &[
    Needs::of("iot_low", FINE, SENSOR),
    Needs::of("iot_high", FINE, SENSOR),
    Needs::of("telemetry", FINE, SENSOR),
];

/// Returns the size of a message in bytes and the time between two messages, for a sensor of `bps`.
fn pace(bps: u64) -> (u64, Duration) {
    let samples = (bps / (8 * SAMPLE)).clamp(1, SAMPLES_PER_MESSAGE);
    // At 50 or more samples per second, this is the time of 50 samples. At fewer samples per
    // second, it is about a second.
    let nanos = u128::from(samples * 8 * SAMPLE) * 1_000_000_000 / u128::from(bps);
    (samples * SAMPLE, Duration::from_nanos(nanos as u64))
}

struct Telemetry {
    message: u64,
    interval: Duration,
    sender: Side,
    open: Open,
    running: bool,
    pipe: Option<(ConnId, Pipe<Instant>)>,
    /// The time of the write that is currently blocked, if any.
    blocked: Option<Instant>,
    blocked_for: Duration,
    started: Instant,
    stopped: Option<Instant>,
    sent: u64,
    delivered: u64,
    latency: Quantiles,
}

impl Telemetry {
    fn new(message: u64, interval: Duration, args: &Args) -> Self {
        let sender = params::sender(args);
        let (nodelay, quickack) = (args.flag("nodelay"), args.flag("quickack"));
        Self {
            message,
            interval,
            sender,
            open: Open { nodelay, quickack, ..Open::tcp(sender) },
            running: false,
            pipe: None,
            blocked: None,
            blocked_for: Duration::ZERO,
            started: Instant::ZERO,
            stopped: None,
            sent: 0,
            delivered: 0,
            latency: Quantiles::default(),
        }
    }

    fn start(&mut self, io: &mut dyn Io) {
        self.running = true;
        self.started = io.now();
        let conn = io.open(self.open);
        self.pipe = Some((conn, Pipe::new(conn, self.sender)));
        self.write(io);
    }

    /// Writes a message and schedules the next message an interval later. If the write blocks, the
    /// interval starts when the send buffer has accepted the whole message.
    fn write(&mut self, io: &mut dyn Io) {
        let Some((_, pipe)) = &mut self.pipe else { return };
        let now = io.now();
        pipe.push(self.message, now, io);
        self.sent += 1;
        if pipe.is_blocked() {
            self.blocked = Some(now);
        } else {
            io.wake_at(now + self.interval, 0);
        }
    }

    fn unblock(&mut self, io: &mut dyn Io) {
        let (Some((_, pipe)), Some(since)) = (&mut self.pipe, self.blocked) else { return };
        pipe.flush(io);
        if !pipe.is_blocked() {
            self.blocked = None;
            self.blocked_for += io.now().since(since);
            io.wake_at(io.now() + self.interval, 0);
        }
    }

    fn read(&mut self, bytes: u64, now: Instant) {
        let Some((_, pipe)) = &mut self.pipe else { return };
        pipe.advance(bytes);
        while let Some(written) = pipe.pop() {
            self.delivered += 1;
            self.latency.add_ms(now.since(written));
        }
    }

    fn stop(&mut self, io: &mut dyn Io) {
        if std::mem::take(&mut self.running) {
            self.stopped = Some(io.now());
            if let Some((conn, _)) = self.pipe {
                io.close(conn, self.sender);
            }
        }
    }
}

impl App for Telemetry {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.start(io),
            Notice::Stop => self.stop(io),
            Notice::Wake(_) if self.running && self.blocked.is_none() => self.write(io),
            Notice::Writable { at, .. } if self.running && at == self.sender => self.unblock(io),
            Notice::Read { at, bytes, .. } if at != self.sender => self.read(bytes, io.now()),
            Notice::Finished { conn, at } => io.close(conn, at),
            Notice::Closed(_) => self.running = false,
            _ => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(self.sender.sends())
    }

    fn summary(&self, now: Instant) -> Summary {
        let kbit = |bytes: u64, span: Duration| bytes as f64 * 8e-3 / span.as_secs_f64();
        let span = self.stopped.unwrap_or(now).since(self.started);
        let mut out = vec![
            ("sent_messages", self.sent as f64),
            ("delivered_messages", self.delivered as f64),
            ("offered_kbit", kbit(self.message, self.interval)),
            ("blocked_s", self.blocked_for.as_secs_f64()),
        ];
        if span > Duration::ZERO {
            out.push(("delivered_kbit", kbit(self.delivered * self.message, span)));
        }
        if self.sent > 0 {
            out.push(("completeness_percent", 100.0 * self.delivered as f64 / self.sent as f64));
        }
        let missing = schedule::missing_percent(span, self.interval, self.delivered);
        out.extend(missing.map(|percent| ("missing_percent", percent)));
        self.latency.report(
            ["delivery_p50_ms", "delivery_p95_ms", "delivery_p99_ms", "delivery_max_ms"],
            &mut out,
        );
        out
    }
}
