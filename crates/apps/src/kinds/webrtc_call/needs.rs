//! The needs of `webrtc_call`.

use crate::needs::{Measure, Need, Needs};
use crate::requirements;

/// The needs of `webrtc_call`. No standard states limits for the faults that people notice in a
/// picture. The limits without another source are judgements.
///
/// Van Kester et al. (2011) showed videos of 20 s with one freeze. The opinion score exceeds 3.5 if
/// the freeze takes at most 0.36 s. A call with one such freeze is good. A call with such a freeze
/// in every 20 s, which is 1.8 % of the time, is tolerable. A call with such a freeze in every
/// minute, which is 0.6 % of the time, is good by judgement. After a pause of 2 s, a conversation
/// loses its continuity (Miller 1968). The longest freeze is judged by its length. Its share of the
/// time would be smaller in a longer trial.
pub const NEEDS: &[Needs] = &[Needs::of(
    "webrtc_call",
    "voice and picture come at once and smoothly",
    &[
        Need::up_to("longest freeze", own(LONGEST_FREEZE), [360.0, 2_000.0], "ms")
            .because("the picture freezes", "van Kester et al. 2011: 0.36 s; Miller 1968: 2 s"),
        Need::up_to("further freezes", own(FURTHER_FREEZES), [0.6, 1.8], "%").because(
            "the picture freezes again and again",
            "van Kester et al. 2011: 0.36 s in 20 s; in 60 s by judgement",
        ),
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
)
.with(&requirements::CALL)];

const LONGEST_FREEZE: &[&str] = &["longest_freeze_up_ms", "longest_freeze_down_ms"];
const FURTHER_FREEZES: &[&str] = &["further_freezes_up_percent", "further_freezes_down_percent"];
const FRAME_DELAYS: &[&str] = &["frame_delay_up_p95_ms", "frame_delay_down_p95_ms"];
const LINES: &[&str] = &["picture_up_lines", "picture_down_lines"];
/// The source of both limits of the picture's height. `simulcast.cc` intends 500 kbit/s for 360
/// lines, and its smallest picture has 180 lines.
const LINES_SOURCE: &str =
    "judgement; Zoom's requirements call 600 kbit/s, which is 360 lines, high quality";
const BELOW_24: &[&str] = &["below_24_fps_up_percent", "below_24_fps_down_percent"];
const BELOW_15: &[&str] = &["below_15_fps_up_percent", "below_15_fps_down_percent"];

const fn own(measures: &'static [&'static str]) -> Measure {
    Measure::Own(measures)
}
