//! The parameters, with the names of the program's settings in parentheses.
//!
//! Source: `defaults.sh`, and the checks in `cake-autorate.sh`.

use aqmlab_core::{Args, Bounds, Duration, Param, Value};

use crate::Misfit;
use crate::autorate::{Factors, Range, Settings, Thresholds};
use crate::params::{ms, rate};

/// The data of an echo request of `fping`, in bytes.
pub(super) const PAYLOAD: u32 = 56;

const SHAPER: Bounds = Bounds::Whole(1_000, 100_000_000_000);
const DELAY: Bounds = Bounds::span(Duration::from_micros(1), Duration::from_secs(10));
const PAUSE: Bounds = Bounds::span(Duration::ZERO, Duration::from_secs(3_600));
const FALL: Bounds = Bounds::Real(0.1, 1.0);
const RISE: Bounds = Bounds::Real(1.0, 10.0);
const WEIGHT: Bounds = Bounds::Real(0.0, 1.0);

const fn param(name: &'static str, default: Value, bounds: Bounds, doc: &'static str) -> Param {
    Param { name, default, bounds, doc }
}

const fn flag(name: &'static str, default: bool, doc: &'static str) -> Param {
    param(name, Value::Flag(default), Bounds::Any, doc)
}

const fn mbit(name: &'static str, mbit: u64, doc: &'static str) -> Param {
    param(name, rate(mbit * 1_000_000), SHAPER, doc)
}

const fn delay(name: &'static str, default_ms: u64, doc: &'static str) -> Param {
    param(name, ms(default_ms), DELAY, doc)
}

const fn number(name: &'static str, default: f64, bounds: Bounds, doc: &'static str) -> Param {
    param(name, Value::Number(default), bounds, doc)
}

const fn count(name: &'static str, default: u64, most: u64, doc: &'static str) -> Param {
    param(name, Value::Count(default), Bounds::Whole(1, most), doc)
}

pub(super) const PARAMS: &[Param] = &[
    mbit("min_down", 5, "Lowest downstream rate (min_dl_shaper_rate_kbps)."),
    mbit(
        "base_down",
        20,
        "Downstream rate at the start and of an idle line (base_dl_shaper_rate_kbps).",
    ),
    mbit("max_down", 80, "Highest downstream rate (max_dl_shaper_rate_kbps)."),
    mbit("min_up", 5, "Lowest upstream rate (min_ul_shaper_rate_kbps)."),
    mbit(
        "base_up",
        20,
        "Upstream rate at the start and of an idle line (base_ul_shaper_rate_kbps).",
    ),
    mbit("max_up", 35, "Highest upstream rate (max_ul_shaper_rate_kbps)."),
    flag("adjust_down", true, "Whether the downstream rate changes (adjust_dl_shaper_rate)."),
    flag("adjust_up", true, "Whether the upstream rate changes (adjust_ul_shaper_rate)."),
    delay(
        "delay_down",
        30,
        "Increase of the one-way delay, beyond the transmission time of a full packet, above which a reply counts as delayed, for the downstream rate (dl_owd_delta_delay_thr_ms).",
    ),
    delay(
        "delay_up",
        30,
        "Increase of the one-way delay, beyond the transmission time of a full packet, above which a reply counts as delayed, for the upstream rate (ul_owd_delta_delay_thr_ms).",
    ),
    delay(
        "full_rise_down",
        10,
        "Average increase up to which the downstream rate rises by `max_rise` (dl_avg_owd_delta_max_adjust_up_thr_ms).",
    ),
    delay(
        "full_rise_up",
        10,
        "Average increase up to which the upstream rate rises by `max_rise` (ul_avg_owd_delta_max_adjust_up_thr_ms).",
    ),
    delay(
        "full_cut_down",
        60,
        "Average increase from which the downstream rate falls by `max_cut` (dl_avg_owd_delta_max_adjust_down_thr_ms).",
    ),
    delay(
        "full_cut_up",
        60,
        "Average increase from which the upstream rate falls by `max_cut` (ul_avg_owd_delta_max_adjust_down_thr_ms).",
    ),
    count("pingers", 6, 50, "Reflectors that are asked in turn (no_pingers)."),
    count("reflectors", 30, 1_000, "All reflectors; those that fail are replaced (reflectors)."),
    param(
        "ping_interval",
        ms(300),
        Bounds::span(Duration::from_millis(100), Duration::from_secs(60)),
        "Time between requests to one reflector (reflector_ping_interval_s).",
    ),
    count(
        "window",
        6,
        1_000,
        "Latest replies from which delays are detected (bufferbloat_detection_window).",
    ),
    count(
        "detection",
        3,
        1_000,
        "Delayed replies in the window from which a rate falls (bufferbloat_detection_thr).",
    ),
    number(
        "high_load",
        0.75,
        Bounds::Real(0.01, 1.0),
        "Load above which a rate may rise, as a share of the rate (high_load_thr).",
    ),
    number(
        "min_cut",
        0.99,
        FALL,
        "Factor of the smallest fall after delays (shaper_rate_min_adjust_down_bufferbloat).",
    ),
    number(
        "max_cut",
        0.75,
        FALL,
        "Factor of the largest fall after delays (shaper_rate_max_adjust_down_bufferbloat).",
    ),
    number(
        "min_rise",
        1.0,
        RISE,
        "Factor of the smallest rise under high load (shaper_rate_min_adjust_up_load_high).",
    ),
    number(
        "max_rise",
        1.04,
        RISE,
        "Factor of the largest rise under high load (shaper_rate_max_adjust_up_load_high).",
    ),
    number(
        "decay_down",
        0.99,
        FALL,
        "Factor of a step down to the base rate (shaper_rate_adjust_down_load_low).",
    ),
    number(
        "decay_up",
        1.01,
        RISE,
        "Factor of a step up to the base rate (shaper_rate_adjust_up_load_low).",
    ),
    param(
        "cut_pause",
        ms(300),
        PAUSE,
        "Time after a fall without another fall or rise (bufferbloat_refractory_period_ms).",
    ),
    param(
        "decay_pause",
        ms(1_000),
        PAUSE,
        "Time between steps to the base rate (decay_refractory_period_ms).",
    ),
    number(
        "baseline_rise",
        0.001,
        WEIGHT,
        "Weight of a larger delay in the baseline (alpha_baseline_increase).",
    ),
    number(
        "baseline_fall",
        0.9,
        WEIGHT,
        "Weight of a smaller delay in the baseline (alpha_baseline_decrease).",
    ),
    number(
        "delta_weight",
        0.095,
        WEIGHT,
        "Weight of a reply in a reflector's average increase (alpha_delta_ewma).",
    ),
    flag("sleep", true, "Whether requests stop while the line is idle (enable_sleep_function)."),
    mbit("active_rate", 2, "Rate up to which a direction is idle (connection_active_thr_kbps)."),
    param(
        "sleep_after",
        ms(60_000),
        PAUSE,
        "Idle time after which requests stop (sustained_idle_sleep_thr_s).",
    ),
    flag(
        "enforce_min",
        false,
        "Whether the rates fall to the lowest rates when requests stop on an idle line, and after 10 s without replies in a stall (min_shaper_rates_enforcement).",
    ),
];

