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

/// Returns the verb that agrees with a list of descriptions.
pub(crate) fn agreeing(
    names: &[String],
    singular: &'static str,
    plural: &'static str,
) -> &'static str {
    let is_plural = |name: &String| {
        let first = name.split(' ').next().unwrap_or_default();
        first == "both" || first == "all" || first.bytes().all(|byte| byte.is_ascii_digit())
    };
    if names.len() == 1 && !is_plural(&names[0]) { singular } else { plural }
}

/// Returns the description of `count` of the `total` applications that have the same description.
/// A description with an article gets a plural: "2 of the 5 security cameras". Another description
/// may have no plural, so the numbers follow it: "music (1 of 2)".
pub(crate) fn copies(words: &str, count: usize, total: usize) -> String {
    if total < 2 {
        return words.to_owned();
    }
    let Some(bare) = without_article(words) else { return format!("{words} ({count} of {total})") };
    let many = plural(bare);
    match (count, total) {
        (1, _) => format!("one of the {many}"),
        (2, 2) => format!("both {many}"),
        _ if count == total => format!("all {total} {many}"),
        _ => format!("{count} of the {total} {many}"),
    }
}

/// Returns the description of each of `count` applications that have the same description.
pub(crate) fn each(words: &str, count: usize) -> String {
    match without_article(words) {
        Some(bare) if count > 1 => format!("each of the {count} {}", plural(bare)),
        _ => words.to_owned(),
    }
}

fn without_article(words: &str) -> Option<&str> {
    words.strip_prefix("a ").or_else(|| words.strip_prefix("an "))
}

/// Returns the plural of a noun phrase, such as "films in 4K". The noun is the word before a
/// preposition or a participle, or else the last word.
fn plural(phrase: &str) -> String {
    const AFTER_NOUN: [&str; 11] =
        ["in", "of", "for", "by", "with", "without", "over", "to", "from", "received", "sent"];
    let words: Vec<&str> = phrase.split(' ').collect();
    let after = words.iter().skip(1).position(|word| AFTER_NOUN.contains(word));
    let (noun, rest) = words.split_at(after.map_or(words.len(), |at| at + 1));
    let noun = noun.join(" ");
    let noun = match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|ending| noun.ends_with(ending)) => {
            format!("{noun}es")
        }
        _ => format!("{noun}s"),
    };
    [&[noun.as_str()], rest].concat().join(" ")
}

/// Returns the restriction of "nobody is badly off" if a verdict over several seeds does not hold
/// in most of them: `served` is the number of seeds in which it holds. Returns `None` otherwise.
pub(crate) fn doubt(seeds: usize, served: usize) -> Option<String> {
    is_doubtful(seeds, served).then(|| {
        let missed = if served == 0 { "all".to_owned() } else { (seeds - served).to_string() };
        format!("by the median of {seeds} simulations, but in {missed} of them somebody was")
    })
}

/// Returns whether there are several seeds and fewer than half of them, `served`, agree.
pub(crate) fn is_doubtful(seeds: usize, served: usize) -> bool {
    seeds > 1 && 2 * served < seeds
}

/// Returns an activity with its user: "Anna's video meeting". `who` is empty for a device that
/// belongs to nobody.
pub fn owned(who: &str, title: &str) -> String {
    if who.is_empty() {
        return title.to_owned();
    }
    let bare = without_article(title).unwrap_or(title);
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
    fn copies_of_an_activity_are_counted() {
        let counted = |words, counts: &[(usize, usize)]| {
            counts.iter().map(|&(count, total)| copies(words, count, total)).collect::<Vec<_>>()
        };
        assert_eq!(
            counted("a security camera", &[(1, 1), (1, 5), (2, 5), (5, 5), (2, 2)]),
            [
                "a security camera",
                "one of the security cameras",
                "2 of the 5 security cameras",
                "all 5 security cameras",
                "both security cameras"
            ]
        );
        assert_eq!(counted("music", &[(1, 1), (1, 2)]), ["music", "music (1 of 2)"]);
        assert_eq!(counted("my online game", &[(2, 2)]), ["my online game (2 of 2)"]);
        assert_eq!(each("a film in 4K", 3), "each of the 3 films in 4K");
        assert_eq!(each("music", 3), "music");
    }

    #[test]
    fn a_plural_has_the_ending_of_its_noun() {
        let phrases = ["delivery of photos", "box", "switch", "notification sent", "display"];
        assert_eq!(
            phrases.map(plural),
            ["deliveries of photos", "boxes", "switches", "notifications sent", "displays"]
        );
    }

    #[test]
    fn a_verb_agrees_with_the_number_of_applications() {
        let verb = |name: &str| agreeing(&[name.to_owned()], "is", "are");
        for name in ["a film", "one of the films", "music (1 of 2)", "4k-film"] {
            assert_eq!(verb(name), "is", "{name}");
        }
        for name in ["both films", "all 3 films", "2 of the 3 films"] {
            assert_eq!(verb(name), "are", "{name}");
        }
    }

    #[test]
    fn a_doubt_is_stated_if_fewer_than_half_of_several_seeds_agree() {
        let told = [(1, 0), (10, 5), (10, 4), (3, 0)].map(|(seeds, served)| doubt(seeds, served));
        let [one, half, some, none] = told;
        assert_eq!((one, half), (None, None));
        assert!(some.unwrap().ends_with("10 simulations, but in 6 of them somebody was"));
        assert!(none.unwrap().ends_with("3 simulations, but in all of them somebody was"));
    }

    #[test]
    fn lists_end_with_and() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..1]), "a");
    }
}
