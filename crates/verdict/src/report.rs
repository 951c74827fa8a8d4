//! Verdicts as plain data, for callers in other languages.

use aqmlab_apps::needs::Measure;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Word};
use crate::medians::Medians;
use crate::quality::Quality;
use crate::statistics::{self, Estimate};
use crate::transfer::TransferTime;
use crate::verdict::Verdict;

/// A verdict as plain data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the members of `Verdict`
pub struct Report {
    pub condition: u32,
    pub app: String,
    pub kind: String,
    pub word: Word,
    pub because: String,
    pub felt: String,
    pub sentence: String,
    pub told: String,
    pub seeds: usize,
    pub words_by_seed: Vec<(u64, Word)>,
    pub time: Option<TransferTime>,
    pub medians: Medians,
    pub quality: Option<Quality>,
    pub findings: Vec<FindingReport>,
}

impl Verdict {
    /// Returns the verdict as plain data.
    pub fn report(&self) -> Report {
        let deciding = self.deciding().map(|finding| finding.need.name);
        let finding =
            |finding: &Finding| FindingReport::of(finding, deciding == Some(finding.need.name));
        let (felt, told) = (self.felt(), self.told());
        Report {
            condition: self.condition,
            app: self.app.clone(),
            kind: self.kind.clone(),
            word: self.word(),
            because: self.because(&told),
            sentence: self.sentence(&felt, &told),
            felt,
            told: told.join(", "),
            seeds: self.words_by_seed.len(),
            words_by_seed: self.words_by_seed.clone(),
            time: self.time,
            medians: self.medians,
            quality: self.quality.clone(),
            findings: self.findings.iter().map(finding).collect(),
        }
    }
}

/// A measured quantity as plain data: a [`Measure`] without the names of an application's own
/// metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the variants of `Measure`
pub enum MeasureName {
    Own,
    OneWayDelay,
    RoundTrip,
    Loss,
    FairShare,
    TransferTime,
    Rate,
}

impl From<Measure> for MeasureName {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Own(_) => Self::Own,
            Measure::OneWayDelay => Self::OneWayDelay,
            Measure::RoundTrip => Self::RoundTrip,
            Measure::Loss => Self::Loss,
            Measure::FairShare => Self::FairShare,
            Measure::TransferTime => Self::TransferTime,
            Measure::Rate => Self::Rate,
        }
    }
}

/// A finding as plain data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the members of `Finding`
pub struct FindingReport {
    pub need: String,
    pub measure: MeasureName,
    pub unit: String,
    pub value: Option<f64>,
    pub good: f64,
    pub tolerable: f64,
    pub more_is_better: bool,
    pub word: Word,
    pub margin: Option<f64>,
    pub decides: bool,
    pub brief: String,
    pub text: String,
    pub least: Option<f64>,
    pub most: Option<f64>,
    pub over_seeds: Option<Estimate>,
    /// Whether both ends of the median's interval have the same word; true without values.
    pub is_sure: bool,
    pub by_seed: statistics::BySeed,
}

impl FindingReport {
    fn of(finding: &Finding, decides: bool) -> Self {
        let (need, known) = (&finding.need, finding.known());
        Self {
            need: need.name.to_owned(),
            measure: need.measure.into(),
            unit: need.unit.to_owned(),
            value: finding.value,
            good: need.good,
            tolerable: need.tolerable,
            more_is_better: need.more_is_better,
            word: finding.word(),
            margin: finding.margin(),
            decides,
            brief: finding.brief(),
            text: finding.text(),
            least: known.iter().copied().reduce(f64::min),
            most: known.iter().copied().reduce(f64::max),
            over_seeds: statistics::estimate(&known),
            is_sure: finding.words_of_interval().is_none(),
            by_seed: finding.by_seed.clone(),
        }
    }
}

/// Returns the JSON Schema of a [`Report`].
pub fn json_schema() -> serde_json::Value {
    SchemaSettings::default()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Report>()
        .into()
}
