//! PI2 as in Linux since 6.17.
//!
//! Source: Linux 6.18 `net/sched/sch_dualpi2.c`: `calculate_probability`, `must_drop`,
//! `dualpi2_classic_marking` and `dualpi2_scalable_marking`, with their integer arithmetic, bit for
//! bit. Behaviour beyond RFC 9332, each point pinned by a test:
//!
//! - The change of the probability is held in 32 bits. The change overflows if the delay falls by
//!   more than about 0.31 s between two updates. The probability then falls too little or not at
//!   all.
//! - A draw of 32 bits is taken for every packet that may be signalled, even if the probability is
//!   zero. A draw equal to the probability is a hit.
//! - In overload, an L4S packet that is not dropped is always marked.
//!
//! Difference: in this model the updates of the probability are never late. The kernel's timer
//! restarts from the time at which it runs, so the lateness of each update delays all later
//! updates.

use aqmlab_core::{Duration, Instant, Rng};

use super::{Heads, Verdict};
use crate::aqm::timer::{Clock, Timer};

/// A probability of 1 on the kernel's 32-bit scale.
pub const MAX_PROB: u32 = u32::MAX;

/// The gains in units of `1/256` Hz, as `tc` sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gains {
    /// The gain for the distance of the delay from the target.
    pub alpha: u32,
    /// The gain for the change of the delay.
    pub beta: u32,
}

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The target delay.
    pub target: Duration,
    /// The time between updates.
    pub tupdate: Duration,
    /// The gains of the controller.
    pub gains: Gains,
    /// The coupling factor, from 1 to 255.
    pub coupling_factor: u8,
    /// Whether packets of both queues are dropped in overload. Otherwise the probability is limited
    /// so that overload never begins.
    pub drop_overload: bool,
}

/// The PI2 law of Linux.
#[derive(Clone, Copy, Debug)]
pub struct Linux {
    params: Params,
    vars: Vars,
    timer: Timer,
}

#[derive(Clone, Copy, Debug)]
struct Params {
    target: i64,
    /// [`Gains::alpha`] in units of 2⁻³² per 64 ns.
    alpha: i64,
    /// [`Gains::beta`] in units of 2⁻³² per 64 ns.
    beta: i64,
    coupling_factor: u64,
    drop_overload: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vars {
    prob: u32,
    last_qdelay: i64,
}

impl Linux {
    /// Returns the law of a queue that exists from the start of the run. The law's timer first
    /// expires after one interval.
    pub fn new(settings: &Settings) -> Self {
        let params = Params {
            target: signed(settings.target),
            alpha: scaled(settings.gains.alpha),
            beta: scaled(settings.gains.beta),
            coupling_factor: settings.coupling_factor.max(1).into(),
            drop_overload: settings.drop_overload,
        };
        let span = settings.tupdate;
        let timer = Timer::start(Clock::Ideal, Instant::ZERO, span, span);
        Self { params, vars: Vars::default(), timer }
    }

    /// Does the updates due until `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Instant, heads: Heads) {
        let Self { params, vars, timer } = self;
        super::catch_up(timer, now, heads, vars, |vars, delay| vars.update(params, delay));
    }

    /// Judges a packet of the classic queue.
    #[inline]
    pub fn judge_classic(&self, rng: &mut Rng) -> Verdict {
        if !self.hits_twice(rng) {
            Verdict::Keep
        } else if self.is_overloaded() {
            Verdict::Drop
        } else {
            Verdict::Signal
        }
    }

    /// Judges a packet of the L4S queue.
    #[inline]
    pub fn judge_l4s(&self, rng: &mut Rng) -> Verdict {
        if self.is_overloaded() {
            let drops = self.params.drop_overload && self.hits_twice(rng);
            return if drops { Verdict::Drop } else { Verdict::Signal };
        }
        if hits(self.coupled(), rng) { Verdict::Signal } else { Verdict::Keep }
    }

    /// Returns the output of the controller, on the scale of [`MAX_PROB`].
    pub const fn prob(&self) -> u32 {
        self.vars.prob
    }

    /// Returns whether the coupled probability exceeds 1.
    pub fn is_overloaded(&self) -> bool {
        self.coupled() > u64::from(MAX_PROB)
    }

    /// Returns the timer of the updates.
    pub const fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    fn coupled(&self) -> u64 {
        u64::from(self.vars.prob) * self.params.coupling_factor
    }

    fn hits_twice(&self, rng: &mut Rng) -> bool {
        let prob = self.vars.prob.into();
        hits(prob, rng) && hits(prob, rng)
    }
}

impl Vars {
    /// Updates the probability for the current delay (`calculate_probability`).
    #[inline(never)]
    fn update(&mut self, params: &Params, delay: Duration) {
        let qdelay = signed(delay);
        let error = qdelay.wrapping_sub(params.target).wrapping_mul(params.alpha);
        let trend = qdelay.wrapping_sub(self.last_qdelay).wrapping_mul(params.beta);
        let delta = error.wrapping_add(trend);
        self.last_qdelay = qdelay;
        let (old, change) = (self.prob, (delta.unsigned_abs() / 64) as u32);
        // The sums wrap, and only a result on the wrong side of the old value is limited.
        let new = if delta > 0 {
            let sum = old.wrapping_add(change);
            if sum < old { MAX_PROB } else { sum }
        } else {
            let rest = old.wrapping_sub(change);
            if rest > old { 0 } else { rest }
        };
        self.prob = if params.drop_overload {
            new
        } else {
            new.min((u64::from(MAX_PROB) / params.coupling_factor) as u32)
        };
    }
}

/// Converts a gain from `1/256` Hz to 2⁻³² per 64 ns (`dualpi2_scale_alpha_beta`).
fn scaled(gain: u32) -> i64 {
    let per_second = (u64::from(gain) * u64::from(MAX_PROB)) >> 2;
    i64::from((per_second / 1_000_000_000) as u32)
}

/// Returns the nanoseconds of `span` as the kernel's signed type, which holds 292 years.
#[expect(clippy::cast_possible_wrap, reason = "no delay is that long")]
const fn signed(span: Duration) -> i64 {
    span.as_nanos() as i64
}

/// Draws, and returns whether the draw is at most `prob` (`dualpi2_roll`).
#[inline]
fn hits(prob: u64, rng: &mut Rng) -> bool {
    u64::from(rng.next_u32()) <= prob
}

#[cfg(test)]
mod tests;
