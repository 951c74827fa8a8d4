//! What is asked of a trial's spec again and again.

use aqmlab_core::{Direction, Side};
use aqmlab_sim::Spec;
use aqmlab_sim::spec::{AppSpec, RouteSpec, TcpSpec};

/// The direction that a link is for.
pub(crate) fn direction_of(spec: &Spec, link: usize) -> Direction {
    let up = spec.apps.iter().any(|app| app.up.links.contains(&link));
    if up { Direction::Up } else { Direction::Down }
}

/// The settings of one end of an application.
pub(crate) const fn tcp_of(app: &AppSpec, side: Side) -> &TcpSpec {
    match side {
        Side::Home => &app.home,
        Side::Wan => &app.wan,
    }
}

/// One direction's way of an application.
pub(crate) const fn way(app: &AppSpec, direction: Direction) -> &RouteSpec {
    match direction {
        Direction::Up => &app.up,
        Direction::Down => &app.down,
    }
}

/// The links that a direction uses.
pub(crate) fn used(spec: &Spec, direction: Direction) -> Vec<usize> {
    let mut links: Vec<_> =
        spec.apps.iter().flat_map(|app| way(app, direction).links.iter().copied()).collect();
    links.sort_unstable();
    links.dedup();
    links
}
