//! Adaptive video: a player that requests one segment at a time and chooses the rate of each
//! segment.
//!
//! Source: dash.js 2.0.0 over one persistent connection, playing Big Buck Bunny. The module `abr`
//! implements the rules of dash.js 2.0.0, and `bola` the rule of dash.js 2.9.3. The module
//! `session` schedules the requests. While the buffer is below a limit, the player requests the
//! next segment at once. At the highest rate the limit is 30 s, or 60 s for a video of at least 600
//! s or without end. At other rates the limit is 12 s. At or above the limit, the player checks
//! again after a second. Unless the rate is fixed, a segment that takes too long is abandoned: the
//! player resets the connection and opens a new connection. A failed request is repeated up to
//! three times, each time after a second.
//!
//! Differences: neither manifest nor initialisation segments are fetched, there is no audio, and
//! the throughput sample of this player counts the response's header with its body, while dash.js
//! counts only the body. The player chooses a rate before each request, as dash.js has done since
//! 2.1. In 2.0.0 the request comes first: `ScheduleController` calls `getNextFragment` while it
//! evaluates the arguments of `getPlaybackQuality`. In 2.0.0, a choice therefore takes effect at
//! the second request after the choice. For 10 s after an abandoned segment, this player may still
//! choose a lower rate; 2.0.0 keeps its choice unless its buffer is empty.

use aqmlab_core::{Args, BitRate, Bounds, Duration, Instant, Kind, Param, Side, Value};

use crate::needs::{Measure, Need, Needs};
use crate::params::{self, rate};
use crate::quantiles::Summary;
use crate::{App, Carries, Notice, bounds, http};

mod abr;
mod bola;
mod ladder;
mod measures;
mod player;
mod session;

use crate::Io;
use ladder::Spread;
use session::{Abr, Config, Session};

const DIRECTION: Param = Param {
    doc: "Direction of the stream; with up, the player is on the internet.",
    ..params::direction("down")
};
/// The bounds of the playing time of a chunk. A second of music has at most two chunks.
const CHUNKS: Bounds = Bounds::span(Duration::from_millis(500), Duration::from_secs(3_600));

/// The bounds of `reserve`. The lower bound is above half a second, below which playback stops.
const RESERVE: Bounds = Bounds::span(Duration::from_secs(1), Duration::from_secs(3_600));
const BUFFERED: Param = Param {
    name: "buffered",
    default: Value::Duration(Duration::ZERO),
    bounds: Bounds::span(Duration::ZERO, Duration::from_secs(3_600)),
    doc: "Playing time in the buffer at the start, as in the middle of a stream. Above zero, the \
          player starts at its highest rate.",
};

/// Registers `dash` and `audio_stream`.
pub const KINDS: &[Kind<dyn App>] = &[
    Kind {
        name: "dash",
        summary: "Adaptive video over HTTP",
        source: "dash.js 2.0.0 (BOLA: 2.9.3); Big Buck Bunny of MMSys 2012, encoded in 2014",
        params: &[
            DIRECTION,
            Param {
                name: "abr",
                default: Value::Word("dashjs", &["dashjs", "bola", "fixed"]),
                bounds: Bounds::Any,
                doc: "Rule that chooses the rate.",
            },
            Param {
                name: "segment",
                default: Value::Word("2s", ladder::LENGTHS),
                bounds: Bounds::Any,
                doc: "Playing time of a segment.",
            },
            Param {
                name: "max_rate",
                default: rate(1_000_000_000),
                bounds: bounds::RATE,
                doc: "Highest rate on offer; higher rates are removed from the ladder.",
            },
            Param {
                name: "quality",
                default: Value::Count(0),
                bounds: Bounds::Whole(0, 1_000),
                doc: "Rate that `fixed` plays, counted from 1 for the lowest; 0 is the highest.",
            },
            Param {
                name: "length",
                default: Value::MaybeDuration(Some(Duration::from_millis(596_460))),
                bounds: bounds::SPAN,
                doc: "Length of the video; off for a video without end.",
            },
            Param {
                name: "vbr",
                default: Value::Flag(true),
                bounds: Bounds::Any,
                doc: "Whether segments of one rate differ in size.",
            },
            BUFFERED,
            http::REQUEST,
            http::HEADER,
        ],
        build: build_video,
    },
    Kind {
        name: "audio_stream",
        summary: "Music at a constant rate, in chunks over HTTP",
        source: "Armitage et al. 2017, §VI (320 kbit/s)",
        params: &[
            DIRECTION,
            Param {
                name: "rate",
                default: rate(320_000),
                bounds: bounds::RATE,
                doc: "Rate of the music.",
            },
            Param {
                name: "chunk",
                default: params::ms(10_000),
                bounds: CHUNKS,
                doc: "Playing time of a chunk.",
            },
            Param {
                name: "reserve",
                default: params::ms(60_000),
                bounds: RESERVE,
                doc: "Playing time below which the player requests the next chunk.",
            },
            BUFFERED,
            http::REQUEST,
            http::HEADER,
        ],
        build: build_audio,
    },
];

