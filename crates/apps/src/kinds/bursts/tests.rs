use super::*;
use crate::testing::{Call, Net, build, close, known};

fn starts(net: &Net) -> Vec<f64> {
    net.calls
        .iter()
        .filter(|(_, call)| matches!(call, Call::Open(_)))
        .map(|(at, _)| at.as_secs_f64())
        .collect()
}

#[test]
fn web_bursts_come_at_their_times_and_last_a_second() {
    let changes = [("first", ms(5_000)), ("count", Value::Count(4))];
    let mut net = Net::new(1).with_delay(Duration::from_millis(5));
    let summary = net.run_secs(&mut *build("bursts", &changes), 100);
    assert_eq!(starts(&net), [5.0, 20.0, 35.0, 50.0]);
    close(net.ip_bytes[1] as f64 * 8.0 / 1e6, 40.0, 2.0);
    close(known(&summary, "completed_transfers"), 4.0, 0.0);
}

#[test]
fn transfers_that_take_too_long_are_late() {
    for (bps, late) in [(10_000_000, 0.0), (150_000, 100.0)] {
        let mut net = Net::new(1).with_rate(bps);
        let summary = net.run_secs(&mut *build("notification", &[]), 200);
        close(known(&summary, "begun_transfers"), 4.0, 0.0);
        close(known(&summary, "late_percent"), late, 0.0);
    }
    let mut net = Net::new(1).with_rate(1_000_000);
    let summary = net.run_secs(&mut *build("photo_upload", &[]), 50);
    close(known(&summary, "completion_p50_ms"), 16_700.0, 300.0);
    assert!(net.ip_bytes[0] > 2_000_000, "an upload");
}
