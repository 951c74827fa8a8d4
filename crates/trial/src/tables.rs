//! The tables of a trial, made from the findings of any engine.
//!
//! An engine fills [`Findings`], and [`all`] makes every table from them, so each column is defined
//! once. A table without rows also has its columns. The names of columns state their units: seconds
//! since the start of the trial, milliseconds of delay, megabits per second of IP packets. `NaN`
//! means that the value does not exist, or that the engine cannot measure it.

mod columns;
mod conns;
mod flows;
mod frame;
mod hosts;
mod queues;
mod series;
#[cfg(test)]
mod tests;

use aqmlab_core::Direction;
use aqmlab_measure::jain;

pub use frame::{Frame, QueueReport, settings};

use crate::findings::Findings;
use crate::spec::Spec;
use crate::table::{Column, Table, Words};

/// Returns all tables of a measured trial, by name.
pub fn all(spec: &Spec, findings: &Findings) -> Vec<(&'static str, Table)> {
    let view = View { spec, findings };
    vec![
        ("flows", view.flows()),
        ("windows", view.windows()),
        ("rtt", view.rtt()),
        ("apps", view.apps()),
        ("app_series", view.app_series()),
        ("hosts", view.hosts()),
        ("queues", view.queues()),
        ("queue_drops", view.queue_drops()),
        ("queue_series", view.queue_series()),
        ("queue_gauges", view.queue_gauges()),
        ("conns", view.conns()),
        ("tcp_series", view.tcp_series()),
        ("summary", view.summary()),
    ]
}

/// Returns the only table of a trial without measurement: the counters of the links.
pub fn unmeasured<'a>(
    links: impl IntoIterator<Item = (&'a str, LinkCounts)>,
) -> Vec<(&'static str, Table)> {
    let mut names = Words::default();
    let mut counts: [Vec<u64>; 4] = Default::default();
    for (name, LinkCounts { packets_out, bytes_out, drops, marks }) in links {
        names.push(name);
        for (column, value) in counts.iter_mut().zip([packets_out, bytes_out, drops, marks]) {
            column.push(value);
        }
    }
    let [packets_out, bytes_out, drops, marks] = counts.map(Column::Count);
    let columns = vec![
        ("link", names.column()),
        ("packets_out", packets_out),
        ("bytes_out", bytes_out),
        ("drops", drops),
        ("marks", marks),
    ];
    vec![("links", Table::new(columns))]
}

/// The counters of a link over the whole trial.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkCounts {
    /// Packets sent on the link.
    pub packets_out: u64,
    /// IP bytes of the packets sent.
    pub bytes_out: u64,
    /// Packets that the link's discipline dropped.
    pub drops: u64,
    /// Packets that the link's discipline marked.
    pub marks: u64,
}

/// The data from which all tables are made.
struct View<'a> {
    spec: &'a Spec,
    findings: &'a Findings,
}

impl<'a> View<'a> {
    fn name(&self, flow: usize) -> &'a str {
        &self.spec.apps[flow].name
    }

    fn link(&self, link: usize) -> &'a str {
        &self.spec.links[link].name
    }

    /// Returns the table with one row on the trial as a whole.
    fn summary(&self) -> Table {
        let mut columns = Vec::new();
        for (direction, name) in [(Direction::Up, "jain_up"), (Direction::Down, "jain_down")] {
            let shares: Vec<f64> = self
                .ways()
                .filter(|(flow, way, _)| {
                    *way == direction && self.findings.flows[*flow].is_primary(*way)
                })
                .map(|(.., report)| report.active_bytes as f64)
                .collect();
            columns.push((name, Column::Float(vec![jain(&shares).unwrap_or(f64::NAN)])));
        }
        columns.push(("events", Column::Count(vec![self.findings.events])));
        columns.push(("packets", Column::Count(vec![self.findings.packets])));
        Table::new(columns)
    }
}
