//! Sending: `tcp_output`.

use std::ops::Range;

use aqmlab_core::TcpFlags;

use super::sackholes::Hole;
use crate::cc::CcEvent;
use crate::common::scoreboard::{EVER_RETRANS, FIN, PUSH, RETRANS, SACKED, Sent};
use crate::connection::Connection;
use crate::state::State;
use crate::timers::XmitTimer;

/// A writer is woken for so much room (`MCLBYTES`).
const LOW_WATER: u64 = 2_048;

/// What a pass of `tcp_output` would send.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seq: u64,
    /// From the first byte not acknowledged.
    offset: u64,
    len: u64,
    fin: bool,
    /// What the windows let out.
    window: u64,
    /// It is of a hole.
    repairs: bool,
}

impl Connection {
    /// Sends what may be sent and what is owed: holes first, then what a timeout goes back over,
    /// then new data, or an acknowledgement alone.
    pub(crate) fn bsd_output(&mut self) {
        self.bsd_output_forced(false);
    }

    /// As [`Self::bsd_output`]; `forced` sends a byte into a closed window.
    pub(crate) fn bsd_output_forced(&mut self, forced: bool) {
        if !self.state.is_synchronized() {
            return;
        }
        let idle = self.snd.max == self.snd.una;
        if idle {
            self.bsd_restart_after_idle();
        }
        while self.bsd_pass(idle, forced) {}
    }

    /// Decides on one segment and sends it; returns whether there is to be another.
    fn bsd_pass(&mut self, idle: bool, forced: bool) -> bool {
        if self.options.sack && self.snd.nxt < self.snd.max {
            self.snd.nxt = self.freebsd.holes.skip(self.snd.nxt);
        }
        let mut plan = self.bsd_plan(forced);
        if plan.len == 0 {
            self.bsd_close_window(plan);
            plan.seq = if plan.repairs { plan.seq } else { self.snd.nxt };
        } else if !self.bsd_repeats_once(plan) && self.is_paced() {
            (plan.len, plan.repairs) = (0, false);
            if !self.delack.now {
                self.bsd_keep_watch();
                return false;
            }
        }
        self.bsd_step_send_buffer(plan.window);
        let ends = plan.seq + plan.len >= self.snd.una + self.snd.buffered();
        plan.fin &= ends;
        if self.bsd_is_due(plan, idle, forced) {
            return self.bsd_transmit(plan, forced);
        }
        self.bsd_keep_timer();
        false
    }

    /// Whether this is the one segment that NewReno sends again at a time: nothing would ask for it
    /// later.
    fn bsd_repeats_once(&self, plan: Plan) -> bool {
        !self.options.sack && self.freebsd.recovering && plan.seq < self.snd.max
    }

    /// What to send next.
    fn bsd_plan(&mut self, forced: bool) -> Plan {
        let snd = &self.snd;
        let (buffered, cwnd) = (snd.buffered(), self.window.cwnd);
        let mut plan = Plan {
            seq: snd.nxt,
            offset: snd.nxt - snd.una,
            len: 0,
            fin: self.bsd_has_fin(),
            window: snd.wnd.min(cwnd),
            repairs: false,
        };
        let mut repeated = 0;
        if self.options.sack && self.freebsd.recovering {
            repeated = self.freebsd.holes.repeated;
            if let Some(hole) = self.freebsd.holes.next() {
                // Unsigned: more sent again than the window leaves room for the whole hole.
                let room = plan.window.checked_sub(repeated).unwrap_or(u64::MAX);
                self.bsd_plan_repair(&mut plan, hole, room);
            }
        }
        if plan.repairs {
            return plan;
        }
        if forced {
            if plan.window == 0 {
                plan.fin &= plan.offset >= buffered;
                plan.window = 1;
            } else {
                self.bsd_leave_persist();
            }
        }
        plan.len = if repeated == 0 {
            buffered.min(plan.window).saturating_sub(plan.offset)
        } else {
            let snd = &self.snd;
            let sent = (snd.nxt - self.freebsd.new_data_from.min(snd.nxt)) + repeated;
            let room = buffered.min(snd.wnd).saturating_sub(plan.offset);
            room.min(cwnd.saturating_sub(sent))
        };
        plan
    }

