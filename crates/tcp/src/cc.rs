//! Congestion control: how much may be in flight, and how fast it may go.
//!
//! The division of labour is Linux's. The connection detects loss, keeps the recovery states
//! and, through PRR, moves `cwnd` while it recovers; a controller grows `cwnd` outside
//! recovery, says how far to reduce, and may ask for pacing. A controller that manages `cwnd`
//! all by itself (BBR) says so with [`CongestionControl::controls_cwnd`].

pub mod kinds;

use aqmlab_core::{BitRate, Duration, Instant};

/// The congestion window and what belongs to it.
///
/// Hosts that count segments (Linux) have `segment == 1`; hosts that count bytes (FreeBSD,
/// Windows) have `segment == mss`. Everything in this struct, and every `u64` of the other
/// structs here, is in that unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What may be in flight.
    pub cwnd: u64,
    /// Slow start below, congestion avoidance from here on; `u64::MAX` until the first loss.
    pub ssthresh: u64,
    /// Units per full-sized segment.
    pub segment: u64,
    /// Bytes per full-sized segment, options excluded.
    pub mss: u32,
    /// The most that `cwnd` may become.
    pub clamp: u64,
}

impl Window {
    /// Whether the window is below the slow-start threshold.
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgement that acknowledged something new, cumulatively or selectively.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Newly acknowledged cumulatively or selectively (Linux's `delivered`).
    pub acked: u64,
    /// Bytes newly acknowledged cumulatively (FreeBSD's `bytes_this_ack`).
    pub bytes: u64,
    /// Outstanding after it.
    pub in_flight: u64,
    /// Outstanding when the newest segment it acknowledges was sent.
    pub prior_in_flight: u64,
    /// How far in the future pacing has put the next departure.
    pub until_departure: Duration,
    /// The round-trip sample it gave, if any.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, once there is one.
    pub srtt: Option<Duration>,
    /// The least round-trip time seen (Linux: of the last 300 s; see the profile).
    pub min_rtt: Option<Duration>,
    /// Whether the window, rather than the application or the peer, held the sender back.
    pub cwnd_limited: bool,
    /// First byte not yet acknowledged, and next byte to send: to tell rounds apart.
    pub snd_una: u64,
    /// See [`Ack::snd_una`].
    pub snd_nxt: u64,
    /// The delivery rate measured over this acknowledgement.
    pub rate: RateSample,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Units delivered over `interval`; zero with a zero interval if there is no sample.
    pub delivered: u64,
    /// The longer of the sending and the acknowledging interval.
    pub interval: Duration,
    /// `delivered` at the time the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Total delivered so far.
    pub total_delivered: u64,
    /// Units newly marked lost by this acknowledgement.
    pub losses: u64,
    /// Total lost so far.
    pub total_lost: u64,
    /// Units acknowledged or selectively acknowledged by this acknowledgement.
    pub acked_sacked: u64,
    /// Whether the sample was taken while the application had nothing to send.
    pub app_limited: bool,
    /// Whether the newest acknowledged segment had been retransmitted.
    pub retransmitted: bool,
}

/// The path is congested, told at most once a round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was noticed.
    pub now: Instant,
    /// Outstanding just before.
    pub in_flight: u64,
    /// What told us.
    pub signal: Signal,
    /// The smoothed round-trip time, once there is one.
    pub srtt: Option<Duration>,
}

/// How congestion showed itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A queue marked a packet (RFC 3168).
    EcnEcho,
    /// A packet was lost and is being repaired by fast recovery.
    Loss,
    /// The retransmission timer expired.
    Rto,
}

/// What else befalls a connection that a controller may care about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcEvent {
    /// The first segment is sent while nothing is in flight (Linux `CA_EVENT_TX_START`); how
    /// long nothing had been sent before.
    TransmitStart(Duration),
    /// `cwnd` was restarted after an idle period (Linux `CA_EVENT_CWND_RESTART`).
    IdleRestart,
    /// The retransmission timer expired and everything outstanding counts as lost.
    RtoEntered,
    /// Fast recovery began.
    RecoveryEntered,
    /// A duplicate acknowledgement was counted (FreeBSD's `CC_DUPACK`); the smoothed round-trip
    /// time.
    DuplicateAck(Option<Duration>),
    /// Recovery, or the window reduction after an ECN echo, is complete.
    RecoveryLeft,
    /// A reduction turned out to be spurious and was undone.
    Undone,
}

/// A congestion controller.
pub trait CongestionControl: Send {
    /// The connection is established; `srtt` is the handshake's.
    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        let _ = (window, now, srtt);
    }

    /// Something was acknowledged, in whatever state (Linux's `pkts_acked`): for samples.
    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// Something was acknowledged outside recovery: `cwnd` may grow (Linux's `cong_avoid`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The path is congested: returns the new slow-start threshold.
    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64;

    /// Something else happened.
    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        let _ = (window, event, now);
    }

    /// The window after a recovery that leaves as much in flight as the threshold allows
    /// (FreeBSD's `post_recovery`).
    fn recovered_cwnd(&mut self, window: &Window) -> u64 {
        window.ssthresh
    }

    /// The window to return to when a reduction proves spurious, given the one before it.
    fn undo_cwnd(&self, window: &Window, prior_cwnd: u64) -> u64 {
        window.cwnd.max(prior_cwnd)
    }

    /// Whether this controller sets `cwnd` by itself in [`CongestionControl::control`], in
    /// place of slow start, congestion avoidance and PRR.
    fn controls_cwnd(&self) -> bool {
        false
    }

    /// For controllers that set `cwnd` by themselves: called for every acknowledgement, in
    /// every state, after loss detection.
    fn control(&mut self, window: &mut Window, ack: &Ack, in_recovery: bool) {
        let _ = (window, ack, in_recovery);
    }

    /// The rate at which to spread the window over a round trip, for those that pace.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// The segments that are handed down at once at least, if there are as many (Linux
    /// `tcp_min_tso_segs` and `min_tso_segs`).
    fn least_burst(&self) -> u64 {
        2
    }

    /// The windows that the send buffer has room for (Linux `sndbuf_expand`).
    fn buffered_windows(&self) -> u64 {
        2
    }

    /// Its name and the state worth plotting beside `cwnd`, if any.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
