//! PIE as in FreeBSD's dummynet (CAIA AQM v0.2), alone and in each queue of FQ-PIE.
//!
//! Sources: FreeBSD 10.4 `sys/netpfil/ipfw/dn_aqm_pie.{c,h}` and `dn_sched_fq_pie.c`, with their
//! fixed-point arithmetic, bit for bit. Behaviour beyond RFC 8033, each point pinned by a test:
//!
//! - PIE is active from the start. The switch of RFC 8033 §5.3 is an option. It turns PIE off at an
//!   arrival that finds an empty queue and low delays.
//! - An arrival that restores the burst allowance does so after the drop decision on that arrival.
//! - The first sample of the departure rate does not end its measurement. The next packet yields a
//!   second sample, of at least the same duration, that is merged into the first.
//! - An activation keeps the last delay. With timestamps, only an update with an empty queue clears
//!   this delay.
//! - Times are multiples of the kernel's tick (1 ms at 1000 ticks per second), because dummynet
//!   reads the clock once per tick.
//!
//! Difference: in this model the updates of the drop probability are never late. The kernel may run
//! a callout up to `tupdate / 16` late, together with another event. The kernel then counts the
//! time to the next callout from the late run (`kern_timeout.c`).

use aqmlab_core::{Duration, Instant, Reason, Rng};

use super::{Arrival, Departure, Law, Verdict};
use crate::Backlog;
use crate::aqm::timer::{Clock, Timer};

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The target delay (`qdelay_ref`).
    pub target: Duration,
    /// The time between updates.
    pub tupdate: Duration,
    /// The time for which nothing is dropped after a quiet period.
    pub max_burst: Duration,
    /// The weight of the delay's distance from the target, in 1/s.
    pub alpha: f64,
    /// The weight of the delay's change, in 1/s.
    pub beta: f64,
    /// The probability below which ECN-capable packets are marked and not dropped; `None` without
    /// ECN.
    pub ecn_below: Option<f64>,
    /// Whether an update adds at most 0.02 to a probability of 0.1 or more (`capdrop`).
    pub capdrop: bool,
    /// Whether drops are spaced apart (`derand`).
    pub derand: bool,
    /// The source of the delay.
    pub delay_from: DelayFrom,
    /// The condition under which PIE is active.
    pub switch: Switch,
    /// The kernel's tick in whole microseconds, to which times are rounded down.
    pub tick: Duration,
}

/// The source of the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayFrom {
    /// The departure rate and the queued bytes (`dre`).
    Departures,
    /// The sojourn time of the last packet sent (`ts`).
    Timestamps,
}

/// The condition under which PIE is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// PIE is always active (`noonoff`).
    AlwaysOn,
    /// PIE is active from this backlog in packets until the queue is empty and delays are low
    /// (`onoff`).
    FromPackets(usize),
    /// PIE is active from this backlog in bytes until the queue is empty and delays are low
    /// (`onoff`).
    FromBytes(u64),
    /// A scheduler activates PIE when the flow becomes active, and deactivates it when the flow
    /// becomes inactive (FQ-PIE).
    ByScheduler,
}

/// The PIE law of FreeBSD.
#[derive(Clone, Copy, Debug)]
pub struct FreeBsd {
    params: Params,
    vars: Vars,
    timer: Timer,
    born: bool,
}

#[derive(Clone, Copy, Debug)]
struct Params {
    qdelay_ref: u32,
    max_burst: u32,
    tupdate: u32,
    alpha: i64,
    beta: i64,
    ecn_below: Option<i64>,
    capdrop: bool,
    derand: bool,
    delay_from: DelayFrom,
    switch: Switch,
    /// The number of microseconds in a tick.
    tick: u64,
}

/// The variables of the law; times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vars {
    active: bool,
    in_measurement: bool,
    burst_allowance: u32,
    drop_prob: i64,
    current_qdelay: u32,
    qdelay_old: u32,
    accu_prob: i64,
    measurement_start: u32,
    avg_dq_time: u32,
    dq_count: u32,
}

const PROB_BITS: u32 = 31;
const MAX_PROB: i64 = (1 << PROB_BITS) - 1;
const FIX_POINT_BITS: u32 = 13;
const SCALE: f64 = (1 << FIX_POINT_BITS) as f64;
const DQ_THRESHOLD_BITS: u32 = 14;
const DQ_THRESHOLD: u32 = 1 << DQ_THRESHOLD_BITS;
const MEAN_PKTSIZE: u64 = 800;

