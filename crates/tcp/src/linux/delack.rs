//! The sending of acknowledgements: at once, after a delay, or with the next data.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `tcp_measure_rcv_mss`,
//! `__tcp_ack_snd_check`), `tcp_output.c` (`tcp_send_delayed_ack`), `tcp_timer.c`
//! (`tcp_delack_timer_handler`, `tcp_compressed_ack_kick`), `tcp.c` (`tcp_cleanup_rbuf`).
//!
//! `delack/state.rs` computes the adaptive delay, and the number of quick acknowledgements.

mod state;

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant, TcpHeader};

pub(super) use state::DelayedAck;

use super::Linux;
use crate::profile::DelayedAckRule;
use crate::tcb::Tcb;

/// The limit of the adaptive delay while a stream without ends of writes arrives in one direction
/// (`HZ / 2` in `tcp_send_delayed_ack`).
const MAX_DELAY: Duration = Duration::from_millis(500);

impl Linux {
    /// Makes up to `count` of the next acknowledgements immediate (`tcp_enter_quickack_mode`).
    pub(super) fn enter_quick_ack(&mut self, tcb: &Tcb, count: u64) {
        self.delack.enter_quick_ack(tcb.rcv.wnd, count);
    }

    /// Handles data that has arrived in order: makes an acknowledgement pending, and updates the
    /// receiver's estimates (`tcp_event_data_recv`).
    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn on_data_received(&mut self, tcb: &Tcb, header: &TcpHeader) {
        self.delack.schedule();
        self.delack.measure_rcv_mss(header, &tcb.options);
        self.autotune.measure_by_window(tcb);
        self.delack.on_data_received(tcb);
    }

    /// Sends or delays the pending acknowledgement, if there is one (`__tcp_ack_snd_check`).
    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn check_ack(&mut self, tcb: &mut Tcb) {
        if !self.delack.is_scheduled() {
            rare();
            return;
        }
        match self.delack.rule() {
            DelayedAckRule::Adaptive => self.check_adaptive_ack(tcb),
            DelayedAckRule::Fixed => {
                rare();
                self.check_fixed_ack(tcb);
            }
        }
    }

    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn check_adaptive_ack(&mut self, tcb: &mut Tcb) {
        let is_full = tcb.rcv.unacknowledged() > u64::from(self.delack.rcv_mss())
            && self.possible_window(tcb) >= tcb.rcv.wnd;
        if is_full || self.delack.is_urgent() {
            self.send_ack(tcb);
        } else if self.ooo.is_empty() {
            self.delay_ack(tcb);
        } else {
            rare();
            self.compress_ack(tcb);
        }
    }

    /// Applies the fixed rule of Windows. The acknowledgement of the first segment is delayed until
    /// the second segment arrives or the timer expires. Out-of-order segments are acknowledged at
    /// once.
    fn check_fixed_ack(&mut self, tcb: &mut Tcb) {
        let waits = tcb.timers.delayed_ack != Instant::NEVER;
        if waits || self.delack.is_forced() || !self.ooo.is_empty() {
            self.send_ack(tcb);
        } else {
            tcb.timers.delayed_ack = tcb.clock.expiry(self.delack.least());
        }
    }

    /// With SACK, delays duplicate acknowledgements beyond the third, up to the limit of
    /// `ack_compression`, so that several of them become one. Sends any other acknowledgement at
    /// once.
    fn compress_ack(&mut self, tcb: &mut Tcb) {
        let limit = tcb.profile.ack_compression as u32;
        if !tcb.rcv.sack.enabled || !self.delack.compress(tcb.rcv.nxt, limit) {
            self.send_ack(tcb);
            return;
        }
        if tcb.timers.compressed_ack() != Instant::NEVER {
            return;
        }
        let known = self.autotune.rtt().unwrap_or(Duration::ZERO);
        let rtt = tcb.rtt.srtt().map_or(known, |srtt| srtt.min(known));
        let delay = tcb.profile.ack_compression_delay.min(rtt / 20);
        tcb.timers.set_compressed_ack(tcb.clock.now + delay + tcb.profile.ack_compression_slack);
    }

    /// Sends the compressed acknowledgement, if there is one.
    pub(super) fn flush_compressed_ack(&mut self, tcb: &mut Tcb) {
        if self.delack.has_compressed() {
            self.send_ack(tcb);
        }
    }

    /// Sets the timer of a delayed acknowledgement. If a timer is already set and expires within a
    /// quarter of the delay, sends the acknowledgement (`tcp_send_delayed_ack`).
    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn delay_ack(&mut self, tcb: &mut Tcb) {
        let ticks = self.delack.delay(tcb);
        let mut at = tcb.clock.expiry(ticks);
        if tcb.timers.delayed_ack != Instant::NEVER {
            rare();
            if tcb.timers.delayed_ack <= tcb.clock.expiry(ticks / 4) {
                self.send_ack(tcb);
                return;
            }
            at = at.min(tcb.timers.delayed_ack);
        }
        tcb.timers.delayed_ack = at;
    }

    /// Handles a read of all data by the application. The first buffer that it read ends at `end`.
    /// Grows the receive buffer if necessary, and sends an acknowledgement if one is due
    /// (`tcp_cleanup_rbuf`).
    ///
    /// With the adaptive rule, there are three cases. First, more than one full-sized segment is
    /// unacknowledged. Second, no data is out of order, and several writes have ended, or one write
    /// has ended and the traffic is not interactive. Third, the window can grow to at least twice
    /// its open part. With the fixed rule, none is due.
    #[inline]
    pub(super) fn on_application_read(&mut self, tcb: &mut Tcb, end: u64) {
        self.adjust_rcv_space(tcb, end);
        if self.delack.rule() == DelayedAckRule::Fixed {
            return;
        }
        let unacknowledged = tcb.rcv.unacknowledged();
        let mut is_due = self.delack.is_due_after_read(unacknowledged, self.ooo.is_empty());
        if !is_due && tcb.rcv.fin.is_none() {
            let open = tcb.rcv.open();
            if 2 * open <= self.rcv_window.clamp() {
                let window = self.possible_window(tcb);
                is_due = window > 0 && window >= 2 * open;
            }
        }
        if is_due {
            self.send_ack(tcb);
        }
    }

    /// Handles a delayed acknowledgement that is due (`tcp_delack_timer_handler`).
    pub(crate) fn on_delayed_ack_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.delayed_ack = Instant::NEVER;
        if self.delack.on_timer(tcb) {
            self.send_ack(tcb);
        }
    }

    /// Sends a compressed acknowledgement that is due (`tcp_compressed_ack_kick`).
    pub(crate) fn on_compressed_ack_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.set_compressed_ack(Instant::NEVER);
        self.flush_compressed_ack(tcb);
    }
}
