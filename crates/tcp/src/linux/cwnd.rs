//! The congestion window outside the controller: validation, reductions, and the restart after idle
//! periods.
//!
//! Sources: RFC 2861; Linux 6.1 `tcp_cwnd_validate`, `tcp_cwnd_application_limited`,
//! `tcp_cwnd_restart`, `tcp_is_cwnd_limited`, `tcp_end_cwnd_reduction`.

use aqmlab_core::Instant;

use super::Linux;
use super::prr::Reduction;
use crate::cc::{CcEvent, Signal};
use crate::state::CaState;
use crate::tcb::Tcb;

/// The use of the congestion window, in segments.
#[derive(Debug)]
pub(super) struct CwndUsage {
    /// Whether the window, not the application, limited the sender in the last round trip
    /// (`is_cwnd_limited`).
    is_cwnd_limited: bool,
    /// The maximum number of outstanding segments in the last round trip.
    max_packets_out: u32,
    /// The sequence number whose acknowledgement ends the round trip.
    round_end: u64,
    /// The maximum number of outstanding segments since the window last limited the sender or was
    /// last reduced for lack of use (`snd_cwnd_used`).
    used: u32,
    /// The time when the window was last fully used or changed (`snd_cwnd_stamp`).
    stamp: Instant,
}

impl Default for CwndUsage {
    fn default() -> Self {
        Self {
            is_cwnd_limited: false,
            max_packets_out: 0,
            round_end: 0,
            used: 0,
            stamp: Instant::ZERO,
        }
    }
}

impl CwndUsage {
    /// Records that the window changes.
    #[inline]
    pub(super) fn on_change(&mut self, now: Instant) {
        self.stamp = now;
    }

    /// Returns whether the window, not the application, limited the sender in the last round trip.
    pub(super) const fn is_cwnd_limited(&self) -> bool {
        self.is_cwnd_limited
    }

    /// Returns whether the window limits the sender so much that it may grow
    /// (`tcp_is_cwnd_limited`). In slow start, using more than half of the window is sufficient.
    #[inline]
    pub(super) fn may_grow(&self, tcb: &Tcb) -> bool {
        self.is_cwnd_limited
            || (tcb.window.in_slow_start()
                && tcb.cwnd_segments() < 2 * u64::from(self.max_packets_out))
    }

    /// Records the use of the window after sending. `limited` states whether the window limited the
    /// sending. Returns whether the window may grow.
    #[inline]
    fn record(&mut self, tcb: &Tcb, limited: bool) -> bool {
        let out = tcb.board.packets_out();
        if tcb.snd.una >= self.round_end
            || limited
            || (!self.is_cwnd_limited && out > self.max_packets_out)
        {
            self.is_cwnd_limited = limited;
            self.max_packets_out = out;
            self.round_end = tcb.snd.nxt;
        }
        let may_grow = self.may_grow(tcb);
        if may_grow {
            self.used = 0;
            self.stamp = tcb.clock.now;
        } else {
            self.used = self.used.max(out);
        }
        may_grow
    }
}

impl Tcb {
    /// Returns the number of segments that the congestion window allows beside those in flight.
    #[inline]
    pub(super) fn cwnd_space(&self) -> u64 {
        self.cwnd_segments().saturating_sub(self.board.in_flight().into())
    }

    /// Returns whether the congestion window allows another segment.
    #[inline]
    pub(super) fn has_cwnd_space(&self) -> bool {
        u64::from(self.board.in_flight()) < self.cwnd_segments()
    }
}

impl Linux {
    /// During a reduction, sets the window by PRR, if the host has PRR. `delivered` and `lost`
    /// count the segments of an acknowledgement, and `advanced` states whether it advanced
    /// `snd_una` (`tcp_cwnd_reduction`).
    pub(super) fn reduce_cwnd(&mut self, tcb: &mut Tcb, delivered: u64, lost: u64, advanced: bool) {
        if !tcb.profile.prr || delivered == 0 || self.prr.prior_cwnd() == 0 {
            return;
        }
        let segment = tcb.window.segment;
        let reduction = Reduction {
            ssthresh: tcb.window.ssthresh / segment,
            in_flight: u64::from(tcb.board.in_flight()),
            delivered,
            is_safe: advanced && lost == 0,
        };
        tcb.window.cwnd = tcb.units(self.prr.cwnd(reduction, segment));
    }

