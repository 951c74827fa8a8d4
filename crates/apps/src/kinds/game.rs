//! A first-person shooter: small datagrams in both directions at the rate of the game.
//!
//! Sources:
//!
//! - `pktgen`: CAIA pktgen 0.3.1, which TEACUP's `start_fps_game` runs. A server sends each client
//!   an update every 50 ms (30 ms for two games) whose size grows with the number of players. The
//!   program is designed to draw from measured histograms and an ARMA(1, 1) filter (Branch,
//!   Cricenti and Armitage 2008). Its actual draw for N players is normal with mean (N + 0.65)·o −
//!   2N − 10 and deviation 6N + 3, truncated to an integer. Here o is the number of bytes that each
//!   player adds. Negative sizes are made positive and shifted by N·o. This model follows the
//!   actual draw, because TEACUP's experiments used the traffic of pktgen. Clients send 60 +
//!   int(Normal(3, 1)) bytes.
//! - `faerber`: Färber 2002, Counter-Strike. The sizes of the server's packets have the extreme
//!   value distribution Ext(120, 36), and the times between them Ext(55, 6) ms. A client sends
//!   packets with sizes of Ext(80, 5.7) every 40 ms. The sizes are taken as bytes of UDP payload.
//!
//! pktgen sleeps between packets. A sleep may be too long but never too short. `select` of FreeBSD
//! 10 permits an excess of 1/16 of the timeout: `kern_select` shifts the timeout right by
//! `tc_precexp`. `tc_precexp` is four, because the default of `kern.timecounter.alloweddeviation`
//! is 5 %. The actual excess depends on other timers. The model draws the excess uniformly from
//! zero to `oversleep` times the sleep.
//!
//! Differences: packet sizes that are negative even after pktgen's shift count as zero. This shift
//! is the number of players times the number of bytes that each player adds. An update of many
//! players is truncated to the payload of an Ethernet packet, while game engines split such
//! updates.

use aqmlab_core::{Args, Bounds, Duration, Instant, Kind, Param, Side, Value};

use self::model::{Model, growth};
use crate::bounds;
use crate::datagrams::{self, Arrivals};
use crate::needs::{Measure, Need, Needs};
use crate::params::{bytes, ms};
use crate::quantiles::Summary;
use crate::requirements;
use crate::{App, Carries, ConnId, Datagram, Io, Notice, Open};

mod model;
#[cfg(test)]
mod tests;

const TITLES: &[&str] = &["q3", "hl2cs", "hl2dm", "hlcs", "hldm", "et2pro", "q4"];

/// The range of the random delay before the server's first update to a client (TEACUP:
/// `random() / 25` seconds).
const SPREAD: Duration = Duration::from_millis(40);

/// Registers `game`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "game",
    summary: "A first-person shooter, with clients in the home and a server on the internet",
    source: "CAIA pktgen 0.3.1 (TEACUP v1.1 start_fps_game); Färber 2002",
    params: &[
        Param {
            name: "model",
            default: Value::Word("pktgen", &["pktgen", "faerber"]),
            bounds: Bounds::Any,
            doc: "Source of the traffic model.",
        },
        Param {
            name: "title",
            default: Value::Word("q3", TITLES),
            bounds: Bounds::Any,
            doc: "Game that pktgen models: Quake 3, Half-Life 2 Counter-Strike, and so on.",
        },
        Param {
            name: "players",
            default: Value::Count(4),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Number of players in the game, which sets the size of the server's updates.",
        },
        Param {
            name: "clients",
            default: Value::Count(1),
            bounds: Bounds::Whole(1, 64),
            doc: "Number of players in the home.",
        },
        Param {
            name: "s2c_interval",
            default: Value::MaybeDuration(None),
            bounds: bounds::SCHEDULE,
            doc: "Time between the server's updates; off uses the game's own.",
        },
        Param {
            name: "c2s_interval",
            default: ms(10),
            bounds: bounds::SCHEDULE,
            doc: "Time between a client's packets.",
        },
        Param {
            name: "c2s_payload",
            default: bytes(60),
            bounds: bounds::DATAGRAM,
            doc: "Minimum size of a client's packet in bytes.",
        },
        Param {
            name: "client_delay",
            default: ms(3_000),
            bounds: bounds::WAIT,
            doc: "Time from the start of the server to the start of its clients.",
        },
        Param {
            name: "oversleep",
            default: Value::Number(0.0),
            bounds: Bounds::Real(0.0, 1.0),
            doc: "Largest relative excess of pktgen's sleeps between packets; 0.0625 on FreeBSD.",
        },
    ],
    build,
}];

