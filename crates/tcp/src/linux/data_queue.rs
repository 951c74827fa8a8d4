//! The data that a segment carries.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_data_queue`, `tcp_data_queue_ofo`,
//! `tcp_ecn_check_ce`); RFC 3168 §6.1.3.

use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use crate::common::ooo_queue::Kept;
use crate::common::receive_queue::Buffer;
use crate::connection::Connection;
use crate::profile::DelayedAckRule;

impl Connection {
    /// Takes in the data and the FIN of an acceptable segment.
    #[inline]
    pub(crate) fn process_data(&mut self, header: &TcpHeader, ecn: Ecn) {
        if !self.state.may_receive() {
            self.after_the_end(header);
            return;
        }
        self.rcv.clear_duplicate();
        let (start, end) = (header.seq, header.end());
        let open = self.rcv_window.open(self.rcv.nxt);
        if start == self.rcv.nxt {
            if open == 0 && header.payload > 0 {
                self.refuse();
                return;
            }
            self.queue_in_order(header, ecn);
        } else if end <= self.rcv.nxt {
            // A retransmission of what has been received.
            self.rcv.note_duplicate(start, end);
            self.refuse();
        } else if start >= self.rcv.nxt + open {
            self.refuse();
        } else if start < self.rcv.nxt {
            self.rcv.note_duplicate(start, self.rcv.nxt);
            if open == 0 {
                self.refuse();
            } else {
                self.queue_in_order(header, ecn);
            }
        } else {
            self.queue_out_of_order(header, ecn);
        }
    }

    /// Data that is not wanted is answered by an acknowledgement at once.
    fn refuse(&mut self) {
        self.enter_quick_ack(self.profile.quick_acks);
        self.delack.scheduled = true;
        self.delack.now |= !self.is_adaptive();
    }

    fn is_adaptive(&self) -> bool {
        self.profile.delayed_ack_rule == DelayedAckRule::Adaptive
    }

    #[inline]
    fn queue_in_order(&mut self, header: &TcpHeader, ecn: Ecn) {
        let before = self.rcv.nxt;
        let data_end = header.seq + u64::from(header.payload);
        let had_hole = !self.rcv.waiting().is_empty();
        if header.flags.has(TcpFlags::FIN) {
            self.rcv.fin = Some(data_end);
        }
        let unread = &mut self.wakeup.unread;
        if data_end > before {
            unread.add(Buffer::of(header.seq, data_end), data_end - before);
        }
        self.rcv.advance(data_end.max(before), |buffer, bytes| unread.add(buffer, bytes));
        if header.payload > 0 {
            self.on_data_received(header);
            self.check_ce(ecn);
            if header.payload >= 128 {
                self.grow_receive_window(header.payload, 0);
            }
        }
        // RFC 5681 §4.2: at once when a gap is filled.
        if had_hole && self.rcv.waiting().is_empty() {
            self.delack.now = true;
        }
        if self.rcv.fin == Some(self.rcv.nxt) {
            self.rcv.purge();
            self.rcv.nxt += 1;
            self.on_fin_received();
        }
    }

    fn queue_out_of_order(&mut self, header: &TcpHeader, ecn: Ecn) {
        self.check_ce(ecn);
        let data_end = header.seq + u64::from(header.payload);
        if header.flags.has(TcpFlags::FIN) {
            self.rcv.fin = Some(data_end);
        }
        if header.payload == 0 {
            self.delack.scheduled = true;
            return;
        }
        if self.rcv.is_far(header.seq, data_end) {
            self.flush_compressed_ack();
        }
        let kept = self.rcv.insert(header.seq, data_end);
        self.delack.scheduled = true;
        // Without SACK the window stays, so that duplicates look like duplicates. What joins a
        // buffer is charged before the window grows, a buffer of its own after (`skb_set_owner_r`).
        if self.options.sack && kept != Kept::Nothing {
            let memory = u64::from(header.payload) + self.profile.segment_overhead;
            self.grow_receive_window(header.payload, if kept == Kept::Own { memory } else { 0 });
        }
    }

    /// Remembers a mark until the peer has reduced its window, and acknowledges it soon.
    #[inline]
    fn check_ce(&mut self, ecn: Ecn) {
        if !self.options.ecn {
            return;
        }
        match ecn {
            Ecn::NotEct => {
                // Probably a retransmission.
                if self.ecn.seen {
                    self.enter_quick_ack(2);
                }
            }
            Ecn::Ce => {
                if !self.ecn.echo {
                    self.enter_quick_ack(2);
                    self.ecn.echo = true;
                }
                self.ecn.seen = true;
            }
            Ecn::Ect0 | Ecn::Ect1 => self.ecn.seen = true,
        }
    }
}
