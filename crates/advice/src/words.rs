//! Formats numbers and lists for people at home. Numbers have the same digits as in verdicts.

use aqmlab_verdict::wording::quantity;

/// Joins names into a list for a sentence, such as "a, b and c".
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns an activity with its user: "Anna's video meeting". `who` is empty for a device that
/// belongs to nobody.
pub fn owned(who: &str, title: &str) -> String {
    if who.is_empty() {
        return title.to_owned();
    }
    let bare = title.strip_prefix("a ").or_else(|| title.strip_prefix("an ")).unwrap_or(title);
    let ending = if who.ends_with('s') { "'" } else { "'s" };
    format!("{who}{ending} {bare}")
}

/// Returns a text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Formats a time in seconds with a unit from ms to h.
pub(crate) fn time(seconds: f64) -> String {
    if seconds < 120.0 {
        quantity(1e3 * seconds, "ms")
    } else if seconds < 7200.0 {
        quantity(seconds / 60.0, "min")
    } else {
        quantity(seconds / 3600.0, "h")
    }
}

/// Formats a rate in Mbit/s; in kbit/s if it is below 0.1 Mbit/s.
pub(crate) fn rate(mbit: f64) -> String {
    if mbit < 0.1 { quantity(1e3 * mbit, "kbit/s") } else { quantity(mbit, "Mbit/s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_have_the_unit_that_suits_them() {
        assert_eq!(
            [0.026, 1.245, 75.0, 600.0, 9000.0, 14_400.0].map(time),
            ["26 ms", "1.2 s", "75 s", "10 min", "2.5 h", "4 h"]
        );
        assert_eq!(
            [0.05, 2.34, 4.0, 9.96, 12.4].map(rate),
            ["50 kbit/s", "2.3 Mbit/s", "4 Mbit/s", "10 Mbit/s", "12 Mbit/s"]
        );
    }

    #[test]
    fn an_activity_has_its_user() {
        assert_eq!(owned("Anna", "a video meeting"), "Anna's video meeting");
        assert_eq!(owned("Jonas", "an online game"), "Jonas' online game");
        assert_eq!(owned("", "a security camera"), "a security camera");
    }

    #[test]
    fn lists_end_with_and() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..1]), "a");
    }
}
