//! The parts of a trial: ports, radios, applications and TCP endpoints, built and checked.

use aqmlab_apps::{App, Misfit};

use crate::arguments::arguments;
use crate::endpoint::Endpoint;
use crate::error::SpecError;
use crate::link::ResolvedLink;
use crate::spec::{AppSpec, Spec};
use crate::{datagrams, limits, shapers};

/// The parts of a trial, in the order of its specification.
pub struct Resolved {
    /// The links, with their ports and radios.
    pub links: Vec<ResolvedLink>,
    /// The applications, with their endpoints.
    pub apps: Vec<ResolvedApp>,
}

/// An application and the TCPs of its two ends, home first.
pub struct ResolvedApp {
    /// The traffic generator.
    pub app: Box<dyn App>,
    /// The endpoints of the application's TCPs, home first.
    pub endpoints: [Endpoint; 2],
}

/// Builds the parts of a trial.
///
/// # Errors
///
/// If the specification is invalid.
pub fn resolve(spec: &Spec) -> Result<Resolved, SpecError> {
    // The limits are checked before memory is allocated for the numbers in the specification.
    limits::check(spec)?;
    let links = spec.links.iter().enumerate();
    let links =
        links.map(|(index, link)| ResolvedLink::new(&format!("links[{index}]"), link, spec.seed));
    let links = links.collect::<Result<_, _>>()?;
    let apps = spec.apps.iter().enumerate();
    let apps = apps.map(|(index, app)| resolve_app(&format!("apps[{index}]"), spec, app));
    let mut apps = apps.collect::<Result<Vec<_>, _>>()?;
    limits::check_connections(&apps)?;
    let mut profiles = Vec::new();
    for endpoint in apps.iter_mut().flat_map(|app| &mut app.endpoints) {
        endpoint.share_profile(&mut profiles);
    }
    Ok(Resolved { links, apps })
}

/// Checks everything in a trial that can be checked without a run.
///
/// # Errors
///
/// If [`resolve`] would return an error.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    resolve(spec).map(drop)
}

/// Builds the application that `spec` describes. `at` is the place of `spec` in the trial.
///
/// # Errors
///
/// If a parameter does not exist, its value has another type or is out of bounds, or two parameters
/// contradict each other.
pub fn app(at: &str, spec: &AppSpec) -> Result<Box<dyn App>, SpecError> {
    let kind = spec.app.kind.0;
    let app = (kind.build)(&arguments(&format!("{at}.app"), kind.params, &spec.app.params)?);
    match app.misfit() {
        Some(Misfit { set_by, problem }) => {
            Err(SpecError::new(format!("{at}.app.{set_by}"), problem))
        }
        None => Ok(app),
    }
}

fn resolve_app(at: &str, spec: &Spec, of: &AppSpec) -> Result<ResolvedApp, SpecError> {
    let app = app(at, of)?;
    let endpoints = [
        Endpoint::new(&format!("{at}.home"), &of.home)?,
        Endpoint::new(&format!("{at}.wan"), &of.wan)?,
    ];
    if app.uses_quic() {
        for (endpoint, side) in endpoints.iter().zip(["home", "wan"]) {
            endpoint.check_quic(&format!("{at}.{side}"))?;
        }
    }
    for (name, route) in [("up", &of.up), ("down", &of.down)] {
        limits::check_route(&format!("{at}.{name}"), spec, route)?;
    }
    if let Some(priority) = of.priority.filter(|&priority| priority > 15) {
        return Err(SpecError::new(format!("{at}.priority"), format!("{priority} is not 0 to 15")));
    }
    if let Some(dscp) = of.dscp.filter(|&dscp| dscp > 63) {
        return Err(SpecError::new(format!("{at}.dscp"), format!("{dscp} is not 0 to 63")));
    }
    if app.sets_shapers() {
        shapers::check(&format!("{at}.app"), spec, of)?;
    }
    datagrams::check(&format!("{at}.app"), of, &*app)?;
    if of.stop.is_some_and(|stop| stop <= of.start) {
        return Err(SpecError::new(format!("{at}.stop_ns"), "not after start_ns"));
    }
    Ok(ResolvedApp { app, endpoints })
}
