//! The members of a trial that judging reads.
//!
//! Parsing is lenient: verdicts on results of an earlier version must not fail because of a member
//! that verdicts do not use.

use std::collections::BTreeMap;

use aqmlab_apps::kinds::needs_of;
use aqmlab_apps::needs::Measure;
use aqmlab_core::delivery_trace::{DeliveryTrace, TUN_HEADER};
use aqmlab_core::{Args, Instant, RateSteps};
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
    /// The changes of the rate, if it changes at stated times.
    #[serde(default)]
    pub rate_steps: Vec<RateStep>,
    /// The gaps in milliseconds between the delivery opportunities, if the link replays a trace.
    #[serde(default)]
    pub opportunities_ms: Vec<u32>,
    /// The mechanism that limits the rate, if it is not the line itself.
    #[serde(default)]
    pub shaper: Option<String>,
    /// The bytes that the link charges beyond IP.
    #[serde(default)]
    pub overhead: Overhead,
    /// Present if the link is a radio. Judging reads no member of the radio.
    #[serde(default)]
    pub wifi: Option<serde::de::IgnoredAny>,
}

/// A rate of a link from a time on.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct RateStep {
    /// The time of the change in nanoseconds.
    pub at_ns: u64,
    /// The rate in bits per second from this time on.
    pub rate_bps: u64,
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

    /// Returns those of `links` that bound the rate of a flow. A shaper whose rate an application
    /// changes is one of them only if there is no other link.
    pub(crate) fn bounding(&self, links: &[usize]) -> Vec<usize> {
        let fixed: Vec<_> = links.iter().copied().filter(|&link| !self.is_adapted(link)).collect();
        if fixed.is_empty() { links.to_vec() } else { fixed }
    }

    /// Returns whether an application changes the rate of a link.
    pub(crate) fn is_adapted(&self, link: usize) -> bool {
        self.links[link].shaper.as_deref() == Some("cake")
            && self.apps.iter().any(|app| {
                let links = [&app.up.links, &app.down.links];
                app.sets_shapers() && links.iter().any(|links| links.contains(&link))
            })
    }

    /// Returns the latest time at which an application can end, in nanoseconds.
    pub(crate) fn end_of(&self, app: &App) -> u64 {
        let span = app.param("duration").map(|span| app.start_ns.saturating_add(span));
        let ends = [Some(self.duration_ns), app.stop_ns, span];
        ends.into_iter().flatten().min().unwrap_or(0)
    }
}

impl App {
    /// Returns whether the application changes the rates of the gateway's shapers.
    fn sets_shapers(&self) -> bool {
        aqmlab_apps::kinds::find(&self.app.kind)
            .is_some_and(|kind| (kind.build)(&Args::defaults(kind.params)).sets_shapers())
    }

    /// Returns whether the application is judged by its fair share of the line, as transfers are.
    pub(crate) fn is_transfer(&self) -> bool {
        let needs = needs_of(&self.app.kind).map_or(&[][..], |known| known.needs);
        needs.iter().any(|need| need.measure == Measure::FairShare)
    }

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
    /// for a radio. If the rate varies, returns its mean from `from_ns` to `to_ns`.
    pub(crate) fn capacity_mbit(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        if self.wifi.is_some() || self.rate_bps == 0 {
            return None;
        }
        let mut charged = aqmlab_core::Overhead::from(self.overhead).on_link(WHOLE_PACKET);
        if !self.opportunities_ms.is_empty() {
            charged += TUN_HEADER;
        }
        let mbit = self.mean_bps(from_ns, to_ns).unwrap_or(self.rate_bps as f64) / 1e6;
        Some(mbit * f64::from(WHOLE_PACKET) / charged.0 as f64)
    }

    /// Returns the mean rate from `from_ns` to `to_ns` in bits per second; `None` if the rate does
    /// not vary.
    fn mean_bps(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let (from, to) = (Instant::from_nanos(from_ns), Instant::from_nanos(to_ns));
        let seconds = to.since(from).as_secs_f64();
        let bits = if !self.opportunities_ms.is_empty() {
            DeliveryTrace::new(&self.opportunities_ms).ok()?.bits(from, to)
        } else if !self.rate_steps.is_empty() {
            let steps = self.rate_steps.iter().map(|step| aqmlab_core::RateStep {
                at: Instant::from_nanos(step.at_ns),
                bps: step.rate_bps,
            });
            RateSteps::new(self.rate_bps, &steps.collect::<Vec<_>>()).ok()?.bits(from, to)
        } else {
            return None;
        };
        (seconds > 0.0).then(|| bits / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(members: &str, from_s: u64, to_s: u64) -> f64 {
        let json = format!(r#"{{"rate_bps": 12000000, {members}}}"#);
        let link: Link = serde_json::from_str(&json).unwrap();
        link.capacity_mbit(from_s * 1_000_000_000, to_s * 1_000_000_000).unwrap()
    }

    #[test]
    fn the_capacity_of_a_rate_that_varies_is_its_mean() {
        let steps = r#""rate_steps": [{"at_ns": 3000000000, "rate_bps": 6000000}]"#;
        assert!((capacity(steps, 0, 6) - 9.0).abs() < 1e-9);
        assert!((capacity(steps, 4, 6) - 6.0).abs() < 1e-9);
        // An opportunity per millisecond for full packets, except the one at the end.
        let trace = r#""opportunities_ms": [1]"#;
        assert!((capacity(trace, 0, 1) - 12.0 * 0.999).abs() < 1e-9);
        assert!((capacity(trace, 2, 4) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_shaper_whose_rate_an_application_changes_bounds_nothing_beside_a_line() {
        let trial = |kind: &str| {
            let way = |links: &str| format!(r#"{{"links": [{links}], "delay_ns": 0}}"#);
            let json = format!(
                r#"{{"duration_ns": 1, "links": [{{"shaper": "cake"}}, {{"rate_bps": 1}}], "apps": [
                    {{"name": "a", "app": {{"kind": "{kind}"}}, "start_ns": 0, "up": {}, "down": {}}}
                ]}}"#,
                way("0, 1"),
                way("")
            );
            Trial::parse(&json).unwrap()
        };
        assert_eq!(trial("ping").bounding(&[0, 1]), [0, 1]);
        assert_eq!(trial("cake_autorate").bounding(&[0, 1]), [1]);
        assert_eq!(trial("cake_autorate").bounding(&[0]), [0]);
    }
}
