//! Packets that have not arrived at the end of a trial: lost or in flight.

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_measure::{DirectionReport, InOrder, Meter, Sent, Settings};

const END: Instant = Instant::from_millis(1_000);

/// Returns the report on packets of one flow, sent 1 ms apart. `conns` holds the connection of each
/// packet, and `arrive` holds the indices of the packets that arrive.
fn report(conns: &[u32], arrive: &[usize]) -> DirectionReport {
    let settings = Settings {
        from: Instant::ZERO,
        to: END,
        window: Duration::from_millis(100),
        step: Duration::from_millis(100),
        end: END,
        in_order: InOrder::Nothing,
        series: None,
    };
    let mut meter = Meter::new(settings, &[Instant::ZERO..END]);
    let direction = Direction::Up;
    for (id, &conn) in conns.iter().enumerate() {
        let packet = Sent { flow: 0, conn, direction, id: id as u64, ip_len: 100 };
        meter.sent(packet, Instant::from_millis(id as u64));
    }
    for &id in arrive {
        meter.received(0, direction, id as u64, 100, Instant::from_millis(500));
    }
    meter.finish().remove(0).directions[0].clone()
}

/// Tests that the arrival of another connection's packet does not prove a loss at the end of the
/// run. In a fair queue, packets of one connection may leave before earlier packets of another
/// connection.
#[test]
fn what_only_other_connections_have_passed_is_under_way() {
    let report = report(&[0, 0, 0, 1, 1], &[3, 4]);
    assert_eq!((report.packets_received, report.lost, report.in_flight), (2, 0, 3));
}

#[test]
fn what_its_own_connection_has_passed_is_lost() {
    let report = report(&[0, 1, 0, 1, 0, 0], &[3, 4]);
    assert_eq!((report.packets_received, report.lost, report.in_flight), (2, 3, 1));
}
