//! The conclusion of an advice, written as sentences.
//!
//! A sentence mentions only tiers that were run, because the callers pass no other tiers.

use crate::words::{listed, rate, time};
use serde::{Deserialize, Serialize};

/// The findings that the sentences state.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The number of seeds of each condition.
    pub seeds: u32,
    /// The fastest tier that was run.
    pub fastest: String,
    /// The gateways: today's gateway first, then the other gateways, each with its slowest
    /// sufficient tier.
    pub ways: Vec<Way>,
    /// The tier at which gateways are compared: today's tier, or the slowest sufficient tier of the
    /// better gateway.
    pub compared_at: String,
    /// The applications that are not served by today's gateway at that tier.
    pub spoiled: Vec<Spoiled>,
    /// The title of the recommended gateway, if one is better.
    pub better: Option<String>,
    /// The interactive applications that improve most with the better gateway.
    pub gains: Vec<Gain>,
    /// The transfers, with their rates under both gateways.
    pub costs: Vec<Cost>,
}

/// A gateway with the tiers that suffice.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// The gateway in words that follow "with".
    pub title: String,
    /// The slowest tier that was run at which no application is bad and no slower tier serves
    /// everyone.
    pub served: Option<String>,
    /// The slowest tier that was run at which every application is good.
    pub well: Option<String>,
    /// The next slower tier that was run and does not suffice.
    pub failed: Option<String>,
    /// The applications that are bad at that slower tier. If no tier suffices, the list has those
    /// that are bad at the fastest tier.
    pub failing: Vec<String>,
    /// Applications that a slower tier would serve if only the median of their round trips counted.
    pub by_median: Vec<ByMedian>,
    /// The number of seeds in which everyone is served at that tier.
    pub seeds_served: u32,
    /// The faster tiers that were run and, against expectation, do not serve everyone.
    pub exceptions: Vec<String>,
}

/// A tier that suffices for some applications by the median of their round trips.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByMedian {
    /// The applications in plain words.
    pub apps: Vec<String>,
    /// The slowest such tier that was run.
    pub tier: String,
}

/// An application that is not served by today's gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spoiled {
    /// The application in plain words, with its user.
    pub app: String,
    /// The measured number and the limit that it misses.
    pub because: String,
}

/// The round trips of an interactive application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The application in plain words.
    pub app: String,
    /// The 95th percentile under today's gateway, in ms.
    pub today_ms: f64,
    /// The 95th percentile under the better gateway, in ms.
    pub better_ms: f64,
}

/// The rate of a bulk transfer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The application in plain words.
    pub app: String,
    /// The transfer's rate under today's gateway.
    pub today_mbit: f64,
    /// The transfer's rate under the better gateway.
    pub better_mbit: f64,
}

/// A sentence, with its place in the advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// The kind of the sentence: `tier`, `sure`, `spoils`, `gain` or `cost`.
    pub about: &'static str,
    /// The sentence.
    pub text: String,
}

/// Returns the sentences of a conclusion, in the order for a reader.
pub(crate) fn of(known: &Conclusion) -> Vec<Sentence> {
    let mut said = Vec::new();
    for way in &known.ways {
        said.push(Sentence { about: "tier", text: tier(way, known) });
        if let Some(text) = sure(way, known.seeds) {
            said.push(Sentence { about: "sure", text });
        }
        said.extend(way.by_median.iter().map(|one| by_median(one, way)));
    }
    if known.better.is_none() {
        said.push(Sentence { about: "tier", text: no_better(known) });
    }
    for one in &known.spoiled {
        let text = format!(
            "At {}, today's gateway spoils {}: {}.",
            known.compared_at, one.app, one.because
        );
        said.push(Sentence { about: "spoils", text });
    }
    if let Some(better) = &known.better {
        said.extend(known.gains.iter().map(|one| gain(one, better)));
        said.extend(known.costs.iter().map(|one| cost(one, better)));
    }
    said
}

fn tier(way: &Way, known: &Conclusion) -> String {
    let Some(served) = &way.served else {
        return format!(
            "With {}, no tier serves everyone: even at {}, {} {} bad.",
            way.title,
            known.fastest,
            listed(&way.failing),
            if way.failing.len() == 1 { "is" } else { "are" }
        );
    };
    let beside = match &way.failed {
        None => ", and the slowest of the list.".to_owned(),
        Some(failed) => format!("; at {failed} {} would suffer.", listed(&way.failing)),
    };
    let well = match &way.well {
        Some(well) if well != served => format!(" Everything is good from {well}."),
        None => " At no tier is everything good.".to_owned(),
        Some(_) => String::new(),
    };
    let title = &way.title;
    let others = if way.exceptions.is_empty() {
        String::new()
    } else {
        format!(" Faster does not always help: {} fails.", listed(&way.exceptions))
    };
    format!("With {title}, {served} is the slowest tier that serves everyone{beside}{well}{others}")
}

fn no_better(known: &Conclusion) -> String {
    if known.ways.iter().all(|way| way.served.is_none()) {
        "No gateway helps here: the applications need more than these tiers have.".to_owned()
    } else {
        "No other gateway does better: today's is enough.".to_owned()
    }
}

fn sure(way: &Way, seeds: u32) -> Option<String> {
    let served = way.served.as_ref()?;
    Some(if seeds == 1 {
        format!("One seed was run, so the result at {served} may be chance.")
    } else if way.seeds_served == seeds {
        format!("At {served} that holds in each of {seeds} seeds.")
    } else {
        format!(
            "At {served} that holds for the median over {seeds} seeds, and in {} of them alone.",
            way.seeds_served
        )
    })
}

