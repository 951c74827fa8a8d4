//! MQTT: a sensor that publishes to a broker.
//!
//! Source: MQTT 3.1.1. Fixed headers have 2 to 5 bytes (§2.2). The model implements CONNECT and
//! CONNACK (§3.1, §3.2), and PUBLISH at quality of service 0, 1 and 2 (§3.3–3.7, §4.3). Quality 1
//! uses PUBACK; quality 2 uses PUBREC, PUBREL and PUBCOMP. The client sends PINGREQ if it has sent
//! nothing for the keep-alive time (§3.1.2.10). By default, as in Eclipse Paho, at most 20 messages
//! await their acknowledgement; further messages are queued.
//!
//! Differences: no subscriber reads the messages, and a lost connection is not reopened. DISCONNECT
//! is left out, because nothing is sent after the application's stop.

use aqmlab_core::{Args, Bounds, Direction, Duration, Instant, Kind, Param, Side, Value};

use crate::bounds;
use crate::needs::{Measure, Need, Needs};
use crate::params::{bytes, ms};
use crate::pipe::Pipe;
use crate::quantiles::{Quantiles, Summary};
use crate::{App, Carries, ConnId, Io, Notice, Open, schedule};

#[cfg(test)]
mod tests;

/// The length of CONNACK in bytes (§3.2).
const CONNACK: u64 = 4;
/// The length in bytes of PUBACK, PUBREC, PUBREL and PUBCOMP (§3.4 to §3.7).
const ACK: u64 = 4;
/// The length of PINGREQ and of PINGRESP in bytes (§3.12, §3.13).
const PING: u64 = 2;

/// The bounds of the payload in bytes. The upper bound is the largest remaining length (§2.2.3)
/// minus the longest topic, its length field and the packet identifier.
const PAYLOADS: Bounds = Bounds::Whole(0, 268_435_455 - 65_535 - 4);
/// The bounds of the keep-alive time, which has 16 bits in seconds (§3.1.2.10).
const KEEPALIVE: Bounds = Bounds::Multiples(1_000_000_000, 65_535_000_000_000);

/// The token of the wake-up for the next message.
const PUBLISH_DUE: u64 = 0;
/// The token of the wake-up for the next check of the keep-alive time.
const KEEPALIVE_DUE: u64 = 1;

/// Registers `mqtt`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "mqtt",
    summary: "A sensor that publishes to an MQTT broker",
    source: "MQTT 3.1.1 §2.2, §3.1-3.13, §4.3",
    params: &[
        Param {
            name: "payload",
            default: bytes(100),
            bounds: PAYLOADS,
            doc: "Payload of a message in bytes.",
        },
        Param {
            name: "interval",
            default: ms(1_000),
            bounds: bounds::SCHEDULE,
            doc: "Time between messages.",
        },
        Param {
            name: "qos",
            default: Value::Word("1", &["0", "1", "2"]),
            bounds: Bounds::Any,
            doc: "Quality of service: at most once, at least once, exactly once.",
        },
        Param {
            name: "topic",
            default: bytes(20),
            bounds: Bounds::Whole(1, 65_535),
            doc: "Length of the topic's name in bytes.",
        },
        Param {
            name: "client_id",
            default: bytes(16),
            bounds: Bounds::Whole(0, 65_535),
            doc: "Length of the client's identifier in bytes.",
        },
        Param {
            name: "keepalive",
            default: ms(60_000),
            bounds: KEEPALIVE,
            doc: "Idle time after which the client sends a ping; zero disables pings.",
        },
        Param {
            name: "inflight",
            default: Value::Count(20),
            bounds: Bounds::Whole(1, 65_535),
            doc: "Maximum number of messages that await their acknowledgement.",
        },
        Param {
            name: "nodelay",
            default: Value::Flag(true),
            bounds: Bounds::Any,
            doc: "Whether both ends turn off Nagle's algorithm.",
        },
    ],
    build: |args: &Args| {
        let qos = args.word("qos").bytes().next().unwrap_or(b'1') - b'0';
        Box::new(Mqtt {
            qos,
            connect: packet(10 + 2 + args.bytes("client_id").0),
            publish: publish(args.bytes("topic").0, args.bytes("payload").0, qos),
            interval: args.duration("interval"),
            keepalive: args.duration("keepalive"),
            inflight: args.count("inflight"),
            nodelay: args.flag("nodelay"),
            running: false,
            accepted: false,
            link: None,
            opened: Instant::ZERO,
            stopped: None,
            started: Instant::ZERO,
            last_sent: Instant::ZERO,
            published: 0,
            unacked: 0,
            delivered: 0,
            pings: 0,
            delivery: Quantiles::default(),
            acknowledged: Quantiles::default(),
        })
    },
}];

