//! Tests that a meter finds the same if it knows that each connection keeps its order.

use std::collections::BTreeMap;

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_measure::{InOrder, Meter, Sent, Settings};
use proptest::prelude::*;

/// A packet of random traffic: its connection, its direction, the time since the packet before it,
/// and its delay, which is `None` if the path loses it.
type Traffic = (u32, bool, u64, Option<u64>);

/// A passage at a tap: the time, whether the tap is at the receiver, and the packet.
type Passage = (u64, bool, Sent);

fn traffic() -> impl Strategy<Value = Vec<Traffic>> {
    let delay = prop::option::weighted(0.8, 1_u64..400);
    prop::collection::vec((0_u32..4, any::<bool>(), 0_u64..40, delay), 0..300)
}

/// Returns the passages in time order. The path reorders only packets of different connections.
fn passages(traffic: &[Traffic]) -> Vec<Passage> {
    let mut now = 0;
    let mut latest = BTreeMap::new();
    let mut passages = Vec::new();
    for (id, &(conn, up, gap, delay)) in traffic.iter().enumerate() {
        now += gap;
        let direction = if up { Direction::Up } else { Direction::Down };
        let packet = Sent { flow: 0, conn, direction, id: id as u64, ip_len: 100 };
        passages.push((now, false, packet));
        if let Some(delay) = delay {
            let latest = latest.entry((conn, up)).or_insert(0);
            *latest = (now + delay).max(*latest);
            passages.push((*latest, true, packet));
        }
    }
    passages.sort_by_key(|&(at, is_received, packet)| (at, is_received, packet.id));
    passages
}

fn measured(passages: &[Passage], in_order: InOrder) -> String {
    let width = Duration::from_nanos(500);
    let end = Instant::from_nanos(5_000);
    let settings = Settings {
        from: Instant::from_nanos(300),
        to: end,
        window: width,
        step: width,
        end,
        in_order,
        series: Some(width),
    };
    let mut meter = Meter::new(settings, &[Instant::ZERO..end]);
    for &(at, is_received, packet) in passages {
        let at = Instant::from_nanos(at);
        if is_received {
            meter.received(packet.flow, packet.direction, packet.id, packet.ip_len, at);
        } else {
            meter.sent(packet, at);
        }
    }
    format!("{:?}", meter.finish())
}

/// Tests the limit of 8192 later arrivals. Connection 0 ends with a loss, connection 1 loses every
/// hundredth packet, and the packets of connection 2 are slow.
#[test]
fn the_limit_of_later_arrivals_has_the_same_effect() {
    let traffic: Vec<Traffic> = (0..30_000)
        .map(|id| match id {
            0..=9 => (0, true, 1, (id < 9).then_some(5)),
            _ if id % 7 == 0 => (2, true, 1, Some(300)),
            _ => (1, true, 1, (id % 100 != 0).then_some(20)),
        })
        .collect();
    let passages = passages(&traffic);
    let found = measured(&passages, InOrder::Connection);
    assert_eq!(found, measured(&passages, InOrder::Nothing));
}

proptest! {
    #[test]
    fn the_order_of_connections_changes_no_result(traffic in traffic()) {
        let passages = passages(&traffic);
        let found = measured(&passages, InOrder::Connection);
        prop_assert_eq!(found, measured(&passages, InOrder::Nothing));
    }
}
