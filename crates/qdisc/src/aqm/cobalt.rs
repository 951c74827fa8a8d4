//! COBALT: CoDel and BLUE in parallel, the law of CAKE.
//!
//! Source: Linux 6.1 `net/sched/sch_cake.c` as Debian ships it (6.1.192): `cobalt_should_drop`,
//! `cobalt_queue_full`, `cobalt_queue_empty`. CoDel signals a queue whose packets wait too long.
//! BLUE drops from a queue that overflows, because its flows do not respond to signals.
//!
//! COBALT differs from [`super::codel`] in these points:
//!
//! - one schedule sets both the delay before the first signal and the spacing of signals;
//! - `count` decays by one for each signal that fell due while no packet waited too long;
//! - the reciprocal square roots of `count` below 16 come from a table, whose entry 0 is 1;
//! - a new queue starts with a reciprocal of zero, so its first episode signals the second packet
//!   above the target at once (C-167).
//!
//! `reciprocal_scale` has arguments of 32 bits, so an interval above 4.29 s loses its upper bits.
//! The model reproduces this.

use aqmlab_core::{Duration, Instant};

/// The settings of the law, common to the queues of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// The delay before the first signal, and the spacing of signals at count 1.
    pub interval: Duration,
    /// The sojourn time above which packets are signalled, unless a multiple of `mtu_time` is
    /// larger.
    pub target: Duration,
    /// The transmission time of a packet of the largest size.
    pub mtu_time: Duration,
}

impl Params {
    /// Returns whether a packet waited too long. `bulk_flows` is the number of bulk flows that
    /// share the rate, or zero if the decision does not depend on this number.
    fn is_over(&self, sojourn: Duration, bulk_flows: u32) -> bool {
        sojourn > self.target
            && sojourn > self.mtu_time * u64::from(bulk_flows) * 2
            && sojourn > self.mtu_time * 4
    }
}

/// The increase of BLUE's probability at an overflow: 1/256.
const UP: u32 = 1 << 24;
/// The decrease of BLUE's probability when the queue is empty: 1/4096.
const DOWN: u32 = 1 << 20;

/// The state of the law for one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cobalt {
    count: u32,
    /// 1/√count as a fraction of 2³²; zero until a signal first falls due.
    rec_inv_sqrt: u32,
    /// The time of the next signal, or a time that records the last activity of the queue.
    drop_next: Instant,
    /// The time of BLUE's last step.
    blue_timer: Instant,
    /// BLUE's probability as a fraction of 2³².
    p_drop: u32,
    dropping: bool,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// CoDel signals the packet: an ECN-capable packet is marked, and any other packet is dropped.
    pub signal: bool,
    /// BLUE drops the packet, ECN-capable or not.
    pub blue: bool,
    /// The packet is to be dropped, by CoDel or by BLUE.
    pub drop: bool,
}

/// A packet at the head of its queue, for [`Cobalt::judge`].
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The time that the packet waited.
    pub sojourn: Duration,
    /// Whether a signal marks the packet and does not drop it.
    pub is_ect: bool,
    /// The number of bulk flows that share the rate, or zero if the decision does not depend on
    /// this number.
    pub bulk_flows: u32,
}

/// A change of BLUE's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blue {
    /// The activity of BLUE has not changed.
    Unchanged,
    /// The probability rose from zero: the queue is unresponsive.
    Started,
    /// The probability fell to zero.
    Ended,
}

impl Cobalt {
    /// Decides on a packet. `draw` returns 32 random bits; the function calls it only while BLUE is
    /// active.
    #[inline]
    pub fn judge(
        &mut self,
        params: &Params,
        now: Instant,
        head: Head,
        draw: impl FnOnce() -> u32,
    ) -> Decision {
        let over = params.is_over(head.sojourn, head.bulk_flows);
        if over || self.count > 0 || self.p_drop > 0 {
            return self.judge_active(params, now, over, head.is_ect, draw);
        }
        self.dropping = false;
        self.drop_next = now + params.interval;
        Decision::default()
    }