impl FreeBsd {
    /// Returns the law of a queue that dummynet creates with its first packet.
    pub fn new(settings: &Settings) -> Self {
        let micros = |span: Duration| span.as_micros().min(u32::MAX.into()) as u32;
        let fixed = |number: f64| (number * SCALE).clamp(0.0, 65_535.0) as i64;
        let params = Params {
            qdelay_ref: micros(settings.target),
            max_burst: micros(settings.max_burst),
            tupdate: micros(settings.tupdate).max(1),
            alpha: fixed(settings.alpha),
            beta: fixed(settings.beta),
            ecn_below: settings.ecn_below.map(|p| fixed(p) << (PROB_BITS - FIX_POINT_BITS)),
            capdrop: settings.capdrop,
            derand: settings.derand,
            delay_from: settings.delay_from,
            switch: settings.switch,
            tick: settings.tick.as_micros().max(1),
        };
        Self::of(params)
    }

    fn of(params: Params) -> Self {
        Self { params, vars: Vars::default(), timer: Timer::stopped(), born: false }
    }

    /// Activates the law: resets all state but the last delay, grants a full burst allowance, and
    /// starts the timer.
    pub fn activate(&mut self, now: Instant) {
        self.reset(now);
        self.vars.active = true;
        let tupdate = Duration::from_micros(self.params.tupdate.into());
        self.timer = Timer::start(Clock::Ideal, now, tupdate, tupdate);
    }

    /// Deactivates the law: ends the measurement of the departure rate and stops the timer.
    pub fn deactivate(&mut self) {
        self.vars.active = false;
        self.vars.in_measurement = false;
        self.timer = Timer::stopped();
    }

    /// Resets the accumulated probability, because a packet was dropped from the queue's head to
    /// make room for an arrival.
    pub fn head_dropped(&mut self) {
        self.vars.accu_prob = 0;
    }

    fn reset(&mut self, now: Instant) {
        self.vars = Vars {
            in_measurement: true,
            burst_allowance: self.params.max_burst,
            current_qdelay: self.vars.current_qdelay,
            measurement_start: self.params.micros(now),
            ..Vars::default()
        };
    }

    /// Creates the state of a queue at its first packet, because dummynet creates queues on demand.
    fn be_born(&mut self, now: Instant) {
        self.born = true;
        match self.params.switch {
            Switch::AlwaysOn => self.activate(now),
            Switch::FromPackets(_) | Switch::FromBytes(_) => self.reset(now),
            Switch::ByScheduler => {}
        }
    }

    fn drop_early(&mut self, waiting: u64, rng: &mut Rng) -> bool {
        let Self { params, vars, .. } = self;
        let uncongested = vars.qdelay_old < params.qdelay_ref >> 1 && vars.drop_prob < MAX_PROB / 5;
        if uncongested || waiting <= 2 * MEAN_PKTSIZE {
            return false;
        }
        if vars.drop_prob == 0 {
            vars.accu_prob = 0;
        }
        if params.derand {
            vars.accu_prob += vars.drop_prob;
            if vars.accu_prob < MAX_PROB * 17 / 20 {
                return false;
            }
            if vars.accu_prob >= MAX_PROB * 17 / 2 {
                return true;
            }
        }
        let hit = i64::from(rng.next_u32() >> 1) < vars.drop_prob;
        if hit {
            vars.accu_prob = 0;
        }
        hit
    }

