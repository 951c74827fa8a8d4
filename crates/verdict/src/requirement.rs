//! The requirement that applies to an application: the set of its kind, or the set or the values
//! that the scenario states.

use std::collections::BTreeMap;

use aqmlab_apps::requirements::{self, Percentile, Range, Requirement};
use serde::Deserialize;

/// The direction of the measurements that a requirement limits: round trips or one way. The draft
/// demands that a requirement and its measurements have the same direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Round-trip times, and the loss and the rate in the directions that carry data.
    #[default]
    Both,
    /// The one-way delays, the loss and the rate from the home.
    Up,
    /// The one-way delays, the loss and the rate to the home.
    Down,
}

impl Path {
    /// Returns the prefix of the delay columns in the table `flows`.
    pub(crate) const fn prefix(self) -> &'static str {
        if matches!(self, Self::Both) { "rtt" } else { "owd" }
    }

    /// Returns the phrase for the delays in texts.
    pub(crate) const fn delays(self) -> &'static str {
        match self {
            Self::Both => "round trips",
            Self::Up => "delay up",
            Self::Down => "delay down",
        }
    }

    /// Returns whether the requirement limits measurements in `direction`, which is `up` or `down`.
    pub(crate) fn has(self, direction: &str) -> bool {
        match self {
            Self::Both => true,
            Self::Up => direction == "up",
            Self::Down => direction == "down",
        }
    }
}

/// A requirement that applies to an application.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The name of the set, or `scenario` for the scenario's own values.
    pub name: String,
    /// The origin of the numbers.
    pub source: String,
    /// The direction of the limited measurements.
    pub path: Path,
    /// The limited percentiles of the delays, each with its range in milliseconds.
    pub latency_ms: Vec<(Percentile, Range)>,
    /// The range of the loss in per cent, if the loss is limited.
    pub loss_percent: Option<Range>,
    /// The lowest sufficient rate in Mbit/s, if the rate is limited.
    pub rate_mbit: Option<f64>,
}

impl From<&Requirement> for Applied {
    fn from(set: &Requirement) -> Self {
        Self {
            name: set.name.to_owned(),
            source: set.source.to_owned(),
            path: Path::Both,
            latency_ms: set.latency_ms.to_vec(),
            loss_percent: set.loss_percent,
            rate_mbit: set.rate_mbit,
        }
    }
}

/// A requirement that a scenario states: the name of a set, or values.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum StatedRequirement {
    /// The name of a set in [`aqmlab_apps::requirements`].
    Set(String),
    /// The scenario's own values.
    Own(OwnRequirement),
}

/// The values of a requirement that a scenario states. Each pair is the optimal and the
/// unacceptable value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnRequirement {
    /// The direction of the limited measurements.
    pub direction: Path,
    /// The pairs for the delays in milliseconds, by percentile: `min`, `p10`, …, `p99_9`, `max`.
    pub latency_ms: BTreeMap<String, [f64; 2]>,
    /// The pair for the loss in per cent.
    pub loss_percent: Option<[f64; 2]>,
    /// The lowest sufficient rate in Mbit/s.
    pub rate_mbit: Option<f64>,
}

impl StatedRequirement {
    /// Returns the requirement; `None` if this version does not know its set or one of its
    /// percentiles.
    pub(crate) fn applied(&self) -> Option<Applied> {
        match self {
            Self::Set(name) => requirements::named(name).map(Applied::from),
            Self::Own(own) => own.applied(),
        }
    }
}

impl OwnRequirement {
    fn applied(&self) -> Option<Applied> {
        let range = |[optimal, unacceptable]: [f64; 2]| Range { optimal, unacceptable };
        let bound = |(name, pair): (&String, &[f64; 2])| {
            Percentile::named(name).map(|percentile| (percentile, range(*pair)))
        };
        let mut latency_ms: Vec<_> = self.latency_ms.iter().map(bound).collect::<Option<_>>()?;
        latency_ms.sort_by_key(|(percentile, _)| *percentile);
        Some(Applied {
            name: String::from("scenario"),
            source: self.source(),
            path: self.direction,
            latency_ms,
            loss_percent: self.loss_percent.map(range),
            rate_mbit: self.rate_mbit,
        })
    }

    /// Returns the origin: the scenario and the values. Two requirements with different values
    /// therefore have different origins.
    fn source(&self) -> String {
        let range =
            |[optimal, unacceptable]: [f64; 2], unit| format!("{optimal} to {unacceptable} {unit}");
        let delays = self.latency_ms.iter().map(|(name, pair)| {
            let percentile = name.replace('_', ".");
            format!("{} {percentile} {}", self.direction.delays(), range(*pair, "ms"))
        });
        let loss = self.loss_percent.map(|pair| format!("loss {}", range(pair, "%")));
        let rate = self.rate_mbit.map(|least| format!("rate {least} Mbit/s"));
        let values: Vec<String> = delays.chain(loss).chain(rate).collect();
        format!("the scenario: {}", values.join(", "))
    }
}
