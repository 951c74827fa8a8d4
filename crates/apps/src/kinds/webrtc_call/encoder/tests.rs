use super::*;
use crate::testing::close;

const CAMERA: Camera = Camera { fps: 30.0, most_bps: 2.5e6, least_bps: 30e3, variation: 0.25 };

fn frames(encoder: &mut Encoder, bps: f64, ticks: u64, rng: &mut Rng) -> Vec<Frame> {
    let from = encoder.ticks;
    let tick = |n| {
        let now = Instant::from_micros(33_333 * n);
        encoder.tick(bps, Picture::Encoded, now, rng)
    };
    (from..from + ticks).filter_map(tick).collect()
}

#[test]
fn frames_have_the_rate_and_begin_with_a_key_frame() {
    let (mut encoder, mut rng) = (Encoder::new(CAMERA, 1e6), Rng::stream(1, "camera"));
    let all = frames(&mut encoder, 1e6, 3_001, &mut rng);
    assert!(all[0].is_key && all.iter().filter(|frame| frame.is_key).count() == 1);
    let mean = 1e6 / 8.0 / 30.0;
    assert!((4.0 * mean..6.0 * mean + 1.0).contains(&f64::from(all[0].bytes)));
    let bytes: f64 = all[1..].iter().map(|frame| f64::from(frame.bytes)).sum();
    close(bytes / 3_000.0 / mean, 1.0, 0.02);
    let square = |frame: &Frame| (f64::from(frame.bytes) / mean - 1.0).powi(2);
    close((all[1..].iter().map(square).sum::<f64>() / 3_000.0).sqrt(), 0.25, 0.02);
}

/// Tests that the rate changes the picture's height by one step at a time
/// (`encoder_info_settings.cc`, `GetDefaultSinglecastBitrateLimits`; `quality_scaler.cc`,
/// `kMeasureMs` and `kSamplePeriodScaleFactor`).
#[test]
fn the_picture_follows_the_rate_a_step_at_a_time() {
    let mut rng = Rng::stream(1, "camera");
    let mut encoder = Encoder::new(CAMERA, 245e3);
    for (kbit, seconds, lines) in [
        (245.0, 9, 360),
        (499.0, 3, 360),
        (501.0, 3, 540),
        (899.0, 3, 540),
        (901.0, 3, 720),
        (2_500.0, 3, 720),
        (599.0, 3, 540),
        (349.0, 6, 360),
        (149.0, 12, 180),
        (199.0, 12, 180),
        (201.0, 12, 270),
        (2_500.0, 30, 720),
    ] {
        let all = frames(&mut encoder, kbit * 1e3, 30 * seconds, &mut rng);
        assert_eq!(all.last().unwrap().lines, lines, "{kbit} kbit/s");
    }
    assert_eq!(encoder.top_lines(), 720);
    let large = Camera { most_bps: 4e6, ..CAMERA };
    assert_eq!(Encoder::new(large, 300e3).top_lines(), 1_080);
}

#[test]
fn low_rates_halve_the_frame_rate_and_a_long_queue_leaves_frames_out() {
    let mut rng = Rng::stream(1, "camera");
    let mut encoder = Encoder::new(CAMERA, 249e3);
    assert_eq!(frames(&mut encoder, 249e3, 30, &mut rng).len(), 15);
    assert_eq!(frames(&mut encoder, 270e3, 31, &mut rng).len(), 16, "margin");
    assert_eq!(frames(&mut encoder, 280e3, 30, &mut rng).len(), 29, "after one frame");
    assert_eq!(encoder.next(280e3, LONGEST_QUEUE, 0.0), Picture::Encoded);
    let long = LONGEST_QUEUE + Duration::from_nanos(1);
    assert_eq!(encoder.next(280e3, long, 0.0), Picture::LeftOut);
    assert_eq!(encoder.tick(280e3, Picture::LeftOut, Instant::ZERO, &mut rng), None);
}

/// Tests statement C-141 (`video_stream_encoder.cc`, `UpdateTargetBitrate`).
#[test]
fn an_excess_leaves_out_its_share_of_the_frames_and_at_most_a_half() {
    for (excess, want) in [(0.0, 0), (0.01, 0), (0.1, 6), (0.34, 30), (0.9, 30)] {
        let mut encoder = Encoder::new(CAMERA, 1e6);
        let next = |_: &u64| encoder.next(1e6, Duration::ZERO, excess) == Picture::LeftOut;
        assert_eq!((0..60).filter(next).count(), want, "{excess}");
    }
    let mut slow = Encoder::new(CAMERA, 30e3);
    assert_eq!(slow.next(30e3, Duration::ZERO, 0.9), Picture::Encoded, "the least rate");
}

#[test]
fn requests_for_key_frames_are_honoured_300_ms_apart() {
    let mut rng = Rng::stream(1, "camera");
    let mut encoder = Encoder::new(CAMERA, 1e6);
    let at = Instant::from_millis;
    let mut key = |asked: u64, ms: u64| {
        encoder.request_key(at(asked));
        encoder.tick(1e6, Picture::Encoded, at(ms), &mut rng).unwrap().is_key
    };
    assert!(key(0, 0));
    assert!(!key(290, 300), "290 ms after the first");
    assert!(key(310, 333));
}

#[test]
fn frames_left_out_do_not_change_the_sizes_of_others() {
    let sizes = |skip: u64| {
        let (mut encoder, mut rng) = (Encoder::new(CAMERA, 1e6), Rng::stream(1, "camera"));
        let mut tick = |n: u64| {
            let picture = if n == skip { Picture::LeftOut } else { Picture::Encoded };
            encoder.tick(1e6, picture, Instant::from_millis(33 * n), &mut rng)
        };
        (0..20).map(|n| tick(n).map(|frame| frame.bytes)).collect::<Vec<_>>()
    };
    let (all, some) = (sizes(99), sizes(5));
    assert_eq!(some[5], None);
    assert_eq!(some[6..], all[6..]);
}
