//! A first-person shooter: small datagrams in both directions at the rate of the game.
//!
//! Sources:
//!
//! - `pktgen`: CAIA pktgen 0.3.1, which TEACUP's `start_fps_game` runs. A server sends each client
//!   an update every 50 ms (30 ms for two games) whose size grows with the number of players. The
//!   program is designed to draw from measured histograms and an ARMA(1, 1) filter (Branch,
//!   Cricenti and Armitage 2008). Its actual draw is normal with mean (N + 0.65)·o − 2N − 10 and
//!   deviation 6N + 3, truncated to an integer. Here o is the game's growth per player. Negative
//!   sizes are made positive and shifted by N·o. This model follows pktgen, which sent the traffic
//!   of the experiments. Clients send 60 + int(Normal(3, 1)) bytes.
//! - `faerber`: Färber 2002, Counter-Strike. The server sends sizes of Ext(120, 36) every Ext(55,
//!   6) ms, and the client sizes of Ext(80, 5.7) every 40 ms. They are taken as bytes of UDP
//!   payload.
//!
//! pktgen sleeps between packets. A sleep may be too long but never too short. `select` of FreeBSD
//! 10 permits an excess of 1/16 of the timeout (`kern_select`: the timeout shifted right by
//! `tc_precexp`, which is four by the default of 5 % of `kern.timecounter.alloweddeviation`). The
//! actual excess depends on other timers; `oversleep` draws it uniformly.
//!
//! Differences: sizes that are negative even after the shift count as zero. An update of many
//! players is truncated to the payload of an Ethernet packet, while game engines split such
//! updates.

use aqmlab_core::{Args, Bounds, Duration, Instant, Kind, Param, Rng, Side, Value};

use crate::bounds;
use crate::datagrams::{self, Arrivals};
use crate::needs::{Measure, Need, Needs};
use crate::params::{bytes, ms};
use crate::quantiles::Summary;
use crate::{App, Carries, ConnId, Datagram, Io, Notice, Open};

const TITLES: &[&str] = &["q3", "hl2cs", "hl2dm", "hlcs", "hldm", "et2pro", "q4"];

/// The largest update: an IP packet of 1500 bytes.
const MOST_UPDATE: f64 = 1_472.0;
/// The largest random addition to a client's smallest packet: the mean of 3 and seven deviations.
const MOST_EXTRA: u32 = 10;

/// The range of the server start times (TEACUP: `random() / 25` seconds).
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
            doc: "Time from the server's start to that of its clients.",
        },
        Param {
            name: "oversleep",
            default: Value::Number(0.0),
            bounds: Bounds::Real(0.0, 1.0),
            doc: "Largest relative excess of pktgen's sleeps; 0.0625 on FreeBSD.",
        },
    ],
    build,
}];

/// Armitage (2003) found that players of shooters prefer round trips of up to 100 ms. The limits of
/// loss are not from a source. They are where players begin to notice the loss, and where the loss
/// decides duels.
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
)];

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
        oversleep: args.number("oversleep"),
        clients: Vec::new(),
        wanted: args.count("clients") as usize,
        running: false,
        arrivals: [Arrivals::default(), Arrivals::default()],
        sent: [0; 2],
    })
}

/// Returns the number of bytes that each player adds to an update of `title`.
fn growth(title: &str) -> f64 {
    match title {
        "hl2cs" => -2.56,
        "hl2dm" => 26.3,
        "hlcs" => 8.36,
        "hldm" => 15.45,
        "et2pro" => 19.56,
        "q4" => 37.07,
        _ => 22.16,
    }
}

/// Returns the mean size of an update.
fn mean(players: f64, growth: f64) -> f64 {
    (players + 0.65) * growth - 2.0 * players - 10.0
}

/// Returns the size that pktgen computes from a negative size.
fn unfolded(bytes: f64, players: f64, growth: f64) -> f64 {
    if bytes < 0.0 { -bytes + players * growth } else { bytes }
}

#[derive(Debug)]
enum Model {
    Pktgen { growth: f64, players: f64, s2c: Duration, c2s: Duration, least: f64 },
    Faerber,
}

impl Model {
    /// Returns the size of the next packet from `side`.
    fn size(&self, side: Side, rng: &mut Rng) -> u32 {
        let drawn = match (self, side) {
            (Self::Pktgen { growth, players, .. }, Side::Wan) => {
                let bytes = rng.normal(mean(*players, *growth), 6.0 * players + 3.0).trunc();
                unfolded(bytes, *players, *growth).min(MOST_UPDATE)
            }
            (Self::Pktgen { least, .. }, Side::Home) => least + rng.normal(3.0, 1.0).trunc(),
            (Self::Faerber, Side::Wan) => rng.extreme(120.0, 36.0).floor().min(MOST_UPDATE),
            (Self::Faerber, Side::Home) => rng.extreme(80.0, 5.7).floor(),
        };
        drawn.max(0.0) as u32
    }

