//! The tables of the time series of flows and applications, and the table of the applications'
//! metrics.

use aqmlab_core::Instant;
use aqmlab_measure::{Bin, Windows};

use super::View;
use super::columns::ms;
use crate::grain::Grain;
use crate::table::{Column, Table, Words};

impl View<'_> {
    pub(super) fn windows(&self) -> Table {
        let (mut names, mut directions) = (Words::default(), Words::default());
        let whole = Instant::ZERO..self.spec.end();
        let grain = Grain::of(self.spec);
        let windows = Windows { step: grain.step, width: grain.window };
        let ways = self.ways().filter(|_| self.spec.measure.series);
        let series: Vec<_> = ways
            .map(|(flow, way, report)| (flow, way, windows.series(&report.steps, whole.clone())))
            .collect();
        let rows = series.iter().map(|(.., samples)| samples.len()).sum();
        names.reserve(rows);
        directions.reserve(rows);
        let (mut times, mut rates) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for (flow, direction, samples) in series {
            names.push_rows(self.name(flow), samples.len());
            directions.push_rows(direction.name(), samples.len());
            times.extend(samples.iter().map(|sample| sample.at.as_secs_f64()));
            rates.extend(samples.iter().map(|sample| sample.bps / 1e6));
        }
        Table::new(vec![
            ("flow", names.column()),
            ("direction", directions.column()),
            ("t_s", Column::Float(times)),
            ("throughput_mbit", Column::Float(rates)),
        ])
    }

    pub(super) fn rtt(&self) -> Table {
        let (mut names, mut directions) = (Words::default(), Words::default());
        let step_s = Grain::of(self.spec).step.as_secs_f64();
        let rows = self.ways().map(|(.., report)| report.rtt_series.len()).sum();
        names.reserve(rows);
        directions.reserve(rows);
        for (flow, direction, report) in self.ways() {
            names.push_rows(self.name(flow), report.rtt_series.len());
            directions.push_rows(direction.name(), report.rtt_series.len());
        }
        Table::new(vec![
            ("flow", names.column()),
            ("direction", directions.column()),
            ("n", Column::Count(self.of_bins(rows, |bin| bin.n))),
            ("t_s", Column::Float(self.of_bins(rows, |bin| (bin.step as f64 + 0.5) * step_s))),
            ("rtt_min_ms", Column::Float(self.of_bins(rows, |bin| ms(Some(bin.min))))),
            ("rtt_p50_ms", Column::Float(self.of_bins(rows, |bin| ms(Some(bin.p50))))),
            ("rtt_mean_ms", Column::Float(self.of_bins(rows, |bin| ms(Some(bin.mean))))),
            ("rtt_max_ms", Column::Float(self.of_bins(rows, |bin| ms(Some(bin.max))))),
        ])
    }

    /// Returns the `value` of each of the `rows` bins of the round trips.
    fn of_bins<T>(&self, rows: usize, value: impl Fn(&Bin) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(rows);
        for (.., report) in self.ways() {
            values.extend(report.rtt_series.iter().map(&value));
        }
        values
    }

    pub(super) fn apps(&self) -> Table {
        let (mut names, mut metrics, mut values) = (Words::default(), Words::default(), vec![]);
        for (flow, found) in self.findings.flows.iter().enumerate() {
            for (metric, value) in &found.summary {
                names.push(self.name(flow));
                metrics.push(metric);
                values.push(*value);
            }
        }
        Table::new(vec![
            ("flow", names.column()),
            ("metric", metrics.column()),
            ("value", Column::Float(values)),
        ])
    }

    pub(super) fn app_series(&self) -> Table {
        let (mut names, mut metrics) = (Words::default(), Words::default());
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for (flow, found) in self.findings.flows.iter().enumerate() {
            for (at, metric, value) in found.notes.iter() {
                names.push(self.name(flow));
                times.push(at.as_secs_f64());
                metrics.push(metric);
                values.push(*value);
            }
        }
        Table::new(vec![
            ("flow", names.column()),
            ("t_s", Column::Float(times)),
            ("metric", metrics.column()),
            ("value", Column::Float(values)),
        ])
    }
}
