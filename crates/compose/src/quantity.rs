//! Parses the quantities of scenarios into exact base units. The spellings are those of
//! `aqmlab.scenario.quantities`.

use aqmlab_core::{BitRate, Bytes, Duration};
use aqmlab_trial::SpecError;

use crate::scenario::Plain;

/// The largest quantity in base units, as in `aqmlab.scenario.number_text`.
const LARGEST: u128 = 1_000_000_000_000_000_000;

const DURATIONS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATES: &[(&str, u64)] =
    &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Parses a duration; zero needs no unit.
pub(crate) fn duration(at: &str, value: &Plain) -> Result<Duration, SpecError> {
    if is_zero(value) {
        return Ok(Duration::ZERO);
    }
    base_units(at, value, DURATIONS, "duration", "40 ms").map(Duration::from_nanos)
}

/// Parses a duration; `false`, "off", "none" and "never" give `None`.
pub(crate) fn duration_or_off(at: &str, value: &Plain) -> Result<Option<Duration>, SpecError> {
    match value {
        Plain::Flag(false) => Ok(None),
        Plain::Text(text) if matches!(text.trim(), "off" | "none" | "never") => Ok(None),
        _ => duration(at, value).map(Some),
    }
}

/// Parses a rate above zero.
pub(crate) fn rate(at: &str, value: &Plain) -> Result<BitRate, SpecError> {
    let bps = base_units(at, value, RATES, "rate", "12 Mbit/s")?;
    BitRate::new(bps).ok_or_else(|| SpecError::new(at, "a rate of zero never drains a queue"))
}

/// Parses a rate above zero; `false`, "off", "none" and "never" give `None`.
pub(crate) fn rate_or_off(at: &str, value: &Plain) -> Result<Option<BitRate>, SpecError> {
    match value {
        Plain::Flag(false) => Ok(None),
        Plain::Text(text) if matches!(text.trim(), "off" | "none" | "never") => Ok(None),
        _ => rate(at, value).map(Some),
    }
}

/// Parses a size; zero needs no unit.
pub(crate) fn size(at: &str, value: &Plain) -> Result<Bytes, SpecError> {
    if is_zero(value) {
        return Ok(Bytes(0));
    }
    base_units(at, value, SIZES, "size", "300 kB").map(Bytes)
}

/// The nouns that may follow a count, as in scenarios.
const NOUNS: &[&str] = &[
    "packet",
    "packets",
    "pkt",
    "pkts",
    "p",
    "flow",
    "flows",
    "segment",
    "segments",
    "queue",
    "queues",
    "object",
    "objects",
    "player",
    "players",
    "request",
    "requests",
    "connection",
    "connections",
    "client",
    "clients",
    "band",
    "bands",
    "bucket",
    "buckets",
    "message",
    "messages",
    "sample",
    "samples",
];

/// Parses a count, with or without a noun, such as "490 packets".
pub(crate) fn count(at: &str, value: &Plain) -> Result<u64, SpecError> {
    let wrong = || wrong(at, value, "count", "490");
    match value {
        Plain::Whole(count) => u64::try_from(*count).map_err(|_| wrong()),
        Plain::Real(count) if count.fract() == 0.0 && *count >= 0.0 => Ok(*count as u64),
        Plain::Text(text) => {
            let (number, noun) = split(text).ok_or_else(wrong)?;
            let is_noun = noun.is_empty() || NOUNS.contains(&noun.to_lowercase().as_str());
            if is_noun { number.parse().map_err(|_| wrong()) } else { Err(wrong()) }
        }
        _ => Err(wrong()),
    }
}

/// Parses a number or a percentage, which is divided by 100.
pub(crate) fn number(at: &str, value: &Plain) -> Result<f64, SpecError> {
    let wrong = || wrong(at, value, "number", "5 %");
    match value {
        Plain::Whole(number) => Ok(*number as f64),
        Plain::Real(number) => Ok(*number),
        Plain::Text(text) => match split(text).ok_or_else(wrong)? {
            (number, "") => number.parse().map_err(|_| wrong()),
            (number, "%") => hundredth(number).parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        },
        Plain::Flag(_) => Err(wrong()),
    }
}

