//! Congestion control: the amount of data in flight, and the sending rate.
//!
//! The work is divided as in Linux. The connection detects losses, keeps the recovery states, and
//! uses PRR to set `cwnd` during recovery. A controller grows `cwnd` outside recovery, chooses the
//! slow-start threshold after a congestion event, and may set a pacing rate. A controller that
//! always sets `cwnd` itself (BBR) returns true from [`CongestionControl::controls_cwnd`].

mod byte_counting;
mod ecn;
mod feedback;
mod jiffies;
pub mod kinds;

use aqmlab_core::{BitRate, Duration, Instant};

pub use ecn::{EcnMode, EcnNeed, Start, Totals};
pub use feedback::{CaState, Feedback, LostSegment};

/// The congestion window and its parameters.
///
/// Hosts that count segments (Linux) have `segment == 1`; hosts that count bytes (FreeBSD, Windows)
/// have `segment == mss`. Amounts of data in this file are in that unit, except where a description
/// says bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The maximum amount of data in flight.
    pub cwnd: u64,
    /// The slow-start threshold. Below this threshold the connection is in slow start, otherwise in
    /// congestion avoidance; on FreeBSD it is in slow start at the threshold too. The threshold is
    /// `u64::MAX` until a controller or the connection first sets it.
    pub ssthresh: u64,
    /// The number of units in a full-sized segment.
    pub segment: u64,
    /// The number of bytes in a full-sized segment, excluding options.
    pub mss: u32,
    /// The upper limit of `cwnd` (Linux's `snd_cwnd_clamp`).
    pub clamp: u64,
}

impl Window {
    /// Returns whether the window is below the slow-start threshold.
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The values of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// The arrival time of the acknowledgement.
    pub now: Instant,
    /// The amount of data newly acknowledged, cumulatively or selectively (Linux's `delivered`).
    pub acked: u64,
    /// The number of bytes newly acknowledged cumulatively (FreeBSD's `bytes_this_ack`).
    pub bytes: u64,
    /// The amount of data outstanding after the acknowledgement.
    pub in_flight: u64,
    /// The time until pacing allows the next departure.
    pub until_departure: Duration,
    /// The round-trip sample of the acknowledgement, if it has one.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// The minimum round-trip time (on Linux, over the last 300 s), once there is a sample.
    pub min_rtt: Option<Duration>,
    /// Whether the congestion window limited the sender, rather than the application or the peer's
    /// window.
    pub cwnd_limited: bool,
    /// The first unacknowledged byte. It delimits rounds together with `snd_nxt`.
    pub snd_una: u64,
    /// The next byte to send.
    pub snd_nxt: u64,
    /// The delivery-rate sample of this acknowledgement.
    pub rate: RateSample,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// The number of units delivered over `interval`. Without a sample, `delivered` and `interval`
    /// are zero.
    pub delivered: u64,
    /// The longer of the sending interval and the acknowledging interval.
    pub interval: Duration,
    /// The total number of units delivered when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// The total number of units delivered so far.
    pub total_delivered: u64,
    /// The number of units that were marked as lost because of this acknowledgement.
    pub losses: u64,
    /// The total number of units lost so far.
    pub total_lost: u64,
    /// The number of units that this acknowledgement acknowledges cumulatively or selectively.
    pub acked_sacked: u64,
    /// Whether the application limited the sender during the sample.
    pub app_limited: bool,
    /// Whether the newest acknowledged segment had been retransmitted.
    pub retransmitted: bool,
}

/// A congestion event, at most one per round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// The time at which the congestion was detected.
    pub now: Instant,
    /// The amount of data outstanding just before the congestion was detected.
    pub in_flight: u64,
    /// The signal by which the congestion was detected.
    pub signal: Signal,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
}

/// A signal by which congestion is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A queue marked a packet (RFC 3168).
    EcnEcho,
    /// A packet was lost. Fast recovery repairs the loss.
    Loss,
    /// The retransmission timer expired.
    Rto,
}

/// An event of a connection, other than an acknowledgement or congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcEvent {
    /// A segment is sent while none is in flight (Linux `CA_EVENT_TX_START`).
    TransmitStart {
        /// The length of the idle period before the segment.
        idle: Duration,
        /// Whether the application limited the sender before the segment.
        app_limited: bool,
    },
    /// `cwnd` restarts after an idle period (Linux `CA_EVENT_CWND_RESTART`).
    IdleRestart,
    /// The retransmission timer expired, and all outstanding data counts as lost.
    RtoEntered,
    /// Fast recovery began.
    RecoveryEntered,
    /// A duplicate acknowledgement was counted (FreeBSD's `CC_DUPACK`). The value is the smoothed
    /// round-trip time.
    DuplicateAck(Option<Duration>),
    /// Recovery, or the window reduction after an ECN echo, is complete.
    RecoveryLeft,
    /// A reduction was spurious and is being undone.
    Undone,
    /// The window is being reduced because of an ECN echo or a repaired loss (Linux's
    /// `TCP_CA_CWR`).
    CwrEntered,
    /// The connection returned to the state without suspected losses (`TCP_CA_Open`).
    Opened,
    /// A tail loss probe repaired a loss (`CA_EVENT_TLP_RECOVERY`).
    ProbeRepaired {
        /// Whether the application limited the sender when the lost segment was sent.
        app_limited: bool,
        /// The number of segments delivered so far.
        delivered: u64,
    },
}

