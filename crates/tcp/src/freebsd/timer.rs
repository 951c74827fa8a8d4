//! Timeouts: `tcp_timer_rexmt` and `tcp_timer_persist`.

use aqmlab_core::{Duration, TcpFlags};

use super::BeforeTimeout;
use crate::cc::{CcEvent, Signal};
use crate::common::scoreboard::RETRANS;
use crate::connection::Connection;
use crate::timers::XmitTimer;

/// The most that counts of timeouts in a row (`TCP_MAXRXTSHIFT`).
const MOST_SHIFT: u32 = 12;
/// How long a closed connection waits for a window (`TCPTV_PERSMAX`).
const MOST_SILENCE: Duration = Duration::from_secs(60);
/// From here on what was measured is not believed any more.
const DOUBTFUL_SHIFT: u32 = MOST_SHIFT / 4;

impl Connection {
    /// The retransmission timer went off: forget SACK, go back to the first byte not
    /// acknowledged, with a window of one segment.
    pub(crate) fn bsd_timeout(&mut self) {
        self.timers.stop_transmit();
        self.bsd_forget_sacks();
        self.freebsd.shift += 1;
        if u64::from(self.freebsd.shift) > self.profile.retries {
            self.emit(self.snd.max, 0, TcpFlags::RST, false);
            self.give_up();
            return;
        }
        self.stats.rtos += 1;
        self.bsd_remember();
        self.rtt.back_off_to(self.freebsd.shift, &self.clock);
        if self.freebsd.shift > DOUBTFUL_SHIFT {
            self.rtt.doubt(&self.clock);
        }
        self.snd.nxt = self.snd.una;
        self.freebsd.recover = self.snd.max;
        self.delack.now = true;
        self.freebsd.timed = None;
        self.freebsd.dup_acks = 0;
        self.freebsd.recovering = false;
        self.freebsd.congested = false;
        // The reduction is from what could really be used.
        let cwnd = self.window.cwnd;
        self.window.cwnd = cwnd.min(self.snd.wnd);
        self.window.ssthresh = self.reduced_ssthresh(Signal::Rto);
        self.window.cwnd = u64::from(self.window.mss);
        self.ecn.cwr |= self.options.ecn;
        self.notify(CcEvent::RtoEntered);
        self.bsd_output();
    }

    /// Remembers the state before the first timeout, in case it was spurious.
    fn bsd_remember(&mut self) {
        let half = self.clock.within(self.rtt.srtt().unwrap_or_default() / 2);
        self.freebsd.before_timeout = (self.freebsd.shift == 1).then(|| BeforeTimeout {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            recover: self.freebsd.recover,
            recovering: self.freebsd.recovering,
            congested: self.freebsd.congested,
            until: self.clock.jiffies() + half,
        });
    }

    fn bsd_forget_sacks(&mut self) {
        self.freebsd.holes.clear();
        for id in self.board.ids() {
            self.board.get_mut(id).flags &= !RETRANS;
        }
        self.board.retrans_out = 0;
    }

    /// An application that has closed does not wait long for a peer that keeps its window closed
    /// and says nothing.
    fn is_long_silent(&self) -> bool {
        let idle = self.clock.span(self.clock.jiffies() - self.freebsd.last_heard);
        self.snd.fin_wanted && idle >= MOST_SILENCE
    }

    pub(crate) fn bsd_set_persist(&mut self) {
        self.freebsd.before_timeout = None;
        let span = self.rtt.persist(self.freebsd.shift, &self.clock);
        self.arm(XmitTimer::Persist, span, span);
        self.freebsd.shift = (self.freebsd.shift + 1).min(MOST_SHIFT);
    }

    /// The persist timer went off: send what the window allows, or a byte beyond it.
    pub(crate) fn bsd_persist_due(&mut self) {
        self.timers.stop_transmit();
        if self.is_long_silent() {
            self.emit(self.snd.max, 0, TcpFlags::RST, false);
            self.give_up();
            return;
        }
        self.stats.window_probes += 1;
        self.bsd_set_persist();
        self.bsd_output_forced(true);
    }
}
