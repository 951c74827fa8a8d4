//! What comes out of a run: a digest, and tables.
//!
//! Units are in the columns' names: seconds from the start of the trial, milliseconds of delay,
//! megabits per second of IP packets. `NaN` stands for "there is no such value".

mod flows;
mod queues;
mod series;
mod tcp;

use std::ops::Range;

use aqmlab_core::{Digest, Direction, Duration, Instant};
use aqmlab_measure::{DirectionReport, Empty, FlowReport, Histogram, Windows, jain};

use crate::build::is_primary;
use crate::captures::Captures;
use crate::grain::Grain;
use crate::observer::Observer;
use crate::spec::Spec;
use crate::table::{Column, Table, Words};
use crate::taps::Taps;
use crate::world::World;

/// The result of a run.
pub struct Outcome {
    /// Equal for equal runs, whatever was measured.
    pub digest: Digest,
    /// Agenda steps.
    pub events: u64,
    /// Packets sent by hosts.
    pub packets: u64,
    /// Tables by name.
    pub tables: Vec<(&'static str, Table)>,
    /// Every packet, if they were kept.
    pub(crate) captures: Option<Captures>,
}

impl Outcome {
    /// The table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|(known, _)| *known == name).map(|(_, table)| table)
    }
}

fn digest<O: Observer>(world: &World<O>) -> Digest {
    let mut digest = world.network.digest;
    for link in &world.network.links {
        digest.fold(link.port.log.digest.value());
    }
    digest
}

/// The outcome of a run that nobody watched: what the links counted.
pub(crate) fn bare<O: Observer>(world: &World<O>) -> Outcome {
    let mut names = Words::default();
    let mut counts: [Vec<u64>; 4] = Default::default();
    for link in &world.network.links {
        let log = &link.port.log;
        names.push(&link.name);
        for (column, value) in
            counts.iter_mut().zip([log.sent, log.sent_bytes, log.dropped(), log.marks])
        {
            column.push(value);
        }
    }
    let [sent, bytes, drops, marks] = counts.map(Column::Count);
    let links = Table::new(vec![
        ("link", names.column()),
        ("packets_out", sent),
        ("bytes_out", bytes),
        ("drops", drops),
        ("marks", marks),
    ]);
    Outcome {
        digest: digest(world),
        events: world.events,
        packets: world.network.packets,
        tables: vec![("links", links)],
        captures: None,
    }
}

/// The outcome of a run that the taps watched.
pub(crate) fn measured(mut world: World<Taps>, spec: &Spec) -> Outcome {
    let digest = digest(&world);
    let taps = std::mem::replace(&mut world.network.observer, Taps::new(spec));
    let Taps { meter, queues, records, .. } = taps;
    let reports = meter.finish();
    let view = View { world: &world, spec, reports: &reports };
    let tables = vec![
        ("flows", view.flows()),
        ("windows", view.windows()),
        ("rtt", view.rtt()),
        ("apps", view.apps()),
        ("app_series", view.app_series()),
        ("queues", view.queues(&queues)),
        ("queue_drops", view.queue_drops()),
        ("queue_series", view.queue_series(&queues)),
        ("queue_gauges", view.queue_gauges()),
        ("conns", view.conns()),
        ("tcp_series", view.tcp_series()),
        ("summary", view.summary()),
    ];
    let captures = records.map(|records| Captures::new(records, &world));
    Outcome { digest, events: world.events, packets: world.network.packets, tables, captures }
}

/// Columns of numbers under construction, by name.
struct Numbers(Vec<(&'static str, Vec<f64>)>);

impl Numbers {
    fn row<const N: usize>(&mut self, values: [(&'static str, f64); N]) {
        if self.0.is_empty() {
            self.0 = values.iter().map(|(name, _)| (*name, Vec::new())).collect();
        }
        for ((_, column), (_, value)) in self.0.iter_mut().zip(values) {
            column.push(value);
        }
    }

    /// No rows yet, and the columns of the row given, so that a table without rows has them.
    fn like<const N: usize>(row: [(&'static str, f64); N]) -> Self {
        Self(row.iter().map(|(name, _)| (*name, Vec::new())).collect())
    }

    fn into_columns(self) -> impl Iterator<Item = (&'static str, Column)> {
        self.0.into_iter().map(|(name, values)| (name, Column::Float(values)))
    }
}

fn ms(span: Option<Duration>) -> f64 {
    span.map_or(f64::NAN, |span| span.as_nanos() as f64 / 1e6)
}

fn quantile_ms(histogram: &Histogram, q: f64) -> f64 {
    ms(histogram.quantile(q))
}

/// Everything that tables are made from.
struct View<'a> {
    world: &'a World<Taps>,
    spec: &'a Spec,
    reports: &'a [FlowReport],
}

impl View<'_> {
    /// The rows of flow tables: each application and direction in which it sent something.
    fn ways(&self) -> impl Iterator<Item = (usize, Direction, &DirectionReport)> {
        self.reports.iter().enumerate().flat_map(|(flow, report)| {
            Direction::BOTH
                .into_iter()
                .map(move |direction| (flow, direction, &report.directions[direction.index()]))
                .filter(|(_, _, report)| {
                    report.packets_sent > 0 || report.steps.iter().any(|&bytes| bytes > 0)
                })
        })
    }

    fn name(&self, flow: usize) -> &str {
        &self.world.apps[flow].name
    }

    /// When an application runs, within the interval of the statistics.
    fn active(&self, flow: usize) -> Range<Instant> {
        let told = self.spec.told(flow);
        let ended = self.world.apps[flow].app.as_ref().and_then(|app| app.ended());
        told.start..ended.map_or(told.end, |at| at.clamp(told.start, told.end))
    }

    fn fine_windows(&self, empty: Empty) -> Windows {
        let Grain { step, window: width, .. } = Grain::of(self.spec);
        Windows { step, width, empty }
    }

    /// One row: what concerns the trial as a whole.
    fn summary(&self) -> Table {
        let mut columns = Vec::new();
        for (direction, name) in [(Direction::Up, "jain_up"), (Direction::Down, "jain_down")] {
            let shares: Vec<f64> = self
                .ways()
                .filter(|(flow, way, _)| {
                    let app = self.world.apps[*flow].app.as_ref().expect("nobody is called");
                    *way == direction && is_primary(app.carries(), *way)
                })
                .map(|(flow, _, report)| self.arrived(report, flow).0)
                .collect();
            columns.push((name, Column::Float(vec![jain(&shares).unwrap_or(f64::NAN)])));
        }
        columns.push(("events", Column::Count(vec![self.world.events])));
        columns.push(("packets", Column::Count(vec![self.world.network.packets])));
        Table::new(columns)
    }
}
