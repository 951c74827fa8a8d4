//! The retransmission timer.
//!
//! Sources: RFC 6298 §5; Linux 6.1 `tcp_set_xmit_timer`, `tcp_rearm_rto`, `tcp_retransmit_timer`.
//!
//! Difference, pinned by a test: while the peer's window is closed, retransmissions never end.
//! Linux gives up if no acknowledgement has arrived for twice the maximum timeout
//! (`tcp_rtx_probe0_timed_out`).

use aqmlab_core::Duration;

use super::Linux;
use super::tlp::TimeoutFrom;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

impl Tcb {
    /// Returns the time until the retransmission timeout of the head, which counts from its last
    /// transmission; zero if the timeout has passed (`tcp_rto_delta_us`).
    #[inline]
    pub(super) fn until_timeout(&self) -> Duration {
        let sent_at = self.board.front().map_or(self.now(), |front| front.sent_at);
        (sent_at + self.rtt.rto).since(self.now())
    }

    /// Sets the transmission timer. The wait until the next departure is added to `span`.
    #[inline]
    pub(super) fn arm_paced(&mut self, purpose: XmitTimer, span: Duration) {
        let wait = self.pacer.wait(self.clock.now);
        self.arm(purpose, span + wait, self.profile.rto_max);
    }

    /// Restarts the retransmission timer, or stops it if nothing is outstanding (RFC 6298 §5.2 and
    /// §5.3). If the transmission timer was set for reordering or a loss probe, the timeout counts
    /// from the last transmission of the head (`tcp_rearm_rto`).
    pub(super) fn rearm_rto(&mut self) {
        if self.board.is_empty() {
            self.timers.stop_xmit();
            return;
        }
        let mut span = self.rtt.rto;
        if matches!(self.timers.xmit, XmitTimer::Reorder | XmitTimer::LossProbe) {
            span = self.until_timeout().max(Duration::from_nanos(1));
        }
        self.arm_paced(XmitTimer::Retransmit, span);
    }
}

impl Linux {
    /// Sets the timer for a tail loss probe or, if no probe is permitted, for the retransmission
    /// timeout (`tcp_set_xmit_timer`).
    #[inline]
    pub(super) fn set_xmit_timer(&mut self, tcb: &mut Tcb) {
        if !self.schedule_loss_probe(tcb, TimeoutFrom::Now) {
            tcb.rearm_rto();
        }
    }

    /// Handles the expiry of the retransmission timer: enters the loss state and retransmits the
    /// head, or gives up the connection (`tcp_retransmit_timer`).
    pub(super) fn on_retransmission_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.stop_xmit();
        let Some(head) = tcb.board.front_id() else { return };
        // If the peer reduced its window to zero, retransmissions probe the window.
        let probes = tcb.snd.wnd == 0;
        if !probes {
            tcb.stats.rtos += 1;
            if self.has_given_up(tcb) {
                tcb.die();
                return;
            }
        }
        self.enter_loss(tcb);
        if !probes {
            self.recovery.count_retransmit();
        }
        self.retransmit(tcb, head);
        self.rtt.back_off(&mut tcb.rtt);
        tcb.arm_rto();
    }

    /// Returns whether the time for the allowed retransmissions has passed since the first
    /// retransmission. This time is the sum of timeouts that start at the minimum and double up to
    /// the maximum (`retransmits_timed_out`).
    fn has_given_up(&self, tcb: &Tcb) -> bool {
        let (Some(stamp), true) = (self.undo.retrans_stamp(), self.recovery.retransmits() > 0)
        else {
            return false;
        };
        let (base, most) = (tcb.profile.rto_min.as_millis().max(1), tcb.profile.rto_max);
        let doublings = u64::from((most.as_millis() / base).max(1).ilog2());
        let retries = tcb.profile.retries;
        let exponential = ((2_u64 << retries.min(doublings).min(60)) - 1).saturating_mul(base);
        let linear = retries.saturating_sub(doublings).saturating_mul(most.as_millis());
        let waited = tcb.clock.timestamp().wrapping_sub(stamp);
        u64::from(waited) >= exponential.saturating_add(linear)
    }
}

#[cfg(test)]
mod tests {
    use crate::linux::testing;
    use crate::state::State;

    /// Tests the difference stated in the head: a closed window keeps the connection, and an open
    /// window of a silent peer does not.
    #[test]
    fn retransmissions_into_a_closed_window_never_end() {
        for (wnd, state) in [(0, State::Established), (100_000, State::Closed)] {
            let (mut linux, mut tcb) = testing::open("reno");
            testing::send(&mut tcb, 1);
            tcb.snd.wnd = wnd;
            for _ in 0..30 {
                tcb.arm_rto();
                tcb.clock.set(tcb.timers.xmit_at);
                linux.on_retransmission_timer(&mut tcb);
                if tcb.state == State::Closed {
                    break;
                }
            }
            assert_eq!(tcb.state, state, "a window of {wnd} bytes");
        }
    }
}
