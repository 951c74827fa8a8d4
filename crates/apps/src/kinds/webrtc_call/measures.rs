//! The metrics of a direction, and the rows of its time series.

use aqmlab_core::Instant;

use super::Leg;
use crate::Io;
use crate::emodel;
use crate::quantiles::Summary;

struct Names {
    target: &'static str,
    fps: &'static str,
    slow: [&'static str; 2],
    freezes: &'static str,
    frozen: &'static str,
    longest_freeze: &'static str,
    further_freezes: &'static str,
    frame_delay: [&'static str; 4],
    video: &'static str,
    lines: &'static str,
    top: &'static str,
    key_frames: &'static str,
    retransmitted: &'static str,
    mos: &'static str,
    r: &'static str,
    late: &'static str,
    copied: &'static str,
    mouth_to_ear: &'static str,
    recent_delay: &'static str,
}

const NAMES: [Names; 2] = [
    Names {
        target: "target_up_mbit",
        fps: "rendered_up_fps",
        slow: ["below_15_fps_up_percent", "below_24_fps_up_percent"],
        freezes: "freezes_up_per_minute",
        frozen: "frozen_up_percent",
        longest_freeze: "longest_freeze_up_ms",
        further_freezes: "further_freezes_up_percent",
        frame_delay: [
            "frame_delay_up_p50_ms",
            "frame_delay_up_p95_ms",
            "frame_delay_up_p99_ms",
            "frame_delay_up_max_ms",
        ],
        video: "video_up_mbit",
        lines: "picture_up_lines",
        top: "top_picture_up_percent",
        key_frames: "key_frames_up_count",
        retransmitted: "retransmitted_up_packets",
        mos: "mos_up",
        r: "r_factor_up",
        late: "late_up_percent",
        copied: "copied_up_percent",
        mouth_to_ear: "mouth_to_ear_up_ms",
        recent_delay: "frame_delay_up_ms",
    },
    Names {
        target: "target_down_mbit",
        fps: "rendered_down_fps",
        slow: ["below_15_fps_down_percent", "below_24_fps_down_percent"],
        freezes: "freezes_down_per_minute",
        frozen: "frozen_down_percent",
        longest_freeze: "longest_freeze_down_ms",
        further_freezes: "further_freezes_down_percent",
        frame_delay: [
            "frame_delay_down_p50_ms",
            "frame_delay_down_p95_ms",
            "frame_delay_down_p99_ms",
            "frame_delay_down_max_ms",
        ],
        video: "video_down_mbit",
        lines: "picture_down_lines",
        top: "top_picture_down_percent",
        key_frames: "key_frames_down_count",
        retransmitted: "retransmitted_down_packets",
        mos: "mos_down",
        r: "r_factor_down",
        late: "late_down_percent",
        copied: "copied_down_percent",
        mouth_to_ear: "mouth_to_ear_down_ms",
        recent_delay: "frame_delay_down_ms",
    },
];

/// Adds the target rate to the time series, and the mean delay of the frames rendered since the
/// previous entry, if any.
pub(super) fn note(leg: &mut Leg, io: &mut dyn Io) {
    let names = &NAMES[leg.direction.index()];
    io.note(names.target, leg.sender.target_bps() / 1e6);
    if let Some(delay_ms) = leg.receiver.take_frame_delay_ms(io.now()) {
        io.note(names.recent_delay, delay_ms);
    }
}

/// Returns the metrics of a direction at the end of the call.
pub(super) fn of(leg: &Leg, end: Instant) -> Summary {
    let names = &NAMES[leg.direction.index()];
    let seen = leg.receiver.seen(end);
    let heard = leg.receiver.heard(leg.sender.speech_packets());
    let mut out = Summary::new();
    for (name, value) in [
        (names.target, leg.sender.mean_target_bps(end).map(|bps| bps / 1e6)),
        (names.video, leg.receiver.video_bps(end).map(|bps| bps / 1e6)),
        (names.lines, seen.lines),
        (names.top, seen.top_percent),
        (names.fps, seen.fps),
        (names.slow[0], seen.slow_percent[0]),
        (names.slow[1], seen.slow_percent[1]),
        (names.freezes, seen.freezes_per_minute),
        (names.frozen, seen.frozen_percent),
        (names.longest_freeze, Some(seen.longest_freeze_ms)),
        (names.further_freezes, seen.further_freezes_percent),
        (names.mos, heard.map(|heard| emodel::mos(heard.r))),
        (names.r, heard.map(|heard| heard.r)),
        (names.late, heard.map(|heard| 100.0 * heard.late)),
        (names.copied, heard.map(|heard| 100.0 * heard.copied)),
        (names.mouth_to_ear, heard.map(|heard| heard.delay_ms)),
        (names.key_frames, Some(leg.sender.key_frames() as f64)),
        (names.retransmitted, Some(leg.sender.retransmitted() as f64)),
    ] {
        out.extend(value.map(|value| (name, value)));
    }
    seen.delays.report(names.frame_delay, &mut out);
    out
}
