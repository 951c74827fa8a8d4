//! Probes of a closed window (zero-window probes).
//!
//! Sources: RFC 9293 §3.8.6.1; Linux 6.1 `tcp_check_probe_timer`, `tcp_probe_timer`,
//! `tcp_send_probe0`, `tcp_write_wakeup`, `tcp_ack_probe`.

use aqmlab_core::{Duration, TcpFlags};

use super::Linux;
use crate::segment::Transmission;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The maximum number of doublings of the timer: on Linux, the binary logarithm of the ratio of its
/// maximum timeout to its minimum timeout, plus one (`tcp_probe0_when`).
const MAX_DOUBLINGS: u32 = 10;

/// The backoff of the probes, and their number.
#[derive(Debug, Default)]
pub(super) struct ZeroWindow {
    /// The number of doublings of the timer (`icsk_backoff`).
    backoff: u32,
    /// The number of probes since the last acknowledgement (`icsk_probes_out`).
    unanswered: u64,
}

impl ZeroWindow {
    /// Resets the backoff.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.backoff = 0;
    }

    /// Returns the time until the next probe (`tcp_probe0_when`).
    fn span(&self, tcb: &Tcb) -> Duration {
        let shift = self.backoff.min(MAX_DOUBLINGS);
        (base(tcb) * (1 << shift)).min(tcb.profile.rto_max)
    }
}

/// Returns the time until the first probe (`tcp_probe0_base`).
fn base(tcb: &Tcb) -> Duration {
    tcb.rtt.rto.max(tcb.profile.rto_min)
}

impl Tcb {
    /// Sets the persist timer if data is unsent, nothing is outstanding, and no transmission timer
    /// is set (`tcp_check_probe_timer`).
    pub(super) fn check_probe_timer(&mut self) {
        let idle = self.board.is_empty() && self.timers.xmit == XmitTimer::Off;
        if idle && self.snd.has_unsent() {
            self.arm_paced(XmitTimer::Persist, base(self));
        }
    }
}

impl Linux {
    /// Processes an acknowledgement while nothing is outstanding. If the next segment fits into the
    /// peer's window, probing ends; otherwise it continues (`tcp_ack_probe`). Probes are sent only
    /// while nothing is outstanding, so other acknowledgements need not reset their number.
    pub(super) fn process_probe_ack(&mut self, tcb: &mut Tcb) {
        self.zero_window.unanswered = 0;
        if !tcb.snd.has_unsent() {
            return;
        }
        if tcb.next_fits_window() {
            self.zero_window.reset();
            if tcb.timers.xmit == XmitTimer::Persist {
                tcb.timers.stop_xmit();
            }
        } else {
            tcb.arm_paced(XmitTimer::Persist, self.zero_window.span(tcb));
        }
    }

    /// Handles the expiry of the persist timer: sends a probe, and sets the timer for the next
    /// probe. Gives up the connection if too many probes are unanswered (`tcp_probe_timer`).
    pub(super) fn on_persist_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.stop_xmit();
        if !tcb.board.is_empty() || !tcb.snd.has_unsent() {
            self.zero_window.unanswered = 0;
            return;
        }
        if self.zero_window.unanswered >= tcb.profile.retries {
            tcb.die();
            return;
        }
        tcb.stats.window_probes += 1;
        if tcb.snd.nxt < tcb.snd.window_end() {
            // The window is open, but so small that the sender waited (silly window syndrome).
            self.send_probe_segment(tcb);
        } else {
            // A segment with an old sequence number makes the peer send an acknowledgement.
            let old = tcb.snd.una - 1;
            self.emit(tcb, (old, 0), TcpFlags::default(), Transmission::Original);
        }
        if tcb.board.is_empty() {
            self.zero_window.unanswered += 1;
            if u64::from(self.zero_window.backoff) < tcb.profile.retries {
                self.zero_window.backoff += 1;
            }
            tcb.arm_paced(XmitTimer::Persist, self.zero_window.span(tcb));
        } else {
            self.zero_window = ZeroWindow::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing;
    use crate::state::State;

    /// Tests that a probe sends the head of the queue as it is, with PSH, if the window has room
    /// for all of it (`tcp_write_wakeup`).
    #[test]
    fn a_probe_of_an_open_window_carries_the_fin_that_fits() {
        for (data, window, payload, fin) in
            [(0, 1, 0, true), (0, 9_000, 0, true), (300, 301, 300, true), (300, 300, 300, false)]
        {
            let (mut linux, mut tcb) = testing::open("reno");
            tcb.snd.extend(data);
            (tcb.snd.fin_wanted, tcb.snd.wnd) = (true, window);
            linux.on_persist_timer(&mut tcb);
            let segment = tcb.out.pop().expect("a probe is sent");
            let flags = segment.header.flags;
            let sent = (segment.header.payload, flags.has(TcpFlags::FIN));
            assert_eq!(sent, (payload, fin), "{data} bytes and {window} of window");
            assert!(flags.has(TcpFlags::PSH) && tcb.snd.fin_sent == fin);
            assert_eq!(tcb.snd.nxt, segment.header.end());
        }
    }

    /// Tests that a host gives up after `retries` probes without an acknowledgement
    /// (`tcp_probe_timer`). The acknowledgement before the eleventh probe restarts the count.
    #[test]
    fn a_peer_that_answers_no_probe_is_given_up() {
        let (mut linux, mut tcb) = testing::open("reno");
        tcb.snd.extend(1_000);
        let mut probes = 0;
        while tcb.state == State::Established && probes < 100 {
            if probes == 10 {
                linux.process_probe_ack(&mut tcb);
            }
            linux.on_persist_timer(&mut tcb);
            probes = tcb.stats.window_probes;
        }
        assert_eq!(probes, 10 + tcb.profile.retries);
    }
}
