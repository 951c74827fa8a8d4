//! The findings of a trial, from the taps and the kernel's counters.
//!
//! Times, lengths and ECN fields come from the taps. The kernel counts a discipline's drops and
//! marks by kind, but not by application (see [`crate::taps::sojourn`]). It counts RED's forced and
//! early drops together. A discipline in user space provides the same values as in the simulator.

use aqmlab_apps::Transport;
use aqmlab_core::{Direction, Duration, Side};
use aqmlab_measure::{FlowReport, InOrder, Meter};
use aqmlab_trial::findings::{
    ConnFindings, Drops, EndCounts, FlowFindings, LinkFindings, QueueSample, Samples, TcpEvents,
    TcpSample,
};
use aqmlab_trial::tables::{self, Frame, LinkCounts};
use aqmlab_trial::{Findings, Spec, Table};

use crate::netstat;
use crate::qdisc::{self, Counters, Installed};
use crate::sockets::{Conn, Info};
use crate::taps::ecn_reductions::{self, Reductions};
use crate::taps::sojourn::{self, Sojourns};
use crate::taps::{self, Measured, Record};
use crate::world::{self, World};

/// The findings of a finished trial.
pub(crate) struct View<'a> {
    spec: &'a Spec,
    findings: Findings,
    pub(crate) measured: Measured,
}

impl<'a> View<'a> {
    /// Measures the records of the taps of `world`, and removes them from `world`.
    pub(crate) fn new(
        spec: &'a Spec,
        world: &mut World<'_>,
        installed: &[Installed],
    ) -> Result<Self, String> {
        let counters = world.finish()?;
        let mut records = std::mem::take(&mut world.records);
        let passed = std::mem::take(&mut world.passed);
        taps::order(&mut records);
        let links = Direction::BOTH.map(|direction| {
            installed.iter().position(|one| one.direction == direction).map(|at| &spec.links[at])
        });
        let charge = |direction: Direction, ip_len| {
            links[direction.index()].map_or(0, |link| qdisc::charged(link, ip_len))
        };
        let mut sojourns = sojourn::sojourns(&records, &passed, Frame::of(spec), charge);
        let mut meter = Meter::new(tables::settings(spec, InOrder::Nothing), &spec.all_active());
        let apps = 0..spec.apps.len();
        let ended: Vec<_> = apps.map(|app| world.runner.app(app).ended()).collect();
        let measured = taps::measure(&records, &ended, &mut meter);
        let mut links = Vec::new();
        for (link, one) in installed.iter().enumerate() {
            let sojourns = std::mem::take(&mut sojourns[one.direction.index()]);
            links.push(of_link(spec, world, link, one, counters[link], sojourns));
        }
        let events = Events {
            of_host: events_of_hosts(world)?,
            reductions: ecn_reductions::reductions(&records),
        };
        let findings = Findings {
            flows: flows(spec, world, meter.finish(), &records),
            links,
            conns: world.conns.iter().map(|conn| of_conn(conn, &events)).collect(),
            samples: samples(spec, world),
            events: 0,
            packets: measured.packets,
        };
        Ok(Self { spec, findings, measured })
    }

    /// Returns all tables, with the simulator's names. Without measurement, returns only the
    /// counters of the links.
    pub(crate) fn tables(&self) -> Vec<(&'static str, Table)> {
        if self.spec.measure.enabled {
            return tables::all(self.spec, &self.findings);
        }
        let links = self.spec.links.iter().zip(&self.findings.links).map(|(link, found)| {
            let counts = LinkCounts {
                packets_out: found.sent,
                bytes_out: found.sent_bytes,
                drops: found.drops.all(),
                marks: found.marks,
            };
            (link.name.as_str(), counts)
        });
        tables::unmeasured(links)
    }
}

