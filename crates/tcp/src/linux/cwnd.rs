//! The window beyond the controller: reduction by PRR, validation, restart after idle periods.
//!
//! Sources: RFC 6937; RFC 2861; Linux 6.1 `tcp_cwnd_reduction`, `tcp_cwnd_validate`,
//! `tcp_cwnd_restart`.

use crate::cc::CcEvent;
use crate::connection::Connection;
use crate::state::CaState;

impl Connection {
    /// Proportional rate reduction, with slow start below the threshold while nothing more is
    /// lost (PRR-SSRB).
    pub(crate) fn reduce_cwnd(&mut self, delivered: u64, lost: u64, advanced: bool) {
        if !self.profile.prr || delivered == 0 || self.recovery.prior_cwnd == 0 {
            return;
        }
        let segment = self.window.segment;
        let ssthresh = self.window.ssthresh / segment;
        let prior_cwnd = (self.recovery.prior_cwnd / segment).max(1);
        let in_flight = u64::from(self.board.in_flight());
        let rec = &mut self.recovery;
        rec.prr_delivered += delivered;
        let mut quota;
        if in_flight > ssthresh {
            let target = ssthresh.saturating_mul(rec.prr_delivered).div_ceil(prior_cwnd);
            quota = target.saturating_sub(rec.prr_out);
        } else {
            quota = rec.prr_delivered.saturating_sub(rec.prr_out).max(delivered);
            if advanced && lost == 0 {
                quota += 1;
            }
            quota = quota.min(ssthresh - in_flight);
        }
        // The first retransmission goes out in any case.
        if rec.prr_out == 0 {
            quota = quota.max(1);
        }
        self.window.cwnd = self.units((in_flight + quota).max(1));
    }

    /// Whether the window has been used enough to grow (Linux `tcp_is_cwnd_limited`): in slow
    /// start half of it is enough.
    #[inline]
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        if self.usage.cwnd_limited {
            return true;
        }
        self.window.in_slow_start()
            && self.cwnd_segments() < 2 * u64::from(self.usage.max_packets_out)
    }

    /// Notes after sending how much of the window is used.
    #[inline]
    pub(crate) fn validate_cwnd(&mut self, limited: bool) {
        let out = self.board.packets_out();
        let usage = &mut self.usage;
        if self.snd.una >= usage.round_end
            || limited
            || (!usage.cwnd_limited && out > usage.max_packets_out)
        {
            usage.cwnd_limited = limited;
            usage.max_packets_out = out;
            usage.round_end = self.snd.nxt;
        }
        if self.is_cwnd_limited() {
            self.usage.used = 0;
            self.usage.stamp = self.clock.now;
            return;
        }
        self.usage.used = self.usage.used.max(out);
        let starved = self.now().since(self.usage.stamp) >= self.rtt.rto;
        if self.profile.slow_start_after_idle && starved && !self.cc.controls_cwnd() {
            self.shrink_unused_cwnd();
        }
    }

    /// The window was not used in full for a timeout's length: half of what is unused goes.
    fn shrink_unused_cwnd(&mut self) {
        // An application that waits for room is not what holds the sender back.
        let waiting = self.snd.short_of_room || self.snd.pouring;
        if self.recovery.ca == CaState::Open && !waiting {
            let used = u64::from(self.usage.used).max(self.profile.initial_window);
            let used = self.units(used);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                let half = u64::midpoint(self.window.cwnd, used);
                self.window.cwnd = half.max(self.window.segment);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = self.now();
    }

    /// Nothing is outstanding and data is to be sent: after an idle period the window is
    /// halved for every timeout that has passed, down to the restart window.
    pub(crate) fn restart_after_idle(&mut self) {
        if !self.profile.slow_start_after_idle
            || !self.board.is_empty()
            || self.cc.controls_cwnd()
            || !self.state.is_synchronized()
        {
            return;
        }
        let mut idle = self.now().since(self.usage.last_sent);
        if idle <= self.rtt.rto {
            return;
        }
        self.notify(CcEvent::IdleRestart);
        self.window.ssthresh = self.current_ssthresh();
        let mut cwnd = self.window.cwnd;
        let floor = self.units(self.profile.restart_window).min(cwnd);
        while idle > self.rtt.rto && cwnd > floor {
            idle = idle.saturating_sub(self.rtt.rto);
            cwnd /= 2;
        }
        self.window.cwnd = cwnd.max(floor).max(self.window.segment);
        self.usage.stamp = self.now();
        self.usage.used = 0;
    }

    /// A data segment is about to be sent.
    #[inline]
    pub(crate) fn on_data_sent(&mut self) {
        if self.board.in_flight() == 0 {
            let idle = self.now().since(self.usage.last_sent);
            self.notify(CcEvent::TransmitStart(idle));
        }
        self.usage.last_sent = self.clock.now;
        self.usage.data_segments += 1;
        if self.delack.pingpong {
            return;
        }
        self.on_reply_sent();
    }

    /// Spreads segments over time for a controller that paces: the next may go when this one
    /// has had its time, less half of what it came too late.
    #[inline]
    pub(crate) fn pace(&mut self, bytes: u64) {
        let Some(rate) = self.cc.pacing_rate() else { return };
        let now = self.clock.now;
        let late = now.since(self.usage.departure);
        self.usage.departure = self.usage.departure.max(now);
        // The first ten segments are not paced.
        if self.usage.data_segments + bytes.div_ceil(u64::from(self.window.mss.max(1))) >= 10 {
            let span = rate.transmit_time(aqmlab_core::Bytes(bytes));
            let credit = late.min(span / 2);
            self.usage.departure += span.saturating_sub(credit);
        }
    }

    /// Whether pacing forbids sending now; if so, the timer is set.
    #[inline]
    pub(crate) fn is_paced(&mut self) -> bool {
        if self.usage.departure <= self.clock.now {
            return false;
        }
        self.timers.pacing = self.usage.departure;
        true
    }

    /// The pacing timer went off.
    pub(crate) fn pacing_due(&mut self) {
        self.timers.pacing = aqmlab_core::Instant::NEVER;
        if self.is_bsd() {
            self.bsd_output();
            return;
        }
        if self.board.lost_out > self.board.retrans_out
            && self.cwnd_segments() > u64::from(self.board.in_flight())
        {
            self.retransmit_lost();
        }
        self.push_pending();
    }

    /// Marks the connection as short of data (Linux `tcp_rate_check_app_limited`).
    pub(crate) fn check_app_limited(&mut self) {
        if self.snd.unsent() < u64::from(self.window.mss)
            && u64::from(self.board.in_flight()) < self.cwnd_segments()
            && self.board.lost_out <= self.board.retrans_out
        {
            let until = self.rate.delivered + u64::from(self.board.in_flight());
            self.rate.app_limited = until.max(1);
        }
    }
}