/// The needs of telemonitoring in real time. The delivery time of a message is the time from its
/// due time until the broker has read it.
pub const NEEDS: &[Needs] = &[Needs::of(
    "mqtt",
    "each message arrives in time",
    &[
        Need::up_to("missing", Measure::Own(&["missing_percent"]), [1.0, 5.0], "%")
            .because("messages are missing", "Kua et al. 2017, §II-A: no loss; 5 % is our choice"),
        Need::up_to("delivery", Measure::Own(&["delivery_p95_ms"]), [250.0, 1_000.0], "ms")
            .because(
                "messages are stale",
                "Kua et al. 2017, §II-A; Armitage et al. 2017, Table VII",
            ),
    ],
)];

/// Returns the length in bytes of a control packet with a remaining length of `remaining` bytes
/// (§2.2.3).
const fn packet(remaining: u64) -> u64 {
    let length_bytes = match remaining {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    };
    1 + length_bytes + remaining
}

/// Returns the length of a PUBLISH packet in bytes. At quality of service 1 and 2 it has an
/// identifier (§3.3.2).
const fn publish(topic: u64, payload: u64, qos: u8) -> u64 {
    packet(2 + topic + if qos > 0 { 2 } else { 0 } + payload)
}

/// A control packet. The `Instant` of a variant is the time at which the message was due.
#[derive(Clone, Copy, Debug)]
enum Control {
    Connect,
    Connack,
    Publish(Instant),
    Puback(Instant),
    Pubrec(Instant),
    Pubrel(Instant),
    Pubcomp(Instant),
    Pingreq,
    Pingresp,
}

struct Link {
    conn: ConnId,
    up: Pipe<Control>,
    down: Pipe<Control>,
}

struct Mqtt {
    qos: u8,
    connect: u64,
    publish: u64,
    interval: Duration,
    keepalive: Duration,
    inflight: u64,
    nodelay: bool,
    running: bool,
    /// Whether the client has read CONNACK.
    accepted: bool,
    link: Option<Link>,
    /// The time at which the connection was opened.
    opened: Instant,
    stopped: Option<Instant>,
    /// The time at which the client read CONNACK, when the schedule of messages begins.
    started: Instant,
    last_sent: Instant,
    published: u64,
    unacked: u64,
    delivered: u64,
    pings: u64,
    delivery: Quantiles,
    acknowledged: Quantiles,
}

impl Mqtt {
    fn start(&mut self, io: &mut dyn Io) {
        self.running = true;
        self.opened = io.now();
        let conn = io.open(Open { nodelay: self.nodelay, ..Open::tcp(Side::Home) });
        let (up, down) = (Pipe::new(conn, Side::Home), Pipe::new(conn, Side::Wan));
        self.link = Some(Link { conn, up, down });
        self.tell(self.connect, Control::Connect, io);
    }

    /// Sends a packet from the client.
    fn tell(&mut self, size: u64, control: Control, io: &mut dyn Io) {
        let Some(link) = &mut self.link else { return };
        link.up.push(size, control, io);
        self.last_sent = io.now();
    }

    /// Returns the time at which the next message is due.
    fn due(&self) -> Instant {
        self.started + self.interval * self.published
    }

    /// Publishes every message that is due, while the limit of unacknowledged messages and the send
    /// buffer permit. After each message, requests a wake-up for the next.
    fn publish_due(&mut self, io: &mut dyn Io) {
        while self.running && self.accepted && self.may_publish() && self.due() <= io.now() {
            let due = self.due();
            self.tell(self.publish, Control::Publish(due), io);
            self.unacked += u64::from(self.qos > 0);
            self.published += 1;
            io.wake_at(self.due(), PUBLISH_DUE);
        }
    }

    fn may_publish(&self) -> bool {
        self.unacked < self.inflight && self.link.as_ref().is_some_and(|link| !link.up.is_blocked())
    }

