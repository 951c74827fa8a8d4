//! PIE as in Linux since 5.5.
//!
//! Source: Linux 6.1 `net/sched/sch_pie.c` and `include/net/pie.h`, with their integer arithmetic,
//! bit for bit. Behaviour beyond RFC 8033, each point pinned by a test:
//!
//! - Without the departure-rate estimator, the delay is the sojourn time of the last packet sent.
//!   It is zero if the departure left an empty queue. The guard against early drops uses this
//!   delay, not the delay at the last update.
//! - If the delay exceeds 250 ms, each update adds another 0.02 to the probability, beyond the cap
//!   of 0.02.
//! - Departures reduce the burst allowance by the time since the last departure, or by the length
//!   of a measurement of the departure rate. The allowance therefore does not shrink while nothing
//!   is sent. PIE is never switched off.
//! - The probability is not limited to 1. Its overflow check is at 2^64, while 2^56 stands for 1.
//!   Under lasting overload the probability exceeds 1, and every packet is dropped until the
//!   probability has come down.
//! - At a probability of exactly 10 %, ECN-capable packets are still marked. A mark resets the
//!   accumulated probability if the random draw chose the packet, but not if the bound of 8.5 chose
//!   the packet.
//! - With the departure-rate estimator, the rate is in whole units of 2^-8 byte per 64 ns, and the
//!   delay in whole units of 64 ns.

use aqmlab_core::{Bytes, Duration, Instant, Reason, Rng};

use super::{Arrival, Departure, Law, Verdict};
use crate::Backlog;
use crate::aqm::timer::{Clock, Timer};

/// A probability of 1: 2^56 − 1, which leaves room for sums in 64 bits.
pub const MAX_PROB: u64 = u64::MAX >> 8;

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The target delay.
    pub target: Duration,
    /// The time between updates, before the kernel rounds it.
    pub tupdate: Duration,
    /// The weight of the delay's distance from the target, in sixteenths of 1/s.
    pub alpha: u64,
    /// The weight of the delay's change, in sixteenths of 1/s.
    pub beta: u64,
    /// The probability up to which ECN-capable packets are marked and not dropped, on the scale of
    /// [`MAX_PROB`]; `None` without ECN.
    pub mark_up_to: Option<u64>,
    /// Whether the drop probability scales with the packet size.
    pub bytemode: bool,
    /// Whether the delay is estimated from the departure rate, not taken from timestamps.
    pub dq_rate_estimator: bool,
    /// The size of a full frame as this queue counts it. Below a backlog of two such frames, there
    /// are no early drops.
    pub mtu: Bytes,
    /// The kernel's timer clock.
    pub clock: Clock,
}

/// The PIE law of Linux since 5.5.
#[derive(Clone, Copy, Debug)]
pub struct Linux {
    params: Params,
    vars: Vars,
    timer: Timer,
}

#[derive(Clone, Copy, Debug)]
struct Params {
    target: u64,
    alpha: u64,
    beta: u64,
    mark_up_to: Option<u64>,
    bytemode: bool,
    dq_rate_estimator: bool,
    mtu: u64,
}

/// The variables of the law; delays and times are in units of 64 ns, as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vars {
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    dq_tstamp: Option<u64>,
    prob: u64,
    accu_prob: u64,
    dq_count: Option<u64>,
    avg_dq_rate: u32,
}

/// The number of units of 64 ns in a second (`PSCHED_TICKS_PER_SEC`).
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> 6;
const BURST: u64 = 150_000_000 >> 6;
const LONG_DELAY: u64 = 250_000_000 >> 6;
const QUEUE_THRESHOLD: u64 = 16_384;
const PIE_SCALE: u32 = 8;

const fn ticks(nanos: u64) -> u64 {
    nanos >> 6
}