    /// Begins a reduction: sets the slow-start threshold and, without PRR, the window
    /// (`tcp_init_cwnd_reduction`).
    pub(super) fn init_reduction(&mut self, tcb: &mut Tcb, signal: Signal) {
        self.recovery.set_high_seq(tcb.snd.nxt);
        self.tlp.end();
        self.prr.begin(tcb.window.cwnd);
        tcb.window.ssthresh = tcb.reduced_ssthresh(signal);
        tcb.ecn.cwr |= tcb.options.ecn;
        if !tcb.profile.prr && !tcb.controls_cwnd {
            tcb.window.cwnd = tcb.window.ssthresh.max(tcb.window.segment);
        }
    }

    /// Completes a reduction: sets the window to the slow-start threshold, unless the controller
    /// sets the window or the reduction was undone (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self, tcb: &mut Tcb) {
        if tcb.controls_cwnd {
            return;
        }
        let stays = self.recovery.ca() == CaState::Cwr || self.undo.is_possible();
        if tcb.window.ssthresh != u64::MAX && stays {
            tcb.window.cwnd = tcb.window.ssthresh.max(tcb.window.segment);
            self.usage.on_change(tcb.now());
        }
        tcb.notify(CcEvent::RecoveryLeft);
    }

    /// Returns the slow-start threshold to keep: the present threshold during a reduction,
    /// otherwise at least three quarters of the window (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self, tcb: &Tcb) -> u64 {
        let window = &tcb.window;
        if self.recovery.ca().is_reducing() {
            window.ssthresh
        } else {
            window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4)
        }
    }

    /// Records the use of the window after sending. `limited` states whether the window limited the
    /// sending. If the window was not fully used for the length of a timeout, it may shrink
    /// (`tcp_cwnd_validate`).
    #[inline]
    pub(super) fn validate_cwnd(&mut self, tcb: &mut Tcb, limited: bool) {
        if self.usage.record(tcb, limited) {
            return;
        }
        let unused = tcb.now().since(self.usage.stamp) >= tcb.rtt.rto;
        if tcb.profile.slow_start_after_idle && unused && !tcb.controls_cwnd {
            self.shrink_unused_cwnd(tcb);
        }
    }

    /// Halves the unused part of the window, if the state is open and the application limits the
    /// sender (`tcp_cwnd_application_limited`).
    fn shrink_unused_cwnd(&mut self, tcb: &mut Tcb) {
        // If the application waits for space in the send buffer, it does not limit the sender.
        if self.recovery.ca() == CaState::Open && !tcb.writer.has_more() {
            let used = u64::from(self.usage.used).max(tcb.profile.initial_window);
            let used = tcb.units(used);
            if used < tcb.window.cwnd {
                tcb.window.ssthresh = self.current_ssthresh(tcb);
                let half = u64::midpoint(tcb.window.cwnd, used);
                tcb.window.cwnd = half.max(tcb.window.segment);
            }
            self.usage.used = 0;
        }
        self.usage.on_change(tcb.now());
    }

    /// Handles new data while nothing is outstanding. After an idle period, halves the window for
    /// each timeout that has passed, down to the restart window (`tcp_cwnd_restart`).
    pub(super) fn restart_after_idle(&mut self, tcb: &mut Tcb) {
        if !tcb.profile.slow_start_after_idle
            || !tcb.board.is_empty()
            || tcb.controls_cwnd
            || !tcb.state.is_synchronized()
        {
            return;
        }
        let mut idle = tcb.now().since(tcb.snd.last_sent);
        if idle <= tcb.rtt.rto {
            return;
        }
        tcb.notify(CcEvent::IdleRestart);
        tcb.window.ssthresh = self.current_ssthresh(tcb);
        let mut cwnd = tcb.window.cwnd;
        let floor = tcb.units(tcb.profile.restart_window).min(cwnd);
        while idle > tcb.rtt.rto && cwnd > floor {
            idle = idle.saturating_sub(tcb.rtt.rto);
            cwnd /= 2;
        }
        tcb.window.cwnd = cwnd.max(floor).max(tcb.window.segment);
        self.usage.on_change(tcb.now());
        self.usage.used = 0;
    }
}
