//! PIE as written in RFC 8033.
//!
//! Source: RFC 8033 §4, §5 and Appendices A (the basic design) and B (with all optional parts). The
//! appendices are two algorithms, [`Settings::appendix_a`] and [`Settings::appendix_b`]. Each
//! difference between them is a separate setting:
//!
//! | Point                     | Appendix A                      | Appendix B                     |
//! |---------------------------|---------------------------------|--------------------------------|
//! | decay by 2 %              | both delays zero                | both below half the target     |
//! | burst allowance granted   | at an arrival at a quiet queue  | when PIE is switched on        |
//! | during that allowance     | no random draw                  | the draw is made and ignored   |
//! | switched on and off       | never                           | from a third of the limit on   |
//! | 2 % cap, derandomisation, ECN | no                          | yes (ECN if enabled)           |
//!
//! Differences from the pseudo-code of RFC 8033 (Appendices A and B), each pinned by a test:
//!
//! - A marked packet also joins the queue; Appendix B omits that step.
//! - PIE is switched off only after it has measured a delay since it was switched on. As printed,
//!   Appendix B switches PIE off in the same call that switches it on. With the departure-rate
//!   estimator, PIE would then never act.
//! - With timestamps, an update of an empty queue uses a delay of zero, not the delay of the last
//!   packet.
//! - `MAX_BURST` is rounded up to whole update intervals (RFC 8033 §4.4).

use aqmlab_core::{Bytes, Duration, Instant, Reason, Rng};

use super::{Arrival, Departure, Law, Verdict};
use crate::Backlog;
use crate::aqm::timer::{Clock, Timer};

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The target delay (`QDELAY_REF`).
    pub target: Duration,
    /// The time between updates (`T_UPDATE`).
    pub tupdate: Duration,
    /// The time for which nothing is dropped after a quiet period (`MAX_BURST`).
    pub max_burst: Duration,
    /// The weight of the delay's distance from the target, in 1/s.
    pub alpha: f64,
    /// The weight of the delay's change, in 1/s.
    pub beta: f64,
    /// The queue limit (`TAIL_DROP`).
    pub limit: Bytes,
    /// The probability below which ECN-capable packets are marked and not dropped (`MAX_ECNTH`);
    /// `None` without ECN.
    pub ecn_below: Option<f64>,
    /// The source of the delay.
    pub delay_from: DelayFrom,
    /// The condition under which an update reduces the probability by 2 %.
    pub decay: Decay,
    /// The conditions under which PIE is active and its burst allowance is granted.
    pub switch: Switch,
    /// Whether an update adds at most 0.02 to a probability of 0.1 or more (§5.5).
    pub cap: bool,
    /// Whether drops are spaced apart (§5.4).
    pub derandomise: bool,
}

/// The source of the delay (§4.3, §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayFrom {
    /// The sojourn time of the last packet sent.
    Timestamps,
    /// The departure rate and the queued bytes.
    Departures,
}

/// The condition under which an update reduces the probability by 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// The delay is zero and was zero at the last update (Appendix A).
    AtZero,
    /// The delay is below half the target, and was below half the target at the last update
    /// (Appendix B).
    BelowHalf,
}

/// The conditions under which PIE is active and its burst allowance is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// PIE is always active; an arrival at a quiet queue grants the allowance (Appendix A).
    AlwaysOn,
    /// PIE is active from a backlog of a third of the limit until the queue is quiet. Activation
    /// grants the allowance (Appendix B).
    OnOff,
}

impl Settings {
    /// Returns the constants of §4 and §5 with the design of Appendix A.
    pub fn appendix_a(limit: Bytes) -> Self {
        Self {
            decay: Decay::AtZero,
            switch: Switch::AlwaysOn,
            cap: false,
            derandomise: false,
            ..Self::appendix_b(limit)
        }
    }

    /// Returns the constants of §4 and §5 with the design of Appendix B, and with the delay from
    /// timestamps.
    pub fn appendix_b(limit: Bytes) -> Self {
        Self {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            limit,
            ecn_below: None,
            delay_from: DelayFrom::Timestamps,
            decay: Decay::BelowHalf,
            switch: Switch::OnOff,
            cap: true,
            derandomise: true,
        }
    }
}

/// The PIE law of RFC 8033.
#[derive(Clone, Copy, Debug)]
pub struct Rfc8033 {
    settings: Settings,
    half_target: f64,
    vars: Vars,
    timer: Timer,
}

