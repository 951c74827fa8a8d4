//! Taking in a segment of an open connection: `tcp_do_segment`.

use aqmlab_core::{Ecn, Instant, TcpFlags, TcpHeader};

use super::reass;
use crate::Event;
use crate::common::clock::later_by;
use crate::common::receive_queue::Buffer;
use crate::connection::Connection;
use crate::state::State;
use crate::timers::XmitTimer;

/// A segment, cut to what is wanted of it.
#[derive(Clone, Copy, Debug)]
struct Part {
    seq: u64,
    len: u64,
    fin: bool,
}

impl Connection {
    /// Takes in a segment, and sends what follows from it.
    pub(crate) fn bsd_segment(&mut self, header: &TcpHeader, ecn: Ecn) {
        self.freebsd.last_heard = self.clock.jiffies();
        self.bsd_note_congestion(header, ecn);
        if !(self.bsd_is_predicted(header) && self.bsd_predicted(header)) {
            self.bsd_unpredicted(header);
        }
        if matches!(self.state, State::Closed | State::TimeWait) {
            return;
        }
        self.bsd_start_delayed_ack();
        if !self.wakeup.unread.is_empty() {
            self.wake();
        }
        if std::mem::take(&mut self.freebsd.finished) {
            self.hand_over();
            self.events.push_back(Event::PeerFinished);
        }
        self.check_room();
        self.app_acted = false;
    }

    fn bsd_note_congestion(&mut self, header: &TcpHeader, ecn: Ecn) {
        if !self.options.ecn {
            return;
        }
        if header.flags.has(TcpFlags::CWR) {
            self.ecn.echo = false;
        }
        self.ecn.echo |= ecn == Ecn::Ce;
        if header.flags.has(TcpFlags::ECE) {
            self.bsd_congestion_echoed();
        }
    }

    /// Header prediction: nothing but the acknowledgement or the data has changed.
    fn bsd_is_predicted(&self, header: &TcpHeader) -> bool {
        let control = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0 | TcpFlags::ACK.0;
        self.state == State::Established
            && header.seq == self.rcv.nxt
            && header.flags.0 & control == TcpFlags::ACK.0
            && self.snd.nxt == self.snd.max
            && header.window > 0
            && self.bsd_window(header) == self.snd.wnd
            && self.freebsd.queue.is_empty()
            && (!header.timestamps || later_by(header.ts_val, self.rcv.ts_recent) >= 0)
    }

    /// Takes the short way with what was predicted; returns whether there was one.
    fn bsd_predicted(&mut self, header: &TcpHeader) -> bool {
        if header.timestamps && header.seq <= self.rcv_window.advertised_at {
            self.rcv.ts_recent = header.ts_val;
        }
        if header.payload > 0 {
            let space = self.bsd_possible_window();
            let fits = header.ack == self.snd.una && u64::from(header.payload) <= space;
            if fits {
                self.bsd_process_predicted(header);
            }
            return fits;
        }
        let plain = header.ack > self.snd.una
            && header.ack <= self.snd.max
            && !self.freebsd.recovering
            && !self.freebsd.congested
            && header.sack.is_empty()
            && self.freebsd.holes.is_empty();
        if plain {
            self.bsd_plain_ack(header);
            if self.snd.buffered() > 0 {
                self.bsd_output();
            }
        }
        plain
    }

    fn bsd_process_predicted(&mut self, header: &TcpHeader) {
        self.rcv.set_blocks(&[]);
        self.snd.wl1 = header.seq;
        self.bsd_step_receive_buffer(header);
        self.bsd_append(u64::from(header.payload));
        if self.bsd_may_delay(u64::from(header.payload)) {
            self.delack.scheduled = true;
        } else {
            self.delack.now = true;
            self.bsd_output();
        }
    }

    /// `DELAY_ACK`.
    fn bsd_may_delay(&self, len: u64) -> bool {
        self.timers.delayed_ack == Instant::NEVER
            && !self.delack.is_quick()
            && !self.freebsd.told_closed
            && len <= u64::from(self.window.mss + self.options.fixed_options())
    }

    fn bsd_start_delayed_ack(&mut self) {
        if std::mem::take(&mut self.delack.scheduled) {
            let ticks = self.clock.ticks(self.profile.delayed_ack);
            self.timers.delayed_ack = self.clock.next(ticks);
        }
    }

    /// The delayed acknowledgement is due.
    pub(crate) fn bsd_delayed_ack_due(&mut self) {
        self.timers.delayed_ack = Instant::NEVER;
        self.delack.now = true;
        self.bsd_output();
    }

    /// `bytes` in order for the application.
    fn bsd_append(&mut self, bytes: u64) {
        let start = self.rcv.nxt;
        self.rcv.nxt += bytes;
        if bytes > 0 {
            self.wakeup.unread.add(Buffer::of(start, start + bytes), bytes);
        }
    }

    /// Answers at once what is not taken.
    fn bsd_refuse(&mut self) {
        self.delack.now = true;
        self.bsd_output();
    }

    /// Takes the long way.
    fn bsd_unpredicted(&mut self, header: &TcpHeader) {
        let window = self.bsd_possible_window().max(self.rcv_window.open(self.rcv.nxt));
        if header.flags.has(TcpFlags::RST) {
            self.bsd_reset(header, window);
            return;
        }
        let aged = header.timestamps
            && self.rcv.ts_recent != 0
            && later_by(header.ts_val, self.rcv.ts_recent) < 0;
        if aged {
            if header.payload > 0 {
                self.bsd_refuse();
            }
            return;
        }
        let Some(part) = self.bsd_cut(header, window) else {
            self.bsd_refuse();
            return;
        };
        self.bsd_note_timestamp(header, part);
        if header.flags.has(TcpFlags::SYN) && header.seq >= self.rcv.nxt {
            self.abort();
            return;
        }
        if !header.flags.has(TcpFlags::ACK) {
            if self.delack.now {
                self.bsd_output();
            }
            return;
        }
        if header.ack > self.snd.max {
            self.bsd_refuse();
            return;
        }
        let Some(mut due) = self.bsd_ack(header, part.len) else { return };
        due |= self.bsd_update_window(header, part);
        self.bsd_process_data(part);
        if self.state == State::TimeWait || self.state == State::Closed {
            return;
        }
        if due || self.delack.now {
            self.bsd_output();
        }
    }

