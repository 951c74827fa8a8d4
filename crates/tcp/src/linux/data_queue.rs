//! The processing of a segment's data and FIN.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_fin`).

use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use super::Linux;
use super::ooo_queue::Inserted;
use crate::Event;
use crate::common::receive_queue::Buffer;
use crate::state::State;
use crate::tcb::Tcb;

/// The payload below which a segment does not grow the window (`tcp_event_data_recv`).
const MIN_GROWTH_PAYLOAD: u32 = 128;

impl Linux {
    /// Processes the data and the FIN of an acceptable segment.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn process_data(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        if !tcb.state.may_receive() {
            self.process_data_after_fin(tcb, header);
            return;
        }
        tcb.rcv.sack.clear_duplicate();
        let (start, end, nxt) = (header.seq, header.end(), tcb.rcv.nxt);
        let open = tcb.rcv.open();
        if start < nxt {
            tcb.rcv.sack.set_duplicate(start, end.min(nxt));
        }
        let is_refused = if start > nxt {
            start >= nxt + open
        } else {
            (start < nxt && end <= nxt) || (open == 0 && header.payload > 0)
        };
        if is_refused {
            self.refuse(tcb);
        } else if start <= nxt {
            self.queue_in_order(tcb, header, ecn);
        } else {
            self.queue_out_of_order(tcb, header, ecn);
        }
    }

    /// Drops data, and makes the next acknowledgements immediate.
    fn refuse(&mut self, tcb: &Tcb) {
        self.enter_quick_ack(tcb, tcb.profile.quick_acks);
        self.delack.on_refused();
    }

    #[inline]
    fn queue_in_order(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        let before = tcb.rcv.nxt;
        let data_end = header.seq + u64::from(header.payload);
        if header.flags.has(TcpFlags::FIN) {
            tcb.rcv.fin = Some(data_end);
        }
        let unread = &mut tcb.wakeup.unread;
        if data_end > before {
            unread.add(Buffer::of(header.seq, data_end), data_end - before);
        }
        tcb.rcv.nxt = data_end.max(before);
        if !self.ooo.is_empty() {
            let range = (before, tcb.rcv.nxt);
            let deliver = |buffer, bytes| unread.add(buffer, bytes);
            tcb.rcv.nxt = self.ooo.advance(range, &mut tcb.rcv.sack, deliver);
            // RFC 5681 §4.2: a segment that fills the last gap is acknowledged at once.
            if self.ooo.is_empty() {
                self.delack.require_now();
            }
        }
        if header.payload > 0 {
            self.take_data(tcb, header, ecn);
        }
        if tcb.rcv.fin == Some(tcb.rcv.nxt) {
            self.ooo.purge(&mut tcb.rcv.sack);
            tcb.rcv.nxt += 1;
            self.process_fin(tcb);
        }
    }

    /// Updates the receiver's estimates and its window after data has arrived in order.
    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn take_data(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        self.on_data_received(tcb, header);
        self.check_ce(tcb, ecn);
        if header.payload >= MIN_GROWTH_PAYLOAD {
            self.grow_window(tcb, header.payload, 0);
        }
    }

    fn queue_out_of_order(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        self.check_ce(tcb, ecn);
        let data_end = header.seq + u64::from(header.payload);
        if header.flags.has(TcpFlags::FIN) {
            tcb.rcv.fin = Some(data_end);
        }
        if header.payload == 0 {
            self.delack.schedule();
            return;
        }
        // Blocks at the end of the list must be reported before they no longer fit into the option.
        if tcb.rcv.sack.displaces_several(header.seq, data_end) {
            self.flush_compressed_ack(tcb);
        }
        let inserted = self.ooo.insert(header.seq, data_end, &mut tcb.rcv.sack);
        self.delack.schedule();
        // Without SACK, the window must not change, so that duplicate acknowledgements are
        // recognised as such. A segment that joins a buffer is charged before the window grows; any
        // other segment is charged after (`skb_set_owner_r`).
        if tcb.options.sack && inserted != Inserted::Duplicate {
            let memory = u64::from(header.payload) + tcb.profile.segment_overhead;
            let uncharged = if inserted == Inserted::Own { memory } else { 0 };
            self.grow_window(tcb, header.payload, uncharged);
        }
    }

    /// Processes the peer's FIN, which is in order: passes all data before it to the application,
    /// reports the end of the data, and changes the state (`tcp_fin`).
    fn process_fin(&mut self, tcb: &mut Tcb) {
        self.delack.schedule();
        self.deliver(tcb);
        tcb.events.push_back(Event::PeerFinished);
        match tcb.state {
            State::Established => {
                tcb.state = State::CloseWait;
                self.delack.on_fin();
            }
            State::FinWait1 => {
                self.send_ack(tcb);
                tcb.state = State::Closing;
            }
            State::FinWait2 => {
                self.send_ack(tcb);
                tcb.enter_time_wait();
            }
            _ => {}
        }
    }

    /// Acknowledges data or a FIN that arrives after the peer's FIN. It can only be a
    /// retransmission, so it is reported as a duplicate.
    fn process_data_after_fin(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        if header.seq < tcb.rcv.nxt {
            let end = header.end().min(tcb.rcv.nxt);
            tcb.rcv.sack.set_duplicate(header.seq, end);
            self.enter_quick_ack(tcb, tcb.profile.quick_acks);
            self.delack.schedule();
            self.delack.require_now();
        }
    }
}