/// The minimum number of segments of a burst, unless the controller states another rule (Linux
/// `tcp_min_tso_segs`).
pub(crate) const MIN_TSO_SEGMENTS: u64 = 2;

/// The space in bytes that Linux reserves for headers: 320 in kernels with wireless networks, and
/// 256 in kernels without, such as the cloud kernel that validates the simulator.
pub(crate) const MAX_TCP_HEADER: u64 = 256;

/// The maximum number of bytes that an interface accepts at once, which is the largest burst of a
/// controller: 64 KiB minus one byte and the space for headers (`sk_gso_max_size`).
pub(crate) const LARGEST_BURST: u64 = 65_536 - 1 - MAX_TCP_HEADER;

/// The rule for the number of segments in a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsoSegments {
    /// The connection's number of segments, but at least this number if the segments are available
    /// (Linux `min_tso_segs`).
    Least(u64),
    /// This number of segments, if they are available (`tso_segs` of newer kernels).
    Exactly(u64),
}

/// A congestion controller, which sets the window of a connection, and may set its pacing rate.
pub trait CongestionControl: Send {
    /// Returns the ECN that the controller needs. Only Linux's stack heeds this need.
    fn ecn_need(&self) -> EcnNeed {
        EcnNeed::None
    }

    /// Records the result of the handshake, before [`CongestionControl::on_established`].
    fn on_start(&mut self, start: &Start) {
        let _ = start;
    }

    /// Returns whether the connection, as a receiver, echoes the mark of every segment (RFC 8257
    /// §3.2). It then acknowledges each change between marked and unmarked segments at once.
    fn echoes_precisely(&self) -> bool {
        false
    }

    /// Returns whether the connection calls [`CongestionControl::on_feedback`],
    /// [`CongestionControl::on_lost`] and [`CongestionControl::limits_samples`]. Only Linux's stack
    /// calls them.
    fn wants_feedback(&self) -> bool {
        false
    }

    /// Receives further values of an acknowledgement, before [`CongestionControl::control`].
    fn on_feedback(&mut self, feedback: &Feedback) {
        let _ = feedback;
    }

    /// Processes a segment that is marked as lost (`skb_marked_lost`).
    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        let _ = (window, lost);
    }

    /// Returns whether the samples of segments that are sent now count as limited by the
    /// application.
    fn limits_samples(&self) -> bool {
        false
    }

    /// Processes the totals of an acknowledgement (Linux's `in_ack_event`). A connection with
    /// accurate ECN calls this function. A connection with classic ECN calls it only if the
    /// controller needs ECN. With classic ECN the totals omit the segments that the
    /// acknowledgement covers cumulatively, as in Linux 6.1. With accurate ECN the totals include
    /// these segments, as in Linux 6.18.
    fn on_totals(&mut self, totals: &Totals) {
        let _ = totals;
    }

    /// Records that the connection is established. `srtt` is the round-trip time of the handshake.
    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        let _ = (window, now, srtt);
    }

    /// Processes an acknowledgement of new data, in any state (Linux's `pkts_acked`).
    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// Processes an acknowledgement of new data outside recovery, for which `cwnd` may grow
    /// (Linux's `cong_avoid`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Returns the new slow-start threshold after a congestion event.
    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64;

    /// Processes an event of the connection.
    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        let _ = (window, event, now);
    }

    /// Returns the window after a recovery that ends with at least the slow-start threshold of data
    /// in flight (FreeBSD's `post_recovery`).
    fn post_recovery_cwnd(&mut self, window: &Window) -> u64 {
        window.ssthresh
    }

    /// Returns the window after a spurious reduction is undone. `prior_cwnd` is the window before
    /// the reduction (Linux's `undo_cwnd`).
    fn undo_cwnd(&self, window: &Window, prior_cwnd: u64) -> u64 {
        window.cwnd.max(prior_cwnd)
    }

    /// Returns whether the controller always sets `cwnd` itself, in [`CongestionControl::control`].
    /// The controller then replaces slow start, congestion avoidance and PRR. The result does not
    /// change after [`CongestionControl::on_start`].
    fn controls_cwnd(&self) -> bool {
        false
    }

    /// Sets `cwnd`, for controllers that always set it. The connection calls this function for
    /// every acknowledgement, in every state, after loss detection (Linux's `cong_control`).
    fn control(&mut self, window: &mut Window, ack: &Ack, in_recovery: bool) {
        let _ = (window, ack, in_recovery);
    }

    /// Returns the pacing rate, or `None` if the controller does not pace. A controller that has a
    /// rate after [`CongestionControl::on_start`] always has one, and another controller never has
    /// one.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Returns the rule for the number of segments in a burst. The connection asks only controllers
    /// that pace.
    fn tso_segments(&self) -> TsoSegments {
        TsoSegments::Least(MIN_TSO_SEGMENTS)
    }

    /// Returns the number of windows that the send buffer should hold (Linux `sndbuf_expand`).
    fn sndbuf_windows(&self) -> u64 {
        2
    }

    /// Returns the gauges to plot beside `cwnd`, with their names.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
