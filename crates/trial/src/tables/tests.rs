//! Tests every cell of the tables, except `hosts`, against values computed by hand.

use aqmlab_apps::Carries;
use aqmlab_core::{Direction, Duration, Instant, Side};
use aqmlab_measure::{FlowReport, InOrder, Meter, Sent};

use super::{Frame, LinkCounts, QueueReport, all, settings, unmeasured};
use crate::findings::{
    ConnFindings, Drops, EndCounts, Findings, FlowFindings, LinkFindings, QueueSample, Samples,
    TcpEvents, TcpSample,
};
use crate::notes::Notes;
use crate::spec::Spec;
use crate::table::{Column, Table};

/// Returns a trial of ten seconds with windows of two seconds and series of at most eight points.
/// The last second is outside the interval of the statistics.
fn spec(more: &str) -> Spec {
    let app = |name: &str| {
        format!(
            r#"{{"name": "{name}", "app": {{"kind": "bulk"}}, "start_ns": 1000000000,
            "up": {{"links": [0], "delay_ns": 10000000}},
            "down": {{"links": [1], "delay_ns": 20000000}}}}"#
        )
    };
    let link = |name: &str| format!(r#"{{"name": "{name}", "qdisc": {{"kind": "pfifo"}}}}"#);
    let json = format!(
        r#"{{"seed": 1, "duration_ns": 10000000000, "links": [{}, {}], "apps": [{}, {}],
        "measure": {{"to_ns": 9000000000, "window_ns": 2000000000, "step_ns": 1000000000,
        "points": 8 {more}}}}}"#,
        link("up"),
        link("down"),
        app("file"),
        app("idle"),
    );
    crate::parse(&json).expect("it is a trial")
}

fn ms(at: u64) -> Instant {
    Instant::from_millis(at)
}

/// Returns the report of a download of five packets and the report of a flow without packets. One
/// packet is answered, one is lost, and one arrives without an answer. One packet arrives after the
/// interval of the statistics, and one is sent after this interval.
fn reports(spec: &Spec) -> Vec<FlowReport> {
    let (up, down) = (Direction::Up, Direction::Down);
    let mut meter = Meter::new(settings(spec, InOrder::Nothing), &spec.all_active());
    for (at, id, direction, sent, len) in [
        (1_500, 0, down, true, 1_000),
        (1_520, 0, down, false, 1_000),
        (1_520, 1, up, true, 50),
        (1_550, 1, up, false, 50),
        (2_500, 2, down, true, 1_000),
        (3_500, 3, down, true, 1_000),
        (3_540, 3, down, false, 1_000),
        (8_990, 4, down, true, 700),
        (9_010, 4, down, false, 700),
        (9_500, 5, down, true, 900),
    ] {
        if sent {
            meter.sent(Sent { flow: 0, conn: 0, direction, id, ip_len: len }, ms(at));
        } else {
            meter.received(0, direction, id, len, ms(at));
        }
    }
    meter.finish()
}

fn findings(spec: &Spec) -> Findings {
    let mut reports = reports(spec).into_iter();
    let mut notes = Notes::of(spec);
    notes.push(ms(2_000), "rtt_ms", 7.5);
    let file = FlowFindings {
        report: reports.next().expect("there are two"),
        carries: Carries::One(Direction::Down),
        read: [1_800, 30],
        rtt_base: Duration::from_millis(30),
        summary: vec![("read_bytes", 1_900.0)],
        notes,
    };
    let idle =
        FlowFindings { report: reports.next().expect("there are two"), ..FlowFindings::default() };
    Findings {
        flows: vec![file, idle],
        links: vec![LinkFindings::default(), link(spec)],
        conns: conns(),
        samples: Some(Samples { tcp: tcp_samples(), queues: queue_samples() }),
        events: 77,
        packets: 6,
    }
}

