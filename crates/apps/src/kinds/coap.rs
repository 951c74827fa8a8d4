//! CoAP: confirmable requests over UDP, one at a time.
//!
//! Source: RFC 7252 §4.2 and §4.8. A request is repeated at most `MAX_RETRANSMIT` times. The first
//! timeout is drawn between `ACK_TIMEOUT` and `ACK_TIMEOUT` × `ACK_RANDOM_FACTOR`; each repetition
//! doubles the timeout. `NSTART` is 1, so the next request waits until the current request ends.
//! The acknowledgement carries the response (§5.2.1). A repeated request gets the stored response
//! again (§4.5).
//!
//! A retransmission is spurious if the first response that arrives answers an earlier copy of the
//! request. A real acknowledgement does not distinguish copies; the tag does, for this measurement
//! only.

use aqmlab_core::{Args, Bounds, Direction, Duration, Instant, Kind, Param, Side, Value};

use crate::bounds;
use crate::datagrams;
use crate::needs::{Measure, Need, Needs};
use crate::params::{self, bytes, ms};
use crate::quantiles::{Quantiles, Summary};
use crate::{App, Carries, ConnId, Datagram, Io, Notice, Open, schedule};

#[cfg(test)]
mod tests;

/// The length of a request's header in bytes. The header consists of the fixed header, a token of 4
/// bytes, an option with a path of 8 bytes, and the payload marker.
const REQUEST_HEADER: u32 = 4 + 4 + 9 + 1;
/// The length of a response's header in bytes: the fixed header and the token.
const RESPONSE_HEADER: u32 = 4 + 4;

/// The bounds of a payload that fits into a datagram together with the headers.
const COAP: Bounds = Bounds::Whole(0, bounds::MOST_DATAGRAM - REQUEST_HEADER as u64);

const COPY_BITS: u32 = 8;

/// Registers `coap`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "coap",
    summary: "Confirmable CoAP requests, repeated until answered",
    source: "RFC 7252 §4.2, §4.7, §4.8",
    params: &[
        Param {
            name: "payload",
            default: bytes(100),
            bounds: COAP,
            doc: "Payload of a request in bytes.",
        },
        Param {
            name: "response",
            default: bytes(0),
            bounds: COAP,
            doc: "Payload of a response in bytes.",
        },
        Param {
            name: "interval",
            default: ms(1_000),
            bounds: bounds::SCHEDULE,
            doc: "Time between requests.",
        },
        Param {
            name: "ack_timeout",
            default: ms(2_000),
            bounds: bounds::SCHEDULE,
            doc: "Minimum time before the first retransmission (ACK_TIMEOUT).",
        },
        Param {
            name: "ack_random_factor",
            default: Value::Number(1.5),
            bounds: Bounds::Real(1.0, 1_000.0),
            doc: "Maximum time before the first retransmission, relative to the minimum \
                  (ACK_RANDOM_FACTOR).",
        },
        Param {
            name: "max_retransmit",
            default: Value::Count(4),
            bounds: Bounds::Whole(0, 20),
            doc: "Retransmissions before giving up (MAX_RETRANSMIT).",
        },
    ],
    build: |args: &Args| {
        Box::new(Coap {
            request: params::payload(args, "payload") + REQUEST_HEADER,
            response: params::payload(args, "response") + RESPONSE_HEADER,
            interval: args.duration("interval"),
            ack_timeout: args.duration("ack_timeout"),
            random_factor: args.number("ack_random_factor"),
            max_retransmit: args.count("max_retransmit"),
            conn: None,
            running: false,
            started: Instant::ZERO,
            stopped: None,
            exchange: None,
            asked: 0,
            answered: 0,
            failed: 0,
            retransmitted: 0,
            spurious: 0,
            response_time: Quantiles::default(),
            waited: Quantiles::default(),
            age: Quantiles::default(),
        })
    },
}];

/// The needs of telemonitoring in real time. The time of an answer begins when its request is due,
/// so it includes the wait behind earlier requests.
pub const NEEDS: &[Needs] = &[Needs::of(
    "coap",
    "each request is answered in time",
    &[
        Need::up_to("unanswered", Measure::Own(&["missing_percent"]), [1.0, 5.0], "%")
            .because("requests fail", "Kua et al. 2017, §II-A: no loss; 5 % is our choice"),
        Need::up_to("answers", Measure::Own(&["answer_p95_ms"]), [250.0, 1_000.0], "ms").because(
            "answers come late",
            "Kua et al. 2017, §II-A; Armitage et al. 2017, Table VII",
        ),
    ],
)];

/// The request in progress.
struct Exchange {
    due: Instant,
    first_sent: Instant,
    timeout: Duration,
    /// The number of copies sent after the first copy.
    repeats: u64,
}

struct Coap {
    request: u32,
    response: u32,
    interval: Duration,
    ack_timeout: Duration,
    random_factor: f64,
    max_retransmit: u64,
    conn: Option<ConnId>,
    running: bool,
    started: Instant,
    stopped: Option<Instant>,
    exchange: Option<Exchange>,
    /// The number of requests begun. They are numbered from zero.
    asked: u64,
    answered: u64,
    failed: u64,
    retransmitted: u64,
    spurious: u64,
    response_time: Quantiles,
    waited: Quantiles,
    /// The times from the due time of a request to its answer.
    age: Quantiles,
}

