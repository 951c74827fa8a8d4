//! The specification of one trial. Every number is in base units, and every kind and profile has a
//! name from a fixed list.
//!
//! Python reads scenarios, applies defaults, inheritance and variation, and passes one [`Spec`] per
//! trial as JSON. Unknown keys and unknown names are errors. [`json_schema`] describes the JSON.

mod measure;
mod named;
mod tcp;
mod units;

use std::collections::BTreeMap;
use std::ops::Range;

use aqmlab_core::{BitRate, Bytes, Direction, Duration, Instant, Overhead, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::measure::MeasureSpec;
pub use self::named::{AppKind, Controller, Host, Listed, Named, QdiscKind, Registered};
pub use self::tcp::TcpSpec;
use crate::dscp;
use crate::streams::Stream;

/// Returns the JSON Schema of [`Spec`].
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Spec).into()
}

/// The specification of one trial.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The seed of every random stream.
    pub seed: u64,
    /// The duration of the trial.
    #[serde(rename = "duration_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// The bottlenecks. Most scenarios have two: number 0 is upstream, number 1 is downstream.
    pub links: Vec<LinkSpec>,
    /// The applications that use the links.
    pub apps: Vec<AppSpec>,
    /// The measurements to keep.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// The largest extra delay that a host adds to a packet it receives. The delay is drawn
    /// uniformly per packet and models interrupts and scheduling. The delay reorders
    /// packets only on a route whose jitter may reorder them.
    #[serde(default, rename = "host_jitter_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub host_jitter: Duration,
    /// The largest extra delay of an application's start. The delay is drawn uniformly per
    /// application and models that processes do not start at the same instant.
    #[serde(default, rename = "start_jitter_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub start_jitter: Duration,
}

impl Spec {
    /// Returns the end of the trial.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.duration
    }

    /// Returns whether the trial keeps time series.
    pub fn keeps_series(&self) -> bool {
        self.measure.enabled && self.measure.series
    }

    /// Returns the delay of the start and of the stop of application number `app`.
    ///
    /// # Panics
    ///
    /// If there is no such application.
    pub fn start_delay(&self, app: usize) -> Duration {
        let mut jitter = Stream::Start(&self.apps[app].name).rng(self.seed);
        let choices = self.start_jitter.as_nanos().saturating_add(1);
        Duration::from_nanos(jitter.below(choices))
    }

    /// Returns the time at which application number `app` starts.
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

    /// Returns the interval of the statistics.
    pub fn measured(&self) -> Range<Instant> {
        self.measure.from..self.measure.to.unwrap_or(self.end())
    }

    /// Returns the part of the measured interval in which application number `app` is active: from
    /// its start to its stop time. The application may end by itself before its stop time.
    ///
    /// # Panics
    ///
    /// If there is no application of this number.
    pub fn active(&self, app: usize) -> Range<Instant> {
        let Range { start: from, end: to } = self.measured();
        let start = self.start(app).max(from).min(to);
        let stop = self.stop(app).unwrap_or(to).clamp(start, to);
        start..stop
    }

    /// Returns the number of the host in the home that runs application number `app`: the number of
    /// the first application on this host.
    ///
    /// # Panics
    ///
    /// If there is no application of this number.
    pub fn home_host(&self, app: usize) -> usize {
        match &self.apps[app].host {
            None => app,
            host => self.apps.iter().position(|other| other.host == *host).unwrap_or(app),
        }
    }

    /// Returns [`Self::active`] of every application.
    pub fn all_active(&self) -> Vec<Range<Instant>> {
        (0..self.apps.len()).map(|app| self.active(app)).collect()
    }
}

/// One bottleneck in one direction: a rate, and the discipline in front of it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The name of the link in tables and reports.
    pub name: String,
    /// The rate in bits per second. For an 802.11n link it is absent, zero, or the rate of the
    /// radio.
    #[serde(default, rename = "rate_bps", with = "units::rate")]
    #[schemars(with = "u64")]
    pub rate: Option<BitRate>,
    /// The changes of the rate, in order of time. `rate_bps` is the rate before the first change.
    #[serde(default)]
    pub rate_steps: Vec<RateStepSpec>,
    /// The gaps in milliseconds between the delivery opportunities of a trace, from the start of
    /// the trial on. The trace repeats after its last opportunity. `rate_bps` is then the mean rate
    /// of the trace.
    #[serde(default)]
    pub opportunities_ms: Vec<u32>,
    /// The discipline of the link.
    pub qdisc: KindSpec<QdiscKind>,
    /// The mechanism that limits the rate.
    #[serde(default)]
    pub shaper: ShaperSpec,
    /// The part of the route's delay that belongs to the link's dummynet pipe. A pipe is not idle
    /// while it delays a packet.
    #[serde(default, rename = "pipe_delay_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub pipe_delay: Duration,
    /// The bytes that the link charges for a packet beyond its IP bytes.
    #[serde(default)]
    pub overhead: OverheadSpec,
    /// The radio that sends the packets, if the link is an 802.11n link. `rate_bps` is then the
    /// radio's own rate, or zero.
    #[serde(default)]
    pub wifi: Option<WifiSpec>,
    /// Whether the link is the network interface of the hosts that send into it. Their TCPs then
    /// limit the bytes in its queue (TCP small queues).
    #[serde(default)]
    pub own: bool,
}

impl LinkSpec {
    /// Returns the rate in bits per second; zero for a link with the rate of its radio.
    pub fn rate_bps(&self) -> u64 {
        self.rate.map_or(0, BitRate::as_bps)
    }
}