/// Parses a switch: a flag, or one of the words "true", "on", "yes", "false", "off" and "no".
pub(crate) fn flag(at: &str, value: &Plain) -> Result<bool, SpecError> {
    match value {
        Plain::Flag(flag) => Ok(*flag),
        Plain::Text(text) if matches!(text.as_str(), "true" | "on" | "yes") => Ok(true),
        Plain::Text(text) if matches!(text.as_str(), "false" | "off" | "no") => Ok(false),
        _ => Err(wrong(at, value, "switch", "true")),
    }
}

/// Returns the two rates of a pair such as "12/1 Mbit/s" or "90/95 %", down before up, each with
/// its unit. For a single rate, returns the whole text twice.
pub(crate) fn pair(text: &str) -> (String, String) {
    let Some((down, up)) = text.split_once('/').filter(|(down, _)| split(down).is_some()) else {
        return (text.to_owned(), text.to_owned());
    };
    let down = down.trim();
    let unit = split(up).map_or("", |(_, unit)| unit);
    let has_unit = split(down).is_some_and(|(_, unit)| !unit.is_empty());
    // The slash of "12 Mbit/s" belongs to the unit.
    if has_unit && !up.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
        return match text.split_once(" / ") {
            Some((down, up)) => (down.trim().to_owned(), up.trim().to_owned()),
            None => (text.to_owned(), text.to_owned()),
        };
    }
    let down = if has_unit { down.to_owned() } else { format!("{down} {unit}") };
    (down, up.trim().to_owned())
}

/// Splits a text into a number and its unit; `None` if the text does not begin with a number of at
/// most 30 digits.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let points = number.len() - digits;
    (digits > 0 && digits <= 30 && points <= 1).then_some((number, unit.trim()))
}

fn base_units(
    at: &str,
    value: &Plain,
    units: &[(&str, u64)],
    what: &str,
    example: &str,
) -> Result<u64, SpecError> {
    let wrong = || wrong(at, value, what, example);
    let Plain::Text(text) = value else { return Err(wrong()) };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
    nearest(number, scale)
        .filter(|found| *found <= LARGEST)
        .map(|found| found as u64)
        .ok_or_else(|| SpecError::new(at, format!("`{}` is too large for a {what}", shown(value))))
}

/// Returns `number` times `scale`, rounded to the nearest integer. A value in the middle is rounded
/// to an even integer. Returns `None` on overflow.
fn nearest(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("0{whole}{fraction}").parse().ok()?;
    let product = digits.checked_mul(u128::from(scale))?;
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let (quotient, rest) = (product / divisor, product % divisor);
    let up = match (2 * rest).cmp(&divisor) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => quotient % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    Some(quotient + u128::from(up))
}

/// Returns the text of `number` divided by 100, so that it is rounded only once, to the nearest
/// float.
fn hundredth(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("00{whole}");
    let (whole, moved) = digits.split_at(digits.len() - 2);
    format!("{whole}.{moved}{fraction}")
}

fn is_zero(value: &Plain) -> bool {
    match value {
        Plain::Whole(number) => *number == 0,
        Plain::Real(number) => *number == 0.0,
        Plain::Text(text) => matches!(split(text), Some((number, "")) if number.parse() == Ok(0.0)),
        Plain::Flag(_) => false,
    }
}

fn wrong(at: &str, value: &Plain, what: &str, example: &str) -> SpecError {
    let found = shown(value);
    SpecError::new(at, format!("`{found}` is not a {what}; write it as in \"{example}\""))
}

/// Formats a value for a message. A text of more than 60 characters is cut off and ends with "…".
pub(crate) fn shown(value: &Plain) -> String {
    let text = match value {
        Plain::Flag(flag) => flag.to_string(),
        Plain::Whole(number) => number.to_string(),
        Plain::Real(number) => number.to_string(),
        Plain::Text(text) => text.clone(),
    };
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
