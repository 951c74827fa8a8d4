//! Tests of the whole call on the network of `testing`, whose FIFO has no limit.

use aqmlab_core::{Duration, Instant, Value};

use crate::params::rate;
use crate::quantiles::Summary;
use crate::testing::{Call, Net, build, close, known, value};

fn call(net: &mut Net, changes: &[(&str, Value)], seconds: u64) -> Summary {
    net.run_secs(&mut *build("webrtc_call", changes), seconds)
}

/// Returns the values of a time series, one for each second.
fn noted(net: &Net, metric: &str) -> Vec<f64> {
    let note = |(_, call): &(Instant, Call)| match call {
        Call::Note(name, value) if *name == metric => Some(*value),
        _ => None,
    };
    net.calls.iter().filter_map(note).collect()
}

#[test]
fn with_room_the_picture_is_the_largest_and_nothing_is_amiss() {
    let summary = call(&mut Net::new(1), &[], 60);
    for way in ["up", "down"] {
        let of = |name: &str| known(&summary, &name.replace("WAY", way));
        close(of("video_WAY_mbit"), 2.5, 0.05);
        close(of("rendered_WAY_fps"), 30.0, 0.1);
        // The picture has 360 lines for 2 s, and then 540 lines for 2 s.
        close(of("top_picture_WAY_percent"), 100.0 * 56.0 / 60.0, 0.5);
        for name in ["below_15_fps_WAY_percent", "below_24_fps_WAY_percent", "frozen_WAY_percent"] {
            close(of(name), 0.0, 0.0);
        }
        // The path takes 20 ms and the frames themselves take 11 ms. The de-jitter buffer adds 21
        // ms, and the time by which a key frame takes longer.
        assert!((52.0..80.0).contains(&of("frame_delay_WAY_p50_ms")));
        assert!(of("frame_delay_WAY_p95_ms") < 80.0);
        assert!(of("mos_WAY") > 4.3);
        close(of("key_frames_WAY_count"), 3.0, 0.0);
    }
}

#[test]
fn without_probes_the_start_takes_as_long_as_8_percent_a_second_take() {
    let mut net = Net::new(1);
    let mbit = |bps| rate(bps);
    let changes = [("probing", Value::Flag(false)), ("start_rate", mbit(1_000_000))];
    call(&mut net, &changes, 40);
    let targets = noted(&net, "target_up_mbit");
    let second = |least: f64| targets.iter().position(|&mbit| mbit >= least).unwrap() as f64;
    // The expected time from 1.2 to 2.4 Mbit/s is ln 2 / ln 1.08 = 9.0 s.
    close(second(2.4) - second(1.2), 9.0, 1.1);
    let mut probed = Net::new(1);
    call(&mut probed, &[("start_rate", mbit(1_000_000))], 40);
    assert!(noted(&probed, "target_up_mbit")[1] > 2.7, "probes find the room at once");
}

#[test]
fn on_a_line_of_1_mbit_the_rate_stays_below_the_capacity() {
    let mut net = Net::new(1).with_rate(1_000_000);
    let summary = call(&mut net, &[], 120);
    for way in ["up", "down"] {
        let of = |name: &str| known(&summary, &name.replace("WAY", way));
        assert!((0.6..0.95).contains(&of("video_WAY_mbit")));
        assert!(of("frame_delay_WAY_p95_ms") < 200.0, "{}", of("frame_delay_WAY_p95_ms"));
        close(of("rendered_WAY_fps"), 30.0, 0.5);
    }
    let late = &noted(&net, "target_up_mbit")[20..];
    assert!(late.iter().all(|mbit| (0.6..1.1).contains(mbit)), "{late:?}");
}

#[test]
fn loss_of_5_percent_is_repaired_and_does_not_lower_the_rate() {
    let mut net = Net::new(1).with_loss(0.05);
    let summary = call(&mut net, &[], 60);
    for way in ["up", "down"] {
        let of = |name: &str| known(&summary, &name.replace("WAY", way));
        close(of("rendered_WAY_fps"), 30.0, 0.5);
        assert!(of("frozen_WAY_percent") < 1.0);
        assert!(of("retransmitted_WAY_packets") > 300.0);
        // Copies replace the packets whose successor arrives: 0.05 · 0.95.
        close(of("copied_WAY_percent"), 4.75, 1.0);
        assert!(of("mos_WAY") > 4.2, "{}", of("mos_WAY"));
    }
    let targets = &noted(&net, "target_up_mbit")[10..];
    assert!(targets.iter().all(|&mbit| mbit > 2.0), "{targets:?}");
}