/// The needs of `game`. Armitage (2003) found that players of shooters prefer round trips of up to
/// 100 ms. The limits of loss are not from a source. They are the loss that players begin to
/// notice, and the loss that can decide a duel.
pub const NEEDS: &[Needs] = &[Needs::of(
    "game",
    "plays without lag",
    &[
        Need::up_to("round trips", Measure::RoundTrip, [100.0, 200.0], "ms").because(
            "shots land late",
            "Armitage 2003; Boerlage and Collom 2016, Table I (G.1010)",
        ),
        Need::up_to("loss", Measure::Loss, [3.0, 5.0], "%")
            .because("players jump about", "our choice, for fast games"),
    ],
)
.with(&requirements::GAME)];

fn build(args: &Args) -> Box<dyn App> {
    let title = args.word("title");
    let players = args.count("players") as f64;
    let faerber = args.word("model") == "faerber";
    let own = Duration::from_millis(if matches!(title, "hl2cs" | "hl2dm") { 30 } else { 50 });
    let s2c = args.maybe_duration("s2c_interval");
    Box::new(Game {
        model: if faerber {
            Model::Faerber
        } else {
            Model::Pktgen {
                growth: growth(title),
                players,
                s2c: s2c.unwrap_or(own),
                c2s: args.duration("c2s_interval"),
                least: args.bytes("c2s_payload").0 as f64,
            }
        },
        delay: args.duration("client_delay"),
        // Only pktgen sleeps. Färber measured the times between packets.
        oversleep: if faerber { 0.0 } else { args.number("oversleep") },
        clients: Vec::new(),
        wanted: args.count("clients") as usize,
        running: false,
        arrivals: [Arrivals::default(), Arrivals::default()],
        sent: [0; 2],
    })
}

/// A client and the part of the server that communicates with it.
#[derive(Debug)]
struct Client {
    conn: ConnId,
    /// Whether the server has received a packet of the client.
    known: bool,
    sent: [u64; 2],
}

struct Game {
    model: Model,
    delay: Duration,
    oversleep: f64,
    clients: Vec<Client>,
    wanted: usize,
    running: bool,
    /// The arrivals, by the side that sent the packets.
    arrivals: [Arrivals; 2],
    sent: [u64; 2],
}

impl Game {
    fn start(&mut self, io: &mut dyn Io) {
        self.running = true;
        for n in 0..self.wanted {
            let conn = io.open(Open::udp(Side::Home));
            self.clients.push(Client { conn, known: false, sent: [0; 2] });
            io.wake_at(io.now() + self.delay, token(n, Side::Home));
        }
    }

    fn wake(&mut self, token: u64, io: &mut dyn Io) {
        let side = if token & 1 == 0 { Side::Home } else { Side::Wan };
        let Some(client) = self.clients.get_mut((token >> 1) as usize).filter(|_| self.running)
        else {
            return;
        };
        let payload = self.model.size(side, io.rng());
        // Several clients share the counters of one direction, so they also share its sequence
        // numbers.
        let number = &mut self.sent[side.index()];
        io.send(client.conn, side, payload, datagrams::stamp(*number, io.now()));
        *number += 1;
        client.sent[side.index()] += 1;
        let gap = self.model.gap(side, io.rng());
        let most_s = gap.as_secs_f64() * self.oversleep;
        let late_s = if most_s > 0.0 { io.rng().uniform(0.0, most_s) } else { 0.0 };
        io.wake_at(io.now() + gap + Duration::from_secs_f64(late_s), token);
    }

    fn hear(&mut self, conn: ConnId, at: Side, tag: u64, io: &mut dyn Io) {
        self.arrivals[at.peer().index()].take(tag, io.now());
        let Some(n) = self.clients.iter().position(|client| client.conn == conn) else { return };
        if at == Side::Wan && self.running && !std::mem::replace(&mut self.clients[n].known, true) {
            // The server waits for a client's first packet before it sends to that client.
            let phase = Duration::from_nanos(io.rng().below(SPREAD.as_nanos()));
            io.wake_at(io.now() + phase, token(n, Side::Wan));
        }
    }

    fn stop(&mut self, io: &mut dyn Io) {
        if std::mem::take(&mut self.running) {
            for client in &self.clients {
                datagrams::close(client.conn, io);
            }
        }
    }
}

const fn token(client: usize, side: Side) -> u64 {
    (client as u64) << 1 | side.index() as u64
}

impl App for Game {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.start(io),
            Notice::Stop => self.stop(io),
            Notice::Wake(token) => self.wake(token, io),
            Notice::Datagram { conn, at, tag, .. } => self.hear(conn, at, tag, io),
            _ => {}
        }
    }

    fn datagram(&self) -> Option<Datagram> {
        Some(self.model.largest())
    }

    fn carries(&self) -> Carries {
        Carries::Both
    }

    fn summary(&self, _now: Instant) -> Summary {
        let mut out = Summary::new();
        for side in Side::BOTH {
            let n = side.index();
            self.arrivals[n].report(side.sends(), self.sent[n], &mut out);
        }
        out
    }
}