impl Linux {
    /// Returns the law of a queue that exists from the start of the run. The law's timer first
    /// expires half a second later.
    pub fn new(settings: &Settings) -> Self {
        let per_tick = MAX_PROB / TICKS_PER_SECOND;
        let params = Params {
            target: ticks(settings.target.as_nanos()),
            alpha: settings.alpha.wrapping_mul(per_tick) >> 4,
            beta: settings.beta.wrapping_mul(per_tick) >> 4,
            mark_up_to: settings.mark_up_to,
            bytemode: settings.bytemode,
            dq_rate_estimator: settings.dq_rate_estimator,
            mtu: settings.mtu.0.max(1),
        };
        let half = Duration::from_millis(500);
        let timer = Timer::start(settings.clock, Instant::ZERO, half, settings.tupdate);
        Self { params, vars: Vars::new(), timer }
    }

    /// Returns whether to drop or mark an arrival early (`pie_drop_early`).
    fn drop_early(&mut self, waiting: u64, size: u64, rng: &mut Rng) -> bool {
        let Self { params, vars, .. } = self;
        let spared = vars.burst_time > 0
            || (vars.qdelay < params.target / 2 && vars.prob < MAX_PROB / 5)
            || waiting < 2 * params.mtu;
        if spared {
            return false;
        }
        let prob = if params.bytemode && size <= params.mtu {
            size * (vars.prob / params.mtu)
        } else {
            vars.prob
        };
        vars.accu_prob = if prob == 0 { 0 } else { vars.accu_prob.wrapping_add(prob) };
        if vars.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if vars.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let hit = rng.next_u64() >> 8 < prob;
        if hit {
            vars.accu_prob = 0;
        }
        hit
    }
}

impl Law for Linux {
    #[inline]
    fn catch_up(&mut self, now: Instant, waiting: Backlog) {
        let Self { params, vars, timer } = self;
        timer.catch_up(now, vars, |vars| vars.update(params, waiting.bytes.0));
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict {
        let reason = if arrival.fits {
            let packet = arrival.packet;
            if !self.drop_early(arrival.waiting.bytes.0, packet.bytes().0, rng) {
                return Verdict::Keep;
            }
            let marks = self.params.mark_up_to.is_some_and(|limit| self.vars.prob <= limit);
            if marks && packet.ecn.is_capable() {
                return Verdict::Mark;
            }
            Reason::Early
        } else {
            Reason::Overlimit
        };
        self.vars.accu_prob = 0;
        Verdict::Drop(reason)
    }

    /// Measures the delay or the departure rate, and reduces the burst allowance
    /// (`pie_process_dequeue`).
    #[inline]
    fn depart(&mut self, departure: &Departure<'_>) {
        let now = ticks(departure.now.as_nanos());
        let left = departure.left.bytes.0;
        let gap = if self.params.dq_rate_estimator {
            self.vars.measure_rate(now, left, departure.packet.bytes().0)
        } else {
            let enqueued = ticks(departure.packet.enqueued.as_nanos());
            self.vars.measure_delay(now, left, enqueued)
        };
        self.vars.burst_time = self.vars.burst_time.saturating_sub(gap);
    }

    fn probability(&self) -> f64 {
        (self.vars.prob as f64 / MAX_PROB as f64).min(1.0)
    }

    fn delay(&self) -> Duration {
        Duration::from_nanos(self.vars.qdelay << 6)
    }

    fn timer(&mut self) -> Option<&mut Timer> {
        Some(&mut self.timer)
    }
}

impl Vars {
    const fn new() -> Self {
        Self {
            qdelay: 0,
            qdelay_old: 0,
            burst_time: BURST,
            dq_tstamp: None,
            prob: 0,
            accu_prob: 0,
            dq_count: None,
            avg_dq_rate: 0,
        }
    }

    /// Measures the delay of a departing packet; returns the time since the last departure, or zero
    /// at the first departure.
    #[inline]
    fn measure_delay(&mut self, now: u64, left: u64, enqueued: u64) -> u64 {
        self.qdelay = if left == 0 { 0 } else { now - enqueued };
        let since = self.dq_tstamp.map_or(0, |before| now - before);
        self.dq_tstamp = Some(now);
        u64::from(since as u32)
    }

