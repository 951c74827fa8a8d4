//! Formats numbers for people.

/// Formats a number with its unit. Milliseconds become seconds from 1,000 ms.
///
/// ```
/// use aqmlab_verdict::wording::quantity;
///
/// assert_eq!(quantity(2710.4, "ms"), "2.7 s");
/// assert_eq!(quantity(12.34, "ms"), "12 ms");
/// assert_eq!(quantity(3.6, ""), "3.6");
/// assert_eq!(quantity(12.5, "%"), "12.5 %");
/// ```
pub fn quantity(value: f64, unit: &str) -> String {
    let (value, unit) = readable(value, unit);
    if unit == "%" && value > 99.0 && value < 100.0 {
        return format!("{value:.2} %");
    }
    let digits = if (2.0 * value).rem_euclid(2.0).total_cmp(&1.0).is_eq() {
        format!("{value:.1}")
    } else if value.abs() >= 10.0 || value.total_cmp(&0.0).is_eq() {
        format!("{value:.0}")
    } else {
        two_digits(value)
    };
    format!("{digits} {unit}").trim_end().to_owned()
}

/// Returns `value` and its unit as they are shown. A value of at least 1,000 ms is shown in
/// seconds.
pub(crate) fn readable(value: f64, unit: &str) -> (f64, &str) {
    if unit == "ms" && value.abs() >= 1e3 { (value / 1e3, "s") } else { (value, unit) }
}

/// Formats `value` with two significant digits, without trailing zeros after the point. Numbers
/// from 100 on are rounded to integers. Numbers below 0.0001 are in scientific notation.
pub(crate) fn two_digits(value: f64) -> String {
    let scientific = format!("{value:.1e}");
    let exponent = scientific.rsplit('e').next().and_then(|text| text.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -4..=1) => {
            let decimals = (1 - exponent).max(0) as usize;
            let text = format!("{value:.decimals$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        Some(2..) => format!("{value:.0}"),
        _ => scientific,
    }
}

/// Formats `value` with the fewest decimals, at least one, that distinguish it from `limit`. The
/// two numbers must differ.
pub fn apart(value: f64, limit: f64) -> String {
    let mut texts = (1..18).map(|digits: usize| format!("{value:.digits$}"));
    let differs =
        |text: &String| text.parse::<f64>().is_ok_and(|read| read.total_cmp(&limit).is_ne());
    texts.find(differs).unwrap_or_else(|| value.to_string())
}

/// Formats a time in milliseconds in everyday form, with at most two units.
///
/// ```
/// use aqmlab_verdict::wording::clock;
///
/// assert_eq!([640.0, 12_300.0].map(clock), ["0.64 s", "12 s"]);
/// assert_eq!([119_700.0, 9_570_000.0].map(clock), ["2 min", "2 h 40 min"]);
/// assert_eq!(clock(200_000_000.0), "2 d 8 h");
/// ```
pub fn clock(ms: f64) -> String {
    if ms < 10_000.0 {
        return format!("{} s", two_digits(ms / 1e3));
    }
    let mut found = None;
    for (unit_s, unit, below_s, below) in
        [(60, "min", 1, "s"), (3_600, "h", 60, "min"), (86_400, "d", 3_600, "h")]
    {
        // A value that rounds to a whole next unit uses that unit.
        let in_below = (ms / 1e3 / below_s as f64).round_ties_even() as u64;
        let (whole, rest) = (in_below / (unit_s / below_s), in_below % (unit_s / below_s));
        if whole == 0 {
            break;
        }
        let rest = if rest > 0 { format!(" {rest} {below}") } else { String::new() };
        found = Some(format!("{whole} {unit}{rest}"));
    }
    found.unwrap_or_else(|| format!("{:.0} s", ms / 1e3))
}

/// Formats a number of bytes in a unit from B to GB. Decimals are shown up to four digits in total.
pub fn size(bytes: u64) -> String {
    let steps = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"), (1, "B")];
    let (scale, unit) = steps.into_iter().find(|(scale, _)| bytes >= *scale).unwrap_or((1, "B"));
    let value = bytes as f64 / scale as f64;
    let decimals = 3_usize.saturating_sub(format!("{value:.0}").len().saturating_sub(1));
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_at_a_glance() {
        for (value, unit, text) in [
            (12_300.0, "ms", "12 s"),
            (0.4, "ms", "0.4 ms"),
            (0.0, "%", "0 %"),
            (4.05, "", "4"),
            (1000.0, "ms", "1 s"),
            (1250.5, "ms", "1.3 s"),
            (99.0, "%", "99 %"),
            (99.97, "%", "99.97 %"),
            (100.0, "%", "100 %"),
            (100.4, "%", "100 %"),
            (99.4, "Mbit/s", "99 Mbit/s"),
            (10.4, "", "10"),
            (1.04, "", "1"),
            (9.96, "", "10"),
            (0.000_01, "%", "1.0e-5 %"),
            (12_345.0, "B", "12345 B"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }

    #[test]
    fn a_value_is_never_shown_as_the_limit_that_it_misses() {
        for (value, limit, want) in
            [(3.9961, 4.0, "3.996"), (99.998, 100.0, "99.998"), (4.04, 4.0, "4.04")]
        {
            assert_eq!(apart(value, limit), want);
        }
    }

    #[test]
    fn sizes_have_four_digits_at_most() {
        let texts = [2_000_000_000, 20_000_000, 1_500, 12, 1_234_567].map(size);
        assert_eq!(texts, ["2 GB", "20 MB", "1.5 kB", "12 B", "1.235 MB"]);
    }
}
