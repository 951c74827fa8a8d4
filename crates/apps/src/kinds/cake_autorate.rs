//! cake-autorate: a program of the gateway that adapts the rates of two CAKEs to the line.
//!
//! Source: lynxthecat/cake-autorate, version 3.3.0-PRERELEASE (commit 94238be), with its default
//! method `fping`. [`crate::autorate`] is its control law. `fping` (schweikert/fping, commit
//! 0052875) sends an echo request of 84 bytes to each reflector every 0.3 s, in turn. It prints a
//! line for each reply, and a line if a reply is missing for 10 s. Replies to a stopped `fping` are
//! lost.
//!
//! The program reads the byte counters of the interfaces of the two CAKEs. They count the packets
//! that have left CAKE, with their Ethernet headers. When the application stops, the CAKEs keep
//! their last rates, as with the program.
//!
//! Differences: all reflectors have the round-trip time of the path and one address, so CAKE has
//! one queue for all requests. In this model `fping` and the program cake-autorate start at once,
//! and their work takes no time. `fping` reports a missing reply only when it sends the next
//! request; `fping` itself reports it when its timeout of 10 s ends.

#![expect(clippy::cast_possible_wrap, reason = "times and rates are far below 2^63")]

mod parameters;
mod pinger;
mod report;

use aqmlab_core::{Args, BitRate, Direction, Duration, Instant, Kind, Side};

use self::pinger::Pinger;
use self::report::Report;
use crate::autorate::{Law, Line, Order, Sampler, Settings, printed_rtt, printed_time};
use crate::needs::Needs;
use crate::quantiles::Summary;
use crate::{App, Carries, ConnId, Datagram, Io, Misfit, Notice, Open, datagrams};

/// The token of the wake-ups of the sampler. A pinger has its number, from 1 on.
const SAMPLE: u64 = 0;

/// Registers `cake_autorate`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "cake_autorate",
    summary: "A program of the gateway that adapts the rates of two CAKEs to the line",
    source: "cake-autorate 3.3.0-PRERELEASE (94238be)",
    params: parameters::PARAMS,
    build: |args: &Args| Box::new(CakeAutorate::new(args)),
}];

/// The needs of `cake_autorate`. Nobody notices the program itself.
pub const NEEDS: &[Needs] = &[Needs::of("cake_autorate", "the rates follow the line", &[])];

struct CakeAutorate {
    settings: Settings,
    misfit: Option<Misfit>,
    /// The program; `None` before the start and after the stop.
    run: Option<Run>,
    conn: Option<ConnId>,
    /// The number of the last `fping`.
    pingers: u64,
    report: Report,
}

/// The program while it runs.
struct Run {
    law: Law,
    sampler: Sampler,
    pinger: Option<Pinger>,
}

impl CakeAutorate {
    fn new(args: &Args) -> Self {
        let (settings, misfit) = parameters::settings(args);
        Self { settings, misfit, run: None, conn: None, pingers: 0, report: Report::default() }
    }

    fn start(&mut self, io: &mut dyn Io) {
        let shapers = Direction::BOTH.map(|direction| io.shaper(direction));
        self.settings.packet_bits = shapers.map(|shaper| 8 * i64::from(shaper.packet_bytes));
        self.conn = Some(io.open(Open::icmp(Side::Home)));
        let now = micros(io.now());
        let law = Law::new(self.settings.clone(), now, &mut || draw(io));
        let sampler = Sampler::new(&self.settings, shapers.map(|shaper| shaper.sent_bytes));
        self.run = Some(Run { law, sampler, pinger: None });
        self.obey(io);
        self.sample(io);
    }

    fn stop(&mut self, io: &mut dyn Io) {
        self.run = None;
        if let Some(conn) = self.conn.take() {
            datagrams::close(conn, io);
        }
        self.report.stop(io.now());
    }

