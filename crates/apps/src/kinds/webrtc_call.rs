//! A video call that adapts to the network like WebRTC. Picture and sound use one socket, and each
//! direction has its own Google congestion control.
//!
//! Source: libwebrtc as of June 2025; each module names the files that it follows. `gcc` is the
//! controller, `feedback` makes the reports (transport-wide numbers), and `pacer` is the pacer with
//! its probes. `nack` handles the retransmissions, and `protection` computes their share of the
//! rate. `timing` is the de-jitter buffer of the picture, and `speech` handles the sound. The
//! following choices are judgements. For some of them, libwebrtc leaves the choice to the encoder.
//! For the others, one simple rule replaces many:
//!
//! - The camera takes `fps` pictures per second. Below 250 kbit/s only every second picture is
//!   encoded. While the pacer holds more than 100 ms of video at the target rate, frames are left
//!   out.
//! - The mean size of a frame follows from the rate, and each frame has a lognormal factor. The
//!   encoder follows a new target with a delay of one frame. A key frame has the size of 4 to 6
//!   mean frames. The first frame is a key frame. The next frame after a change of the resolution
//!   or after a request is also a key frame.
//! - The resolution falls by a step when the rate is below the minimum rate of its step. libwebrtc
//!   lowers the resolution if the quantisation is too coarse. The top resolution is the largest
//!   step whose intended rate is at most `max_rate`.
//! - Headers are RTP with 12 B, the transport-wide number with 8 B, and SRTP's tag with 10 B.
//! - Speech is Opus in packets of 20 ms, with NetEq as the de-jitter buffer (`speech`). The rating
//!   of the speech follows the E-model, with the values of G.711 with concealment. Sound and
//!   picture are not synchronised.
//!
//! Differences: the call begins at once, without signalling, ICE and DTLS; the second direction
//! begins less than a frame interval later. Sender and receiver reports of RTCP, simulcast, and an
//! encoder that is too slow are left out. Forward error correction of the picture, which is off by
//! default in WebRTC, is also left out.

use aqmlab_core::{Args, Bounds, Direction, Duration, Instant, Kind, Param, Side, Value};

use self::encoder::Camera;
use self::end::{End, RTP, RTX, Timer};
pub use self::needs::NEEDS;
use self::receiver::{Receiver, Reverse};
use self::sender::Sender;
use self::settings::Settings;
use self::wire::{Content, Wire};
use crate::bounds::MOST_DATAGRAM;
use crate::datagrams;
use crate::params::{self, bytes, rate, sends_in};
use crate::quantiles::Summary;
use crate::{App, Carries, ConnId, Datagram, Io, Notice, Open};

mod encoder;
mod end;
mod expiry;
mod feedback;
mod frames;
mod gcc;
mod measures;
mod nack;
mod needs;
mod pacer;
mod protection;
mod receiver;
mod screen;
mod sender;
mod settings;
mod speech;
#[cfg(test)]
mod tests;
mod timing;
mod wire;

/// The length in bytes of the headers above UDP in the largest packet, which is a retransmission.
const ABOVE_UDP: u32 = RTP + RTX;
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// The bounds of a video rate: from below the minimum of the smallest picture to the controller's
/// ceiling.
const RATES: Bounds = Bounds::Whole(1_000, 30_000_000);

