//! A need and its value over seeds: the comparison with the need's limits, and the text.
//!
//! The comparison yields a word (`good`, `tolerable` or `bad`) and a margin.

use aqmlab_apps::needs::Need;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::{self, BySeed};
use crate::wording::{apart, quantity, readable};

/// The verdict on a need or an application, in one word. Later variants are worse.
///
/// The word for an application without measurements comes between tolerable and good, because a
/// reader must notice it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Word {
    /// Nothing is known of the application's needs.
    NoNeeds,
    /// The value is within the limit of good values.
    Good,
    /// Nothing was measured.
    NoData,
    /// The value is beyond the limit of good values and within the limit of tolerable values.
    Tolerable,
    /// The value is beyond the limit of tolerable values.
    Bad,
}

impl Word {
    /// All words, the worst first.
    pub const WORST_FIRST: [Self; 5] =
        [Self::Bad, Self::Tolerable, Self::NoData, Self::Good, Self::NoNeeds];

    /// Returns the word as tables and sentences show it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoNeeds => "no needs",
            Self::Good => "good",
            Self::NoData => "no data",
            Self::Tolerable => "tolerable",
            Self::Bad => "bad",
        }
    }

    /// Returns whether the application was measured and has needs.
    pub const fn is_judged(self) -> bool {
        matches!(self, Self::Good | Self::Tolerable | Self::Bad)
    }

    /// Returns whether both words are judged and this word is worse than `other`.
    pub fn is_worse_than(self, other: Self) -> bool {
        self.is_judged() && other.is_judged() && self > other
    }
}

impl From<Word> for &'static str {
    fn from(word: Word) -> Self {
        word.text()
    }
}

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let word = Self::WORST_FIRST.into_iter().find(|word| word.text() == text);
        word.ok_or_else(|| format!("unknown verdict `{text}`"))
    }
}

/// A need and its value over seeds.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The need, with the limits that applied.
    pub need: Need,
    /// The median over seeds; `None` if no seed has a value.
    pub value: Option<f64>,
    /// The value of each seed.
    pub by_seed: BySeed,
}

impl Finding {
    /// Returns the finding on `need` with the value of each seed.
    pub fn new(need: Need, by_seed: BySeed) -> Self {
        let known: Vec<f64> = by_seed.iter().filter_map(|(_, value)| *value).collect();
        Self { need, value: statistics::median(&known), by_seed }
    }

    /// Returns the measured values, without their seeds.
    pub fn known(&self) -> Vec<f64> {
        self.by_seed.iter().filter_map(|(_, value)| *value).collect()
    }

    /// Returns the word for the median; [`Word::NoData`] if no seed has a value.
    pub fn word(&self) -> Word {
        self.value.map_or(Word::NoData, |value| word(&self.need, value))
    }

    /// Returns the words for both ends of the median's interval, if these two words differ.
    pub fn words_of_interval(&self) -> Option<[Word; 2]> {
        let (low, high) = statistics::interval(&self.known())?;
        let words = [low, high].map(|value| word(&self.need, value));
        (words[0] != words[1]).then_some(words)
    }

    /// Returns the remaining distance to the limit of a good value, as a proportion of the distance
    /// from the best value to that limit. The margin is 1 for the best value, 0 at the limit and
    /// negative beyond the limit. If only the best value is good, the tolerable range is the scale.
    /// If there is no best value, the value itself is the scale. If the scale is 0, the margin is
    /// −1. Returns `None` if nothing was measured.
    pub fn margin(&self) -> Option<f64> {
        self.value.map(|value| margin(&self.need, value))
    }

    /// Returns a text with the name of the need, the value, and the limit that decides the word.
    /// Without a value, the text states that nothing was measured.
    pub fn brief(&self) -> String {
        let name = self.need.name;
        self.value.map_or_else(
            || format!("{name}: not measured"),
            |value| format!("{name} {}", compared(&self.need, value)),
        )
    }

