//! The members of a trial that judging reads.
//!
//! Parsing is lenient: verdicts on results of an earlier version must not fail because of a member
//! that verdicts do not use.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The length in bytes of a full-sized IP packet on Ethernet.
const WHOLE_PACKET: u32 = 1_500;

/// A trial: its links, its applications and the measured interval.
#[derive(Clone, Debug, Deserialize)]
pub struct Trial {
    /// The length of the trial in nanoseconds.
    pub duration_ns: u64,
    /// The links, to which [`Route::links`] refers by index.
    pub links: Vec<Link>,
    /// The applications that run in the trial.
    pub apps: Vec<App>,
    /// The measured interval, to which the rates and delays in the tables refer.
    #[serde(default)]
    pub measure: Interval,
}

/// A link, which carries packets in one direction.
#[derive(Clone, Debug, Deserialize)]
pub struct Link {
    /// The rate in bits per second; zero for a radio.
    #[serde(default)]
    pub rate_bps: u64,
    /// The bytes that the link charges beyond IP.
    #[serde(default)]
    pub overhead: Overhead,
    /// Present if the link is a radio. Judging reads no member of the radio.
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

/// An application, with its kind, its times and its routes.
#[derive(Clone, Debug, Deserialize)]
pub struct App {
    /// The name of the application in the rows of the tables.
    pub name: String,
    /// The application's kind and parameters.
    pub app: Kind,
    /// The start time in nanoseconds.
    pub start_ns: u64,
    /// The stop time in nanoseconds, if the application has one.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// The application's route from the home to the internet.
    pub up: Route,
    /// The application's route from the internet to the home.
    pub down: Route,
}

/// The kind of an application, with the parameters that differ from the kind's defaults.
#[derive(Clone, Debug, Deserialize)]
pub struct Kind {
    /// The name of the kind.
    pub kind: String,
    /// The values of the parameters by name, in base units (nanoseconds, bytes, bit/s).
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// The route of an application's packets in one direction.
#[derive(Clone, Debug, Deserialize)]
pub struct Route {
    /// The indices of the route's links in [`Trial::links`].
    #[serde(default)]
    pub links: Vec<usize>,
    /// The propagation delay in nanoseconds.
    #[serde(default)]
    pub delay_ns: u64,
}

/// The measured interval of a trial.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// The start of the interval in nanoseconds.
    pub from_ns: u64,
    /// The end of the interval in nanoseconds. If it is absent, the interval ends with the trial.
    pub to_ns: Option<u64>,
}

impl Trial {
    /// Reads a trial from JSON.
    ///
    /// # Errors
    ///
    /// Returns the reason if the text is not JSON, if a member is missing or has a wrong type, or
    /// if a route names a link that does not exist.
    pub fn parse(json: &str) -> Result<Self, String> {
        let trial: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let links = trial.links.len();
        let routes = trial.apps.iter().flat_map(|app| [&app.up, &app.down]);
        if routes.flat_map(|route| &route.links).any(|&link| link >= links) {
            return Err(String::from("a route names a link that does not exist"));
        }
        Ok(trial)
    }

    /// Returns the start and the end of the measured interval in nanoseconds.
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
    /// Returns the value of the parameter `name`, if it is stated and is a non-negative integer.
    pub(crate) fn param(&self, name: &str) -> Option<u64> {
        self.app.params.get(name).and_then(serde_json::Value::as_u64)
    }

    /// Returns the application's route in `direction`, which is `up` or `down`.
    pub(crate) fn route(&self, direction: &str) -> &Route {
        if direction == "up" { &self.up } else { &self.down }
    }

    /// Returns the sum of the propagation delays of both directions, in nanoseconds.
    pub(crate) fn rtt_base_ns(&self) -> u64 {
        self.up.delay_ns.saturating_add(self.down.delay_ns)
    }
}

impl Link {
    /// Returns the rate of IP bytes in Mbit/s that the link carries in full-sized packets; `None`
    /// for a radio.
    pub(crate) fn capacity_mbit(&self) -> Option<f64> {
        if self.wifi.is_some() || self.rate_bps == 0 {
            return None;
        }
        let charged = aqmlab_core::Overhead::from(self.overhead).on_link(WHOLE_PACKET);
        Some(self.rate_bps as f64 / 1e6 * f64::from(WHOLE_PACKET) / charged.0 as f64)
    }
}
