//! The members of a trial that judging reads.
//!
//! Parsing is lenient: verdicts on results of an earlier version must not fail because of a member
//! that verdicts do not use.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The bytes of a full-sized IP packet.
const WHOLE_PACKET: u32 = 1_500;

/// A trial.
#[derive(Clone, Debug, Deserialize)]
pub struct Trial {
    /// The simulated time.
    pub duration_ns: u64,
    /// The links.
    pub links: Vec<Link>,
    /// The applications.
    pub apps: Vec<App>,
    /// The measured interval.
    #[serde(default)]
    pub measure: Interval,
}

/// A link.
#[derive(Clone, Debug, Deserialize)]
pub struct Link {
    /// Bits per second; zero for a radio.
    #[serde(default)]
    pub rate_bps: u64,
    /// The bytes charged beyond IP.
    #[serde(default)]
    pub overhead: Overhead,
    /// The radio, if the link is a radio.
    #[serde(default)]
    pub wifi: Option<serde::de::IgnoredAny>,
}

/// The bytes that a link charges for a packet beyond its IP bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// Bytes added to every packet.
    pub bytes: u64,
    /// The minimum length in bytes of a packet with the added bytes, before ATM cells.
    pub minimum: u64,
    /// Whether packets travel in ATM cells.
    pub atm: bool,
}

impl From<Overhead> for aqmlab_core::Overhead {
    fn from(read: Overhead) -> Self {
        let count = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        Self { bytes: count(read.bytes), minimum: count(read.minimum), atm: read.atm, counted: 0 }
    }
}

/// An application.
#[derive(Clone, Debug, Deserialize)]
pub struct App {
    /// The application's name.
    pub name: String,
    /// The application's kind and parameters.
    pub app: Kind,
    /// The start time.
    pub start_ns: u64,
    /// The stop time, if it has one.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// The application's route from the home to the internet.
    pub up: Route,
    /// The application's route from the internet to the home.
    pub down: Route,
}

/// A kind, with the parameters that differ from its defaults.
#[derive(Clone, Debug, Deserialize)]
pub struct Kind {
    /// The name of the kind.
    pub kind: String,
    /// The parameters in base units.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// A route.
#[derive(Clone, Debug, Deserialize)]
pub struct Route {
    /// Indices of links.
    #[serde(default)]
    pub links: Vec<usize>,
    /// The propagation delay.
    #[serde(default)]
    pub delay_ns: u64,
}

/// The measured interval.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// The start of the interval.
    pub from_ns: u64,
    /// The end of the interval. If it is absent, the interval ends with the trial.
    pub to_ns: Option<u64>,
}

impl Trial {
    /// Reads a trial from JSON.
    ///
    /// # Errors
    ///
    /// If the text is not JSON or lacks a member.
    pub fn parse(json: &str) -> Result<Self, String> {
        let trial: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let links = trial.links.len();
        let routes = trial.apps.iter().flat_map(|app| [&app.up, &app.down]);
        if routes.flat_map(|route| &route.links).any(|&link| link >= links) {
            return Err(String::from("a route names a link that does not exist"));
        }
        Ok(trial)
    }

    /// Returns the measured interval in nanoseconds.
    pub(crate) fn interval(&self) -> (u64, u64) {
        (self.measure.from_ns, self.measure.to_ns.unwrap_or(self.duration_ns))
    }

    /// Returns the latest time at which an application can end, in nanoseconds.
    pub(crate) fn end_of(&self, app: &App) -> u64 {
        let span = app.param("duration").map(|span| app.start_ns.saturating_add(span));
        let ends = [Some(self.duration_ns), app.stop_ns, span];
        ends.into_iter().flatten().min().unwrap_or(0)
    }
}

impl App {
    /// Returns the value of the parameter `name`, if it is an integer.
    pub(crate) fn param(&self, name: &str) -> Option<u64> {
        self.app.params.get(name).and_then(serde_json::Value::as_u64)
    }

    /// Returns the application's route in a direction: `up` or `down`.
    pub(crate) fn route(&self, direction: &str) -> &Route {
        if direction == "up" { &self.up } else { &self.down }
    }

    /// Returns the sum of the propagation delays of both directions.
    pub(crate) fn rtt_base_ns(&self) -> u64 {
        self.up.delay_ns.saturating_add(self.down.delay_ns)
    }
}

impl Link {
    /// Returns the IP capacity with full-sized packets, in Mbit/s; `None` for a radio.
    pub(crate) fn capacity_mbit(&self) -> Option<f64> {
        if self.wifi.is_some() || self.rate_bps == 0 {
            return None;
        }
        let charged = aqmlab_core::Overhead::from(self.overhead).on_link(WHOLE_PACKET);
        Some(self.rate_bps as f64 / 1e6 * f64::from(WHOLE_PACKET) / charged.0 as f64)
    }
}
