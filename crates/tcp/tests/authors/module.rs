//! The module of a controller in this crate, driven by a play (`play.rs`).

use aqmlab_core::{Args, Duration, Instant, Value};
use aqmlab_tcp::cc::{
    Ack, CaState, CcEvent, Congestion, CongestionControl, EcnMode, Feedback, LostSegment,
    RateSample, Signal, Start, Totals, TsoSegments, Window, kinds,
};

use super::play::{Change, Conn, Controller, Decision, Facts, Lost};

/// The length of a packet's headers in bytes.
const HEADER: u32 = 52;

/// A controller of the registry, with its window.
pub struct Module {
    cc: Box<dyn CongestionControl>,
    window: Window,
    ecn: EcnMode,
}

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn totals(conn: &Conn) -> Totals {
    let Conn { snd_una, snd_nxt, delivered, delivered_ce, .. } = *conn;
    Totals { snd_una, snd_nxt, delivered, delivered_ce }
}

impl Module {
    pub fn new(name: &str, changes: &[(&str, Value)], ecn: EcnMode) -> Self {
        let kind = kinds::find(name).expect("it is registered");
        let args = changes
            .iter()
            .fold(Args::defaults(kind.params), |args, (param, value)| args.with(param, *value));
        let window = Window {
            cwnd: 10,
            ssthresh: u64::MAX,
            segment: 1,
            mss: 1_448,
            clamp: u64::from(u32::MAX),
        };
        Self { cc: (kind.build)(&args), window, ecn }
    }

    /// Returns the gauge called `name`.
    pub fn gauge(&self, name: &str) -> f64 {
        self.cc.gauges().into_iter().find(|(gauge, _)| *gauge == name).expect("such a gauge").1
    }

    fn srtt(conn: &Conn) -> Option<Duration> {
        (conn.srtt8 > 0).then(|| Duration::from_nanos(conn.srtt8 * 125))
    }

    fn describe(&self, conn: &Conn, facts: &Facts, rate: RateSample) -> Ack {
        let slow_start = self.window.in_slow_start() && self.window.cwnd < 2 * conn.max_packets_out;
        Ack {
            now: at(conn.now),
            acked: facts.acked,
            bytes: facts.acked * u64::from(self.window.mss),
            in_flight: conn.in_flight,
            until_departure: Duration::from_micros(conn.departure.saturating_sub(conn.now)),
            rtt: Some(Duration::from_micros(facts.rtt)),
            srtt: Self::srtt(conn),
            min_rtt: Some(Duration::from_micros(conn.min_rtt)),
            cwnd_limited: conn.cwnd_limited || slow_start,
            snd_una: conn.snd_una,
            snd_nxt: conn.snd_nxt,
            rate,
        }
    }
}

impl Controller for Module {
    fn sample(&mut self, conn: &Conn) {
        let ack = self.describe(conn, &Facts::default(), RateSample::default());
        self.cc.on_sample(&mut self.window, &ack);
    }

    fn start(&mut self, conn: &Conn) {
        self.cc.on_start(&Start { ecn: self.ecn, header: HEADER, totals: totals(conn) });
        self.cc.on_established(&mut self.window, at(conn.now), Self::srtt(conn));
    }

    fn lost(&mut self, conn: &Conn, lost: &Lost) {
        let lost = LostSegment {
            now: at(conn.now),
            delivered: conn.delivered,
            tx_in_flight: lost.tx_in_flight,
            lost: lost.losses,
            app_limited: lost.app_limited,
            was_delivered: false,
        };
        self.cc.on_lost(&self.window, &lost);
    }

    fn reduce(&mut self, conn: &Conn, by_timeout: bool) {
        let signal = match (by_timeout, conn.ca) {
            (true, _) => Signal::Rto,
            (false, _) => Signal::Loss,
        };
        let (now, srtt) = (at(conn.now), Self::srtt(conn));
        let congestion = Congestion { now, in_flight: conn.in_flight, signal, srtt };
        self.window.ssthresh = self.cc.ssthresh(&self.window, &congestion);
    }

    fn change(&mut self, conn: &Conn, change: Change) {
        let now = at(conn.now);
        let event = match change {
            Change::Recovery => CcEvent::RecoveryEntered,
            Change::Cwr => CcEvent::CwrEntered,
            Change::Open => CcEvent::Opened,
            Change::Rto => CcEvent::RtoEntered,
            Change::Undo => {
                self.window.cwnd = self.cc.undo_cwnd(&self.window, self.window.cwnd);
                CcEvent::Undone
            }
            Change::ProbeRepaired { app_limited } => {
                CcEvent::ProbeRepaired { app_limited, delivered: conn.delivered }
            }
            Change::TransmitStart => {
                CcEvent::TransmitStart { idle: Duration::ZERO, app_limited: conn.app_limited != 0 }
            }
        };
        self.cc.on_event(&mut self.window, event, now);
    }

    fn set_cwnd(&mut self, cwnd: u64) {
        self.window.cwnd = cwnd;
    }

    fn ack(&mut self, conn: &Conn, facts: &Facts) {
        let feedback = Feedback {
            totals: totals(conn),
            marks: facts.marks,
            ece: facts.marks > 0,
            delivered: facts.delivered,
            delivered_ce: facts.delivered_ce,
            lost: facts.lost,
            tx_in_flight: facts.tx_in_flight,
            prior_in_flight: facts.prior_in_flight,
            cwnd_limited: conn.cwnd_limited,
            ack_delayed: false,
            acks_probe: facts.acks_probe,
            ca: conn.ca,
        };
        self.cc.on_feedback(&feedback);
        let rate = RateSample {
            delivered: if facts.interval.is_some() { facts.delivered } else { 0 },
            interval: Duration::from_micros(facts.interval.unwrap_or(0)),
            prior_delivered: facts.prior_delivered,
            total_delivered: conn.delivered,
            losses: facts.losses,
            total_lost: conn.lost,
            acked_sacked: facts.acked,
            app_limited: facts.app_limited,
            retransmitted: false,
        };
        let ack = self.describe(conn, facts, rate);
        let in_recovery = conn.ca >= CaState::Recovery;
        self.cc.control(&mut self.window, &ack, in_recovery);
    }

    fn decision(&self) -> Decision {
        Decision {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh.min(u64::from(u32::MAX)),
            rate: self.cc.pacing_rate().map_or(0, |rate| rate.as_bps() / 8),
            mss: self.window.mss.into(),
            burst: match self.cc.tso_segments() {
                TsoSegments::Least(burst) | TsoSegments::Exactly(burst) => burst,
            },
            limits_samples: self.cc.limits_samples(),
        }
    }
}
