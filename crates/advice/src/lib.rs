//! Advice on a gateway as text: the commands that set up the gateway, and the conclusion in
//! sentences.
//!
//! A tier is a speed that a provider offers. A case is a household at one tier with one gateway. A
//! case serves an application if the application's verdict is good or tolerable. A tier suffices if
//! it serves all applications that can be judged.
//!
//! Every function is pure: its inputs are verdicts, numbers and names, and its output is text. The
//! command line and the page call the same functions, so both show the same text. [`settings`] and
//! [`advice`] read JSON, because both callers already have it.
//!
//! | Module       | Holds                                                              |
//! |--------------|--------------------------------------------------------------------|
//! | `evidence`   | the runs on which the advice rests                                 |
//! | `conclusion` | the sufficient tiers, and the better gateway's gains and costs     |
//! | `choice`     | the better gateway                                                 |
//! | `facts`      | the facts of a conclusion                                          |
//! | `sentences`  | the conclusion as sentences                                        |
//! | `headline`   | the answer in one sentence: the router, the speed, or both         |
//! | `device`     | the gateway to set up                                              |
//! | `linux`, `openwrt`, `dummynet` | the commands for three systems                   |
//! | `cake`       | CAKE in the words of `tc` and of sqm-scripts                       |
//! | `words`      | numbers and lists in the form for people                           |

mod cake;
mod choice;
mod conclusion;
mod device;
mod dummynet;
mod evidence;
mod facts;
mod headline;
mod linux;
mod openwrt;
mod sentences;
#[cfg(test)]
mod testing;
mod words;

pub use device::{Bottleneck, Framing, Gateway, Setting};
pub use evidence::{App, Candidate, Case, Evidence};
pub use facts::{
    Better, ByMedian, Conclusion, Cost, Gain, GatewayResult, Setback, Spoiled, TierCount,
};
pub use headline::{Cause, Headline};
pub use sentences::{About, Sentence};
pub use words::owned;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

/// The commands that set up one gateway, for three systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// `tc` and `ip` commands for a Linux gateway: HTB with a discipline, or CAKE alone. For
    /// arriving packets, the discipline is on an IFB.
    pub tc: String,
    /// `uci` commands for OpenWrt with the package `sqm-scripts`.
    pub uci: String,
    /// `dnctl` and `ipfw` commands for FreeBSD and OPNsense.
    pub dnctl: String,
}

/// Returns the commands for `gateway`.
pub fn settings_of(gateway: &Gateway) -> Settings {
    Settings {
        tc: linux::commands(gateway),
        uci: openwrt::commands(gateway),
        dnctl: dummynet::commands(gateway),
    }
}

/// Returns the commands for a gateway as JSON, from a [`Gateway`] as JSON.
///
/// # Errors
///
/// Returns the reason if `gateway` is not the JSON of a gateway.
pub fn settings(gateway: &str) -> Result<String, String> {
    let gateway: Gateway = serde_json::from_str(gateway).map_err(|error| error.to_string())?;
    serde_json::to_string(&settings_of(&gateway)).map_err(|error| error.to_string())
}

/// The advice: the facts, and the texts that state them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// The facts from the runs.
    pub conclusion: Conclusion,
    /// The answer in one sentence; `None` unless both compared gateways were run at
    /// [`Conclusion::compared_at`].
    pub headline: Option<Headline>,
    /// The facts as sentences.
    pub sentences: Vec<Sentence>,
}

/// Returns the advice that follows from the runs in `evidence`.
///
/// The headline compares today's gateway with the better gateway. If no gateway is better at
/// [`Conclusion::compared_at`], the headline compares today's gateway with the other gateway that
/// has the fewest bad applications there. If several gateways have equally few, the gateway with
/// the fewest applications that are not good is compared.
pub fn advice_from(evidence: &Evidence) -> Advice {
    let conclusion = conclusion::of(evidence);
    Advice {
        headline: headline::of(evidence, &conclusion),
        sentences: sentences::of(&conclusion),
        conclusion,
    }
}

/// Returns the advice as JSON, from an [`Evidence`] as JSON.
///
/// # Errors
///
/// Returns the reason if `evidence` is not the JSON of an [`Evidence`].
pub fn advice(evidence: &str) -> Result<String, String> {
    let evidence: Evidence = serde_json::from_str(evidence).map_err(|error| error.to_string())?;
    serde_json::to_string(&advice_from(&evidence)).map_err(|error| error.to_string())
}

/// Returns the JSON Schema of an [`Advice`].
pub fn json_schema() -> serde_json::Value {
    SchemaSettings::default()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Advice>()
        .into()
}
