//! Flows: one row for each application and direction.

use aqmlab_core::{Direction, Side};
use aqmlab_measure::{DirectionReport, Empty};

use super::{Numbers, View, ms, quantile_ms};
use crate::build::is_primary;
use crate::grain::Grain;
use crate::table::{Column, Table, Words};

impl View<'_> {
    pub(super) fn flows(&self) -> Table {
        let (mut names, mut directions, mut primary) = (Words::default(), Words::default(), vec![]);
        let mut counts: [Vec<u64>; 5] = Default::default();
        let nothing = DirectionReport::default();
        let mut numbers = match self.spec.apps.len() {
            0 => Numbers(Vec::new()),
            _ => Numbers::like(self.quantities(0, Direction::Up, &nothing)),
        };
        for (flow, direction, report) in self.ways() {
            names.push(self.name(flow));
            directions.push(direction.name());
            let app = self.world.apps[flow].app.as_ref().expect("nobody is being called");
            primary.push(is_primary(app.carries(), direction));
            for (column, value) in counts.iter_mut().zip([
                report.packets_sent,
                report.packets_received,
                report.bytes_sent,
                report.bytes_received,
                report.lost,
            ]) {
                column.push(value);
            }
            numbers.row(self.quantities(flow, direction, report));
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

    /// What is measured of one way of a flow.
    fn quantities(
        &self,
        flow: usize,
        direction: Direction,
        report: &DirectionReport,
    ) -> [(&'static str, f64); 31] {
        let active = self.active(flow);
        let (bits, seconds) = self.arrived(report, flow);
        let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
        let all = self.fine_windows(Empty::Zero);
        let [p5, p25, p50, p75, p95] = all
            .quantiles(&report.steps, active.clone(), quantiles)
            .map_or([f64::NAN; 5], |rates| rates.map(|bps| bps / 1e6));
        let filled = self.fine_windows(Empty::Skipped).series(&report.steps, active.clone());
        let filled_mean = filled.iter().map(|sample| sample.bps).sum::<f64>() / filled.len() as f64;
        let base = self.base_rtt(flow);
        let rtt = |q| quantile_ms(&report.rtt, q);
        [
            ("loss_percent", 100.0 * report.loss_ratio()),
            ("throughput_mean_mbit", bits / seconds / 1e6),
            ("throughput_p5_mbit", p5),
            ("throughput_p25_mbit", p25),
            ("throughput_p50_mbit", p50),
            ("throughput_p75_mbit", p75),
            ("throughput_p95_mbit", p95),
            ("throughput_nonempty_mean_mbit", filled_mean / 1e6),
            ("goodput_mbit", self.goodput(flow, direction)),
            ("retransmissions", self.retransmissions(flow, direction) as f64),
            ("rtt_n", report.rtt.count() as f64),
            ("rtt_min_ms", ms(report.rtt.min())),
            ("rtt_mean_ms", ms(report.rtt.mean())),
            ("rtt_p1_ms", rtt(0.01)),
            ("rtt_p5_ms", rtt(0.05)),
            ("rtt_p25_ms", rtt(0.25)),
            ("rtt_p50_ms", rtt(0.5)),
            ("rtt_p75_ms", rtt(0.75)),
            ("rtt_p95_ms", rtt(0.95)),
            ("rtt_p99_ms", rtt(0.99)),
            ("rtt_max_ms", ms(report.rtt.max())),
            ("rtt_base_ms", base),
            ("induced_p25_ms", rtt(0.25) - base),
            ("induced_p50_ms", rtt(0.5) - base),
            ("induced_p75_ms", rtt(0.75) - base),
            ("induced_p95_ms", rtt(0.95) - base),
            ("owd_p50_ms", quantile_ms(&report.owd, 0.5)),
            ("owd_p95_ms", quantile_ms(&report.owd, 0.95)),
            ("owd_p99_ms", quantile_ms(&report.owd, 0.99)),
            ("owd_max_ms", ms(report.owd.max())),
            ("jitter_ms", ms(Some(report.jitter.mean))),
        ]
    }

    /// Bits that arrived in the steps that begin while the flow runs, or in the one step within
    /// which it runs, and how many seconds long those steps are.
    pub(super) fn arrived(&self, report: &DirectionReport, flow: usize) -> (f64, f64) {
        let (step, end) = (Grain::of(self.spec).step.as_nanos(), self.spec.duration_ns);
        let active = self.active(flow);
        if active.is_empty() {
            return (0.0, 0.0);
        }
        let last = active.end.as_nanos().div_ceil(step);
        let first = active.start.as_nanos().div_ceil(step).min(last - 1);
        let seconds = ((last * step).min(end) - first * step) as f64 / 1e9;
        let steps = report.steps.iter().take(last as usize).skip(first as usize);
        (8.0 * steps.sum::<u64>() as f64, seconds)
    }

    fn base_rtt(&self, flow: usize) -> f64 {
        let network = &self.world.network;
        let both = network.delay(flow, Direction::Up) + network.delay(flow, Direction::Down);
        ms(Some(both))
    }

    /// Payload read by the applications of this direction, over the time that the flow ran.
    fn goodput(&self, flow: usize, direction: Direction) -> f64 {
        let at = direction.reverse().index();
        let [before, after] = self.world.read_marks[flow].map(Option::unwrap_or_default);
        let read = after[at].saturating_sub(before[at]);
        let active = self.active(flow);
        8.0 * read as f64 / active.end.since(active.start).as_secs_f64() / 1e6
    }

    fn retransmissions(&self, flow: usize, direction: Direction) -> u64 {
        let side = if direction == Direction::Up { Side::Home } else { Side::Wan };
        let conns = self.world.conns.iter().filter(|conn| conn.app as usize == flow);
        conns.filter_map(|conn| conn.stats_of(side)).map(|stats| stats.retransmitted_segments).sum()
    }
}
