//! Datagrams at a constant rate, such as the video call of experiments with home gateways.
//!
//! Source: nttcp 1.47 in UDP mode as TEACUP's `start_nttcp` runs it: datagrams of fixed size at a
//! fixed interval, independent of the network. The video call of Kua, Nguyen, Armitage and Branch
//! (2017) sends 700 bytes every 20 ms in each direction. This is 280 kbit/s of payload and 291.2
//! kbit/s of IP. The defaults of `cbr` are the defaults of iperf 2: 1470 bytes at 1.05 Mbit/s.
//!
//! Differences: nttcp's control connection is left out. In this model datagrams are exactly one
//! interval apart. nttcp counts each interval from the end of the write before it, so its schedule
//! drifts.

use aqmlab_core::{Args, Bounds, Direction, Ecn, Instant, Kind, Param, Value};

use crate::bounds;
use crate::needs::{Measure, Need, Needs};
use crate::pacer::Pacer;
use crate::params::{self, bytes, rate};
use crate::quantiles::Summary;
use crate::requirements;
use crate::{App, Carries, Datagram, Io, Notice};

const RATE: Param = Param {
    name: "rate",
    default: rate(280_000),
    bounds: bounds::RATE,
    doc: "Rate of the payload; determines the interval if `interval` is off.",
};

const INTERVAL: Param = Param {
    name: "interval",
    default: Value::MaybeDuration(None),
    bounds: bounds::SCHEDULE,
    doc: "Time between datagrams; off derives it from the rate.",
};

const WAYS: Param = Param {
    name: "direction",
    default: Value::Word("both", &["up", "down", "both"]),
    bounds: Bounds::Any,
    doc: "Direction of the datagrams.",
};

const ECN: Param = Param {
    name: "ecn",
    default: Value::Word("not_ect", &["not_ect", "ect0", "ect1"]),
    bounds: Bounds::Any,
    doc: "ECN field of the datagrams; their rate does not respond to marks.",
};

/// Registers `cbr` and `video_call`.
pub const KINDS: &[Kind<dyn App>] = &[
    Kind {
        name: "cbr",
        summary: "Datagrams of one size at a constant rate",
        source: "TEACUP v1.1 start_nttcp (nttcp, UDP mode); defaults of iperf 2",
        params: &[
            Param {
                name: "payload",
                default: bytes(1_470),
                bounds: bounds::DATAGRAM,
                doc: "UDP payload of a datagram in bytes.",
            },
            Param { name: "rate", default: rate(1_050_000), ..RATE },
            INTERVAL,
            Param {
                name: "direction",
                default: Value::Word("up", &["up", "down", "both"]),
                ..WAYS
            },
            ECN,
        ],
        build: |args: &Args| Box::new(Cbr::new(args).with_ecn(args.word("ecn"))),
    },
    Kind {
        name: "video_call",
        summary: "A video call at a constant rate, both ways; it does not adapt",
        source: "Kua, Nguyen, Armitage and Branch 2017, Table I; Armitage et al. 2017, App. D",
        params: &[
            Param {
                name: "payload",
                default: bytes(700),
                bounds: bounds::DATAGRAM,
                doc: "UDP payload of a datagram in bytes.",
            },
            RATE,
            INTERVAL,
            WAYS,
        ],
        build: |args: &Args| Box::new(Cbr::new(args)),
    },
];

/// The needs of `cbr` and `video_call`. The datagrams of `cbr` carry live content, such as the
/// picture of a camera. Nobody answers, so the limits of delay are those of telemonitoring.
pub const NEEDS: &[Needs] = &[
    Needs::of(
        "cbr",
        "arrives as it happens",
        &[
            Need::up_to("one-way delay", Measure::OneWayDelay, [250.0, 1_000.0], "ms").because(
                "it lags behind the event",
                "Kua et al. 2017, §II-A; Armitage et al. 2017, Table VII",
            ),
            Need::up_to("loss", Measure::Loss, [1.0, 3.0], "%")
                .because("parts of it are missing", "G.1010 Table I.1: video, voice"),
        ],
    ),
    Needs {
        note: "its rate is constant; a call that adapts would send less",
        requirement: Some(&requirements::CALL),
        ..Needs::of(
            "video_call",
            "voice and picture come at once and whole",
            &[
                Need::up_to("one-way delay", Measure::OneWayDelay, [150.0, 400.0], "ms")
                    .because("people talk over each other", "G.1010 Table I.1; G.114 §4"),
                Need::up_to("loss", Measure::Loss, [1.0, 3.0], "%")
                    .because("the picture breaks up", "G.1010 Table I.1: video call, voice"),
            ],
        )
    },
];

