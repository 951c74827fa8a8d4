//! TCP small queues: the limit on a connection's segments in the queue of its host. If the host has
//! a queue of its own, the driver reports the memory of these segments by `note_waiting`, and
//! segments wait. Otherwise the limit only divides the bursts that are sent at one time into parts,
//! which RACK distinguishes.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_small_queue_check`). The limit is two bursts or
//! the data of a millisecond at the pacing rate, whichever is more, and at most
//! `tcp_limit_output_bytes` unless the connection paces. Retransmissions may fill the queue to twice
//! this limit. In Linux 3.13 to 3.18 (`tcp_write_xmit` of 3.14), the limit is
//! `tcp_limit_output_bytes`, or the data of a millisecond if that is more.
//!
//! Differences: a host without a queue of its own sends all parts at the same time. Only RACK
//! regards a part as sent a microsecond after the part before. If such a host sends twice at one
//! time, for example for two writes of its application, RACK regards both times as equal. On Linux
//! the second time is later. Retransmissions are not divided into parts. The limit is that of a
//! full burst; Linux computes it from the memory of the next `skb`, so a smaller `skb` at the end of
//! the data waits earlier. The sender does not cork automatically (`tcp_should_autocork`). On Linux
//! a small write waits while other segments of the connection are in the queue of the host, so that
//! later writes may extend its segment. If the queue of the host drops a segment, Linux keeps the
//! segment as unsent and reduces the congestion window (`tcp_enter_cwr`). Here the segment counts as
//! sent, and the sender recovers it as it recovers a loss on the path. In both cases the sender
//! sends no more segments before its next event. Linux does not retransmit a segment while its
//! original is still in the queue of the host (`skb_still_in_host_queue`); here the sender does.

use aqmlab_core::hint::rare;
use aqmlab_core::{Bytes, TcpFlags, TcpHeader};

use super::Linux;
use crate::tcb::Tcb;

/// The memory of a segment with data in bytes, including its header and bookkeeping
/// (`skb->truesize`). On Linux, the segments of a burst share one `skb`, so a full-sized segment has
/// less, and a small one has some 1,300 bytes. The value matters only if the limit is the data of a
/// millisecond or `tcp_limit_output_bytes`, because two bursts are a number of such segments.
const SEGMENT_MEMORY: u64 = 2_304;

/// The memory of a bare acknowledgement in bytes (`skb_set_tcp_pure_ack`).
const ACK_MEMORY: u64 = 2;

/// Returns the memory of a segment in the queue of its host, for the reports of the driver to
/// [`Connection::note_waiting`](crate::Connection::note_waiting).
pub fn queued_memory(header: &TcpHeader) -> Bytes {
    let has_control = header.flags.has_any(TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST));
    Bytes(if header.payload > 0 || has_control { SEGMENT_MEMORY } else { ACK_MEMORY })
}

/// The connection's segments in the queue of its host.
#[derive(Debug, Default)]
pub(super) struct Tsq {
    /// The memory of these segments (`sk_wmem_alloc`); `None` if the driver does not report it.
    memory: Option<u64>,
    /// The largest multiple of the limit at which segments are held back, or 0 if none are
    /// (`TSQ_THROTTLED`).
    throttled_at: u64,
    /// Whether segments that were held back may be sent.
    is_released: bool,
    /// The parts of the train that is being sent.
    parts: Parts,
}

/// The parts of a train, which consists of the bursts of new data that one call of
/// [`Linux::write_xmit`] sends. There is only one part if the driver reports the memory of the
/// queue.
///
/// A host without a queue of its own sends a train at one time. Linux sends as many bursts as the
/// limit permits, usually two, and sends the next part after the host has passed these packets on.
#[derive(Debug, Default)]
struct Parts {
    /// The number of the current part, from 0.
    number: u8,
    /// The memory of the segments of the current part.
    memory: u64,
    /// The number of bursts in all parts so far.
    bursts: u32,
}

impl Tsq {
    /// Records that a segment was sent to the queue.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        if let Some(memory) = &mut self.memory {
            *memory += SEGMENT_MEMORY;
        }
    }

    /// Returns whether the driver reports the memory of the queue.
    #[inline]
    pub(super) const fn counts_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns the number of the current part of the train.
    #[inline]
    pub(super) const fn part(&self) -> u8 {
        self.parts.number
    }

    /// Returns whether segments that were held back may now be sent. Returns true only once per
    /// release.
    pub(super) fn take_release(&mut self) -> bool {
        std::mem::take(&mut self.is_released)
    }

    /// Returns whether the queue has reached `times` the limit. A connection with only one
    /// outstanding segment is never held back (as of Linux 6.1.60).
    fn is_full(&self, tcb: &Tcb, times: u64) -> bool {
        let queued = self.memory.unwrap_or(0);
        let is_beyond = |bound: u64| queued >= bound.saturating_mul(times);
        tcb.tsq_bound().is_some_and(is_beyond) && tcb.board.packets_out() > 1
    }
}

impl Linux {
    /// Begins the first part of a train.
    #[inline]
    pub(super) const fn begin_train(&mut self) {
        self.tsq.parts = Parts { number: 0, memory: 0, bursts: 0 };
    }

