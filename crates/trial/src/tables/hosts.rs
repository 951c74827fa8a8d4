//! The table of hosts in the home, with one row for each named host and direction.

use std::collections::BTreeSet;

use aqmlab_core::{Direction, Instant};

use super::View;
use super::columns::Numbers;
use super::flows::mean_mbit;
use crate::table::{Column, Table, Words};

/// The applications of a host in one direction, added up.
#[derive(Clone, Copy)]
struct Sum {
    apps: u64,
    bytes: u64,
    from: Instant,
    to: Instant,
}

impl Default for Sum {
    fn default() -> Self {
        Self { apps: 0, bytes: 0, from: Instant::NEVER, to: Instant::ZERO }
    }
}

impl Sum {
    /// Returns the values of a host in one direction, by column. `all` is the number of bytes of
    /// all applications in this direction.
    fn quantities(self, all: u64) -> [(&'static str, f64); 4] {
        let from = self.from.min(self.to);
        [
            ("active_from_s", from.as_secs_f64()),
            ("active_to_s", self.to.as_secs_f64()),
            ("throughput_mean_mbit", mean_mbit(self.bytes, self.to.since(from))),
            ("share_percent", 100.0 * self.bytes as f64 / all as f64),
        ]
    }
}

impl View<'_> {
    pub(super) fn hosts(&self) -> Table {
        let (mut names, mut directions) = (Words::default(), Words::default());
        let mut counts: [Vec<u64>; 2] = Default::default();
        let mut numbers = Numbers::like(Sum::default().quantities(0));
        let hosts: BTreeSet<_> =
            self.spec.apps.iter().filter_map(|app| app.host.as_ref()).collect();
        for host in hosts {
            for direction in Direction::BOTH {
                let (sum, all) = self.sum_of(host, direction);
                if sum.apps == 0 {
                    continue;
                }
                names.push(host);
                directions.push(direction.name());
                for (column, value) in counts.iter_mut().zip([sum.apps, sum.bytes]) {
                    column.push(value);
                }
                numbers.row(sum.quantities(all));
            }
        }
        let [apps, bytes] = counts.map(Column::Count);
        let mut columns = vec![
            ("host", names.column()),
            ("direction", directions.column()),
            ("apps", apps),
            ("bytes_arrived", bytes),
        ];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    /// Returns the sum of a host's applications in a direction, and the bytes of all applications.
    fn sum_of(&self, host: &String, direction: Direction) -> (Sum, u64) {
        let (mut sum, mut all) = (Sum::default(), 0);
        for (flow, _, report) in self.ways().filter(|(_, way, _)| *way == direction) {
            all += report.active_bytes;
            if self.spec.apps[flow].host.as_ref() == Some(host) {
                let active = &self.findings.flows[flow].report.active;
                sum.apps += 1;
                sum.bytes += report.active_bytes;
                sum.from = sum.from.min(active.start);
                sum.to = sum.to.max(active.end);
            }
        }
        (sum, all)
    }
}
