//! The interface between a play (`play.rs`) and a controller.

use aqmlab_tcp::cc::CaState;

/// The state of the connection. Amounts are in packets, sequence numbers in bytes, and times in
/// microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    pub now: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub delivered_at: u64,
    pub srtt8: u64,
    pub min_rtt: u64,
    pub in_flight: u64,
    pub app_limited: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    pub ca: CaState,
    pub cwnd_limited: bool,
    pub max_packets_out: u64,
    pub departure: u64,
}

impl Conn {
    /// Returns a connection that is established at `now`, with a round-trip sample.
    pub fn new(now: u64, rtt_us: u64) -> Self {
        Self {
            now,
            delivered: 1,
            delivered_ce: 0,
            lost: 0,
            delivered_at: now,
            srtt8: rtt_us * 8,
            min_rtt: rtt_us,
            in_flight: 0,
            app_limited: 0,
            snd_una: 1,
            snd_nxt: 1,
            ca: CaState::Open,
            cwnd_limited: false,
            max_packets_out: 0,
            departure: 0,
        }
    }
}

/// The values of an acknowledgement (`rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub rtt: u64,
    pub acked: u64,
    pub losses: u64,
    pub marks: u64,
    pub prior_in_flight: u64,
    /// The interval of the sample, or `None` if it is shorter than the minimum RTT.
    pub interval: Option<u64>,
    pub prior_delivered: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub tx_in_flight: u64,
    pub app_limited: bool,
    pub acks_probe: bool,
}

/// A packet that has just been marked as lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    pub tx_in_flight: u64,
    pub losses: u64,
    pub app_limited: bool,
}

/// A change of the connection's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Recovery,
    Cwr,
    Open,
    Rto,
    Undo,
    ProbeRepaired { app_limited: bool },
    TransmitStart,
}

/// The decisions of a controller after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub cwnd: u64,
    /// The threshold; `u32::MAX` before the first reduction.
    pub ssthresh: u64,
    /// The pacing rate in bytes per second.
    pub rate: u64,
    pub mss: u64,
    pub burst: u64,
    /// Whether samples count as limited by the application.
    pub limits_samples: bool,
}

/// A controller under comparison: the code of the algorithm's authors, or the module.
pub trait Controller {
    fn start(&mut self, conn: &Conn);
    /// Processes a round-trip sample, before losses are detected.
    fn sample(&mut self, conn: &Conn);
    fn lost(&mut self, conn: &Conn, lost: &Lost);
    /// Sets the threshold for a reduction of the window.
    fn reduce(&mut self, conn: &Conn, by_timeout: bool);
    fn change(&mut self, conn: &Conn, change: Change);
    fn set_cwnd(&mut self, cwnd: u64);
    fn ack(&mut self, conn: &Conn, facts: &Facts);
    fn decision(&self) -> Decision;
}
