//! The metrics and counters of a connection.

use aqmlab_core::Duration;

use crate::Connection;

/// The state of a sender that is sampled over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// The congestion window in bytes.
    pub cwnd_bytes: u64,
    /// The slow-start threshold in bytes; `None` until it is first set.
    pub ssthresh_bytes: Option<u64>,
    /// The smoothed round-trip time; `None` until the first sample.
    pub srtt: Option<Duration>,
    /// The number of bytes estimated to be in the network. With TCP they are payload: on Linux
    /// counted in full-sized segments, on FreeBSD all outstanding data. With QUIC they are the
    /// packets in flight, including their headers.
    pub in_flight_bytes: u64,
}

/// The state of a connection, for tests and scripts.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// The state of the sender.
    pub sender: SenderState,
    /// The variation of the round-trip time as in RFC 6298; `None` until the first sample.
    pub rttvar: Option<Duration>,
    /// The minimum round-trip time in the profile's window; `None` until the first sample.
    pub min_rtt: Option<Duration>,
    /// The retransmission timeout, including backoff.
    pub rto: Duration,
    /// The window that the peer offers, in bytes.
    pub rwnd_bytes: u64,
    /// The state of the connection (RFC 9293 §3.3.2).
    pub state: &'static str,
    /// The state of loss recovery: open, disorder, cwr, recovery or loss.
    pub recovery: &'static str,
    /// The congestion controller's own gauges.
    pub gauges: Vec<(&'static str, f64)>,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of segments sent, including acknowledgements and retransmissions.
    pub segments_sent: u64,
    /// The number of segments with data sent, including retransmissions.
    pub data_segments_sent: u64,
    /// The number of payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// The number of segments received, whether acceptable or not.
    pub segments_received: u64,
    /// The number of segments retransmitted.
    pub retransmitted_segments: u64,
    /// The number of payload bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// The number of expiries of the retransmission timer.
    pub rtos: u64,
    /// The number of tail loss probes sent.
    pub tlps: u64,
    /// The number of times that fast recovery began.
    pub fast_recoveries: u64,
    /// The number of reductions undone as spurious.
    pub spurious_undos: u64,
    /// The number of duplicate acknowledgements received.
    pub dup_acks: u64,
    /// The number of duplicate-SACK blocks received.
    pub dsacks: u64,
    /// The number of segments received with a CE mark.
    pub ce_received: u64,
    /// The number of window reductions after an ECN echo.
    pub ece_reductions: u64,
    /// The number of payload bytes delivered in order to the application.
    pub bytes_delivered: u64,
    /// The number of payload bytes that the peer has acknowledged cumulatively.
    pub bytes_acked: u64,
    /// The number of probes of a closed window sent.
    pub window_probes: u64,
}

impl Connection {
    /// Returns the state of the connection.
    pub fn metrics(&self) -> Metrics {
        let tcb = &self.tcb;
        Metrics {
            sender: self.sender_state(),
            rttvar: tcb.rtt.rttvar(),
            min_rtt: tcb.rtt.min(),
            rto: tcb.rtt.rto,
            rwnd_bytes: tcb.snd.wnd,
            state: tcb.state.name(),
            recovery: self.stack.recovery_name(),
            gauges: tcb.cc.gauges(),
        }
    }

    /// Returns the state of the sender that is sampled over time.
    pub fn sender_state(&self) -> SenderState {
        let tcb = &self.tcb;
        let scale = (u64::from(tcb.window.mss) / tcb.window.segment.max(1)).max(1);
        let ssthresh = tcb.window.ssthresh;
        SenderState {
            cwnd_bytes: tcb.window.cwnd.min(tcb.window.clamp).saturating_mul(scale),
            ssthresh_bytes: (ssthresh != u64::MAX).then(|| ssthresh.saturating_mul(scale)),
            srtt: tcb.rtt.srtt(),
            in_flight_bytes: self.stack.flight_bytes(tcb),
        }
    }

    /// Returns the counters since the start of the connection.
    #[inline]
    pub fn stats(&self) -> &Stats {
        &self.tcb.stats
    }
}
