//! Sending new data: how much may go, in which segments, and whether small ones wait.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_write_xmit`, `tcp_nagle_test`,
//! `tcp_event_new_data_sent`); RFC 896; Minshall's variant of Nagle's rule.
//!
//! What is handed down at once, and when Linux waits for more of it, is `tso.rs`' business.

use aqmlab_core::TcpFlags;

use crate::common::scoreboard::{FIN, PUSH, Sent};
use crate::connection::Connection;
use crate::linux::tso::Burst;
use crate::timers::XmitTimer;

/// How much to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// All that may go.
    All,
    /// One burst, if it may go.
    One,
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
    pub(crate) fn fits_window(&self, unsent: u64) -> bool {
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
            self.fill();
            if self.tsq.take_release() && self.board.lost_out > self.board.retrans_out {
                self.retransmit_lost();
            }
            self.push_pending();
        }
        self.check_room();
    }

    /// Sends what may be sent.
    #[inline]
    pub(crate) fn push_pending(&mut self) {
        if self.has_unsent() && self.state.is_synchronized() && !self.wakeup.opened {
            let stuck = self.write_transmit(self.nodelay, Push::All);
            if stuck {
                self.check_persist();
            }
        }
    }

    /// Linux `tcp_write_xmit`. Returns whether something waits although nothing is out.
    pub(crate) fn write_transmit(&mut self, nagle_off: bool, push: Push) -> bool {
        let mss = self.current_mss();
        let most = self.burst_goal(mss);
        let (mut sent, mut limited) = (0, false);
        while !self.must_wait() {
            let Some(burst) = self.next_burst((mss, most), nagle_off, push, &mut limited) else {
                break;
            };
            sent += self.transmit_burst(burst, mss);
            if push != Push::All {
                break;
            }
        }
        limited |= u64::from(self.board.in_flight()) >= self.cwnd_segments();
        if sent > 0 || limited {
            self.validate_cwnd(limited);
        }
        if sent == 0 {
            return self.board.is_empty() && self.has_unsent();
        }
        self.recovery.prr_out += if self.recovery.ca.is_reducing() { sent } else { 0 };
        if push != Push::Probe {
            self.schedule_probe(false);
        }
        false
    }

    /// Sends what `burst` says in segments of up to `mss` bytes; returns how many.
    fn transmit_burst(&mut self, burst: Burst, mss: u32) -> u64 {
        let mut left = burst.bytes;
        let mut sent = 0;
        self.pace(burst.bytes);
        let tags = if self.sndbuf.asks_for_push(self.snd.nxt + left) { PUSH } else { 0 };
        loop {
            let payload = left.min(u64::from(mss)) as u32;
            left -= u64::from(payload);
            let last = left == 0;
            // What is handed down as one asks for a push at its end; sent again it does not.
            let asks = if last { tags } else { 0 };
            self.transmit(payload, burst.fin && last, asks, last && sent > 0);
            sent += 1;
            if last {
                break;
            }
        }
        self.sndbuf.hand_down(self.snd.nxt);
        if burst.bytes < sent * u64::from(mss) {
            self.snd.small_end = self.snd.nxt;
        }
        // Linux 6.1 looks after each burst (`tcp_event_new_data_sent`): as long as another is to go
        // the window is not full, so the buffer grows. That of 3.17 looks when all have gone, and so
        // does a host whose application never sleeps, lest it write in the middle of a burst.
        if self.profile.bursts && !self.never_sleeps() {
            self.check_room();
        }
        sent
    }

    /// Minshall's rule: a small segment waits while another small one is unacknowledged.
    pub(crate) fn nagle_holds(&self) -> bool {
        !self.board.is_empty()
            && self.snd.small_end > self.snd.una
            && self.snd.small_end <= self.snd.nxt
    }

    /// Sends the next `payload` bytes for the first time, and the FIN with them if `fin`. The end of
    /// what was written asks for a push, and so does what probes a window on Linux.
    pub(crate) fn transmit_new(&mut self, payload: u32, fin: bool) {
        self.pace(u64::from(payload));
        self.transmit(payload, fin, if payload > 0 { PUSH } else { 0 }, false);
    }

    /// Sends `payload` bytes; `push` asks for a push this once, [`PUSH`] among `tags` whenever it is
    /// sent.
    fn transmit(&mut self, payload: u32, fin: bool, tags: u8, push: bool) {
        let nothing_out = self.board.is_empty();
        let seq = self.snd.nxt;
        let tags = if fin { tags | FIN } else { tags };
        self.snd.fin_sent |= fin;
        self.on_data_sent();
        self.tsq.add();
        let mut sent = Sent::new(seq, payload, tags);
        let control = sent.control();
        let control = if push { control.with(TcpFlags::PSH) } else { control };
        self.emit(seq, payload, control, false);
        sent.sent = self.clock.now;
        self.rate.on_sent(&mut sent, nothing_out);
        self.board.push(sent);
        self.snd.nxt = sent.end();
        self.snd.max = self.snd.max.max(self.snd.nxt);
        if nothing_out || self.timers.xmit == XmitTimer::LossProbe {
            self.rearm_timeout();
        }
        if fin {
            self.close_half();
        }
    }
}
