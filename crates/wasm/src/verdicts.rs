//! Verdicts on the applications of a trial, by the crate `verdict`.

use aqmlab_sim::Outcome;
use aqmlab_trial::Spec;
use aqmlab_verdict::{Judge, Stated, Trial, rows};
use serde_json::{Value, json};

/// The verdict on each application of a trial, in the order of the trial.
pub(crate) fn of(spec: &Spec, outcome: &Outcome) -> Value {
    let trial = serde_json::to_string(spec).map_err(|error| error.to_string());
    let Ok(trial) = trial.and_then(|text| Trial::parse(&text)) else { return json!([]) };
    let (flows, apps) = rows::of_tables(&outcome.tables);
    let mut judge = Judge::default();
    judge.add((0, spec.seed), &trial, (&flows, &apps), &Stated::default());
    let verdicts = judge.verdicts().into_iter().map(|one| {
        json!({
            "app": one.app,
            "verdict": one.word().text(),
            "because": one.because(),
            "felt": one.felt(),
        })
    });
    verdicts.collect()
}