/// Returns the settings, and the parameter that contradicts another, if there is one. Contradictory
/// settings are changed to possible ones.
pub(super) fn settings(args: &Args) -> (Settings, Option<Misfit>) {
    let mut settings = stated(args);
    let misfit = misfit(&settings);
    for range in &mut settings.rates {
        range.base = range.base.max(range.min);
        range.max = range.max.max(range.base);
    }
    settings.reflectors = settings.reflectors.max(settings.pingers);
    settings.detection = settings.detection.min(settings.window);
    (settings, misfit)
}

/// Returns the settings as they are stated.
fn stated(args: &Args) -> Settings {
    let kbit = |name: &str| (args.rate(name).as_bps() / 1_000) as i64;
    let micros = |name: &str| args.duration(name).as_micros() as i64;
    let scaled = |name: &str, scale: f64| (args.number(name) * scale).round() as i64;
    let range =
        |[min, base, max]: [&str; 3]| Range { min: kbit(min), base: kbit(base), max: kbit(max) };
    let thresholds = |[delay, rise, cut]: [&str; 3]| Thresholds {
        delay: micros(delay),
        full_rise: micros(rise),
        full_cut: micros(cut),
    };
    Settings {
        rates: [["min_up", "base_up", "max_up"], ["min_down", "base_down", "max_down"]].map(range),
        adjusts: [args.flag("adjust_up"), args.flag("adjust_down")],
        thresholds: [
            ["delay_up", "full_rise_up", "full_cut_up"],
            ["delay_down", "full_rise_down", "full_cut_down"],
        ]
        .map(thresholds),
        pingers: args.count("pingers") as usize,
        reflectors: args.count("reflectors") as usize,
        ping_interval: micros("ping_interval"),
        window: args.count("window") as usize,
        detection: args.count("detection") as usize,
        high_load: scaled("high_load", 1e2),
        factors: Factors {
            least_cut: scaled("min_cut", 1e3),
            most_cut: scaled("max_cut", 1e3),
            least_rise: scaled("min_rise", 1e3),
            most_rise: scaled("max_rise", 1e3),
            decay_down: scaled("decay_down", 1e3),
            decay_up: scaled("decay_up", 1e3),
        },
        cut_pause: micros("cut_pause"),
        decay_pause: micros("decay_pause"),
        baseline_rise: scaled("baseline_rise", 1e6),
        baseline_fall: scaled("baseline_fall", 1e6),
        delta_weight: scaled("delta_weight", 1e6),
        sleeps: args.flag("sleep"),
        active_rate: kbit("active_rate"),
        sleep_after: micros("sleep_after"),
        enforces_min: args.flag("enforce_min"),
        ..Settings::default()
    }
}

/// Returns the first contradiction that the program refuses to start with.
fn misfit(settings: &Settings) -> Option<Misfit> {
    let mut wrong = Vec::new();
    for (range, [min, base, max], active) in [
        (settings.rates[1], ["min_down", "base_down", "max_down"], settings.active_rate),
        (settings.rates[0], ["min_up", "base_up", "max_up"], settings.active_rate),
    ] {
        let said = |least: &str, kbit: i64| {
            format!("above `{least}`, {kbit} kbit/s: `{min}` ≤ `{base}` ≤ `{max}`")
        };
        wrong.push((range.min > range.base, min, said(base, range.base)));
        wrong.push((range.base > range.max, base, said(max, range.max)));
        let problem = format!("above `{min}`, {} kbit/s, which would count as idle", range.min);
        wrong.push((active > range.min, "active_rate", problem));
    }
    let Settings { pingers, reflectors, window, detection, .. } = *settings;
    wrong.push((
        pingers > reflectors,
        "pingers",
        format!("more than the {reflectors} `reflectors`"),
    ));
    wrong.push((
        detection > window,
        "detection",
        format!("more than the {window} of the `window`"),
    ));
    let first = wrong.into_iter().find(|(is_wrong, ..)| *is_wrong);
    first.map(|(_, set_by, problem)| Misfit { set_by, problem })
}