fn flows(
    spec: &Spec,
    world: &mut World<'_>,
    reports: Vec<FlowReport>,
    records: &[Record],
) -> Vec<FlowFindings> {
    let mut all = Vec::new();
    for (flow, report) in reports.into_iter().enumerate() {
        let mut found = world.runner.findings(spec, flow, report);
        let conns = world.runner.conns(flow).iter().map(|&conn| &world.conns[conn as usize]);
        let pings = conns.clone().find(|conn| conn.is_icmp());
        if let Some(pings) = pings {
            let asked = pings.open.from.peer();
            found.read[asked.index()] = requests(records, flow, asked, &found);
        }
        all.push(found);
    }
    all
}

/// Returns the number of payload bytes of the echo requests that reached `side` in the
/// application's part of the measured interval. The kernel answers the requests, so no socket reads
/// them.
fn requests(records: &[Record], flow: usize, side: Side, found: &FlowFindings) -> u64 {
    let of = |record: &&Record| {
        let asked = record.flow as usize == flow && record.direction.receiver() == side;
        asked && !record.sent && found.report.active.contains(&record.at)
    };
    // Each packet has an IP header and an ICMP header.
    records.iter().filter(of).map(|record| u64::from(record.ip_len.saturating_sub(28))).sum()
}

fn of_link(
    spec: &Spec,
    world: &World<'_>,
    link: usize,
    installed: &Installed,
    counters: Counters,
    sojourns: Sojourns,
) -> LinkFindings {
    // The link's busy time follows from the bytes that it charged.
    let busy_s = 8.0 * sojourns.charged as f64 / spec.links[link].rate_bps() as f64;
    if let Some(done) = &world.ours {
        let log = &done.links[link].log;
        return LinkFindings { busy_s, ..LinkFindings::of(log, Duration::ZERO, sojourns.report) };
    }
    LinkFindings {
        offered: counters.packets + counters.drops + counters.backlog_packets,
        sent: counters.packets,
        sent_bytes: sojourns.all_bytes,
        busy_s,
        backlog_max_packets: sojourns.most,
        drops: drops(installed.kind, counters),
        marks: counters.marks,
        flow_drops: sojourns.drops(counters.drops),
        flow_marks: sojourns.marks,
        report: sojourns.report,
    }
}

/// Returns the drops by reason. The kernel separately counts drops because of a full queue, except
/// for CAKE. The other drops of a discipline have one reason; in RED they have two, which share one
/// counter.
fn drops(kind: &str, counters: Counters) -> Drops {
    let overlimit = counters.overlimit.min(counters.drops);
    let rest = counters.drops - overlimit - counters.filtered;
    let early = kind == "red" || kind.ends_with("pie");
    let (sojourn, early) = if early { (0, rest) } else { (rest, 0) };
    let forced = (kind != "red").then_some(0);
    Drops { overlimit, sojourn, early, forced, filtered: counters.filtered }
}

/// The TCP events that sockets do not report.
struct Events {
    /// The TCP events of the two hosts, if the trial had exactly one TCP connection.
    of_host: Option<[TcpEvents; 2]>,
    reductions: Reductions,
}

/// Reads the kernel's counters at home and on the internet, if the trial had exactly one TCP
/// connection.
fn events_of_hosts(world: &World<'_>) -> Result<Option<[TcpEvents; 2]>, String> {
    if world.conns.iter().filter(|conn| conn.is_tcp()).count() != 1 {
        return Ok(None);
    }
    let of = |side| world.enter(side).and_then(|()| netstat::read());
    Ok(Some([of(Side::Home)?, of(Side::Wan)?]))
}

fn of_conn(conn: &Conn, events: &Events) -> ConnFindings {
    let key = (conn.app as u32, conn.port);
    let reductions = events.reductions.get(&key).copied().unwrap_or_default();
    let end = |side: usize| {
        let info = &conn.ends[side].info;
        let known = events.of_host.map_or_else(TcpEvents::default, |both| both[side]);
        EndCounts {
            segments_sent: info.segs_out,
            retransmissions: info.total_retrans,
            events: TcpEvents { ece_reductions: Some(reductions[side]), ..known },
        }
    };
    ConnFindings {
        flow: conn.app,
        number: conn.id.0,
        opened: conn.opened,
        established: conn.established,
        closed: conn.closed,
        read: [conn.ends[0].read, conn.ends[1].read],
        tcp: (conn.open.transport == Transport::Tcp).then(|| [end(0), end(1)]),
    }
}

