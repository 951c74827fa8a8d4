//! The removal of acknowledged segments, and the samples from them.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).

use aqmlab_core::{Duration, Instant, TcpHeader};

use super::Linux;
use super::ack::{AckState, flag};
use crate::cc::Ack;
use crate::common::clock::{Clock, later_by};
use crate::common::scoreboard::{ANY_RETRANS, Originals, SACKED};
use crate::tcb::Tcb;

/// A summary of the segments that an acknowledgement removed. The originals are the segments that
/// were neither retransmitted nor selectively acknowledged.
#[derive(Debug, Default)]
struct Removed {
    /// The transmission time of the first original.
    first: Option<Instant>,
    /// The transmission time of the last original.
    last: Option<Instant>,
    /// The number of all removed segments.
    packets: u64,
    /// The sequence number of the first original.
    lowest: Option<u64>,
}

impl Linux {
    /// Removes the cumulatively acknowledged segments, and takes the round-trip samples. Passes the
    /// controller its sample, and returns this sample. `prior_fack` is the end of the highest
    /// segment tagged S before the acknowledgement.
    pub(super) fn clean_rtx_queue(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        prior_fack: u64,
        ack: &mut AckState,
    ) -> Ack {
        let prior_sacked = tcb.board.sacked_out();
        let removed = self.remove_acknowledged(tcb, header, ack);
        let now = tcb.now();
        let mut seq_rtt = None;
        if let (Some(first), Some(last), false) =
            (removed.first, removed.last, ack.has(flag::RETRANS_DATA_ACKED))
        {
            seq_rtt = Some(now.since(first));
            ack.cc_rtt = Some(now.since(last));
            let is_lone = removed.packets == 1
                && prior_sacked == 0
                && ack.acked_bytes < u64::from(tcb.window.mss)
                && ack.rate.prior_delivered + 1 == tcb.rate.delivered
                && !ack.has(flag::CA_ALERT);
            if is_lone {
                ack.set(flag::MAYBE_DELAYED);
            }
        }
        let mut sack_rtt = None;
        if let (Some(first), Some(last)) = (ack.first_sacked, ack.last_sacked) {
            sack_rtt = Some(now.since(first));
            ack.cc_rtt = Some(now.since(last));
        }
        let measured = self.update_rtt(tcb, header, seq_rtt.or(sack_rtt), ack);
        if ack.has(flag::ACKED) {
            ack.set(flag::SET_XMIT_TIMER);
            self.check_filled_hole(tcb, &removed, (prior_fack, prior_sacked), ack);
        } else if let (true, Some(rtt), Some(front)) = (measured, sack_rtt, tcb.board.front()) {
            // Data that was sent after the head's last transmission does not restart the timer,
            // because it could delay the timeout indefinitely.
            if rtt > now.since(front.sent_at) {
                ack.set(flag::SET_XMIT_TIMER);
            }
        }
        let sample = self.ack_sample(tcb, ack);
        tcb.cc.on_sample(&mut tcb.window, &sample);
        sample
    }

