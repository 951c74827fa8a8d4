//! The findings of a trial: plain data in one form for every engine.

use aqmlab_apps::{App, Carries};
use aqmlab_core::{Direction, Duration, Instant, Reason, Side};
use aqmlab_measure::FlowReport;
use aqmlab_node::PortLog;

use crate::notes::Notes;
use crate::spec::Spec;
use crate::tables::QueueReport;

/// The findings of a trial, by application, link and connection.
#[derive(Debug, Default)]
pub struct Findings {
    /// The findings on each application of the trial.
    pub flows: Vec<FlowFindings>,
    /// The findings on each link of the trial.
    pub links: Vec<LinkFindings>,
    /// The findings on each connection, in the order of opening. Datagram flows count as
    /// connections.
    pub conns: Vec<ConnFindings>,
    /// The samples of sender and queue state, if the trial takes samples.
    pub samples: Option<Samples>,
    /// The number of events in the simulator; zero for other engines.
    pub events: u64,
    /// The number of packets that hosts sent.
    pub packets: u64,
}

/// The findings on one application.
#[derive(Debug)]
pub struct FlowFindings {
    /// The measurements of the taps.
    pub report: FlowReport,
    /// The direction or directions of the application's data.
    pub carries: Carries,
    /// The payload bytes that the application read in its part of the measured interval, at home
    /// and on the internet.
    pub read: [u64; 2],
    /// The sum of the propagation delays in both directions.
    pub rtt_base: Duration,
    /// The application's own metrics, by name.
    pub summary: Vec<(&'static str, f64)>,
    /// The metrics that the application recorded as it ran.
    pub notes: Notes,
}

impl FlowFindings {
    /// Returns the findings on `app`, application number `flow`, at the end of the trial. `report`
    /// contains the findings of the taps. The caller adds the bytes read and the notes.
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

    /// Returns whether this direction carries the application's data.
    pub(crate) fn is_primary(&self, direction: Direction) -> bool {
        match self.carries {
            Carries::One(one) => one == direction,
            Carries::Both => true,
        }
    }
}

impl Default for FlowFindings {
    /// Returns the findings on an application that never ran.
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

/// The findings on one link and its discipline. They cover the whole trial unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub struct LinkFindings {
    /// Packets offered to the discipline.
    pub offered: u64,
    /// Packets sent on the link.
    pub sent: u64,
    /// IP bytes of the packets sent.
    pub sent_bytes: u64,
    /// The time in seconds for which the link was sending.
    pub busy_s: f64,
    /// The maximum backlog in packets.
    pub backlog_max_packets: u64,
    /// Packets dropped, by reason.
    pub drops: Drops,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped, by application.
    pub flow_drops: Vec<u64>,
    /// Packets marked, by application.
    pub flow_marks: Vec<u64>,
    /// The sojourn times of the packets sent.
    pub report: QueueReport,
}

impl LinkFindings {
    /// Returns the findings on a link, with the counters of its port. `busy` is the time that the
    /// port spent sending; `report` contains the sojourn times.
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
                filtered: drops(Reason::Filtered),
            },
            marks: log.marks,
            flow_drops: log.flow_drops.clone(),
            flow_marks: log.flow_marks.clone(),
            report,
        }
    }
}

/// The number of packets dropped, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drops {
    /// Drops because the queue was full.
    pub overlimit: u64,
    /// Drops because of the sojourn time.
    pub sojourn: u64,
    /// Drops by a random decision.
    pub early: u64,
    /// Drops at an average queue length at which RED drops or marks every packet; `None` if `early`
    /// includes them.
    pub forced: Option<u64>,
    /// Redundant acknowledgements that CAKE removed.
    pub filtered: u64,
}

impl Drops {
    /// Returns the number of drops by the discipline, for any reason.
    pub fn all(&self) -> u64 {
        let Self { overlimit, sojourn, early, forced, filtered } = self;
        overlimit + sojourn + early + forced.unwrap_or(0) + filtered
    }
}

/// The findings on one connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnFindings {
    /// The index of the application in the trial.
    pub flow: usize,
    /// The connection's number within its application.
    pub number: u32,
    /// The time at which the connection was opened.
    pub opened: Instant,
    /// The time at which the first of the two ends had established the connection, if one did.
    pub established: Option<Instant>,
    /// The time at which the connection had ended at both ends, if it did.
    pub closed: Option<Instant>,
    /// The payload bytes read, at home and on the internet.
    pub read: [u64; 2],
    /// The counters of the two ends, home first; `None` for datagrams and the streams of a QUIC
    /// connection.
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

/// The counters of one end: of its TCP, or of its QUIC connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndCounts {
    /// Segments sent, including acknowledgements and retransmissions; for QUIC, datagrams sent.
    pub segments_sent: u64,
    /// Segments retransmitted; for QUIC, packets sent that repeat earlier data.
    pub retransmissions: u64,
    /// The events of loss recovery and congestion control.
    pub events: TcpEvents,
}

/// The events of one end; `None` if the engine cannot count them. For a QUIC connection, they are
/// the nearest events of QUIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpEvents {
    /// Expiries of the retransmission timer.
    pub rtos: Option<u64>,
    /// Tail loss probes.
    pub tlps: Option<u64>,
    /// Entries into fast recovery.
    pub fast_recoveries: Option<u64>,
    /// Window reductions that were undone.
    pub spurious_undos: Option<u64>,
    /// Window reductions for an ECN mark.
    pub ece_reductions: Option<u64>,
}

/// The states of senders and queues at regular times.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The samples of TCP and QUIC senders, ordered by time.
    pub tcp: Vec<TcpSample>,
    /// The samples of queues, ordered by time.
    pub queues: Vec<QueueSample>,
}

/// The state of one TCP or QUIC sender at one time.
#[derive(Clone, Debug)]
pub struct TcpSample {
    /// The time of the sample.
    pub at: Instant,
    /// The index of the connection among the connections of the trial.
    pub conn: u32,
    /// The end of the connection.
    pub side: Side,
    /// The congestion window.
    pub cwnd_bytes: u64,
    /// The slow-start threshold, if it has been set.
    pub ssthresh_bytes: Option<u64>,
    /// The smoothed round-trip time, if it has been measured.
    pub srtt: Option<Duration>,
    /// The number of bytes in flight.
    pub in_flight_bytes: u64,
}

/// The state of one link's queue at one time.
#[derive(Clone, Debug)]
pub struct QueueSample {
    /// The time of the sample.
    pub at: Instant,
    /// The index of the link among the links of the trial.
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
