//! The conclusion of the advice, written as sentences.
//!
//! A sentence mentions only tiers that were run, because the callers pass no other tiers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{
    Better, ByMedian, Conclusion, Cost, Gain, GatewayResult, Setback, Spoiled, TierCount,
};
use crate::words::{agreeing, capital, doubt, listed, rate, time};

/// The subject of a sentence, which decides its place in the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The slowest sufficient tier of a gateway, the slower tier that would suffice with another
    /// gateway, or the absence of a better gateway.
    Tier,
    /// An application that today's gateway does not serve.
    Spoils,
    /// The shorter round trips of an application under the better gateway.
    Gain,
    /// The rate of a transfer under the better gateway.
    Cost,
    /// A number or a comparison, for a reader who wants to check.
    Detail,
}

/// A sentence, with its subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sentence {
    /// The subject of the sentence.
    pub about: About,
    /// The text, with its full stop.
    pub text: String,
}

/// Returns the sentences of a conclusion, in the order in which they are shown. Details come last.
pub(crate) fn of(known: &Conclusion) -> Vec<Sentence> {
    let mut said = Vec::new();
    let mut say = |about: About, text: String| said.push(Sentence { about, text });
    for gateway in &known.gateways {
        say(About::Tier, tier(gateway, known));
    }
    let result = |better: &Better| known.gateways.iter().find(|one| one.name == better.name);
    let better = known.better.as_ref().and_then(result);
    match (&known.better, better) {
        (None, _) => say(About::Tier, no_better(known)),
        (Some(Better { is_for_slower_tier: true, .. }), Some(better)) => {
            say(About::Tier, slower(better, known));
        }
        _ => {}
    }
    for one in &known.spoiled {
        say(About::Spoils, spoiled(one, &known.compared_at));
    }
    if let Some(GatewayResult { title: better, .. }) = better {
        known.gains.iter().for_each(|one| say(About::Gain, gain(one, better)));
        known.costs.iter().for_each(|one| say(About::Cost, cost(one, better)));
    }
    for one in &known.spoiled {
        say(
            About::Detail,
            format!("{}, {}: {}.", capital(&one.app), known.compared_at, one.because),
        );
    }
    for gateway in &known.gateways {
        if let Some(text) = sure(gateway, known.seeds) {
            say(About::Detail, text);
        }
        gateway.setbacks.iter().for_each(|one| say(About::Detail, setback(one, gateway)));
        gateway.by_median.iter().for_each(|one| say(About::Detail, by_median(one, gateway)));
    }
    said
}

fn tier(gateway: &GatewayResult, known: &Conclusion) -> String {
    let Some(served) = &gateway.served else {
        if gateway.failing.is_empty() {
            return format!("With {}, nothing was measured at {}.", gateway.title, known.fastest);
        }
        return format!(
            "With {}, somebody is badly off at every speed: even at {}, {} {} bad.",
            gateway.title,
            known.fastest,
            listed(&gateway.failing),
            agreeing(&gateway.failing, "is", "are")
        );
    };
    let doubt = doubt(known.seeds, gateway.seeds_served);
    let beside = match &gateway.failed {
        None if doubt.is_some() => "; it is the slowest of the list.".to_owned(),
        None => ", and the slowest of the list.".to_owned(),
        Some(failed) if gateway.failing.is_empty() => {
            format!("; at {failed} nothing was measured.")
        }
        Some(failed) => format!("; at {failed} {} would suffer.", listed(&gateway.failing)),
    };
    let tolerable = if gateway.tolerable.is_empty() {
        String::new()
    } else {
        let verb = agreeing(&gateway.tolerable, "is", "are");
        format!(" At {served}, {} {verb} only tolerable.", listed(&gateway.tolerable))
    };
    let well = match &gateway.well {
        Some(well) if well != served => format!(" Everything is good from {well}."),
        None => " At no speed is everything good.".to_owned(),
        Some(_) => String::new(),
    };
    let title = &gateway.title;
    let others = if gateway.exceptions.is_empty() {
        String::new()
    } else {
        format!(" Faster does not always help: {} fails.", listed(&gateway.exceptions))
    };
    let doubt = doubt.map(|doubt| format!(" {doubt}")).unwrap_or_default();
    format!(
        "With {title}, {served} is the slowest speed at which nobody is badly \
         off{doubt}{beside}{tolerable}{well}{others}"
    )
}

