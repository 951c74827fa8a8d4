//! The facts of a conclusion, which its sentences state.

use aqmlab_verdict::Word;
use schemars::JsonSchema;
use serde::Serialize;

/// The sufficient tiers, the better gateway, its gains and its costs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conclusion {
    /// The number of seeds of the case with the fewest seeds.
    pub seeds: usize,
    /// The fastest tested tier.
    pub fastest: String,
    /// The gateways with their sufficient tiers, today's gateway first.
    pub gateways: Vec<GatewayResult>,
    /// The tier at which gateways are compared. It is today's tier, if the household has a tier.
    /// Otherwise it is the slowest sufficient tier of the better gateway or, without a better
    /// gateway, of today's gateway. If no tier suffices, it is the fastest tier.
    pub compared_at: String,
    /// The first applications that today's gateway does not serve at the tier `compared_at`. Each
    /// has a sentence, so their number is limited.
    pub spoiled: Vec<Spoiled>,
    /// The recommended gateway, if one is better than today's.
    pub better: Option<Better>,
    /// The interactive applications that improve most with the better gateway. They are bad or
    /// tolerable today; bad applications come first.
    pub gains: Vec<Gain>,
    /// The transfers that keep the smallest shares of their rates, with their rates under both
    /// gateways.
    pub costs: Vec<Cost>,
}

/// The recommended gateway. It serves the household better at the tier `compared_at`, or it only
/// lets a slower tier suffice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Better {
    /// The gateway's name, as in [`GatewayResult::name`].
    pub name: String,
    /// The tier for which the gateway is set up. It is the tier `compared_at` if the gateway serves
    /// the household better there, and otherwise the gateway's slowest sufficient tier.
    pub tier: String,
    /// Whether the household needs no other gateway at the tier `compared_at`, and this gateway
    /// only lets the slower tier `tier` suffice. There are then no gains and no costs.
    pub is_for_slower_tier: bool,
}

/// A gateway with the tiers that suffice.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GatewayResult {
    /// The gateway's name.
    pub name: String,
    /// A noun phrase for the gateway, such as "today's router". Sentences put it after "with".
    pub title: String,
    /// The slowest tested tier at which applications were judged and none of them is bad.
    pub served: Option<String>,
    /// The slowest tested tier at which applications were judged and all of them are good.
    pub well: Option<String>,
    /// The applications that are tolerable and not good at the tier `served`, in plain words.
    pub tolerable: Vec<String>,
    /// The next slower tested tier than `served`, which does not suffice. `None` if no slower tier
    /// was tested, or if no tier suffices.
    pub failed: Option<String>,
    /// The applications that are bad at the tier `failed`, in plain words. If no tier suffices,
    /// these are the applications that are bad at the fastest tier.
    pub failing: Vec<String>,
    /// The tiers slower than `served` that suffice for some applications by the median of their
    /// round-trip times. If `served` is `None`, these are tiers of any speed.
    pub by_median: Vec<ByMedian>,
    /// The number of seeds in which everyone is served at the tier `served`.
    pub seeds_served: usize,
    /// The tested tiers that are faster than `served` and, against expectation, do not serve
    /// everyone.
    pub exceptions: Vec<String>,
    /// The tiers at which more applications are bad than at the next slower tier, or equally many
    /// are bad and more are not good.
    pub setbacks: Vec<Setback>,
    /// The numbers of applications with each verdict, at each tested tier.
    pub tiers: Vec<TierCount>,
}

/// The numbers of applications with each verdict at a tier.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TierCount {
    /// The name of the tier.
    pub tier: String,
    /// The number of applications that can be judged.
    pub judged: usize,
    /// The number of judged applications that are not bad.
    pub served: usize,
    /// The number of judged applications that are good.
    pub good: usize,
    /// The worst verdict on a judged application; `no data` without a judged application.
    pub word: Word,
    /// The number of seeds in which applications were judged and none of them is bad.
    pub seeds_served: usize,
}

/// A tier that suffices for some applications by the median of their round-trip times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ByMedian {
    /// The applications in plain words.
    pub apps: Vec<String>,
    /// The slowest tested tier that suffices for these applications by the median.
    pub tier: String,
}

/// A tier at which applications have worse verdicts than at the next slower tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setback {
    /// The name of the tier.
    pub tier: String,
    /// The next slower tested tier.
    pub slower: String,
    /// The applications with a worse verdict than at the slower tier, in plain words.
    pub apps: Vec<String>,
}

/// An application, or several with one description, that today's gateway does not serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spoiled {
    /// The application in plain words, with its user.
    pub app: String,
    /// The effect that a person notices, as a clause; empty if none is known.
    pub felt: String,
    /// The measured numbers, each with the limit that it misses, and the notes of the verdict. Of
    /// several applications, these are the numbers of the first.
    pub because: String,
}

/// The round-trip times of an interactive application under both gateways.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// The application in plain words.
    pub app: String,
    /// The 95th percentile of the round-trip times under today's gateway, in milliseconds.
    pub today_ms: f64,
    /// The 95th percentile of the round-trip times under the better gateway, in milliseconds.
    pub better_ms: f64,
}

/// The rates of a bulk transfer under both gateways.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The application in plain words.
    pub app: String,
    /// The transfer's rate under today's gateway, in Mbit/s.
    pub today_mbit: f64,
    /// The transfer's rate under the better gateway, in Mbit/s.
    pub better_mbit: f64,
}
