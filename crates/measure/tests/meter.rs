//! The meter on traffic with known results.

use aqmlab_core::{Direction, Duration, Instant};
use aqmlab_measure::{FlowReport, InOrder, Meter, Sent, Settings, Windows};

const D: Duration = Duration::from_millis(20);

fn settings() -> Settings {
    Settings {
        from: Instant::ZERO,
        to: Instant::from_millis(10_000),
        window: Duration::from_millis(1_000),
        step: Duration::from_millis(250),
        end: Instant::from_millis(10_000),
        in_order: InOrder::Connection,
        series: Some(Duration::from_millis(250)),
    }
}

/// Returns a packet of the only flow, which has one connection.
fn packet(direction: Direction, id: u64, ip_len: u32) -> Sent {
    Sent { flow: 0, conn: 0, direction, id, ip_len }
}

/// Returns a meter of one flow that is active for the whole trial.
fn meter(settings: Settings) -> Meter {
    Meter::new(settings, &[Instant::ZERO..settings.end])
}

/// Sends a packet every `gap` and answers each at once with 40 bytes. The one-way delay is `D` in
/// each direction.
fn questions(settings: Settings, gap: Duration, ip_len: u32) -> FlowReport {
    let mut meter = meter(settings);
    let mut events = Vec::new();
    let mut now = Instant::ZERO;
    for id in 0.. {
        now += gap;
        if now >= settings.end {
            break;
        }
        events.push((now, 3, id));
        events.push((now + D, 1, id));
        events.push((now + D, 2, id));
        events.push((now + D + D, 0, id));
    }
    events.sort_unstable();
    for (at, what, id) in events {
        match what {
            3 => meter.sent(packet(Direction::Down, id, ip_len), at),
            1 => meter.received(0, Direction::Down, id, ip_len, at),
            2 => meter.sent(packet(Direction::Up, id, 40), at),
            _ => meter.received(0, Direction::Up, id, 40, at),
        }
    }
    meter.finish().remove(0)
}

/// Tests statement C-89.
#[test]
fn a_fixed_delay_gives_twice_itself_from_either_side() {
    let report = questions(settings(), Duration::from_millis(10), 1_500);
    let [up, down] = &report.directions;
    // The midpoints of the last two pairs lie after the end of the statistics.
    assert_eq!(down.rtt.count(), down.packets_sent - 2);
    assert_eq!((down.rtt.min(), down.rtt.max()), (Some(D + D), Some(D + D)));
    // With the home as reference, a response is paired with a later request.
    assert_eq!((up.rtt.min(), up.rtt.max()), (Some(D + D), Some(D + D)));
    assert_eq!(down.owd.ranks().quantile(0.5), Some(D));
    assert_eq!((up.lost, down.lost), (0, 0));
    assert_eq!(down.jitter.mean, Duration::ZERO);
}

/// Tests statement C-90.
#[test]
fn ten_megabits_are_ten_megabits_in_every_full_window() {
    let report = questions(settings(), Duration::from_millis(1), 1_250);
    let down = &report.directions[Direction::Down.index()];
    let windows = Windows { step: Duration::from_millis(250), width: Duration::from_millis(1_000) };
    let (from, to) = (Instant::from_millis(1_000), Instant::from_millis(9_000));
    let series = windows.series(&down.steps, from..to);
    assert_eq!(series.len(), 29);
    assert!(series.iter().all(|sample| (sample.bps - 10e6).abs() < 1.0), "{series:?}");
    // No packet arrives in the first 20 ms and the last 20 ms of the active time.
    assert_eq!(down.active_bytes, 9_979 * 1_250);
    assert_eq!(down.windows.quantiles([0.0, 0.05, 0.95]), Some([9.79e6, 10e6, 10e6]));
}