/// Returns a sentence on a gateway that only lets a slower tier suffice.
fn slower(better: &GatewayResult, known: &Conclusion) -> String {
    let tier = better.served.as_deref().unwrap_or_default();
    let enough = match doubt(known.seeds, better.seeds_served) {
        None => "would be enough".to_owned(),
        Some(doubt) => format!("would be enough {doubt} badly off"),
    };
    let at = &known.compared_at;
    let today = if is_todays_enough(known) {
        format!("You need no other router at {at}.")
    } else {
        format!("None of the other routers does better at {at}.")
    };
    format!("{today} With {}, {tier} {enough}.", better.title)
}

/// Returns whether, with today's router at the tier of the comparison, everything is good by the
/// medians and nobody is badly off in any simulation.
fn is_todays_enough(known: &Conclusion) -> bool {
    let today = known.gateways.first().and_then(|today| count(today, &known.compared_at));
    today.is_some_and(|today| today.good == today.judged && today.seeds_served == known.seeds)
}

fn no_better(known: &Conclusion) -> String {
    let does_serve = |count: &&TierCount| count.judged > 0 && count.served == count.judged;
    let good = |one: &GatewayResult| {
        count(one, &known.compared_at).filter(does_serve).map(|count| count.good)
    };
    let mut gateways = known.gateways.iter().map(good);
    let (today, others) = (gateways.next().flatten(), gateways.max().flatten());
    if known.gateways.iter().all(|one| one.served.is_none() && one.failing.is_empty()) {
        "No router can be recommended: nothing was measured.".to_owned()
    } else if known.gateways.iter().all(|one| one.served.is_none()) {
        "No router serves everybody here: the applications need more than these speeds.".to_owned()
    } else if others > today {
        "None of the other routers lets a slower speed suffice.".to_owned()
    } else if today.is_none() {
        format!("None of the other routers serves everybody at {}.", known.compared_at)
    } else {
        let enough = if is_todays_enough(known) { ": today's is enough" } else { "" };
        format!("None of the other routers does better at {}{enough}.", known.compared_at)
    }
}

fn count<'a>(gateway: &'a GatewayResult, tier: &str) -> Option<&'a TierCount> {
    gateway.tiers.iter().find(|count| count.tier == tier)
}

fn spoiled(one: &Spoiled, tier: &str) -> String {
    let felt = if one.felt.is_empty() { String::new() } else { format!(": {}", one.felt) };
    let verb = agreeing(std::slice::from_ref(&one.app), "suffers", "suffer");
    format!("At {tier} with today's router, {} {verb}{felt}.", one.app)
}

fn sure(gateway: &GatewayResult, seeds: usize) -> Option<String> {
    let (served, title) = (gateway.served.as_ref()?, &gateway.title);
    Some(if seeds == 1 {
        format!("{served} with {title} was simulated once, so that result may be chance.")
    } else if gateway.seeds_served == seeds {
        format!("All {seeds} simulations of {served} with {title} agree.")
    } else {
        format!(
            "Of {seeds} simulations of {served} with {title}, {} {}; their median decides.",
            gateway.seeds_served,
            if gateway.seeds_served == 1 { "agrees" } else { "agree" }
        )
    })
}

fn setback(one: &Setback, gateway: &GatewayResult) -> String {
    format!(
        "With {}, {} {} worse at {} than at {}: a faster line is not always better.",
        gateway.title,
        listed(&one.apps),
        agreeing(&one.apps, "does", "do"),
        one.tier,
        one.slower
    )
}

fn by_median(one: &ByMedian, gateway: &GatewayResult) -> String {
    format!(
        "Judged by its typical round trip instead of its slow ones, {} would do at {} with {}.",
        listed(&one.apps),
        one.tier,
        gateway.title
    )
}

fn gain(one: &Gain, better: &str) -> String {
    let (now, then) = (time(one.today_ms / 1e3), time(one.better_ms / 1e3));
    format!(
        "With {better}, 95 % of the round trips of {} end within {then} instead of {now}.",
        one.app
    )
}