/// Tests that a loss of a fifth lowers the rate to a quarter. Such a loss leaves no preference for
/// a higher rate (`LossThresholdOfHighBandwidthPreference` of 0.2), and the estimate follows the
/// arrival rate down.
#[test]
fn loss_of_20_percent_lowers_the_rate_to_a_quarter() {
    let mut net = Net::new(1).with_loss(0.2);
    call(&mut net, &[], 60);
    let late = &noted(&net, "target_up_mbit")[20..];
    assert!(late.iter().all(|&mbit| mbit < 0.7), "{late:?}");
}

#[test]
fn a_line_that_halves_is_followed_within_seconds() {
    let half = |net: &mut Net| {
        net.rate = aqmlab_core::BitRate::new(1_000_000).unwrap();
    };
    let mut net = Net::new(1).with_rate(2_000_000).then(Duration::from_secs(40), half);
    let summary = call(&mut net, &[], 80);
    let targets = noted(&net, "target_up_mbit");
    assert!(targets[38] > 1.4, "{targets:?}");
    assert!(targets[45..].iter().all(|&mbit| mbit < 1.1), "{targets:?}");
    let delays = noted(&net, "frame_delay_up_ms");
    assert!(delays[60..].iter().all(|&ms| ms < 400.0), "{delays:?}");
    assert!(known(&summary, "frozen_up_percent") < 2.0);
}

#[test]
fn a_line_that_dies_freezes_the_picture_and_quiets_the_sender() {
    let die = |net: &mut Net| net.loss = 1.0;
    let mut net = Net::new(1).then(Duration::from_secs(20), die);
    let summary = call(&mut net, &[], 60);
    close(known(&summary, "frozen_up_percent"), 100.0 * 40.0 / 60.0, 0.5);
    let targets = noted(&net, "target_up_mbit");
    let least = (30e3 + 8.0 * 15.0 * 58.0 + 55_200.0) / 1e6;
    close(*targets.last().unwrap(), least, 1e-6);
    // The target falls by a factor of 0.8 per second, from 3 s after the last report on.
    close(targets[27] / targets[24], 0.8_f64.powi(3), 0.01);
    assert!(known(&summary, "mos_up") < 4.4);
}

#[test]
fn a_dead_line_gives_a_frozen_call_and_no_numbers_of_frames() {
    let summary = call(&mut Net::new(1).with_loss(1.0), &[], 30);
    close(known(&summary, "frozen_down_percent"), 100.0, 0.0);
    close(known(&summary, "below_15_fps_down_percent"), 100.0, 0.0);
    assert_eq!(value(&summary, "frame_delay_down_p50_ms"), None);
    assert!(known(&summary, "mos_down") < 1.5);
}

#[test]
fn one_direction_sends_media_one_way_and_reports_the_other() {
    let up = ("direction", Value::Word("up", &[]));
    let mut net = Net::new(1);
    let summary = call(&mut net, &[up], 30);
    assert_eq!(value(&summary, "rendered_down_fps"), None);
    close(known(&summary, "rendered_up_fps"), 30.0, 0.2);
    // There is a report every 100 ms, with 70 to 90 bytes including headers.
    assert!((250..=320).contains(&net.packets[1]), "{:?}", net.packets);
    assert!(net.ip_bytes[1] < 30 * 10 * 110, "{:?}", net.ip_bytes);
}

#[test]
fn the_largest_picture_follows_the_highest_rate() {
    for (bps, lines) in [(4_000_000, 1_080.0), (1_200_000, 540.0), (200_000, 180.0)] {
        let summary = call(&mut Net::new(1), &[("max_rate", rate(bps))], 80);
        assert!(known(&summary, "top_picture_up_percent") > 90.0, "{bps}");
        close(known(&summary, "picture_up_lines"), lines, 0.1 * lines);
        close(known(&summary, "video_up_mbit"), bps as f64 / 1e6, 0.05 * bps as f64 / 1e6);
    }
}

#[test]
fn the_larger_of_video_and_audio_datagrams_is_declared() {
    for (params, set_by) in [
        (vec![("payload", crate::params::bytes(1_200))], "payload"),
        (vec![("payload", crate::params::bytes(384)), ("audio_rate", rate(220_000))], "audio_rate"),
    ] {
        let app = build("webrtc_call", &params);
        assert_eq!(app.datagram().unwrap().set_by, set_by);
    }
}

#[test]
fn datagrams_fit_what_the_call_declares() {
    for payload in [100, 500, 1_200, 1_400] {
        let mut app = build("webrtc_call", &[("payload", crate::params::bytes(payload))]);
        let most = app.datagram().unwrap().bytes;
        let mut net = Net::new(3).with_loss(0.1).with_rate(2_000_000);
        net.run_secs(&mut *app, 20);
        let sizes = net.calls.iter().filter_map(|(_, call)| match call {
            Call::Send(_, _, payload, _) => Some(*payload),
            _ => None,
        });
        assert!(sizes.max().unwrap() <= most, "{payload}");
    }
}
