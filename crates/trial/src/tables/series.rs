//! The tables of the time series of flows and applications, and the table of the applications'
//! metrics.

use aqmlab_core::{Duration, Instant};
use aqmlab_measure::{Bin, Windows};

use super::View;
use super::columns::{Numbers, ms};
use crate::grain::Grain;
use crate::table::{Column, Table, Words};

impl View<'_> {
    pub(super) fn windows(&self) -> Table {
        let (mut names, mut directions) = (Words::default(), Words::default());
        let (mut times, mut rates) = (Vec::new(), Vec::new());
        let whole = Instant::ZERO..self.spec.end();
        let grain = Grain::of(self.spec);
        let windows = Windows { step: grain.step, width: grain.window };
        for (flow, direction, report) in self.ways().filter(|_| self.spec.measure.series) {
            let samples = windows.series(&report.steps, whole.clone());
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
        let (mut names, mut directions, mut counts) =
            (Words::default(), Words::default(), Vec::new());
        let step_s = Grain::of(self.spec).step.as_secs_f64();
        let mut numbers = Numbers::like(bin(&EMPTY, step_s));
        numbers.reserve(self.ways().map(|(.., report)| report.rtt_series.len()).sum());
        for (flow, direction, report) in self.ways() {
            names.push_rows(self.name(flow), report.rtt_series.len());
            directions.push_rows(direction.name(), report.rtt_series.len());
            counts.extend(report.rtt_series.iter().map(|one| one.n));
            for one in &report.rtt_series {
                numbers.row(bin(one, step_s));
            }
        }
        let mut columns = vec![
            ("flow", names.column()),
            ("direction", directions.column()),
            ("n", Column::Count(counts)),
        ];
        columns.extend(numbers.into_columns());
        Table::new(columns)
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

const EMPTY: Bin = Bin {
    step: 0,
    n: 0,
    min: Duration::ZERO,
    mean: Duration::ZERO,
    max: Duration::ZERO,
    p50: Duration::ZERO,
};

fn bin(bin: &Bin, step_s: f64) -> [(&'static str, f64); 5] {
    let &Bin { step, min, mean, max, p50, .. } = bin;
    [
        ("t_s", (step as f64 + 0.5) * step_s),
        ("rtt_min_ms", ms(Some(min))),
        ("rtt_p50_ms", ms(Some(p50))),
        ("rtt_mean_ms", ms(Some(mean))),
        ("rtt_max_ms", ms(Some(max))),
    ]
}
