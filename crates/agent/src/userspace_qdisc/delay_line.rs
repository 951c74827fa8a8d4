//! The path behind a bottleneck: the time on the wire, and on the host's own kernel also delay,
//! jitter and loss.
//!
//! In a virtual machine, netem adds delay, jitter and loss, and a packet is forwarded when it has
//! left the link. On the host's own kernel netem may be missing, so this delay line works like the
//! simulator's delay lines. Jitter is drawn uniformly. Packets on routes with the same delay and
//! jitter stay in order unless the routes reorder.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_trial::{Impairments, Spec};

/// The packets in one direction that have left the link and not yet arrived.
pub(super) struct DelayLine {
    travelling: BinaryHeap<Reverse<(Instant, u64, u64)>>,
    /// The number of packets accepted so far. This number orders packets that arrive at the same
    /// time.
    count: u64,
    /// The paths of the applications.
    paths: Vec<Path>,
    /// The arrival time of the last packet in each delay group.
    last: Vec<Instant>,
}

/// The delay, jitter and loss of an application's packets.
struct Path {
    delay: Duration,
    reorder: bool,
    impairments: Impairments,
    /// The group of applications with the same delay, jitter and reordering.
    group: usize,
}

impl DelayLine {
    /// Returns an empty delay line with the trial's delays, or without any delay if `delays` is
    /// false.
    pub(super) fn new(spec: &Spec, direction: Direction, delays: bool) -> Self {
        let mut groups = Vec::new();
        let apps = spec.apps.iter().enumerate().filter(|_| delays);
        let paths: Vec<_> = apps
            .map(|(number, app)| {
                let route = app.route(direction);
                let key = (route.delay, route.jitter, route.reorders());
                let known = groups.iter().position(|other| *other == key);
                let group = known.unwrap_or_else(|| {
                    groups.push(key);
                    groups.len() - 1
                });
                Path {
                    delay: route.delay,
                    reorder: route.reorders(),
                    impairments: Impairments::new(spec, number, direction),
                    group,
                }
            })
            .collect();
        let last = vec![Instant::ZERO; groups.len()];
        Self { travelling: BinaryHeap::new(), count: 0, paths, last }
    }

    /// Accepts the packet `id` of application `app`, which left the link at `at`. Returns false if
    /// the packet is lost.
    pub(super) fn push(&mut self, at: Instant, app: u32, id: u64) -> bool {
        let mut arrives = at;
        if let Some(path) = self.paths.get_mut(app as usize) {
            let Some(jitter) = path.impairments.draw() else { return false };
            arrives += path.delay + jitter;
            if !path.reorder {
                arrives = arrives.max(self.last[path.group]);
                self.last[path.group] = arrives;
            }
        }
        self.count += 1;
        self.travelling.push(Reverse((arrives, self.count, id)));
        true
    }

    /// Removes and returns the packet that arrives first, if it has arrived by `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<u64> {
        self.next().filter(|at| *at <= now)?;
        self.travelling.pop().map(|Reverse((.., id))| id)
    }

    /// Returns the arrival time of the next packet, if there is one.
    pub(super) fn next(&self) -> Option<Instant> {
        self.travelling.peek().map(|Reverse((at, ..))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(path: &str) -> Spec {
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [], "apps": [
                {{"name": "a", "app": {{"kind": "bulk"}}, "start_ns": 0, "up": {path}, "down": {path}}}
            ]}}"#
        );
        aqmlab_trial::parse(&json).expect("it is a trial")
    }

    fn order(line: &mut DelayLine) -> Vec<u64> {
        (0..300).for_each(|id| assert!(line.push(Instant::from_millis(id), 0, id)));
        std::iter::from_fn(|| line.pop(Instant::from_millis(1_000))).collect()
    }

    #[test]
    fn packets_arrive_after_their_delay_and_not_before() {
        let spec = spec(r#"{"links": [], "delay_ns": 20000000}"#);
        let mut line = DelayLine::new(&spec, Direction::Up, true);
        assert!(line.push(Instant::from_millis(5), 0, 9));
        assert_eq!(line.pop(Instant::from_nanos(24_999_999)), None);
        assert_eq!(line.pop(Instant::from_millis(25)), Some(9));
        let mut line = DelayLine::new(&spec, Direction::Up, false);
        assert!(line.push(Instant::from_millis(5), 0, 9));
        assert_eq!(line.next(), Some(Instant::from_millis(5)));
    }

    #[test]
    fn jitter_keeps_the_order_unless_it_may_not() {
        let of = |reorder: &str| {
            spec(&format!(
                r#"{{"links": [], "delay_ns": 1000, "jitter_ns": 9000000, "reorder": {reorder}}}"#
            ))
        };
        let sorted: Vec<u64> = (0..300).collect();
        assert_eq!(order(&mut DelayLine::new(&of("false"), Direction::Up, true)), sorted);
        let mixed = order(&mut DelayLine::new(&of("true"), Direction::Up, true));
        assert!(mixed != sorted && mixed.len() == 300);
    }

    #[test]
    fn routes_without_jitter_share_a_line_whether_or_not_they_reorder() {
        let route = |reorder| {
            format!(r#"{{"links": [], "delay_ns": 1000, "jitter_ns": 0, "reorder": {reorder}}}"#)
        };
        let app = |name, reorder| {
            let route = route(reorder);
            format!(
                r#"{{"name": "{name}", "app": {{"kind": "bulk"}}, "start_ns": 0, "up": {route}, "down": {route}}}"#
            )
        };
        let apps = [app("a", false), app("b", true)].join(", ");
        let json =
            format!(r#"{{"seed": 1, "duration_ns": 1000000000, "links": [], "apps": [{apps}]}}"#);
        let spec = aqmlab_trial::parse(&json).expect("it is a trial");
        let line = DelayLine::new(&spec, Direction::Up, true);
        assert_eq!(line.paths.iter().map(|path| path.group).collect::<Vec<_>>(), [0, 0]);
    }

    #[test]
    fn a_share_of_packets_is_lost() {
        let spec = spec(r#"{"links": [], "delay_ns": 0, "loss": 0.25}"#);
        let mut line = DelayLine::new(&spec, Direction::Down, true);
        let lost = (0..10_000).filter(|&id| !line.push(Instant::ZERO, 0, id)).count();
        assert!((2_300..2_700).contains(&lost), "{lost}");
    }
}
