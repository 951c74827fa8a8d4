//! PIE as in Linux 3.14 to 5.0.
//!
//! Source: `net/sched/sch_pie.c` of Linux 3.14 to 5.0, with its integer arithmetic, bit for bit.
//! Behaviour that later kernels changed, each point pinned by a test:
//!
//! - The delay comes from the departure rate alone, measured over 10 000 bytes. Until a standing
//!   queue has sent that many bytes, PIE measures no delay and drops nothing.
//! - There are three gains, while the RFC has seven: 1/8 below 1 %, 1/2 below 10 %, and otherwise
//!   1.
//! - Drops are not derandomised: each packet has an independent random draw.
//! - The change of the probability is stored in 32 bits. If the delay jumps by more than 0.37 s,
//!   the change overflows, and the probability falls although it should rise.
//! - The decay, `prob * 98 / 100`, is also computed in 32 bits. In an idle queue, a probability
//!   above 1 % therefore falls below 1 % at once, although it should fall by 2 % of its value.
//! - A tail drop leaves the state unchanged.

use aqmlab_core::{Bytes, Duration, Instant, Reason, Rng};

use super::{Arrival, Departure, Law, Verdict};
use crate::Backlog;
use crate::aqm::timer::{Clock, Timer};

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
    /// Whether ECN-capable packets are marked and not dropped at a probability of at most 10 %.
    pub ecn: bool,
    /// Whether the drop probability scales with the packet size.
    pub bytemode: bool,
    /// The size of a full frame as this queue counts it. Below a backlog of two such frames, there
    /// are no early drops.
    pub mtu: Bytes,
    /// The kernel's timer clock.
    pub clock: Clock,
}

/// The PIE law of Linux 3.14 to 5.0.
#[derive(Clone, Copy, Debug)]
pub struct Linux314 {
    params: Params,
    vars: Vars,
    timer: Timer,
}

#[derive(Clone, Copy, Debug)]
struct Params {
    target: u64,
    alpha: u64,
    beta: u64,
    ecn: bool,
    bytemode: bool,
    mtu: u32,
}

/// The variables of the law; delays and times are in units of 64 ns, as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vars {
    prob: u32,
    burst_time: u64,
    qdelay: u64,
    qdelay_old: u64,
    dq_count: Option<u64>,
    dq_tstamp: u64,
    avg_dq_rate: u32,
}

/// The probability per unit of 64 ns, `MAX_PROB / PSCHED_TICKS_PER_SEC`, before the gains.
const PROB_PER_TICK: u64 = 0xffff_ffff / (1_000_000_000 >> 6);
const BURST: u64 = 100_000_000 >> 6;
const LONG_DELAY: u64 = 250_000_000 >> 6;
const QUEUE_THRESHOLD: u64 = 10_000;
const PIE_SCALE: u32 = 8;

const fn ticks(nanos: u64) -> u64 {
    nanos >> 6
}

impl Linux314 {
    /// Returns the law of a queue that exists from the start of the run. The law's timer first
    /// expires half a second later.
    pub fn new(settings: &Settings) -> Self {
        let params = Params {
            target: ticks(settings.target.as_nanos()),
            alpha: settings.alpha.wrapping_mul(PROB_PER_TICK),
            beta: settings.beta.wrapping_mul(PROB_PER_TICK),
            ecn: settings.ecn,
            bytemode: settings.bytemode,
            mtu: settings.mtu.0.clamp(1, 1 << 30) as u32,
        };
        let vars = Vars {
            prob: 0,
            burst_time: BURST,
            qdelay: 0,
            qdelay_old: 0,
            dq_count: None,
            dq_tstamp: 0,
            avg_dq_rate: 0,
        };
        let half = Duration::from_millis(500);
        let timer = Timer::start(settings.clock, Instant::ZERO, half, settings.tupdate);
        Self { params, vars, timer }
    }

    fn drop_early(&self, waiting: u64, size: u32, rng: &mut Rng) -> bool {
        let Self { params, vars, .. } = self;
        let spared = vars.burst_time > 0
            || (vars.qdelay < params.target / 2 && vars.prob < u32::MAX / 5)
            || waiting < 2 * u64::from(params.mtu);
        if spared {
            return false;
        }
        let prob = if params.bytemode && size <= params.mtu {
            vars.prob / params.mtu * size
        } else {
            vars.prob
        };
        rng.next_u32() < prob
    }
}

