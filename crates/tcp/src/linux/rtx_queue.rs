//! What is acknowledged leaves the queue and gives a round trip: `tcp_clean_rtx_queue`,
//! `tcp_ack_update_rtt`.

use aqmlab_core::{Duration, Instant, TcpHeader};

use super::ack::AckState;
use super::flag;
use crate::cc::Ack;
use crate::common::clock::{Clock, later_by};
use crate::common::scoreboard::{ANY_RETRANS, EVER_RETRANS, LOST, RETRANS, SACKED};
use crate::connection::Connection;

/// The times found while removing what was acknowledged.
#[derive(Debug, Default)]
struct Removed {
    first: Option<Instant>,
    last: Option<Instant>,
    packets: u64,
    /// The lowest original among them that was never selectively acknowledged.
    lowest: Option<u64>,
}

impl Connection {
    /// Removes what is cumulatively acknowledged and measures the round trip.
    pub(super) fn clean_queue(
        &mut self,
        header: &TcpHeader,
        prior_fack: u64,
        ack: &mut AckState,
    ) -> Ack {
        let prior_sacked = self.board.sacked_out;
        let removed = self.remove_acknowledged(header, ack);
        let now = self.now();
        let mut seq_rtt = None;
        if let (Some(first), Some(last), false) =
            (removed.first, removed.last, ack.has(flag::RETRANS_DATA_ACKED))
        {
            seq_rtt = Some(now.since(first));
            ack.cc_rtt = Some(now.since(last));
            let lone = removed.packets == 1
                && prior_sacked == 0
                && ack.acked_bytes < u64::from(self.window.mss)
                && ack.rate.prior_delivered + 1 == self.rate.delivered
                && !ack.has(flag::CA_ALERT);
            if lone {
                ack.flags |= flag::MAYBE_DELAYED;
            }
        }
        let mut sack_rtt = None;
        if let (Some(first), Some(last)) = (ack.first_sacked, ack.last_sacked) {
            sack_rtt = Some(now.since(first));
            ack.cc_rtt = Some(now.since(last));
        }
        let measured = self.update_rtt(header, seq_rtt.or(sack_rtt), ack);
        if ack.has(flag::ACKED) {
            ack.flags |= flag::SET_XMIT_TIMER;
            self.check_filled_hole(&removed, prior_fack, prior_sacked, ack);
        } else if let (true, Some(rtt), Some(front)) = (measured, sack_rtt, self.board.front()) {
            // Not if the sample is of data sent before the head was last retransmitted: the
            // timeout could be put off for ever.
            if rtt > now.since(front.sent) {
                ack.flags |= flag::SET_XMIT_TIMER;
            }
        }
        let sample = self.ack_sample(ack);
        self.cc.on_sample(&mut self.window, &sample);
        sample
    }

    /// Takes everything below `snd_una` off the queue.
    #[inline]
    fn remove_acknowledged(&mut self, header: &TcpHeader, ack: &mut AckState) -> Removed {
        let mut removed = Removed::default();
        while let Some(front) = self.board.front() {
            if front.end() > self.snd.una {
                if front.is(SACKED) {
                    ack.flags |= flag::SACK_RENEGING;
                }
                break;
            }
            let mut sent = *front;
            let flags = sent.flags;
            ack.flags |= flag::DATA_ACKED;
            ack.acked_bytes += u64::from(sent.len);
            removed.packets += 1;
            if flags & ANY_RETRANS != 0 {
                if flags & RETRANS != 0 {
                    self.board.retrans_out -= 1;
                }
                ack.flags |= flag::RETRANS_DATA_ACKED;
            } else if flags & SACKED == 0 {
                removed.first = removed.first.or(Some(sent.sent));
                removed.last = Some(sent.sent);
                removed.lowest = removed.lowest.or(Some(sent.seq));
                if sent.end() <= self.recovery.high_seq {
                    ack.flags |= flag::ORIG_SACK_ACKED;
                }
            }
            if flags & SACKED != 0 {
                self.board.sacked_out -= 1;
            } else if self.options.sack {
                self.rate.delivered += 1;
                if !Self::is_spurious_retransmission(flags, sent.sent, header) {
                    self.rack_advance(flags, sent.end(), sent.sent);
                }
            }
            if flags & LOST != 0 {
                self.board.lost_out -= 1;
            }
            self.rate.on_delivered(&mut sent, &mut ack.rate);
            self.board.pop();
        }
        removed
    }

    /// Whether the peer's echo shows that it had the segment before the retransmission.
    #[inline]
    fn is_spurious_retransmission(flags: u8, sent: Instant, header: &TcpHeader) -> bool {
        flags & (RETRANS | EVER_RETRANS) != 0
            && Self::echo_before(header, Clock::timestamp_of(sent))
    }

    /// Whether the peer's echo is of a segment sent before `stamp`.
    #[inline]
    pub(crate) fn echo_before(header: &TcpHeader, stamp: u32) -> bool {
        header.timestamps && header.ts_ecr != 0 && later_by(header.ts_ecr, stamp) < 0
    }

    /// A hole that fills without a retransmission was a case of reordering; without SACK,
    /// duplicates stood for what has now been acknowledged.
    fn check_filled_hole(
        &mut self,
        removed: &Removed,
        prior_fack: u64,
        prior_sacked: u32,
        ack: &mut AckState,
    ) {
        if !self.options.sack {
            self.remove_emulated_sacks(removed.packets);
            if ack.has(flag::RETRANS_DATA_ACKED) {
                ack.flags &= !flag::ORIG_SACK_ACKED;
            }
            return;
        }
        if let Some(lowest) = removed.lowest
            && lowest < prior_fack
        {
            self.check_reordering(lowest);
        }
        if let Some((_, count)) = &mut self.board.lost_hint {
            *count = count.saturating_sub(prior_sacked - self.board.sacked_out);
        }
    }

    /// Linux `tcp_ack_update_rtt`: the echo of a timestamp is used only where retransmissions
    /// make the direct measurement ambiguous (Karn). Returns whether there was a sample.
    pub(crate) fn update_rtt(
        &mut self,
        header: &TcpHeader,
        sample: Option<Duration>,
        ack: &mut AckState,
    ) -> bool {
        let mut sample = sample;
        let echoed = header.timestamps && header.ts_ecr != 0;
        if sample.is_none() && echoed && ack.has(flag::ACKED) {
            let millis = self.clock.timestamp().wrapping_sub(header.ts_ecr);
            if millis < i32::MAX as u32 / 1_000 {
                sample = Some(Duration::from_millis(u64::from(millis.max(1))));
                ack.cc_rtt = sample;
            }
        }
        let Some(rtt) = sample else { return false };
        let cc_rtt = ack.cc_rtt.unwrap_or(rtt);
        // Acknowledgements that are always delayed would make the minimum creep up.
        let delayed =
            ack.has(flag::MAYBE_DELAYED) && self.rtt.min().is_some_and(|min| cc_rtt > min);
        if !delayed {
            self.rtt.sample_min(cc_rtt, self.clock.now);
        }
        self.rtt.sample(rtt, self.snd.una, self.snd.nxt, &self.clock);
        self.recovery.backoff = 0;
        true
    }

    /// A sample from the handshake.
    pub(crate) fn handshake_rtt(&mut self, header: &TcpHeader, direct: Option<Duration>) {
        let mut ack = AckState::new(self.snd.una, flag::SYN_ACKED);
        ack.cc_rtt = direct;
        self.update_rtt(header, direct, &mut ack);
    }
}
