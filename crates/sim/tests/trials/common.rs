//! Trials for tests, in the form that Python passes to the core.

use aqmlab_sim::Outcome;
use aqmlab_trial::Column;
use serde_json::{Value, json};

/// Returns a trial of 20 s in a home. The rates `down` and `up` are in Mbit/s, and both directions
/// have the discipline `qdisc`.
pub(crate) fn home(down: f64, up: f64, qdisc: &Value, rtt_ms: u64, apps: &[Value]) -> Value {
    let link = |name: &str, mbit: f64| json!({"name": name, "rate_bps": (mbit * 1e6) as u64, "qdisc": qdisc});
    let apps: Vec<Value> = apps.iter().map(|app| with_routes(app, rtt_ms)).collect();
    json!({
        "seed": 1,
        "duration_ns": 20_000_000_000_u64,
        "links": [link("up", up), link("down", down)],
        "apps": apps,
        "host_jitter_ns": 20_000,
        "start_jitter_ns": 1_000_000,
    })
}

fn with_routes(app: &Value, rtt_ms: u64) -> Value {
    let mut app = app.clone();
    let delay_ns = rtt_ms * 500_000;
    for (way, link) in [("up", 0), ("down", 1)] {
        if app.get(way).is_none() {
            app[way] = json!({"links": [link], "delay_ns": delay_ns});
        }
    }
    app
}

/// Returns an application called `name` of the kind `kind`, which starts with the trial.
pub(crate) fn app(name: &str, kind: &str, params: &Value) -> Value {
    json!({"name": name, "app": {"kind": kind, "params": params}, "start_ns": 0})
}

/// Runs a trial.
pub(crate) fn run(spec: &Value) -> Outcome {
    aqmlab_sim::run(&aqmlab_trial::parse(&spec.to_string()).unwrap()).unwrap()
}

/// Returns a number from a table: the value of `column` in the first row whose columns have the
/// words in `row`.
pub(crate) fn number(outcome: &Outcome, table: &str, row: &[(&str, &str)], column: &str) -> f64 {
    let table = outcome.table(table).unwrap();
    let fits = |place: usize| {
        row.iter().all(|(name, want)| match table.column(name) {
            Some(Column::Word(indices, words)) => words[indices[place] as usize] == *want,
            _ => panic!("`{name}` is not a column of words"),
        })
    };
    let place = (0..table.rows()).find(|&place| fits(place)).expect("there is such a row");
    match table.column(column) {
        Some(Column::Float(values)) => values[place],
        Some(Column::Count(values)) => values[place] as f64,
        other => panic!("`{column}` is {other:?}"),
    }
}
