//! PI2 as in the pseudo-code of RFC 9332.
//!
//! Source: RFC 9332 Appendix A, figures 2 to 7, with overload as in figure 7. Each queue has one
//! accumulator (`recur`), which also decides on the drops of that queue in overload.
//!
//! Choices that the pseudo-code leaves open:
//!
//! - the delay of a queue is the age of its head (Appendix A.1, note a);
//! - the ramp applies to the sojourn time of the packet that leaves;
//! - the output of the controller is limited to the range from 0 to 1.
//!
//! Difference: each packet adds at most 1 to its queue's accumulator of signals (`recur`). In
//! figure 7 of RFC 9332, a packet adds `k p′` even if this value exceeds 1. After an overload the
//! accumulator would therefore signal every packet until the excess is used up.

use aqmlab_core::{Duration, Instant};

use super::{Heads, Verdict};
use crate::aqm::timer::{Clock, Timer};

/// The constants of the controller, which figure 2 computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The time between updates.
    pub tupdate: Duration,
    /// The gain for the distance of the delay from the target, in Hz.
    pub alpha: f64,
    /// The gain for the change of the delay, in Hz.
    pub beta: f64,
}

impl Control {
    /// Returns the constants for a target and the largest round-trip time (figure 2).
    pub fn of(target: Duration, max_rtt: Duration) -> Self {
        let tupdate = target.min(Duration::from_nanos(max_rtt.as_nanos() / 3));
        let (interval, rtt) = (tupdate.as_secs_f64(), max_rtt.as_secs_f64());
        Self { tupdate, alpha: 0.1 * interval / (rtt * rtt), beta: 0.3 / rtt }
    }
}

/// The native AQM of the L4S queue: a probability that rises from 0 to 1 over a range of sojourn
/// times.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    /// The sojourn time up to which the probability is 0.
    pub min_th: Duration,
    /// The width of the range in which the probability rises from 0 to 1.
    pub range: Duration,
    /// The number of packets behind the judged packet up to which the probability is 0.
    pub th_len: u64,
}

impl Ramp {
    /// Returns the probability for a packet that waited for `sojourn` and leaves `behind` packets
    /// in its queue (figures 5 and 7).
    pub fn probability(&self, sojourn: Duration, behind: u64) -> f64 {
        if behind <= self.th_len || sojourn <= self.min_th {
            return 0.0;
        }
        if sojourn >= self.min_th + self.range {
            return 1.0;
        }
        sojourn.saturating_sub(self.min_th).as_secs_f64() / self.range.as_secs_f64()
    }
}

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The target delay.
    pub target: Duration,
    /// The constants of the controller.
    pub control: Control,
    /// The coupling factor.
    pub coupling_factor: f64,
    /// The native AQM of the L4S queue.
    pub ramp: Ramp,
}

/// The PI2 law of RFC 9332.
#[derive(Clone, Copy, Debug)]
pub struct Rfc9332 {
    settings: Settings,
    vars: Vars,
    classic: Recur,
    l4s: Recur,
    timer: Timer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Vars {
    prob: f64,
    last_delay: Duration,
}

/// An accumulator that turns a probability into evenly spaced signals (figure 4, `recur`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Recur(f64);

impl Recur {
    /// Adds `likelihood`, and returns whether the sum exceeds 1. If so, subtracts 1.
    pub fn hits(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let hit = self.0 > 1.0;
        if hit {
            self.0 -= 1.0;
        }
        hit
    }
}

impl Rfc9332 {
    /// Returns the law of a queue that exists from the start of the run.
    pub fn new(settings: Settings) -> Self {
        let span = settings.control.tupdate;
        let timer = Timer::start(Clock::Ideal, Instant::ZERO, span, span);
        let (vars, recur) = (Vars::default(), Recur::default());
        Self { settings, vars, classic: recur, l4s: recur, timer }
    }

    /// Does the updates due until `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Instant, heads: Heads) {
        let Self { settings, vars, timer, .. } = self;
        super::catch_up(timer, now, heads, vars, |vars, delay| vars.update(settings, delay));
    }

    /// Judges a packet of the classic queue.
    pub fn judge_classic(&mut self) -> Verdict {
        let p_c = self.p_c();
        if !self.classic.hits(p_c) {
            return Verdict::Keep;
        }
        let k = self.settings.coupling_factor;
        if p_c >= (1.0 / (k * k)).min(1.0) { Verdict::Drop } else { Verdict::Signal }
    }

    /// Judges a packet of the L4S queue that waited for `sojourn` and leaves `behind` packets in
    /// that queue.
    pub fn judge_l4s(&mut self, sojourn: Duration, behind: u64) -> Verdict {
        let (classic, coupled) = (self.p_c(), self.p_cl());
        let p_l = if coupled < 1.0 {
            self.settings.ramp.probability(sojourn, behind).max(coupled)
        } else if self.l4s.hits(classic) {
            return Verdict::Drop;
        } else {
            coupled
        };
        if self.l4s.hits(p_l.min(1.0)) { Verdict::Signal } else { Verdict::Keep }
    }

    /// Returns the output of the controller.
    pub const fn prob(&self) -> f64 {
        self.vars.prob
    }

    /// Returns the probability of a classic signal.
    pub fn p_c(&self) -> f64 {
        self.vars.prob * self.vars.prob
    }

    /// Returns the coupled probability of an L4S signal.
    pub fn p_cl(&self) -> f64 {
        self.settings.coupling_factor * self.vars.prob
    }

    /// Returns the timer of the updates.
    pub const fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl Vars {
    /// Updates the output of the controller (`dualpi2_update`, figure 6).
    fn update(&mut self, settings: &Settings, delay: Duration) {
        let (now, last) = (delay.as_secs_f64(), self.last_delay.as_secs_f64());
        let control = &settings.control;
        let error = control.alpha * (now - settings.target.as_secs_f64());
        let trend = control.beta * (now - last);
        self.prob = (self.prob + error + trend).clamp(0.0, 1.0);
        self.last_delay = delay;
    }
}

#[cfg(test)]
mod tests;
