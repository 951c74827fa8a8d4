//! An isochronous round-trip probe: datagrams at a fixed interval, each answered at once.
//!
//! Source: irtt 0.9. The client sends at fixed times, whether or not replies arrive; the server
//! echoes. Delay and loss are measured separately in each direction, because the server numbers the
//! packets that it receives. The defaults are from Flent's `voip` test: 172 bytes (G.711 with its
//! RTP header) every 20 ms.
//!
//! Differences: irtt's opening handshake is left out, and the payload has no header.

use std::collections::VecDeque;

use aqmlab_core::{Args, Direction, Duration, Instant, Kind, Param, Side};

use crate::bounds;
use crate::datagrams::{self, Arrivals};
use crate::needs::{Measure, Need, Needs};
use crate::params::{self, bytes, ms};
use crate::prober::Prober;
use crate::quantiles::{Quantiles, Summary};
use crate::{App, Carries, ConnId, Datagram, Io, Notice, Open};

/// The maximum number of responses in flight whose requests are remembered. An older response gives
/// no round-trip time.
const REMEMBERED: usize = 16_384;

/// Registers `irtt`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "irtt",
    summary: "A round-trip probe of UDP datagrams at a fixed interval",
    source: "irtt 0.9; Flent 2.3.0 voip test",
    params: &[
        Param {
            name: "payload",
            default: bytes(172),
            bounds: bounds::DATAGRAM,
            doc: "UDP payload in bytes, both ways.",
        },
        Param {
            name: "interval",
            default: ms(20),
            bounds: bounds::SCHEDULE,
            doc: "Time between requests.",
        },
    ],
    build: |args: &Args| {
        Box::new(Irtt::new(Prober::new(
            params::payload(args, "payload"),
            args.duration("interval"),
        )))
    },
}];

/// The needs of `irtt`. A probe stands for any application that may need an immediate answer. The
/// limits of loss are equal to the limits for calls.
pub const NEEDS: &[Needs] = &[Needs::of(
    "irtt",
    "answers come at once",
    &[
        Need::up_to("round trips", Measure::RoundTrip, [150.0, 400.0], "ms")
            .because("whatever needs an answer feels slow", "G.114 §4; its delays are one-way"),
        Need::up_to("loss", LOSS, [1.0, 3.0], "%")
            .because("answers fail to come", "G.1010 Table I.1: video call, voice"),
    ],
)];

const LOSS: Measure = Measure::Own(&["loss_up_percent", "loss_down_percent"]);

/// A request that reached the server and whose response has not been read.
struct Waiting {
    /// The number of the response.
    answer: u16,
    /// The one-way delay of the request.
    sent: Duration,
}

struct Irtt {
    prober: Prober,
    /// The number of responses sent. The server numbers them from zero, in the order in which
    /// requests arrive.
    answered: u64,
    waiting: VecDeque<Waiting>,
    up: Arrivals,
    down: Arrivals,
    rtt: Quantiles,
}

impl Irtt {
    fn new(prober: Prober) -> Self {
        Self {
            prober,
            answered: 0,
            waiting: VecDeque::new(),
            up: Arrivals::default(),
            down: Arrivals::default(),
            rtt: Quantiles::default(),
        }
    }

    fn echo(&mut self, conn: ConnId, tag: u64, io: &mut dyn Io) {
        let now = io.now();
        let up = self.up.take(tag, now);
        if !self.prober.running() {
            return;
        }
        // The response carries the server's own number and time. A real response also carries the
        // request's number and time. This model instead stores the request's delay until the
        // response is read.
        self.waiting.push_back(Waiting { answer: self.answered as u16, sent: up });
        if self.waiting.len() > REMEMBERED {
            self.waiting.pop_front();
        }
        io.send(conn, Side::Wan, self.prober.payload(), datagrams::stamp(self.answered, now));
        self.answered += 1;
    }

    fn hear(&mut self, tag: u64, now: Instant) {
        let down = self.down.take(tag, now);
        let number = datagrams::sequence(tag);
        // Responses mostly arrive in order, so the request is near the front.
        let Some(at) = self.waiting.iter().position(|waiting| waiting.answer == number) else {
            return;
        };
        let sent = self.waiting[at].sent;
        self.waiting.drain(..=at);
        self.rtt.add_ms(sent + down);
    }
}

impl App for Irtt {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.prober.start(Open::udp(Side::Home), io),
            Notice::Stop => self.prober.stop(io),
            Notice::Wake(_) => self.prober.ask(io),
            Notice::Datagram { conn, at: Side::Wan, tag, .. } => self.echo(conn, tag, io),
            Notice::Datagram { at: Side::Home, tag, .. } => self.hear(tag, io.now()),
            _ => {}
        }
    }

    fn datagram(&self) -> Option<Datagram> {
        Some(self.prober.datagram())
    }

    fn carries(&self) -> Carries {
        Carries::Both
    }

    fn summary(&self, _now: Instant) -> Summary {
        let mut out = Summary::new();
        self.rtt.report(["rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms", "rtt_max_ms"], &mut out);
        self.up.report(Direction::Up, self.prober.sent(), &mut out);
        self.down.report(Direction::Down, self.answered, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Net, build, close, known};

    #[test]
    fn round_trips_are_the_sum_of_both_ways() {
        let summary = Net::new(1).run_secs(&mut *build("irtt", &[]), 60);
        // An IP packet of 200 bytes takes 0.16 ms at 10 Mbit/s, and 20 ms of propagation.
        close(known(&summary, "rtt_p50_ms"), 40.32, 0.01);
        close(known(&summary, "owd_up_p50_ms"), 20.16, 0.01);
        close(known(&summary, "owd_down_p50_ms"), 20.16, 0.01);
        close(known(&summary, "sent_up_packets"), 3_000.0, 1.0);
    }

    #[test]
    fn loss_is_told_apart_by_direction() {
        let mut net = Net::new(5).with_loss(0.1);
        let summary = net.run_secs(&mut *build("irtt", &[]), 200);
        close(known(&summary, "loss_up_percent"), 10.0, 1.0);
        close(known(&summary, "loss_down_percent"), 10.0, 1.0);
        close(known(&summary, "sent_down_packets"), known(&summary, "received_up_packets"), 1.0);
    }

    #[test]
    fn a_long_run_remembers_no_more_than_a_short_one() {
        let mut app = Irtt::new(Prober::new(172, Duration::from_millis(20)));
        let mut net = Net::new(1);
        app.handle(Notice::Start, &mut net);
        for n in 0..3 * REMEMBERED as u64 {
            app.echo(ConnId(0), datagrams::stamp(n, Instant::ZERO), &mut net);
        }
        assert_eq!(app.waiting.len(), REMEMBERED);
    }
}