/// A rate of a link from a time on.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStepSpec {
    /// The time of the change.
    #[serde(rename = "at_ns", with = "units::instant")]
    #[schemars(with = "u64")]
    pub at: Instant,
    /// The rate in bits per second from this time on. At zero, the link sends nothing.
    pub rate_bps: u64,
}

/// The mechanism that limits the rate of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShaperSpec {
    /// The wire itself: the next packet begins when the last bit of a packet has left.
    #[default]
    Line,
    /// Linux's HTB in front of a faster wire, with the default bucket of `tc`.
    Htb,
    /// FreeBSD's dummynet in front of a faster wire. Dummynet sends at the ticks of its clock.
    Dummynet,
    /// The shaper of the discipline `cake` in front of a faster wire. The rate of the link is the
    /// discipline's `bandwidth`.
    Cake,
}

/// An 802.11n radio, and the driver's queue above it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WifiSpec {
    /// The number of the medium. Radios with the same number share the medium.
    pub cell: u32,
    /// The MCS index, 0 to 31.
    pub mcs: u8,
    /// The width of the channel in MHz, 20 or 40.
    pub width_mhz: u32,
    /// Whether the radio uses the short guard interval.
    pub short_guard: bool,
    /// The probability that a frame is lost on the air.
    pub loss: f64,
    /// The maximum number of frames in an aggregate, 1 to 32.
    pub aggregate: u32,
    /// The longest airtime of an aggregate.
    #[serde(rename = "airtime_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub airtime: Duration,
    /// The number of frames at which the driver's queue is full.
    pub driver: u32,
}

/// The bytes beyond IP that a link charges for a packet, and those that its discipline counts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSpec {
    /// Bytes added to every packet on the link.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub bytes: Bytes,
    /// The minimum length in bytes of a packet with the added bytes, before ATM cells.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub minimum: Bytes,
    /// Whether the link carries the packet and the added bytes in ATM cells of 53 bytes, each with
    /// 48 bytes of payload.
    pub atm: bool,
    /// The bytes that the discipline adds to the IP length when it counts a packet: 14 in Linux, 0
    /// in dummynet.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub counted: Bytes,
}

impl From<OverheadSpec> for Overhead {
    fn from(spec: OverheadSpec) -> Self {
        let count = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
        Self {
            bytes: count(spec.bytes),
            minimum: count(spec.minimum),
            atm: spec.atm,
            counted: count(spec.counted),
        }
    }
}

/// A kind by name, with the parameters that differ from the defaults.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSpec<K> {
    /// The name of the kind.
    pub kind: K,
    /// The parameters: durations in nanoseconds (null means off), sizes in bytes, rates in bits per
    /// second.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// The specification of one application.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppSpec {
    /// The application's name in tables and figures, which is unique.
    pub name: String,
    /// The traffic generator and its parameters.
    pub app: KindSpec<AppKind>,
    /// The start time.
    #[serde(rename = "start_ns", with = "units::instant")]
    #[schemars(with = "u64")]
    pub start: Instant,
    /// The stop time. If it is absent, the application stops at the end of the trial.
    #[serde(default, rename = "stop_ns", with = "units::maybe_instant")]
    #[schemars(with = "Option<u64>")]
    pub stop: Option<Instant>,
    /// The application's route from the home to the internet.
    pub up: RouteSpec,
    /// The application's route from the internet to the home.
    pub down: RouteSpec,
    /// Linux's `skb->priority` of the application's packets, 0 to 15. If it is absent, the
    /// codepoint determines the priority. Without a codepoint, the application determines it.
    #[serde(default)]
    pub priority: Option<u8>,
    /// The host of the home that runs the application. Applications of one host share its address.
    /// If `host` is absent, the application has a host of its own.
    #[serde(default)]
    pub host: Option<String>,
    /// The Differentiated Services codepoint of the application's packets in both directions, 0 to
    /// 63. If it is absent, the codepoint is zero.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The TCP at the application's end in the home.
    #[serde(default)]
    pub home: TcpSpec,
    /// The TCP at the application's end on the internet.
    #[serde(default)]
    pub wan: TcpSpec,
}

/// A route through the network: its links in order, and the delay and impairments after them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// The indices of the route's links in [`Spec::links`]; empty for a route without a bottleneck.
    pub links: Vec<usize>,
    /// The propagation delay after the last link.
    #[serde(rename = "delay_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// The probability that a packet is lost after the last link.
    #[serde(default, deserialize_with = "units::probability")]
    pub loss: f64,
    /// The largest extra delay of a packet. The delay is drawn uniformly per packet.
    #[serde(default, rename = "jitter_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub jitter: Duration,
    /// Whether jitter may reorder packets, as in netem, or may only delay them.
    #[serde(default)]
    pub reorder: bool,
}

impl AppSpec {
    /// Returns the priority of the application's packets; `None` if the application chooses it.
    /// Linux derives the priority from the codepoint when a router forwards a packet.
    pub fn packet_priority(&self) -> Option<u8> {
        self.priority.or(self.dscp.map(dscp::priority))
    }

    /// Returns the route in one direction.
    pub const fn route(&self, direction: Direction) -> &RouteSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Returns the TCP of one end.
    pub const fn tcp(&self, side: Side) -> &TcpSpec {
        match side {
            Side::Home => &self.home,
            Side::Wan => &self.wan,
        }
    }
}

impl RouteSpec {
    /// Returns whether packets on the route may be reordered.
    pub fn reorders(&self) -> bool {
        self.reorder && self.jitter > Duration::ZERO
    }

    /// Returns the largest extra delay, including the extra delay of a host. Both jitters are drawn
    /// together, because both delay a packet's arrival.
    #[must_use]
    pub fn jitter_with(&self, host: Duration) -> Duration {
        self.jitter.saturating_add(host)
    }
}