/// Registers `webrtc_call`.
pub const KINDS: &[Kind<dyn App>] = &[Kind {
    name: "webrtc_call",
    summary: "A video call that adapts to the network, both ways",
    source: "libwebrtc of 2025-06 (Google congestion control); W3C webrtc-stats; ITU-T G.107",
    params: &[
        Param {
            name: "direction",
            default: Value::Word("both", &["up", "down", "both"]),
            bounds: Bounds::Any,
            doc: "Direction of picture and sound.",
        },
        Param {
            name: "max_rate",
            default: rate(2_500_000),
            bounds: RATES,
            doc: "Highest rate of the video; 2.5 Mbit/s permit a picture of 720 lines.",
        },
        Param {
            name: "min_rate",
            default: rate(30_000),
            bounds: RATES,
            doc: "Lowest rate of the video; it does not exceed the highest.",
        },
        Param {
            name: "start_rate",
            default: rate(300_000),
            bounds: RATES,
            doc: "First target of the controller, with speech and headers.",
        },
        Param {
            name: "fps",
            default: Value::Count(30),
            bounds: Bounds::Whole(1, 120),
            doc: "Pictures per second.",
        },
        Param {
            name: "variation",
            default: Value::Number(0.25),
            bounds: Bounds::Real(0.0, 2.0),
            doc: "Standard deviation of a frame's size, relative to the mean.",
        },
        Param {
            name: "audio_rate",
            default: rate(32_000),
            bounds: Bounds::Whole(6_000, 510_000),
            doc: "Rate of the speech without headers.",
        },
        Param {
            name: "payload",
            default: bytes(1_200),
            bounds: Bounds::Whole(100, MOST_DATAGRAM - ABOVE_UDP as u64),
            doc: "Maximum bytes of video in a packet.",
        },
        Param {
            name: "probing",
            default: Value::Flag(true),
            bounds: Bounds::Any,
            doc: "Whether the senders probe the path at the start.",
        },
    ],
    build: |args: &Args| Box::new(WebrtcCall::new(args)),
}];

/// One direction of the call.
struct Leg {
    direction: Direction,
    sender: Sender,
    receiver: Receiver,
}

/// A call that has started.
struct Session {
    conn: ConnId,
    /// The contents of the datagrams in flight from each end.
    wires: [Wire; 2],
    legs: Vec<Leg>,
    stopped: Option<Instant>,
}

struct WebrtcCall {
    carries: Carries,
    directions: &'static [Direction],
    settings: Settings,
    session: Option<Session>,
}

impl WebrtcCall {
    fn new(args: &Args) -> Self {
        let bps = |name| args.rate(name).as_bps() as f64;
        let (carries, directions): (_, &[Direction]) = match args.word("direction") {
            "up" => (Carries::One(Direction::Up), &[Direction::Up]),
            "down" => (Carries::One(Direction::Down), &[Direction::Down]),
            _ => (Carries::Both, &Direction::BOTH),
        };
        let camera = Camera {
            fps: args.count("fps") as f64,
            most_bps: bps("max_rate"),
            least_bps: bps("min_rate").min(bps("max_rate")),
            variation: args.number("variation"),
        };
        let settings = Settings {
            camera,
            start_bps: bps("start_rate"),
            speech: (bps("audio_rate") / 8.0 * speech::PACKET.as_secs_f64()) as u32,
            payload: params::payload(args, "payload"),
            probing: args.flag("probing"),
        };
        Self { carries, directions, settings, session: None }
    }

    /// Opens the socket and starts each direction. The second direction starts less than a frame
    /// interval later, because two cameras are not synchronised.
    fn start(&mut self, io: &mut dyn Io) {
        let conn = io.open(Open::udp(Side::Home));
        let mut session = Session { conn, wires: Default::default(), legs: vec![], stopped: None };
        let frame_ns = 1e9 / self.settings.camera.fps;
        for (leg, &direction) in self.directions.iter().enumerate() {
            let phase = if leg == 0 { 0 } else { io.rng().below(frame_ns as u64) };
            let began = io.now() + Duration::from_nanos(phase);
            let sender = Sender::new(self.settings, began);
            let room = self.settings.payload + ABOVE_UDP;
            let receiver = Receiver::new(room, sender.top_lines(), began);
            session.legs.push(Leg { direction, sender, receiver });
            let wire = &mut session.wires[0];
            End { io, wire, conn, side: Side::Home, leg }.wake(began, Timer::Begin);
        }
        self.session = Some(session);
    }
}

impl Session {
    fn stop(&mut self, io: &mut dyn Io) {
        if self.stopped.is_none() {
            self.stopped = Some(io.now());
            datagrams::close(self.conn, io);
        }
    }