fn link(spec: &Spec) -> LinkFindings {
    let frame = Frame::of(spec);
    let mut report = QueueReport::default();
    // The first two packets leave in the interval. The third packet leaves at the end of the
    // interval.
    for (left, waited, len) in [(1_500, 30, 1_000), (3_999, 90, 2_375), (9_000, 500, 900)] {
        report.note(&frame, ms(left), Duration::from_millis(waited), len);
    }
    LinkFindings {
        offered: 20,
        sent: 12,
        sent_bytes: 13_000,
        busy_s: 2.5,
        backlog_max_packets: 5,
        drops: Drops { overlimit: 1, sojourn: 2, early: 3, forced: None, filtered: 0 },
        marks: 4,
        flow_drops: vec![6],
        flow_marks: vec![3, 1],
        report,
    }
}

fn conns() -> Vec<ConnFindings> {
    let end = |times: u64, tlps: Option<u64>| EndCounts {
        segments_sent: 10 * times,
        retransmissions: times,
        events: TcpEvents {
            rtos: Some(2 * times),
            tlps,
            fast_recoveries: Some(3 * times),
            spurious_undos: Some(4 * times),
            ece_reductions: Some(5 * times),
        },
    };
    let tcp = ConnFindings {
        number: 1,
        opened: ms(1_000),
        established: Some(ms(1_030)),
        read: [1_800, 30],
        tcp: Some([end(1, Some(9)), end(10, None)]),
        ..ConnFindings::default()
    };
    vec![ConnFindings::default(), tcp]
}

fn tcp_samples() -> Vec<TcpSample> {
    let first = TcpSample {
        at: ms(1_100),
        conn: 1,
        side: Side::Wan,
        cwnd_bytes: 14_480,
        ssthresh_bytes: None,
        srtt: Some(Duration::from_millis(31)),
        in_flight_bytes: 2_896,
    };
    let later = TcpSample { at: ms(1_200), side: Side::Home, ssthresh_bytes: Some(9), ..first };
    vec![first, later]
}

fn queue_samples() -> Vec<QueueSample> {
    [2_000, 4_000, 4_001]
        .map(|at| QueueSample {
            at: ms(at),
            link: 1,
            backlog_packets: 3,
            backlog_bytes: 3_042,
            drops: 2,
            marks: 1,
            gauges: vec![("count", at as f64)],
        })
        .to_vec()
}

fn cell(column: &Column, row: usize) -> String {
    match column {
        Column::Float(values) => format!("{}", (values[row] * 1e6).round() / 1e6),
        Column::Count(values) => values[row].to_string(),
        Column::Flag(values) => values[row].to_string(),
        Column::Word(rows, words) => words[rows[row] as usize].clone(),
    }
}

/// Returns a line for each row, with the columns and their values.
fn text(table: &Table) -> Vec<String> {
    let row = |row: usize| {
        let cells =
            table.columns.iter().map(|(name, column)| format!("{name} {}", cell(column, row)));
        cells.collect::<Vec<_>>().join(", ")
    };
    (0..table.rows()).map(row).collect()
}