    /// Counts a departure for the estimator; returns the length of the measurement that it ends, or
    /// zero.
    fn measure_rate(&mut self, now: u64, left: u64, size: u64) -> u64 {
        if left >= QUEUE_THRESHOLD && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let Some(count) = self.dq_count.map(|count| count + size) else { return 0 };
        self.dq_count = Some(count);
        if count < QUEUE_THRESHOLD {
            return 0;
        }
        let took = (now - self.dq_tstamp.unwrap_or(now)) as u32;
        if took == 0 {
            return 0;
        }
        let rate = (count << PIE_SCALE) as u32 / took;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            avg => avg - (avg >> 3) + (rate >> 3),
        };
        if left < QUEUE_THRESHOLD {
            self.dq_count = None;
        } else {
            self.dq_count = Some(0);
            self.dq_tstamp = Some(now);
        }
        u64::from(took)
    }

    /// Updates the delay and the drop probability. If both delays are low and the probability is
    /// zero, restores the initial state, including the burst allowance
    /// (`pie_calculate_probability`).
    #[inline(never)]
    fn update(&mut self, params: &Params, waiting: u64) {
        let (qdelay, qdelay_old) = self.delays(params, waiting);
        let wound_up = self.steer(params, qdelay, qdelay_old);
        // If packets are queued, a delay of zero means a delay below the clock's resolution.
        if qdelay == 0 && qdelay_old == 0 && waiting == 0 && !wound_up {
            self.prob -= self.prob / 64;
        }
        let low = params.target / 2;
        self.qdelay = qdelay;
        let measured = !params.dq_rate_estimator || self.avg_dq_rate > 0;
        if qdelay < low && self.qdelay_old < low && self.prob == 0 && measured {
            let fresh = Self::new();
            self.burst_time = fresh.burst_time;
            self.dq_tstamp = fresh.dq_tstamp;
            self.accu_prob = fresh.accu_prob;
            self.dq_count = fresh.dq_count;
            self.avg_dq_rate = fresh.avg_dq_rate;
        }
        if !params.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }

    /// Returns the current delay and the delay at the last update. With the departure-rate
    /// estimator, first moves `qdelay` to `qdelay_old`.
    fn delays(&mut self, params: &Params, waiting: u64) -> (u64, u64) {
        if !params.dq_rate_estimator {
            return (self.qdelay, self.qdelay_old);
        }
        self.qdelay_old = self.qdelay;
        let scaled = (waiting as u32) << PIE_SCALE;
        let qdelay = scaled.checked_div(self.avg_dq_rate).unwrap_or(0);
        (u64::from(qdelay), self.qdelay_old)
    }

    /// Updates the probability; returns whether it overflowed 64 bits and was set to [`MAX_PROB`].
    #[expect(clippy::cast_possible_wrap, reason = "the wrapping is the kernel\'s")]
    fn steer(&mut self, params: &Params, qdelay: u64, qdelay_old: u64) -> bool {
        let shift = autotune(self.prob);
        let error = (params.alpha >> shift).wrapping_mul(qdelay.wrapping_sub(params.target));
        let trend = (params.beta >> shift).wrapping_mul(qdelay.wrapping_sub(qdelay_old));
        let mut delta = error.wrapping_add(trend) as i64;
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > LONG_DELAY {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        let old = self.prob;
        self.prob = old.wrapping_add(delta as u64);
        if delta > 0 && self.prob < old {
            self.prob = MAX_PROB;
            return true;
        }
        if delta <= 0 && self.prob > old {
            self.prob = 0;
        }
        false
    }
}

/// Returns the right shift of the gains at this probability (RFC 8033 §4.2).
const fn autotune(prob: u64) -> u32 {
    if prob >= MAX_PROB / 10 {
        return 0;
    }
    let mut shift = 1;
    let mut power = 100;
    while power <= 1_000_000 && prob < MAX_PROB / power {
        shift += 2;
        power *= 10;
    }
    shift
}

#[cfg(test)]
mod tests;
