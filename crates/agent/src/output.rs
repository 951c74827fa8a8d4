//! The result as JSON: columns with their types, exact numbers, and `null` for "no value".

use aqmlab_trial::{Column, Table};
use serde_json::{Map, Value, json};

use crate::tables::View;

/// Returns the result of a trial, on one line. `captures` holds the lengths in bytes of the
/// captures, which are sent separately.
pub(crate) fn result(view: &View<'_>, release: &str, captures: Option<[usize; 2]>) -> String {
    let tables: Map<String, Value> =
        view.tables().iter().map(|(name, table)| ((*name).into(), columns(table))).collect();
    let whole = json!({
        "digest": view.measured.digest.to_string(),
        "packets": view.measured.packets,
        "kernel": release,
        "captures": captures,
        "tables": tables,
    });
    format!("{whole}\n")
}

/// Returns the text that replaces a result if the trial was refused or has failed.
pub(crate) fn failure(refused: bool, problem: &str) -> String {
    let key = if refused { "refused" } else { "failed" };
    format!("{}\n", json!({ key: problem }))
}

/// Returns the columns as a list, because their order matters. Each column has its name, its type
/// and its values.
fn columns(table: &Table) -> Value {
    let each = table.columns.iter().map(|(name, column)| {
        let (kind, values) = match column {
            Column::Float(values) => ("float", json!(values)),
            Column::Count(values) => ("count", json!(values)),
            Column::Flag(values) => ("flag", json!(values)),
            Column::Word(indices, words) => ("word", json!([indices, words])),
        };
        json!([name, kind, values])
    });
    each.collect()
}
