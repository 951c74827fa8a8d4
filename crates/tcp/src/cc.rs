//! Congestion control: the amount of data in flight, and its rate.
//!
//! The division of work is Linux's. The connection detects losses, keeps the recovery states and, by
//! PRR, sets `cwnd` during recovery. A controller grows `cwnd` outside recovery, chooses the
//! threshold of a reduction, and may pace. A controller that always sets `cwnd` itself (BBR) returns
//! true from [`CongestionControl::controls_cwnd`].

mod jiffies;
pub mod kinds;

use aqmlab_core::{BitRate, Duration, Instant};

/// The congestion window and its parameters.
///
/// Hosts that count segments (Linux) have `segment == 1`; hosts that count bytes (FreeBSD,
/// Windows) have `segment == mss`. Everything in this struct, and every `u64` of the other
/// structs here, is in that unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The maximum data in flight.
    pub cwnd: u64,
    /// The slow-start threshold: slow start below it, congestion avoidance from there on. It is
    /// `u64::MAX` until the first loss.
    pub ssthresh: u64,
    /// Units per full-sized segment.
    pub segment: u64,
    /// Bytes per full-sized segment, options excluded.
    pub mss: u32,
    /// The largest `cwnd`.
    pub clamp: u64,
}

impl Window {
    /// Whether the window is below the slow-start threshold.
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgement of new data, cumulative or selective.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Its arrival time.
    pub now: Instant,
    /// Data newly acknowledged, cumulatively or selectively (Linux's `delivered`).
    pub acked: u64,
    /// Bytes newly acknowledged cumulatively (FreeBSD's `bytes_this_ack`).
    pub bytes: u64,
    /// Data outstanding after it.
    pub in_flight: u64,
    /// Data outstanding when the newest segment that it acknowledges was sent.
    pub prior_in_flight: u64,
    /// The span until the next departure, by pacing.
    pub until_departure: Duration,
    /// Its round-trip sample, if any.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// The minimum round-trip time (on Linux that of the last 300 s; see the profile).
    pub min_rtt: Option<Duration>,
    /// Whether the window, rather than the application or the peer, limited the sender.
    pub cwnd_limited: bool,
    /// The first byte not acknowledged, which delimits rounds together with `snd_nxt`.
    pub snd_una: u64,
    /// The next byte to send.
    pub snd_nxt: u64,
    /// The delivery-rate sample of this acknowledgement.
    pub rate: RateSample,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Units delivered over `interval`; zero, with an interval of zero, if there is no sample.
    pub delivered: u64,
    /// The longer of the sending and the acknowledging interval.
    pub interval: Duration,
    /// Total delivered when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Total delivered so far.
    pub total_delivered: u64,
    /// Units marked lost by this acknowledgement.
    pub losses: u64,
    /// Total lost so far.
    pub total_lost: u64,
    /// Units acknowledged or selectively acknowledged by this acknowledgement.
    pub acked_sacked: u64,
    /// Whether the application limited the sender during the sample.
    pub app_limited: bool,
    /// Whether the newest acknowledged segment had been retransmitted.
    pub retransmitted: bool,
}

/// Congestion of the path, at most once a round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// The time of its detection.
    pub now: Instant,
    /// Data outstanding just before.
    pub in_flight: u64,
    /// The signal of congestion.
    pub signal: Signal,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
}

/// The signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A queue marked a packet (RFC 3168).
    EcnEcho,
    /// A packet was lost, which fast recovery repairs.
    Loss,
    /// The retransmission timer expired.
    Rto,
}

/// Other events of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcEvent {
    /// A segment is sent while none is in flight (Linux `CA_EVENT_TX_START`), after an idle period of
    /// this length.
    TransmitStart(Duration),
    /// `cwnd` restarts after an idle period (Linux `CA_EVENT_CWND_RESTART`).
    IdleRestart,
    /// The retransmission timer expired, and all outstanding data counts as lost.
    RtoEntered,
    /// Fast recovery began.
    RecoveryEntered,
    /// A duplicate acknowledgement was counted (FreeBSD's `CC_DUPACK`), with the smoothed round-trip
    /// time.
    DuplicateAck(Option<Duration>),
    /// Recovery, or the window reduction after an ECN echo, is complete.
    RecoveryLeft,
    /// A reduction was spurious and is undone.
    Undone,
}

/// A congestion controller.
pub trait CongestionControl: Send {
    /// The connection is established; `srtt` is that of the handshake.
    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        let _ = (window, now, srtt);
    }

    /// An acknowledgement of new data arrived, in any state (Linux's `pkts_acked`).
    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// An acknowledgement of new data arrived outside recovery: `cwnd` may grow (Linux's
    /// `cong_avoid`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The path is congested. Returns the new slow-start threshold.
    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64;

    /// Another event happened.
    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        let _ = (window, event, now);
    }

    /// The window after a recovery that ends with as much data in flight as the threshold allows
    /// (FreeBSD's `post_recovery`).
    fn post_recovery_cwnd(&mut self, window: &Window) -> u64 {
        window.ssthresh
    }

    /// The window to return to when a reduction was spurious, given the window before it (Linux's
    /// `undo_cwnd`).
    fn undo_cwnd(&self, window: &Window, prior_cwnd: u64) -> u64 {
        window.cwnd.max(prior_cwnd)
    }

    /// Whether the controller always sets `cwnd` itself, in [`CongestionControl::control`], in place of
    /// slow start, congestion avoidance and PRR.
    fn controls_cwnd(&self) -> bool {
        false
    }

    /// Sets `cwnd`, for controllers that always do. Called for every acknowledgement, in every state,
    /// after loss detection (Linux's `cong_control`).
    fn control(&mut self, window: &mut Window, ack: &Ack, in_recovery: bool) {
        let _ = (window, ack, in_recovery);
    }

    /// The pacing rate, for controllers that pace.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// The minimum number of segments of a burst, if that many are available (Linux
    /// `tcp_min_tso_segs` and `min_tso_segs`).
    fn min_tso_segments(&self) -> u64 {
        2
    }

    /// The windows that fit the send buffer (Linux `sndbuf_expand`).
    fn sndbuf_windows(&self) -> u64 {
        2
    }

    /// The gauges worth plotting beside `cwnd`, with their names.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
