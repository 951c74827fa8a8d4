//! What comes out: the tables of the simulator, from what the taps and the kernel tell.
//!
//! What nobody can tell is `NaN`.

use std::ops::Range;

use aqmlab_apps::Carries;
use aqmlab_core::{Direction, Duration, Instant, Side};
use aqmlab_measure::{
    DirectionReport, Empty, FlowReport, Histogram, Meter, Settings, Windows, jain,
};
use aqmlab_sim::{Column, Spec, Table};

use crate::qdiscs::{self, Installed};
use crate::rows::Rows;
use crate::stats::Counters;
use crate::tap::{self, Measured};
use crate::waits::{Frame, Waits, waits};
use crate::world::World;

fn ms(span: Option<Duration>) -> f64 {
    span.map_or(f64::NAN, |span| span.as_nanos() as f64 / 1e6)
}

/// A trial that has run.
pub(crate) struct View<'a> {
    spec: &'a Spec,
    world: &'a World<'a>,
    installed: &'a [Installed],
    counters: Vec<Counters>,
    reports: Vec<FlowReport>,
    /// By direction.
    waits: [Waits; 2],
    pub(crate) measured: Measured,
}

impl<'a> View<'a> {
    /// Measures what the taps of `world` recorded.
    pub(crate) fn new(
        spec: &'a Spec,
        world: &'a mut World<'a>,
        installed: &'a [Installed],
    ) -> Result<Self, String> {
        let counters = world.finish()?;
        let records = std::mem::take(&mut world.records);
        let (measure, end) = (&spec.measure, Instant::from_nanos(spec.duration_ns));
        let to = measure.to_ns.map_or(end, Instant::from_nanos);
        let settings = Settings {
            from: Instant::from_nanos(measure.from_ns),
            to,
            window: Duration::from_nanos(measure.window_ns),
            step: Duration::from_nanos(measure.step_ns),
            end,
            reorders: true,
            series: measure.series.then_some(Duration::from_nanos(measure.step_ns)),
        };
        let mut meter = Meter::new(settings, spec.apps.len());
        let frame = Frame { from: settings.from, to, step_ns: measure.step_ns };
        let links = Direction::BOTH.map(|direction| {
            installed.iter().position(|one| one.direction == direction).map(|at| &spec.links[at])
        });
        let charge = |direction: Direction, ip_len| {
            links[direction.index()].map_or(0, |link| qdiscs::charged(link, ip_len))
        };
        let waits = waits(&records, &std::mem::take(&mut world.passed), frame, charge);
        let measured = tap::measure(records, &mut meter);
        Ok(Self { spec, world, installed, counters, reports: meter.finish(), waits, measured })
    }

    /// All tables, under the names that the simulator gives them.
    pub(crate) fn tables(&self) -> Vec<(&'static str, Table)> {
        vec![
            ("flows", self.flows()),
            ("windows", self.windows()),
            ("rtt", self.rtt()),
            ("apps", self.apps()),
            ("app_series", self.app_series()),
            ("queues", self.queues()),
            ("queue_drops", Self::queue_drops()),
            ("queue_series", self.queue_series()),
            ("queue_gauges", Self::queue_gauges()),
            ("conns", self.conns()),
            ("tcp_series", self.tcp_series()),
            ("summary", self.summary()),
        ]
    }

    fn ways(&self) -> impl Iterator<Item = (usize, Direction, &DirectionReport)> {
        self.reports.iter().enumerate().flat_map(|(flow, report)| {
            Direction::BOTH
                .into_iter()
                .map(move |direction| (flow, direction, &report.directions[direction.index()]))
                .filter(|(.., report)| {
                    report.packets_sent > 0 || report.steps.iter().any(|&bytes| bytes > 0)
                })
        })
    }

    fn name(&self, flow: usize) -> &str {
        &self.spec.apps[flow].name
    }

    fn is_primary(&self, flow: usize, direction: Direction) -> bool {
        match self.world.apps[flow].app.as_ref().map(|app| app.carries()) {
            Some(Carries::One(one)) => one == direction,
            Some(Carries::Both) | None => true,
        }
    }

    fn active(&self, flow: usize) -> Range<Instant> {
        let told = self.spec.told(flow);
        let ended = self.world.apps[flow].app.as_ref().and_then(|app| app.ended());
        told.start..ended.map_or(told.end, |at| at.clamp(told.start, told.end))
    }

