//! The specification of one trial: every number in base units, every name known, no choice open.
//!
//! Python reads scenarios, applies defaults, inheritance and variation, and passes one [`Spec`] per
//! trial as JSON. Unknown keys and unknown names are errors. [`json_schema`] states the form.

mod measure;
mod named;
mod tcp;
mod units;

use std::collections::BTreeMap;
use std::ops::Range;

use aqmlab_core::{BitRate, Bytes, Direction, Duration, Instant, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::measure::MeasureSpec;
pub use self::named::{AppKind, Controller, Host, Listed, Named, QdiscKind, Registered};
pub use self::tcp::TcpSpec;
use crate::streams::Stream;

/// The JSON Schema of [`Spec`].
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Spec).into()
}

/// One trial.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The seed of every random stream.
    pub seed: u64,
    /// The simulated time.
    #[serde(rename = "duration_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// The bottlenecks. Most scenarios have two: number 0 up, number 1 down.
    pub links: Vec<LinkSpec>,
    /// The applications that use them.
    pub apps: Vec<AppSpec>,
    /// The measurements to keep.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// The largest extra delay that a host adds to a packet it receives. It is drawn uniformly per
    /// packet and models interrupts and scheduling. It does not reorder packets.
    #[serde(default, rename = "host_jitter_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub host_jitter: Duration,
    /// The largest extra delay of an application's start, drawn uniformly: processes do not start
    /// at once.
    #[serde(default, rename = "start_jitter_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub start_jitter: Duration,
}

impl Spec {
    /// The end of the trial.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.duration
    }

    /// Whether the trial keeps time series.
    pub fn keeps_series(&self) -> bool {
        self.measure.enabled && self.measure.series
    }

    /// The delay of the start and of the stop of application number `app`.
    ///
    /// # Panics
    ///
    /// If there is no such application.
    pub fn start_delay(&self, app: usize) -> Duration {
        let mut jitter = Stream::Start(&self.apps[app].name).rng(self.seed);
        let choices = self.start_jitter.as_nanos().saturating_add(1);
        Duration::from_nanos(jitter.below(choices))
    }

    /// The time at which application number `app` starts.
    ///
    /// # Panics
    ///
    /// If there is no such application.
    pub fn start(&self, app: usize) -> Instant {
        self.apps[app].start.saturating_add(self.start_delay(app))
    }

    /// Returns the stop time of application number `app`, if it has one.
    ///
    /// # Panics
    ///
    /// If there is no application of this number.
    pub fn stop(&self, app: usize) -> Option<Instant> {
        self.apps[app].stop.map(|stop| stop.saturating_add(self.start_delay(app)))
    }

    /// Returns the part of the measured interval in which application number `app` is active: from
    /// its start to its stop time. The application may end by itself before.
    ///
    /// # Panics
    ///
    /// If there is no application of this number.
    pub fn active(&self, app: usize) -> Range<Instant> {
        let to = self.measure.to.unwrap_or(self.end());
        let start = self.start(app).max(self.measure.from).min(to);
        let stop = self.stop(app).unwrap_or(to).clamp(start, to);
        start..stop
    }

    /// [`Self::active`] of every application.
    pub fn all_active(&self) -> Vec<Range<Instant>> {
        (0..self.apps.len()).map(|app| self.active(app)).collect()
    }
}

/// One bottleneck in one direction: a rate, and the discipline before it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Its name in tables and reports.
    pub name: String,
    /// Bits per second; absent or zero for an 802.11n link, which has the rate of its radio.
    #[serde(default, rename = "rate_bps", with = "units::rate")]
    #[schemars(with = "u64")]
    pub rate: Option<BitRate>,
    /// The discipline.
    pub qdisc: KindSpec<QdiscKind>,
    /// The limit on the rate.
    #[serde(default)]
    pub shaper: ShaperSpec,
    /// The part of the delay after the link that belongs to the same pipe of dummynet, which is
    /// not idle while it delays a packet. The route states the delay itself.
    #[serde(default, rename = "pipe_delay_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub pipe_delay: Duration,
    /// The bytes that the link charges for a packet beyond its IP bytes.
    #[serde(default)]
    pub overhead: OverheadSpec,
    /// The radio that sends, if the link is one of 802.11n. `rate_bps` is then the radio's own, or
    /// zero.
    #[serde(default)]
    pub wifi: Option<WifiSpec>,
    /// Whether the link is the own interface of the hosts that send into it. Their TCPs then limit
    /// the bytes in its queue (TCP small queues).
    #[serde(default)]
    pub own: bool,
}

