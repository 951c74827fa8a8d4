//! The additive increase and the reductions.
//!
//! Source: L4STeam's Linux, `net/ipv4/tcp_prague.c` 0.7.

use std::cmp::Ordering;

use super::rate::{MINIMUM_RATE, RTT2SEC_SHIFT, mul_shr};
use super::{ALPHA_BITS, CWND_UNIT, MAX_ALPHA, MTU_SYS, ONE_CWND, Prague, SHIFT_G};

/// Eight times the longest round-trip time in microseconds at which growth is scaled.
const MAX_SCALED_RTT: u64 = 100_000 << 3;

/// Returns the quotient, rounded to the nearest integer (`DIV64_U64_ROUND_CLOSEST`).
const fn divide(dividend: u64, divisor: u64) -> u64 {
    (dividend + divisor / 2) / divisor
}

impl Prague {
    /// Sets the growth of the window for a window of unmarked segments. After the `transition`
    /// rounds, a round-trip time below the target multiplies the growth by the square of its ratio
    /// to the target. The rate then grows as fast as with the target round-trip time
    /// (`prague_ai_ack_increase`).
    pub(super) fn update_ai_ack_increase(&mut self) {
        let (rtt, target) = (self.view.srtt8, self.options.target8);
        let is_scaled =
            self.round >= self.options.transition && (1..=MAX_SCALED_RTT).contains(&rtt);
        self.ai_ack_increase = if is_scaled && rtt < target {
            divide((rtt << CWND_UNIT) * rtt, target * target)
        } else {
            ONE_CWND
        };
    }

    /// Halves the window at the first mark, unless `prague_alpha_mode` is 1. Grows the window for
    /// the unmarked segments of an acknowledgement. Moves the connection's window towards the
    /// result (`prague_update_cwnd`).
    pub(super) fn update_cwnd(&mut self, acked: u64, marks: u64, is_limited: bool) {
        if marks > 0 {
            if !self.saw_ce && !self.options.starts_at_one {
                self.frac_cwnd = (self.frac_cwnd + 1) >> 1;
            }
            self.saw_ce = true;
        }
        let mut unmarked = acked.saturating_sub(marks);
        if unmarked > 0 && !self.in_loss && is_limited {
            if self.in_slow_start() {
                unmarked = self.slow_start(unmarked);
                if unmarked == 0 {
                    self.update_ai_ack_increase();
                    return;
                }
            }
            self.grow(unmarked);
        }
        self.step();
    }

    /// Grows the window in slow start. Returns the number of acknowledged segments that were not
    /// needed to reach the threshold (`tcp_slow_start`).
    fn slow_start(&mut self, acked: u64) -> u64 {
        let cwnd = (self.view.cwnd + acked).min(self.view.ssthresh);
        let left = acked - (cwnd - self.view.cwnd);
        self.view.cwnd = cwnd.min(self.view.clamp);
        self.frac_cwnd = self.view.cwnd << CWND_UNIT;
        left
    }

    fn grow(&mut self, unmarked: u64) {
        if self.is_by_rate() {
            let virtual_rtt = self.virtual_rtt();
            let increase = ((unmarked * MTU_SYS) << RTT2SEC_SHIFT) / virtual_rtt;
            let divisor = self.view.mtu << RTT2SEC_SHIFT;
            let packets = (self.rate * virtual_rtt).div_ceil(divisor);
            if packets > 0 {
                self.rate += divide(increase, packets);
            }
            self.frac_cwnd = (self.frac_cwnd + unmarked).max(self.frac_cwnd_of_rate());
            return;
        }
        let mut increase = unmarked * self.ai_ack_increase;
        if self.frac_cwnd > 0 {
            increase = divide(increase << CWND_UNIT, self.frac_cwnd);
        }
        self.frac_cwnd += unmarked.max(increase * MTU_SYS / self.view.mtu);
        self.rate = (self.rate + unmarked).max(self.rate_of_frac_cwnd());
    }

    /// Moves the connection's window towards the fractional window, by at most one segment. A
    /// reduction also sets the slow-start threshold to the window.
    fn step(&mut self) {
        let target = self.whole_cwnd();
        match self.view.cwnd.cmp(&target) {
            Ordering::Greater => {
                self.view.cwnd -= 1;
                self.view.ssthresh = self.view.cwnd;
            }
            Ordering::Less => self.view.cwnd += 1,
            Ordering::Equal => return,
        }
        self.update_ai_ack_increase();
    }

    /// Halves the window or the rate after a loss (`prague_enter_loss`).
    pub(super) fn enter_loss(&mut self) {
        self.loss_cwnd = self.view.cwnd;
        self.loss_rate = self.rate;
        if self.is_by_rate() {
            self.rate -= self.rate >> 1;
            self.frac_cwnd = self.frac_cwnd_of_rate();
        } else {
            self.frac_cwnd -= self.frac_cwnd >> 1;
            self.rate = self.rate_of_frac_cwnd();
        }
        self.in_loss = true;
    }

    /// Reduces the window or the rate by half of the estimated fraction of marked segments. If
    /// growth does not depend on the round-trip time, there is at most one reduction per target
    /// round-trip time (`prague_enter_cwr`).
    pub(super) fn enter_cwr(&mut self) {
        let elapsed = self.view.now.saturating_sub(self.cwr_stamp);
        if self.is_rtt_independent() && elapsed < self.options.target_micros() {
            return;
        }
        self.cwr_stamp = self.view.now;
        let alpha = self.upscaled_alpha >> SHIFT_G;
        if self.is_by_rate() {
            let reduction = mul_shr(self.rate, alpha, ALPHA_BITS + 1);
            self.rate = (self.rate - reduction).max(MINIMUM_RATE);
            self.frac_cwnd = self.frac_cwnd_of_rate();
        } else {
            // A half is added, so that rounding has no bias.
            let product = u128::from(alpha) * u128::from(self.frac_cwnd) + u128::from(MAX_ALPHA);
            self.frac_cwnd -= (product >> (ALPHA_BITS + 1)) as u64;
            self.rate = self.rate_of_frac_cwnd();
        }
    }
}
