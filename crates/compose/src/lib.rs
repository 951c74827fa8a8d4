//! Composes a trial from a scenario without loops (`vary`), for a web page that has no Python.
//!
//! The scenario may use only a part of the keys that `aqmlab run` accepts. The keys describe one
//! line, with or without a modem, the gateway's disciplines, and applications with the default TCP.
//! `aqmlab.planning.lowering` makes the same trial from the same scenario, and a test over random
//! scenarios compares both byte for byte. Keys that a page does not offer are errors, so every
//! accepted scenario has the same meaning for the page and for Python.
//!
//! | Module     | Holds                                              |
//! |------------|----------------------------------------------------|
//! | `scenario` | the keys that a scenario may use                   |
//! | `quantity` | quantities with units: "40 ms", "12 Mbit/s", "5 %" |
//! | `choice`   | kinds with parameters: `"fq_codel limit=1000"`     |
//! | `line`     | links of the gateway and of the modem              |
//! | `app`      | applications, their copies and routes              |

mod app;
mod choice;
mod line;
mod quantity;
mod scenario;

use std::collections::BTreeMap;

use aqmlab_trial::scenario as defaults;
use aqmlab_trial::spec::{AppSpec, MeasureSpec, Spec};
use aqmlab_trial::{SpecError, check};

use crate::scenario::{Measure, Report, Scenario};

/// A trial, with the needs that its scenario states.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The resolved trial.
    pub spec: Spec,
    /// The limits on round-trip times that the scenario states, in milliseconds by application.
    pub limits_ms: BTreeMap<String, f64>,
}

/// Composes the trial with the seed `seed` from a scenario in JSON, whose members are those of a
/// scenario's file.
///
/// # Errors
///
/// If the text is not a scenario with the accepted keys, or if the trial cannot be run.
pub fn from_json(text: &str, seed: u64) -> Result<Composed, SpecError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let scenario = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        SpecError::new(error.path().to_string(), without_column(&error.inner().to_string()))
    })?;
    reader.end().map_err(|error| SpecError::new("scenario", error.to_string()))?;
    compose(&scenario, seed)
}

/// Composes the trial with the seed `seed` from a scenario in TOML.
///
/// # Errors
///
/// If the text is not a scenario with the accepted keys, or if the trial cannot be run.
pub fn from_toml(text: &str, seed: u64) -> Result<Composed, SpecError> {
    compose(&read_toml(text)?, seed)
}

fn read_toml(text: &str) -> Result<Scenario, SpecError> {
    toml::from_str(text).map_err(|error| of_toml(text, &error))
}

fn of_toml(text: &str, error: &toml::de::Error) -> SpecError {
    let start = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(start).filter(|&byte| byte == b'\n').count() + 1;
    SpecError::new(format!("line {line}"), error.message().to_owned())
}

fn without_column(problem: &str) -> &str {
    problem.rsplit_once(" at line ").map_or(problem, |(problem, _)| problem)
}

fn compose(scenario: &Scenario, seed: u64) -> Result<Composed, SpecError> {
    let duration = match &scenario.duration {
        Some(text) => quantity::duration("duration", text)?,
        None => defaults::DURATION,
    };
    let path = &scenario.path;
    let or = |key: &str, text: &Option<_>, default| match text {
        Some(text) => quantity::duration(&format!("path.{key}"), text),
        None => Ok(default),
    };
    let rtt = or("rtt", &path.rtt, defaults::RTT)?;
    let links = line::links(path)?;
    let apps = app::apps(scenario, &links, rtt)?;
    let spec = Spec {
        seed,
        duration,
        links,
        apps,
        measure: measure(scenario.measure.as_ref())?,
        host_jitter: or("host_jitter", &path.host_jitter, defaults::HOST_JITTER)?,
        start_jitter: or("start_jitter", &path.start_jitter, defaults::START_JITTER)?,
    };
    check(&spec)?;
    let limits_ms = limits_ms(&spec.apps, &scenario.report)?;
    Ok(Composed { spec, limits_ms })
}

/// Returns the stated limits of applications in milliseconds. A limit belongs to one application or
/// to all copies of an application, and the limit of a single copy takes precedence.
fn limits_ms(apps: &[AppSpec], report: &Report) -> Result<BTreeMap<String, f64>, SpecError> {
    let mut stated = BTreeMap::new();
    for (name, limit) in &report.tolerances.0 {
        let limit = quantity::duration(&format!("report.tolerances.{name}"), limit)?;
        stated.insert(name.as_str(), limit.as_nanos() as f64 / 1e6);
    }
    let limit = |app: &AppSpec| {
        let own = stated.get(app.name.as_str());
        Some((app.name.clone(), *own.or_else(|| stated.get(family(&app.name, apps)))?))
    };
    Ok(apps.iter().filter_map(limit).collect())
}

/// Returns the application of which `name` is a numbered copy, or else `name` itself. If copies
/// exist, no application has the name without a number.
fn family<'a>(name: &'a str, apps: &[AppSpec]) -> &'a str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_absent = |plain: &str| apps.iter().all(|app| app.name != plain);
    let copy = name.rsplit_once('-');
    let copy = copy.filter(|(plain, number)| is_number(number) && is_absent(plain));
    copy.map_or(name, |(plain, _)| plain)
}

fn measure(said: Option<&Measure>) -> Result<MeasureSpec, SpecError> {
    let mut made = MeasureSpec::default();
    if let Some(from) = said.and_then(|measure| measure.from.as_ref()) {
        made.from = aqmlab_core::Instant::ZERO + quantity::duration("measure.from", from)?;
    }
    Ok(made)
}

#[cfg(test)]
mod tests;
