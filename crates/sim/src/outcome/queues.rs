//! Queues: what waited, what was dropped, what was marked.

use aqmlab_core::{Duration, Instant, Reason};

use super::{Numbers, View, ms, quantile_ms};
use crate::grain::Grain;
use crate::table::{Column, Table, Words};
use crate::taps::QueueReport;

impl View<'_> {
    pub(super) fn queues(&self, reports: &[QueueReport]) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers(Vec::new());
        let length = Duration::from_nanos(self.spec.duration_ns);
        let end = Instant::ZERO + length;
        let measure = &self.spec.measure;
        let to_ns = measure.to_ns.unwrap_or(self.spec.duration_ns);
        let seconds = (to_ns - measure.from_ns) as f64 / 1e9;
        for (link, report) in self.world.network.links.iter().zip(reports) {
            names.push(&link.name);
            let log = &link.port.log;
            let drops = |reason: Reason| log.drops[reason.index()] as f64;
            let sampled = self.backlogs(&link.name);
            numbers.row([
                ("packets_offered", log.offered as f64),
                ("packets_out", log.sent as f64),
                ("bytes_out", log.sent_bytes as f64),
                ("utilisation", link.port.busy_until(end).as_secs_f64() / length.as_secs_f64()),
                ("throughput_mbit", 8.0 * report.bytes as f64 / seconds / 1e6),
                ("drops_overlimit", drops(Reason::Overlimit)),
                ("drops_sojourn", drops(Reason::Sojourn)),
                ("drops_early", drops(Reason::Early)),
                ("drops_forced", drops(Reason::Forced)),
                ("marks", log.marks as f64),
                ("sojourn_mean_ms", ms(report.sojourn.mean())),
                ("sojourn_p5_ms", quantile_ms(&report.sojourn, 0.05)),
                ("sojourn_p50_ms", quantile_ms(&report.sojourn, 0.5)),
                ("sojourn_p95_ms", quantile_ms(&report.sojourn, 0.95)),
                ("sojourn_p99_ms", quantile_ms(&report.sojourn, 0.99)),
                ("sojourn_max_ms", ms(report.sojourn.max())),
                ("backlog_mean_packets", report.waited.as_secs_f64() / seconds),
                ("backlog_max_packets", sampled),
            ]);
        }
        let mut columns = vec![("link", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    /// The largest sampled backlog of a link, in packets.
    fn backlogs(&self, name: &str) -> f64 {
        let Some(sampler) = &self.world.sampler else { return f64::NAN };
        let of_link = sampler
            .queues
            .iter()
            .filter(|sample| self.world.network.links[sample.link].name == name);
        of_link.map(|sample| sample.backlog_packets as f64).fold(0.0, f64::max)
    }

    pub(super) fn queue_drops(&self) -> Table {
        let (mut links, mut flows) = (Words::default(), Words::default());
        let (mut drops, mut marks) = (Vec::new(), Vec::new());
        for link in &self.world.network.links {
            let log = &link.port.log;
            for flow in 0..self.world.apps.len() {
                let of = |counts: &Vec<u64>| counts.get(flow).copied().unwrap_or(0);
                if of(&log.flow_drops) + of(&log.flow_marks) > 0 {
                    links.push(&link.name);
                    flows.push(self.name(flow));
                    drops.push(of(&log.flow_drops));
                    marks.push(of(&log.flow_marks));
                }
            }
        }
        Table::new(vec![
            ("link", links.column()),
            ("flow", flows.column()),
            ("drops", Column::Count(drops)),
            ("marks", Column::Count(marks)),
        ])
    }

    pub(super) fn queue_series(&self, reports: &[QueueReport]) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers(Vec::new());
        let step = Grain::of(self.spec).series_step.as_nanos();
        for sample in self.world.sampler.iter().flat_map(|sampler| &sampler.queues) {
            names.push(&self.world.network.links[sample.link].name);
            let worst = &reports[sample.link].worst;
            // A sample on a boundary looks back at the step that has just ended.
            let place = (sample.at.as_nanos().saturating_sub(1) / step) as usize;
            numbers.row([
                ("t_s", sample.at.as_secs_f64()),
                ("backlog_packets", sample.backlog_packets as f64),
                ("backlog_bytes", sample.backlog_bytes as f64),
                ("sojourn_max_ms", ms(worst.get(place).copied().or(Some(Duration::ZERO)))),
                ("drops", sample.drops as f64),
                ("marks", sample.marks as f64),
            ]);
        }
        let mut columns = vec![("link", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    pub(super) fn queue_gauges(&self) -> Table {
        let (mut links, mut gauges) = (Words::default(), Words::default());
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for sample in self.world.sampler.iter().flat_map(|sampler| &sampler.queues) {
            for (gauge, value) in &sample.gauges {
                links.push(&self.world.network.links[sample.link].name);
                gauges.push(gauge);
                times.push(sample.at.as_secs_f64());
                values.push(*value);
            }
        }
        Table::new(vec![
            ("link", links.column()),
            ("t_s", Column::Float(times)),
            ("gauge", gauges.column()),
            ("value", Column::Float(values)),
        ])
    }
}
