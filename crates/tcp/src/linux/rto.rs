//! The transmission timer: `tcp_set_xmit_timer`, `tcp_rearm_rto`, `tcp_retransmit_timer`.

use aqmlab_core::Duration;

use crate::connection::Connection;
use crate::timers::XmitTimer;

impl Connection {
    /// Sets the timer for a tail loss probe or, if none is due, for the timeout.
    #[inline]
    pub(crate) fn set_transmit_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_timeout();
        }
    }

    /// Restarts the retransmission timer (RFC 6298 §5.3); counted from the last transmission
    /// of the head if the timer was running for something else.
    pub(crate) fn rearm_timeout(&mut self) {
        if self.board.is_empty() {
            self.timers.stop_transmit();
            return;
        }
        let mut span = self.rtt.rto;
        if matches!(self.timers.xmit, XmitTimer::Reorder | XmitTimer::LossProbe) {
            span = self.until_timeout().max(Duration::from_nanos(1));
        }
        self.arm_paced(XmitTimer::Retransmit, span);
    }

    /// How far off the timeout of the head is; zero if it has passed.
    #[inline]
    pub(crate) fn until_timeout(&self) -> Duration {
        let sent = self.board.front().map_or(self.now(), |front| front.sent);
        (sent + self.rtt.rto).since(self.now())
    }

    /// Arms the transmission timer, later by what pacing delays the next segment.
    #[inline]
    pub(crate) fn arm_paced(&mut self, alarm: XmitTimer, span: Duration) {
        let wait = self.usage.departure.since(self.clock.now);
        self.arm(alarm, span + wait, self.profile.rto_max);
    }

    /// The retransmission timer went off.
    pub(crate) fn linux_timeout(&mut self) {
        self.timers.stop_transmit();
        let Some(head) = self.board.front_id() else { return };
        self.recovery.tlp_high_seq = 0;
        if self.snd.wnd == 0 {
            // The peer took its window back: retransmissions are probes, and never give up.
            self.enter_loss();
            self.retransmit(head);
        } else {
            self.stats.rtos += 1;
            if self.has_given_up() {
                self.give_up();
                return;
            }
            self.enter_loss();
            self.recovery.retransmits += 1;
            self.retransmit(head);
        }
        self.rtt.back_off();
        self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
    }

    /// Linux `retransmits_timed_out`: after as long as the allowed number of doublings of the
    /// least timeout take.
    fn has_given_up(&self) -> bool {
        let (Some(stamp), true) = (self.recovery.retrans_stamp, self.recovery.retransmits > 0)
        else {
            return false;
        };
        let (base, most) = (self.profile.rto_min.as_millis().max(1), self.profile.rto_max);
        let doublings = u64::from((most.as_millis() / base).max(1).ilog2());
        let retries = self.profile.retries;
        let exponential = ((2_u64 << retries.min(doublings).min(60)) - 1).saturating_mul(base);
        let linear = retries.saturating_sub(doublings).saturating_mul(most.as_millis());
        let waited = self.clock.timestamp().wrapping_sub(stamp);
        u64::from(waited) >= exponential.saturating_add(linear)
    }
}
