//! The requests of a web page and their answers.

use aqmlab_compose::Composed;
use aqmlab_trial::{Spec, SpecError, Table};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{json, verdicts};

/// A request, whose kind is the member `do`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Runs a resolved trial.
    Run {
        /// The trial, in the form of [`Spec`].
        spec: Value,
        /// The requested tables. An empty list requests all tables.
        #[serde(default)]
        tables: Vec<String>,
    },
    /// Composes the trial of a scenario, runs it and judges its applications.
    Trial {
        scenario: Scenario,
        /// The seeds of the runs. The answer contains the digest and the tables of the first seed.
        seeds: Vec<u64>,
        /// The requested tables. An empty list requests none.
        tables: Vec<String>,
    },
    /// Returns the advice that follows from the runs of a household.
    Advice {
        /// The runs, in the form of [`aqmlab_advice::Evidence`].
        evidence: Value,
    },
    /// Returns the commands that set up a gateway.
    Settings {
        /// The gateway, in the form of [`aqmlab_advice::Gateway`].
        gateway: Value,
    },
}

/// The text of a scenario. JSON is passed as text too, so that its members keep their order.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scenario {
    Json(String),
    Toml(String),
}

/// Returns the answer to the request in `text`, as a JSON object. The answer to a request that
/// fails contains the member `error` with the place and the problem.
pub fn answer(text: &str) -> String {
    let answer = read(text).and_then(|request| match request {
        Request::Run { spec, tables } => run(&spec, &tables),
        Request::Trial { scenario, seeds, tables } => trial(&scenario, &seeds, &tables),
        Request::Advice { evidence } => {
            advised("advice", aqmlab_advice::advice(&evidence.to_string()))
        }
        Request::Settings { gateway } => {
            advised("settings", aqmlab_advice::settings(&gateway.to_string()))
        }
    });
    let answer = answer.unwrap_or_else(
        |SpecError { at, problem }| json!({"error": {"at": at, "problem": problem}}),
    );
    answer.to_string()
}

fn read(text: &str) -> Result<Request, SpecError> {
    serde_json::from_str(text).map_err(|error| SpecError::new("request", error.to_string()))
}

fn run(spec: &Value, tables: &[String]) -> Result<Value, SpecError> {
    let spec = aqmlab_trial::parse(&spec.to_string())?;
    let outcome = aqmlab_sim::run(&spec)?;
    Ok(answered(&outcome, |name| tables.is_empty() || wanted(tables, name)))
}

fn trial(scenario: &Scenario, seeds: &[u64], tables: &[String]) -> Result<Value, SpecError> {
    let trials = seeds.iter().map(|&seed| {
        let composed = scenario.compose(seed)?;
        let outcome = aqmlab_sim::run(&composed.spec)?;
        Ok((composed, outcome))
    });
    let trials = trials.collect::<Result<Vec<_>, SpecError>>()?;
    let (composed, outcome) =
        trials.first().ok_or_else(|| SpecError::new("seeds", "no seed is given"))?;
    let mut told = answered(outcome, |name| wanted(tables, name));
    told["verdicts"] = json!(verdicts::over_seeds(&trials)?);
    told["links"] = links(&composed.spec);
    Ok(told)
}

impl Scenario {
    fn compose(&self, seed: u64) -> Result<Composed, SpecError> {
        match self {
            Self::Json(text) => aqmlab_compose::from_json(text, seed),
            Self::Toml(text) => aqmlab_compose::from_toml(text, seed),
        }
    }
}

/// Returns the JSON in `text` as the member `name` of an answer.
fn advised(name: &str, text: Result<String, String>) -> Result<Value, SpecError> {
    let value: Value = text
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(|problem| SpecError::new(name, problem))?;
    Ok(json!({ name: value }))
}

fn wanted(tables: &[String], name: &str) -> bool {
    tables.iter().any(|table| table == name)
}

fn answered(outcome: &aqmlab_sim::Outcome, is_wanted: impl Fn(&str) -> bool) -> Value {
    let wanted = |(name, _): &&(&'static str, Table)| is_wanted(name);
    let tables = outcome.tables.iter().filter(wanted);
    json!({
        "digest": outcome.digest.to_string(),
        "events": outcome.events,
        "packets": outcome.packets,
        "tables": json::tables(tables),
    })
}

/// Returns the name and the rate of each link.
fn links(spec: &Spec) -> Value {
    let links = spec.links.iter();
    links.map(|link| json!({"name": link.name, "rate_bps": link.rate_bps()})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = r#"{"duration": "5 s", "path": {"rate": "10/1 Mbit/s", "qdisc": "fq_codel"},
        "apps": {"call": {"kind": "voip"}, "backup": {"kind": "bulk", "direction": "up"}}}"#;

    fn answered(request: &Value) -> Value {
        serde_json::from_str(&answer(&request.to_string())).expect("an answer is JSON")
    }

    #[test]
    fn a_trial_of_a_scenario_equals_the_run_of_its_resolved_form() {
        let trial = answered(&json!({
            "do": "trial", "scenario": {"json": HOME}, "seeds": [3, 4], "tables": ["flows"]
        }));
        let spec = aqmlab_compose::from_json(HOME, 3).expect("it is a scenario").spec;
        let run = answered(&json!({"do": "run", "spec": spec, "tables": ["flows"]}));
        assert_eq!(trial["digest"], run["digest"]);
        assert_eq!(trial["tables"], run["tables"]);
        let judged = trial["verdicts"].as_array().expect("a list");
        let names: Vec<_> = judged.iter().map(|one| one["app"].as_str()).collect();
        assert_eq!(names, [Some("call"), Some("backup")]);
        assert_eq!(judged[0]["words_by_seed"], json!([[3, "good"], [4, "good"]]));
        assert_eq!(trial["links"][0], json!({"name": "up", "rate_bps": 1_000_000}));
    }

    #[test]
    fn a_scenario_that_cannot_be_run_is_answered_with_the_place_and_the_problem() {
        let wrong = HOME.replace("voip", "voi");
        let told = answered(&json!({
            "do": "trial", "scenario": {"json": wrong}, "seeds": [1], "tables": []
        }));
        assert_eq!(told["error"]["at"], "apps.call");
        let told = answered(&json!({
            "do": "trial", "scenario": {"toml": "duration = 5 s"}, "seeds": [1], "tables": []
        }));
        assert_eq!(told["error"]["at"], "line 1");
    }
}
