//! Tables of flows, with one row for each application and direction.
//!
//! The mean throughput and the goodput are quotients of the meters' bytes and intervals.

use aqmlab_core::{Direction, Duration};
use aqmlab_measure::DirectionReport;

use super::View;
use super::columns::{Numbers, ms, quantiles_ms};
use crate::findings::FlowFindings;
use crate::table::{Column, Table, Words};

impl View<'_> {
    /// Returns the application, direction and report of each row in the flow tables. An application
    /// has a row for a direction in which a packet was sent or arrived.
    pub(super) fn ways(&self) -> impl Iterator<Item = (usize, Direction, &DirectionReport)> {
        self.findings.flows.iter().enumerate().flat_map(|(flow, found)| {
            Direction::BOTH
                .into_iter()
                .map(move |direction| {
                    (flow, direction, &found.report.directions[direction.index()])
                })
                .filter(|(_, _, report)| report.packets_sent > 0 || report.bytes_arrived > 0)
        })
    }

    pub(super) fn flows(&self) -> Table {
        let (mut names, mut directions, mut primary) = (Words::default(), Words::default(), vec![]);
        let mut counts: [Vec<u64>; 5] = Default::default();
        let (nobody, nothing) = (FlowFindings::default(), DirectionReport::default());
        let mut numbers = Numbers::like(Self::quantities(&nobody, Direction::Up, &nothing, 0));
        for (flow, direction, report) in self.ways() {
            let found = &self.findings.flows[flow];
            names.push(self.name(flow));
            directions.push(direction.name());
            primary.push(found.is_primary(direction));
            for (column, value) in counts.iter_mut().zip([
                report.packets_sent,
                report.packets_received,
                report.bytes_sent,
                report.bytes_received,
                report.lost,
            ]) {
                column.push(value);
            }
            let retransmissions = self.retransmissions(flow, direction);
            numbers.row(Self::quantities(found, direction, report, retransmissions));
        }
        let [sent, received, bytes_sent, bytes_received, lost] = counts.map(Column::Count);
        let mut columns = vec![
            ("flow", names.column()),
            ("direction", directions.column()),
            ("primary", Column::Flag(primary)),
            ("packets_sent", sent),
            ("packets_received", received),
            ("bytes_sent", bytes_sent),
            ("bytes_received", bytes_received),
            ("lost", lost),
        ];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    /// Returns the values of one direction of a flow, by column.
    fn quantities(
        found: &FlowFindings,
        direction: Direction,
        report: &DirectionReport,
        retransmissions: u64,
    ) -> [(&'static str, f64); 38] {
        let active = &found.report.active;
        let mbit = |bytes: u64| mean_mbit(bytes, active.end.since(active.start));
        let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
        let [p5, p25, p50, p75, p95] = report
            .windows
            .quantiles(quantiles)
            .map_or([f64::NAN; 5], |rates| rates.map(|bps| bps / 1e6));
        let filled_mean = report.windows.nonempty_mean().unwrap_or(f64::NAN);
        let base = ms(Some(found.rtt_base));
        let rtt = quantiles_ms(&report.rtt);
        let owd = quantiles_ms(&report.owd);
        [
            ("loss_percent", 100.0 * report.loss_ratio()),
            ("active_from_s", active.start.as_secs_f64()),
            ("active_to_s", active.end.as_secs_f64()),
            ("throughput_mean_mbit", mbit(report.active_bytes)),
            ("throughput_p5_mbit", p5),
            ("throughput_p25_mbit", p25),
            ("throughput_p50_mbit", p50),
            ("throughput_p75_mbit", p75),
            ("throughput_p95_mbit", p95),
            ("throughput_nonempty_mean_mbit", filled_mean / 1e6),
            ("goodput_mbit", mbit(found.read[direction.receiver().index()])),
            ("retransmissions", retransmissions as f64),
            ("rtt_n", report.rtt.count() as f64),
            ("rtt_min_ms", ms(report.rtt.min())),
            ("rtt_mean_ms", ms(report.rtt.mean())),
            ("rtt_p1_ms", rtt(0.01)),
            ("rtt_p5_ms", rtt(0.05)),
            ("rtt_p10_ms", rtt(0.1)),
            ("rtt_p25_ms", rtt(0.25)),
            ("rtt_p50_ms", rtt(0.5)),
            ("rtt_p75_ms", rtt(0.75)),
            ("rtt_p90_ms", rtt(0.9)),
            ("rtt_p95_ms", rtt(0.95)),
            ("rtt_p99_ms", rtt(0.99)),
            ("rtt_p99_9_ms", rtt(0.999)),
            ("rtt_max_ms", ms(report.rtt.max())),
            ("rtt_base_ms", base),
            ("induced_p25_ms", rtt(0.25) - base),
            ("induced_p50_ms", rtt(0.5) - base),
            ("induced_p75_ms", rtt(0.75) - base),
            ("induced_p95_ms", rtt(0.95) - base),
            ("owd_p50_ms", owd(0.5)),
            ("owd_p90_ms", owd(0.9)),
            ("owd_p95_ms", owd(0.95)),
            ("owd_p99_ms", owd(0.99)),
            ("owd_p99_9_ms", owd(0.999)),
            ("owd_max_ms", ms(report.owd.max())),
            ("jitter_ms", ms(Some(report.jitter.mean))),
        ]
    }

    fn retransmissions(&self, flow: usize, direction: Direction) -> u64 {
        let sender = direction.receiver().peer().index();
        let conns = self.findings.conns.iter().filter(|conn| conn.flow == flow);
        conns.filter_map(|conn| conn.tcp).map(|ends| ends[sender].retransmissions).sum()
    }
}

/// Returns the mean rate in Mbit/s of `bytes` over the time `over`, or `NaN` if the time is zero.
pub(super) fn mean_mbit(bytes: u64, over: Duration) -> f64 {
    if over == Duration::ZERO { f64::NAN } else { 8.0 * bytes as f64 / over.as_secs_f64() / 1e6 }
}
