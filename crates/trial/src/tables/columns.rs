//! Builds columns row by row.

use aqmlab_core::{Duration, Instant};
use aqmlab_measure::Histogram;

use crate::table::Column;

/// Columns of numbers that are being built, by name.
pub(super) struct Numbers(Vec<(&'static str, Vec<f64>)>);

impl Numbers {
    /// Returns empty columns with the names in `row`, so that a table without rows still has its
    /// columns.
    pub(super) fn like<const N: usize>(row: [(&'static str, f64); N]) -> Self {
        Self(row.iter().map(|(name, _)| (*name, Vec::new())).collect())
    }

    /// Takes memory for `rows` more rows.
    pub(super) fn reserve(&mut self, rows: usize) {
        for (_, column) in &mut self.0 {
            column.reserve(rows);
        }
    }

    /// Adds a row. All rows must have the same columns in the same order.
    pub(super) fn row<const N: usize>(&mut self, values: [(&'static str, f64); N]) {
        for ((_, column), (_, value)) in self.0.iter_mut().zip(values) {
            column.push(value);
        }
    }

    pub(super) fn into_columns(self) -> impl Iterator<Item = (&'static str, Column)> {
        self.0.into_iter().map(|(name, values)| (name, Column::Float(values)))
    }
}

/// Returns a column of numbers with the `value` of each row. Long tables are built by columns,
/// because building them by rows takes more instructions.
pub(super) fn floats<T>(rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::Float(rows.iter().map(value).collect())
}

pub(super) fn ms(span: Option<Duration>) -> f64 {
    span.map_or(f64::NAN, |span| span.as_nanos() as f64 / 1e6)
}

pub(super) fn seconds(at: Option<Instant>) -> f64 {
    at.map_or(f64::NAN, Instant::as_secs_f64)
}

pub(super) fn count(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |value| value as f64)
}

/// Returns the function from `q` to the `q`-quantile in milliseconds.
pub(super) fn quantiles_ms(histogram: &Histogram) -> impl Fn(f64) -> f64 {
    let ranks = histogram.ranks();
    move |q| ms(ranks.quantile(q))
}
