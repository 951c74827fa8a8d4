//! Compound TCP: Reno's window plus a delay window, which grows while few segments are queued on
//! the path.
//!
//! Source: draft-sridharan-tcpm-ctcp-02 §3; Tan, Song, Zhang and Sridharan, "A Compound TCP
//! Approach for High-speed and Long Distance Networks", 2006 (gamma autotuning). A further source
//! is the implementation of Andrew, Castellani and Hemminger for Linux 2.6. The delay of a round is
//! the minimum of its samples, if there are at least three. Delayed acknowledgements therefore do
//! not look like a queue. The sources leave some choices open; tests pin each choice. k is 3/4, and
//! ζ is 1. The average of gamma moves halfway to each new value. With these values, the delay
//! window grows only while the window exceeds 16 segments. No further threshold disables the delay
//! window.
//!
//! The connection's window is the sum of both windows. The controller stores the delay window
//! separately.

use aqmlab_core::{Bounds, Duration, Instant, Kind, Param, Value, math};

use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, Signal, Window};

/// Registers `compound`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "compound",
    summary: "Reno plus a window that grows fast until delay rises, as in Windows",
    source: "draft-sridharan-tcpm-ctcp-02",
    params: &[Param {
        name: "gamma_tuning",
        default: Value::Flag(true),
        bounds: Bounds::Any,
        doc: "Whether gamma adapts to the backlog of Reno's window, or stays at 30 segments.",
    }],
    build: |args| Box::new(Compound::new(args.flag("gamma_tuning"))),
}];

/// The coefficient α of the growth of the sum of both windows, which is `α·W^k` segments per round
/// trip.
const ALPHA: f64 = 1.0 / 8.0;
const K: f64 = 0.75;
/// The relative reduction of the sum of both windows after a loss.
const BETA: f64 = 0.5;
/// The proportion of the backlog by which the delay window shrinks in a round trip.
const ZETA: f64 = 1.0;
/// The upper bound of gamma. Gamma is the backlog in segments at and above which the delay window
/// shrinks.
const GAMMA_HIGH: f64 = 30.0;
const GAMMA_LOW: f64 = 5.0;
/// The minimum number of samples for the delay of a round to count.
const SAMPLES: u32 = 3;
/// The maximum number of segments by which one acknowledgement grows the window in slow start (RFC
/// 3465 §2.3).
const ABC_LIMIT: u64 = 2;

/// The Compound controller. Windows are in segments, times in seconds.
#[derive(Debug)]
struct Compound {
    gamma_tuning: bool,
    gamma: f64,
    /// The delay window, which is a part of the connection's window.
    dwnd: f64,
    /// The growth of the connection's window that is not yet a whole unit.
    fraction: f64,
    /// The minimum round-trip time, once it is known. It is kept over idle periods.
    base_rtt: Option<Duration>,
    round: Round,
    /// Reno's backlog in the last round, until it is used to tune gamma.
    diff_reno: Option<f64>,
}

/// The samples of one round trip.
#[derive(Debug, Default)]
struct Round {
    /// The sequence number whose acknowledgement ends the round.
    end: u64,
    /// The whole window at the beginning of the round.
    window: f64,
    /// Reno's part of that window.
    reno: f64,
    samples: u32,
    least: Option<Duration>,
}

impl Compound {
    fn new(gamma_tuning: bool) -> Self {
        Self {
            gamma_tuning,
            gamma: GAMMA_HIGH,
            dwnd: 0.0,
            fraction: 0.0,
            base_rtt: None,
            round: Round::default(),
            diff_reno: None,
        }
    }

    fn slow_start(&mut self, window: &mut Window, acked: u64) {
        let counted = acked.min(ABC_LIMIT * window.segment);
        let grown = window.cwnd.saturating_add(counted).min(window.ssthresh);
        window.cwnd = grown.min(window.clamp);
        self.dwnd = 0.0;
    }

