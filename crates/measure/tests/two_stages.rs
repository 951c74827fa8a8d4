//! Compares the streaming meter with a naive transcription of the two-stage algorithm.
//!
//! The oracle follows CAIA Technical Report 130730A and keeps both captures in memory. It matches
//! the packets of the captures by search (stage 1), and searches for each packet's partner (stage
//! 2).

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_measure::{DirectionReport, Histogram, InOrder, Meter, Sent, Settings};
use proptest::prelude::*;

/// One packet of random traffic.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    direction: Direction,
    gap: u64,
    /// The delay of the packet; `None` if the path loses it.
    delay: Option<u64>,
}

/// The passage of a packet at a tap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    at: u64,
    direction: Direction,
    id: u64,
    /// Whether the tap is at the packet's sender.
    leaves: bool,
}

fn traffic() -> impl Strategy<Value = Vec<Traffic>> {
    let one = (any::<bool>(), 0_u64..40, prop::option::weighted(0.85, 1_u64..200)).prop_map(
        |(up, gap, delay)| {
            let direction = if up { Direction::Up } else { Direction::Down };
            Traffic { direction, gap, delay }
        },
    );
    prop::collection::vec(one, 0..200)
}

/// Returns the passages in time order. At one instant, arrivals precede departures.
fn taps(traffic: &[Traffic], overtaking: bool) -> Vec<Seen> {
    let mut now = 0;
    let mut latest = [0; 2];
    let mut seen = Vec::new();
    for (id, packet) in traffic.iter().enumerate() {
        now += packet.gap;
        let event = |at, leaves| Seen { at, direction: packet.direction, id: id as u64, leaves };
        seen.push(event(now, true));
        if let Some(delay) = packet.delay {
            let latest = &mut latest[packet.direction.index()];
            let arrival = if overtaking { now + delay } else { (now + delay).max(*latest) };
            *latest = arrival;
            seen.push(event(arrival, false));
        }
    }
    seen.sort_by_key(|seen| (seen.at, seen.leaves, seen.id));
    seen
}

fn measure(seen: &[Seen], in_order: InOrder) -> [DirectionReport; 2] {
    let mut meter = Meter::new(
        Settings {
            from: Instant::ZERO,
            to: Instant::NEVER,
            window: Duration::from_nanos(100),
            step: Duration::from_nanos(100),
            end: Instant::from_nanos(1_000),
            in_order,
            series: Some(Duration::from_nanos(100)),
        },
        &[Instant::ZERO..Instant::from_nanos(1_000)],
    );
    for event in seen {
        let at = Instant::from_nanos(event.at);
        if event.leaves {
            let Seen { direction, id, .. } = *event;
            meter.sent(Sent { flow: 0, conn: 0, direction, id, ip_len: 100 }, at);
        } else {
            meter.received(0, event.direction, event.id, 100, at);
        }
    }
    meter.finish().remove(0).directions
}

/// Runs stages 1 and 2 with the sender of `out_direction` as the reference. Returns the midpoint
/// and duration of each round trip.
fn two_stages(seen: &[Seen], out_direction: Direction) -> Vec<(u64, u64)> {
    let at_tap = |direction: Direction, id: u64, leaves: bool| {
        let place = seen.iter().position(|seen| {
            seen.direction == direction && seen.id == id && seen.leaves == leaves
        })?;
        Some(seen[place].at)
    };
    let at_monitor: Vec<Seen> = seen
        .iter()
        .filter(|seen| (seen.direction == out_direction) != seen.leaves)
        .filter(|seen| at_tap(seen.direction, seen.id, !seen.leaves).is_some())
        .copied()
        .collect();
    let mut used = Vec::new();
    let mut trips = Vec::new();
    for (place, inbound) in at_monitor.iter().enumerate() {
        if inbound.direction == out_direction {
            continue;
        }
        let before = at_monitor[..place].iter().rev();
        let Some(out) = before.into_iter().find(|seen| seen.direction == out_direction) else {
            continue;
        };
        if used.contains(&out.id) {
            continue;
        }
        used.push(out.id);
        let out_reference = at_tap(out_direction, out.id, true).unwrap();
        let in_reference = at_tap(inbound.direction, inbound.id, false).unwrap();
        let total = in_reference - out_reference;
        trips.push((out_reference + total / 2, total - (inbound.at - out.at)));
    }
    trips
}

/// Returns the number of packets that did not arrive although a later packet arrived.
fn lost(seen: &[Seen], direction: Direction) -> u64 {
    let ids = |leaves: bool| {
        seen.iter()
            .filter(move |seen| seen.direction == direction && seen.leaves == leaves)
            .map(|seen| seen.id)
    };
    let last = ids(false).max();
    ids(true).filter(|id| Some(*id) < last && !ids(false).any(|other| other == *id)).count() as u64
}

fn histogram(values: impl Iterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::default();
    values.for_each(|value| histogram.record(Duration::from_nanos(value)));
    histogram
}

fn check(seen: &[Seen], in_order: InOrder) -> Result<(), TestCaseError> {
    let reports = measure(seen, in_order);
    for direction in Direction::BOTH {
        let report = &reports[direction.index()];
        let trips = two_stages(seen, direction);
        let want = histogram(trips.iter().map(|&(_, rtt)| rtt));
        prop_assert!(report.rtt.slots().eq(want.slots()), "{direction:?}: {trips:?}");
        for step in 0..200 {
            let inside = trips.iter().filter(|(middle, _)| middle / 100 == step);
            let (mut n, mut sum) = (0, 0);
            inside.for_each(|(_, rtt)| (n, sum) = (n + 1, sum + rtt));
            let bin = report.rtt_series.iter().find(|bin| bin.step == step);
            prop_assert_eq!(bin.map_or(0, |bin| bin.n), n);
            let mean = bin.map_or(0, |bin| bin.mean.as_nanos());
            // If late samples fall into a bin, the mean is rounded down once per late sample.
            prop_assert!(
                n == 0 || mean.abs_diff(sum / n) <= u64::from(in_order != InOrder::Connection) * n
            );
        }
        prop_assert_eq!(report.lost, lost(seen, direction));
        prop_assert_eq!(
            report.packets_sent,
            report.packets_received + report.lost + report.in_flight
        );
        prop_assert_eq!(report.owd.count(), report.packets_received);
    }
    Ok(())
}

proptest! {
    #[test]
    fn streaming_is_two_stages_on_a_path_that_keeps_order(traffic in traffic()) {
        let seen = taps(&traffic, false);
        check(&seen, InOrder::Connection)?;
        check(&seen, InOrder::Nothing)?;
    }

    #[test]
    fn streaming_is_two_stages_where_packets_overtake(traffic in traffic()) {
        check(&taps(&traffic, true), InOrder::Nothing)?;
    }
}