impl Law for Linux314 {
    #[inline]
    fn catch_up(&mut self, now: Instant, waiting: Backlog) {
        let Self { params, vars, timer } = self;
        timer.catch_up(now, vars, |vars| vars.update(params, waiting.bytes.0));
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict {
        if !arrival.fits {
            return Verdict::Drop(Reason::Overlimit);
        }
        let packet = arrival.packet;
        if !self.drop_early(arrival.waiting.bytes.0, packet.len, rng) {
            return Verdict::Keep;
        }
        let marks = self.params.ecn && self.vars.prob <= u32::MAX / 10;
        if marks && packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop(Reason::Early) }
    }

    /// Measures the departure rate (`pie_process_dequeue`).
    #[inline]
    fn depart(&mut self, departure: &Departure<'_>) {
        let now = ticks(departure.now.as_nanos());
        self.vars.measure(now, departure.left.bytes.0, departure.packet.bytes().0);
    }

    fn probability(&self) -> f64 {
        f64::from(self.vars.prob) / f64::from(u32::MAX)
    }

    fn timer(&mut self) -> Option<&mut Timer> {
        Some(&mut self.timer)
    }

    fn delay(&self) -> Duration {
        Duration::from_nanos(self.vars.qdelay << 6)
    }
}

impl Vars {
    #[inline]
    fn measure(&mut self, now: u64, left: u64, size: u64) {
        if left >= QUEUE_THRESHOLD && self.dq_count.is_none() {
            self.dq_tstamp = now;
            self.dq_count = Some(0);
        }
        let Some(count) = self.dq_count.map(|count| count + size) else { return };
        self.dq_count = Some(count);
        let took = (now - self.dq_tstamp) as u32;
        if count < QUEUE_THRESHOLD || took == 0 {
            return;
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
            self.dq_tstamp = now;
        }
        self.burst_time = self.burst_time.saturating_sub(took.into());
    }

    /// Updates the delay and the drop probability. If both delays are low and the probability is
    /// zero, restores the burst allowance, and forgets the departure rate
    /// (`calculate_probability`).
    #[inline(never)]
    fn update(&mut self, params: &Params, waiting: u64) {
        self.qdelay_old = self.qdelay;
        let scaled = (waiting as u32) << PIE_SCALE;
        self.qdelay = scaled.checked_div(self.avg_dq_rate).unwrap_or(0).into();
        let wound_up = self.steer(params);
        if self.qdelay == 0 && self.qdelay_old == 0 && waiting == 0 && !wound_up {
            self.prob = self.prob.wrapping_mul(98) / 100;
        }
        let low = params.target / 2;
        let calm = self.qdelay < low && self.qdelay_old < low && self.prob == 0;
        if calm && self.avg_dq_rate > 0 {
            self.dq_count = None;
            self.avg_dq_rate = 0;
            self.burst_time = BURST;
        }
    }

    /// Updates the probability; returns whether it overflowed and was set to its maximum.
    #[expect(clippy::cast_possible_wrap, reason = "the wrapping is the kernel\'s")]
    fn steer(&mut self, params: &Params) -> bool {
        let shift = match self.prob {
            ..LIGHT => 7,
            LIGHT..MEDIUM => 5,
            MEDIUM.. => 4,
        };
        let gain = |weight: u64| weight >> shift;
        let error = gain(params.alpha).wrapping_mul(self.qdelay.wrapping_sub(params.target));
        let trend = gain(params.beta).wrapping_mul(self.qdelay.wrapping_sub(self.qdelay_old));
        let mut delta = error.wrapping_add(trend) as i32;
        if delta > (u32::MAX / 50) as i32 && self.prob >= MEDIUM {
            delta = (u32::MAX / 100 * 2) as i32;
        }
        if self.qdelay > LONG_DELAY {
            delta = delta.wrapping_add((u32::MAX / 50) as i32);
        }
        let old = self.prob;
        self.prob = old.wrapping_add(delta as u32);
        if delta > 0 && self.prob < old {
            self.prob = u32::MAX;
            return true;
        }
        if delta <= 0 && self.prob > old {
            self.prob = 0;
        }
        false
    }
}

const LIGHT: u32 = u32::MAX / 100;
const MEDIUM: u32 = u32::MAX / 10;

#[cfg(test)]
mod tests;
