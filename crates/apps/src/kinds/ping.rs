//! Ping: an ICMP echo request every second.
//!
//! Sources: RFC 792 (echo and echo reply); ping(8) of iputils. An IP packet of 84 bytes contains an
//! 8-byte ICMP header and 56 bytes of data. One packet is sent per second, as TEACUP's `start_ping`
//! configures it.
//!
//! The far end answers a request when it receives the notice of the request. If its operating
//! system answers, the application receives only the notice of the reply.

use aqmlab_core::{Args, Direction, Instant, Kind, Param, Side};

use crate::bounds;
use crate::datagrams;
use crate::needs::{Measure, Need, Needs};
use crate::params::{self, bytes, ms};
use crate::prober::Prober;
use crate::quantiles::{Quantiles, Summary};
use crate::{App, Carries, Datagram, Io, Notice, Open};

/// Registers `ping`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "ping",
    summary: "An ICMP echo request every second",
    source: "RFC 792; iputils ping(8); TEACUP v1.1 start_ping",
    params: &[
        Param {
            name: "payload",
            default: bytes(56),
            bounds: bounds::DATAGRAM,
            doc: "Data of a request in bytes.",
        },
        Param {
            name: "interval",
            default: ms(1_000),
            bounds: bounds::SCHEDULE,
            doc: "Time between requests.",
        },
    ],
    build: |args: &Args| {
        Box::new(Ping {
            prober: Prober::new(params::payload(args, "payload"), args.duration("interval")),
            received: 0,
            settled: 0,
            rtt: Quantiles::default(),
        })
    },
}];

/// The needs of `ping`. A probe stands for any application that may need an immediate answer. The
/// limits of loss are equal to the limits for calls.
pub const NEEDS: &[Needs] = &[Needs::of(
    "ping",
    "answers come at once",
    &[
        Need::up_to("round trips", Measure::RoundTrip, [150.0, 400.0], "ms")
            .because("whatever needs an answer feels slow", "G.114 §4; its delays are one-way"),
        Need::up_to("loss", Measure::Own(&["loss_percent"]), [1.0, 3.0], "%")
            .because("answers fail to come", "G.1010 Table I.1: video call, voice"),
    ],
)];

struct Ping {
    prober: Prober,
    received: u64,
    /// The number of requests up to the latest answered request. Later requests may be in flight.
    settled: u64,
    rtt: Quantiles,
}

impl Ping {
    fn hear(&mut self, tag: u64, io: &mut dyn Io) {
        let rtt = datagrams::age(tag, io.now());
        io.note("rtt_ms", rtt.as_secs_f64() * 1e3);
        self.received += 1;
        self.rtt.add_ms(rtt);
        // `back` counts the later requests modulo 2^16, because sequence numbers have 16 bits.
        let sent = self.prober.sent();
        let back = (sent as u16).wrapping_sub(datagrams::sequence(tag)).saturating_sub(1);
        self.settled = self.settled.max(sent.saturating_sub(u64::from(back)));
    }
}

impl App for Ping {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.prober.start(Open::icmp(Side::Home), io),
            Notice::Stop => self.prober.stop(io),
            Notice::Wake(_) => self.prober.ask(io),
            Notice::Datagram { conn, at: Side::Wan, payload, tag } if self.prober.running() => {
                io.send(conn, Side::Wan, payload, tag);
            }
            Notice::Datagram { at: Side::Home, tag, .. } => self.hear(tag, io),
            _ => {}
        }
    }

    fn datagram(&self) -> Option<Datagram> {
        Some(self.prober.datagram())
    }

    fn carries(&self) -> Carries {
        Carries::One(Direction::Up)
    }

    fn summary(&self, _now: Instant) -> Summary {
        let sent = self.prober.sent();
        let mut out =
            vec![("sent_packets", sent as f64), ("received_packets", self.received as f64)];
        let asked = if self.received == 0 { sent } else { self.settled };
        if asked > 0 {
            let lost = asked.saturating_sub(self.received);
            out.push(("loss_percent", 100.0 * lost as f64 / asked as f64));
        }
        out.extend(self.rtt.mean().map(|mean| ("rtt_mean_ms", mean)));
        self.rtt.report(["rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms", "rtt_max_ms"], &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Net, build, close, known};

    #[test]
    fn a_ping_a_second_measures_the_round_trip() {
        let mut net = Net::new(1);
        let summary = net.run_secs(&mut *build("ping", &[]), 30);
        close(known(&summary, "sent_packets"), 30.0, 1.0);
        close(known(&summary, "rtt_mean_ms"), 40.134, 0.01);
        close(known(&summary, "loss_percent"), 0.0, 0.0);
    }

    #[test]
    fn lost_pings_are_counted() {
        let mut net = Net::new(1).with_loss(0.2);
        let app = &mut *build("ping", &[("interval", ms(10))]);
        // A ping can be lost in either direction, so the probability of a loss is 1 - 0.8 · 0.8.
        close(known(&net.run_secs(app, 60), "loss_percent"), 36.0, 2.0);
        let mut dead = Net::new(1).with_loss(1.0);
        close(known(&dead.run_secs(&mut *build("ping", &[]), 9), "loss_percent"), 100.0, 0.0);
    }
}
