//! Tail loss probes (TLP).
//!
//! Sources: RFC 8985 §7; Linux 6.1 `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`.

use aqmlab_core::Duration;

use super::ack::{AckState, flag};
use super::output::Push;
use super::{Linux, TIMEOUT_MIN};
use crate::cc::{CcEvent, Signal};
use crate::common::scoreboard::APP_LIMITED;
use crate::state::CaState;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The state of tail loss probes.
#[derive(Debug, Default)]
pub(super) struct Tlp {
    /// The value of `snd_nxt` when the probe was sent; zero if no probe is in flight
    /// (`tlp_high_seq`).
    high_seq: u64,
    /// Whether the probe is a retransmission (`tlp_retrans`).
    repeats: bool,
    /// Whether the timer is to be set only after the data that an acknowledgement permits has been
    /// sent. If data is sent, its transmission sets the timer.
    is_postponed: bool,
    /// Whether the application limited the sender at the transmission that the probe repeats
    /// (`tlp_orig_data_app_limited`).
    app_limited: bool,
}

impl Tlp {
    /// Returns whether a probe is in flight.
    #[inline]
    pub(super) const fn is_in_flight(&self) -> bool {
        self.high_seq != 0
    }

    /// Returns whether the timer is to be set after data has been sent.
    #[inline]
    pub(super) const fn is_postponed(&self) -> bool {
        self.is_postponed
    }

    /// Returns whether a probe is in flight that is a retransmission.
    pub(super) const fn has_retransmitted(&self) -> bool {
        self.is_in_flight() && self.repeats
    }

    /// Returns whether the probe in flight ends at `end`.
    pub(super) const fn ends_at(&self, end: u64) -> bool {
        self.is_in_flight() && self.high_seq == end
    }

    /// Records that a probe was sent. `nxt` is `snd_nxt` after the probe, and `repeats` states
    /// whether the probe is a retransmission.
    pub(super) fn begin(&mut self, nxt: u64, repeats: bool) {
        (self.high_seq, self.repeats) = (nxt, repeats);
    }

    /// Ends the probe, which is answered or no longer needed.
    pub(super) fn end(&mut self) {
        self.high_seq = 0;
    }
}

/// The time from which the retransmission timeout counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutFrom {
    Now,
    /// The last transmission of the head.
    Head,
}

impl Linux {
    /// Returns whether the host, the connection and the congestion state permit tail loss probes.
    #[inline]
    pub(super) fn may_probe_loss(&self, tcb: &Tcb) -> bool {
        tcb.profile.tlp
            && tcb.options.sack
            && matches!(self.recovery.ca(), CaState::Open | CaState::Cwr)
    }

    /// Sets the timer for a probe: two round trips and a margin from now, but not after the
    /// retransmission timeout, which counts from `timeout`. Before the first round-trip sample, the
    /// time is the initial timeout. Returns whether the timer was set (`tcp_schedule_loss_probe`).
    #[inline]
    pub(super) fn schedule_loss_probe(&mut self, tcb: &mut Tcb, timeout: TimeoutFrom) -> bool {
        self.tlp.is_postponed = false;
        let is_permitted = !tcb.board.is_empty() && self.may_probe_loss(tcb);
        if is_permitted {
            self.arm_loss_probe(tcb, timeout);
        }
        is_permitted
    }

    /// Sets the timer for a probe as [`Self::schedule_loss_probe`] does. The caller has tested that
    /// a segment is outstanding and that a probe is permitted.
    #[expect(
        clippy::inline_always,
        reason = "nearly all acknowledgements pass; a call costs 0.3 % of a run"
    )]
    #[inline(always)]
    pub(super) fn arm_loss_probe(&mut self, tcb: &mut Tcb, timeout: TimeoutFrom) {
        self.tlp.is_postponed = false;
        let mut span = if tcb.rtt.srtt().is_some() {
            // The acknowledgement of a single segment may be delayed.
            let extra =
                if tcb.board.packets_out() == 1 { tcb.profile.rto_min } else { TIMEOUT_MIN };
            Duration::from_nanos(tcb.rtt.srtt8 / 4) + extra
        } else {
            tcb.profile.rto_initial
        };
        let timeout = match timeout {
            TimeoutFrom::Now => tcb.rtt.rto,
            TimeoutFrom::Head => tcb.until_timeout(),
        };
        if timeout > Duration::ZERO {
            span = span.min(timeout);
        }
        tcb.arm_paced(XmitTimer::LossProbe, span);
    }

    /// Postpones the timer for a probe until data has been sent. Returns whether the timer was
    /// postponed: only if segments are outstanding and a probe is permitted.
    #[inline]
    pub(super) fn postpone_loss_probe(&mut self, tcb: &Tcb) -> bool {
        self.tlp.is_postponed = !tcb.board.is_empty() && self.may_probe_loss(tcb);
        self.tlp.is_postponed
    }

    /// Sets the timer that was postponed, unless a transmission has set it.
    #[inline]
    pub(super) fn schedule_postponed_probe(&mut self, tcb: &mut Tcb) {
        if self.tlp.is_postponed {
            self.schedule_loss_probe(tcb, TimeoutFrom::Now);
        }
    }

    /// Handles the expiry of the probe timer. Unless a probe is in flight, sends new data if the
    /// peer's window permits, and otherwise retransmits the last segment. Then sets the
    /// retransmission timer (`tcp_send_loss_probe`).
    pub(super) fn send_loss_probe(&mut self, tcb: &mut Tcb) {
        if !self.tlp.is_in_flight() && self.probe_tail(tcb) {
            tcb.stats.tlps += 1;
            // The timeout counts from the time of the probe.
            tcb.timers.xmit = XmitTimer::Off;
        }
        tcb.rearm_rto();
    }

    fn probe_tail(&mut self, tcb: &mut Tcb) -> bool {
        if tcb.snd.has_unsent() && tcb.next_fits_window() {
            let before = tcb.board.packets_out();
            self.write_xmit(tcb, Push::Probe);
            let sent = tcb.board.packets_out() > before;
            if sent {
                self.tlp.begin(tcb.snd.nxt, false);
            }
            return sent;
        }
        let Some(id) = tcb.board.back_id() else { return false };
        self.tlp.app_limited = tcb.board.get(id).is(APP_LIMITED);
        let sent = self.resend(tcb, id);
        if sent {
            self.tlp.begin(tcb.snd.nxt, true);
        }
        sent
    }

    /// Processes the acknowledgement number `number` while a probe is in flight. If the probe
    /// repaired a loss, reduces the window. Returns true if the acknowledgement may be for a
    /// retransmitted probe or for its original (`tcp_process_tlp_ack`).
    pub(super) fn process_tlp_ack(&mut self, tcb: &mut Tcb, number: u64, ack: &AckState) -> bool {
        let high = self.tlp.high_seq;
        if number < high {
            return false;
        }
        let news = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED;
        if !self.tlp.repeats || ack.has(flag::DSACK_TLP) {
            self.tlp.end();
        } else if number > high {
            // No duplicate was reported, so the original or the probe was lost.
            let (app_limited, delivered) = (self.tlp.app_limited, tcb.rate.delivered);
            tcb.notify(CcEvent::ProbeRepaired { app_limited, delivered });
            self.init_reduction(tcb, Signal::Loss);
            self.recovery.set_ca(CaState::Cwr);
            tcb.notify(CcEvent::CwrEntered);
            self.end_reduction(tcb);
            self.try_keep_open(tcb);
        } else if ack.has(news) {
            return true;
        } else {
            self.tlp.end();
        }
        false
    }
}