struct Cbr {
    carries: Carries,
    pacer: Pacer,
}

impl Cbr {
    fn new(args: &Args) -> Self {
        let payload = params::payload(args, "payload");
        let interval = args.maybe_duration("interval");
        let interval = interval.unwrap_or(params::interval_for(args.rate("rate"), payload));
        let (carries, directions): (_, &[Direction]) = match args.word("direction") {
            "up" => (Carries::One(Direction::Up), &[Direction::Up]),
            "down" => (Carries::One(Direction::Down), &[Direction::Down]),
            _ => (Carries::Both, &Direction::BOTH),
        };
        Self { carries, pacer: Pacer::new(payload, interval, directions) }
    }

    fn with_ecn(self, word: &str) -> Self {
        let ecn = match word {
            "ect0" => Ecn::Ect0,
            "ect1" => Ecn::Ect1,
            _ => Ecn::NotEct,
        };
        Self { pacer: self.pacer.with_ecn(ecn), ..self }
    }
}

impl App for Cbr {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.pacer.start(io),
            Notice::Stop => self.pacer.stop(io),
            Notice::Wake(token) => self.pacer.wake(token, io),
            Notice::Datagram { at, tag, .. } => {
                self.pacer.arrive(at, tag, io.now());
            }
            _ => {}
        }
    }

    fn datagram(&self) -> Option<Datagram> {
        Some(self.pacer.datagram())
    }

    fn carries(&self) -> Carries {
        self.carries
    }

    fn summary(&self, _now: Instant) -> Summary {
        let mut out = Summary::new();
        self.pacer.report(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::ms;
    use crate::testing::{Call, Net, build, close, known};

    #[test]
    fn a_video_call_is_291_kbit_of_ip_each_way() {
        let mut net = Net::new(1);
        let summary = net.run_secs(&mut *build("video_call", &[]), 100);
        for side in 0..2 {
            close(net.ip_bytes[side] as f64 * 8.0 / 100.0, 291_200.0, 60.0);
        }
        close(known(&summary, "loss_up_percent"), 0.0, 0.0);
        // The delay is 20 ms of propagation and 0.58 ms on the link.
        close(known(&summary, "owd_down_p50_ms"), 20.58, 0.01);
        close(known(&summary, "jitter_up_ms"), 0.0, 1e-6);
    }

    #[test]
    fn a_rate_or_an_interval_sets_the_pace() {
        for (changes, packets) in [
            (vec![("rate", rate(2_352_000))], 2_000),
            (vec![("interval", ms(100))], 100),
            (vec![("interval", Value::MaybeDuration(None))], 893),
        ] {
            let mut net = Net::new(1);
            net.run_secs(&mut *build("cbr", &changes), 10);
            close(net.packets[0] as f64, f64::from(packets), 1.0);
            assert_eq!(net.packets[1], 0, "up only");
        }
    }

    #[test]
    fn the_socket_has_the_ecn_field_of_the_parameter() {
        for (word, want) in [("not_ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1)] {
            let mut net = Net::new(1);
            net.run_secs(&mut *build("cbr", &[("ecn", Value::Word(word, &[]))]), 1);
            let opened = net.calls.iter().find_map(|(_, call)| match call {
                Call::Open(open) => Some(open.ecn),
                _ => None,
            });
            assert_eq!(opened, Some(want));
        }
    }

    #[test]
    fn a_video_call_of_today_is_a_matter_of_rate_and_payload() {
        let mut net = Net::new(1);
        let changes = [("rate", rate(3_000_000)), ("payload", bytes(1_200))];
        net.run_secs(&mut *build("video_call", &changes), 10);
        for side in 0..2 {
            close(net.packets[side] as f64, 3_125.0, 1.0);
        }
    }

    #[test]
    fn loss_is_counted_each_way() {
        let mut net = Net::new(3).with_loss(0.1);
        let summary = net.run_secs(&mut *build("video_call", &[]), 200);
        close(known(&summary, "loss_up_percent"), 10.0, 1.0);
        close(known(&summary, "loss_down_percent"), 10.0, 1.0);
    }
}
