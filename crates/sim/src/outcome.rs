//! The result of a run: a digest, and the findings of the world and its observer as tables.

use aqmlab_core::{Digest, Instant, Side};
use aqmlab_measure::{FlowReport, InOrder};
use aqmlab_tcp::Stats;
use aqmlab_trial::findings::{ConnFindings, EndCounts, LinkFindings, TcpEvents};
use aqmlab_trial::tables::{self, LinkCounts, QueueReport};
use aqmlab_trial::{Findings, Spec, Table};

use crate::captures::Captures;
use crate::conn::Conn;
use crate::network::Link;
use crate::observer::Observer;
use crate::taps::Taps;
use crate::world::World;

/// The result of a run.
pub struct Outcome {
    /// The digest, which is equal for equal runs, regardless of the measurement.
    pub digest: Digest,
    /// The number of calls to actors, including the reads of applications.
    pub events: u64,
    /// The number of packets sent by hosts.
    pub packets: u64,
    /// The tables, by name.
    pub tables: Vec<(&'static str, Table)>,
    /// Every packet, if packets were kept.
    pub(crate) captures: Option<Captures>,
}

impl Outcome {
    /// Returns the table called `name`, if there is one.
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

/// Returns the outcome of a run without measurement. Its tables contain only the counters of the
/// links.
pub(crate) fn bare<O: Observer>(world: &World<O>) -> Outcome {
    let links = world.network.links.iter().map(|link| {
        let log = &link.port.log;
        let counts = LinkCounts {
            packets_out: log.sent,
            bytes_out: log.sent_bytes,
            drops: log.dropped,
            marks: log.marks,
        };
        (link.name.as_str(), counts)
    });
    Outcome {
        digest: digest(world),
        events: world.events,
        packets: world.network.packets,
        tables: tables::unmeasured(links),
        captures: None,
    }
}

/// Returns the outcome of a run with measurement.
pub(crate) fn measured(mut world: World<Taps>, spec: &Spec) -> Outcome {
    let digest = digest(&world);
    let taps = std::mem::replace(&mut world.network.observer, Taps::new(spec, InOrder::Nothing));
    let Taps { meter, queues, records, .. } = taps;
    let findings = findings(&mut world, spec, meter.finish(), queues);
    let captures = records.map(|records| Captures::new(*records, &world));
    Outcome {
        digest,
        events: world.events,
        packets: world.network.packets,
        tables: tables::all(spec, &findings),
        captures,
    }
}

/// Returns the findings. Moves the samples and the notes out of the world.
fn findings(
    world: &mut World<Taps>,
    spec: &Spec,
    reports: Vec<FlowReport>,
    queues: Vec<QueueReport>,
) -> Findings {
    let end = spec.end();
    let flows = reports.into_iter().enumerate();
    let links = world.network.links.iter().zip(queues);
    Findings {
        flows: flows.map(|(flow, report)| world.runner.findings(spec, flow, report)).collect(),
        links: links.map(|(link, report)| of_link(link, end, report)).collect(),
        conns: world.conns.iter().map(|conn| of_conn(conn, &world.conns)).collect(),
        samples: world.sampler.take().map(|sampler| sampler.samples),
        events: world.events,
        packets: world.network.packets,
    }
}

fn of_link(link: &Link, end: Instant, report: QueueReport) -> LinkFindings {
    LinkFindings::of(&link.port.log, link.port.busy_until(end), report)
}

fn of_conn(conn: &Conn, all: &[Conn]) -> ConnFindings {
    let mut tcp = (conn.transport == aqmlab_apps::Transport::Tcp).then(|| {
        Side::BOTH
            .map(|side| conn.stats_of(side).map_or_else(EndCounts::default, |stats| counts(&stats)))
    });
    let mut read = conn.bytes_read();
    if let Some(quic) = &conn.quic {
        tcp = Some(Side::BOTH.map(|side| quic_counts(&quic.ends[side.index()].quic.stats())));
        let streams = quic.streams.iter().map(|&stream| all[stream as usize].read);
        read = streams.fold([0; 2], |sum, read| [sum[0] + read[0], sum[1] + read[1]]);
    }
    ConnFindings {
        flow: conn.app as usize,
        number: conn.id.0,
        opened: conn.opened,
        established: conn.established,
        closed: conn.closed,
        read,
        tcp,
    }
}

fn quic_counts(stats: &aqmlab_quic::Stats) -> EndCounts {
    EndCounts {
        segments_sent: stats.datagrams_sent,
        retransmissions: stats.repeated_packets,
        events: TcpEvents {
            rtos: Some(stats.recovery.persistent),
            tlps: Some(stats.recovery.ptos),
            fast_recoveries: Some(stats.recovery.loss_periods),
            spurious_undos: Some(0),
            ece_reductions: Some(stats.recovery.ecn_periods),
        },
    }
}

fn counts(stats: &Stats) -> EndCounts {
    EndCounts {
        segments_sent: stats.segments_sent,
        retransmissions: stats.retransmitted_segments,
        events: TcpEvents {
            rtos: Some(stats.rtos),
            tlps: Some(stats.tlps),
            fast_recoveries: Some(stats.fast_recoveries),
            spurious_undos: Some(stats.spurious_undos),
            ece_reductions: Some(stats.ece_reductions),
        },
    }
}
