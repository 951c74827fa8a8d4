//! The processing of a segment.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_input.c` (`tcp_do_segment`).

use aqmlab_core::hint::rare;
use aqmlab_core::{Ecn, Instant, TcpFlags, TcpHeader};

use super::{FreeBsd, reass};
use crate::Event;
use crate::common::clock::later_by;
use crate::common::receive_queue::Buffer;
use crate::segment::Transmission;
use crate::state::State;
use crate::tcb::Tcb;

/// The part of a segment that is new and within the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    seq: u64,
    pub(super) len: u64,
    fin: bool,
}

impl FreeBsd {
    /// Processes a segment that arrives in ESTABLISHED.
    pub(crate) fn process_established(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        self.process_segment(tcb, header, ecn);
    }

    /// Processes a segment, and sends the segments in response.
    pub(crate) fn process_segment(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        self.last_received = tcb.clock.jiffies();
        self.process_ecn(tcb, header, ecn);
        if !(self.is_predicted(tcb, header) && self.process_predicted(tcb, header)) {
            self.process_unpredicted(tcb, header);
        }
        if matches!(tcb.state, State::Closed | State::TimeWait) {
            rare();
            return;
        }
        self.start_delayed_ack(tcb);
        if !tcb.wakeup.unread.is_empty() {
            self.wake(tcb);
        }
        if std::mem::take(&mut self.peer_finished) {
            rare();
            announce_end(tcb);
        }
        self.check_space(tcb);
        tcb.app_acted = false;
    }

    fn process_ecn(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        if !tcb.options.ecn {
            return;
        }
        rare();
        if header.flags.has(TcpFlags::CWR) {
            tcb.ecn.echo = false;
        }
        tcb.ecn.echo |= ecn == Ecn::Ce;
        if header.flags.has(TcpFlags::ECE) {
            self.on_ecn_echo(tcb);
        }
    }

    /// Returns whether header prediction applies: only the acknowledgement or the data has changed.
    fn is_predicted(&self, tcb: &Tcb, header: &TcpHeader) -> bool {
        let control = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0 | TcpFlags::ACK.0;
        tcb.state == State::Established
            && header.seq == tcb.rcv.nxt
            && header.flags.0 & control == TcpFlags::ACK.0
            && tcb.snd.nxt == tcb.snd.max
            && header.window > 0
            && peer_window(tcb, header) == tcb.snd.wnd
            && self.reassembly.is_empty()
            && (!header.timestamps || later_by(header.ts_val, tcb.rcv.ts_recent) >= 0)
    }