    fn series_windows(&self, empty: Empty) -> Windows {
        let measure = &self.spec.measure;
        Windows {
            step: Duration::from_nanos(measure.step_ns),
            width: Duration::from_nanos(measure.window_ns),
            empty,
        }
    }

    /// Bits that arrived in the steps that begin while the flow runs, or in the one step within
    /// which it runs, and how many seconds long those steps are.
    fn arrived(&self, report: &DirectionReport, flow: usize) -> (f64, f64) {
        let (step, end) = (self.spec.measure.step_ns, self.spec.duration_ns);
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

    fn flows(&self) -> Table {
        let mut rows = Rows::default();
        for (flow, direction, report) in self.ways() {
            rows.word("flow", self.name(flow));
            rows.word("direction", direction.name());
            rows.flag("primary", self.is_primary(flow, direction));
            for (name, value) in [
                ("packets_sent", report.packets_sent),
                ("packets_received", report.packets_received),
                ("bytes_sent", report.bytes_sent),
                ("bytes_received", report.bytes_received),
                ("lost", report.lost),
            ] {
                rows.count(name, value);
            }
            self.throughput(&mut rows, flow, direction, report);
            self.delays(&mut rows, flow, report);
        }
        rows.table()
    }

    fn throughput(
        &self,
        rows: &mut Rows,
        flow: usize,
        direction: Direction,
        report: &DirectionReport,
    ) {
        let active = self.active(flow);
        let (bits, seconds) = self.arrived(report, flow);
        let ran = active.end.since(active.start).as_secs_f64();
        let [p5, p25, p50, p75, p95] = self
            .series_windows(Empty::Zero)
            .quantiles(&report.steps, active.clone(), [0.05, 0.25, 0.5, 0.75, 0.95])
            .map_or([f64::NAN; 5], |rates| rates.map(|bps| bps / 1e6));
        let filled = self.series_windows(Empty::Skipped).series(&report.steps, active.clone());
        let filled_mean = filled.iter().map(|sample| sample.bps).sum::<f64>() / filled.len() as f64;
        let [before, after] = self.world.read_marks[flow].map(Option::unwrap_or_default);
        let at = direction.receiver().index();
        let read = after[at].saturating_sub(before[at]);
        let sender = tap::sender(direction).index();
        let conns = self.world.conns.iter().filter(|conn| conn.app == flow);
        let retransmissions: u64 = conns.map(|conn| conn.ends[sender].info.total_retrans).sum();
        rows.floats([
            ("loss_percent", 100.0 * report.loss_ratio()),
            ("throughput_mean_mbit", bits / seconds / 1e6),
            ("throughput_p5_mbit", p5),
            ("throughput_p25_mbit", p25),
            ("throughput_p50_mbit", p50),
            ("throughput_p75_mbit", p75),
            ("throughput_p95_mbit", p95),
            ("throughput_nonempty_mean_mbit", filled_mean / 1e6),
            ("goodput_mbit", 8.0 * read as f64 / ran / 1e6),
            ("retransmissions", retransmissions as f64),
        ]);
    }

    fn delays(&self, rows: &mut Rows, flow: usize, report: &DirectionReport) {
        let app = &self.spec.apps[flow];
        let base = (app.up.delay_ns + app.down.delay_ns) as f64 / 1e6;
        let rtt = |q| ms(report.rtt.quantile(q));
        let owd = |q| ms(report.owd.quantile(q));
        rows.floats([
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
            ("owd_p50_ms", owd(0.5)),
            ("owd_p95_ms", owd(0.95)),
            ("owd_p99_ms", owd(0.99)),
            ("owd_max_ms", ms(report.owd.max())),
            ("jitter_ms", ms(Some(report.jitter.mean))),
        ]);
    }

    fn windows(&self) -> Table {
        let mut rows = Rows::new(&["flow", "direction"], &["t_s", "throughput_mbit"]);
        let whole = Instant::ZERO..Instant::from_nanos(self.spec.duration_ns);
        for (flow, direction, report) in self.ways() {
            for sample in self.series_windows(Empty::Zero).series(&report.steps, whole.clone()) {
                rows.word("flow", self.name(flow));
                rows.word("direction", direction.name());
                rows.floats([
                    ("t_s", sample.at.as_secs_f64()),
                    ("throughput_mbit", sample.bps / 1e6),
                ]);
            }
        }
        rows.table()
    }

    fn rtt(&self) -> Table {
        let mut rows = Rows::default();
        let step_s = self.spec.measure.step_ns as f64 / 1e9;
        for (flow, direction, report) in self.ways() {
            for bin in &report.rtt_series {
                rows.word("flow", self.name(flow));
                rows.word("direction", direction.name());
                rows.count("n", bin.n);
                rows.floats([
                    ("t_s", (bin.step as f64 + 0.5) * step_s),
                    ("rtt_min_ms", ms(Some(bin.min))),
                    ("rtt_p50_ms", ms(Some(bin.p50))),
                    ("rtt_mean_ms", ms(Some(bin.mean))),
                    ("rtt_max_ms", ms(Some(bin.max))),
                ]);
            }
        }
        rows.table()
    }

    fn apps(&self) -> Table {
        let mut rows = Rows::new(&["flow", "metric"], &["value"]);
        let end = Instant::from_nanos(self.spec.duration_ns);
        for (flow, slot) in self.world.apps.iter().enumerate() {
            let summary = slot.app.as_ref().map(|app| app.summary(end)).unwrap_or_default();
            for (metric, value) in summary {
                rows.word("flow", self.name(flow));
                rows.word("metric", metric);
                rows.float("value", value);
            }
        }
        rows.table()
    }

    fn app_series(&self) -> Table {
        let mut rows = Rows::new(&["flow", "metric"], &["t_s", "value"]);
        for (flow, slot) in self.world.apps.iter().enumerate() {
            for (at, metric, value) in &slot.notes {
                rows.word("flow", self.name(flow));
                rows.word("metric", metric);
                rows.floats([("t_s", at.as_secs_f64()), ("value", *value)]);
            }
        }
        rows.in_order(&["flow", "t_s", "metric", "value"])
    }

    fn queues(&self) -> Table {
        let mut rows = Rows::default();
        let measure = &self.spec.measure;
        let to_ns = measure.to_ns.unwrap_or(self.spec.duration_ns);
        let seconds = (to_ns - measure.from_ns) as f64 / 1e9;
        for (index, link) in self.spec.links.iter().enumerate() {
            let (way, counters) = (self.installed[index].direction.index(), self.counters[index]);
            let waits = &self.waits[way];
            let bytes = waits.bytes;
            let sampled = self.world.queues.iter().filter(|sample| sample.link == index);
            let most = sampled.map(|sample| sample.counters.backlog_packets).max();
            rows.word("link", &link.name);
            let kind = self.installed[index].kind;
            let offered = counters.packets + counters.drops + counters.backlog_packets;
            // What the link charged is the time that it was busy.
            let charged = 8.0 * waits.charged as f64;
            let rest = (counters.drops - counters.overlimit.min(counters.drops)) as f64;
            let early = kind.ends_with("pie") || kind == "red";
            rows.floats([
                ("packets_offered", offered as f64),
                ("packets_out", counters.packets as f64),
                ("bytes_out", waits.all_bytes as f64),
                (
                    "utilisation",
                    charged / link.rate_bps as f64 / (self.spec.duration_ns as f64 / 1e9),
                ),
                ("throughput_mbit", 8.0 * bytes as f64 / seconds / 1e6),
                ("drops_overlimit", counters.overlimit as f64),
                ("drops_sojourn", if early { 0.0 } else { rest }),
                ("drops_early", if early { rest } else { 0.0 }),
                ("drops_forced", 0.0),
                ("marks", counters.marks as f64),
            ]);
            Self::sojourns(&mut rows, &waits.sojourns);
            rows.floats([
                ("backlog_mean_packets", waits.waited.as_secs_f64() / seconds),
                ("backlog_max_packets", most.map_or(f64::NAN, |most| most as f64)),
            ]);
        }
        rows.table()
    }

    fn sojourns(rows: &mut Rows, waits: &Histogram) {
        rows.floats([
            ("sojourn_mean_ms", ms(waits.mean())),
            ("sojourn_p5_ms", ms(waits.quantile(0.05))),
            ("sojourn_p50_ms", ms(waits.quantile(0.5))),
            ("sojourn_p95_ms", ms(waits.quantile(0.95))),
            ("sojourn_p99_ms", ms(waits.quantile(0.99))),
            ("sojourn_max_ms", ms(waits.max())),
        ]);
    }

    /// The kernel does not count drops by flow.
    fn queue_drops() -> Table {
        Table::new(vec![
            ("link", Column::Word(Vec::new(), Vec::new())),
            ("flow", Column::Word(Vec::new(), Vec::new())),
            ("drops", Column::Count(Vec::new())),
            ("marks", Column::Count(Vec::new())),
        ])
    }

    /// Nor does it show what its control laws hold.
    fn queue_gauges() -> Table {
        Rows::new(&["link", "gauge"], &["t_s", "value"])
            .in_order(&["link", "t_s", "gauge", "value"])
    }

    fn queue_series(&self) -> Table {
        let mut rows = Rows::default();
        for sample in &self.world.queues {
            let worst = &self.waits[self.installed[sample.link].direction.index()].worst;
            let step = sample.at.as_nanos().saturating_sub(1) / self.spec.measure.step_ns;
            let worst = worst.get(step as usize).copied().unwrap_or(Duration::ZERO);
            rows.word("link", &self.spec.links[sample.link].name);
            rows.floats([
                ("t_s", sample.at.as_secs_f64()),
                ("backlog_packets", sample.counters.backlog_packets as f64),
                ("backlog_bytes", sample.counters.backlog_bytes as f64),
                ("sojourn_max_ms", ms(Some(worst))),
                ("drops", sample.counters.drops as f64),
                ("marks", sample.counters.marks as f64),
            ]);
        }
        rows.table()
    }

    fn conns(&self) -> Table {
        let mut rows = Rows::default();
        for conn in self.world.conns.iter().filter(|conn| conn.is_tcp()) {
            let secs = |at: Option<Instant>| at.map_or(f64::NAN, Instant::as_secs_f64);
            let [home, wan] = &conn.ends;
            rows.word("flow", self.name(conn.app));
            rows.floats([
                ("conn", f64::from(conn.id.0)),
                ("opened_s", conn.opened.as_secs_f64()),
                ("established_s", secs(conn.established)),
                ("closed_s", secs(conn.closed)),
                ("bytes_up", wan.read as f64),
                ("bytes_down", home.read as f64),
                ("segments_sent", (home.info.segs_out + wan.info.segs_out) as f64),
                ("retransmissions", (home.info.total_retrans + wan.info.total_retrans) as f64),
                ("rtos", f64::NAN),
                ("tlps", f64::NAN),
                ("fast_recoveries", f64::NAN),
                ("spurious_undos", f64::NAN),
                ("ece_reductions", f64::NAN),
            ]);
        }
        rows.table()
    }

    fn tcp_series(&self) -> Table {
        let mut rows = Rows::default();
        for sample in &self.world.tcp {
            let (conn, info) = (&self.world.conns[sample.conn], &sample.info);
            // Linux's "no threshold yet" (TCP_INFINITE_SSTHRESH).
            let known = info.ssthresh < 0x7fff_ffff;
            rows.word("flow", self.name(conn.app));
            rows.word("side", if sample.side == Side::Home { "home" } else { "wan" });
            rows.floats([
                ("conn", f64::from(conn.id.0)),
                ("t_s", sample.at.as_secs_f64()),
                ("cwnd_bytes", (info.cwnd * info.mss) as f64),
                (
                    "ssthresh_bytes",
                    if known { (info.ssthresh * info.mss) as f64 } else { f64::NAN },
                ),
                ("srtt_ms", info.srtt_us as f64 / 1e3),
                ("in_flight_bytes", (info.in_flight() * info.mss) as f64),
            ]);
        }
        rows.table()
    }

    fn summary(&self) -> Table {
        let mut rows = Rows::default();
        for (direction, name) in [(Direction::Up, "jain_up"), (Direction::Down, "jain_down")] {
            let shares: Vec<f64> = self
                .ways()
                .filter(|(flow, way, _)| *way == direction && self.is_primary(*flow, *way))
                .map(|(flow, _, report)| self.arrived(report, flow).0)
                .collect();
            rows.float(name, jain(&shares).unwrap_or(f64::NAN));
        }
        rows.count("events", 0);
        rows.count("packets", self.measured.packets);
        rows.in_order(&["jain_up", "jain_down", "events", "packets"])
    }
}
