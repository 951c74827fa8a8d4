//! The conclusion of an advice, written as sentences.
//!
//! A sentence mentions only tiers that were run, because the callers pass no other tiers.

use serde::Serialize;

use crate::facts::{ByMedian, Conclusion, Cost, Gain, GatewayResult};
use crate::words::{listed, rate, time};

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
    for gateway in &known.gateways {
        said.push(Sentence { about: "tier", text: tier(gateway, known) });
        if let Some(text) = sure(gateway, known.seeds) {
            said.push(Sentence { about: "sure", text });
        }
        said.extend(gateway.by_median.iter().map(|one| by_median(one, gateway)));
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
    let better = known.gateways.iter().find(|one| known.better.as_ref() == Some(&one.name));
    if let Some(GatewayResult { title: better, .. }) = better {
        said.extend(known.gains.iter().map(|one| gain(one, better)));
        said.extend(known.costs.iter().map(|one| cost(one, better)));
    }
    said
}

fn tier(gateway: &GatewayResult, known: &Conclusion) -> String {
    let Some(served) = &gateway.served else {
        return format!(
            "With {}, no tier serves everyone: even at {}, {} {} bad.",
            gateway.title,
            known.fastest,
            listed(&gateway.failing),
            if gateway.failing.len() == 1 { "is" } else { "are" }
        );
    };
    let beside = match &gateway.failed {
        None => ", and the slowest of the list.".to_owned(),
        Some(failed) => format!("; at {failed} {} would suffer.", listed(&gateway.failing)),
    };
    let well = match &gateway.well {
        Some(well) if well != served => format!(" Everything is good from {well}."),
        None => " At no tier is everything good.".to_owned(),
        Some(_) => String::new(),
    };
    let title = &gateway.title;
    let others = if gateway.exceptions.is_empty() {
        String::new()
    } else {
        format!(" Faster does not always help: {} fails.", listed(&gateway.exceptions))
    };
    format!("With {title}, {served} is the slowest tier that serves everyone{beside}{well}{others}")
}

fn no_better(known: &Conclusion) -> String {
    if known.gateways.iter().all(|one| one.served.is_none()) {
        "No gateway helps here: the applications need more than these tiers have.".to_owned()
    } else {
        "No other gateway does better: today's is enough.".to_owned()
    }
}

fn sure(gateway: &GatewayResult, seeds: usize) -> Option<String> {
    let served = gateway.served.as_ref()?;
    Some(if seeds == 1 {
        format!("One seed was run, so the result at {served} may be chance.")
    } else if gateway.seeds_served == seeds {
        format!("At {served} that holds in each of {seeds} seeds.")
    } else {
        format!(
            "At {served} that holds for the median over {seeds} seeds, and in {} of them alone.",
            gateway.seeds_served
        )
    })
}

fn by_median(one: &ByMedian, gateway: &GatewayResult) -> Sentence {
    let text = format!(
        "If only the median of the round trips counted, {} would do at {} with {}.",
        listed(&one.apps),
        one.tier,
        gateway.title
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
    use crate::facts::Conclusion;

    fn today() -> GatewayResult {
        GatewayResult {
            name: "today".to_owned(),
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
            tiers: vec![],
        }
    }

    fn conclusion(gateways: Vec<GatewayResult>) -> Conclusion {
        Conclusion {
            seeds: 10,
            fastest: "100/40 Mbit/s".to_owned(),
            gateways,
            compared_at: "12/1 Mbit/s".to_owned(),
            spoiled: vec![],
            better: Some("sqm".to_owned()),
            gains: vec![],
            costs: vec![],
        }
    }

    fn better() -> GatewayResult {
        let (name, title) = ("sqm".to_owned(), "FQ-CoDel".to_owned());
        GatewayResult { name, title, by_median: vec![], ..today() }
    }

    fn texts(known: &Conclusion) -> Vec<String> {
        of(known).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_sufficient_tier_stands_beside_the_one_that_fails() {
        assert_eq!(
            texts(&conclusion(vec![today()])),
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
        let none =
            GatewayResult { served: None, well: None, failed: None, by_median: vec![], ..today() };
        assert_eq!(
            texts(&conclusion(vec![none])),
            ["With today's gateway, no tier serves everyone: even at 100/40 Mbit/s, the game and \
              the call are bad."]
        );
    }

    #[test]
    fn a_slower_transfer_is_said_as_plainly_as_a_shorter_lag() {
        let mut known = conclusion(vec![better()]);
        known.gains = vec![Gain { app: "the game".to_owned(), today_ms: 1245.0, better_ms: 26.0 }];
        known.costs = vec![
            Cost { app: "the backup".to_owned(), today_mbit: 4.0, better_mbit: 2.0 },
            Cost { app: "the film".to_owned(), today_mbit: 4.0, better_mbit: 4.04 },
        ];
        assert_eq!(
            texts(&known)[2..],
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
        let mut known = conclusion(vec![GatewayResult { by_median: vec![], ..today() }]);
        known.better = None;
        assert_eq!(
            texts(&known).last().unwrap(),
            "No other gateway does better: today's is enough."
        );
        known.gateways = vec![GatewayResult { served: None, by_median: vec![], ..today() }];
        assert!(texts(&known).last().unwrap().starts_with("No gateway helps here"));
    }

    #[test]
    fn seeds_that_disagree_are_counted() {
        let unsure = GatewayResult { seeds_served: 7, by_median: vec![], ..today() };
        assert_eq!(
            texts(&conclusion(vec![unsure]))[1],
            "At 100/40 Mbit/s that holds for the median over 10 seeds, and in 7 of them alone."
        );
    }
}