    /// Returns a text with the name of the need, the value and both limits. Without a value, the
    /// text states that nothing was measured.
    pub fn text(&self) -> String {
        let name = self.need.name;
        self.value.map_or_else(
            || format!("{name}: not measured"),
            |value| format!("{name} {} ({})", quantity(value, self.need.unit), limits(&self.need)),
        )
    }
}

/// Returns the word for `value` by the limits of `need`.
pub fn word(need: &Need, value: f64) -> Word {
    let sign = if need.more_is_better { -1.0 } else { 1.0 };
    if sign * value <= sign * need.good {
        Word::Good
    } else if sign * value <= sign * need.tolerable {
        Word::Tolerable
    } else {
        Word::Bad
    }
}

/// Returns the margin of `value`; see [`Finding::margin`].
fn margin(need: &Need, value: f64) -> f64 {
    let sign = if need.more_is_better { -1.0 } else { 1.0 };
    let used = sign * (value - need.best);
    let allowed = sign * (need.good - need.best);
    if need.best.is_infinite() {
        // There is no best value, so the limit is compared with the value.
        if value > 0.0 { 1.0 - need.good / value } else { -1.0 }
    } else if used <= 0.0 {
        1.0
    } else if allowed > 0.0 {
        1.0 - used / allowed
    } else {
        // Only the best value is good, so the tolerable range is the scale.
        let scale = sign * (need.tolerable - need.best);
        if scale > 0.0 { -used / scale } else { -1.0 }
    }
}

/// Returns the limits as text. Equal limits are stated once.
fn limits(need: &Need) -> String {
    let to = if need.more_is_better { "from" } else { "up to" };
    let good = format!("good {to} {}", quantity(need.good, need.unit));
    if need.good.total_cmp(&need.tolerable).is_eq() {
        return good;
    }
    format!("{good}, tolerable {to} {}", quantity(need.tolerable, need.unit))
}

/// Returns `value` with the limit that decides its word, as text. If the value, the limit and the
/// best value are equal, the text omits the limit.
fn compared(need: &Need, value: f64) -> String {
    let word = word(need, value);
    let limit = if word == Word::Bad { need.tolerable } else { need.good };
    let sign = match (word == Word::Good, need.more_is_better) {
        (true, true) => "≥",
        (true, false) => "≤",
        (false, true) => "<",
        (false, false) => ">",
    };
    let (said, bound) = (quantity(value, need.unit), quantity(limit, need.unit));
    if value.total_cmp(&limit).is_eq() && limit.total_cmp(&need.best).is_eq() {
        return said; // "0 % ≤ 0 %" has no more information than "0 %"
    }
    if said == bound && value.total_cmp(&limit).is_ne() {
        // The usual digits would show equal numbers, but their difference decides.
        let [(value, unit), (limit, _)] = [value, limit].map(|number| readable(number, need.unit));
        let said = format!("{} {unit}", apart(value, limit));
        return format!("{} {sign} {bound}", said.trim_end());
    }
    format!("{said} {sign} {bound}")
}

#[cfg(test)]
mod tests {
    use aqmlab_apps::needs::Measure;

    use super::*;

    fn delay() -> Need {
        Need::up_to("delay", Measure::RoundTrip, [100.0, 200.0], "ms")
    }

    fn score() -> Need {
        Need::from("score", Measure::Own(&[]), [4.5, 4.0, 3.6], "")
    }

    fn late() -> Need {
        Need::up_to("late", Measure::Own(&[]), [0.0, 5.0], "%")
    }

    #[test]
    fn the_tolerable_range_is_the_scale_if_only_the_best_value_is_good() {
        let stars = |tolerable| Need::from("stars", Measure::Own(&[]), [5.0, 5.0, tolerable], "");
        for (need, value, want) in [
            (late(), 2.0, -0.4),
            (late(), 10.0, -2.0),
            (stars(3.0), 4.0, -0.5),
            (stars(3.0), 5.0, 1.0),
            (stars(5.0), 4.0, -1.0),
        ] {
            let margin = margin(&need, value);
            assert!((margin - want).abs() < 1e-9, "{} of {value}: {margin}", need.name);
        }
    }

