//! Timeouts: `tcp_timer_rexmt` and `tcp_timer_persist`.

use aqmlab_core::{Duration, TcpFlags};

use super::BeforeTimeout;
use crate::cc::{CcEvent, Signal};
use crate::connection::{Alarm, Connection};
use crate::scoreboard::RETRANS;

/// Bounds of the persist timer (`TCPTV_PERSMIN`, `TCPTV_PERSMAX`).
const PERSIST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

impl Connection {
    /// The retransmission timer went off: forget SACK, go back to the first byte not
    /// acknowledged, with a window of one segment.
    pub(crate) fn bsd_timeout(&mut self) {
        self.timers.stop_transmit();
        if self.board.is_empty() {
            return;
        }
        self.bsd.shift += 1;
        if u64::from(self.bsd.shift) > self.profile.retries {
            self.give_up();
            return;
        }
        self.stats.rtos += 1;
        self.bsd_remember();
        self.bsd_forget_sacks();
        self.rtt.back_off();
        self.snd.nxt = self.snd.una;
        self.bsd.recover = self.snd.max;
        self.bsd.timed = None;
        self.bsd.dup_acks = 0;
        self.bsd.recovering = false;
        self.bsd.congested = false;
        // The reduction is from what could really be used.
        let cwnd = self.window.cwnd;
        self.window.cwnd = cwnd.min(self.snd.wnd);
        self.window.ssthresh = self.reduced_ssthresh(Signal::Rto);
        self.window.cwnd = u64::from(self.window.mss);
        self.ecn.cwr |= self.wire.ecn;
        self.notify(CcEvent::RtoEntered);
        self.bsd_output();
    }

    /// Remembers the state before the first timeout, in case it was spurious.
    fn bsd_remember(&mut self) {
        let half = self.rtt.srtt().unwrap_or(Duration::ZERO) / 2;
        self.bsd.before_timeout = (self.bsd.shift == 1).then(|| BeforeTimeout {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            recover: self.bsd.recover,
            recovering: self.bsd.recovering,
            congested: self.bsd.congested,
            until: self.now() + half,
        });
    }

    fn bsd_forget_sacks(&mut self) {
        self.bsd.holes.clear();
        for id in self.board.ids() {
            self.board.get_mut(id).flags &= !RETRANS;
        }
        self.board.retrans_out = 0;
    }

    pub(crate) fn bsd_set_persist(&mut self) {
        let base = self.rtt.rto.saturating_sub(self.profile.rto_slop);
        let span = base * (1 << self.bsd.shift.min(6));
        self.arm(Alarm::Persist, span.max(PERSIST.0).min(PERSIST.1), PERSIST.1);
        self.bsd.shift = (self.bsd.shift + 1).min(12);
    }

    /// The persist timer went off: send what the window allows, or ask.
    pub(crate) fn bsd_persist_due(&mut self) {
        self.timers.stop_transmit();
        if !self.has_unsent() {
            return;
        }
        self.stats.window_probes += 1;
        let room = self.snd.window_end().saturating_sub(self.snd.nxt);
        let room = room.min(self.window.cwnd).min(u64::from(self.current_mss()));
        let payload = self.snd.unsent().min(room);
        if payload > 0 {
            self.bsd.shift = 0;
            self.transmit_new(payload as u32, false);
            self.arm(Alarm::Retransmit, self.rtt.rto, self.profile.rto_max);
            return;
        }
        self.emit(self.snd.una - 1, 0, TcpFlags::default(), false);
        self.bsd_set_persist();
    }
}