    fn bsd_plan_repair(&self, plan: &mut Plan, hole: Hole, room: u64) {
        let end = hole.end.min(self.freebsd.recover);
        if hole.next >= end {
            return;
        }
        plan.len = room.min(end - hole.next);
        plan.offset = hole.next - self.snd.una;
        plan.repairs = plan.len > 0;
        if plan.repairs {
            plan.seq = hole.next;
        }
    }

    /// Whether a FIN follows the data, or did and is not acknowledged.
    fn bsd_has_fin(&self) -> bool {
        matches!(self.state, State::FinWait1 | State::Closing | State::LastAck)
    }

    /// Nothing may be sent: if that is because the window is closed, it is probed.
    fn bsd_close_window(&mut self, plan: Plan) {
        if plan.window == 0 && plan.offset < self.snd.buffered() {
            if self.timers.xmit == XmitTimer::Retransmit {
                self.timers.stop_transmit();
            }
            self.freebsd.shift = 0;
            self.snd.nxt = self.snd.una;
            if self.timers.xmit != XmitTimer::Persist {
                self.bsd_set_persist();
            }
        }
    }

    /// Grows the send buffer by a step while it, and not the peer, is what limits.
    fn bsd_step_send_buffer(&mut self, window: u64) {
        let (snd, profile) = (&mut self.snd, &self.profile);
        let held = snd.buffered();
        if self.freebsd.send_tuning
            && snd.wnd / 4 * 5 >= snd.capacity
            && held >= snd.capacity / 8 * 7
            && window >= held.saturating_sub(snd.nxt - snd.una)
        {
            let larger = snd.capacity + profile.send_buffer_step;
            if larger <= profile.send_buffer_max {
                snd.capacity = larger;
            } else {
                self.freebsd.send_tuning = false;
            }
        }
    }

    /// Whether a segment is to be sent.
    fn bsd_is_due(&mut self, plan: Plan, idle: bool, forced: bool) -> bool {
        let (snd, mss) = (&self.snd, u64::from(self.window.mss));
        let whole = plan.len >= mss
            || ((idle || self.nodelay) && plan.len + plan.offset >= snd.buffered())
            || forced
            || (plan.len >= snd.max_window / 2 && snd.max_window > 0)
            || snd.nxt < snd.max
            || plan.repairs;
        if plan.len > 0 && whole {
            return true;
        }
        let fin = plan.fin && (!snd.fin_sent || snd.nxt == snd.una);
        self.bsd_is_window_update_due() || self.delack.now || fin
    }

    /// Sends what `plan` says, as far as it fits a segment; returns whether to go on.
    fn bsd_transmit(&mut self, mut plan: Plan, forced: bool) -> bool {
        let room = u64::from(self.current_mss());
        let mut more = plan.repairs;
        if plan.len > room {
            plan.fin = false;
            plan.len = room;
            more = true;
        }
        if plan.fin && self.snd.fin_sent && self.snd.nxt == self.snd.max {
            self.snd.nxt -= 1;
        }
        let probes = forced && self.timers.xmit == XmitTimer::Persist;
        let numbered = plan.len > 0 || plan.fin || self.timers.xmit == XmitTimer::Persist;
        let seq = if plan.repairs {
            plan.seq
        } else if numbered {
            self.snd.nxt
        } else {
            self.snd.max
        };
        self.bsd_emit(seq, plan);
        if probes {
            self.bsd_note_sent(seq, plan);
            self.snd.max = self.snd.max.max(seq + plan.len);
        } else {
            self.bsd_advance(seq, plan);
        }
        self.snd.fin_sent |= plan.fin;
        more
    }

    fn bsd_emit(&mut self, seq: u64, plan: Plan) {
        let mut control = TcpFlags::default();
        if plan.fin {
            control = control.with(TcpFlags::FIN);
        }
        if plan.len > 0 && plan.offset + plan.len == self.snd.buffered() {
            control = control.with(TcpFlags::PSH);
        }
        if plan.len > 0 {
            self.on_data_sent();
            self.pace(plan.len);
        }
        self.emit(seq, plan.len as u32, control, (plan.len > 0 || plan.fin) && seq < self.snd.max);
    }

