//! A telephone call: voice at a constant rate in both directions, and the quality rating at each
//! side.
//!
//! Source: RTP over UDP (RFC 3550: a 12-byte header) with the payloads of RFC 3551. The module
//! `emodel` rates the call. In its simple form, a packet that arrives after its playout time counts
//! as lost. The module `playout` defines this time. The full form ignores the playout, and rates
//! the mean one-way delay plus twice the jitter.
//!
//! Difference: there is no silence suppression.

use aqmlab_core::{Args, Bounds, Direction, Instant, Kind, Param, Value};

use crate::bounds;
use crate::emodel::{self, Codec};
use crate::needs::{Measure, Need, Needs};
use crate::pacer::Pacer;
use crate::params::{self, bytes, ms};
use crate::playout::Playout;
use crate::quantiles::Summary;
use crate::requirements;
use crate::{App, Carries, Datagram, Io, Notice};

const RTP_HEADER: u32 = 12;

/// The bounds of the voice bytes in a packet. The upper bound fits into a datagram together with
/// the header.
const PAYLOADS: Bounds = Bounds::Whole(1, bounds::MOST_DATAGRAM - RTP_HEADER as u64);

const DEJITTER: Param = Param {
    name: "dejitter",
    default: Value::Word("adaptive", &["adaptive", "fixed"]),
    bounds: Bounds::Any,
    doc: "Whether the playout delay adapts to measured delays or stays as set by the first packet.",
};
const PLAYOUT: Param = Param {
    name: "playout",
    default: ms(60),
    bounds: bounds::WAIT,
    doc: "Time that the first packet waits in the de-jitter buffer.",
};
const EMODEL: Param = Param {
    name: "emodel",
    default: Value::Word("simple", &["simple", "full"]),
    bounds: Bounds::Any,
    doc: "Form of the E-model: the simple one, or all delay terms of G.107 as in Flent.",
};
const IMPAIRMENT: Param = Param {
    name: "ie",
    default: Value::Number(Codec::G711.impairment),
    bounds: Bounds::Real(0.0, 95.0),
    doc: "Impairment of the codec without loss (Ie).",
};
const ROBUSTNESS: Param = Param {
    name: "bpl",
    default: Value::Number(Codec::G711.robustness),
    bounds: Bounds::Real(0.1, 1_000.0),
    doc: "Robustness of the codec against loss (Bpl); 4.3 is G.711 without concealment.",
};
const PAYLOAD: Param = Param {
    name: "payload",
    default: bytes(160),
    bounds: PAYLOADS,
    doc: "Bytes of voice in a packet.",
};
const INTERVAL: Param = Param {
    name: "interval",
    default: ms(20),
    bounds: bounds::SCHEDULE,
    doc: "Duration of the voice in a packet.",
};
const LOOKAHEAD: Param = Param {
    name: "lookahead",
    default: ms(0),
    bounds: bounds::WAIT,
    doc: "Delay of the codec beyond the duration of a packet.",
};

/// Registers `voip` and `voip_g729`.
pub const KINDS: &[Kind<dyn App>] = &[
    Kind {
        name: "voip",
        summary: "A G.711 call both ways, rated by the E-model",
        source: "RFC 3550, RFC 3551, ITU-T G.107 and G.113",
        params: &[PAYLOAD, INTERVAL, LOOKAHEAD, PLAYOUT, DEJITTER, EMODEL, IMPAIRMENT, ROBUSTNESS],
        build,
    },
    Kind {
        name: "voip_g729",
        summary: "A G.729 call both ways, rated by the E-model",
        source: "RFC 3550, RFC 3551, ITU-T G.107 and G.113",
        params: &[
            Param { default: bytes(20), ..PAYLOAD },
            INTERVAL,
            Param { default: ms(5), ..LOOKAHEAD },
            PLAYOUT,
            DEJITTER,
            EMODEL,
            Param { default: Value::Number(Codec::G729.impairment), ..IMPAIRMENT },
            Param { default: Value::Number(Codec::G729.robustness), ..ROBUSTNESS },
        ],
        build,
    },
];

const VOICE: &[Need] = &[
    Need::from("opinion score", Measure::Own(&["mos_up", "mos_down"]), [4.5, 4.0, 3.6], "")
        .because("voices break up or come late", "G.107 Annex B"),
    Need::up_to("one-way delay", Measure::OneWayDelay, [150.0, 400.0], "ms")
        .because("both speak at once", "G.1010 Table I.1; G.114 §4"),
];
const FINE: &str = "each word is heard, and at once";

/// The needs of a call. The opinion score covers loss, delay and codec.
pub const NEEDS: &[Needs] = &[
    Needs::of("voip", FINE, VOICE).with(&requirements::CALL),
    Needs::of("voip_g729", FINE, VOICE).with(&requirements::CALL),
];

fn build(args: &Args) -> Box<dyn App> {
    let interval = args.duration("interval");
    let payload = params::payload(args, "payload") + RTP_HEADER;
    let adaptive = args.word("dejitter") == "adaptive";
    let playout = Playout::new(args.duration("playout"), adaptive);
    Box::new(Voip {
        pacer: Pacer::new(payload, interval, &Direction::BOTH),
        playouts: [playout.clone(), playout],
        coding_ms: (interval + args.duration("lookahead")).as_secs_f64() * 1e3,
        codec: Codec { impairment: args.number("ie"), robustness: args.number("bpl") },
        full: args.word("emodel") == "full",
    })
}

