//! Bounds on the size of a trial, far above the size of any home network.

use std::collections::BTreeSet;

use aqmlab_core::{Duration, Instant};

use crate::error::SpecError;
use crate::grain::Grain;
use crate::resolve::ResolvedApp;
use crate::spec::{MeasureSpec, RouteSpec, Spec};

/// The maximum number of links, and the maximum number of applications. Both bound the memory of a
/// trial.
const MOST: usize = 10_000;
/// The maximum number of connections at one time, over all applications. A connection takes some
/// 3 kB.
const MOST_CONNECTIONS: u64 = 400_000;
/// The maximum number of rows of a time series, over all applications.
const MOST_ROWS: u64 = 20_000_000;
/// The maximum of a delay or jitter. Within this bound, no sum of delays overflows the clock.
const MOST_DELAY: Duration = Duration::from_secs(3_600);
/// The maximum length of a trial or a window.
const MOST_TIME: Duration = Duration::from_nanos(1 << 60);
/// The maximum number of links in a route.
const MOST_HOPS: usize = 200;

/// Refuses a trial that is impossible or that needs too much memory.
pub(crate) fn check(spec: &Spec) -> Result<(), SpecError> {
    let names: BTreeSet<_> = spec.apps.iter().map(|app| &app.name).collect();
    first_wrong(&[
        (spec.duration == Duration::ZERO, "duration_ns", "a trial of no length shows nothing"),
        (spec.duration > MOST_TIME, "duration_ns", "longer than 36 years"),
        (spec.links.len() > MOST, "links", "more than 10000"),
        (spec.apps.len() > MOST, "apps", "more than 10000"),
        (spec.host_jitter > MOST_DELAY, "host_jitter_ns", "longer than an hour"),
        (names.len() < spec.apps.len(), "apps", "two applications have the same name"),
    ])?;
    check_measure(&spec.measure, spec.end())?;
    check_rows(spec)
}

fn check_measure(measure: &MeasureSpec, end: Instant) -> Result<(), SpecError> {
    let &MeasureSpec { window, step, .. } = measure;
    let to = measure.to.unwrap_or(end);
    let empty = step == Duration::ZERO || window == Duration::ZERO;
    first_wrong(&[
        (empty, "measure", "a window of no width counts nothing"),
        (
            !empty && window.as_nanos() % step.as_nanos() != 0,
            "measure.window_ns",
            "not a whole multiple of measure.step_ns",
        ),
        (window > MOST_TIME, "measure.window_ns", "longer than 36 years"),
        (measure.points == 0, "measure.points", "a series of no points shows nothing"),
        (measure.from >= to, "measure.from_ns", "not before the end of the measurement"),
        (to > end, "measure.to_ns", "after the end of the trial"),
    ])
}

/// Refuses measurements whose steps or samples need too much memory.
fn check_rows(spec: &Spec) -> Result<(), SpecError> {
    let (measure, grain) = (&spec.measure, Grain::of(spec));
    let most = MOST_ROWS / spec.apps.len().max(1) as u64;
    first_wrong(&[
        (
            measure.window.as_nanos() / measure.step.as_nanos() > most,
            "measure.step_ns",
            "more than 20 million steps in the windows of all applications together",
        ),
        (
            measure.series && grain.steps(spec) > most,
            "measure.points",
            "more than 20 million steps of all applications together",
        ),
        (
            measure.series && grain.samples(spec) > MOST_ROWS / 100,
            "measure.points",
            "more than 200000 samples of each TCP or QUIC sender and of each queue",
        ),
    ])
}

/// Refuses applications that together may have too many connections at one time.
pub(crate) fn check_connections(apps: &[ResolvedApp]) -> Result<(), SpecError> {
    let counts = apps.iter().map(|one| one.app.most_connections());
    let connections = counts.fold(0, u64::saturating_add);
    if connections <= MOST_CONNECTIONS {
        return Ok(());
    }
    let problem = format!(
        "{connections} connections of all applications together at one time; at most \
         {MOST_CONNECTIONS} are possible"
    );
    Err(SpecError::new("apps", problem))
}

/// Refuses an impossible route. `at` is the place of the route in the trial.
pub(crate) fn check_route(at: &str, spec: &Spec, route: &RouteSpec) -> Result<(), SpecError> {
    if let Some(missing) = route.links.iter().find(|&&link| link >= spec.links.len()) {
        let problem = format!("there is no link number {missing}; there are {}", spec.links.len());
        return Err(SpecError::new(format!("{at}.links"), problem));
    }
    first_wrong(&[
        (route.links.len() > MOST_HOPS, "links", "more than 200 links in a row"),
        (route.delay > MOST_DELAY, "delay_ns", "longer than an hour"),
        (route.jitter > MOST_DELAY, "jitter_ns", "longer than an hour"),
    ])
    .map_err(|error| SpecError { at: format!("{at}.{}", error.at), ..error })
}

fn first_wrong(rules: &[(bool, &str, &str)]) -> Result<(), SpecError> {
    match rules.iter().find(|(wrong, ..)| *wrong) {
        Some((_, at, problem)) => Err(SpecError::new(*at, *problem)),
        None => Ok(()),
    }
}