fn samples(spec: &Spec, world: &mut World<'_>) -> Option<Samples> {
    let tcp = world.tcp.iter().map(of_tcp).collect();
    let mut gauges = std::mem::take(&mut world.gauges).into_iter().peekable();
    let mut queue = |sample: &qdisc::QueueSample| {
        let key = (sample.at, sample.link);
        let of = std::iter::from_fn(|| gauges.next_if(|one| (one.0, one.1) == key));
        QueueSample {
            at: sample.at,
            link: sample.link,
            backlog_packets: sample.counters.backlog_packets,
            backlog_bytes: sample.counters.backlog_bytes,
            drops: sample.counters.drops,
            marks: sample.counters.marks,
            gauges: of.map(|(.., gauge, value)| (gauge, value)).collect(),
        }
    };
    let queues = world.queues.iter().map(&mut queue).collect();
    let sampled = spec.keeps_series() && spec.measure.sample > Duration::ZERO;
    sampled.then_some(Samples { tcp, queues })
}

fn of_tcp(sample: &world::TcpSample) -> TcpSample {
    let info: &Info = &sample.info;
    // Linux's value for "no threshold yet" (TCP_INFINITE_SSTHRESH).
    let known = info.ssthresh < 0x7fff_ffff;
    TcpSample {
        at: sample.at,
        conn: sample.conn as u32,
        side: sample.side,
        cwnd_bytes: info.cwnd * info.mss,
        ssthresh_bytes: known.then_some(info.ssthresh * info.mss),
        // Linux's value before the first sample (`tcp_rtt_estimator`).
        srtt: (info.srtt_us > 0).then(|| Duration::from_nanos(info.srtt_us * 1_000)),
        in_flight_bytes: info.in_flight() * info.mss,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taps::record_at;
    use aqmlab_core::Instant;

    #[test]
    fn drops_go_to_the_reason_that_a_discipline_has_besides_want_of_room() {
        let counters = Counters { drops: 9, overlimit: 2, ..Counters::default() };
        let of = |kind| {
            let Drops { overlimit, sojourn, early, forced, .. } = drops(kind, counters);
            (overlimit, sojourn, early, forced)
        };
        let cake = drops("cake", Counters { filtered: 3, ..counters });
        assert_eq!((cake.overlimit, cake.sojourn, cake.filtered, cake.all()), (2, 4, 3, 9));
        assert_eq!(of("fq_codel"), (2, 7, 0, Some(0)));
        assert_eq!(of("fq_pie"), (2, 0, 7, Some(0)));
        assert_eq!(of("red"), (2, 0, 7, None));
    }

    #[test]
    fn the_payload_of_requests_is_read_where_they_are_answered() {
        let at = Instant::from_millis;
        let came = |ms| Record { sent: false, ..record_at(at(ms), 1) };
        let records = [record_at(at(1), 1), came(2), came(8), Record { flow: 1, ..came(3) }];
        let report = FlowReport { active: at(0)..at(5), ..FlowReport::default() };
        let found = FlowFindings { report, ..FlowFindings::default() };
        assert_eq!(requests(&records, 0, Side::Wan, &found), 72);
        assert_eq!(requests(&records, 0, Side::Home, &found), 0);
    }

    #[test]
    fn a_sender_without_a_round_trip_has_no_smoothed_round_trip_time() {
        for (srtt_us, srtt) in [(0, None), (31, Some(Duration::from_nanos(31_000)))] {
            let info = Info { srtt_us, ..Info::default() };
            let at = Instant::ZERO;
            let sample = world::TcpSample { at, conn: 0, side: Side::Home, info };
            assert_eq!(of_tcp(&sample).srtt, srtt, "{srtt_us} us");
        }
    }
}
