//! The direction of a packet, derived from its times at two taps with different clocks.
//!
//! For a packet from tap 0 to tap 1, the difference of its times is the clock offset *plus* its
//! delay. For a packet in the other direction, the difference is the clock offset *minus* its
//! delay. Of the two directions of a flow's tuple, the direction with the greater difference
//! therefore goes from tap 0 to tap 1, whatever the clock offset. If only one direction has
//! packets, the flow is classified by its hosts, provided that another flow has shown their sides.
//! Otherwise the differences seen so far decide. Without any differences, the two clocks are
//! assumed to agree.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::decode::Tuple;

/// The maximum number of hosts remembered; further hosts are classified by time differences.
const HOSTS: usize = 65_536;

/// The sides of the hosts seen so far, and the extreme time differences of both directions.
#[derive(Debug, Default)]
pub(super) struct Sides {
    /// The tap on the side of each host.
    hosts: BTreeMap<IpAddr, usize>,
    /// The smallest time difference of a packet from tap 0 to tap 1.
    least_up: Option<i64>,
    /// The largest time difference of a packet from tap 1 to tap 0.
    most_down: Option<i64>,
}

impl Sides {
    /// Returns whether packets of this tuple go from tap 0 to tap 1. Returns `None` if the two
    /// addresses are equal, or if the sides of the hosts are unknown or contradict each other.
    pub(super) fn by_hosts(&self, tuple: &Tuple) -> Option<bool> {
        let (source, destination) = (tuple.source.address, tuple.destination.address);
        if source == destination {
            return None;
        }
        let source = self.hosts.get(&source).map(|side| *side == 0);
        let destination = self.hosts.get(&destination).map(|side| *side == 1);
        match (source, destination) {
            (Some(up), Some(also)) => (up == also).then_some(up),
            (up, also) => up.or(also),
        }
    }

    /// Returns whether packets with this time difference go from tap 0 to tap 1.
    pub(super) fn by_difference(&self, difference: i64) -> bool {
        let between = match (self.least_up, self.most_down) {
            (Some(up), Some(down)) => up / 2 + down / 2,
            (Some(up), None) => return difference >= up,
            (None, Some(down)) => return difference > down,
            (None, None) => 0,
        };
        difference > between
    }

    /// Records that packets of this tuple go from tap 0 to tap 1. `up` is the time difference of
    /// such a packet; `down` is the time difference of a packet in the opposite direction.
    pub(super) fn learn(&mut self, tuple: &Tuple, up: Option<i64>, down: Option<i64>) {
        for (address, side) in [(tuple.source.address, 0), (tuple.destination.address, 1)] {
            if self.hosts.len() < HOSTS {
                self.hosts.entry(address).or_insert(side);
            }
        }
        self.least_up = self.least_up.into_iter().chain(up).min();
        self.most_down = self.most_down.into_iter().chain(down).max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Endpoint;

    fn tuple(source: u8, destination: u8) -> Tuple {
        let host = |last| Endpoint { address: IpAddr::from([10, 0, 0, last]), port: 9 };
        Tuple { protocol: 17, source: host(source), destination: host(destination) }
    }

    #[test]
    fn hosts_that_one_flow_has_shown_tell_of_others() {
        let mut sides = Sides::default();
        assert_eq!(sides.by_hosts(&tuple(1, 2)), None);
        sides.learn(&tuple(1, 2), Some(5), None);
        for (source, destination, want) in [
            (1, 9, Some(true)),
            (9, 1, Some(false)),
            (9, 2, Some(true)),
            (2, 1, Some(false)),
            (7, 8, None),
            (1, 1, None),
        ] {
            assert_eq!(sides.by_hosts(&tuple(source, destination)), want, "{source} {destination}");
        }
    }

    #[test]
    fn differences_tell_on_either_side_of_the_clocks_offset() {
        let mut sides = Sides::default();
        assert!(sides.by_difference(20) && !sides.by_difference(-20), "one clock");
        sides.learn(&tuple(1, 2), Some(1_020), Some(980));
        sides.learn(&tuple(3, 4), Some(3_000), Some(990));
        assert!(sides.by_difference(1_010) && !sides.by_difference(1_000));
    }
}