impl LinkSpec {
    /// Bits per second; zero for a link with the rate of its radio.
    pub fn rate_bps(&self) -> u64 {
        self.rate.map_or(0, BitRate::as_bps)
    }
}

/// The limit on the rate of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShaperSpec {
    /// The wire: a packet has left when its last bit has.
    #[default]
    Line,
    /// Linux's HTB before a faster wire, with the bucket that `tc` gives it.
    Htb,
    /// FreeBSD's dummynet before a faster wire, which sends at the ticks of its clock.
    Dummynet,
}

/// A radio of 802.11n, and the driver's queue above it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WifiSpec {
    /// The number of the medium; radios of one number share it.
    pub cell: u32,
    /// The index of modulation and coding, 0 to 31.
    pub mcs: u8,
    /// The width of the channel in MHz, 20 or 40.
    pub width_mhz: u32,
    /// Whether guard intervals are short.
    pub short_guard: bool,
    /// The probability that a frame is lost on the air.
    pub loss: f64,
    /// The maximum number of frames of an aggregate, 1 to 32.
    pub aggregate: u32,
    /// The longest time of an aggregate on the air.
    #[serde(rename = "airtime_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub airtime: Duration,
    /// The frames with which the driver's queue is full.
    pub driver: u32,
}

/// The bytes that a link charges for a packet and that its discipline counts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSpec {
    /// Bytes added to every packet on the link.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub bytes: Bytes,
    /// The minimum charge for a packet, after the addition.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub minimum: Bytes,
    /// Whether the sum is carried in ATM cells of 53 bytes that hold 48.
    pub atm: bool,
    /// Bytes that the discipline adds to the IP length when it counts: 14 in Linux, 0 in
    /// dummynet.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub counted: Bytes,
}

/// A kind by name, with the parameters that differ from its defaults.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSpec<K> {
    /// The kind.
    pub kind: K,
    /// Durations in nanoseconds (null is off), sizes in bytes, rates in bits per second.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// One application.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppSpec {
    /// Its name in tables and figures; unique.
    pub name: String,
    /// The generator, and its parameters.
    pub app: KindSpec<AppKind>,
    /// The time of its start.
    #[serde(rename = "start_ns", with = "units::instant")]
    #[schemars(with = "u64")]
    pub start: Instant,
    /// The stop time; the end of the trial if absent.
    #[serde(default, rename = "stop_ns", with = "units::maybe_instant")]
    #[schemars(with = "Option<u64>")]
    pub stop: Option<Instant>,
    /// Its route from the home to the internet.
    pub up: RouteSpec,
    /// Its route from the internet to the home.
    pub down: RouteSpec,
    /// Linux's `skb->priority` of its packets, 0 to 15; the application's own choice if absent.
    #[serde(default)]
    pub priority: Option<u8>,
    /// The TCP of its end in the home.
    #[serde(default)]
    pub home: TcpSpec,
    /// The TCP of its end on the internet.
    #[serde(default)]
    pub wan: TcpSpec,
}

/// A route through the network: links in order, and the delay, jitter and loss after them.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// Indices into [`Spec::links`]; empty for a route without a bottleneck.
    pub links: Vec<usize>,
    /// The propagation delay after the last link.
    #[serde(rename = "delay_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// The probability that a packet is lost after the last link.
    #[serde(default)]
    pub loss: f64,
    /// The largest extra delay per packet, drawn uniformly.
    #[serde(default, rename = "jitter_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub jitter: Duration,
    /// Whether jitter may reorder packets (netem) or only delay them.
    #[serde(default)]
    pub reorder: bool,
}

impl AppSpec {
    /// The route in one direction.
    pub const fn route(&self, direction: Direction) -> &RouteSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// The TCP of one end.
    pub const fn tcp(&self, side: Side) -> &TcpSpec {
        match side {
            Side::Home => &self.home,
            Side::Wan => &self.wan,
        }
    }
}

impl RouteSpec {
    /// Whether its packets may arrive in another order.
    pub fn reorders(&self) -> bool {
        self.reorder && self.jitter > Duration::ZERO
    }

    /// The largest extra delay, with that of a host, which is drawn together with the route's:
    /// both delay a packet's arrival.
    #[must_use]
    pub fn jitter_with(&self, host: Duration) -> Duration {
        self.jitter.saturating_add(host)
    }
}
