//! Judges the applications of a scenario over its seeds.

use aqmlab_compose::Composed;
use aqmlab_sim::Outcome;
use aqmlab_trial::SpecError;
use aqmlab_verdict::{Judge, Report, Stated, Trial, Verdict, rows};

/// Returns the verdict on each application, over the trials of one scenario.
///
/// # Errors
///
/// If `aqmlab_verdict` cannot read a trial that was run.
pub(crate) fn over_seeds(trials: &[(Composed, Outcome)]) -> Result<Vec<Report>, SpecError> {
    let mut judge = Judge::default();
    for (Composed { spec, limits_ms }, outcome) in trials {
        let problem = |problem: String| SpecError::new("verdicts", problem);
        let text = serde_json::to_string(spec).map_err(|error| problem(error.to_string()))?;
        let trial = Trial::parse(&text).map_err(problem)?;
        let (flows, apps) = rows::of_tables(&outcome.tables);
        let stated = Stated { limits_ms: limits_ms.clone(), ..Stated::default() };
        judge.add((0, spec.seed), &trial, (&flows, &apps), &stated);
    }
    Ok(judge.verdicts().iter().map(Verdict::report).collect())
}
