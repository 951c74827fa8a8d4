//! The shapers of the gateway, whose rates an application on the gateway may change.

use aqmlab_core::Direction;

use crate::error::SpecError;
use crate::spec::{AppSpec, ShaperSpec, Spec};

/// Returns the links with the gateway's shapers on the route of application number `app`, up and
/// down. Returns `None` if a direction has none.
///
/// # Panics
///
/// If there is no such application.
pub fn gateway_shapers(spec: &Spec, app: usize) -> Option<[u32; 2]> {
    let found = Direction::BOTH.map(|direction| shaper_link(spec, &spec.apps[app], direction));
    let [Some(up), Some(down)] = found else { return None };
    Some([up as u32, down as u32])
}

/// Returns the first link with the shaper `cake` on the route of an application.
fn shaper_link(spec: &Spec, app: &AppSpec, direction: Direction) -> Option<usize> {
    let links = &app.route(direction).links;
    let is_shaper =
        |link: usize| spec.links.get(link)?.shaper.eq(&ShaperSpec::Cake).then_some(link);
    links.iter().copied().find_map(is_shaper)
}

/// Refuses an application that sets shapers if a direction of its route has no CAKE that limits the
/// rate. `at` is the place of the application in the trial.
pub(crate) fn check(at: &str, spec: &Spec, app: &AppSpec) -> Result<(), SpecError> {
    for direction in Direction::BOTH {
        if shaper_link(spec, app, direction).is_none() {
            let problem = format!(
                "changes the rate of a CAKE in each direction, and no link of its route {way} has \
                 the shaper `cake`; a scenario needs path.qdisc = \"cake\" and path.shaper = \
                 \"cake\", and path.modem with the rate of the line",
                way = direction.name(),
            );
            return Err(SpecError::new(at, problem));
        }
    }
    Ok(())
}
