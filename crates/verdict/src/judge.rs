//! The collection of trials, and the needs that apply to each application.

use std::collections::BTreeMap;

use aqmlab_apps::kinds::needs_of;
use aqmlab_apps::needs::{Measure, Need};
use serde::Deserialize;

use crate::fair_share::{FairShare, Traffics};
use crate::finding::{Finding, Word};
use crate::measured::{Measured, is_speed};
use crate::medians::Medians;
use crate::quality::{Quality, Scores};
use crate::requirement::{Applied, StatedRequirement};
use crate::rows::{AppRow, FlowRow};
use crate::statistics::median;
use crate::transfer::TransferTime;
use crate::trial::{App, Trial};
use crate::verdict::{Verdict, deciding};

/// The need for any data at all. Only applications that received no data in at least one trial have
/// this finding.
const ARRIVED: Need = Need::from("data arrived", Measure::Own(&[]), [100.0, 100.0, 100.0], "%")
    .because("nothing arrives", "an application that gets nothing through is not served");

/// The needs that a scenario states, by application. Each replaces the corresponding needs of the
/// application's kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stated {
    /// The limits on round-trip times in milliseconds. They replace needs on delays.
    pub limits_ms: BTreeMap<String, f64>,
    /// The lowest sufficient rates in Mbit/s. They replace needs on the speed of transfers.
    pub rates_mbit: BTreeMap<String, f64>,
    /// The requirements for the Quality of Outcome. They replace the requirements of the kinds.
    pub requirements: BTreeMap<String, StatedRequirement>,
}

/// Collects the measurements of trials, and judges the applications.
#[derive(Debug, Default)]
pub struct Judge {
    /// The applications by condition, in the order in which the conditions were added.
    conditions: Vec<(u32, Vec<Judged>)>,
}

/// An application in one condition, with its needs and its values.
#[derive(Debug)]
struct Judged {
    app: String,
    kind: String,
    needs: Vec<Need>,
    requirement: Option<Applied>,
    seeds: Vec<Seed>,
}

/// The values of an application in one trial.
#[derive(Debug)]
struct Seed {
    number: u64,
    values: Vec<Option<f64>>,
    /// For each need, the value of the metric that can lower the need's limits.
    at_most: Vec<Option<f64>>,
    arrived: Option<f64>,
    share: Option<FairShare>,
    time: Option<TransferTime>,
    measured: Medians,
    scores: Option<Scores>,
}

impl Judge {
    /// Adds a trial of a condition with a seed, its specification, the rows of its tables and the
    /// needs that its scenario states. The first trial of an application in a condition determines
    /// the application's needs.
    pub fn add(
        &mut self,
        (condition, seed): (u32, u64),
        trial: &Trial,
        (flows, apps): (&[FlowRow], &[AppRow]),
        stated: &Stated,
    ) {
        let at = self.conditions.iter().position(|(known, _)| *known == condition);
        let at = at.unwrap_or_else(|| {
            self.conditions.push((condition, Vec::new()));
            self.conditions.len() - 1
        });
        let judged = &mut self.conditions[at].1;
        let traffics = Traffics::new(trial, flows, apps);
        for app in &trial.apps {
            let at = judged.iter().position(|known| known.app == app.name);
            let at = at.unwrap_or_else(|| {
                judged.push(Judged::new(app, stated));
                judged.len() - 1
            });
            let measured = Measured::of(trial, app, (flows, apps), &traffics);
            judged[at].add(seed, &measured);
        }
    }

    /// Returns the verdict on each application in each condition, in the order in which they were
    /// added.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let in_condition = |(condition, judged): &(u32, Vec<Judged>)| {
            judged.iter().map(|app| app.verdict(*condition)).collect::<Vec<_>>()
        };
        self.conditions.iter().flat_map(in_condition).collect()
    }
}

/// Returns the needs of an application. A stated limit on round-trip times replaces the kind's
/// needs on delays. A stated rate replaces the kind's needs on the fair share and on the time of a
/// transfer.
fn needs_for(app: &App, stated: &Stated) -> Vec<Need> {
    let mut needs = needs_of(&app.app.kind).map_or_else(Vec::new, |needs| needs.needs.to_vec());
    let source = "the scenario";
    if let Some(&limit) = stated.limits_ms.get(&app.name) {
        let is_delay =
            |need: &Need| matches!(need.measure, Measure::RoundTrip | Measure::OneWayDelay);
        let at = needs.iter().position(is_delay).unwrap_or(needs.len());
        let felt = needs.get(at).map_or("it answers too late", |need| need.felt);
        needs.retain(|need| !is_delay(need));
        let limits = [limit, limit];
        let need = Need::up_to("round trips", Measure::RoundTrip, limits, "ms");
        needs.insert(at.min(needs.len()), need.because(felt, source));
    }
    if let Some(&rate) = stated.rates_mbit.get(&app.name) {
        needs.retain(|need| !is_speed(need));
        let limits = [f64::INFINITY, rate, rate];
        let need = Need::from("rate", Measure::Rate, limits, "Mbit/s");
        needs.insert(0, need.because("it is too slow", source));
    }
    needs
}