    /// Reads the byte counters, and passes the rates to the law.
    fn sample(&mut self, io: &mut dyn Io) {
        let Some(run) = &mut self.run else { return };
        let bytes = Direction::BOTH.map(|direction| io.shaper(direction).sent_bytes);
        let rates = run.sampler.sample(bytes);
        let period = Duration::from_micros(run.sampler.period().max(1) as u64);
        io.wake_at(io.now() + period, SAMPLE);
        self.read(Line::Rates(rates), io);
    }

    /// Sends the next request of the `fping` with the number `number`, if it still runs.
    fn ask(&mut self, number: u64, io: &mut dyn Io) {
        let (Some(run), Some(conn)) = (&mut self.run, self.conn) else { return };
        let Some(pinger) = run.pinger.as_mut().filter(|pinger| pinger.number == number) else {
            return;
        };
        let missing = pinger.missing(io.now());
        let (tag, next) = pinger.ask(self.report.sent_packets, io.now());
        self.report.sent_packets += 1;
        io.send(conn, Side::Home, parameters::PAYLOAD, tag);
        io.wake_at(next, number);
        for _ in 0..missing {
            self.read(Line::Other, io);
        }
    }

    fn hear(&mut self, tag: u64, io: &mut dyn Io) {
        let Some(run) = &mut self.run else { return };
        let asked = run.pinger.as_mut().and_then(|pinger| pinger.hear(tag));
        let Some(reflector) = asked else { return };
        let rtt = datagrams::age(tag, io.now());
        self.report.hear(rtt);
        io.note("rtt_ms", rtt.as_secs_f64() * 1e3);
        let time = printed_time(io.now().as_nanos());
        let rtt = printed_rtt(rtt.as_nanos());
        self.read(Line::Reply { reflector, rtt, time }, io);
    }

    /// Passes a line to the law, and obeys its commands.
    fn read(&mut self, line: Line, io: &mut dyn Io) {
        let now = micros(io.now());
        let Some(run) = &mut self.run else { return };
        run.law.handle(line, now, &mut || draw(io));
        self.obey(io);
    }

    fn obey(&mut self, io: &mut dyn Io) {
        let Some(run) = &mut self.run else { return };
        let mut starts = None;
        for order in run.law.orders() {
            match order {
                Order::SetRate(direction, kbit) => {
                    if let Some(rate) = BitRate::new(1_000 * kbit.max(1) as u64) {
                        io.set_shaper_rate(direction, rate);
                        self.report.change(direction, rate, io);
                    }
                }
                Order::StartPings => {
                    self.pingers += 1;
                    let active = run.law.active().to_vec();
                    run.pinger = Some(Pinger::new(self.pingers, &self.settings, active, io.now()));
                    starts = Some(self.pingers);
                }
                Order::StopPings => run.pinger = None,
            }
        }
        if let Some(number) = starts {
            self.ask(number, io);
        }
    }
}

impl App for CakeAutorate {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.start(io),
            Notice::Stop => self.stop(io),
            Notice::Wake(SAMPLE) => self.sample(io),
            Notice::Wake(number) => self.ask(number, io),
            Notice::Datagram { conn, at: Side::Wan, payload, tag } if self.run.is_some() => {
                io.send(conn, Side::Wan, payload, tag);
            }
            Notice::Datagram { at: Side::Home, tag, .. } => self.hear(tag, io),
            _ => {}
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(Direction::Up)
    }

    fn datagram(&self) -> Option<Datagram> {
        Some(Datagram { bytes: parameters::PAYLOAD, headers: 0, set_by: "pingers" })
    }

    fn sets_shapers(&self) -> bool {
        true
    }

    fn misfit(&self) -> Option<Misfit> {
        self.misfit.clone()
    }

    fn summary(&self, now: Instant) -> Summary {
        self.report.summary(now)
    }
}

fn micros(at: Instant) -> i64 {
    (at.as_nanos() / 1_000) as i64
}

/// Draws a number of 15 bits, as bash's `RANDOM`.
fn draw(io: &mut dyn Io) -> u16 {
    (io.rng().next_u64() >> 49) as u16
}

#[cfg(test)]
mod tests;
