//! The findings of a trial: plain data, the same for every engine.

use aqmlab_apps::{App, Carries};
use aqmlab_core::{Direction, Duration, Instant, Reason, Side};
use aqmlab_measure::FlowReport;
use aqmlab_node::PortLog;

use crate::notes::Notes;
use crate::spec::Spec;
use crate::tables::QueueReport;

/// The findings of a trial.
#[derive(Debug, Default)]
pub struct Findings {
    /// The findings on each application of the trial.
    pub flows: Vec<FlowFindings>,
    /// The findings on each link of the trial.
    pub links: Vec<LinkFindings>,
    /// In the order in which they were opened, those of datagrams included.
    pub conns: Vec<ConnFindings>,
    /// The states at regular times, if the trial is sampled.
    pub samples: Option<Samples>,
    /// The steps of the simulator; zero for other engines.
    pub events: u64,
    /// Packets sent by hosts.
    pub packets: u64,
}

/// The findings on one application.
#[derive(Debug)]
pub struct FlowFindings {
    /// The measurements of the taps.
    pub report: FlowReport,
    /// The direction of its data.
    pub carries: Carries,
    /// Payload bytes that it read while it was active, at home and on the internet.
    pub read: [u64; 2],
    /// The propagation delay of both directions.
    pub rtt_base: Duration,
    /// Its own measures.
    pub summary: Vec<(&'static str, f64)>,
    /// The metrics that it recorded as it ran.
    pub notes: Notes,
}

impl FlowFindings {
    /// The findings on `app`, application number `flow` of the trial, at its end. `report` is that
    /// of the taps.
    ///
    /// # Panics
    ///
    /// If the trial has no such application.
    pub fn new(spec: &Spec, flow: usize, app: &dyn App, report: FlowReport) -> Self {
        let route = &spec.apps[flow];
        Self {
            report,
            carries: app.carries(),
            read: [0; 2],
            rtt_base: route.up.delay + route.down.delay,
            summary: app.summary(spec.end()),
            notes: Notes::default(),
        }
    }

    /// Whether its data go in this direction.
    pub(crate) fn is_primary(&self, direction: Direction) -> bool {
        match self.carries {
            Carries::One(one) => one == direction,
            Carries::Both => true,
        }
    }
}

impl Default for FlowFindings {
    /// An application that never ran.
    fn default() -> Self {
        Self {
            report: FlowReport::default(),
            carries: Carries::Both,
            read: [0; 2],
            rtt_base: Duration::ZERO,
            summary: Vec::new(),
            notes: Notes::default(),
        }
    }
}

/// The findings on one link and its discipline, in the whole trial unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub struct LinkFindings {
    /// Packets offered.
    pub offered: u64,
    /// Packets that went onto the link.
    pub sent: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Seconds in which it was sending.
    pub busy_s: f64,
    /// The maximum backlog.
    pub backlog_max_packets: u64,
    /// Packets dropped, by reason.
    pub drops: Drops,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped, by application.
    pub flow_drops: Vec<u64>,
    /// Packets marked, by application.
    pub flow_marks: Vec<u64>,
    /// The sojourn times.
    pub report: QueueReport,
}

impl LinkFindings {
    /// The counters of a port that was sending for `busy`; `report` holds the sojourn times.
    pub fn of(log: &PortLog, busy: Duration, report: QueueReport) -> Self {
        let drops = |reason: Reason| log.drops[reason.index()];
        Self {
            offered: log.offered,
            sent: log.sent,
            sent_bytes: log.sent_bytes,
            busy_s: busy.as_secs_f64(),
            backlog_max_packets: log.backlog_max_packets,
            drops: Drops {
                overlimit: drops(Reason::Overlimit),
                sojourn: drops(Reason::Sojourn),
                early: drops(Reason::Early),
                forced: Some(drops(Reason::Forced)),
            },
            marks: log.marks,
            flow_drops: log.flow_drops.clone(),
            flow_marks: log.flow_marks.clone(),
            report,
        }
    }
}

/// Packets dropped, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drops {
    /// Because the queue was full.
    pub overlimit: u64,
    /// Because of their sojourn time.
    pub sojourn: u64,
    /// Drops at random.
    pub early: u64,
    /// Above RED's upper threshold; `None` if `early` includes them.
    pub forced: Option<u64>,
}

/// The findings on one connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnFindings {
    /// The application, by its place in the trial.
    pub flow: usize,
    /// Its number within the application.
    pub number: u32,
    /// The time of its opening.
    pub opened: Instant,
    /// The time at which the first end had it established.
    pub established: Option<Instant>,
    /// The time at which both ends had closed it.
    pub closed: Option<Instant>,
    /// Payload bytes read, at home and on the internet.
    pub read: [u64; 2],
    /// The counters of its two TCPs, home first; `None` for datagrams.
    pub tcp: Option<[EndCounts; 2]>,
}

impl Default for ConnFindings {
    /// Returns a connection without events.
    fn default() -> Self {
        Self {
            flow: 0,
            number: 0,
            opened: Instant::ZERO,
            established: None,
            closed: None,
            read: [0; 2],
            tcp: None,
        }
    }
}

/// The counters of one TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndCounts {
    /// Segments sent, acknowledgements and retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Events.
    pub events: TcpEvents,
}

/// The events of a TCP; `None` if the engine cannot count them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpEvents {
    /// Expiries of the retransmission timer.
    pub rtos: Option<u64>,
    /// Tail loss probes.
    pub tlps: Option<u64>,
    /// Entries into fast recovery.
    pub fast_recoveries: Option<u64>,
    /// Reductions that were undone.
    pub spurious_undos: Option<u64>,
    /// Reductions for a mark.
    pub ece_reductions: Option<u64>,
}

/// The states of TCPs and queues at regular times.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// In the order of time.
    pub tcp: Vec<TcpSample>,
    /// In the order of time.
    pub queues: Vec<QueueSample>,
}

/// One TCP at one time.
#[derive(Clone, Debug)]
pub struct TcpSample {
    /// The time.
    pub at: Instant,
    /// Its place among the connections of the trial.
    pub conn: u32,
    /// The end.
    pub side: Side,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, once there is one.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Bytes outstanding.
    pub in_flight_bytes: u64,
}

/// One link at one time.
#[derive(Clone, Debug)]
pub struct QueueSample {
    /// The time.
    pub at: Instant,
    /// Its place among the links of the trial.
    pub link: usize,
    /// Packets in the queue.
    pub backlog_packets: u64,
    /// Bytes in the queue, as the discipline counts them.
    pub backlog_bytes: u64,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked so far.
    pub marks: u64,
    /// The gauges of the discipline.
    pub gauges: Vec<(&'static str, f64)>,
}
