//! Sending new data: how much may go, in which segments, and whether small ones wait.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_write_xmit`, `tcp_nagle_test`,
//! `tcp_event_new_data_sent`); RFC 896; Minshall's variant of Nagle's rule.
//!
//! Differences: segments are never larger than the MTU (offloads are off), and the queue below
//! the connection is taken to be empty; whoever drives it sees to TCP small queues.

use crate::connection::{Alarm, Connection};
use crate::scoreboard::{FIN, PUSH, Sent};
use crate::state::State;

/// How much to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// All that may go.
    All,
    /// One segment, whatever the congestion window says.
    Probe,
}

impl Connection {
    /// Whether data or the FIN waits to be sent for the first time.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.snd.unsent() > 0 || self.snd.fin_pending()
    }

    /// Whether the next segment fits the peer's window whole.
    #[inline]
    pub(crate) fn next_fits_window(&self) -> bool {
        self.fits_window(self.snd.unsent())
    }

    #[inline]
    fn fits_window(&self, unsent: u64) -> bool {
        let mss = u64::from(self.current_mss());
        let fin = u64::from(self.snd.fin_pending() && unsent <= mss);
        self.snd.nxt + unsent.min(mss) + fin <= self.snd.window_end()
    }

    /// Acts on what the application did since the connection last had the time.
    pub(crate) fn serve_application(&mut self) {
        self.app_acted = false;
        if !self.state.is_synchronized() {
            return;
        }
        if self.is_bsd() {
            self.bsd_output();
        } else {
            if self.has_unsent() {
                self.restart_after_idle();
            }
            if self.below.take_release() && self.board.lost_out > self.board.retrans_out {
                self.retransmit_lost();
            }
            self.push_pending();
        }
        self.check_room();
    }

    /// Sends what may be sent.
    #[inline]
    pub(crate) fn push_pending(&mut self) {
        if self.has_unsent() && self.state.is_synchronized() {
            let stuck = self.write_transmit(self.nodelay, Push::All);
            if stuck {
                self.check_persist();
            }
        }
    }

    /// Linux `tcp_write_xmit`. Returns whether something waits although nothing is out.
    pub(crate) fn write_transmit(&mut self, nagle_off: bool, push: Push) -> bool {
        let mss = self.current_mss();
        let mut sent = 0;
        loop {
            let unsent = self.snd.unsent();
            if (unsent == 0 && !self.snd.fin_pending()) || self.must_wait() {
                break;
            }
            let payload = unsent.min(u64::from(mss)) as u32;
            let fin = self.snd.fin_pending() && u64::from(payload) == unsent;
            // The last segment of all is let through.
            let full = u64::from(self.board.in_flight()) >= self.cwnd_segments();
            if (full && !fin && push == Push::All) || !self.fits_window(unsent) {
                break;
            }
            if payload < mss && !fin && !nagle_off && self.nagle_holds() {
                break;
            }
            self.transmit_new(payload, fin);
            if payload < mss {
                self.snd.small_end = self.snd.nxt;
            }
            sent += 1;
            if push == Push::Probe {
                break;
            }
        }
        let limited = u64::from(self.board.in_flight()) >= self.cwnd_segments();
        if sent > 0 || limited {
            self.validate_cwnd(limited);
        }
        if sent == 0 {
            return self.board.is_empty() && self.has_unsent();
        }
        self.rec.prr_out += if self.rec.ca.is_reducing() { sent } else { 0 };
        if push != Push::Probe {
            self.schedule_probe(false);
        }
        false
    }

    /// Minshall's rule: a small segment waits while another small one is unacknowledged.
    fn nagle_holds(&self) -> bool {
        !self.board.is_empty()
            && self.snd.small_end > self.snd.una
            && self.snd.small_end <= self.snd.nxt
    }

    /// Sends the next `payload` bytes for the first time, and the FIN with them if `fin`.
    pub(crate) fn transmit_new(&mut self, payload: u32, fin: bool) {
        let nothing_out = self.board.is_empty();
        let seq = self.snd.nxt;
        let mut tags = 0;
        let last = u64::from(payload) == self.snd.unsent();
        let end = seq + u64::from(payload);
        // The end of what was written, and every half a window, asks the receiver to push.
        if payload > 0 && (last || end - self.snd.pushed > self.snd.max_window / 2) {
            tags |= PUSH;
            self.snd.pushed = end;
        }
        if fin {
            tags |= FIN;
            self.snd.fin_sent = true;
        }
        self.on_data_sent();
        self.pace(payload);
        self.below.add();
        let mut sent = Sent::new(seq, payload, tags);
        self.emit(seq, payload, sent.control(), false);
        sent.sent = self.clock.now;
        self.rate.on_sent(&mut sent, nothing_out);
        self.board.push(sent);
        self.snd.nxt = sent.end();
        self.snd.max = self.snd.max.max(self.snd.nxt);
        if !self.is_bsd() && (nothing_out || self.timers.alarm == Alarm::LossProbe) {
            self.rearm_timeout();
        }
        if fin {
            self.on_fin_sent();
        }
    }

    fn on_fin_sent(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
    }
}
