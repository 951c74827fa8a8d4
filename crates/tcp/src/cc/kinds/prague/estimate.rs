//! The estimate of the fraction of marked segments, which is updated once per round.
//!
//! Source: L4STeam's Linux, `net/ipv4/tcp_prague.c` 0.7.

use super::{ALPHA_BITS, HSRTT_SHIFT, MAX_ALPHA, Prague, SHIFT_G};

impl Prague {
    /// Ends a round: updates the estimate and the size of packets if a mark was ever seen, updates
    /// the long-term round-trip time, and starts the next round (`prague_update_alpha`).
    pub(super) fn update_alpha(&mut self) {
        if self.saw_ce {
            let (now, then) = (&self.view.totals, &self.round_start);
            let marked = now.delivered_ce - then.delivered_ce;
            let delivered = (now.delivered - then.delivered).max(1);
            let share = (marked << ALPHA_BITS) / delivered;
            let alpha = self.upscaled_alpha - (self.upscaled_alpha >> SHIFT_G) + share;
            self.alpha_stamp = self.view.now;
            self.upscaled_alpha = alpha.min(MAX_ALPHA << SHIFT_G);
            if self.is_rtt_independent() && !self.in_loss {
                self.adapt_mtu();
            }
        }
        self.hsrtt = self.hsrtt + self.view.srtt8 - (self.hsrtt >> HSRTT_SHIFT);
        self.start_round();
    }

    pub(super) fn start_round(&mut self) {
        self.round_start = self.view.totals;
        if !self.in_slow_start() {
            self.round += 1;
        }
        self.update_ai_ack_increase();
    }

    /// Returns whether an update of the estimate is due (`prague_should_update_ewma`). It is due
    /// after a round trip. If growth does not depend on the round-trip time, at least the target
    /// round-trip time must also have passed.
    pub(super) fn is_alpha_due(&self) -> bool {
        let elapsed = self.view.now.saturating_sub(self.alpha_stamp);
        self.view.totals.snd_una >= self.round_start.snd_nxt
            && (!self.is_rtt_independent() || elapsed >= self.options.target_micros())
    }
}
