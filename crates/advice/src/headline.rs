//! The answer in one sentence: the router, the speed, or both.

use aqmlab_verdict::{Report, Word};
use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::named;
use crate::evidence::{Case, Evidence, got_worse};
use crate::words::listed;

/// The cause of an unsatisfactory service at a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Today's gateway at this tier is enough.
    Fine,
    /// Today's gateway: at this tier, only the other gateway is enough, or both are enough and only
    /// the other gateway makes everything good.
    Gateway,
    /// The tier: with the other gateway, no fewer applications are bad.
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

/// Returns the answer at a tier, from the cases of today's gateway and the gateway `other`. Returns
/// `None` unless both gateways were run at this tier.
pub(crate) fn of(known: &Evidence, tier: &str, other: &str) -> Option<Headline> {
    let now = known.gateways.first()?;
    let then = known.gateways.iter().find(|gateway| gateway.name == other)?;
    let (today, better) = (now.at(tier)?, then.at(tier)?);
    for (gateway, case) in [(now, today), (then, better)] {
        if case.service().judged == 0 {
            let text = format!("At {tier}, nothing was measured with {}.", gateway.title);
            return Some(Headline { kind: Cause::Open, text });
        }
    }
    let (kind, text) = match (today.serves(), better.serves()) {
        (true, _) if today.service().is_well() => {
            (Cause::Fine, "everything is good with the router that you have".to_owned())
        }
        (true, true) if better.service().is_well() => (
            Cause::Gateway,
            "nobody is badly off today, and a better router makes everything good".to_owned(),
        ),
        (true, _) => (Cause::Fine, "nobody is badly off with the router that you have".to_owned()),
        (false, true) => {
            let suffer = suffering(&named(known, today.bad()));
            (Cause::Gateway, format!("it is your router, not your speed: {suffer}"))
        }
        (false, false) if better.bad().count() < today.bad().count() => (
            Cause::Both,
            format!("it is both your router and your speed: {}", both(known, today, better)),
        ),
        (false, false) => {
            (Cause::Tier, format!("it is your speed: {}", either(known, today, better)))
        }
    };
    Some(Headline { kind, text: format!("At {tier}, {text}.") })
}

/// Returns a text that names the applications that are bad only with today's router, and the
/// applications that are bad with the better router. Of the applications that are bad with the
/// better router, those that get worse than today are named separately.
fn both(known: &Evidence, today: &Case, better: &Case) -> String {
    let helped = today
        .bad()
        .filter(|now| better.verdict(&now.app).is_some_and(|then| then.word != Word::Bad));
    let is_worse =
        |then: &&Report| today.verdict(&then.app).is_some_and(|now| got_worse(now, then));
    let (worse, same): (Vec<_>, Vec<_>) = better.bad().partition(is_worse);
    let mut parts = vec![format!("a better router helps {}", listed(&named(known, helped)))];
    if !same.is_empty() {
        parts.push(format!("{} even so", suffering(&named(known, same.into_iter()))));
    }
    if !worse.is_empty() {
        let names = named(known, worse.into_iter());
        parts.push(format!("{} more than today", suffering(&names)));
    }
    let last = parts.split_off(1).join(", and ");
    format!("{}, but {last}", parts[0])
}

/// Returns a text that names the applications that are bad with both routers. If there are none,
/// the text names the bad applications of each router.
fn either(known: &Evidence, today: &Case, better: &Case) -> String {
    let in_both = better
        .bad()
        .filter(|then| today.verdict(&then.app).is_some_and(|now| now.word == Word::Bad));
    let names = named(known, in_both);
    if names.is_empty() {
        let [now, then] = [today, better].map(|case| suffering(&named(known, case.bad())));
        format!("{now} today, and {then} with a better router")
    } else {
        format!("{} with either router", suffering(&names))
    }
}

fn suffering(names: &[String]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "suffers" } else { "suffer" })
}
