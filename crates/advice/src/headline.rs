//! The answer in one sentence: the gateway, the tier, or both.

use aqmlab_verdict::Report;
use serde::Serialize;

use crate::conclusion::named;
use crate::evidence::{Case, Evidence};
use crate::words::listed;

/// The answer in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// The cause: `fine`, `gateway`, `tier` or `both`.
    pub kind: &'static str,
    /// The sentence.
    pub text: String,
}

/// Returns the answer at a tier, from today's gateway and another. Returns `None` unless both were
/// run there.
pub(crate) fn of(known: &Evidence, tier: &str, other: &str) -> Option<Headline> {
    let today = known.gateways.first()?.at(tier)?;
    let better = known.gateways.iter().find(|gateway| gateway.name == other)?.at(tier)?;
    let suffer = |case: &Case| suffering(known, case.bad());
    let (kind, text) = match (today.serves(), better.serves()) {
        (true, true) if today.not_good() > 0 && better.not_good() == 0 => (
            "gateway",
            "what you have serves everyone, and a better gateway serves them well".to_owned(),
        ),
        (true, _) => ("fine", "what you have serves everyone".to_owned()),
        (false, true) => {
            ("gateway", format!("it is your gateway, not your tier: {}", suffer(today)))
        }
        (false, false) if better.bad().count() < today.bad().count() => {
            ("both", format!("it is both: a better gateway helps, but {} even so", suffer(better)))
        }
        (false, false) => {
            ("tier", format!("it is your tier: {} with either gateway", suffer(better)))
        }
    };
    Some(Headline { kind, text: format!("At {tier}, {text}.") })
}

fn suffering<'a>(known: &Evidence, bad: impl Iterator<Item = &'a Report>) -> String {
    let names = named(known, bad);
    format!("{} {}", listed(&names), if names.len() == 1 { "suffers" } else { "suffer" })
}
