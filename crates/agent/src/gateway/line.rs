//! What follows a bottleneck: the time on the wire, and on the host also delay, jitter and loss.
//!
//! In a machine netem adds those ([`crate::ways`]) and a packet is handed on when it has left the
//! link. On a host netem may be missing, so the gateway does what the simulator's lines do: jitter
//! is drawn uniformly, and keeps the order of what shares a delay unless it may not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_core::{Direction, Instant, Rng};
use aqmlab_sim::Spec;

use crate::spec::way;

/// Packets on their way in one direction.
pub(super) struct Line {
    travelling: BinaryHeap<Reverse<(Instant, u64, u64)>>,
    /// Packets taken so far: of those that arrive at one time, the first is the first.
    count: u64,
    /// By application.
    ways: Vec<Way>,
    /// When the last packet of each different delay arrives.
    last: Vec<Instant>,
}

/// What happens to packets of an application.
struct Way {
    delay_ns: u64,
    jitter_ns: u64,
    reorder: bool,
    loss: f64,
    /// With whom it shares a delay.
    group: usize,
    chance: Rng,
    jitter: Rng,
}

impl Line {
    /// An empty one of the trial's delays, or, without `delays`, of none.
    pub(super) fn new(spec: &Spec, direction: Direction, delays: bool) -> Self {
        let mut groups = Vec::new();
        let apps = spec.apps.iter().filter(|_| delays);
        let ways: Vec<_> = apps
            .map(|app| {
                let route = way(app, direction);
                let key = (route.delay_ns, route.jitter_ns, route.reorder);
                let known = groups.iter().position(|other| *other == key);
                let group = known.unwrap_or_else(|| {
                    groups.push(key);
                    groups.len() - 1
                });
                let name = format!("{}.{}", app.name, direction.name());
                Way {
                    delay_ns: route.delay_ns,
                    jitter_ns: route.jitter_ns.saturating_add(spec.host_jitter_ns),
                    reorder: route.reorder && route.jitter_ns > 0,
                    loss: route.loss,
                    group,
                    chance: Rng::stream(spec.seed, &format!("loss.{name}")),
                    jitter: Rng::stream(spec.seed, &format!("line.{name}")),
                }
            })
            .collect();
        let last = vec![Instant::ZERO; groups.len()];
        Self { travelling: BinaryHeap::new(), count: 0, ways, last }
    }

    /// Takes a packet of an application that has left the link at `at`; false if it is lost.
    pub(super) fn push(&mut self, at: Instant, app: u32, id: u64) -> bool {
        let mut arrives = at;
        if let Some(way) = self.ways.get_mut(app as usize) {
            if way.loss > 0.0 && way.chance.unit() < way.loss {
                return false;
            }
            let drawn = if way.jitter_ns > 0 { way.jitter.below(way.jitter_ns + 1) } else { 0 };
            arrives = Instant::from_nanos(at.as_nanos() + way.delay_ns + drawn);
            if !way.reorder {
                arrives = arrives.max(self.last[way.group]);
                self.last[way.group] = arrives;
            }
        }
        self.count += 1;
        self.travelling.push(Reverse((arrives, self.count, id)));
        true
    }

    /// Takes the packet that arrives first, if it has arrived at `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<u64> {
        self.next().filter(|at| *at <= now)?;
        self.travelling.pop().map(|Reverse((.., id))| id)
    }

    /// When the next packet arrives.
    pub(super) fn next(&self) -> Option<Instant> {
        self.travelling.peek().map(|Reverse((at, ..))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(way: &str) -> Spec {
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [], "apps": [
                {{"name": "a", "app": {{"kind": "bulk"}}, "start_ns": 0, "up": {way}, "down": {way}}}
            ]}}"#
        );
        aqmlab_sim::parse(&json).expect("it is a trial")
    }

    fn order(line: &mut Line) -> Vec<u64> {
        (0..300).for_each(|id| assert!(line.push(Instant::from_millis(id), 0, id)));
        std::iter::from_fn(|| line.pop(Instant::from_millis(1_000))).collect()
    }

    #[test]
    fn packets_arrive_after_their_delay_and_not_before() {
        let spec = spec(r#"{"links": [], "delay_ns": 20000000}"#);
        let mut line = Line::new(&spec, Direction::Up, true);
        assert!(line.push(Instant::from_millis(5), 0, 9));
        assert_eq!(line.pop(Instant::from_nanos(24_999_999)), None);
        assert_eq!(line.pop(Instant::from_millis(25)), Some(9));
        let mut line = Line::new(&spec, Direction::Up, false);
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
        assert_eq!(order(&mut Line::new(&of("false"), Direction::Up, true)), sorted);
        let mixed = order(&mut Line::new(&of("true"), Direction::Up, true));
        assert!(mixed != sorted && mixed.len() == 300);
    }

    #[test]
    fn a_share_of_packets_is_lost() {
        let spec = spec(r#"{"links": [], "delay_ns": 0, "loss": 0.25}"#);
        let mut line = Line::new(&spec, Direction::Down, true);
        let lost = (0..10_000).filter(|&id| !line.push(Instant::ZERO, 0, id)).count();
        assert!((2_300..2_700).contains(&lost), "{lost}");
    }
}