#[track_caller]
fn assert_table(tables: &[(&'static str, Table)], name: &str, want: &[&str]) {
    let table = tables.iter().find(|(known, _)| *known == name).map(|(_, table)| text(table));
    assert_eq!(table.expect("there is such a table"), want, "{name}");
}

#[test]
fn every_cell_of_what_the_taps_tell_is_right() {
    let spec = spec("");
    let tables = all(&spec, &findings(&spec));
    assert_table(
        &tables,
        "flows",
        &[
            "flow file, direction up, primary false, packets_sent 1, packets_received 1, bytes_sent 50, bytes_received 50, lost 0, loss_percent 0, active_from_s 1, active_to_s 9, throughput_mean_mbit 0.00005, throughput_p5_mbit 0, throughput_p25_mbit 0, throughput_p50_mbit 0, throughput_p75_mbit 0, throughput_p95_mbit 0.00014, throughput_nonempty_mean_mbit 0.0002, goodput_mbit 0.00003, retransmissions 1, rtt_n 1, rtt_min_ms 70, rtt_mean_ms 70, rtt_p1_ms 70, rtt_p5_ms 70, rtt_p10_ms 70, rtt_p25_ms 70, rtt_p50_ms 70, rtt_p75_ms 70, rtt_p90_ms 70, rtt_p95_ms 70, rtt_p99_ms 70, rtt_p99_9_ms 70, rtt_max_ms 70, rtt_base_ms 30, induced_p25_ms 40, induced_p50_ms 40, induced_p75_ms 40, induced_p95_ms 40, owd_p50_ms 30, owd_p90_ms 30, owd_p95_ms 30, owd_p99_ms 30, owd_p99_9_ms 30, owd_max_ms 30, jitter_ms 0",
            "flow file, direction down, primary true, packets_sent 4, packets_received 3, bytes_sent 3700, bytes_received 2700, lost 1, loss_percent 25, active_from_s 1, active_to_s 9, throughput_mean_mbit 0.002, throughput_p5_mbit 0, throughput_p25_mbit 0, throughput_p50_mbit 0, throughput_p75_mbit 0.004, throughput_p95_mbit 0.004, throughput_nonempty_mean_mbit 0.004, goodput_mbit 0.0018, retransmissions 10, rtt_n 1, rtt_min_ms 50, rtt_mean_ms 50, rtt_p1_ms 50, rtt_p5_ms 50, rtt_p10_ms 50, rtt_p25_ms 50, rtt_p50_ms 50, rtt_p75_ms 50, rtt_p90_ms 50, rtt_p95_ms 50, rtt_p99_ms 50, rtt_p99_9_ms 50, rtt_max_ms 50, rtt_base_ms 30, induced_p25_ms 20, induced_p50_ms 20, induced_p75_ms 20, induced_p95_ms 20, owd_p50_ms 20.004864, owd_p90_ms 36.000973, owd_p95_ms 38.000486, owd_p99_ms 39.600097, owd_p99_9_ms 39.96001, owd_max_ms 40, jitter_ms 20",
        ],
    );
    assert_table(
        &tables,
        "windows",
        &[
            "flow file, direction up, t_s 1, throughput_mbit 0.0002",
            "flow file, direction up, t_s 3, throughput_mbit 0",
            "flow file, direction up, t_s 5, throughput_mbit 0",
            "flow file, direction up, t_s 7, throughput_mbit 0",
            "flow file, direction up, t_s 9, throughput_mbit 0",
            "flow file, direction down, t_s 1, throughput_mbit 0.004",
            "flow file, direction down, t_s 3, throughput_mbit 0.004",
            "flow file, direction down, t_s 5, throughput_mbit 0",
            "flow file, direction down, t_s 7, throughput_mbit 0",
            "flow file, direction down, t_s 9, throughput_mbit 0.0028",
        ],
    );
    assert_table(
        &tables,
        "rtt",
        &[
            "flow file, direction up, n 1, t_s 3, rtt_min_ms 70, rtt_p50_ms 70, rtt_mean_ms 70, rtt_max_ms 70",
            "flow file, direction down, n 1, t_s 1, rtt_min_ms 50, rtt_p50_ms 50, rtt_mean_ms 50, rtt_max_ms 50",
        ],
    );
    assert_table(&tables, "apps", &["flow file, metric read_bytes, value 1900"]);
    assert_table(&tables, "app_series", &["flow file, t_s 2, metric rtt_ms, value 7.5"]);
    assert_table(&tables, "summary", &["jain_up NaN, jain_down 1, events 77, packets 6"]);
}

#[test]
fn every_cell_of_queues_and_connections_is_right() {
    let spec = spec("");
    let tables = all(&spec, &findings(&spec));
    assert_table(
        &tables,
        "queues",
        &[
            "link up, packets_offered 0, packets_out 0, bytes_out 0, utilisation 0, throughput_mbit 0, drops_overlimit 0, drops_sojourn 0, drops_early 0, drops_forced NaN, drops_filtered 0, marks 0, sojourn_mean_ms NaN, sojourn_p5_ms NaN, sojourn_p50_ms NaN, sojourn_p95_ms NaN, sojourn_p99_ms NaN, sojourn_max_ms NaN, backlog_mean_packets 0, backlog_max_packets 0",
            "link down, packets_offered 20, packets_out 12, bytes_out 13000, utilisation 0.25, throughput_mbit 0.003, drops_overlimit 1, drops_sojourn 2, drops_early 3, drops_forced NaN, drops_filtered 0, marks 4, sojourn_mean_ms 60, sojourn_p5_ms 33, sojourn_p50_ms 60, sojourn_p95_ms 87, sojourn_p99_ms 89.4, sojourn_max_ms 90, backlog_mean_packets 0.013333, backlog_max_packets 5",
        ],
    );
    assert_table(
        &tables,
        "queue_drops",
        &["link down, flow file, drops 6, marks 3", "link down, flow idle, drops 0, marks 1"],
    );
    assert_table(
        &tables,
        "queue_series",
        &[
            "link down, t_s 2, backlog_packets 3, backlog_bytes 3042, sojourn_max_ms 30, drops 2, marks 1",
            "link down, t_s 4, backlog_packets 3, backlog_bytes 3042, sojourn_max_ms 90, drops 2, marks 1",
            "link down, t_s 4.001, backlog_packets 3, backlog_bytes 3042, sojourn_max_ms 0, drops 2, marks 1",
        ],
    );
    assert_table(
        &tables,
        "queue_gauges",
        &[
            "link down, t_s 2, gauge count, value 2000",
            "link down, t_s 4, gauge count, value 4000",
            "link down, t_s 4.001, gauge count, value 4001",
        ],
    );
    assert_table(
        &tables,
        "conns",
        &[
            "flow file, conn 1, opened_s 1, established_s 1.03, closed_s NaN, bytes_up 30, bytes_down 1800, segments_sent 110, retransmissions 11, rtos 22, tlps NaN, fast_recoveries 33, spurious_undos 44, ece_reductions 55",
        ],
    );
    assert_table(
        &tables,
        "tcp_series",
        &[
            "flow file, side wan, conn 1, t_s 1.1, cwnd_bytes 14480, ssthresh_bytes NaN, srtt_ms 31, in_flight_bytes 2896",
            "flow file, side home, conn 1, t_s 1.2, cwnd_bytes 14480, ssthresh_bytes 9, srtt_ms 31, in_flight_bytes 2896",
        ],
    );
}

#[test]
fn a_queue_s_rates_are_over_the_interval_of_the_statistics() {
    let mut spec = spec("");
    spec.measure.from = Instant::from_millis(3_000);
    let tables = all(&spec, &findings(&spec));
    let queues = &tables.iter().find(|(name, _)| *name == "queues").expect("it is there").1;
    let down = &text(queues)[1];
    // 2375 bytes leave in six seconds, after a sojourn time of 90 ms.
    assert!(down.contains("throughput_mbit 0.003167"), "{down}");
    assert!(down.contains("backlog_mean_packets 0.015"), "{down}");
}

#[test]
fn a_direction_has_a_row_if_something_was_sent_or_arrived_in_it() {
    let spec = spec("");
    let mut found = findings(&spec);
    let flow = &mut found.flows[1];
    flow.report.directions = Default::default();
    flow.report.directions[0].packets_sent = 1;
    let rows = |found: &Findings| {
        let tables = all(&spec, found);
        let flows = &tables.iter().find(|(name, _)| *name == "flows").expect("it is there").1;
        let idle = text(flows).into_iter().filter(|row| row.starts_with("flow idle"));
        idle.map(|row| row.split(", ").nth(1).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&found), ["direction up"]);
    found.flows[1].report.directions[1].bytes_arrived = 40;
    assert_eq!(rows(&found), ["direction up", "direction down"]);
}

#[test]
fn without_series_the_numbers_of_the_whole_trial_are_the_same() {
    let (with, without) = (spec(""), spec(r#", "series": false"#));
    let [with, without] = [with, without].map(|spec| all(&spec, &findings(&spec)));
    for name in ["flows", "queues", "conns", "summary"] {
        let of = |tables: &[(&'static str, Table)]| {
            tables.iter().find(|(known, _)| *known == name).map(|(_, table)| text(table))
        };
        assert_eq!(of(&with), of(&without), "{name}");
    }
    assert_table(&without, "windows", &[]);
    assert_table(&without, "rtt", &[]);
    assert_table(&without, "app_series", &[]);
}

#[test]
fn a_trial_that_is_not_measured_has_the_counts_of_its_links() {
    let counts = LinkCounts { packets_out: 1, bytes_out: 2, drops: 3, marks: 4 };
    assert_table(
        &unmeasured([("up", counts)]),
        "links",
        &["link up, packets_out 1, bytes_out 2, drops 3, marks 4"],
    );
}