    #[inline(never)]
    fn judge_active(
        &mut self,
        params: &Params,
        now: Instant,
        over: bool,
        is_ect: bool,
        draw: impl FnOnce() -> u32,
    ) -> Decision {
        // A new episode moves `drop_next`, but the kernel compares with the time before the move.
        let mut scheduled = self.drop_next;
        let due = self.count > 0 && now >= scheduled;
        self.note_target(over, params, now);
        let mut decision = Decision::default();
        if due && self.dropping {
            decision.signal = true;
            self.count = self.count.saturating_add(1);
            scheduled = self.reschedule(params);
        } else if due {
            scheduled = self.decay(params, now);
        }
        decision.blue = self.p_drop > 0 && draw() < self.p_drop;
        decision.drop = decision.blue || (decision.signal && !is_ect);
        // The kernel uses `drop_next` also as the time at which the queue was last active.
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if now > scheduled && !decision.drop {
            self.drop_next = now;
        }
        decision
    }

    /// Starts or ends an episode above the target.
    fn note_target(&mut self, over: bool, params: &Params, now: Instant) {
        if over && !self.dropping {
            self.drop_next = self.control(params, now);
        }
        if over {
            self.count = self.count.max(1);
        }
        self.dropping = over;
    }

    /// Decrements the count for each signal that fell due while no packet waited too long. Returns
    /// the time of the next signal.
    fn decay(&mut self, params: &Params, now: Instant) -> Instant {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.reschedule(params);
        }
        self.drop_next
    }

    /// Updates the reciprocal root after a change of `count`, and moves the next signal. Returns
    /// the time of that signal.
    fn reschedule(&mut self, params: &Params) -> Instant {
        self.rec_inv_sqrt = match INV_SQRT.get(self.count as usize) {
            Some(&exact) => exact,
            None => newton_step(self.rec_inv_sqrt, self.count),
        };
        self.drop_next = self.control(params, self.drop_next);
        self.drop_next
    }

    /// Returns `from` plus interval/√count (`cobalt_control`).
    fn control(&self, params: &Params, from: Instant) -> Instant {
        let interval = u64::from(params.interval.as_nanos() as u32);
        from + Duration::from_nanos((interval * u64::from(self.rec_inv_sqrt)) >> 32)
    }

    /// Records that the queue lost a packet because a buffer overflowed. Returns the change of
    /// BLUE's state.
    pub fn overflowed(&mut self, params: &Params, now: Instant) -> Blue {
        let mut change = Blue::Unchanged;
        if now.since(self.blue_timer) > params.target {
            if self.p_drop == 0 {
                change = Blue::Started;
            }
            self.p_drop = self.p_drop.saturating_add(UP);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        change
    }

    /// Records that the queue was served and is empty. Returns the change of BLUE's state.
    pub fn emptied(&mut self, params: &Params, now: Instant) -> Blue {
        let mut change = Blue::Unchanged;
        if self.p_drop > 0 && now.since(self.blue_timer) > params.target {
            self.p_drop = self.p_drop.saturating_sub(DOWN);
            self.blue_timer = now;
            if self.p_drop == 0 {
                change = Blue::Ended;
            }
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.reschedule(params);
        }
        change
    }

    /// Returns whether the state has decayed, so that the queue may be forgotten.
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0 && self.count == 0 && now >= self.drop_next
    }

    /// Returns BLUE's probability.
    pub fn probability(&self) -> f64 {
        f64::from(self.p_drop) / 4_294_967_296.0
    }

    /// Returns `count`, from which the law computes the time between signals.
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// 1/√n as a fraction of 2³²: four Newton steps from the preceding entry. Four steps are too few
/// for n = 2, so this entry is 0.06 % too small, as in the kernel.
const INV_SQRT: [u32; 16] = {
    let mut table = [u32::MAX; 16];
    let mut x = u32::MAX;
    let mut count = 1;
    while count < table.len() {
        let mut steps = 0;
        while steps < 4 {
            x = newton_step(x, count as u32);
            steps += 1;
        }
        table[count] = x;
        count += 1;
    }
    table
};

/// One step towards 1/√count from `x`: x·(3 − count·x²)/2 (`cobalt_newton_step`).
const fn newton_step(x: u32, count: u32) -> u32 {
    let x = x as u64;
    let squared = (x * x) >> 32;
    let factor = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(squared)) >> 2;
    (factor.wrapping_mul(x) >> 31) as u32
}

#[cfg(test)]
mod tests;