impl Coap {
    /// Does nothing after the stop or while a request is in progress. Otherwise begins the next
    /// request if it is due, or sets a wake-up for its due time.
    fn next(&mut self, io: &mut dyn Io) {
        if !self.running || self.exchange.is_some() {
            return;
        }
        let due = self.started + self.interval * self.asked;
        if due > io.now() {
            io.wake_at(due, token(self.asked, 0));
            return;
        }
        self.waited.add_ms(io.now().since(due));
        let longest = self.ack_timeout.as_secs_f64() * self.random_factor;
        let drawn = io.rng().uniform(self.ack_timeout.as_secs_f64(), longest);
        let timeout = Duration::from_secs_f64(drawn);
        self.exchange = Some(Exchange { due, first_sent: io.now(), timeout, repeats: 0 });
        self.asked += 1;
        self.transmit(io);
    }

    fn transmit(&mut self, io: &mut dyn Io) {
        let (Some(exchange), Some(conn)) = (&self.exchange, self.conn) else { return };
        let tag = token(self.asked - 1, exchange.repeats);
        io.send(conn, Side::Home, self.request, tag);
        // The token of the deadline is the tag of the copy with a flag that distinguishes it from
        // the token of `next`.
        io.wake_at(io.now() + exchange.timeout, tag | DEADLINE);
    }

    fn deadline(&mut self, tag: u64, io: &mut dyn Io) {
        let number = self.asked.wrapping_sub(1);
        let Some(exchange) = &mut self.exchange else { return };
        if token(number, exchange.repeats) != tag {
            return;
        }
        if exchange.repeats >= self.max_retransmit {
            self.failed += 1;
            self.exchange = None;
            self.next(io);
            return;
        }
        exchange.repeats += 1;
        exchange.timeout = exchange.timeout * 2;
        self.retransmitted += 1;
        self.transmit(io);
    }

    fn answer(&mut self, tag: u64, io: &mut dyn Io) {
        let Some(exchange) = &self.exchange else { return };
        if tag >> COPY_BITS != self.asked - 1 {
            return;
        }
        let copy = tag & ((1 << COPY_BITS) - 1);
        self.spurious += exchange.repeats.saturating_sub(copy);
        self.answered += 1;
        self.response_time.add_ms(io.now().since(exchange.first_sent));
        self.age.add_ms(io.now().since(exchange.due));
        self.exchange = None;
        self.next(io);
    }

    fn stop(&mut self, io: &mut dyn Io) {
        self.exchange = None;
        self.stopped = Some(io.now());
        if let (true, Some(conn)) = (std::mem::take(&mut self.running), self.conn) {
            datagrams::close(conn, io);
        }
    }
}

const DEADLINE: u64 = 1 << 63;

const fn token(number: u64, copy: u64) -> u64 {
    (number << COPY_BITS | copy) & !DEADLINE
}

impl App for Coap {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => {
                self.running = true;
                self.started = io.now();
                self.conn = Some(io.open(Open::udp(Side::Home)));
                self.next(io);
            }
            Notice::Stop => self.stop(io),
            Notice::Wake(tag) if tag & DEADLINE != 0 => self.deadline(tag & !DEADLINE, io),
            Notice::Wake(_) => self.next(io),
            Notice::Datagram { conn, at: Side::Wan, tag, .. } if self.running => {
                io.send(conn, Side::Wan, self.response, tag);
            }
            Notice::Datagram { at: Side::Home, tag, .. } => self.answer(tag, io),
            _ => {}
        }
    }

    fn datagram(&self) -> Option<Datagram> {
        let (bytes, headers, set_by) = if self.request >= self.response {
            (self.request, REQUEST_HEADER, "payload")
        } else {
            (self.response, RESPONSE_HEADER, "response")
        };
        Some(Datagram { bytes, headers, set_by })
    }

    fn carries(&self) -> Carries {
        Carries::One(Direction::Up)
    }

    fn summary(&self, now: Instant) -> Summary {
        let mut out = vec![
            ("requests_count", self.asked as f64),
            ("answered_count", self.answered as f64),
            ("failed_count", self.failed as f64),
            ("retransmissions_count", self.retransmitted as f64),
            ("spurious_count", self.spurious as f64),
        ];
        let span = self.stopped.unwrap_or(now).since(self.started);
        let missing = schedule::missing_percent(span, self.interval, self.answered);
        out.extend(missing.map(|percent| ("missing_percent", percent)));
        self.age
            .report(["answer_p50_ms", "answer_p95_ms", "answer_p99_ms", "answer_max_ms"], &mut out);
        self.response_time.report(
            ["response_p50_ms", "response_p95_ms", "response_p99_ms", "response_max_ms"],
            &mut out,
        );
        self.waited.report(
            [
                "nstart_wait_p50_ms",
                "nstart_wait_p95_ms",
                "nstart_wait_p99_ms",
                "nstart_wait_max_ms",
            ],
            &mut out,
        );
        out
    }
}