    /// If this acknowledgement ends a round, starts the next round and returns the ended round.
    fn turn(&mut self, window: &Window, ack: &Ack) -> Option<Round> {
        if ack.snd_una <= self.round.end {
            return None;
        }
        let total = window.cwnd as f64 / window.segment as f64;
        let next = Round {
            end: ack.snd_nxt,
            window: total,
            reno: total - self.dwnd,
            samples: 0,
            least: None,
        };
        Some(std::mem::replace(&mut self.round, next))
    }

    /// Returns the change of the delay window over `round`, and records Reno's backlog in the round
    /// (equations 6 and 7 of the paper). With fewer than [`SAMPLES`] samples, returns zero and
    /// records nothing.
    fn steer(&mut self, round: &Round) -> f64 {
        let (Some(base), Some(least)) = (self.base_rtt, round.least) else { return 0.0 };
        if round.samples < SAMPLES {
            return 0.0;
        }
        // This proportion of each window's data is queued.
        let queued = 1.0 - base.as_secs_f64() / least.as_secs_f64();
        self.diff_reno = Some(round.reno * queued);
        let diff = round.window * queued;
        if diff < self.gamma {
            (ALPHA * math::pow(round.window, K) - 1.0).max(0.0)
        } else {
            -(ZETA * diff).min(self.dwnd)
        }
    }

    /// If tuning is on, moves gamma halfway to three quarters of Reno's backlog before this loss.
    fn tune_gamma(&mut self) {
        if let Some(diff) = self.diff_reno.take().filter(|_| self.gamma_tuning) {
            let tuned = self.gamma / 2.0 + 0.75 * diff / 2.0;
            self.gamma = tuned.clamp(GAMMA_LOW, GAMMA_HIGH);
        }
    }

    fn forget_round(&mut self) {
        self.round.samples = 0;
        self.round.least = None;
    }
}

impl CongestionControl for Compound {
    fn on_established(&mut self, _: &mut Window, _: Instant, srtt: Option<Duration>) {
        self.base_rtt = srtt.filter(|rtt| *rtt > Duration::ZERO);
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|rtt| *rtt > Duration::ZERO) else { return };
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.round.least = Some(self.round.least.map_or(rtt, |least| least.min(rtt)));
        self.round.samples += 1;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let ended = self.turn(window, ack);
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            self.slow_start(window, ack.acked);
            return;
        }
        let segment = window.segment as f64;
        let total = window.cwnd as f64 / segment + self.fraction;
        // The connection may have reduced its window to less than the delay window.
        self.dwnd = self.dwnd.min((total - 1.0).max(0.0));
        let change = ended.map_or(0.0, |round| self.steer(&round));
        self.dwnd += change;
        let reno = ack.acked as f64 / segment / total.max(1.0);
        let grown = (total + reno + change).max(1.0) * segment;
        window.cwnd = (grown as u64).min(window.clamp);
        self.fraction = if window.cwnd == window.clamp { 0.0 } else { grown % 1.0 / segment };
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let total = window.cwnd as f64 / window.segment as f64;
        let reno = total - self.dwnd.min(total);
        self.tune_gamma();
        self.fraction = 0.0;
        self.dwnd = match congestion.signal {
            Signal::Rto => 0.0,
            Signal::Loss | Signal::EcnEcho => (total * (1.0 - BETA) - reno / 2.0).max(0.0),
        };
        ((window.cwnd as f64 * (1.0 - BETA)) as u64).max(2 * window.segment)
    }

    fn on_event(&mut self, _window: &mut Window, event: CcEvent, _now: Instant) {
        match event {
            CcEvent::TransmitStart { .. } | CcEvent::RecoveryLeft => self.forget_round(),
            CcEvent::IdleRestart | CcEvent::RtoEntered => {
                self.forget_round();
                self.dwnd = 0.0;
            }
            _ => {}
        }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("dwnd", self.dwnd), ("gamma", self.gamma)]
    }
}

#[cfg(test)]
mod tests;
