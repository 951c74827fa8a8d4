//! The rows of a trial's tables that judging reads.

use std::collections::BTreeSet;

use aqmlab_apps::kinds::all_needs;
use aqmlab_apps::needs::Measure;
use aqmlab_trial::{Column, Table};

use crate::transfer;

/// The numeric columns of the table `flows` that judging reads, in the order of
/// [`FlowRow::numbers`].
pub const FLOW_NUMBERS: [&str; 23] = [
    "active_from_s",
    "active_to_s",
    "throughput_mean_mbit",
    "goodput_mbit",
    "rtt_min_ms",
    "rtt_p10_ms",
    "rtt_p25_ms",
    "rtt_p50_ms",
    "rtt_p75_ms",
    "rtt_p90_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "rtt_p99_9_ms",
    "rtt_max_ms",
    "owd_p50_ms",
    "owd_p90_ms",
    "owd_p95_ms",
    "owd_p99_ms",
    "owd_p99_9_ms",
    "owd_max_ms",
    "loss_percent",
    "packets_sent",
    "packets_received",
];

/// Returns the metrics in the table `apps` that judging reads. Callers may leave out other metrics.
pub fn app_metrics() -> BTreeSet<&'static str> {
    let needs = all_needs().flat_map(|kind| kind.needs);
    let own = needs.flat_map(|need| match need.measure {
        Measure::Own(metrics) => metrics.iter().copied().chain(need.at_most).collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    own.chain(transfer::METRICS).collect()
}

/// A row of the table `flows`: an application's traffic in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// The name of the application.
    pub flow: String,
    /// `up` or `down`.
    pub direction: String,
    /// Whether this direction carries the application's data.
    pub primary: bool,
    /// The values of the columns [`FLOW_NUMBERS`]; NaN for a value that does not exist.
    pub numbers: [f64; FLOW_NUMBERS.len()],
}

/// A row of the table `apps`: one metric of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct AppRow {
    /// The name of the application.
    pub flow: String,
    /// The name of the metric, which ends with the unit if there is one.
    pub metric: String,
    /// The value of the metric; NaN or infinite for a value that does not exist.
    pub value: f64,
}

impl FlowRow {
    /// Returns the value of the column `name`; `None` for a column that judging does not read, and
    /// for a value that is not finite.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        let at = FLOW_NUMBERS.iter().position(|known| *known == name)?;
        Some(self.numbers[at]).filter(|value| value.is_finite())
    }
}

/// Returns the rows of `flows` and of `apps` among `tables`, which `aqmlab_trial::tables::all`
/// returns. A missing table has no rows.
pub fn of_tables(tables: &[(&'static str, Table)]) -> (Vec<FlowRow>, Vec<AppRow>) {
    let find = |name| tables.iter().find(|(known, _)| *known == name).map(|(_, table)| table);
    (find("flows").map(flows).unwrap_or_default(), find("apps").map(apps).unwrap_or_default())
}

fn flows(table: &Table) -> Vec<FlowRow> {
    let named = words(table, "flow").into_iter().zip(words(table, "direction")).enumerate();
    named
        .map(|(row, (flow, direction))| FlowRow {
            flow,
            direction,
            primary: flag(table, "primary", row),
            numbers: FLOW_NUMBERS.map(|name| number(table, name, row)),
        })
        .collect()
}

fn apps(table: &Table) -> Vec<AppRow> {
    let (flows, metrics) = (words(table, "flow"), words(table, "metric"));
    let named = flows.into_iter().zip(metrics).enumerate();
    named
        .map(|(row, (flow, metric))| AppRow { flow, metric, value: number(table, "value", row) })
        .collect()
}

fn words(table: &Table, name: &str) -> Vec<String> {
    let Some(Column::Word(indices, words)) = table.column(name) else { return Vec::new() };
    indices.iter().map(|&index| words[index as usize].clone()).collect()
}

fn flag(table: &Table, name: &str, row: usize) -> bool {
    matches!(table.column(name), Some(Column::Flag(values)) if values[row])
}

fn number(table: &Table, name: &str, row: usize) -> f64 {
    match table.column(name) {
        Some(Column::Float(values)) => values[row],
        Some(Column::Count(values)) => values[row] as f64,
        _ => f64::NAN,
    }
}