    /// Moves on over what was sent, and watches it.
    fn bsd_advance(&mut self, seq: u64, plan: Plan) {
        self.bsd_note_sent(seq, plan);
        let start = self.snd.nxt;
        self.snd.nxt += u64::from(plan.fin);
        if plan.repairs {
            self.freebsd.holes.repeat(seq + plan.len);
        } else {
            self.snd.nxt += plan.len;
            if self.snd.nxt > self.snd.max {
                self.snd.max = self.snd.nxt;
                self.freebsd.timed.get_or_insert((self.clock.jiffies(), start));
            }
        }
        let snd = &self.snd;
        let out = (plan.repairs && snd.nxt != snd.max) || snd.nxt != snd.una;
        if self.timers.xmit != XmitTimer::Retransmit && out {
            self.bsd_leave_persist();
            self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
        } else if plan.len == 0 && snd.buffered() > 0 && self.timers.xmit == XmitTimer::Off {
            self.freebsd.shift = 0;
            self.bsd_set_persist();
        }
    }

    /// A persist timer gives way: what waited for the window is out.
    fn bsd_leave_persist(&mut self) {
        if self.timers.xmit == XmitTimer::Persist {
            self.timers.stop_transmit();
            self.freebsd.shift = 0;
        }
    }

    /// Enters what was sent into the record from which delivery rates are told.
    fn bsd_note_sent(&mut self, seq: u64, plan: Plan) {
        let (data, max) = (seq + plan.len, self.snd.max);
        if plan.len > 0 && seq < max {
            let upto = data.min(max);
            let ids = self.board.id_at(seq)..self.board.id_at(upto);
            if plan.repairs {
                self.bsd_note_repair(ids.clone());
            }
            self.bsd_note_repeated(ids);
        }
        let end = data + u64::from(plan.fin);
        if end <= max {
            return;
        }
        let nothing_out = self.board.is_empty();
        self.tsq.add();
        let from = seq.max(max).min(data);
        let tags = if plan.fin { FIN } else { 0 } | if plan.len > 0 { PUSH } else { 0 };
        let mut sent = Sent::new(from, (data - from) as u32, tags);
        sent.sent = self.clock.now;
        self.rate.on_sent(&mut sent, nothing_out);
        self.board.push(sent);
    }

    fn bsd_note_repair(&mut self, ids: Range<u32>) {
        for id in ids {
            let sent = self.board.get_mut(id);
            if sent.flags & (SACKED | RETRANS) == 0 {
                sent.flags |= RETRANS;
                self.board.retrans_out += 1;
            }
        }
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

    /// Whatever is out is watched, also while pacing holds back what comes next.
    fn bsd_keep_watch(&mut self) {
        if self.timers.xmit == XmitTimer::Off && self.snd.max > self.snd.una {
            self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
        }
    }

    /// Whatever is out is watched by the retransmission timer, whatever cannot go out by the
    /// persist timer.
    fn bsd_keep_timer(&mut self) {
        if self.timers.xmit != XmitTimer::Off {
            return;
        }
        if self.options.sack && self.snd.max > self.snd.una {
            self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
        } else if self.snd.buffered() > 0 {
            self.freebsd.shift = 0;
            self.bsd_set_persist();
        }
    }

    /// Nothing heard for a timeout: the window falls to the restart window.
    fn bsd_restart_after_idle(&mut self) {
        let idle = self.clock.jiffies() - self.freebsd.last_heard;
        if !self.profile.slow_start_after_idle || idle < self.clock.ticks(self.rtt.rto) {
            return;
        }
        let restart = self.capped(self.profile.restart_window, self.profile.restart_window_bytes);
        self.notify(CcEvent::IdleRestart);
        self.window.cwnd = self.window.cwnd.min(restart.max(self.window.segment));
    }

    /// Room in the send buffer.
    pub(crate) fn bsd_room(&self) -> u64 {
        let room = self.snd.capacity.saturating_sub(self.snd.buffered());
        self.freebsd.mbufs.space(room, self.snd.capacity)
    }

    /// Takes `bytes` into the send buffer.
    pub(crate) fn bsd_write(&mut self, bytes: u64) {
        self.freebsd.mbufs.append(self.snd.written(), bytes);
        self.snd.extend(bytes);
    }

    /// Whether a writer that has more than there is room for may go on.
    pub(crate) fn bsd_has_room(&self) -> bool {
        self.bsd_room() >= LOW_WATER.min(self.snd.capacity)
    }

    /// Lets an application that pours fill the buffer.
    pub(crate) fn bsd_refill(&mut self) {
        while self.snd.pouring && self.state.may_write() && self.bsd_has_room() {
            self.bsd_write(self.bsd_room());
            self.bsd_output();
        }
    }
}