    /// Begins the next part if the limit does not permit another burst in the current part.
    #[inline]
    pub(super) fn divide_train(&mut self, tcb: &Tcb) {
        let parts = &self.tsq.parts;
        // The limit permits two bursts, unless the profile states a smaller limit.
        let may_exceed =
            parts.bursts > 1 || (parts.bursts > 0 && parts.memory >= tcb.profile.small_queue);
        if may_exceed && self.tsq.memory.is_none() {
            rare();
            self.divide_at_limit(tcb);
        }
    }

    #[inline(never)]
    fn divide_at_limit(&mut self, tcb: &Tcb) {
        let parts = &mut self.tsq.parts;
        if tcb.tsq_bound().is_some_and(|bound| parts.memory >= bound) {
            (parts.number, parts.memory) = (parts.number.saturating_add(1), 0);
        }
    }

    /// Adds a burst of `segments` segments to the current part.
    #[inline]
    pub(super) const fn add_burst(&mut self, segments: u64) {
        self.tsq.parts.memory += segments * SEGMENT_MEMORY;
        self.tsq.parts.bursts += 1;
    }

    /// Updates the memory of this connection's segments in the queue of its host. Returns whether
    /// segments that were held back may be sent.
    pub(crate) fn note_waiting(&mut self, tcb: &mut Tcb, memory: Bytes) -> bool {
        let unpolled = tcb.out.iter().map(|segment| queued_memory(&segment.header).0);
        self.tsq.memory = Some(memory.0 + unpolled.sum::<u64>());
        let released = self.tsq.throttled_at > 0 && !self.tsq.is_full(tcb, self.tsq.throttled_at);
        if released {
            self.tsq.throttled_at = 0;
            self.tsq.is_released = true;
            tcb.app_acted = true;
        }
        released
    }

    /// Returns whether the next segment of new data must wait for the queue or for its departure
    /// time. If it must, records that segments are held back, or sets the pacing timer.
    #[inline]
    pub(super) fn must_wait(&mut self, tcb: &mut Tcb) -> bool {
        self.must_wait_for_queue(tcb, 1) || tcb.is_paced()
    }

    /// Returns whether a retransmission must wait for the queue, whose limit is twice the limit for
    /// new data. If it must, records that segments are held back.
    #[inline]
    pub(super) fn must_retransmission_wait(&mut self, tcb: &Tcb) -> bool {
        self.must_wait_for_queue(tcb, 2)
    }

    #[inline]
    fn must_wait_for_queue(&mut self, tcb: &Tcb, times: u64) -> bool {
        if self.tsq.memory.is_some() {
            rare();
            if self.tsq.is_full(tcb, times) {
                self.tsq.throttled_at = self.tsq.throttled_at.max(times);
                return true;
            }
        }
        false
    }
}

