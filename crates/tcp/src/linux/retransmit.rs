//! Retransmitting: `tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`.

use super::Rexmit;
use crate::common::clock::Clock;
use crate::common::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};
use crate::connection::Connection;
use crate::linux::output::Push;
use crate::timers::XmitTimer;

impl Connection {
    /// Sends what loss recovery asks for, now that the window is up to date.
    #[inline]
    pub(crate) fn transmit_recovery(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write_transmit(true, Push::All);
                if self.snd.nxt > self.recovery.high_seq {
                    return;
                }
                self.recovery.frto = false;
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
            if self.must_wait() {
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
                self.recovery.prr_out += u64::from(self.recovery.ca.is_reducing());
                rearm |= id == head && self.timers.xmit != XmitTimer::Reorder;
            }
            id += 1;
        }
        if rearm {
            self.arm_paced(XmitTimer::Retransmit, self.rtt.rto);
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
        self.recovery.retrans_stamp.get_or_insert(stamp);
        *self.recovery.undo_retrans.get_or_insert(0) += 1;
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
        self.recovery.total_retrans += 1;
        self.on_data_sent();
        self.pace(u64::from(sent.len));
        self.tsq.add();
        self.emit(sent.seq, sent.len, sent.control(), true);
        let entry = self.board.get_mut(id);
        entry.sent = now;
        entry.flags |= EVER_RETRANS;
        self.rate.on_sent(entry, nothing_out);
        self.board.enlist(id);
        true
    }
}