fn by_median(one: &ByMedian, way: &Way) -> Sentence {
    let text = format!(
        "If only the median of the round trips counted, {} would do at {} with {}.",
        listed(&one.apps),
        one.tier,
        way.title
    );
    Sentence { about: "sure", text }
}

fn gain(one: &Gain, better: &str) -> Sentence {
    let (now, then) = (time(one.today_ms / 1e3), time(one.better_ms / 1e3));
    let text = format!(
        "With {better}, 95 % of the round trips of {} end within {then} instead of {now}.",
        one.app
    );
    Sentence { about: "gain", text }
}

/// Returns a sentence with the time of one gigabyte, because people know their transfers by size.
fn cost(one: &Cost, better: &str) -> Sentence {
    const GIGABYTE_MBIT: f64 = 8000.0;
    let rates = format!("{} instead of {}", rate(one.better_mbit), rate(one.today_mbit));
    let times = [one.better_mbit, one.today_mbit].map(|mbit| time(GIGABYTE_MBIT / mbit.max(1e-3)));
    let change = one.better_mbit / one.today_mbit.max(1e-3);
    let text = if change < 0.95 {
        format!(
            "The price: with {better}, {} gets {rates}, so a gigabyte takes {} instead of {}.",
            one.app, times[0], times[1]
        )
    } else if change > 1.05 {
        format!(
            "With {better}, {} gets {rates}: a gigabyte takes {} instead of {}.",
            one.app, times[0], times[1]
        )
    } else {
        format!("With {better}, {} takes about as long as today.", one.app)
    };
    Sentence { about: "cost", text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way() -> Way {
        Way {
            title: "today's gateway".to_owned(),
            served: Some("100/40 Mbit/s".to_owned()),
            well: Some("100/40 Mbit/s".to_owned()),
            failed: Some("50/20 Mbit/s".to_owned()),
            failing: vec!["the game".to_owned(), "the call".to_owned()],
            by_median: vec![ByMedian {
                apps: vec!["the game".to_owned()],
                tier: "50/20 Mbit/s".to_owned(),
            }],
            seeds_served: 10,
            exceptions: vec![],
        }
    }

    fn conclusion(ways: Vec<Way>) -> Conclusion {
        Conclusion {
            seeds: 10,
            fastest: "100/40 Mbit/s".to_owned(),
            ways,
            compared_at: "12/1 Mbit/s".to_owned(),
            spoiled: vec![],
            better: Some("FQ-CoDel".to_owned()),
            gains: vec![],
            costs: vec![],
        }
    }

    fn texts(known: &Conclusion) -> Vec<String> {
        of(known).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_sufficient_tier_stands_beside_the_one_that_fails() {
        assert_eq!(
            texts(&conclusion(vec![way()])),
            [
                "With today's gateway, 100/40 Mbit/s is the slowest tier that serves everyone; at \
                 50/20 Mbit/s the game and the call would suffer.",
                "At 100/40 Mbit/s that holds in each of 10 seeds.",
                "If only the median of the round trips counted, the game would do at 50/20 Mbit/s \
                 with today's gateway.",
            ]
        );
    }

    #[test]
    fn without_a_sufficient_tier_the_fastest_is_named() {
        let none = Way { served: None, well: None, failed: None, by_median: vec![], ..way() };
        assert_eq!(
            texts(&conclusion(vec![none])),
            ["With today's gateway, no tier serves everyone: even at 100/40 Mbit/s, the game and \
              the call are bad."]
        );
    }

    #[test]
    fn a_slower_transfer_is_said_as_plainly_as_a_shorter_lag() {
        let mut known = conclusion(vec![]);
        known.gains = vec![Gain { app: "the game".to_owned(), today_ms: 1245.0, better_ms: 26.0 }];
        known.costs = vec![
            Cost { app: "the backup".to_owned(), today_mbit: 4.0, better_mbit: 2.0 },
            Cost { app: "the film".to_owned(), today_mbit: 4.0, better_mbit: 4.04 },
        ];
        assert_eq!(
            texts(&known),
            [
                "With FQ-CoDel, 95 % of the round trips of the game end within 26 ms instead of \
                 1.2 s.",
                "The price: with FQ-CoDel, the backup gets 2.0 Mbit/s instead of 4.0 Mbit/s, so a \
                 gigabyte takes 67 min instead of 33 min.",
                "With FQ-CoDel, the film takes about as long as today.",
            ]
        );
    }

    #[test]
    fn an_advice_without_a_better_gateway_says_so() {
        let mut known = conclusion(vec![Way { by_median: vec![], ..way() }]);
        known.better = None;
        assert_eq!(
            texts(&known).last().unwrap(),
            "No other gateway does better: today's is enough."
        );
        known.ways = vec![Way { served: None, by_median: vec![], ..way() }];
        assert!(texts(&known).last().unwrap().starts_with("No gateway helps here"));
    }

    #[test]
    fn seeds_that_disagree_are_counted() {
        let unsure = Way { seeds_served: 7, by_median: vec![], ..way() };
        assert_eq!(
            texts(&conclusion(vec![unsure]))[1],
            "At 100/40 Mbit/s that holds for the median over 10 seeds, and in 7 of them alone."
        );
    }
}
