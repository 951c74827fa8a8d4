//! Requests of a page and their answers.

use aqmlab_trial::SpecError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::json;

/// A request, by the member `do`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Runs a resolved trial.
    Run {
        /// The trial, in the form of [`aqmlab_trial::Spec`].
        spec: Value,
        /// The tables wanted; all if there are none.
        #[serde(default)]
        tables: Vec<String>,
    },
}

/// The answer to the request in `text`: its members, or `error` with the place and the problem.
pub fn answer(text: &str) -> String {
    let answer = read(text).and_then(|request| match request {
        Request::Run { spec, tables } => run(&spec, &tables),
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
    Ok(json!({
        "digest": outcome.digest.to_string(),
        "events": outcome.events,
        "packets": outcome.packets,
        "tables": json::tables(&outcome.tables, tables),
    }))
}