/// The variables of the law; delays are in seconds, as in the pseudo-code.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Vars {
    active: bool,
    /// Whether a delay has been measured since PIE was switched on.
    measured: bool,
    in_measurement: bool,
    drop_prob: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_allowance: Duration,
    accu_prob: f64,
    dq_count: u64,
    avg_dq_time: f64,
    measurement_start: Instant,
}

/// The mean packet size of §4.1, in bytes.
const MEAN_PKTSIZE: u64 = 800;
/// The number of bytes in one measurement of the departure rate (§5.2).
const DQ_THRESHOLD: u64 = 16_384;
const DQ_WEIGHT: f64 = DQ_THRESHOLD as f64 / 65_536.0;
/// The accumulated probability below which no packet is dropped (§5.4).
const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;

impl Rfc8033 {
    /// Returns the law of an empty queue, with an update every `tupdate` from the start of the run.
    pub fn new(mut settings: Settings) -> Self {
        settings.tupdate = settings.tupdate.max(Duration::from_micros(1));
        let updates = settings.max_burst.as_nanos().div_ceil(settings.tupdate.as_nanos());
        settings.max_burst = settings.tupdate * updates;
        let always = settings.switch == Switch::AlwaysOn;
        let vars = Vars {
            active: always,
            measured: false,
            in_measurement: false,
            drop_prob: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: Duration::ZERO,
            accu_prob: 0.0,
            dq_count: 0,
            avg_dq_time: 0.0,
            measurement_start: Instant::ZERO,
        };
        let tupdate = settings.tupdate;
        let timer = Timer::start(Clock::Ideal, Instant::ZERO, tupdate, tupdate);
        Self { settings, half_target: settings.target.as_secs_f64() / 2.0, vars, timer }
    }

    /// Returns whether to drop or mark an arrival early (§4.1 and §5.4).
    fn drop_early(&mut self, waiting: u64, rng: &mut Rng) -> bool {
        let vars = &mut self.vars;
        let uncongested = vars.qdelay_old < self.half_target && vars.drop_prob < 0.2;
        if uncongested || waiting <= 2 * MEAN_PKTSIZE {
            return false;
        }
        if self.settings.derandomise {
            if vars.drop_prob == 0.0 {
                vars.accu_prob = 0.0;
            }
            vars.accu_prob += vars.drop_prob;
            if vars.accu_prob < PROB_LOW {
                return false;
            }
            if vars.accu_prob >= PROB_HIGH {
                return true;
            }
        }
        let hit = rng.unit() < vars.drop_prob;
        if hit {
            vars.accu_prob = 0.0;
        }
        hit
    }