/// Returns a sentence on a transfer's rate. If the rate changes by more than 5 %, the sentence also
/// states the time that a gigabyte takes under each gateway, because people know their transfers by
/// size.
fn cost(one: &Cost, better: &str) -> String {
    const GIGABYTE_MBIT: f64 = 8000.0;
    let rates = format!("{} instead of {}", rate(one.better_mbit), rate(one.today_mbit));
    let times = [one.better_mbit, one.today_mbit].map(|mbit| time(GIGABYTE_MBIT / mbit.max(1e-3)));
    let change = one.better_mbit / one.today_mbit.max(1e-3);
    if change < 0.95 {
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
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_verdict::Word;

    use super::*;

    fn today() -> GatewayResult {
        GatewayResult {
            name: "today".to_owned(),
            title: "today's router".to_owned(),
            served: Some("100/40 Mbit/s".to_owned()),
            well: Some("100/40 Mbit/s".to_owned()),
            tolerable: vec![],
            failed: Some("50/20 Mbit/s".to_owned()),
            failing: vec!["the game".to_owned(), "the call".to_owned()],
            by_median: vec![ByMedian {
                apps: vec!["the game".to_owned()],
                tier: "50/20 Mbit/s".to_owned(),
            }],
            seeds_served: 10,
            exceptions: vec![],
            setbacks: vec![],
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
            better: Some(Better {
                name: "sqm".to_owned(),
                tier: "100/40 Mbit/s".to_owned(),
                is_for_slower_tier: false,
            }),
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
                "With today's router, 100/40 Mbit/s is the slowest speed at which nobody is badly \
                 off; at 50/20 Mbit/s the game and the call would suffer.",
                "All 10 simulations of 100/40 Mbit/s with today's router agree.",
                "Judged by its typical round trip instead of its slow ones, the game would do at \
                 50/20 Mbit/s with today's router.",
            ]
        );
    }

    #[test]
    fn without_a_sufficient_tier_the_fastest_is_named() {
        let none =
            GatewayResult { served: None, well: None, failed: None, by_median: vec![], ..today() };
        assert_eq!(
            texts(&conclusion(vec![none])),
            ["With today's router, somebody is badly off at every speed: even at 100/40 Mbit/s, \
              the game and the call are bad."]
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
            texts(&known)[1..4],
            [
                "With FQ-CoDel, 95 % of the round trips of the game end within 26 ms instead of \
                 1.2 s.",
                "The price: with FQ-CoDel, the backup gets 2 Mbit/s instead of 4 Mbit/s, so a \
                 gigabyte takes 67 min instead of 33 min.",
                "With FQ-CoDel, the film takes about as long as today.",
            ]
        );
    }

    #[test]
    fn an_advice_without_a_better_gateway_says_so() {
        let mut known = conclusion(vec![GatewayResult { by_median: vec![], ..today() }]);
        known.better = None;
        assert_eq!(texts(&known)[1], "None of the other routers serves everybody at 12/1 Mbit/s.");
        known.gateways = vec![GatewayResult { served: None, by_median: vec![], ..today() }];
        assert!(texts(&known).last().unwrap().starts_with("No router serves everybody here"));
    }

    #[test]
    fn todays_router_is_enough_only_if_everything_is_good_and_nobody_is_ever_badly_off() {
        let said = |good, seeds_served| {
            let count = TierCount {
                tier: "12/1 Mbit/s".to_owned(),
                good,
                served: 3,
                judged: 3,
                seeds_served,
                word: Word::Good,
            };
            let mut known = conclusion(vec![GatewayResult { tiers: vec![count], ..today() }]);
            known.better = None;
            texts(&known)[1].clone()
        };
        let enough = "None of the other routers does better at 12/1 Mbit/s: today's is enough.";
        assert_eq!(said(3, 10), enough);
        for (good, seeds_served) in [(3, 9), (2, 10), (2, 6)] {
            assert_eq!(
                said(good, seeds_served),
                "None of the other routers does better at 12/1 Mbit/s."
            );
        }
    }

    #[test]
    fn seeds_that_disagree_are_counted() {
        let unsure = GatewayResult { seeds_served: 7, by_median: vec![], ..today() };
        assert_eq!(
            texts(&conclusion(vec![unsure]))[1],
            "Of 10 simulations of 100/40 Mbit/s with today's router, 7 agree; their median decides."
        );
    }

    #[test]
    fn an_effect_comes_first_and_its_number_is_a_detail() {
        let mut known = conclusion(vec![better()]);
        known.spoiled = vec![Spoiled {
            app: "the call".to_owned(),
            felt: "voices break up".to_owned(),
            because: "opinion score 1.4 < 3.6".to_owned(),
        }];
        known.gateways[0].setbacks = vec![Setback {
            tier: "100/40 Mbit/s".to_owned(),
            slower: "50/20 Mbit/s".to_owned(),
            apps: vec!["the film".to_owned()],
        }];
        let said = of(&known);
        let detail = said.iter().position(|one| one.about == About::Detail).unwrap();
        assert!(said[detail..].iter().all(|one| one.about == About::Detail));
        let texts: Vec<_> = said.into_iter().map(|one| one.text).collect();
        assert_eq!(
            texts[1],
            "At 12/1 Mbit/s with today's router, the call suffers: voices break up."
        );
        assert_eq!(texts[detail], "The call, 12/1 Mbit/s: opinion score 1.4 < 3.6.");
        assert_eq!(
            texts[detail + 2],
            "With FQ-CoDel, the film does worse at 100/40 Mbit/s than at 50/20 Mbit/s: a faster \
             line is not always better."
        );
    }
}