    /// Returns the largest packet that a server or a client sends, limited to seven deviations.
    fn largest(&self) -> Datagram {
        let Self::Pktgen { growth, players, least, .. } = self else {
            return Datagram { bytes: MOST_UPDATE as u32, headers: 0, set_by: "model" };
        };
        let usual = unfolded(mean(*players, *growth), *players, *growth);
        let update = (usual + 7.0 * (6.0 * players + 3.0)).min(MOST_UPDATE.max(usual)) as u32;
        let client = *least as u32 + MOST_EXTRA;
        if update >= client {
            Datagram { bytes: update, headers: 0, set_by: "players" }
        } else {
            Datagram { bytes: client, headers: MOST_EXTRA, set_by: "c2s_payload" }
        }
    }

    /// Returns the time from a packet of `side` to its next packet.
    fn gap(&self, side: Side, rng: &mut Rng) -> Duration {
        match (self, side) {
            (Self::Pktgen { s2c, .. }, Side::Wan) => *s2c,
            (Self::Pktgen { c2s, .. }, Side::Home) => *c2s,
            (Self::Faerber, Side::Wan) => {
                Duration::from_secs_f64(rng.extreme(55.0, 6.0).max(0.1) / 1e3)
            }
            (Self::Faerber, Side::Home) => Duration::from_millis(40),
        }
    }
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
        // Several clients share the counters of one direction, so they also share its numbers.
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
        for side in [Side::Home, Side::Wan] {
            let n = side.index();
            self.arrivals[n].report(side.sends(), self.sent[n], &mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Net, build, close, known};

    /// Returns the IP rates in kbit/s, up and down, while the game runs.
    fn rates(title: &'static str, players: u64) -> [f64; 2] {
        let changes = [
            ("title", Value::Word(title, &[])),
            ("players", Value::Count(players)),
            ("client_delay", ms(0)),
        ];
        let mut net = Net::new(1);
        net.run_secs(&mut *build("game", &changes), 1_000);
        net.ip_bytes.map(|bytes| bytes as f64 * 8.0 / 1e6)
    }

    #[test]
    fn quake_3_has_the_ip_rates_of_pktgen() {
        for (players, want) in [
            (4, 17.98),
            (5, 21.3),
            (6, 24.5),
            (8, 30.9),
            (9, 34.2),
            (12, 43.7),
            (16, 56.7),
            (24, 82.3),
            (32, 108.8),
        ] {
            let [up, down] = rates("q3", players);
            close(down, want, 0.01 * want);
            close(up, 72.4, 0.5);
        }
    }

    #[test]
    fn sleeps_are_too_long_by_half_of_what_is_allowed() {
        let mut net = Net::new(1);
        let changes = [("oversleep", Value::Number(0.0625)), ("client_delay", ms(0))];
        net.run_secs(&mut *build("game", &changes), 1_000);
        close(net.ip_bytes[0] as f64 * 8.0 / 1e6, 72.4 / (1.0 + 0.0625 / 2.0), 0.5);
    }

    #[test]
    fn the_other_games_have_theirs() {
        for (title, want) in [
            ("hl2cs", 13.8),
            ("hl2dm", 35.2),
            ("hlcs", 10.0),
            ("hldm", 13.3),
            ("et2pro", 16.1),
            ("q4", 29.2),
        ] {
            close(rates(title, 4)[1], want, 0.02 * want);
        }
    }

    #[test]
    fn the_server_waits_for_its_clients() {
        let mut net = Net::new(1);
        let clients = [("clients", Value::Count(3))];
        let summary = net.run_secs(&mut *build("game", &clients), 13);
        close(known(&summary, "sent_up_packets"), 3_000.0, 3.0);
        close(known(&summary, "sent_down_packets"), 3.0 * 10.0 / 0.05, 6.0);
        let first =
            net.calls.iter().find(|(_, call)| matches!(call, crate::testing::Call::Send(..)));
        assert_eq!(first.unwrap().0, Instant::from_millis(3_000));
    }

    #[test]
    fn counter_strike_has_faerbers_means() {
        let mut net = Net::new(1);
        let model = [("model", Value::Word("faerber", &[])), ("client_delay", ms(0))];
        net.run_secs(&mut *build("game", &model), 1_000);
        // The mean of Ext(a, b) is a + 0.5772 b; rounding down subtracts half a byte on average.
        let mean = |n: usize| net.ip_bytes[n] as f64 / net.packets[n] as f64 - 28.0;
        close(mean(0), 80.0 + 0.5772 * 5.7 - 0.5, 0.3);
        close(mean(1), 120.0 + 0.5772 * 36.0 - 0.5, 1.5);
        close(1e6 / net.packets[1] as f64, 55.0 + 0.5772 * 6.0, 0.3);
    }
}