    /// Removes segments that were sent once and are acknowledged, and measures the round trip. Does
    /// what [`Self::clean_rtx_queue`] does for such segments. The last segment was also the last to
    /// be sent, so it gives the controller's round-trip sample.
    #[expect(
        clippy::inline_always,
        reason = "nearly every acknowledgement passes; a call costs 1 % of a run"
    )]
    #[inline(always)]
    pub(super) fn remove_originals(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        acked: &Originals,
        ack: &mut AckState,
    ) -> Ack {
        let mut last = acked.last;
        tcb.board.remove_originals(acked);
        ack.set(flag::DATA_ACKED | flag::SET_XMIT_TIMER);
        ack.acked_bytes = acked.bytes;
        tcb.rate.delivered += u64::from(acked.packets);
        self.rack.advance(tcb, &last);
        tcb.rate.on_delivered(&mut last, &mut ack.rate);
        let now = tcb.clock.now;
        ack.cc_rtt = Some(now.since(last.sent_at));
        let is_lone = acked.packets == 1
            && acked.bytes < u64::from(tcb.window.mss)
            && ack.rate.prior_delivered + 1 == tcb.rate.delivered;
        if is_lone {
            ack.set(flag::MAYBE_DELAYED);
        }
        self.update_rtt(tcb, header, Some(now.since(acked.first_sent)), ack);
        let sample = self.ack_sample(tcb, ack);
        tcb.cc.on_sample(&mut tcb.window, &sample);
        sample
    }

    /// Removes the segments below `snd_una`, and returns a summary of them.
    #[inline]
    fn remove_acknowledged(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &mut AckState,
    ) -> Removed {
        let mut removed = Removed::default();
        while let Some(front) = tcb.board.front() {
            if front.end() > tcb.snd.una {
                if front.is_sacked() {
                    ack.set(flag::SACK_RENEGING);
                }
                break;
            }
            let mut sent = *front;
            let flags = sent.flags;
            ack.set(flag::DATA_ACKED);
            ack.acked_bytes += u64::from(sent.len);
            removed.packets += 1;
            if flags & ANY_RETRANS != 0 {
                ack.set(flag::RETRANS_DATA_ACKED);
            } else if flags & SACKED == 0 {
                removed.first = removed.first.or(Some(sent.sent_at));
                removed.last = Some(sent.sent_at);
                removed.lowest = removed.lowest.or(Some(sent.seq));
                if sent.end() <= self.recovery.high_seq() {
                    ack.set(flag::ORIG_SACK_ACKED);
                }
            }
            if flags & SACKED == 0 && tcb.options.sack {
                tcb.rate.delivered += 1;
                if !is_spurious_retransmission(flags, sent.sent_at, header) {
                    self.rack.advance(tcb, &sent);
                }
            }
            tcb.rate.on_delivered(&mut sent, &mut ack.rate);
            tcb.board.pop();
        }
        removed
    }

    /// Records reordering if an original filled a hole. Without SACK, removes the counted duplicate
    /// acknowledgements that stood for the acknowledged segments.
    fn check_filled_hole(
        &mut self,
        tcb: &mut Tcb,
        removed: &Removed,
        (prior_fack, prior_sacked): (u64, u32),
        ack: &mut AckState,
    ) {
        if !tcb.options.sack {
            self.remove_emulated_sacks(tcb, removed.packets);
            if ack.has(flag::RETRANS_DATA_ACKED) {
                ack.clear(flag::ORIG_SACK_ACKED);
            }
            return;
        }
        if let Some(lowest) = removed.lowest
            && lowest < prior_fack
        {
            self.reordering.on_overtaken(tcb, lowest);
        }
        tcb.board.discount_lost_hint(prior_sacked - tcb.board.sacked_out());
    }

    /// Adds a round-trip sample (`tcp_ack_update_rtt`). The echo of a timestamp is used only if
    /// retransmissions make the direct measurement ambiguous (Karn). Returns whether there was a
    /// sample.
    #[expect(clippy::inline_always, reason = "keeps the state of an acknowledgement in registers")]
    #[inline(always)]
    pub(super) fn update_rtt(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        sample: Option<Duration>,
        ack: &mut AckState,
    ) -> bool {
        let mut sample = sample;
        let echoes = header.timestamps && header.ts_ecr != 0;
        if sample.is_none() && echoes && ack.has(flag::ACKED) {
            let millis = tcb.clock.timestamp().wrapping_sub(header.ts_ecr);
            if millis < i32::MAX as u32 / 1_000 {
                sample = Some(Duration::from_millis(u64::from(millis.max(1))));
                ack.cc_rtt = sample;
            }
        }
        let Some(rtt) = sample else { return false };
        let cc_rtt = ack.cc_rtt.unwrap_or(rtt);
        // A sample that a delayed acknowledgement may have lengthened does not count. If every
        // acknowledgement is delayed, such a sample would become the minimum when the current
        // minimum expires.
        let is_delayed =
            ack.has(flag::MAYBE_DELAYED) && tcb.rtt.min().is_some_and(|min| cc_rtt > min);
        if !is_delayed {
            tcb.rtt.sample_min(cc_rtt, tcb.clock.now);
        }
        let round = (tcb.snd.una, tcb.snd.nxt);
        self.rtt.sample(&mut tcb.rtt, rtt, round, &tcb.clock);
        self.zero_window.reset();
        true
    }
}

/// Returns whether the peer's echo shows that a segment arrived before its retransmission at
/// `sent_at`.
#[inline]
fn is_spurious_retransmission(flags: u8, sent_at: Instant, header: &TcpHeader) -> bool {
    flags & ANY_RETRANS != 0 && echoes_before(header, Clock::timestamp_of(sent_at))
}

/// Returns whether the peer echoes a timestamp that is earlier than `stamp`.
#[inline]
pub(super) fn echoes_before(header: &TcpHeader, stamp: u32) -> bool {
    header.timestamps && header.ts_ecr != 0 && later_by(header.ts_ecr, stamp) < 0
}