impl Tcb {
    /// Returns the limit in bytes on the memory of the connection's segments in the queue of its
    /// host, or `None` for a host without a limit.
    fn tsq_bound(&self) -> Option<u64> {
        let most = self.profile.small_queue;
        if most == 0 {
            return None;
        }
        let millisecond = self.pacing_rate() >> 10;
        let least = self.profile.small_queue_least;
        if least > 0 {
            return Some(least.max(millisecond));
        }
        let burst = self.tso_segments(self.window.mss);
        let wanted = (2 * burst * SEGMENT_MEMORY).max(millisecond);
        Some(if self.paces { wanted } else { wanted.min(most) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::linux::testing;

    /// Returns the part of each of `bursts` bursts of `segments` segments.
    fn parts(linux: &mut Linux, tcb: &Tcb, segments: u64, bursts: usize) -> Vec<u8> {
        linux.begin_train();
        let one = |_| {
            linux.divide_train(tcb);
            linux.add_burst(segments);
            linux.tsq.part()
        };
        (0..bursts).map(one).collect()
    }

    #[test]
    fn a_part_ends_at_the_limit() {
        let (mut linux, mut tcb) = testing::open("reno");
        assert_eq!(parts(&mut linux, &tcb, 2, 6), [0, 0, 1, 1, 2, 2]);
        assert_eq!(parts(&mut linux, &tcb, 1, 6), [0, 0, 0, 0, 1, 1]);
        assert_eq!(parts(&mut linux, &tcb, 2, 2_000).last(), Some(&255), "the number saturates");
        // The limit is the data of a millisecond: 282,812 bytes, 123 segments.
        tcb.rtt.srtt8 = 80_000_000;
        (tcb.window.cwnd, tcb.window.ssthresh) = (1_000, u64::MAX);
        assert_eq!(parts(&mut linux, &tcb, 41, 7), [0, 0, 0, 1, 1, 1, 2]);
        linux.note_waiting(&mut tcb, Bytes(0));
        assert_eq!(parts(&mut linux, &tcb, 41, 7), [0; 7], "the driver reports the memory");
        let (mut linux, tcb) = testing::with(Profile::windows(), "compound", None);
        assert_eq!(parts(&mut linux, &tcb, 1, 100), [0; 100], "no limit");
        let profile = Profile { small_queue: 1, ..Profile::linux() };
        let (mut linux, tcb) = testing::with(profile, "reno", None);
        assert_eq!(parts(&mut linux, &tcb, 2, 3), [0, 1, 2], "a limit below a burst");
    }

    #[test]
    fn two_bursts_may_always_wait_and_a_millisecond_of_a_fast_flow() {
        let (_, mut tcb) = testing::open("reno");
        assert_eq!(tcb.tsq_bound(), Some(2 * 2 * SEGMENT_MEMORY));
        tcb.rtt.srtt8 = 80_000_000;
        tcb.window.cwnd = 1_000;
        tcb.window.ssthresh = 1_000;
        // 1.2 windows of 1.448 MB in 10 ms are 173.76 MB/s. 1/1024 s of that rate may be queued.
        // Two bursts of 45 segments are more than this, so they are the limit.
        assert_eq!(tcb.tsq_bound(), Some(2 * 45 * SEGMENT_MEMORY));
        tcb.window.ssthresh = u64::MAX;
        assert_eq!(tcb.tsq_bound(), Some(289_600_000 >> 10));
        tcb.window.cwnd = 1_000_000;
        assert_eq!(tcb.tsq_bound(), Some(1 << 20));
    }

    /// Returns a connection with two outstanding segments, of which the first is lost.
    fn with_a_lost_segment() -> (Linux, Tcb) {
        let (linux, mut tcb) = testing::open("reno");
        testing::send(&mut tcb, 2);
        let head = tcb.board.front_id().expect("a segment is outstanding");
        tcb.board.mark_lost(head);
        tcb.snd.wnd = 1 << 20;
        (linux, tcb)
    }

    /// `tcp_small_queue_check` has the argument `factor` 1 for retransmissions.
    #[test]
    fn a_retransmission_waits_only_at_twice_the_limit() {
        let (mut linux, mut tcb) = with_a_lost_segment();
        let limit = tcb.tsq_bound().expect("Linux has a limit");
        linux.note_waiting(&mut tcb, Bytes(2 * limit));
        assert!(linux.must_wait(&mut tcb), "new data");
        linux.retransmit_lost(&mut tcb);
        assert_eq!(tcb.out.len(), 0, "the queue has twice the limit");
        let released = linux.note_waiting(&mut tcb, Bytes(2 * limit - 1));
        assert!(released && linux.tsq.take_release());
        linux.retransmit_lost(&mut tcb);
        assert_eq!(tcb.out.len(), 1);
        assert!(linux.must_wait(&mut tcb), "new data still waits");
        assert!(!linux.note_waiting(&mut tcb, Bytes(limit)));
    }

    /// Tests the difference stated in the head (`skb_still_in_host_queue`): the original of the lost
    /// segment is still in the queue.
    #[test]
    fn a_segment_is_retransmitted_although_its_original_is_in_the_queue() {
        let (mut linux, mut tcb) = with_a_lost_segment();
        linux.note_waiting(&mut tcb, Bytes(2 * SEGMENT_MEMORY));
        linux.retransmit_lost(&mut tcb);
        assert_eq!(tcb.out.len(), 1);
    }

    /// Tests the difference stated in the head (`tcp_should_autocork`): only the limit holds a
    /// segment back.
    #[test]
    fn a_small_write_does_not_wait_for_the_segments_in_the_queue() {
        let (mut linux, mut tcb) = testing::open("reno");
        testing::send(&mut tcb, 2);
        linux.note_waiting(&mut tcb, Bytes(2 * SEGMENT_MEMORY));
        assert!(!linux.must_wait(&mut tcb));
        linux.note_waiting(&mut tcb, Bytes(4 * SEGMENT_MEMORY));
        assert!(linux.must_wait(&mut tcb));
    }

    #[test]
    fn a_bare_acknowledgement_takes_two_bytes_of_the_queue() {
        let memory =
            |payload, flags| queued_memory(&TcpHeader { payload, flags, ..TcpHeader::default() }).0;
        let ack = TcpFlags::ACK;
        assert_eq!(memory(0, ack), 2);
        assert_eq!(memory(1, ack), SEGMENT_MEMORY);
        assert_eq!(memory(0, ack.with(TcpFlags::FIN)), SEGMENT_MEMORY);
    }

    #[test]
    fn linux_3_17_has_a_fixed_bound_or_a_millisecond_of_a_fast_flow() {
        let (_, mut tcb) = testing::with(Profile::linux_3_17(), "reno", None);
        assert_eq!(tcb.tsq_bound(), Some(131_072));
        tcb.rtt.srtt8 = 8_000_000;
        (tcb.window.cwnd, tcb.window.ssthresh) = (1_000, 1_000);
        // 1/1024 s at 1.2 windows of 1.448 MB per millisecond, which is 1737.6 MB/s.
        assert_eq!(tcb.tsq_bound(), Some(1_737_600_000 >> 10));
    }

    #[test]
    fn a_host_may_have_no_bound() {
        let (_, tcb) = testing::with(Profile::windows(), "compound", None);
        assert_eq!(tcb.tsq_bound(), None);
    }
}