    fn bsd_reset(&mut self, header: &TcpHeader, window: u64) {
        let near = |to: u64| header.seq + 1 >= to && header.seq <= to + 1;
        let told = self.rcv_window.advertised_at;
        let inside = header.seq + 1 >= told && header.seq <= told + window;
        if inside && (self.state != State::Established || near(self.rcv.nxt) || near(told)) {
            self.die();
        }
    }

    /// Cuts off what was received before and what lies beyond the window; `None` if all is beyond.
    fn bsd_cut(&mut self, header: &TcpHeader, window: u64) -> Option<Part> {
        let syn = u64::from(header.flags.has(TcpFlags::SYN) && header.seq < self.rcv.nxt);
        let mut part = Part {
            seq: header.seq + syn,
            len: u64::from(header.payload),
            fin: header.flags.has(TcpFlags::FIN),
        };
        let nxt = self.rcv.nxt;
        if nxt > header.seq {
            let known = nxt - part.seq;
            let drop = if known > part.len || (known == part.len && !part.fin) {
                part.fin = false;
                self.delack.now = true;
                part.len
            } else {
                known
            };
            part.seq += drop;
            part.len -= drop;
        }
        let (end, limit) = (part.seq + part.len, nxt + window);
        if end > limit {
            let beyond = end - limit;
            if beyond >= part.len {
                if window != 0 || part.seq != nxt {
                    return None;
                }
                self.delack.now = true;
            }
            part.len -= beyond.min(part.len);
            part.fin = false;
        }
        Some(part)
    }

    fn bsd_note_timestamp(&mut self, header: &TcpHeader, part: Part) {
        let told = self.rcv_window.advertised_at;
        let end = part.seq + part.len + u64::from(part.fin);
        if header.timestamps && part.seq <= told && told <= end {
            self.rcv.ts_recent = header.ts_val;
        }
    }

    /// The peer's window. That of a repeated SYN, which is not scaled, is taken for scaled.
    pub(crate) fn bsd_window(&self, header: &TcpHeader) -> u64 {
        let shift = if header.flags.has(TcpFlags::SYN) { self.options.snd_shift } else { 0 };
        u64::from(header.window) << shift
    }

    /// Step 6: returns whether the peer's window is news.
    fn bsd_update_window(&mut self, header: &TcpHeader, part: Part) -> bool {
        let window = self.bsd_window(header);
        let snd = &mut self.snd;
        let newer = (snd.wl1, self.freebsd.wl2) < (part.seq, header.ack)
            || ((snd.wl1, self.freebsd.wl2) == (part.seq, header.ack) && window > snd.wnd);
        if newer {
            snd.wnd = window;
            snd.max_window = snd.max_window.max(window);
            snd.wl1 = part.seq;
            self.freebsd.wl2 = header.ack;
        }
        newer
    }

    fn bsd_process_data(&mut self, part: Part) {
        if !self.state.may_receive() || (part.len == 0 && !part.fin) {
            return;
        }
        let mut fin = part.fin;
        let mut kept = part.len;
        if part.seq == self.rcv.nxt && self.freebsd.queue.is_empty() {
            if self.bsd_may_delay(part.len) {
                self.delack.scheduled = true;
            } else {
                self.delack.now = true;
            }
            self.bsd_append(part.len);
        } else {
            let most = self.rcv_window.buffer / u64::from(self.window.mss) + 1;
            let segment = (part.seq, part.seq + part.len, part.fin);
            let got = self.freebsd.queue.insert(self.rcv.nxt, segment, most);
            (fin, kept) = (got.fin, got.kept);
            self.bsd_append(got.nxt - self.rcv.nxt);
            self.delack.now = true;
        }
        if kept > 0 && self.options.sack {
            let news = (part.seq, part.seq + kept);
            let (blocks, count) = reass::report(self.rcv.blocks(), self.rcv.nxt, news);
            self.rcv.set_blocks(&blocks[..count]);
        }
        if fin {
            self.delack.now = true;
            self.freebsd.queue.clear();
            self.rcv.fin = Some(self.rcv.nxt);
            self.rcv.nxt += 1;
            self.bsd_finish();
        }
    }

    /// The peer's FIN is in order. What was not read yet still takes room in the answer.
    fn bsd_finish(&mut self) {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => {
                self.bsd_answer_last();
                self.hand_over();
                self.events.push_back(Event::PeerFinished);
                self.start_time_wait();
                return;
            }
            _ => {}
        }
        self.freebsd.finished = true;
    }

    /// The acknowledgement with which `TIME_WAIT` begins: it offers what was offered before
    /// (`tcp_twstart`).
    pub(crate) fn bsd_answer_last(&mut self) {
        self.rcv_window.buffer = self.rcv_window.open(self.rcv.nxt);
        self.emit(self.snd.nxt, 0, TcpFlags::default(), false);
    }

    /// Whether the retransmission timer runs.
    pub(crate) fn bsd_awaits_ack(&self) -> bool {
        self.timers.xmit == XmitTimer::Retransmit
    }
}
