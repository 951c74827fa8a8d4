//! Probes: of the tail of a flight (TLP) and of a closed window.
//!
//! Sources: RFC 8985 §7; Linux 6.1 `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`, `tcp_probe_timer`, `tcp_write_wakeup`.

use aqmlab_core::{Duration, TcpFlags};

use super::{TIMEOUT_MIN, flag};
use crate::cc::Signal;
use crate::connection::Connection;
use crate::linux::output::Push;
use crate::state::CaState;
use crate::timers::XmitTimer;

impl Connection {
    /// Sets the timer for a tail loss probe, two round trips from now; returns whether it did.
    /// `advancing`: the timeout counts from now rather than from the head's transmission.
    #[inline]
    pub(crate) fn schedule_probe(&mut self, advancing: bool) -> bool {
        let packets = self.board.packets_out();
        if !self.profile.tlp
            || packets == 0
            || !self.options.sack
            || !matches!(self.recovery.ca, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut span = if self.rtt.srtt().is_some() {
            // A lone segment's acknowledgement may be delayed.
            let extra = if packets == 1 { self.profile.rto_min } else { TIMEOUT_MIN };
            self.rtt.two_srtt() + extra
        } else {
            self.profile.rto_initial
        };
        let timeout = if advancing { self.rtt.rto } else { self.until_timeout() };
        if timeout > Duration::ZERO {
            span = span.min(timeout);
        }
        self.arm_paced(XmitTimer::LossProbe, span);
        true
    }

    /// The probe is due: a new segment if there is one, else the last one again.
    pub(crate) fn send_probe(&mut self) {
        if self.recovery.tlp_high_seq == 0 && self.probe_tail() {
            self.recovery.tlp_high_seq = self.snd.nxt;
            self.stats.tlps += 1;
            // The timeout counts from now.
            self.timers.xmit = XmitTimer::Off;
        }
        self.rearm_timeout();
    }

    fn probe_tail(&mut self) -> bool {
        self.recovery.tlp_retrans = false;
        if self.has_unsent() && self.next_fits_window() {
            let before = self.board.packets_out();
            self.write_transmit(true, Push::Probe);
            return self.board.packets_out() > before;
        }
        let Some(id) = self.board.back_id() else { return false };
        if self.repeat(id) {
            self.recovery.tlp_retrans = true;
            return true;
        }
        false
    }

    /// What an acknowledgement says of the probe.
    pub(crate) fn process_probe_ack(&mut self, ack: u64, flags: u32) {
        let high = self.recovery.tlp_high_seq;
        if ack < high {
            return;
        }
        let nothing_new = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED;
        if !self.recovery.tlp_retrans || flags & flag::DSACK_TLP != 0 {
            self.recovery.tlp_high_seq = 0;
        } else if ack > high {
            // Both the original and the probe would have been reported: one was lost.
            self.init_reduction(Signal::Loss);
            self.set_ca(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        } else if flags & nothing_new == 0 {
            self.recovery.tlp_high_seq = 0;
        }
    }

    /// Probes of a closed window start when nothing else will make the peer speak.
    pub(crate) fn check_persist(&mut self) {
        if self.board.is_empty() && self.timers.xmit == XmitTimer::Off && self.has_unsent() {
            self.arm_paced(XmitTimer::Persist, self.persist_base());
        }
    }

    fn persist_base(&self) -> Duration {
        self.rtt.rto.max(self.profile.rto_min)
    }

    fn persist_span(&self) -> Duration {
        let shift = self.recovery.backoff.min(10);
        (self.persist_base() * (1 << shift)).min(self.profile.rto_max)
    }

    /// An acknowledgement while nothing is out: either the window is open, or probing goes on.
    pub(crate) fn acknowledge_probe(&mut self) {
        if !self.has_unsent() {
            return;
        }
        if self.next_fits_window() {
            self.recovery.backoff = 0;
            if self.timers.xmit == XmitTimer::Persist {
                self.timers.stop_transmit();
            }
        } else {
            self.arm_paced(XmitTimer::Persist, self.persist_span());
        }
    }

    /// The persist timer went off.
    pub(crate) fn persist_due(&mut self) {
        self.timers.stop_transmit();
        if !self.board.is_empty() || !self.has_unsent() {
            return;
        }
        self.stats.window_probes += 1;
        if self.snd.nxt < self.snd.window_end() {
            // The window is open, but so little that avoiding silly windows held data back.
            let room = self.snd.window_end() - self.snd.nxt;
            let payload = self.snd.unsent().min(room).min(u64::from(self.current_mss()));
            self.transmit_new(payload as u32, false);
        } else {
            // An old number makes the peer acknowledge.
            self.emit(self.snd.una - 1, 0, TcpFlags::default(), false);
        }
        if self.board.is_empty() {
            if u64::from(self.recovery.backoff) < self.profile.retries {
                self.recovery.backoff += 1;
            }
            self.arm_paced(XmitTimer::Persist, self.persist_span());
        } else {
            self.recovery.backoff = 0;
        }
    }
}