    fn verdict(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict {
        if !arrival.fits {
            return Verdict::Drop(Reason::Overlimit);
        }
        if !self.chosen(arrival.waiting.bytes.0, rng) {
            return Verdict::Keep;
        }
        let marks = self.settings.ecn_below.is_some_and(|limit| self.vars.drop_prob < limit);
        if marks && arrival.packet.ecn.is_capable() {
            Verdict::Mark
        } else {
            Verdict::Drop(Reason::Early)
        }
    }

    /// Returns whether to signal this arrival. The order of the checks differs between the
    /// appendices. The order has a visible effect: probability accumulated during a burst allowance
    /// counts after this allowance.
    fn chosen(&mut self, waiting: u64, rng: &mut Rng) -> bool {
        let allowed = self.vars.burst_allowance > Duration::ZERO;
        match self.settings.switch {
            Switch::AlwaysOn => !allowed && self.drop_early(waiting, rng),
            Switch::OnOff => self.vars.active && self.drop_early(waiting, rng) && !allowed,
        }
    }

    fn quiet(&self) -> bool {
        let Vars { drop_prob, qdelay, qdelay_old, .. } = self.vars;
        match self.settings.switch {
            Switch::AlwaysOn => {
                drop_prob == 0.0 && qdelay < self.half_target && qdelay_old < self.half_target
            }
            Switch::OnOff => drop_prob == 0.0 && qdelay == 0.0 && qdelay_old == 0.0,
        }
    }

    /// Switches PIE on or off at the end of an arrival that leaves `bytes` in the queue (Appendix
    /// B).
    fn switch(&mut self, now: Instant, bytes: u64) {
        if !self.vars.active && bytes >= self.settings.limit.0 / 3 {
            self.vars = Vars {
                active: true,
                measured: false,
                in_measurement: true,
                drop_prob: 0.0,
                qdelay_old: 0.0,
                burst_allowance: self.settings.max_burst,
                accu_prob: 0.0,
                dq_count: 0,
                avg_dq_time: 0.0,
                measurement_start: now,
                qdelay: self.vars.qdelay,
            };
        } else if self.vars.active && self.vars.measured && self.quiet() {
            self.vars.active = false;
            self.vars.in_measurement = false;
        }
    }
}

impl Law for Rfc8033 {
    #[inline]
    fn catch_up(&mut self, now: Instant, waiting: Backlog) {
        let (settings, half) = (&self.settings, self.half_target);
        self.timer.catch_up(now, &mut self.vars, |vars| vars.update(settings, half, waiting));
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict {
        if self.settings.switch == Switch::AlwaysOn && self.quiet() {
            self.vars.burst_allowance = self.settings.max_burst;
        }
        let verdict = self.verdict(arrival, rng);
        let mut bytes = arrival.waiting.bytes.0;
        if matches!(verdict, Verdict::Drop(_)) {
            self.vars.accu_prob = 0.0;
        } else {
            bytes += arrival.packet.bytes().0;
        }
        if self.settings.switch == Switch::OnOff {
            self.switch(arrival.now, bytes);
        }
        verdict
    }

    #[inline]
    fn depart(&mut self, departure: &Departure<'_>) {
        let Departure { now, packet, left } = *departure;
        match self.settings.delay_from {
            DelayFrom::Timestamps => {
                self.vars.qdelay = now.since(packet.enqueued).as_secs_f64();
                self.vars.measured = true;
            }
            DelayFrom::Departures => self.vars.measure_rate(now, left.bytes.0, packet.bytes().0),
        }
    }

    fn probability(&self) -> f64 {
        self.vars.drop_prob
    }

    fn timer(&mut self) -> Option<&mut Timer> {
        Some(&mut self.timer)
    }

    fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.vars.qdelay)
    }
}

impl Vars {
    /// Measures the departure rate (§5.2).
    fn measure_rate(&mut self, now: Instant, left: u64, size: u64) {
        if self.in_measurement {
            self.dq_count += size;
            if self.dq_count >= DQ_THRESHOLD {
                let dq_time = now.since(self.measurement_start).as_secs_f64();
                self.avg_dq_time = if self.measured {
                    dq_time * DQ_WEIGHT + self.avg_dq_time * (1.0 - DQ_WEIGHT)
                } else {
                    dq_time
                };
                self.measured = true;
                self.in_measurement = false;
            }
        }
        if left >= DQ_THRESHOLD && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
    }

    /// If PIE is active, updates the delay, the drop probability and the burst allowance (§4.2).
    #[inline(never)]
    fn update(&mut self, settings: &Settings, half_target: f64, waiting: Backlog) {
        if !self.active {
            return;
        }
        match settings.delay_from {
            DelayFrom::Departures => {
                let bytes = waiting.bytes.0 as f64;
                self.qdelay = bytes * self.avg_dq_time / DQ_THRESHOLD as f64;
            }
            DelayFrom::Timestamps if waiting.packets == 0 => self.qdelay = 0.0,
            DelayFrom::Timestamps => {}
        }
        let target = settings.target.as_secs_f64();
        let error = settings.alpha * (self.qdelay - target);
        let trend = settings.beta * (self.qdelay - self.qdelay_old);
        let mut step = (error + trend) / autotune(self.drop_prob);
        if settings.cap && self.drop_prob >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.drop_prob += step;
        let decays = match settings.decay {
            Decay::AtZero => self.qdelay == 0.0 && self.qdelay_old == 0.0,
            Decay::BelowHalf => self.qdelay < half_target && self.qdelay_old < half_target,
        };
        if decays {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(settings.tupdate);
    }
}

/// Returns the divisor of the gains, which is above 1 while the probability is small (§4.2).
fn autotune(drop_prob: f64) -> f64 {
    match drop_prob {
        ..0.000_001 => 2048.0,
        ..0.000_01 => 512.0,
        ..0.000_1 => 128.0,
        ..0.001 => 32.0,
        ..0.01 => 8.0,
        ..0.1 => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
