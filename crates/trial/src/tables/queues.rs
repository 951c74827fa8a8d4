//! Tables of queues: sojourn times, drops and marks.

use aqmlab_core::{Duration, Instant};

use super::View;
use super::columns::{Numbers, count, ms, quantiles_ms};
use crate::findings::{LinkFindings, QueueSample};
use crate::grain::Grain;
use crate::table::{Column, Table, Words};

impl View<'_> {
    pub(super) fn queues(&self) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers::like(self.queue(&LinkFindings::default()));
        for (link, found) in self.findings.links.iter().enumerate() {
            names.push(self.link(link));
            numbers.row(self.queue(found));
        }
        let mut columns = vec![("link", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    fn queue(&self, found: &LinkFindings) -> [(&'static str, f64); 19] {
        let LinkFindings { drops, report, .. } = found;
        let measured = self.spec.measured();
        let seconds = measured.end.since(measured.start).as_secs_f64();
        let sojourn = quantiles_ms(&report.sojourn);
        [
            ("packets_offered", found.offered as f64),
            ("packets_out", found.sent as f64),
            ("bytes_out", found.sent_bytes as f64),
            ("utilisation", found.busy_s / self.spec.duration.as_secs_f64()),
            ("throughput_mbit", 8.0 * report.bytes as f64 / seconds / 1e6),
            ("drops_overlimit", drops.overlimit as f64),
            ("drops_sojourn", drops.sojourn as f64),
            ("drops_early", drops.early as f64),
            ("drops_forced", count(drops.forced)),
            ("drops_filtered", drops.filtered as f64),
            ("marks", found.marks as f64),
            ("sojourn_mean_ms", ms(report.sojourn.mean())),
            ("sojourn_p5_ms", sojourn(0.05)),
            ("sojourn_p50_ms", sojourn(0.5)),
            ("sojourn_p95_ms", sojourn(0.95)),
            ("sojourn_p99_ms", sojourn(0.99)),
            ("sojourn_max_ms", ms(report.sojourn.max())),
            // By Little's law, the sum of the sojourn times is about the integral of the backlog.
            ("backlog_mean_packets", report.sojourn.sum().as_secs_f64() / seconds),
            ("backlog_max_packets", found.backlog_max_packets as f64),
        ]
    }

    fn queue_samples(&self) -> impl Iterator<Item = &QueueSample> {
        self.findings.samples.iter().flat_map(|samples| &samples.queues)
    }

    pub(super) fn queue_drops(&self) -> Table {
        let (mut links, mut flows) = (Words::default(), Words::default());
        let (mut drops, mut marks) = (Vec::new(), Vec::new());
        for (link, found) in self.findings.links.iter().enumerate() {
            for flow in 0..self.spec.apps.len() {
                let of = |counts: &Vec<u64>| counts.get(flow).copied().unwrap_or(0);
                let [dropped, marked] = [of(&found.flow_drops), of(&found.flow_marks)];
                if dropped + marked > 0 {
                    links.push(self.link(link));
                    flows.push(self.name(flow));
                    drops.push(dropped);
                    marks.push(marked);
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

    pub(super) fn queue_series(&self) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers::like(state(&BLANK, Duration::ZERO));
        numbers.reserve(self.queue_samples().count());
        let step = Grain::of(self.spec).step.as_nanos();
        for sample in self.queue_samples() {
            names.push(self.link(sample.link));
            let worst = &self.findings.links[sample.link].report.worst;
            // A sample on a boundary belongs to the step that has just ended.
            let place = (sample.at.as_nanos().saturating_sub(1) / step) as usize;
            numbers.row(state(sample, worst.get(place).copied().unwrap_or(Duration::ZERO)));
        }
        let mut columns = vec![("link", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    pub(super) fn queue_gauges(&self) -> Table {
        let (mut links, mut gauges) = (Words::default(), Words::default());
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for sample in self.queue_samples() {
            for (gauge, value) in &sample.gauges {
                links.push(self.link(sample.link));
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

const BLANK: QueueSample = QueueSample {
    at: Instant::ZERO,
    link: 0,
    backlog_packets: 0,
    backlog_bytes: 0,
    drops: 0,
    marks: 0,
    gauges: Vec::new(),
};

fn state(sample: &QueueSample, worst: Duration) -> [(&'static str, f64); 6] {
    [
        ("t_s", sample.at.as_secs_f64()),
        ("backlog_packets", sample.backlog_packets as f64),
        ("backlog_bytes", sample.backlog_bytes as f64),
        ("sojourn_max_ms", ms(Some(worst))),
        ("drops", sample.drops as f64),
        ("marks", sample.marks as f64),
    ]
}
