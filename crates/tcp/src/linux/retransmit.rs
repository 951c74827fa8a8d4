//! Retransmitting: `tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`, `tcp_retransmit_timer`.

use aqmlab_core::TcpFlags;

use super::Rexmit;
use crate::clock::Clock;
use crate::connection::{Alarm, Connection};
use crate::output::Push;
use crate::scoreboard::{EVER_RETRANS, FIN, LOST, RETRANS, SACKED};

impl Connection {
    /// Sends what loss recovery asks for, now that the window is up to date.
    #[inline]
    pub(crate) fn transmit_recovery(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write_transmit(true, Push::All);
                if self.snd.nxt > self.rec.high_seq {
                    return;
                }
                self.rec.frto = false;
            }
            Rexmit::Lost => {}
        }
        self.retransmit_lost();
    }

    /// Retransmits what is lost, as far as the window allows.
    pub(crate) fn retransmit_lost(&mut self) {
        let Some(head) = self.board.front_id() else { return };
        let mut id = self.board.hint.unwrap_or(head);
        let mut hole = false;
        let mut rearm = false;
        while self.board.holds(id) {
            if self.is_paced() {
                break;
            }
            if !hole {
                self.board.hint = Some(id);
            }
            if self.cwnd_segments() <= u64::from(self.board.in_flight())
                || self.board.retrans_out >= self.board.lost_out
            {
                break;
            }
            let flags = self.board.get(id).flags;
            if flags & LOST == 0 {
                hole |= flags & (RETRANS | SACKED) == 0;
            } else if flags & (RETRANS | SACKED) == 0 {
                if !self.retransmit(id) {
                    break;
                }
                self.rec.prr_out += u64::from(self.rec.ca.is_reducing());
                rearm |= id == head && self.timers.alarm != Alarm::Reorder;
            }
            id += 1;
        }
        if rearm {
            self.arm_paced(Alarm::Retransmit, self.rtt.rto);
        }
    }

    /// Retransmits a segment and tags it; returns whether the peer's window allowed it.
    pub(crate) fn retransmit(&mut self, id: u32) -> bool {
        if !self.repeat(id) {
            return false;
        }
        let sent = self.board.get_mut(id);
        if sent.flags & RETRANS == 0 {
            sent.flags |= RETRANS;
            self.board.retrans_out += 1;
        }
        let stamp = Clock::timestamp_of(self.now());
        self.rec.retrans_stamp.get_or_insert(stamp);
        *self.rec.undo_retrans.get_or_insert(0) += 1;
        true
    }

    /// Sends a segment again; returns whether the peer's window allowed it. A window that was
    /// taken back still lets the head through, as a probe.
    ///
    /// Difference from Linux: a segment that fits a shrunken window in part is sent whole.
    pub(crate) fn repeat(&mut self, id: u32) -> bool {
        let sent = *self.board.get(id);
        if sent.seq >= self.snd.window_end() && sent.seq != self.snd.una {
            return false;
        }
        let nothing_out = self.board.is_empty();
        let now = self.now();
        self.rec.total_retrans += 1;
        self.on_data_sent();
        self.pace(sent.len);
        let flags = if sent.is(FIN) { TcpFlags::FIN } else { TcpFlags::default() };
        self.emit(sent.seq, sent.len, flags, true);
        let entry = self.board.get_mut(id);
        entry.sent = now;
        entry.flags |= EVER_RETRANS;
        self.rate.on_sent(entry, nothing_out);
        self.board.enlist(id);
        true
    }

    /// The retransmission timer went off.
    pub(crate) fn linux_timeout(&mut self) {
        self.timers.stop_transmit();
        let Some(head) = self.board.front_id() else { return };
        self.rec.tlp_high_seq = 0;
        if self.snd.wnd == 0 {
            // The peer took its window back: retransmissions are probes, and never give up.
            self.enter_loss();
            self.retransmit(head);
        } else {
            self.stats.rtos += 1;
            if self.has_given_up() {
                self.give_up();
                return;
            }
            self.enter_loss();
            self.rec.retransmits += 1;
            self.retransmit(head);
        }
        self.rtt.back_off();
        self.arm(Alarm::Retransmit, self.rtt.rto, self.profile.rto_max);
    }

    /// Linux `retransmits_timed_out`: after as long as the allowed number of doublings of the
    /// least timeout take.
    fn has_given_up(&self) -> bool {
        let (Some(stamp), true) = (self.rec.retrans_stamp, self.rec.retransmits > 0) else {
            return false;
        };
        let (base, most) = (self.profile.rto_min.as_millis().max(1), self.profile.rto_max);
        let doublings = u64::from((most.as_millis() / base).max(1).ilog2());
        let retries = self.profile.retries;
        let exponential = ((2_u64 << retries.min(doublings).min(60)) - 1).saturating_mul(base);
        let linear = retries.saturating_sub(doublings).saturating_mul(most.as_millis());
        let waited = self.clock.timestamp().wrapping_sub(stamp);
        u64::from(waited) >= exponential.saturating_add(linear)
    }
}
