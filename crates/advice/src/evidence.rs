//! The runs on which the advice rests.

use aqmlab_verdict::{FindingReport, MeasureName, Report, Service, Word};
use serde::Deserialize;

use crate::words;

/// The tiers, the gateways, and the verdicts of the cases that were run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The names of the tiers, from slow to fast.
    pub tiers: Vec<String>,
    /// The present tier of the household, if it has one.
    pub today_tier: Option<String>,
    /// Descriptions of the applications for people. An application without a description is called
    /// by its name.
    pub apps: Vec<App>,
    /// The gateways with their cases, today's gateway first.
    pub gateways: Vec<Candidate>,
}

/// The description of an application for people.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// The application's name in the scenario.
    pub name: String,
    /// The person who uses the application; empty for a device that belongs to nobody.
    pub who: String,
    /// The activity with its article, such as "a video meeting".
    pub title: String,
}

/// A gateway with the cases that were run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The gateway's name.
    pub name: String,
    /// A noun phrase for the gateway, such as "today's router". Sentences put it after "with".
    pub title: String,
    /// Whether a household can set up the gateway without its provider.
    pub is_at_home: bool,
    /// The cases that were run, from slow to fast.
    pub cases: Vec<Case>,
}

/// The verdicts on all applications at one tier with one gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of the tier.
    pub tier: String,
    /// The verdict on each application.
    pub verdicts: Vec<Report>,
}

impl Evidence {
    /// Returns the position of a tier from slow to fast. An unknown tier comes last.
    pub(crate) fn order(&self, tier: &str) -> usize {
        self.tiers.iter().position(|known| known == tier).unwrap_or(self.tiers.len())
    }

    /// Returns the description of an application for people, or its name if it has no description.
    pub(crate) fn words(&self, app: &str) -> String {
        let known = self.apps.iter().find(|known| known.name == app);
        known.map_or_else(|| app.to_owned(), |known| words::owned(&known.who, &known.title))
    }

    /// Returns the gateway with a name, if there is one.
    pub(crate) fn gateway(&self, name: &str) -> Option<&Candidate> {
        self.gateways.iter().find(|gateway| gateway.name == name)
    }

    /// Returns whether two applications have the same description and the same kind.
    pub(crate) fn are_copies(&self, one: &Report, other: &Report) -> bool {
        one.kind == other.kind && self.words(&one.app) == self.words(&other.app)
    }

    /// Returns the smallest number of seeds of any case; zero without cases.
    pub(crate) fn seeds(&self) -> usize {
        let cases = self.gateways.iter().flat_map(|gateway| &gateway.cases);
        cases.map(|case| case.seeds().len()).min().unwrap_or(0)
    }
}

impl Candidate {
    /// Returns the case of a tier, if it was run.
    pub(crate) fn at(&self, tier: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.tier == tier)
    }
}

impl Case {
    /// Returns the verdicts on the applications that are bad.
    pub(crate) fn bad(&self) -> impl Iterator<Item = &Report> {
        self.verdicts.iter().filter(|verdict| verdict.word == Word::Bad)
    }

    /// Returns the verdicts on the applications that are tolerable.
    pub(crate) fn tolerable(&self) -> impl Iterator<Item = &Report> {
        self.verdicts.iter().filter(|verdict| verdict.word == Word::Tolerable)
    }

    /// Returns the numbers of applications with each verdict.
    pub(crate) fn service(&self) -> Service {
        Service::of(self.verdicts.iter().map(|verdict| verdict.word))
    }

    /// Returns whether applications were judged and none of them is bad.
    pub(crate) fn serves(&self) -> bool {
        self.service().serves()
    }

    /// Returns the verdict on the application `app`, if there is one.
    pub(crate) fn verdict(&self, app: &str) -> Option<&Report> {
        self.verdicts.iter().find(|verdict| verdict.app == app)
    }

    /// Returns the seeds that were run.
    fn seeds(&self) -> Vec<u64> {
        let words = self.verdicts.first().map_or(&[][..], |verdict| &verdict.words_by_seed);
        words.iter().map(|(seed, _)| *seed).collect()
    }

    /// Returns the number of seeds, among the first `most`, in which applications were judged and
    /// none of them is bad.
    pub(crate) fn seeds_served(&self, most: usize) -> usize {
        let serves = |seed: &u64| {
            let words = self.verdicts.iter().flat_map(|verdict| &verdict.words_by_seed);
            Service::of(words.filter(|(of, _)| of == seed).map(|(_, word)| *word)).serves()
        };
        self.seeds().iter().take(most).filter(|seed| serves(seed)).count()
    }
}

/// Returns whether an application got worse: its verdict `then` is worse than its verdict `now`, or
/// is farther beyond a limit that both verdicts miss.
pub(crate) fn got_worse(now: &Report, then: &Report) -> bool {
    let is_farther = |missed: &FindingReport| {
        let before = now.findings.iter().find(|finding| finding.need == missed.need);
        before.is_some_and(|before| before.word == Word::Bad && missed.margin < before.margin)
    };
    let mut missed = then.findings.iter().filter(|finding| finding.word == Word::Bad);
    is_worse_than(then, now) || missed.any(is_farther)
}

/// Returns whether both applications were judged and the verdict `one` is worse than `other`.
pub(crate) fn is_worse_than(one: &Report, other: &Report) -> bool {
    one.word.is_worse_than(other.word)
}

/// Returns whether the application is a transfer.
pub(crate) fn is_transfer(verdict: &Report) -> bool {
    aqmlab_verdict::is_transfer(&verdict.kind)
}

/// Returns the limit of an application's tolerable round-trip times in milliseconds, if the
/// application misses only the need for short round trips.
pub(crate) fn round_trip_limit(verdict: &Report) -> Option<f64> {
    let mut missed = verdict.findings.iter().filter(|finding| finding.word == Word::Bad);
    let first = missed.next().filter(|finding| finding.measure == MeasureName::RoundTrip)?;
    missed.next().is_none().then_some(first.tolerable)
}