/// The tolerable time from the first request to the first picture, in milliseconds.
pub(crate) const MOST_STARTUP_MS: f64 = 10_000.0;

const STALLS: Need = Need::up_to("stalled", Measure::Own(&["stalled_percent"]), [0.1, 1.0], "%")
    .because(
        "it stops in the middle",
        "our choice: nobody notices 0.1 %, 60 ms in a minute; 1 % is a second or so",
    );
const STARTUP: Need =
    Need::up_to("starts after", Measure::Own(&["startup_ms"]), [2_000.0, MOST_STARTUP_MS], "ms")
        .because(
            "it takes long to start",
            "Krishnan and Sitaraman 2012: viewers leave after 2 s; G.1010 Table I.1: 10 s",
        );
const LINES: Measure = Measure::Own(&["picture_mean_lines"]);

/// The needs of `dash` and `audio_stream`. The limits of the picture are the resolutions of
/// television: high definition begins at 720 lines, and standard definition at 480 lines. A limit
/// above the highest resolution of the video is lowered to that resolution.
pub const NEEDS: &[Needs] = &[
    Needs::of(
        "dash",
        "plays at once, sharp and without a stop",
        &[
            STALLS,
            STARTUP,
            Need {
                at_most: Some("offered_lines"),
                ..Need::from("picture", LINES, [1_080.0, 720.0, 480.0], "lines")
                    .because("the picture is blurred", "our choice: high and standard definition")
            },
        ],
    ),
    Needs::of("audio_stream", "plays at once and without a stop", &[STALLS, STARTUP]),
];

fn build_video(args: &Args) -> Box<dyn App> {
    let (segment, offered) = ladder::offer(args.word("segment"));
    let cap = args.rate("max_rate").as_bps();
    let spread = |index| if args.flag("vbr") { ladder::spread_of(index) } else { Spread::NONE };
    let ladder: Vec<(u64, Spread)> = offered
        .iter()
        .enumerate()
        .filter(|&(index, &rate)| index == 0 || rate <= cap)
        .map(|(index, &rate)| (rate, spread(index)))
        .collect();
    let abr = match args.word("abr") {
        "bola" => Abr::Bola,
        "fixed" => {
            let wanted = args.count("quality") as usize;
            Abr::Fixed(wanted.min(ladder.len()).checked_sub(1).unwrap_or(ladder.len() - 1))
        }
        _ => Abr::DashJs,
    };
    Box::new(Dash::new(Config {
        lines: &ladder::LINES,
        length: args.maybe_duration("length"),
        ..config(args, segment, abr, ladder)
    }))
}

fn build_audio(args: &Args) -> Box<dyn App> {
    let chunk = args.duration("chunk");
    let rate: BitRate = args.rate("rate");
    let ladder = vec![(rate.as_bps(), Spread::NONE)];
    let reserve = Some(args.duration("reserve"));
    Box::new(Dash::new(Config { reserve, ..config(args, chunk, Abr::Fixed(0), ladder) }))
}

fn config(args: &Args, segment: Duration, abr: Abr, ladder: Vec<(u64, Spread)>) -> Config {
    Config {
        server: params::sender(args),
        segment,
        ladder,
        lines: &[],
        abr,
        length: None,
        reserve: None,
        buffered: args.duration("buffered"),
        request: args.bytes("request").0,
        header: args.bytes("header").0,
    }
}

/// A player, which has a `config` before its start and a `session` after it.
struct Dash {
    server: Side,
    config: Option<Config>,
    session: Option<Session>,
}

impl Dash {
    fn new(config: Config) -> Self {
        Self { server: config.server, config: Some(config), session: None }
    }
}

impl App for Dash {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        if notice == Notice::Start {
            if let Some(config) = self.config.take() {
                self.session = Some(Session::start(config, io));
            }
        } else if let Some(session) = &mut self.session {
            session.handle(notice, io);
        }
    }

    fn carries(&self) -> Carries {
        Carries::One(self.server.sends())
    }

    fn summary(&self, now: Instant) -> Summary {
        self.session.as_ref().map_or_else(Summary::new, |session| session.summary(now))
    }
}

#[cfg(test)]
mod tests;
