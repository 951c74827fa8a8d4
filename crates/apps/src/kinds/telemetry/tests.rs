use super::*;
use crate::testing::{Call, Net, build, close, known};

#[test]
fn any_rate_is_cut_into_messages_by_the_rule() {
    for (bps, message, interval_us) in [
        (2_000, 100, 400_000),
        (100_000, 100, 8_000),
        (800, 100, 1_000_000),
        (799, 98, 981_226),
        (16, 2, 1_000_000),
        (2, 2, 8_000_000),
        (1_536_000, 100, 520),
    ] {
        let (bytes, interval) = pace(bps);
        assert_eq!((bytes, interval.as_micros()), (message, interval_us), "{bps} bit/s");
    }
}

#[test]
fn sensors_have_the_ip_rates_of_the_table() {
    // A packet of 152 bytes with TCP timestamps gives 3.04 and 152 kbit/s.
    for (kind, kbit) in [("iot_low", 3.04), ("iot_high", 152.0)] {
        let mut net = Net::new(1);
        // The test network sends each write at once, as TCP does without Nagle's algorithm.
        let summary = net.run_secs(&mut *build(kind, &[]), 100);
        close(net.ip_bytes[0] as f64 * 8.0 / 1e5, kbit, kbit * 0.01);
        close(known(&summary, "completeness_percent"), 100.0, 0.0);
        close(
            known(&summary, "delivered_kbit"),
            known(&summary, "offered_kbit"),
            0.01 * known(&summary, "offered_kbit"),
        );
        close(known(&summary, "delivery_p50_ms"), 20.12, 0.01);
    }
}

#[test]
fn nagle_and_delayed_acknowledgements_are_off_unless_asked_for() {
    for (flags, nodelay, quickack) in [
        (vec![], true, true),
        (vec![("nodelay", Value::Flag(false)), ("quickack", Value::Flag(false))], false, false),
    ] {
        let mut net = Net::new(1);
        net.run_secs(&mut *build("iot_high", &flags), 1);
        let want = Open { nodelay, quickack, ..Open::tcp(Side::Home) };
        assert_eq!(net.calls[0].1, Call::Open(want));
    }
}

#[test]
fn a_blocked_write_blocks_the_schedule() {
    // Messages of 100 kbit/s on a link of 50 kbit/s: the send buffer fills, and then writes
    // block.
    let mut net = Net::new(1).with_rate(50_000);
    let summary = net.run_secs(&mut *build("iot_high", &[]), 60);
    let sent = known(&summary, "sent_messages");
    assert!(sent < 60.0 * 125.0 * 0.75, "{sent} messages were not held back");
    assert!(known(&summary, "blocked_s") > 10.0);
    close(known(&summary, "completeness_percent"), 100.0, 0.2);
}
