//! A trial, resolved: every number in base units, every name known, nothing left to choose.
//!
//! Python reads scenarios, applies defaults, inheritance and variation, and hands one [`Spec`]
//! per trial over as JSON. Unknown keys are refused here too, so a slip on either side is an
//! error and never a silent default.

use std::collections::BTreeMap;
use std::ops::Range;

use aqmlab_core::{Instant, Rng};
use serde::Deserialize;

/// One trial.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The seed from which every stream of chance is drawn.
    pub seed: u64,
    /// Simulated time.
    pub duration_ns: u64,
    /// The bottlenecks. Most scenarios have two: number 0 up, number 1 down.
    pub links: Vec<LinkSpec>,
    /// What runs over them.
    pub apps: Vec<AppSpec>,
    /// What is measured and kept.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// Largest extra delay that a host adds to a packet it receives, drawn uniformly per
    /// packet without reordering: interrupts and scheduling.
    #[serde(default)]
    pub host_jitter_ns: u64,
    /// Largest extra delay of an application's start, drawn uniformly: processes do not start
    /// at once.
    #[serde(default)]
    pub start_jitter_ns: u64,
}

impl Spec {
    /// Whether anything is kept over time.
    pub fn keeps_series(&self) -> bool {
        self.measure.enabled && self.measure.series
    }

    /// How much later than stated application number `app` starts and is told to stop.
    ///
    /// # Panics
    ///
    /// If there is no such application.
    pub fn start_delay_ns(&self, app: usize) -> u64 {
        let mut jitter = Rng::stream(self.seed, &format!("start.{}", self.apps[app].name));
        jitter.below(self.start_jitter_ns.saturating_add(1))
    }

    /// When application number `app` is active within the interval of the statistics: from its
    /// start until it is told to stop. It may end by itself before.
    ///
    /// # Panics
    ///
    /// If there is no such application.
    pub fn active(&self, app: usize) -> Range<Instant> {
        let late = self.start_delay_ns(app);
        let app = &self.apps[app];
        let to_ns = self.measure.to_ns.unwrap_or(self.duration_ns);
        let start = app.start_ns.saturating_add(late).max(self.measure.from_ns).min(to_ns);
        let stop = app.stop_ns.map_or(to_ns, |stop| stop.saturating_add(late)).clamp(start, to_ns);
        Instant::from_nanos(start)..Instant::from_nanos(stop)
    }

    /// The same of every application.
    pub fn all_active(&self) -> Vec<Range<Instant>> {
        (0..self.apps.len()).map(|app| self.active(app)).collect()
    }
}

/// One bottleneck in one direction: a rate, and the discipline before it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// What tables and reports call it.
    pub name: String,
    /// Bits per second.
    #[serde(default)]
    pub rate_bps: u64,
    /// The discipline.
    pub qdisc: KindSpec,
    /// What limits the rate.
    #[serde(default)]
    pub shaper: ShaperSpec,
    /// How much of the delay after it is that of the same pipe of dummynet, which is not idle while
    /// a packet is on its way. The delay itself is the route's.
    #[serde(default)]
    pub pipe_delay_ns: u64,
    /// What the link charges for a packet beyond its IP bytes.
    #[serde(default)]
    pub overhead: OverheadSpec,
    /// The radio that sends, where the link is one of 802.11n; `rate_bps` is then the radio's own,
    /// or zero.
    #[serde(default)]
    pub wifi: Option<WifiSpec>,
    /// Whether it is the own link of the hosts that send into it, so that their TCPs see what
    /// waits there and hold back (TCP small queues).
    #[serde(default)]
    pub own: bool,
}

/// What limits the rate of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WifiSpec {
    /// Which medium it is on; radios of one number share it.
    pub cell: u32,
    /// Index of modulation and coding, 0 to 31.
    pub mcs: u8,
    /// Width of the channel in MHz, 20 or 40.
    pub width_mhz: u32,
    /// Whether guard intervals are short.
    pub short_guard: bool,
    /// Chance that a frame is lost on the air.
    pub loss: f64,
    /// Most frames of an aggregate, 1 to 32.
    pub aggregate: u32,
    /// The longest that an aggregate is on the air.
    pub airtime_ns: u64,
    /// Frames with which the driver's queue is full.
    pub driver: u32,
}

