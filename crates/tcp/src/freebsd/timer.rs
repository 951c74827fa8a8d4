//! The timers.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_timer.c` (`tcp_timer_rexmt`, `tcp_timer_persist`,
//! `tcp_timer_delack`).

use aqmlab_core::{Duration, Instant, TcpFlags};

use super::FreeBsd;
use crate::cc::{CcEvent, Signal};
use crate::segment::Transmission;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The maximum number of consecutive timeouts (`TCP_MAXRXTSHIFT`).
const MAX_SHIFT: u32 = 12;
/// The longest silence of a peer with a closed window that is tolerated after this end has closed
/// (`TCPTV_PERSMAX`).
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// The longest silence of a peer with a closed window that is tolerated in any case
/// (`tcp_maxpersistidle`).
const MAX_PERSIST_IDLE: Duration = Duration::from_secs(2 * 3_600);
/// The sum of the factors of the backoff, in timeouts (`tcp_totbackoff`).
const TOTAL_BACKOFF: u64 = 2_559;
/// The number of consecutive timeouts beyond which the estimates of the round-trip time are not
/// trusted (`tcp_timer_rexmt`).
const DOUBTFUL_SHIFT: u32 = MAX_SHIFT / 4;

impl FreeBsd {
    /// Handles the expiry of the transmission timer.
    pub(crate) fn on_xmit_timer(&mut self, tcb: &mut Tcb, purpose: XmitTimer) {
        if purpose == XmitTimer::Persist {
            self.on_persist_timer(tcb);
        } else {
            self.on_retransmission_timer(tcb);
        }
    }

    /// Sends a delayed acknowledgement that is due.
    pub(crate) fn on_delayed_ack_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.delayed_ack = Instant::NEVER;
        self.ack_now(tcb);
    }

    /// Stops the timer, because FreeBSD does not compress acknowledgements.
    pub(crate) fn on_compressed_ack_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.set_compressed_ack(Instant::NEVER);
    }

    /// Sends the segments whose departure is due.
    pub(crate) fn on_pacing_timer(&mut self, tcb: &mut Tcb) {
        self.output(tcb);
    }

    /// Handles a retransmission timeout. Discards the selective acknowledgements, and goes back to
    /// the first unacknowledged byte with a window of one segment. After too many consecutive
    /// timeouts, gives up the connection (`tcp_timer_rexmt`).
    fn on_retransmission_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.stop_xmit();
        self.holes.clear();
        tcb.board.clear_retransmitted();
        self.shift += 1;
        if u64::from(self.shift) > tcb.profile.retries {
            self.give_up(tcb);
            return;
        }
        tcb.stats.rtos += 1;
        self.save_before_timeout(tcb);
        self.rtt.back_off(&mut tcb.rtt, self.shift, &tcb.clock);
        if self.shift > DOUBTFUL_SHIFT {
            self.rtt.distrust(&mut tcb.rtt, &tcb.clock);
        }
        tcb.snd.nxt = tcb.snd.una;
        self.owed_ack.now = true;
        self.timed = None;
        self.recovery.on_timeout(tcb.snd.max);
        // The reduction starts from the usable window: the smaller of the congestion window and the
        // peer's window.
        tcb.window.cwnd = tcb.window.cwnd.min(tcb.snd.wnd);
        tcb.window.ssthresh = tcb.reduced_ssthresh(Signal::Rto);
        tcb.window.cwnd = u64::from(tcb.window.mss);
        tcb.ecn.cwr |= tcb.options.ecn;
        tcb.notify(CcEvent::RtoEntered);
        self.output(tcb);
    }

    /// Sends a reset and ends the connection (`tcp_drop`).
    fn give_up(&mut self, tcb: &mut Tcb) {
        let max = tcb.snd.max;
        self.emit(tcb, (max, 0), TcpFlags::RST, Transmission::Original);
        tcb.die();
    }

    /// Saves the state at the first of consecutive timeouts, because the timeout may be spurious. A
    /// later timeout discards the state.
    fn save_before_timeout(&mut self, tcb: &Tcb) {
        let half = tcb.clock.within(tcb.rtt.srtt().unwrap_or_default() / 2);
        let until = tcb.clock.jiffies() + half;
        let (cwnd, ssthresh) = (tcb.window.cwnd, tcb.window.ssthresh);
        self.before_timeout = (self.shift == 1).then(|| self.recovery.save(cwnd, ssthresh, until));
    }

    /// Returns whether a peer with a closed window has been silent for too long: after the
    /// application has closed for [`MAX_SILENCE`], and otherwise, once the backoff is at its
    /// maximum, for [`TOTAL_BACKOFF`] timeouts or [`MAX_PERSIST_IDLE`].
    fn is_long_silent(&self, tcb: &Tcb) -> bool {
        let ticks = tcb.clock.jiffies() - self.last_received;
        let idle = tcb.clock.span(ticks);
        let is_backed_off = self.shift == MAX_SHIFT
            && (idle >= MAX_PERSIST_IDLE || ticks >= self.rtt.value() * TOTAL_BACKOFF);
        is_backed_off || (tcb.snd.fin_wanted && idle >= MAX_SILENCE)
    }

    /// Sets the timer for a probe of a closed window, and counts the probe (`tcp_setpersist`).
    pub(super) fn arm_persist(&mut self, tcb: &mut Tcb) {
        self.before_timeout = None;
        let span = self.rtt.persist(self.shift, &tcb.clock);
        tcb.arm(XmitTimer::Persist, span, span);
        self.shift = (self.shift + 1).min(MAX_SHIFT);
    }

    /// Handles the expiry of the persist timer: sends the data that the window allows, or one byte
    /// if the window is closed. If the peer has been silent for too long, gives up the connection
    /// instead (`tcp_timer_persist`).
    fn on_persist_timer(&mut self, tcb: &mut Tcb) {
        tcb.timers.stop_xmit();
        if self.is_long_silent(tcb) {
            self.give_up(tcb);
            return;
        }
        tcb.stats.window_probes += 1;
        self.arm_persist(tcb);
        self.output_forced(tcb);
    }
}

#[cfg(test)]
mod tests {
    use crate::freebsd::testing::{open, profile};
    use crate::state::State;

    /// Tests that a peer that answers no probe is given up once the backoff is at its maximum and
    /// the peer has been silent for 2559 timeouts (`tcp_timer_persist`). A sample of 50 ms counts
    /// as 51 ticks, which give a timeout of 153 ms, and 2559 of them are 391.5 s.
    #[test]
    fn a_peer_that_answers_no_probe_is_given_up() {
        let (mut freebsd, mut tcb) = open(profile(), "newreno", 0);
        freebsd.add_sample(&mut tcb, 50, 1);
        tcb.snd.extend(1_000);
        freebsd.output(&mut tcb);
        let mut probes = 0;
        while tcb.state == State::Established && probes < 100 {
            tcb.clock.set(tcb.timers.xmit_at);
            freebsd.on_persist_timer(&mut tcb);
            probes += 1;
        }
        let now = tcb.now().as_secs_f64();
        assert_eq!(tcb.state, State::Closed);
        assert!((391.5..391.5 + 60.0).contains(&now), "{now} s");
    }
}