    fn verdict(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict {
        if !arrival.fits {
            return Verdict::Drop(Reason::Overlimit);
        }
        let armed = self.vars.active && self.vars.burst_allowance == 0;
        if !armed || !self.drop_early(arrival.waiting.bytes.0, rng) {
            return Verdict::Keep;
        }
        let marks = self.params.ecn_below.is_some_and(|limit| self.vars.drop_prob < limit);
        if marks && arrival.packet.ecn.is_capable() {
            Verdict::Mark
        } else {
            Verdict::Drop(Reason::Early)
        }
    }

    /// Activates and deactivates the law as the queue fills and empties, and restores the burst
    /// allowance.
    fn switch(&mut self, arrival: &Arrival<'_>) {
        let waiting = arrival.waiting;
        let wake = match self.params.switch {
            Switch::AlwaysOn | Switch::ByScheduler => false,
            Switch::FromPackets(third) => waiting.packets >= third,
            Switch::FromBytes(third) => waiting.bytes.0 >= third,
        };
        if wake && !self.vars.active {
            self.activate(arrival.now);
        }
        let low = self.params.qdelay_ref >> 1;
        let vars = &mut self.vars;
        let quiet = vars.drop_prob == 0 && vars.current_qdelay < low && vars.qdelay_old < low;
        if vars.active && quiet {
            vars.burst_allowance = self.params.max_burst;
            let switches =
                matches!(self.params.switch, Switch::FromPackets(_) | Switch::FromBytes(_));
            if switches && waiting.packets == 0 {
                self.deactivate();
            }
        }
    }
}

impl Law for FreeBsd {
    #[inline]
    fn catch_up(&mut self, now: Instant, waiting: Backlog) {
        let Self { params, vars, timer, .. } = self;
        timer.catch_up(now, vars, |vars| vars.update(params, waiting.bytes.0));
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict {
        if !self.born {
            self.be_born(arrival.now);
        }
        let verdict = self.verdict(arrival, rng);
        self.switch(arrival);
        if matches!(verdict, Verdict::Drop(_)) {
            self.vars.accu_prob = 0;
        }
        verdict
    }

    #[inline]
    fn depart(&mut self, departure: &Departure<'_>) {
        if !self.vars.active {
            return;
        }
        let now = self.params.micros(departure.now);
        match self.params.delay_from {
            DelayFrom::Timestamps => {
                let enqueued = self.params.micros(departure.packet.enqueued);
                self.vars.current_qdelay = now.wrapping_sub(enqueued);
            }
            DelayFrom::Departures => {
                let left = departure.left.bytes.0;
                self.vars.measure_rate(now, left, departure.packet.len);
            }
        }
    }

    fn reset(&mut self) {
        *self = Self::of(self.params);
    }

    fn probability(&self) -> f64 {
        self.vars.drop_prob as f64 / MAX_PROB as f64
    }

    fn delay(&self) -> Duration {
        Duration::from_micros(self.vars.current_qdelay.into())
    }
}

impl Params {
    /// The time of the last tick, in 32 bits (`AQM_UNOW`).
    #[inline]
    fn micros(&self, now: Instant) -> u32 {
        let micros = now.as_nanos() / 1_000;
        (micros - micros % self.tick) as u32
    }
}

impl Vars {
    fn measure_rate(&mut self, now: u32, left: u64, size: u32) {
        if self.in_measurement {
            self.dq_count = self.dq_count.wrapping_add(size);
            if self.dq_count >= DQ_THRESHOLD {
                let dq_time = now.wrapping_sub(self.measurement_start);
                if self.avg_dq_time == 0 {
                    // The measurement continues: the kernel ends it only where it updates an
                    // existing average.
                    self.avg_dq_time = dq_time;
                } else {
                    let weight = u64::from(DQ_THRESHOLD >> 8);
                    let kept = u64::from(self.avg_dq_time) * (256 - weight);
                    let added = u64::from(dq_time.wrapping_mul(weight as u32));
                    self.avg_dq_time = ((added + kept) >> 8) as u32;
                    self.in_measurement = false;
                }
            }
        }
        if !self.in_measurement && left >= u64::from(DQ_THRESHOLD) {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
    }

    /// Updates the delay, the drop probability and the burst allowance (`calculate_drop_prob`).
    #[inline(never)]
    fn update(&mut self, params: &Params, waiting: u64) {
        match params.delay_from {
            DelayFrom::Departures => {
                let product = waiting.wrapping_mul(self.avg_dq_time.into());
                self.current_qdelay = (product >> DQ_THRESHOLD_BITS) as u32;
            }
            DelayFrom::Timestamps if waiting == 0 => self.current_qdelay = 0,
            DelayFrom::Timestamps => {}
        }
        self.drop_prob = self.steered(params).clamp(0, MAX_PROB);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(params.tupdate);
    }

    fn steered(&self, params: &Params) -> i64 {
        let qdelay = i64::from(self.current_qdelay);
        let error = params.alpha * (qdelay - i64::from(params.qdelay_ref));
        let trend = params.beta * (qdelay - i64::from(self.qdelay_old));
        let p = error + trend;
        // The kernel shifts the magnitude, since shifting a negative number is not defined in C.
        let scaled = p.abs().wrapping_mul((MAX_PROB << 12) / 1_000_000);
        let step = scaled >> (autotune(self.drop_prob) + FIX_POINT_BITS + 12);
        let old = self.drop_prob;
        let prob = if p < 0 {
            old - step
        } else if params.capdrop && old >= MAX_PROB / 10 {
            old + step.min(MAX_PROB / 50)
        } else {
            old + step
        };
        let idle = self.current_qdelay == 0 && self.qdelay_old == 0;
        if idle && prob > 0 { prob - (prob >> 6) } else { prob }
    }
}

/// Returns the right shift of the step at this probability (RFC 8033 §4.2).
const fn autotune(prob: i64) -> u32 {
    let mut shift = 11;
    let mut power = 1_000_000;
    while shift > 1 && prob >= MAX_PROB / power {
        shift -= 2;
        power /= 10;
    }
    if prob >= MAX_PROB / 10 { 0 } else { shift }
}

#[cfg(test)]
mod tests;