/// What a link charges for a packet, and what its discipline counts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSpec {
    /// Bytes added to every packet on the link.
    pub bytes: u32,
    /// The least that a packet is charged, after the addition.
    pub minimum: u32,
    /// Whether the sum is carried in ATM cells of 53 bytes that hold 48.
    pub atm: bool,
    /// Bytes that the discipline adds to the IP length when it counts: 14 in Linux, 0 in
    /// dummynet.
    pub counted: u32,
}

/// A kind by name, with the parameters that differ from its defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSpec {
    /// The kind's name.
    pub kind: String,
    /// Durations in nanoseconds (null is off), sizes in bytes, rates in bits per second.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// One application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppSpec {
    /// Its name in tables and figures; unique.
    pub name: String,
    /// Which generator, and its parameters.
    pub app: KindSpec,
    /// When it starts.
    pub start_ns: u64,
    /// When it is told to stop; with the end of the trial if absent.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Its way from the home to the internet.
    pub up: RouteSpec,
    /// Its way from the internet to the home.
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

/// A way through the network: links in order, and what follows them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// Indices into [`Spec::links`]; empty for a way without a bottleneck.
    pub links: Vec<usize>,
    /// Propagation after the last link.
    pub delay_ns: u64,
    /// Chance that a packet is lost after the last link.
    #[serde(default)]
    pub loss: f64,
    /// Largest extra delay per packet, drawn uniformly.
    #[serde(default)]
    pub jitter_ns: u64,
    /// Whether jitter may reorder packets (netem) or only delay them.
    #[serde(default)]
    pub reorder: bool,
}

/// The settings of one TCP endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSpec {
    /// The host: `linux`, `freebsd` or `windows`.
    pub profile: String,
    /// Congestion control; the profile's own if absent.
    pub cc: Option<KindSpec>,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Bytes of send buffer; automatic if absent.
    pub send_buffer: Option<u64>,
    /// Bytes of receive window; automatic if absent.
    pub receive_buffer: Option<u64>,
    /// Bytes of an IP packet.
    pub mtu: u32,
    /// Overrides of the application's own choice of `TCP_NODELAY`.
    pub nodelay: Option<bool>,
    /// Overrides of the application's own choice of quick acknowledgements.
    pub quickack: Option<bool>,
    /// Further settings of the profile, by name; durations in nanoseconds.
    pub settings: BTreeMap<String, serde_json::Value>,
}

impl Default for TcpSpec {
    fn default() -> Self {
        Self {
            profile: "linux".into(),
            cc: None,
            ecn: false,
            send_buffer: None,
            receive_buffer: None,
            mtu: 1_500,
            nodelay: None,
            quickack: None,
            settings: BTreeMap::new(),
        }
    }
}

/// What is measured and kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Whether the taps look at all.
    pub enabled: bool,
    /// Statistics begin here; time series are kept from the start.
    pub from_ns: u64,
    /// Statistics end here; with the trial if absent.
    pub to_ns: Option<u64>,
    /// Width of a throughput window.
    pub window_ns: u64,
    /// Distance between the starts of two windows; the width is a whole multiple of it.
    pub step_ns: u64,
    /// How often the state of TCPs and queues is sampled; zero for never. A long trial is sampled
    /// less often.
    pub sample_ns: u64,
    /// Whether every packet is kept, for tables and captures.
    pub packets: bool,
    /// Whether anything is kept over time: throughput, delays, queues, TCPs, and what
    /// applications note.
    pub series: bool,
    /// Most points of a series over time; a longer trial is kept in coarser steps.
    pub points: u32,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self {
            enabled: true,
            from_ns: 0,
            to_ns: None,
            window_ns: 1_000_000_000,
            step_ns: 250_000_000,
            sample_ns: 100_000_000,
            packets: false,
            series: true,
            points: 1_024,
        }
    }
}
