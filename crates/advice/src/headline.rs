//! The answer in one sentence: the router, the speed, or both.

use aqmlab_verdict::{Report, Word};
use schemars::JsonSchema;
use serde::Serialize;

use crate::choice::closest;
use crate::conclusion::named;
use crate::evidence::{Case, Evidence, got_worse, is_worse_than};
use crate::facts::Conclusion;
use crate::words::{agreeing, doubt, is_doubtful, listed};

/// The cause of an unsatisfactory service at a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Today's gateway at this tier is enough.
    Fine,
    /// Today's gateway: at this tier, only the other gateway is enough, or both are enough and the
    /// other gateway is better.
    Gateway,
    /// The tier: the other gateway does not help either.
    Tier,
    /// Both: with the other gateway, fewer applications are bad, but not none.
    Both,
    /// Unknown, because nothing was measured with one of the gateways.
    Open,
}

/// The answer in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Headline {
    /// The cause that the sentence states.
    pub kind: Cause,
    /// The answer, with its full stop.
    pub text: String,
}

/// Returns the answer at the tier of the comparison. It compares today's gateway with the better
/// gateway or, if no gateway is better at this tier, with the other gateway that has the fewest bad
/// applications. Returns `None` unless both gateways were run at this tier.
pub(crate) fn of(known: &Evidence, conclusion: &Conclusion) -> Option<Headline> {
    let tier = &conclusion.compared_at;
    let recommended = conclusion.better.as_ref().filter(|better| !better.is_for_slower_tier);
    let other = recommended.map(|better| &better.name).or_else(|| closest(known, tier))?;
    let (now, then) = (known.gateways.first()?, known.gateway(other)?);
    let (today, better) = (now.at(tier)?, then.at(tier)?);
    for (gateway, case) in [(now, today), (then, better)] {
        if case.service().judged == 0 {
            let text = format!("At {tier}, nothing was measured with {}.", gateway.title);
            return Some(Headline { kind: Cause::Open, text });
        }
    }
    let (kind, text) = match (today.serves(), better.serves()) {
        (true, _) if recommended.is_some() => (Cause::Gateway, improved(known, today, better)),
        (true, _) => (Cause::Fine, enough(known, today)),
        (false, true) => (Cause::Gateway, helped(known, today, better)),
        (false, false) if does_help(today, better) => (
            Cause::Both,
            format!("it is both your router and your speed: {}", both(known, today, better)),
        ),
        (false, false) => {
            (Cause::Tier, format!("it is your speed: {}", either(known, today, better)))
        }
    };
    Some(Headline { kind, text: format!("At {tier}, {text}.") })
}

/// Returns a text for a tier at which today's router serves everyone and no other is recommended.
fn enough(known: &Evidence, today: &Case) -> String {
    let seeds = known.seeds();
    if let Some(doubt) = doubt(seeds, today.seeds_served(seeds)) {
        format!("nobody is badly off with the router that you have {doubt}")
    } else if today.service().is_well() {
        "everything is good with the router that you have".to_owned()
    } else {
        let tolerable = tolerable(&named(known, today, today.tolerable()));
        format!("nobody is badly off with the router that you have, but {tolerable}")
    }
}

/// Returns a text for a tier at which both routers serve everyone and the better one does more.
fn improved(known: &Evidence, today: &Case, better: &Case) -> String {
    let seeds = known.seeds();
    if let Some(doubt) = doubt(seeds, today.seeds_served(seeds)) {
        let missed = seeds - better.seeds_served(seeds);
        let missed = if missed == 0 { "none".to_owned() } else { missed.to_string() };
        return format!(
            "nobody is badly off today {doubt}; with a better router, somebody was in {missed}"
        );
    }
    if better.service().is_well() {
        let tolerable = tolerable(&named(known, today, today.tolerable()));
        return format!("{tolerable} today, and a better router makes everything good");
    }
    let becomes_good = |then: &&Report| {
        let now = today.verdict(&then.app).map(|now| now.word);
        then.word == Word::Good && now != Some(Word::Good)
    };
    let names = named(known, better, better.verdicts.iter().filter(becomes_good));
    format!("nobody is badly off today, and a better router makes {} good", listed(&names))
}

/// Returns a text for a tier at which only the better router serves everyone.
fn helped(known: &Evidence, today: &Case, better: &Case) -> String {
    let suffer = suffering(&named(known, today, today.bad()));
    let (seeds, served) = (known.seeds(), better.seeds_served(known.seeds()));
    let doubt = if is_doubtful(seeds, served) {
        let missed = seeds - served;
        format!("; even with a better router, somebody suffers in {missed} of {seeds} simulations")
    } else {
        String::new()
    };
    format!("it is your router, not your speed: {suffer}{doubt}")
}

/// Returns whether fewer applications are bad with the better router, and it serves one of those
/// that are bad with today's router.
fn does_help(today: &Case, better: &Case) -> bool {
    better.bad().count() < today.bad().count() && served_by(today, better).next().is_some()
}

/// Returns the applications that are bad with today's router and served by the better router.
fn served_by<'a>(today: &'a Case, better: &Case) -> impl Iterator<Item = &'a Report> {
    let is_served =
        |now: &&Report| better.verdict(&now.app).is_some_and(|then| is_worse_than(now, then));
    today.bad().filter(is_served)
}

/// Returns a text that names the applications that are bad only with today's router, and the
/// applications that are bad with the better router. Of the applications that are bad with the
/// better router, those that get worse than today are named separately.
fn both(known: &Evidence, today: &Case, better: &Case) -> String {
    let is_worse =
        |then: &&Report| today.verdict(&then.app).is_some_and(|now| got_worse(now, then));
    let (worse, same): (Vec<_>, Vec<_>) = better.bad().partition(is_worse);
    let helped = named(known, today, served_by(today, better));
    let same = others(named(known, better, same.into_iter()), &helped);
    let worse = others(named(known, better, worse.into_iter()), &[&helped[..], &same].concat());
    let mut parts = Vec::new();
    if !same.is_empty() {
        parts.push(format!("{} even so", suffering(&same)));
    }
    if !worse.is_empty() {
        parts.push(format!("{} more than today", suffering(&worse)));
    }
    format!("a better router helps {}, but {}", listed(&helped), parts.join(", and "))
}

/// Returns `names` with "another of" for "one of" if the names `before` already contain one of the
/// same applications.
fn others(names: Vec<String>, before: &[String]) -> Vec<String> {
    let other = |name: String| match name.strip_prefix("one of ") {
        Some(of) if before.contains(&name) => format!("another of {of}"),
        _ => name,
    };
    names.into_iter().map(other).collect()
}

/// Returns a text that names the applications that are bad with both routers. If there are none,
/// the text names the bad applications of each router.
fn either(known: &Evidence, today: &Case, better: &Case) -> String {
    let in_both = better
        .bad()
        .filter(|then| today.verdict(&then.app).is_some_and(|now| now.word == Word::Bad));
    let names = named(known, better, in_both);
    if names.is_empty() {
        let [now, then] = [today, better].map(|case| suffering(&named(known, case, case.bad())));
        format!("{now} today, and {then} with a better router")
    } else {
        format!("{} with either router", suffering(&names))
    }
}

fn suffering(names: &[String]) -> String {
    format!("{} {}", listed(names), agreeing(names, "suffers", "suffer"))
}

fn tolerable(names: &[String]) -> String {
    format!("{} {} only tolerable", listed(names), agreeing(names, "is", "are"))
}
