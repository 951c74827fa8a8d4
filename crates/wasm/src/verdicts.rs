//! Judges the applications of a scenario over its seeds.

use aqmlab_sim::Outcome;
use aqmlab_trial::{Spec, SpecError};
use aqmlab_verdict::{Judge, Stated, Trial, Verdict, Word, rows};
use serde_json::{Value, json};

/// Returns the verdict on each application, over the trials of one scenario.
///
/// # Errors
///
/// If the judging crate cannot read the trial that was run.
pub(crate) fn over_seeds(trials: &[(Spec, Outcome)]) -> Result<Value, SpecError> {
    Ok(judged(trials)?.iter().map(told).collect())
}

/// Returns whether no application of a trial is judged as bad.
///
/// # Errors
///
/// If [`over_seeds`] would return an error.
pub(crate) fn serves(trial: &(Spec, Outcome)) -> Result<bool, SpecError> {
    let verdicts = judged(std::slice::from_ref(trial))?;
    Ok(verdicts.iter().all(|verdict| verdict.word() != Word::Bad))
}

fn judged(trials: &[(Spec, Outcome)]) -> Result<Vec<Verdict>, SpecError> {
    let mut judge = Judge::default();
    for (spec, outcome) in trials {
        let problem = |problem: String| SpecError::new("verdicts", problem);
        let text = serde_json::to_string(spec).map_err(|error| problem(error.to_string()))?;
        let trial = Trial::parse(&text).map_err(problem)?;
        let (flows, apps) = rows::of_tables(&outcome.tables);
        judge.add((0, spec.seed), &trial, (&flows, &apps), &Stated::default());
    }
    Ok(judge.verdicts())
}

fn told(verdict: &Verdict) -> Value {
    json!({
        "app": verdict.app,
        "verdict": verdict.word().text(),
        "because": verdict.because(),
        "felt": verdict.felt(),
    })
}
