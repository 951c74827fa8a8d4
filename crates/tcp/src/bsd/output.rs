//! Sending: `tcp_output`.

use crate::cc::CcEvent;
use crate::connection::{Alarm, Connection};
use crate::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};

impl Connection {
    /// Sends what may be sent: holes first, then what a timeout goes back over, then new data.
    pub(crate) fn bsd_output(&mut self) {
        if !self.state.is_synchronized() {
            return;
        }
        let idle = self.snd.max == self.snd.una;
        if idle && (self.has_unsent() || self.snd.pouring) {
            self.bsd_restart_after_idle();
        }
        self.bsd_grow_send_buffer();
        loop {
            if self.is_paced()
                || !(self.bsd_send_hole() || self.bsd_go_back() || self.bsd_send_new(idle))
            {
                break;
            }
        }
        self.bsd_keep_timer();
    }

    /// Sends the next hole of the scoreboard; returns whether it did.
    fn bsd_send_hole(&mut self) -> bool {
        if !self.bsd.recovering || !self.wire.sack {
            return false;
        }
        let Some(id) = self.bsd_next_hole() else { return false };
        let len = u64::from(self.board.get(id).len);
        let window = self.snd.wnd.min(self.window.cwnd);
        if window.saturating_sub(self.bsd.rexmit_bytes) < len {
            return false;
        }
        self.bsd_repeat(id);
        let sent = self.board.get_mut(id);
        sent.flags |= RETRANS;
        self.board.retrans_out += 1;
        self.bsd.rexmit_bytes += len;
        true
    }

    /// The first segment below the highest selective acknowledgement that has neither arrived
    /// nor been retransmitted in this recovery.
    fn bsd_next_hole(&mut self) -> Option<u32> {
        let limit = self.board.highest_sack(self.snd.una).min(self.bsd.recover);
        let first = self.board.front_id()?;
        let mut id = self.board.hint.filter(|id| self.board.holds(*id)).unwrap_or(first);
        while self.board.holds(id) && self.board.get(id).seq < limit {
            if self.board.get(id).flags & (SACKED | RETRANS | LOST) == 0 {
                self.board.hint = Some(id);
                return Some(id);
            }
            id += 1;
        }
        None
    }

    /// After a timeout, sends again from `snd_nxt` on, past what has arrived; returns whether
    /// it sent something.
    fn bsd_go_back(&mut self) -> bool {
        if self.snd.nxt >= self.snd.max {
            return false;
        }
        let mut id = self.board.id_at(self.snd.nxt);
        while self.board.holds(id) && self.board.get(id).is(SACKED) {
            self.snd.nxt = self.board.get(id).end();
            id += 1;
        }
        if !self.board.holds(id) {
            self.snd.nxt = self.snd.max;
            return false;
        }
        let sent = *self.board.get(id);
        let window = self.snd.wnd.min(self.window.cwnd);
        let offset = sent.seq - self.snd.una.min(sent.seq);
        let head = sent.seq <= self.snd.una;
        if window < offset + u64::from(sent.len) && !(head && window > 0) {
            return false;
        }
        self.bsd_repeat(id);
        self.snd.nxt = sent.end();
        true
    }

    /// Sends the next new segment if the windows and the avoidance of silly windows allow;
    /// returns whether it did.
    fn bsd_send_new(&mut self, idle: bool) -> bool {
        if self.snd.nxt < self.snd.max || !self.has_unsent() {
            return false;
        }
        let mss = u64::from(self.current_mss());
        let unsent = self.snd.unsent();
        let usable = self.bsd_usable_window();
        let payload = unsent.min(usable).min(mss);
        let last = payload == unsent;
        let fin = last && self.snd.fin_pending();
        let whole = payload == mss
            || (last && (idle || self.nodelay || fin))
            || (payload > 0 && payload >= self.snd.max_window / 2);
        if !whole || (payload == 0 && !fin) {
            return false;
        }
        let now = self.now();
        self.transmit_new(payload as u32, fin);
        self.bsd.timed.get_or_insert((now, self.snd.nxt));
        self.bsd_start_timer();
        true
    }

    /// What the peer's window and ours leave for new data.
    fn bsd_usable_window(&self) -> u64 {
        let offset = self.snd.nxt - self.snd.una;
        if !self.bsd.recovering || self.bsd.rexmit_bytes == 0 {
            return self.snd.wnd.min(self.window.cwnd).saturating_sub(offset);
        }
        let sent = self.snd.nxt.saturating_sub(self.bsd.new_data_from) + self.bsd.rexmit_bytes;
        let room = self.snd.wnd.saturating_sub(offset);
        room.min(self.window.cwnd.saturating_sub(sent))
    }

    /// Sends a segment again.
    pub(crate) fn bsd_repeat(&mut self, id: u32) {
        let sent = *self.board.get(id);
        let now = self.now();
        self.on_data_sent();
        self.pace(u64::from(sent.len));
        self.emit(sent.seq, sent.len, sent.control(), true);
        // Karn: a segment sent twice is not timed.
        self.bsd.timed = None;
        let entry = self.board.get_mut(id);
        entry.sent = now;
        entry.flags |= EVER_RETRANS;
        self.rate.on_sent(entry, false);
        self.board.enlist(id);
        self.bsd_start_timer();
    }

    fn bsd_start_timer(&mut self) {
        if matches!(self.timers.alarm, Alarm::Off) {
            self.arm(Alarm::Retransmit, self.rtt.rto, self.profile.rto_max);
        }
    }

    /// Whatever is out is watched by the retransmission timer, whatever cannot go out by the
    /// persist timer.
    fn bsd_keep_timer(&mut self) {
        if self.timers.alarm != Alarm::Off {
            return;
        }
        if self.snd.max > self.snd.una {
            self.bsd_start_timer();
        } else if self.has_unsent() && self.timers.pacing == aqmlab_core::Instant::NEVER {
            self.bsd.shift = 0;
            self.bsd_set_persist();
        }
    }

    /// Nothing heard for a timeout: the window falls to the restart window.
    fn bsd_restart_after_idle(&mut self) {
        let heard = self.bsd.last_heard;
        if !self.profile.slow_start_after_idle || self.now().since(heard) < self.rtt.rto {
            return;
        }
        let restart = self.capped(self.profile.restart_window, self.profile.restart_window_bytes);
        self.notify(CcEvent::IdleRestart);
        self.window.cwnd = self.window.cwnd.min(restart.max(self.window.segment));
    }
}
