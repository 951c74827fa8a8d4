//! Applications: their copies, times and routes.

use std::collections::BTreeSet;

use aqmlab_core::{Duration, Instant};
use aqmlab_trial::SpecError;
use aqmlab_trial::spec::{AppKind, AppSpec, LinkSpec, Named, RouteSpec, TcpSpec};

use crate::scenario::{Ordered, Plain, Scenario};
use crate::{choice, quantity};

/// The keys of an application that are not parameters of its kind.
const OWN: &[&str] = &["kind", "start", "stop", "duration", "rtt", "count", "stagger", "host"];
/// The maximum number of copies of an application, as in `aqmlab.scenario.applications`.
const MOST_COPIES: u64 = 1_000;

/// Returns all copies of the applications in `scenario`. `rtt` is the base round-trip time of an
/// application that states none.
pub(crate) fn apps(
    scenario: &Scenario,
    links: &[LinkSpec],
    rtt: Duration,
) -> Result<Vec<AppSpec>, SpecError> {
    if scenario.apps.0.is_empty() {
        return Err(SpecError::new("apps", "no application is given"));
    }
    let mut all = Vec::new();
    for (name, table) in &scenario.apps.0 {
        if !is_shown(name) {
            return Err(SpecError::new("apps", "a name is one line of at most 100 characters"));
        }
        all.extend(copies(name, table, links, rtt)?);
    }
    let names: BTreeSet<_> = all.iter().map(|app| &app.name).collect();
    if names.len() < all.len() {
        return Err(SpecError::new("apps", "two applications have the same name"));
    }
    Ok(all)
}

fn copies(
    name: &str,
    table: &Ordered<Plain>,
    links: &[LinkSpec],
    rtt: Duration,
) -> Result<Vec<AppSpec>, SpecError> {
    let at = |key: &str| format!("apps.{name}.{key}");
    let kind = table.get("kind").map(quantity::shown);
    let kind = kind.ok_or_else(|| SpecError::new(at("kind"), "is missing"))?;
    let (own, given) = own_and_given(&kind, table);
    let app = choice::of_kind(&format!("apps.{name}"), &kind, &given)?;
    let duration =
        |key: &str| own.get(key).map(|value| quantity::duration(&at(key), value)).transpose();
    let number = match own.get("count") {
        Some(value) => quantity::count(&at("count"), value)?,
        None => 1,
    };
    if !(1..=MOST_COPIES).contains(&number) {
        return Err(SpecError::new(at("count"), format!("{number} is not between 1 and 1000")));
    }
    let stagger = duration("stagger")?.unwrap_or(Duration::ZERO);
    let start = duration("start")?.unwrap_or(Duration::ZERO);
    let (stop, length) = (duration("stop")?, duration("duration")?);
    if stop.is_some() && length.is_some() {
        return Err(SpecError::new(at("stop"), "given together with `duration`"));
    }
    let host = own.get("host").map(|value| host(&at("host"), value)).transpose()?;
    let [up, down] = routes(links, duration("rtt")?.unwrap_or(rtt));
    let one = |copy: u64| {
        let start = (0..copy).fold(Instant::ZERO + start, |start, _| start + stagger);
        AppSpec {
            name: if number == 1 { name.to_owned() } else { format!("{name}-{}", copy + 1) },
            app: app.clone(),
            start,
            stop: length.map(|length| start + length).or(stop.map(|stop| Instant::ZERO + stop)),
            up: up.clone(),
            down: down.clone(),
            priority: None,
            host: host.clone(),
            dscp: None,
            home: TcpSpec::default(),
            wan: TcpSpec::default(),
        }
    };
    Ok((0..number).map(one).collect())
}

/// Returns `value` as the name of a host in the home.
fn host(at: &str, value: &Plain) -> Result<String, SpecError> {
    match value {
        Plain::Text(name) if is_shown(name) => Ok(name.clone()),
        _ => Err(SpecError::new(at, "a name is one line of at most 100 characters")),
    }
}

/// Returns whether a name has 1 to 100 characters, and only printable ones, so that tables and
/// figures can show it.
fn is_shown(name: &str) -> bool {
    (1..=100).contains(&name.chars().count()) && name.chars().all(is_printable)
}

/// Returns whether a character is printable: it is neither a separator except for the space, nor a
/// control or format character, nor unassigned or for private use.
fn is_printable(letter: char) -> bool {
    // `escape_debug` escapes the others. It also escapes quotation marks and the backslash, and a
    // combining character at the start of a text.
    let text = ['a', letter].iter().collect::<String>();
    matches!(letter, '"' | '\'' | '\\') || text.escape_debug().nth(1) == Some(letter)
}

/// Splits the members of an application's table into the keys of [`OWN`] and the parameters of the
/// kind. A member that can be either is a parameter.
fn own_and_given(kind: &str, table: &Ordered<Plain>) -> (Ordered<Plain>, Vec<(String, Plain)>) {
    let params = AppKind::find(kind).map_or(&[][..], |kind| kind.0.params);
    let is_own = |name: &str| OWN.contains(&name) && !params.iter().any(|one| one.name == name);
    let (own, given) = table.0.iter().cloned().partition(|(name, _)| is_own(name));
    (Ordered(own), given)
}

/// Returns the routes up and down. Each route has half of `rtt` as its delay, and an odd nanosecond
/// is part of the delay down.
fn routes(links: &[LinkSpec], rtt: Duration) -> [RouteSpec; 2] {
    let through = |names: &[&str]| {
        names.iter().filter_map(|name| links.iter().position(|link| link.name == *name)).collect()
    };
    let half = Duration::from_nanos(rtt.as_nanos() / 2);
    let rest = Duration::from_nanos(rtt.as_nanos() - half.as_nanos());
    let route = |links, delay| RouteSpec { links, delay, ..RouteSpec::default() };
    [route(through(&["up", "modem-up"]), half), route(through(&["modem-down", "down"]), rest)]
}