    /// Sends a ping if the client sent nothing for the keep-alive time (§3.1.2.10). Requests the
    /// next check.
    fn keep_alive(&mut self, io: &mut dyn Io) {
        if !self.running || self.keepalive == Duration::ZERO {
            return;
        }
        if self.accepted && io.now().since(self.last_sent) >= self.keepalive {
            self.pings += 1;
            self.tell(PING, Control::Pingreq, io);
        }
        io.wake_at(self.last_sent + self.keepalive, KEEPALIVE_DUE);
    }

    /// Lets the broker read a packet and answer it.
    fn serve(&mut self, control: Control, io: &mut dyn Io) {
        let (size, reply) = match control {
            Control::Connect => (CONNACK, Control::Connack),
            Control::Publish(due) => {
                self.delivered += 1;
                self.delivery.add_ms(io.now().since(due));
                match self.qos {
                    0 => return,
                    1 => (ACK, Control::Puback(due)),
                    _ => (ACK, Control::Pubrec(due)),
                }
            }
            Control::Pubrel(due) => (ACK, Control::Pubcomp(due)),
            Control::Pingreq => (PING, Control::Pingresp),
            _ => return,
        };
        if let (true, Some(link)) = (self.running, &mut self.link) {
            link.down.push(size, reply, io);
        }
    }

    /// Lets the client read a packet, answer it, and publish every message that is due.
    fn hear(&mut self, control: Control, io: &mut dyn Io) {
        match control {
            Control::Connack => {
                self.accepted = true;
                self.started = io.now();
                if self.keepalive > Duration::ZERO && self.running {
                    io.wake_at(io.now() + self.keepalive, KEEPALIVE_DUE);
                }
            }
            Control::Pubrec(due) if self.running => self.tell(ACK, Control::Pubrel(due), io),
            Control::Puback(due) | Control::Pubcomp(due) => {
                self.unacked = self.unacked.saturating_sub(1);
                self.acknowledged.add_ms(io.now().since(due));
            }
            _ => {}
        }
        self.publish_due(io);
    }

    fn read(&mut self, at: Side, bytes: u64, io: &mut dyn Io) {
        let Some(link) = &mut self.link else { return };
        if at == Side::Wan {
            link.up.advance(bytes);
        } else {
            link.down.advance(bytes);
        }
        while let Some(control) = self.pop(at) {
            if at == Side::Wan { self.serve(control, io) } else { self.hear(control, io) }
        }
    }

    fn pop(&mut self, at: Side) -> Option<Control> {
        let link = self.link.as_mut()?;
        if at == Side::Wan { link.up.pop() } else { link.down.pop() }
    }

    fn flush(&mut self, at: Side, io: &mut dyn Io) {
        if let (true, Some(link)) = (self.running, &mut self.link) {
            if at == Side::Home {
                link.up.flush(io);
            } else {
                link.down.flush(io);
            }
            self.publish_due(io);
        }
    }
}

impl App for Mqtt {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.start(io),
            Notice::Stop => {
                self.running = false;
                self.stopped = Some(io.now());
                if let Some(link) = &self.link {
                    io.close(link.conn, Side::Home);
                }
            }
            Notice::Wake(KEEPALIVE_DUE) => self.keep_alive(io),
            Notice::Wake(_) => self.publish_due(io),
            Notice::Writable { at, .. } => self.flush(at, io),
            Notice::Read { at, bytes, .. } => self.read(at, bytes, io),
            Notice::Finished { conn, at } => io.close(conn, at),
            Notice::Closed(_) => self.running = false,
            Notice::Opened(_) | Notice::Datagram { .. } => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(Direction::Up)
    }

    fn summary(&self, now: Instant) -> Summary {
        let mut out = vec![
            ("published_messages", self.published as f64),
            ("delivered_messages", self.delivered as f64),
            ("acknowledged_messages", self.acknowledged.count() as f64),
            ("pings_count", self.pings as f64),
        ];
        if self.running && self.accepted {
            let due = now.since(self.started).as_nanos() / self.interval.as_nanos() + 1;
            out.push(("backlog_messages", due.saturating_sub(self.published) as f64));
        }
        let span = self.stopped.unwrap_or(now).since(self.opened);
        let missing = schedule::missing_percent(span, self.interval, self.delivered);
        out.extend(missing.map(|percent| ("missing_percent", percent)));
        self.delivery.report(
            ["delivery_p50_ms", "delivery_p95_ms", "delivery_p99_ms", "delivery_max_ms"],
            &mut out,
        );
        self.acknowledged
            .report(["puback_p50_ms", "puback_p95_ms", "puback_p99_ms", "puback_max_ms"], &mut out);
        out
    }
}
