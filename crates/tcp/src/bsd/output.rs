//! Sending: `tcp_output`.

use std::ops::Range;

use super::holes::Hole;
use crate::cc::CcEvent;
use crate::connection::{Alarm, Connection};
use crate::scoreboard::{EVER_RETRANS, RETRANS, SACKED};

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
        while !self.is_paced() && self.bsd_send_next(idle) {}
        self.bsd_keep_timer();
    }

    /// Sends one segment: of a hole, as long as there is one to repair, of what a timeout goes
    /// back over, or a new one. Returns whether it did.
    fn bsd_send_next(&mut self, idle: bool) -> bool {
        if self.snd.nxt < self.snd.max {
            self.snd.nxt = self.bsd.holes.skip(self.snd.nxt);
        }
        if self.bsd.recovering && self.wire.sack {
            let hole = self.bsd.holes.next().filter(|hole| hole.next < self.bsd.recover);
            if let Some(hole) = hole {
                return self.bsd_send_hole(hole);
            }
        }
        self.bsd_go_back() || self.bsd_send_new(idle)
    }

    fn bsd_send_hole(&mut self, hole: Hole) -> bool {
        let window = self.snd.wnd.min(self.window.cwnd);
        let room = window.saturating_sub(self.bsd.holes.repeated);
        let from = self.board.id_at(hole.next);
        let Some(end) = self.bsd_repeat(from, room, hole.end.min(self.bsd.recover)) else {
            return false;
        };
        for id in from..self.board.id_at(end) {
            let sent = self.board.get_mut(id);
            if sent.flags & (SACKED | RETRANS) == 0 {
                sent.flags |= RETRANS;
                self.board.retrans_out += 1;
            }
        }
        self.bsd.holes.repeat(end);
        true
    }

    /// After a timeout, sends again from `snd_nxt` on; returns whether it sent something.
    fn bsd_go_back(&mut self) -> bool {
        if self.snd.nxt >= self.snd.max {
            return false;
        }
        let mut room = self.bsd_usable_window();
        if self.snd.nxt <= self.snd.una && room > 0 {
            room = u64::MAX;
        }
        let from = self.board.id_at(self.snd.nxt);
        let Some(end) = self.bsd_repeat(from, room, u64::MAX) else { return false };
        self.snd.nxt = end;
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

    /// What the peer's window and ours leave for what is sent from `snd_nxt` on: beside
    /// repairs, ours counts only what this recovery has sent.
    fn bsd_usable_window(&self) -> u64 {
        let offset = self.snd.nxt - self.snd.una;
        let repeated = self.bsd.holes.repeated;
        if !self.bsd.recovering || repeated == 0 {
            return self.snd.wnd.min(self.window.cwnd).saturating_sub(offset);
        }
        let sent = self.snd.nxt.saturating_sub(self.bsd.new_data_from) + repeated;
        let room = self.snd.wnd.saturating_sub(offset);
        room.min(self.window.cwnd.saturating_sub(sent))
    }

    /// Sends again, as one, the segment `from` and those after it that fit into one and end by
    /// `limit`; returns their end, or `None` if there is no `room` even for the first.
    pub(crate) fn bsd_repeat(&mut self, from: u32, room: u64, limit: u64) -> Option<u64> {
        if !self.board.holds(from) || u64::from(self.board.get(from).len) > room {
            return None;
        }
        let first = *self.board.get(from);
        let (mut end, mut payload, mut control) = (first.end(), first.len, first.control());
        let most = room.min(u64::from(self.window.mss)) as u32;
        let mut after = from + 1;
        while self.board.holds(after) {
            let sent = self.board.get(after);
            if payload + sent.len > most || sent.end() > limit {
                break;
            }
            (end, payload) = (sent.end(), payload + sent.len);
            control = control.with(sent.control());
            after += 1;
        }
        self.on_data_sent();
        self.pace(u64::from(payload));
        self.emit(first.seq, payload, control, true);
        // Karn: a segment sent twice is not timed.
        self.bsd.timed = None;
        self.bsd_note_repeated(from..after);
        self.bsd_start_timer();
        Some(end)
    }

    fn bsd_note_repeated(&mut self, ids: Range<u32>) {
        let now = self.now();
        for id in ids {
            let entry = self.board.get_mut(id);
            entry.sent = now;
            entry.flags |= EVER_RETRANS;
            self.rate.on_sent(entry, false);
            self.board.enlist(id);
        }
    }

    /// Watches what has been sent. A persist timer gives way: what waited for the window is out.
    fn bsd_start_timer(&mut self) {
        if self.timers.alarm == Alarm::Persist {
            self.timers.stop_transmit();
            self.bsd.shift = 0;
        }
        if self.timers.alarm == Alarm::Off {
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