    #[test]
    fn words_stand_in_the_order_of_severity() {
        let mut sorted = Word::WORST_FIRST;
        sorted.sort();
        sorted.reverse();
        assert_eq!(sorted, Word::WORST_FIRST);
        for word in Word::WORST_FIRST {
            assert_eq!(Word::try_from(word.text().to_owned()), Ok(word));
        }
        assert!(Word::try_from("fine".to_owned()).is_err());
        assert!(Word::Bad.is_worse_than(Word::Good) && !Word::Good.is_worse_than(Word::Good));
        assert!(!Word::NoData.is_worse_than(Word::Good), "nothing was measured");
    }

    #[test]
    fn words_follow_the_limits() {
        for (need, value, want) in [
            (delay(), 100.0, Word::Good),
            (delay(), 100.1, Word::Tolerable),
            (delay(), 200.0, Word::Tolerable),
            (delay(), 200.1, Word::Bad),
            (score(), 4.0, Word::Good),
            (score(), 3.9, Word::Tolerable),
            (score(), 3.5, Word::Bad),
            (late(), 0.0, Word::Good),
            (late(), 5.0, Word::Tolerable),
        ] {
            assert_eq!(word(&need, value), want, "{} {value}", need.name);
        }
    }

    #[test]
    fn a_margin_is_the_part_of_the_allowance_that_is_left() {
        let rate = Need::from("rate", Measure::Rate, [f64::INFINITY, 2.0, 2.0], "Mbit/s");
        for (need, value, want) in [
            (delay(), 0.0, 1.0),
            (delay(), 25.0, 0.75),
            (delay(), 100.0, 0.0),
            (delay(), 150.0, -0.5),
            (score(), 4.4, 0.2 * 4.0),
            (score(), 4.6, 1.0),
            (score(), 3.5, -1.0),
            (late(), 0.0, 1.0),
            (late(), 2.5, -0.5),
            (rate, 4.0, 0.5),
            (rate, 1.0, -1.0),
            (rate, 0.0, -1.0),
        ] {
            let found = margin(&need, value);
            assert!((found - want).abs() < 1e-9, "{} {value}: {found}", need.name);
        }
    }

    #[test]
    fn a_value_stands_beside_the_limit_that_decides() {
        assert_eq!(compared(&delay(), 100.0), "100 ms ≤ 100 ms");
        assert_eq!(compared(&delay(), 100.2), "100.2 ms > 100 ms");
        assert_eq!(compared(&delay(), 300.0), "300 ms > 200 ms");
        assert_eq!(
            (compared(&late(), 0.0), compared(&late(), 2.0)),
            ("0 %".into(), "2 % > 0 %".into())
        );
        assert_eq!(compared(&delay(), 200.037), "200.04 ms > 200 ms");
        assert_eq!(compared(&score(), 4.2), "4.2 ≥ 4");
        assert_eq!(compared(&score(), 3.9961), "3.996 < 4");
        assert_eq!(limits(&score()), "good from 4, tolerable from 3.6");
        let unknown = Finding::new(delay(), vec![(1, None)]);
        assert_eq!((unknown.brief(), unknown.word()), ("delay: not measured".into(), Word::NoData));
    }

    #[test]
    fn an_interval_across_a_limit_is_told() {
        let spread = |values: [f64; 2]| {
            let by_seed = values.iter().zip(1..).map(|(value, seed)| (seed, Some(*value)));
            Finding::new(delay(), by_seed.collect()).words_of_interval()
        };
        assert_eq!(spread([80.0, 90.0]), None);
        assert_eq!(spread([80.0, 110.0]), Some([Word::Good, Word::Tolerable]));
    }
}
