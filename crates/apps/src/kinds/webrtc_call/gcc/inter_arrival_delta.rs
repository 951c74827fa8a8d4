//! Groups of packets that were sent together, and the change of delay from one group to the next.
//!
//! Source: libwebrtc (2025-06) `inter_arrival_delta.cc`. Packets sent within 5 ms of a group's
//! first packet belong to the group. Packets that arrive within 5 ms of the last packet also belong
//! to the group, if their arrivals are closer than their departures. Such packets are a burst from
//! a queue that emptied at once. A burst lasts at most 100 ms.

use aqmlab_core::{Duration, Instant};

const SENT_WITHIN: i128 = 5_000_000;
const BURST_GAP: i128 = 5_000_000;
const LONGEST_BURST: Duration = Duration::from_millis(100);
/// The time between the arrivals of two groups minus the time between their reports, in
/// nanoseconds, at and above which a clock has jumped.
const CLOCK_JUMP: i128 = 3_000_000_000;
/// The number of consecutive reordered groups after which the state is reset.
const REORDERED: u32 = 3;

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    sent: Instant,
    first_arrival: Instant,
    arrival: Instant,
    /// The arrival time of the report on the group's last packet.
    reported: Instant,
}

/// The spacing of two groups, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spacing {
    /// The time between the groups' departures.
    pub(crate) sent_ms: f64,
    /// The time between the groups' arrivals.
    pub(crate) arrived_ms: f64,
}

/// The current group, and the complete group before it.
#[derive(Debug, Default)]
pub(crate) struct InterArrivalDelta {
    present: Option<Group>,
    complete: Option<Group>,
    reordered: u32,
}

/// Returns `a` − `b` in nanoseconds.
fn minus(a: Instant, b: Instant) -> i128 {
    i128::from(a.as_nanos()) - i128::from(b.as_nanos())
}

impl InterArrivalDelta {
    /// Adds a packet. If it begins a new group, returns the spacing of the last two complete
    /// groups, once there are two. Returns `None` if the groups are reordered or a clock has
    /// jumped.
    pub(crate) fn add(
        &mut self,
        sent: Instant,
        arrival: Instant,
        reported: Instant,
    ) -> Option<Spacing> {
        let fresh = Group { first_sent: sent, sent, first_arrival: arrival, arrival, reported };
        let Some(group) = &mut self.present else {
            self.present = Some(fresh);
            return None;
        };
        if group.first_sent > sent {
            return None;
        }
        if belongs_to_burst(group, sent, arrival) || minus(sent, group.first_sent) <= SENT_WITHIN {
            group.sent = group.sent.max(sent);
            group.arrival = arrival;
            group.reported = reported;
            return None;
        }
        let finished = *group;
        let mut spacing = None;
        if let Some(before) = self.complete {
            let arrived = minus(finished.arrival, before.arrival);
            if arrived - minus(finished.reported, before.reported) >= CLOCK_JUMP {
                *self = Self::default();
                return None;
            }
            if arrived < 0 {
                self.reordered += 1;
                if self.reordered >= REORDERED {
                    *self = Self::default();
                }
                return None;
            }
            self.reordered = 0;
            let sent_ms = minus(finished.sent, before.sent) as f64 / 1e6;
            spacing = Some(Spacing { sent_ms, arrived_ms: arrived as f64 / 1e6 });
        }
        self.complete = Some(finished);
        self.present = Some(fresh);
        spacing
    }
}

fn belongs_to_burst(group: &Group, sent: Instant, arrival: Instant) -> bool {
    let sent_gap = minus(sent, group.sent);
    let arrival_gap = minus(arrival, group.arrival);
    sent_gap == 0
        || (arrival_gap < sent_gap
            && arrival_gap <= BURST_GAP
            && arrival.since(group.first_arrival) < LONGEST_BURST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(groups: &mut InterArrivalDelta, sent_ms: u64, arrival_ms: u64) -> Option<Spacing> {
        let arrival = Instant::from_millis(arrival_ms);
        groups.add(Instant::from_millis(sent_ms), arrival, arrival)
    }

    #[test]
    fn packets_sent_within_5_ms_are_a_group_that_ends_with_its_last_arrival() {
        let mut groups = InterArrivalDelta::default();
        for (sent, arrival) in [(0, 20), (5, 26), (33, 60), (34, 70)] {
            assert_eq!(add(&mut groups, sent, arrival), None);
        }
        // The groups ended at 26 and 70 ms and were sent until 5 and 34 ms.
        let spacing = Spacing { sent_ms: 29.0, arrived_ms: 44.0 };
        assert_eq!(add(&mut groups, 66, 90), Some(spacing));
    }

    #[test]
    fn packets_that_arrive_closer_than_they_left_are_a_burst() {
        let mut groups = InterArrivalDelta::default();
        // The packets are sent 10 ms apart, held on the path, and released at 100 ms.
        for (sent, arrival) in [(0, 20), (10, 100), (20, 101), (30, 102), (40, 103)] {
            assert_eq!(add(&mut groups, sent, arrival), None);
        }
        let spacing = Spacing { sent_ms: 40.0, arrived_ms: 83.0 };
        assert_eq!(add(&mut groups, 80, 130), Some(spacing));
    }

    #[test]
    fn a_jump_of_the_clock_and_disorder_reset_the_groups() {
        let mut groups = InterArrivalDelta::default();
        let at = Instant::from_millis;
        groups.add(at(0), at(20), at(50));
        groups.add(at(33), at(53), at(100));
        groups.add(at(66), at(9_000), at(150));
        assert_eq!(groups.add(at(99), at(9_033), at(200)), None, "8.9 s later by that clock");
        assert!(groups.present.is_none());
        let mut groups = InterArrivalDelta::default();
        for n in 0..5 {
            assert_eq!(add(&mut groups, 100 * n, 10_000 - 100 * n), None);
        }
        assert!(groups.complete.is_none(), "three groups in the wrong order");
    }
}
