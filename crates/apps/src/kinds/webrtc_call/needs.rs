//! The needs of a call.

use crate::needs::{Measure, Need, Needs};

/// These limits are judgements, except for speech, because no standard has limits for what people
/// notice in a picture.
pub const NEEDS: &[Needs] = &[Needs::of(
    "webrtc_call",
    "voice and picture come at once and smoothly",
    &[
        Need::up_to("frozen", own(&["frozen_up_percent", "frozen_down_percent"]), [0.0, 1.0], "%")
            .because("the picture freezes", "judgement; W3C webrtc-stats defines a freeze"),
        Need::from("opinion score", own(&["mos_up", "mos_down"]), [4.5, 4.0, 3.6], "")
            .because("voices break up or come late", "G.107 Annex B"),
        Need::up_to("frame delay", own(FRAME_DELAYS), [150.0, 400.0], "ms")
            .because("people talk over each other", "G.114 §4"),
        Need::up_to("seconds below 24 frames", own(BELOW_24), [5.0, 100.0], "%")
            .because("the picture stutters", "judgement"),
        Need::up_to("seconds below 15 frames", own(BELOW_15), [10.0, 10.0], "%")
            .because("the picture is a row of stills", "judgement"),
        Need {
            at_most: Some("offered_lines"),
            ..Need::from("picture", own(LINES), [720.0, 360.0, 180.0], "lines")
                .because("the picture is blurred", LINES_SOURCE)
        },
    ],
)];

const FRAME_DELAYS: &[&str] = &["frame_delay_up_p95_ms", "frame_delay_down_p95_ms"];
const LINES: &[&str] = &["picture_up_lines", "picture_down_lines"];
/// The rates are those at which `simulcast.cc` intends 360 lines, and the smallest picture.
const LINES_SOURCE: &str =
    "judgement; Zoom's requirements call 600 kbit/s, which is 360 lines, high quality";
const BELOW_24: &[&str] = &["below_24_fps_up_percent", "below_24_fps_down_percent"];
const BELOW_15: &[&str] = &["below_15_fps_up_percent", "below_15_fps_down_percent"];

const fn own(measures: &'static [&'static str]) -> Measure {
    Measure::Own(measures)
}
