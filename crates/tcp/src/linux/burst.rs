//! Plain bursts: several segments of new data that differ only in their bytes and in PSH.
//!
//! A burst is plain if it carries neither SACK blocks nor ECN bits nor the FIN, and if the host's
//! queue and the controller keep no records of segments. Nearly all bursts of a transfer are plain.
//! Work that is the same for all segments is then done once.
//!
//! [`Linux::send_plain`] does what [`Linux::send_segments`] does for such a burst. A new feature of
//! segments must be added to both, or must make [`Linux::is_plain`] return false.

use aqmlab_core::{Ecn, SackBlocks, TcpFlags, TcpHeader};

use super::Linux;
use super::tso::Burst;
use crate::common::scoreboard::Sent;
use crate::segment::Segment;
use crate::tcb::Tcb;

impl Linux {
    /// Returns whether a burst is plain. Without a shift count, the window of its segments may
    /// differ, so the burst is not plain.
    #[inline]
    pub(super) fn is_plain(&self, tcb: &Tcb, burst: Burst) -> bool {
        burst.bytes > 0
            && !burst.fin
            && !tcb.rcv.sack.is_due()
            && !tcb.options.ecn
            && tcb.options.rcv_shift > 0
            && !tcb.tx_records.are_kept
            && !self.tsq.counts_memory()
    }

    /// Sends a plain burst of `bytes` in segments of up to `mss` bytes. The last segment has the
    /// tags `tags`. Returns the number of segments.
    #[expect(clippy::inline_always, reason = "every burst passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn send_plain(&mut self, tcb: &mut Tcb, bytes: u64, mss: u32, tags: u8) -> u64 {
        self.on_data_sent(tcb);
        let header = self.header(tcb);
        let mut sent = Sent::new(tcb.snd.nxt, mss, 0);
        (sent.sent_at, sent.part, sent.ends_skb) = (tcb.clock.now, self.tsq.part(), false);
        tcb.rate.on_sent(&mut sent, tcb.board.is_empty());
        let (mut left, mut count) = (bytes, 1);
        while left > u64::from(mss) {
            tcb.send_plain_segment(&header, sent, TcpFlags::default());
            sent.seq += u64::from(mss);
            left -= u64::from(mss);
            count += 1;
        }
        if count > 1 {
            // `send_segments` makes this call before each segment. The header may have changed the
            // adaptive delay, so the second call can differ from the first. Later calls change
            // nothing.
            self.delack.on_data_sent(&tcb.clock);
        }
        let control = if count > 1 { TcpFlags::PSH } else { TcpFlags::default() };
        (sent.len, sent.flags, sent.ends_skb) = (left as u32, sent.flags | tags, true);
        tcb.send_plain_segment(&header, sent, control);
        tcb.count_plain(count, bytes);
        count
    }
}

impl Tcb {
    /// Sends a segment of a plain burst. `control` is the part of its control bits that its
    /// retransmissions do not carry.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn send_plain_segment(&mut self, header: &TcpHeader, sent: Sent, control: TcpFlags) {
        let flags = header.flags.with(sent.control()).with(control);
        let sack = SackBlocks::default();
        let header = TcpHeader { seq: sent.seq, payload: sent.len, flags, sack, ..*header };
        self.out.push(Segment { header, ecn: Ecn::NotEct, retransmission: false });
        self.board.push(sent);
    }

    /// Counts the segments of a plain burst. [`Linux::on_data_sent`] has already counted the first
    /// segment for the pacer.
    #[inline]
    fn count_plain(&mut self, segments: u64, bytes: u64) {
        self.pacer.on_segments_sent(segments - 1);
        self.stats.segments_sent += segments;
        self.stats.data_segments_sent += segments;
        self.stats.bytes_sent += bytes;
        self.snd.nxt += bytes;
        self.snd.max = self.snd.max.max(self.snd.nxt);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Instant, Rng};

    use crate::common::scoreboard::PUSH;
    use crate::linux::testing;
    use crate::linux::tso::Burst;

    #[test]
    fn a_plain_burst_does_the_same_on_both_paths() {
        let mut rng = Rng::stream(1, "burst");
        for _ in 0..500 {
            let mut ends = [testing::open("cubic"), testing::open("cubic")];
            let (outstanding, segments) = (rng.below(3) as u32, 1 + rng.below(5));
            let bytes = segments * 1_000 - rng.below(2) * rng.below(1_000);
            let burst = Burst { bytes, fin: false };
            let tags = if rng.below(2) == 0 { PUSH } else { 0 };
            let (now, received) = (rng.below(50), rng.below(2) == 0);
            let (timestamps, bursts_before) = (rng.below(2) == 0, rng.below(6));
            let loss = rng.below(6);
            for (linux, tcb) in &mut ends {
                (tcb.options.rcv_shift, tcb.options.timestamps) = (7, timestamps);
                testing::send(tcb, outstanding);
                match loss {
                    1 if outstanding > 1 => tcb.board.set_sacked(1),
                    2 if outstanding > 0 => tcb.mark_lost(0),
                    3 if outstanding > 0 => assert!(linux.retransmit(tcb, 0)),
                    _ => {}
                }
                if received {
                    linux.enter_quick_ack(tcb, 1);
                    linux.delack.schedule();
                }
                tcb.clock.set(Instant::from_millis(now));
                for _ in 0..bursts_before {
                    linux.add_burst(2);
                    linux.divide_train(tcb);
                }
                assert!(linux.is_plain(tcb, burst));
            }
            let [(short, one), (long, other)] = &mut ends;
            let count = short.send_plain(one, bytes, 1_000, tags);
            assert_eq!(count, segments);
            assert_eq!(long.send_segments(other, burst, 1_000, tags), segments);
            assert_eq!(testing::state(short, one), testing::state(long, other), "{burst:?}");
        }
    }
}