#[test]
fn a_flow_that_ends_by_itself_counts_what_arrived_until_then_both_ways() {
    let mut meter = Meter::new(settings(), &vec![Instant::from_millis(500)..settings().end; 2]);
    for id in 0..4 {
        let at = Instant::from_millis(1_000 * id);
        for flow in [0, 1] {
            meter.received(flow, Direction::Up, id, 10, at);
            meter.received(flow, Direction::Down, id, 1_000, at);
        }
        if id == 2 {
            meter.ended(0, at);
        }
    }
    let [ended, other] = meter.finish().try_into().expect("there are two");
    let bytes = |report: &FlowReport| report.directions.each_ref().map(|one| one.active_bytes);
    assert_eq!((bytes(&ended), bytes(&other)), ([20, 2_000], [30, 3_000]));
    assert_eq!(ended.active, Instant::from_millis(500)..Instant::from_millis(2_000));
    assert_eq!(other.active, Instant::from_millis(500)..settings().end);
    assert_eq!(ended.directions.each_ref().map(|one| one.bytes_arrived), [40, 4_000]);
}

#[test]
fn only_packets_sent_within_the_interval_count() {
    let interval = Settings {
        from: Instant::from_millis(1_000),
        to: Instant::from_millis(2_000),
        ..settings()
    };
    let report = questions(interval, Duration::from_millis(100), 1_000);
    let down = &report.directions[Direction::Down.index()];
    assert_eq!((down.packets_sent, down.packets_received), (10, 10));
    assert_eq!((down.bytes_sent, down.bytes_received), (10_000, 10_000));
    assert_eq!((down.owd.count(), down.rtt.count()), (10, 10));
    assert_eq!(down.steps.len(), 40);
}

#[test]
fn a_gap_is_a_loss_and_what_follows_the_last_arrival_is_under_way() {
    for in_order in [InOrder::Connection, InOrder::Nothing] {
        let mut meter = meter(Settings { in_order, ..settings() });
        for id in 0..10 {
            meter.sent(packet(Direction::Up, id, 100), Instant::from_millis(id));
        }
        for id in [0, 1, 4, 5, 6] {
            meter.received(0, Direction::Up, id, 100, Instant::from_millis(100 + id));
        }
        let up = meter.finish().remove(0).directions[0].clone();
        assert_eq!((up.packets_received, up.lost, up.in_flight), (5, 2, 3), "{in_order:?}");
        assert!((up.loss_ratio() - 2.0 / 7.0).abs() < 1e-12);
    }
}

#[test]
fn a_packet_overtaken_is_not_lost_where_that_may_happen() {
    let mut meter = meter(Settings { in_order: InOrder::Nothing, ..settings() });
    for id in 0..4 {
        meter.sent(packet(Direction::Up, id, 100), Instant::from_millis(id));
    }
    for (id, at) in [(1, 21), (3, 23), (0, 24), (2, 25)] {
        meter.received(0, Direction::Up, id, 100, Instant::from_millis(at));
    }
    let up = meter.finish().remove(0).directions[0].clone();
    assert_eq!((up.packets_received, up.lost), (4, 0));
    assert_eq!(up.owd.max(), Some(Duration::from_millis(24)));
    // |20−20|, |24−20|, |23−24|: the differences of successive delays in milliseconds.
    assert_eq!(up.jitter.mean, Duration::from_micros(1_666) + Duration::from_nanos(666));
}

#[test]
fn where_packets_overtake_a_loss_is_given_up_in_the_end() {
    let mut meter = meter(Settings { in_order: InOrder::Nothing, ..settings() });
    let n = 30_000;
    for id in 0..n {
        let at = Instant::from_micros(id);
        meter.sent(packet(Direction::Up, id, 100), at);
        if id != 5 {
            meter.received(0, Direction::Up, id, 100, at);
        }
        if id == n - 1 {
            meter.received(0, Direction::Up, 5, 100, at);
        }
    }
    let up = meter.finish().remove(0).directions[0].clone();
    assert_eq!((up.lost, up.packets_received), (1, n - 1));
}
