//! The links of a trial by direction, and sizes as signed numbers.

use aqmlab_core::{Bytes, Direction};
use aqmlab_trial::Spec;

/// Returns the direction in which applications use a link.
pub(crate) fn direction_of(spec: &Spec, link: usize) -> Direction {
    let up = spec.apps.iter().any(|app| app.up.links.contains(&link));
    if up { Direction::Up } else { Direction::Down }
}

/// Returns the indices of the links in the routes of a direction, in rising order.
pub(crate) fn used(spec: &Spec, direction: Direction) -> Vec<usize> {
    let mut links: Vec<_> =
        spec.apps.iter().flat_map(|app| app.route(direction).links.iter().copied()).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// Converts a size to a signed number, for sums that may be negative. The sizes of an overhead have
/// 32 bits.
pub(crate) fn signed(size: Bytes) -> i64 {
    i64::from(size.0 as u32)
}