    /// Returns the target rate and the round-trip time that the end `at` knows as a sender.
    fn reverse(&self, at: Side) -> Reverse {
        let sends = |leg: &&Leg| leg.direction == at.sends();
        let sender = self.legs.iter().find(sends).map(|leg| &leg.sender);
        Reverse { bps: sender.map(Sender::target_bps), rtt: sender.and_then(Sender::rtt) }
    }

    fn wake(&mut self, token: u64, io: &mut dyn Io) {
        let Some((leg, timer)) = Timer::of(token) else { return };
        let Some(direction) = self.legs.get(leg).map(|leg| leg.direction) else { return };
        let (near, conn) = (sends_in(direction), self.conn);
        let reverse = self.reverse(near.peer());
        let Leg { sender, receiver, .. } = &mut self.legs[leg];
        let [home, far] = &mut self.wires;
        let (wire, peer) = if near == Side::Home { (home, far) } else { (far, home) };
        match timer {
            Timer::Begin => {
                sender.begin(&mut End { io, wire, conn, side: near, leg });
                receiver.begin(&mut End { io, wire: peer, conn, side: near.peer(), leg });
                let next = io.now() + NOTE_EVERY;
                End { io, wire, conn, side: near, leg }.wake(next, Timer::Note);
            }
            Timer::Sender(timer) => {
                sender.wake(timer, &mut End { io, wire, conn, side: near, leg });
            }
            Timer::Receiver(timer) => {
                let mut end = End { io, wire: peer, conn, side: near.peer(), leg };
                receiver.wake(timer, reverse, &mut end);
            }
            Timer::Note => {
                measures::note(&mut self.legs[leg], io);
                let next = io.now() + NOTE_EVERY;
                End { io, wire, conn, side: near, leg }.wake(next, Timer::Note);
            }
        }
    }

    /// Processes a datagram that arrived at `at`.
    fn arrive(&mut self, at: Side, tag: u64, io: &mut dyn Io) {
        let Some(content) = self.wires[at.peer().index()].take(tag) else { return };
        let direction = match content {
            Content::Media(..) => at.peer().sends(),
            _ => at.sends(),
        };
        let Some(leg) = self.legs.iter().position(|leg| leg.direction == direction) else { return };
        let (now, reverse) = (io.now(), self.reverse(at));
        let part = &mut self.legs[leg];
        let wire = &mut self.wires[at.index()];
        let mut end = End { io, wire, conn: self.conn, side: at, leg };
        match content {
            Content::Media(number, media) => part.receiver.media(number, media, reverse, &mut end),
            Content::Report(report) => part.sender.report(&report, &mut end),
            Content::Nack(numbers) => part.sender.repair(&numbers, &mut end),
            Content::KeyRequest => part.sender.request_key(now),
        }
    }
}

impl App for WebrtcCall {
    fn handle(&mut self, notice: Notice, io: &mut dyn Io) {
        if notice == Notice::Start {
            self.start(io);
        }
        let Some(session) = self.session.as_mut().filter(|one| one.stopped.is_none()) else {
            return;
        };
        match notice {
            Notice::Stop => session.stop(io),
            Notice::Wake(token) => session.wake(token, io),
            Notice::Datagram { conn, at, tag, .. } if conn == session.conn => {
                session.arrive(at, tag, io);
            }
            _ => {}
        }
    }

    fn carries(&self) -> Carries {
        self.carries
    }

    fn datagram(&self) -> Option<Datagram> {
        let video = Datagram {
            bytes: self.settings.payload + ABOVE_UDP,
            headers: ABOVE_UDP,
            set_by: "payload",
        };
        let audio =
            Datagram { bytes: self.settings.speech + RTP, headers: RTP, set_by: "audio_rate" };
        Some(if audio.bytes > video.bytes { audio } else { video })
    }

    fn summary(&self, now: Instant) -> Summary {
        let Some(session) = &self.session else { return Summary::new() };
        let end = session.stopped.unwrap_or(now);
        let offered = session.legs.first().map(|leg| f64::from(leg.sender.top_lines()));
        let legs = session.legs.iter().flat_map(|leg| measures::of(leg, end));
        legs.chain(offered.map(|lines| ("offered_lines", lines))).collect()
    }
}
