//! Retransmission of segments.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`).
//!
//! Difference, pinned by a test: a segment that only partly fits a reduced window is sent as a
//! whole. Linux sends the part that fits.

use super::Linux;
use super::ack::Rexmit;
use super::output::Push;
use crate::common::clock::Clock;
use crate::common::scoreboard::{LOST, RETRANS, SACKED};
use crate::segment::Transmission;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

impl Linux {
    /// Sends the segments of loss recovery after the window has been updated (`tcp_xmit_recovery`).
    #[inline]
    pub(super) fn xmit_recovery(&mut self, tcb: &mut Tcb, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write_xmit(tcb, Push::All);
                if tcb.snd.nxt > self.recovery.high_seq() {
                    return;
                }
                self.recovery.set_frto(false);
            }
            Rexmit::Lost => {}
        }
        self.retransmit_lost(tcb);
    }

    /// Retransmits as many lost segments as the windows, pacing and the host's queue allow
    /// (`tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_lost(&mut self, tcb: &mut Tcb) {
        let Some(head) = tcb.board.front_id() else { return };
        let mut id = tcb.board.retransmit_hint().unwrap_or(head);
        let mut past_hole = false;
        let mut rearms = false;
        while tcb.board.holds(id) {
            if tcb.is_paced() {
                break;
            }
            if !past_hole {
                tcb.board.set_retransmit_hint(id);
            }
            if !tcb.has_cwnd_space() || !tcb.board.has_lost_to_send() {
                break;
            }
            let flags = tcb.board.get(id).flags;
            if flags & LOST == 0 {
                past_hole |= flags & (RETRANS | SACKED) == 0;
            } else if flags & (RETRANS | SACKED) == 0 {
                if self.must_retransmission_wait(tcb) || !self.retransmit(tcb, id) {
                    break;
                }
                if self.recovery.ca().is_reducing() {
                    self.prr.on_sent(1);
                }
                rearms |= id == head && tcb.timers.xmit != XmitTimer::Reorder;
            }
            id += 1;
        }
        if rearms {
            tcb.arm_paced(XmitTimer::Retransmit, tcb.rtt.rto);
        }
    }

    /// Retransmits a segment and tags it R. Returns whether the peer's window allowed the
    /// transmission (`tcp_retransmit_skb`).
    pub(super) fn retransmit(&mut self, tcb: &mut Tcb, id: u32) -> bool {
        if !self.resend(tcb, id) {
            return false;
        }
        tcb.board.mark_retransmitted(id);
        self.undo.on_retransmit(Clock::timestamp_of(tcb.now()));
        true
    }

    /// Sends a segment again, without the tag R. Returns whether the peer's window allowed the
    /// transmission. A window that the peer has reduced still allows the head, as a probe
    /// (`__tcp_retransmit_skb`).
    pub(super) fn resend(&mut self, tcb: &mut Tcb, id: u32) -> bool {
        let sent = *tcb.board.get(id);
        if sent.seq >= tcb.snd.window_end() && sent.seq != tcb.snd.una {
            return false;
        }
        let nothing_out = tcb.board.is_empty();
        self.undo.on_resend();
        if sent.len > 0 {
            self.on_data_sent(tcb);
        }
        tcb.pace(u64::from(sent.len));
        self.tsq.on_sent();
        self.emit(tcb, (sent.seq, sent.len), sent.control(), Transmission::Retransmission);
        let now = tcb.now();
        tcb.rate.on_sent(tcb.board.resend(id, now), nothing_out);
        if tcb.tx_records.are_kept {
            tcb.record_transmission(sent.end());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::linux::testing;

    /// Tests that pacing begins with the tenth data segment, also for retransmissions.
    /// `tcp_update_skb_after_send` compares the number of data segments including the segment that
    /// was just sent.
    #[test]
    fn the_tenth_data_segment_is_the_first_that_is_paced_if_it_is_a_retransmission() {
        let (mut linux, mut tcb) = testing::open("bbr");
        tcb.start_controller();
        tcb.snd.wnd = 1 << 20;
        testing::send(&mut tcb, 1);
        let head = tcb.board.front_id().expect("a segment is outstanding");
        for number in 1..=11 {
            assert!(linux.resend(&mut tcb, head));
            assert_eq!(tcb.pacer.departure() > tcb.now(), number >= 10, "segment {number}");
        }
    }

    /// Tests a difference from Linux, which would send only the 100 bytes that fit.
    #[test]
    fn a_segment_that_partly_fits_a_reduced_window_is_sent_as_a_whole() {
        let (mut linux, mut tcb) = testing::open("reno");
        testing::send(&mut tcb, 3);
        tcb.snd.wnd = 1_448 + 100;
        let sent = [0, 1, 2].map(|number| {
            let head = tcb.board.front_id().expect("a segment is outstanding");
            linux.resend(&mut tcb, head + number)
        });
        assert_eq!(sent, [true, true, false]);
        let lengths = [(); 2].map(|()| tcb.out.pop().map(|sent| sent.header.payload));
        assert_eq!(lengths, [Some(1_448); 2]);
    }
}
