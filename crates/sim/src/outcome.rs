//! What comes out of a run: a digest, and tables.
//!
//! Units are in the columns' names: seconds from the start of the trial, milliseconds of delay,
//! megabits per second of IP packets. `NaN` stands for "there is no such value".

use std::ops::Range;

use aqmlab_apps::Transport;
use aqmlab_core::{Digest, Direction, Duration, Instant, Reason, Side};
use aqmlab_measure::{Bin, DirectionReport, Empty, FlowReport, Histogram, Windows, jain};

use crate::build::is_primary;
use crate::captures::Captures;
use crate::observer::Observer;
use crate::spec::Spec;
use crate::table::{Column, Table, Words};
use crate::taps::{QueueReport, Taps};
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
        let (spec, app) = (self.spec, &self.spec.apps[flow]);
        let to_ns = spec.measure.to_ns.unwrap_or(spec.duration_ns);
        let start = app.start_ns.max(spec.measure.from_ns).min(to_ns);
        let stop = app.stop_ns.unwrap_or(to_ns).clamp(start, to_ns);
        Instant::from_nanos(start)..Instant::from_nanos(stop)
    }

    fn series_windows(&self, empty: Empty) -> Windows {
        let measure = &self.spec.measure;
        Windows {
            step: Duration::from_nanos(measure.step_ns),
            width: Duration::from_nanos(measure.window_ns),
            empty,
        }
    }

    fn flows(&self) -> Table {
        let (mut names, mut directions, mut primary) = (Words::default(), Words::default(), vec![]);
        let mut counts: [Vec<u64>; 5] = Default::default();
        let mut numbers = Numbers(Vec::new());
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
            self.throughput_row(&mut numbers, flow, direction, report);
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

    fn throughput_row(
        &self,
        numbers: &mut Numbers,
        flow: usize,
        direction: Direction,
        report: &DirectionReport,
    ) {
        let active = self.active(flow);
        let seconds = active.end.since(active.start).as_secs_f64();
        let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
        let all = self.series_windows(Empty::Zero);
        let [p5, p25, p50, p75, p95] = all
            .quantiles(&report.steps, active.clone(), quantiles)
            .map_or([f64::NAN; 5], |rates| rates.map(|bps| bps / 1e6));
        let filled = self.series_windows(Empty::Skipped).series(&report.steps, active.clone());
        let filled_mean = filled.iter().map(|sample| sample.bps).sum::<f64>() / filled.len() as f64;
        let base = self.base_rtt(flow);
        let rtt = |q| quantile_ms(&report.rtt, q);
        numbers.row([
            ("loss_percent", 100.0 * report.loss_ratio()),
            ("throughput_mean_mbit", self.bits_in(report, &active) / seconds / 1e6),
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
        ]);
    }

    /// Bits that arrived in the steps that lie in `interval`.
    fn bits_in(&self, report: &DirectionReport, interval: &Range<Instant>) -> f64 {
        let step = self.spec.measure.step_ns;
        let first = (interval.start.as_nanos().div_ceil(step) as usize).min(report.steps.len());
        let last = (interval.end.as_nanos().div_ceil(step) as usize).clamp(first, report.steps.len());
        8.0 * report.steps[first..last].iter().sum::<u64>() as f64
    }

    fn base_rtt(&self, flow: usize) -> f64 {
        let network = &self.world.network;
        let both = network.delay(flow, Direction::Up) + network.delay(flow, Direction::Down);
        ms(Some(both))
    }

    /// Payload read by the applications of this direction, over the time that the flow ran.
    fn goodput(&self, flow: usize, direction: Direction) -> f64 {
        let at = direction.reverse().index();
        let [before, after] = &self.world.read_marks;
        let read = after[flow][at] - before[flow][at];
        let active = self.active(flow);
        8.0 * read as f64 / active.end.since(active.start).as_secs_f64() / 1e6
    }

    fn retransmissions(&self, flow: usize, direction: Direction) -> u64 {
        let side = if direction == Direction::Up { Side::Home } else { Side::Wan };
        let conns = self.world.conns.iter().filter(|conn| conn.app as usize == flow);
        conns.filter_map(|conn| conn.stats_of(side)).map(|stats| stats.retransmitted_segments).sum()
    }

    fn windows(&self) -> Table {
        let (mut names, mut directions) = (Words::default(), Words::default());
        let (mut times, mut rates) = (Vec::new(), Vec::new());
        let whole = Instant::ZERO..Instant::from_nanos(self.spec.duration_ns);
        for (flow, direction, report) in self.ways() {
            for sample in self.series_windows(Empty::Zero).series(&report.steps, whole.clone()) {
                names.push(self.name(flow));
                directions.push(direction.name());
                times.push(sample.at.as_secs_f64());
                rates.push(sample.bps / 1e6);
            }
        }
        Table::new(vec![
            ("flow", names.column()),
            ("direction", directions.column()),
            ("t_s", Column::Float(times)),
            ("throughput_mbit", Column::Float(rates)),
        ])
    }

    fn rtt(&self) -> Table {
        let (mut names, mut directions, mut counts) =
            (Words::default(), Words::default(), Vec::new());
        let mut numbers = Numbers(Vec::new());
        let step_s = self.spec.measure.step_ns as f64 / 1e9;
        for (flow, direction, report) in self.ways() {
            for &Bin { step, n, min, mean, max, p50 } in &report.rtt_series {
                names.push(self.name(flow));
                directions.push(direction.name());
                counts.push(n);
                numbers.row([
                    ("t_s", (step as f64 + 0.5) * step_s),
                    ("rtt_min_ms", ms(Some(min))),
                    ("rtt_p50_ms", ms(Some(p50))),
                    ("rtt_mean_ms", ms(Some(mean))),
                    ("rtt_max_ms", ms(Some(max))),
                ]);
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

    fn apps(&self) -> Table {
        let (mut names, mut metrics, mut values) = (Words::default(), Words::default(), vec![]);
        let end = Instant::from_nanos(self.spec.duration_ns);
        for slot in &self.world.apps {
            let app = slot.app.as_ref().expect("nobody is being called");
            for (metric, value) in app.summary(end) {
                names.push(&slot.name);
                metrics.push(metric);
                values.push(value);
            }
        }
        Table::new(vec![
            ("flow", names.column()),
            ("metric", metrics.column()),
            ("value", Column::Float(values)),
        ])
    }

    fn app_series(&self) -> Table {
        let (mut names, mut metrics) = (Words::default(), Words::default());
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for slot in &self.world.apps {
            for (at, metric, value) in &slot.notes {
                names.push(&slot.name);
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

    fn queues(&self, reports: &[QueueReport]) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers(Vec::new());
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
                ("utilisation", log.busy.as_secs_f64() * 1e9 / self.spec.duration_ns as f64),
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

    fn queue_drops(&self) -> Table {
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

    fn queue_series(&self, reports: &[QueueReport]) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers(Vec::new());
        let step = self.spec.measure.step_ns;
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

    fn queue_gauges(&self) -> Table {
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

    fn conns(&self) -> Table {
        let mut names = Words::default();
        let mut numbers = Numbers(Vec::new());
        for conn in &self.world.conns {
            if conn.transport != Transport::Tcp {
                continue;
            }
            names.push(self.name(conn.app as usize));
            let sum = |field: fn(&aqmlab_tcp::Stats) -> u64| {
                [Side::Home, Side::Wan]
                    .iter()
                    .filter_map(|side| conn.stats_of(*side))
                    .map(|stats| field(&stats))
                    .sum::<u64>() as f64
            };
            let secs = |at: Option<Instant>| at.map_or(f64::NAN, Instant::as_secs_f64);
            numbers.row([
                ("conn", f64::from(conn.id.0)),
                ("opened_s", conn.opened.as_secs_f64()),
                ("established_s", secs(conn.established)),
                ("closed_s", secs(conn.closed)),
                ("bytes_up", conn.read[Side::Wan.index()] as f64),
                ("bytes_down", conn.read[Side::Home.index()] as f64),
                ("segments_sent", sum(|stats| stats.segments_sent)),
                ("retransmissions", sum(|stats| stats.retransmitted_segments)),
                ("rtos", sum(|stats| stats.rtos)),
                ("tlps", sum(|stats| stats.tlps)),
                ("fast_recoveries", sum(|stats| stats.fast_recoveries)),
                ("spurious_undos", sum(|stats| stats.spurious_undos)),
                ("ece_reductions", sum(|stats| stats.ece_reductions)),
            ]);
        }
        let mut columns = vec![("flow", names.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
    }

    fn tcp_series(&self) -> Table {
        let (mut names, mut sides) = (Words::default(), Words::default());
        let mut numbers = Numbers(Vec::new());
        for sample in self.world.sampler.iter().flat_map(|sampler| &sampler.tcp) {
            let conn = &self.world.conns[sample.conn as usize];
            names.push(self.name(conn.app as usize));
            sides.push(if sample.side == Side::Home { "home" } else { "wan" });
            numbers.row([
                ("conn", f64::from(conn.id.0)),
                ("t_s", sample.at.as_secs_f64()),
                ("cwnd_bytes", sample.cwnd_bytes as f64),
                ("ssthresh_bytes", sample.ssthresh_bytes.map_or(f64::NAN, |bytes| bytes as f64)),
                ("srtt_ms", ms(sample.srtt)),
                ("in_flight_bytes", sample.in_flight_bytes as f64),
            ]);
        }
        let mut columns = vec![("flow", names.column()), ("side", sides.column())];
        columns.extend(numbers.into_columns());
        Table::new(columns)
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
                .map(|(flow, _, report)| self.bits_in(report, &self.active(flow)))
                .collect();
            columns.push((name, Column::Float(vec![jain(&shares).unwrap_or(f64::NAN)])));
        }
        columns.push(("events", Column::Count(vec![self.world.events])));
        columns.push(("packets", Column::Count(vec![self.world.network.packets])));
        Table::new(columns)
    }
}