impl Judged {
    fn new(app: &App, stated: &Stated) -> Self {
        let needs = needs_for(app, stated);
        let requirement = match stated.requirements.get(&app.name) {
            Some(stated) => stated.applied(),
            None => needs_of(&app.app.kind).and_then(|kind| kind.requirement).map(Applied::from),
        };
        let (name, kind) = (app.name.clone(), app.app.kind.clone());
        Self { app: name, kind, needs, requirement, seeds: Vec::new() }
    }

    fn add(&mut self, seed: u64, measured: &Measured) {
        let at_most = |need: &Need| need.at_most.and_then(|name| measured.own(name));
        let is_timed = |need: &Need| need.measure == Measure::TransferTime;
        // A time that is judged would otherwise appear twice.
        let is_judged = self.needs.iter().any(|one| is_timed(one) && measured.value(one).is_some());
        self.seeds.push(Seed {
            number: seed,
            values: self.needs.iter().map(|need| measured.value(need)).collect(),
            at_most: self.needs.iter().map(at_most).collect(),
            arrived: measured.arrived_percent(),
            share: measured.share,
            time: measured.time.filter(|time| time.projected || !is_judged),
            measured: Medians::of_trial(measured),
            scores: self.requirement.as_ref().map(|one| Scores::of(one, measured)),
        });
    }

    fn verdict(&self, condition: u32) -> Verdict {
        let alone = |seed: &Seed| {
            let findings = self.findings(std::slice::from_ref(seed));
            (seed.number, deciding(&findings).map_or(Word::NoNeeds, Finding::word))
        };
        let measured: Vec<_> = self.seeds.iter().map(|seed| seed.measured).collect();
        Verdict {
            condition,
            app: self.app.clone(),
            kind: self.kind.clone(),
            findings: self.findings(&self.seeds),
            words_by_seed: self.seeds.iter().map(alone).collect(),
            stated: needs_of(&self.kind),
            time: self.time(),
            share: self.share(),
            medians: Medians::over(&measured),
            quality: self.quality(),
        }
    }

    /// Returns the findings on the needs that apply, over `seeds`.
    fn findings(&self, seeds: &[Seed]) -> Vec<Finding> {
        let by_seed = |value: &dyn Fn(&Seed) -> Option<f64>| {
            seeds.iter().map(|seed| (seed.number, value(seed))).collect()
        };
        let findings = self.needs.iter().enumerate().map(|(at, need)| {
            let limits: Vec<f64> = seeds.iter().filter_map(|seed| seed.at_most[at]).collect();
            let need = median(&limits).map_or(*need, |most| scaled(need, most));
            Finding::new(need, by_seed(&|seed| seed.values[at]))
        });
        let mut findings: Vec<Finding> = findings.collect();
        if seeds.iter().any(|seed| seed.arrived.is_some_and(|percent| percent <= 0.0)) {
            findings.insert(0, Finding::new(ARRIVED, by_seed(&|seed| seed.arrived)));
        }
        findings
    }

    /// Returns the Quality of Outcome over seeds, if a requirement applies.
    fn quality(&self) -> Option<Quality> {
        let seeds = self.seeds.iter();
        let scores = seeds.filter_map(|seed| Some((seed.number, seed.scores.as_ref()?)));
        Quality::over(self.requirement.as_ref()?, &scores.collect::<Vec<_>>())
    }

    /// Returns the median, the shortest and the longest time of a transfer over seeds; `None` if no
    /// seed has a time. The result is marked as projected if the time of any seed is projected.
    fn time(&self) -> Option<TransferTime> {
        let times: Vec<TransferTime> = self.seeds.iter().filter_map(|seed| seed.time).collect();
        let all: Vec<f64> = times.iter().map(|time| time.ms).collect();
        Some(TransferTime {
            size_bytes: times.first()?.size_bytes,
            ms: median(&all)?,
            projected: times.iter().any(|time| time.projected),
            least_ms: all.iter().copied().reduce(f64::min)?,
            most_ms: all.iter().copied().reduce(f64::max)?,
        })
    }

    /// Returns the fair share with the median over seeds of each part; `None` if no seed has a fair
    /// share.
    fn share(&self) -> Option<FairShare> {
        let of = |part: fn(FairShare) -> f64| {
            median(&self.seeds.iter().filter_map(|seed| seed.share.map(part)).collect::<Vec<_>>())
        };
        Some(FairShare {
            got: of(|share| share.got)?,
            fair: of(|share| share.fair)?,
            unused: of(|share| share.unused)?,
        })
    }
}

/// Returns `need` with its best value and its limits scaled down, so that the best value is at most
/// `most`.
fn scaled(need: &Need, most: f64) -> Need {
    let scale = (most / need.best).min(1.0);
    Need {
        best: need.best * scale,
        good: need.good * scale,
        tolerable: need.tolerable * scale,
        ..*need
    }
}