struct Voip {
    pacer: Pacer,
    playouts: [Playout; 2],
    /// The time to fill a packet and to encode it, in milliseconds.
    coding_ms: f64,
    codec: Codec,
    full: bool,
}

struct Names {
    mos: &'static str,
    r: &'static str,
    late: &'static str,
    delay: &'static str,
}

const NAMES: [Names; 2] = [
    Names { mos: "mos_up", r: "r_factor_up", late: "late_up_percent", delay: "mouth_to_ear_up_ms" },
    Names {
        mos: "mos_down",
        r: "r_factor_down",
        late: "late_down_percent",
        delay: "mouth_to_ear_down_ms",
    },
];

impl Voip {
    /// Adds the opinion score, the rating, the percentage of late packets and the mouth-to-ear
    /// delay of `direction` to `out`. Returns `None` if no packet was sent in that direction.
    fn rate(&self, direction: Direction, out: &mut Summary) -> Option<()> {
        let names = &NAMES[direction.index()];
        let playout = &self.playouts[direction.index()];
        let (sent, arrivals) = self.pacer.leg(direction)?;
        let lost = arrivals.loss(sent)?;
        let expected = arrivals.expected().max(1) as f64;
        let late = playout.late() as f64 / expected;
        let delay = playout.delay_ms() + self.coding_ms;
        let r = if self.full {
            let jitter = arrivals.jitter_ms().unwrap_or(0.0);
            emodel::full(arrivals.delays().mean().unwrap_or(0.0) + 2.0 * jitter, lost)
        } else {
            emodel::simple(delay, (lost + late).min(1.0), self.codec)
        };
        out.push((names.mos, emodel::mos(r)));
        out.push((names.r, r));
        out.push((names.late, 100.0 * late));
        out.push((names.delay, delay));
        Some(())
    }
}

impl App for Voip {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        match notice {
            Notice::Start => self.pacer.start(io),
            Notice::Stop => self.pacer.stop(io),
            Notice::Wake(token) => self.pacer.wake(token, io),
            Notice::Datagram { at, tag, .. } => {
                if let Some((direction, delay)) = self.pacer.arrive(at, tag, io.now()) {
                    self.playouts[direction.index()].take(delay);
                }
            }
            _ => {}
        }
    }

    fn datagram(&self) -> Option<Datagram> {
        Some(Datagram { headers: RTP_HEADER, ..self.pacer.datagram() })
    }

    fn carries(&self) -> Carries {
        Carries::Both
    }

    fn summary(&self, _now: Instant) -> Summary {
        let mut out = Summary::new();
        for direction in Direction::BOTH {
            // A direction without voice has no rating.
            let _ = self.rate(direction, &mut out);
        }
        self.pacer.report(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Net, build, close, known};

    #[test]
    fn codecs_have_their_ip_rates() {
        for (kind, payload, interval, kbit) in [
            ("voip", 160, 20, 80.0),
            ("voip", 80, 10, 96.0),
            ("voip_g729", 20, 20, 24.0),
            ("voip_g729", 30, 30, 18.67),
        ] {
            let mut net = Net::new(1);
            let changes = [("payload", bytes(payload)), ("interval", ms(interval))];
            net.run_secs(&mut *build(kind, &changes), 100);
            for side in 0..2 {
                close(net.ip_bytes[side] as f64 * 8.0 / 1e5, kbit, 0.05);
            }
        }
    }

    #[test]
    fn a_clean_call_is_rated_by_its_delay() {
        let fixed = ("dejitter", Value::Word("fixed", &[]));
        let summary = Net::new(1).run_secs(&mut *build("voip", &[fixed]), 60);
        // The delay is 20 ms of network, 0.16 ms of link, 60 ms of buffer and 20 ms of packet.
        close(known(&summary, "mouth_to_ear_up_ms"), 100.16, 0.01);
        close(known(&summary, "r_factor_down"), 93.2 - 0.024 * 100.16, 0.01);
        close(known(&summary, "mos_up"), 4.36, 0.01);
        let g729 = Net::new(1).run_secs(&mut *build("voip_g729", &[fixed]), 60);
        close(known(&g729, "r_factor_up"), 93.2 - 11.0 - 0.024 * 105.0, 0.02);
    }

    #[test]
    fn loss_lowers_the_score_and_concealment_softens_it() {
        let mos = |bpl: f64, loss| {
            let app = &mut *build("voip", &[("bpl", Value::Number(bpl))]);
            known(&Net::new(2).with_loss(loss).run_secs(app, 200), "mos_down")
        };
        assert!(mos(25.1, 0.0) > mos(25.1, 0.05) + 0.3);
        assert!(mos(25.1, 0.05) > mos(4.3, 0.05) + 1.0);
    }

    #[test]
    fn the_full_form_rates_without_the_buffer() {
        let full = ("emodel", Value::Word("full", &[]));
        let summary = Net::new(1).run_secs(&mut *build("voip", &[full]), 60);
        close(known(&summary, "r_factor_up"), emodel::full(20.16, 0.0), 0.01);
    }
}