    /// Processes a predicted segment on the fast path. Returns whether the fast path applies.
    fn process_predicted(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> bool {
        if header.timestamps && header.seq <= tcb.rcv.wup {
            tcb.rcv.ts_recent = header.ts_val;
        }
        if header.payload > 0 {
            let space = self.receive_buffer.possible_window(tcb);
            let fits = header.ack == tcb.snd.una && u64::from(header.payload) <= space;
            if fits {
                self.process_predicted_data(tcb, header);
            }
            return fits;
        }
        let plain = header.ack > tcb.snd.una
            && header.ack <= tcb.snd.max
            && !self.recovery.is_active()
            && !self.recovery.is_reduced()
            && header.sack.is_empty()
            && self.holes.is_empty();
        if plain {
            self.process_plain_ack(tcb, header);
            if tcb.snd.buffered() > 0 {
                self.output(tcb);
            }
        }
        plain
    }

    fn process_predicted_data(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        let len = u64::from(header.payload);
        tcb.rcv.sack.clear_blocks();
        tcb.snd.wl1 = header.seq;
        self.receive_buffer.on_data(header, &tcb.profile);
        append_in_order(tcb, len);
        if self.may_delay_ack(tcb, len) {
            self.owed_ack.delayed = true;
        } else {
            self.ack_now(tcb);
        }
    }

    /// Returns whether the acknowledgement may be delayed (`DELAY_ACK`).
    fn may_delay_ack(&self, tcb: &Tcb, len: u64) -> bool {
        tcb.timers.delayed_ack == Instant::NEVER
            && !self.quickack
            && !self.receive_buffer.offered_zero()
            && len <= u64::from(tcb.window.mss + tcb.options.fixed_len())
    }

    fn start_delayed_ack(&mut self, tcb: &mut Tcb) {
        if std::mem::take(&mut self.owed_ack.delayed) {
            let ticks = tcb.clock.covering(tcb.profile.delayed_ack);
            tcb.timers.delayed_ack = tcb.clock.expiry(ticks);
        }
    }

    /// Processes a segment to which header prediction does not apply.
    fn process_unpredicted(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        let window = self.receive_buffer.possible_window(tcb).max(tcb.rcv.open());
        if header.flags.has(TcpFlags::RST) {
            process_reset(tcb, header, window);
            return;
        }
        let is_old = header.timestamps
            && tcb.rcv.ts_recent != 0
            && later_by(header.ts_val, tcb.rcv.ts_recent) < 0;
        if is_old {
            if header.payload > 0 {
                self.ack_now(tcb);
            }
            return;
        }
        let Some(part) = self.trim(tcb, header, window) else {
            self.ack_now(tcb);
            return;
        };
        update_timestamp(tcb, header, part);
        if header.flags.has(TcpFlags::SYN) && header.seq >= tcb.rcv.nxt {
            tcb.abort();
            return;
        }
        if !header.flags.has(TcpFlags::ACK) {
            if self.owed_ack.now {
                self.output(tcb);
            }
            return;
        }
        if header.ack > tcb.snd.max {
            self.ack_now(tcb);
            return;
        }
        let Some(mut needs_output) = self.process_ack(tcb, header, part.len) else { return };
        needs_output |= self.update_send_window(tcb, header, part);
        self.process_data(tcb, part);
        if matches!(tcb.state, State::TimeWait | State::Closed) {
            return;
        }
        if needs_output || self.owed_ack.now {
            self.output(tcb);
        }
    }

    /// Trims a segment to its new data within the window. Returns `None` if the whole segment is
    /// beyond the window. Makes an acknowledgement due for duplicate data and for a probe of a
    /// closed window.
    fn trim(&mut self, tcb: &Tcb, header: &TcpHeader, window: u64) -> Option<Part> {
        let nxt = tcb.rcv.nxt;
        let syn = u64::from(header.flags.has(TcpFlags::SYN) && header.seq < nxt);
        let mut part = Part {
            seq: header.seq + syn,
            len: u64::from(header.payload),
            fin: header.flags.has(TcpFlags::FIN),
        };
        if nxt > header.seq {
            let known = nxt - part.seq;
            let excess = if known > part.len || (known == part.len && !part.fin) {
                part.fin = false;
                self.owed_ack.now = true;
                part.len
            } else {
                known
            };
            part.seq += excess;
            part.len -= excess;
        }
        let (end, limit) = (part.seq + part.len, nxt + window);
        if end > limit {
            let beyond = end - limit;
            if beyond >= part.len {
                if window != 0 || part.seq != nxt {
                    return None;
                }
                self.owed_ack.now = true;
            }
            part.len -= beyond.min(part.len);
            part.fin = false;
        }
        Some(part)
    }

    /// Updates the send window (step 6 of RFC 793). Returns whether the segment updated the window.
    fn update_send_window(&mut self, tcb: &mut Tcb, header: &TcpHeader, part: Part) -> bool {
        let window = peer_window(tcb, header);
        let snd = &mut tcb.snd;
        let newer = (snd.wl1, self.wl2) < (part.seq, header.ack)
            || ((snd.wl1, self.wl2) == (part.seq, header.ack) && window > snd.wnd);
        if newer {
            snd.wnd = window;
            snd.max_window = snd.max_window.max(window);
            snd.wl1 = part.seq;
            self.wl2 = header.ack;
        }
        newer
    }

    fn process_data(&mut self, tcb: &mut Tcb, part: Part) {
        if !tcb.state.may_receive() || (part.len == 0 && !part.fin) {
            return;
        }
        let (mut fin, mut kept) = (part.fin, part.len);
        if part.seq == tcb.rcv.nxt && self.reassembly.is_empty() {
            if self.may_delay_ack(tcb, part.len) {
                self.owed_ack.delayed = true;
            } else {
                self.owed_ack.now = true;
            }
            append_in_order(tcb, part.len);
        } else {
            let limit = self.receive_buffer.segments(tcb.window.mss);
            let segment = (part.seq, part.seq + part.len, part.fin);
            let presented = self.reassembly.insert(tcb.rcv.nxt, segment, limit);
            (fin, kept) = (presented.fin, presented.kept);
            append_in_order(tcb, presented.nxt - tcb.rcv.nxt);
            self.owed_ack.now = true;
        }
        if kept > 0 && tcb.options.sack {
            let arrived = (part.seq, part.seq + kept);
            let (blocks, count) =
                reass::update_sack_list(tcb.rcv.sack.blocks(), tcb.rcv.nxt, arrived);
            tcb.rcv.sack.set_blocks(&blocks[..count]);
        }
        if fin {
            self.owed_ack.now = true;
            self.reassembly.clear();
            tcb.rcv.fin = Some(tcb.rcv.nxt);
            tcb.rcv.nxt += 1;
            self.process_fin(tcb);
        }
    }

    /// Processes the peer's FIN, which is in order. The response is sent before the application
    /// reads, so the window in the response excludes the space of unread data.
    fn process_fin(&mut self, tcb: &mut Tcb) {
        match tcb.state {
            State::Established => tcb.state = State::CloseWait,
            State::FinWait1 => tcb.state = State::Closing,
            State::FinWait2 => {
                self.send_last_ack(tcb);
                announce_end(tcb);
                self.receive_buffer.freeze(tcb.rcv.open());
                tcb.enter_time_wait();
                return;
            }
            _ => {}
        }
        self.peer_finished = true;
    }

    /// Sends the acknowledgement with which TIME-WAIT begins. The acknowledgement offers the window
    /// that was last offered (`tcp_twstart`).
    pub(super) fn send_last_ack(&mut self, tcb: &mut Tcb) {
        self.receive_buffer.freeze(tcb.rcv.open());
        let seq = tcb.snd.nxt;
        self.emit(tcb, (seq, 0), TcpFlags::default(), Transmission::Original);
    }
}

/// Advances `rcv_nxt` over `bytes` of in-order data, and adds them to the unread data.
fn append_in_order(tcb: &mut Tcb, bytes: u64) {
    let start = tcb.rcv.nxt;
    tcb.rcv.nxt += bytes;
    if bytes > 0 {
        tcb.wakeup.unread.add(Buffer::of(start, start + bytes), bytes);
    }
}

/// Passes all unread data to the application, and notifies it of the end of the peer's data.
fn announce_end(tcb: &mut Tcb) {
    tcb.announce_open();
    tcb.deliver_unread();
    tcb.events.push_back(Event::PeerFinished);
}

/// Ends the connection after a reset whose sequence number is acceptable. In ESTABLISHED, the
/// number must be next to the expected byte or to the last acknowledged byte.
fn process_reset(tcb: &mut Tcb, header: &TcpHeader, window: u64) {
    let near = |to: u64| header.seq + 1 >= to && header.seq <= to + 1;
    let wup = tcb.rcv.wup;
    let inside = header.seq + 1 >= wup && header.seq <= wup + window;
    if inside && (tcb.state != State::Established || near(tcb.rcv.nxt) || near(wup)) {
        tcb.die();
    }
}

/// Stores the timestamp of a segment that covers the last acknowledged byte (RFC 7323 §4.3).
fn update_timestamp(tcb: &mut Tcb, header: &TcpHeader, part: Part) {
    let wup = tcb.rcv.wup;
    let end = part.seq + part.len + u64::from(part.fin);
    if header.timestamps && part.seq <= wup && wup <= end {
        tcb.rcv.ts_recent = header.ts_val;
    }
}

/// Returns the window that the peer offers, in bytes. The window of a repeated SYN is scaled,
/// although the peer did not scale it.
pub(super) fn peer_window(tcb: &Tcb, header: &TcpHeader) -> u64 {
    let shift = if header.flags.has(TcpFlags::SYN) { tcb.options.snd_shift } else { 0 };
    u64::from(header.window) << shift
}
