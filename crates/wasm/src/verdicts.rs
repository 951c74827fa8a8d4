//! STAND-IN for `crates/verdict`: rough verdicts on applications, until that crate is here.
//!
//! It judges fewer measures than `aqmlab run` does. Only this file changes when it is replaced.

use aqmlab_sim::Outcome;
use aqmlab_trial::spec::Named;
use aqmlab_trial::{Column, Spec, Table};
use serde_json::{Value, json};

/// A measure that an application needs: limits of good and of tolerable, and what people notice.
struct Need {
    name: &'static str,
    measure: &'static str,
    good: f64,
    tolerable: f64,
    unit: &'static str,
    felt: [&'static str; 3],
}

const fn need(
    name: &'static str,
    measure: &'static str,
    [good, tolerable]: [f64; 2],
    unit: &'static str,
    felt: [&'static str; 3],
) -> Need {
    Need { name, measure, good, tolerable, unit, felt }
}

fn needs(kind: &str) -> Vec<Need> {
    let talk = [
        "like sitting in one room",
        "people start to talk over each other",
        "nobody can talk like this",
    ];
    let play =
        ["it answers at once", "the game feels heavy", "shots land where nobody is any more"];
    let watch =
        ["it plays without a pause", "it pauses now and then", "it stops to load again and again"];
    let read =
        ["pages are there before one wonders", "pages take their time", "one gives up on pages"];
    let arrive =
        ["everything arrives in time", "some of it arrives late", "much of it arrives too late"];
    let sense =
        ["its readings are current", "its readings are a little old", "its readings are stale"];
    match kind {
        "voip" | "voip_g729" => vec![
            need("opinion score", "mos", [-4.0, -3.6], "", talk),
            need("round trips", "rtt", [150.0, 400.0], "ms", talk),
        ],
        "video_call" | "webrtc_call" => vec![
            need("round trips", "rtt", [150.0, 400.0], "ms", talk),
            need(
                "loss",
                "loss",
                [1.0, 3.0],
                "%",
                [
                    "the picture is clear",
                    "the picture breaks now and then",
                    "the picture breaks up",
                ],
            ),
        ],
        "game" => vec![
            need("round trips", "rtt", [100.0, 200.0], "ms", play),
            need("loss", "loss", [1.0, 5.0], "%", play),
        ],
        "dash" | "audio_stream" => {
            vec![need("time stalled", "stalled_percent", [0.0, 1.0], "%", watch)]
        }
        "web" => vec![need("page loads", "plt_p50_ms", [2000.0, 4000.0], "ms", read)],
        "bursts" | "notification" | "photo_upload" => {
            vec![need("late", "late_percent", [0.0, 5.0], "%", arrive)]
        }
        "mqtt" | "telemetry" | "iot_low" | "iot_high" => {
            vec![need("round trips", "rtt", [250.0, 1000.0], "ms", sense)]
        }
        _ => Vec::new(),
    }
}

/// The verdict on each application, over the trials of one scenario. The stand-in takes the first.
pub(crate) fn over_seeds(trials: &[(Spec, Outcome)]) -> Value {
    trials.first().map_or(Value::Null, of)
}

/// Whether no application of a trial is badly off.
pub(crate) fn serves(trial: &(Spec, Outcome)) -> bool {
    of(trial).as_array().is_some_and(|all| all.iter().all(|one| one["verdict"] != "bad"))
}

fn of((spec, outcome): &(Spec, Outcome)) -> Value {
    spec.apps.iter().map(|app| judge(&app.name, app.app.kind.name(), outcome)).collect()
}

fn judge(app: &str, kind: &str, outcome: &Outcome) -> Value {
    let words = ["good", "tolerable", "bad"];
    let judged = needs(kind).into_iter().filter_map(|need| {
        let value = measured(app, need.measure, outcome)?;
        let grade = usize::from(value > need.good) + usize::from(value > need.tolerable);
        Some((grade, value, need))
    });
    let worst = judged.reduce(|worst, one| if one.0 > worst.0 { one } else { worst });
    let Some((grade, value, need)) = worst else {
        return json!({"app": app, "verdict": "no needs", "because": "", "felt": ""});
    };
    let limit = if grade == 2 { need.tolerable } else { need.good };
    let sign = if grade == 0 { "≤" } else { ">" };
    let because = format!("{} {:.4} {} {sign} {}", need.name, value.abs(), need.unit, limit.abs());
    json!({"app": app, "verdict": words[grade], "because": because, "felt": need.felt[grade]})
}

/// The worst value of a measure; opinion scores are negative, so that more is worse.
fn measured(app: &str, measure: &str, outcome: &Outcome) -> Option<f64> {
    let flow = |column| worst(outcome.table("flows")?, "flow", app, column);
    match measure {
        "rtt" => flow("rtt_p95_ms"),
        "loss" => flow("loss_percent"),
        "mos" => ["mos_up", "mos_down"]
            .into_iter()
            .filter_map(|one| own(app, one, outcome))
            .map(|mos| -mos)
            .reduce(f64::max),
        own_measure => own(app, own_measure, outcome),
    }
}

fn own(app: &str, metric: &str, outcome: &Outcome) -> Option<f64> {
    let table = outcome.table("apps")?;
    let (Column::Word(metrics, words), Column::Word(flows, names), Column::Float(values)) =
        (table.column("metric")?, table.column("flow")?, table.column("value")?)
    else {
        return None;
    };
    let rows = (0..values.len())
        .filter(|&row| words[metrics[row] as usize] == metric && names[flows[row] as usize] == app);
    rows.map(|row| values[row]).filter(|value| value.is_finite()).reduce(f64::max)
}

fn worst(table: &Table, key: &str, name: &str, column: &str) -> Option<f64> {
    let (Column::Word(rows, words), Column::Float(values)) =
        (table.column(key)?, table.column(column)?)
    else {
        return None;
    };
    let values = rows.iter().zip(values).filter(|(row, _)| words[**row as usize] == name);
    values.map(|(_, value)| *value).filter(|value| value.is_finite()).reduce(f64::max)
}
