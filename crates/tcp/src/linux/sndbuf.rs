//! The send buffer, which counts memory, not payload.
//!
//! Source: Linux 6.1 `net/ipv4/tcp.c` (`tcp_sendmsg_locked`), `tcp_input.c` (`tcp_sndbuf_expand`,
//! `tcp_should_expand_sndbuf`, `tcp_new_space`), `include/net/sock.h` (`sk_stream_memory_free`,
//! `sk_stream_is_writeable`).
//!
//! Written data is laid out in `skb`s of up to 64 KiB. A new `skb` may begin while the memory is
//! below the limit, so the buffer oversteps the limit by up to one `skb`. A writer that found no
//! space is woken when a third of the limit is free. Each check of that grows the limit while the
//! congestion window is not full, and there is a check after each burst.
//!
//! An `skb` carries PSH (`tcp_mark_push`) if a write ended in it and the next one did not continue
//! it, or if it was full and more than half a window had been written since the last PSH.

use std::collections::VecDeque;

use super::Linux;
use super::output::Push;
use super::tso::{GSO_MAX, MAX_TCP_HEADER};
use crate::tcb::Tcb;
use crate::{Event, Profile};

/// Linux doubles the value of `SO_SNDBUF`.
const DOUBLED: u64 = 2;
/// The buffer before the connection is open.
const UNOPENED: u64 = 1 << 16;
/// The bytes of one `write`.
const WRITE: u64 = 65_536;
/// The cost of an `skb` beyond its data, with its page list: `SKB_TRUESIZE(0)`.
const SHARED_INFO: u64 = 320;
const SKB: u64 = 256;

/// An `skb` of the write queue.
#[derive(Clone, Copy, Debug)]
struct Skb {
    end: u64,
    /// Whether its last segment carries PSH in every transmission.
    push: bool,
}

/// Whether data is the first of a `write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    First,
    Rest,
}

/// The memory of the send buffer.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// The memory that it may take (`sk_sndbuf`).
    limit: u64,
    /// Whether the limit may grow (`!SOCK_SNDBUF_LOCK`).
    grows: bool,
    /// The payload that it may take before the connection is open.
    unopened: u64,
    /// The ends of the `skb`s that were sent and are not acknowledged.
    sent: VecDeque<u64>,
    /// The `skb`s that are unsent, whole or in part.
    queued: VecDeque<Skb>,
    /// The end of the data that was last to carry PSH (`pushed_seq`).
    pushed: u64,
}

impl SendBuffer {
    pub(super) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        Self {
            limit: fixed.map_or(profile.send_buffer, |bytes| bytes.saturating_mul(DOUBLED)),
            grows: fixed.is_none() && profile.send_tuning,
            unopened: fixed.unwrap_or(UNOPENED),
            sent: VecDeque::new(),
            queued: VecDeque::new(),
            pushed: 0,
        }
    }

    /// The data up to `end` was sent.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64) {
        self.sent.push_back(end);
        while self.queued.front().is_some_and(|skb| skb.end <= end) {
            self.queued.pop_front();
        }
    }

    /// The end of the `skb` to send next.
    #[inline]
    pub(super) fn head_end(&self) -> Option<u64> {
        self.queued.front().map(|skb| skb.end)
    }

    /// Whether a segment that ends at `end` carries PSH.
    #[inline]
    pub(super) fn pushes_at(&self, end: u64) -> bool {
        self.queued.front().is_some_and(|skb| skb.push && skb.end == end)
    }

    /// Frees the `skb`s below `una`.
    #[inline]
    pub(super) fn free(&mut self, una: u64) {
        while self.sent.front().is_some_and(|end| *end <= una) {
            self.sent.pop_front();
        }
    }

    /// The last `skb` carries PSH; `written` is its end (`tcp_mark_push`).
    fn mark_push(&mut self, written: u64) {
        if let Some(tail) = self.queued.back_mut() {
            tail.push = true;
            self.pushed = written;
        }
    }

    /// Whether more than half of the largest window was written since the last PSH (`forced_push`).
    fn needs_push(&self, tcb: &Tcb) -> bool {
        tcb.snd.written() - self.pushed > tcb.snd.max_window / 2
    }

    /// The memory in use (`sk_wmem_queued`).
    fn memory(&self, tcb: &Tcb) -> u64 {
        let sent = if tcb.board.sacked_out() + tcb.board.retrans_out() == 0 {
            self.sent.len() as u64
        } else {
            tcb.board.skbs(self.sent.iter().copied())
        };
        let skbs = sent + self.queued.len() as u64;
        tcb.snd.buffered() + skbs * tcb.profile.segment_overhead
    }

    /// The bytes that the last `skb` may still take, up to `goal`.
    fn left_in_tail(&self, tcb: &Tcb, goal: u64) -> u64 {
        let start = match self.queued.len() {
            0 => return 0,
            1 => tcb.snd.nxt,
            count => self.queued[count - 2].end,
        };
        (start + goal).saturating_sub(tcb.snd.written())
    }

    /// Grows the limit to the memory of two windows, or three with BBR, of the costliest segments;
    /// `degree` is that of reordering (`tcp_sndbuf_expand`).
    fn expand(&mut self, tcb: &Tcb, degree: u32) {
        if !self.grows {
            return;
        }
        let mss = u64::from(tcb.options.mss_clamp.max(tcb.window.mss));
        let segment = (mss + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two() + SKB;
        let segments = tcb.cwnd_segments().max(10).max(u64::from(degree) + 1);
        let wanted = (tcb.cc.buffered_windows() * segments).saturating_mul(segment);
        self.limit = self.limit.max(wanted.min(tcb.profile.send_buffer_max));
    }
}

impl Tcb {
    /// The bytes of one `skb`: whole segments, and at most half of the peer's largest window
    /// (`tcp_xmit_size_goal`).
    fn size_goal(&self, mss: u32) -> u64 {
        let window = self.snd.max_window;
        let half = if window > 536 { window / 2 } else { window };
        let most = if self.profile.bursts { GSO_MAX } else { u64::from(mss) };
        let goal = if half > 0 { most.min(half) } else { most };
        let mss = u64::from(mss);
        (goal - goal % mss).max(mss)
    }
}

impl Linux {
    /// Sizes the buffer for the transfer.
    pub(super) fn init_sndbuf(&mut self, tcb: &mut Tcb) {
        self.sndbuf.expand(tcb, self.reordering.degree());
        // A write from before the connection opened is still with the application.
        tcb.snd.early = tcb.snd.take_back();
        self.sndbuf.pushed = tcb.snd.nxt;
    }

    /// Adds up to `bytes` to the send buffer, and returns how many it took.
    pub(crate) fn write(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        if !tcb.state.is_synchronized() {
            let taken = bytes.min(self.sndbuf.unopened.saturating_sub(tcb.snd.buffered()));
            tcb.snd.extend(taken);
            taken
        } else if tcb.snd.early > 0 {
            0
        } else {
            self.append(tcb, bytes)
        }
    }

    /// Writes the data that the application has had since before the connection opened.
    pub(super) fn write_early(&mut self, tcb: &mut Tcb) {
        let early = tcb.snd.early;
        if early > 0 {
            tcb.snd.early -= self.append(tcb, early);
            tcb.writer.waits_for_space |= tcb.snd.early > 0;
            tcb.app_acted = true; // a FIN may follow
        }
    }

    /// Adds up to `bytes`, and returns how many. The application writes until nothing is taken, since
    /// the end of a short write may be sent and leave space in the last `skb`.
    fn append(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        let mut taken = 0;
        while taken < bytes {
            match self.write_once(tcb, (bytes - taken).min(WRITE)) {
                0 => break,
                some => taken += some,
            }
        }
        taken
    }

    /// Fills the buffer for an application that writes without end.
    pub(super) fn fill(&mut self, tcb: &mut Tcb) {
        let is_ready = tcb.state.is_synchronized() && !tcb.wakeup.opened;
        let writer = &tcb.writer;
        if !writer.is_unlimited || writer.waits_for_space || tcb.snd.early > 0 || !is_ready {
            return;
        }
        tcb.check_app_limited();
        let mut left = WRITE;
        loop {
            match self.write_once(tcb, left) {
                0 => break,
                taken if taken == left => left = WRITE,
                taken => left -= taken,
            }
        }
        tcb.writer.waits_for_space = true;
    }

    /// One `write`, which sends full `skb`s as it goes. Returns the bytes that were taken.
    fn write_once(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        let goal = tcb.size_goal(tcb.current_mss());
        let mut left = bytes;
        loop {
            let part = if left == bytes { Part::First } else { Part::Rest };
            let taken = self.lay_out(tcb, left, goal, part);
            left -= taken;
            if left == bytes {
                return 0;
            }
            if left == 0 || taken == 0 {
                self.sndbuf.mark_push(tcb.snd.written());
                self.push_pending(tcb);
                return bytes - left;
            }
            if self.sndbuf.left_in_tail(tcb, goal) == 0 {
                self.push_full_skb(tcb);
            }
        }
    }

    /// Lays out up to `bytes` in the last `skb` or in a new one. Returns the bytes, which are none if
    /// there is no space. An `skb` in which a write begins no longer carries PSH.
    fn lay_out(&mut self, tcb: &mut Tcb, bytes: u64, goal: u64, part: Part) -> u64 {
        let mut left = self.sndbuf.left_in_tail(tcb, goal);
        if left == 0 {
            if self.sndbuf.memory(tcb) >= self.sndbuf.limit {
                return 0;
            }
            self.restart_after_idle(tcb);
            self.sndbuf.queued.push_back(Skb { end: tcb.snd.written(), push: false });
            left = goal;
        }
        let taken = left.min(bytes);
        tcb.snd.extend(taken);
        if let Some(tail) = self.sndbuf.queued.back_mut() {
            tail.end += taken;
            tail.push &= part == Part::Rest;
        }
        taken
    }

    /// Sends from a full `skb`: all that may leave if it is to carry PSH, or else one burst if it is
    /// the next to be sent.
    fn push_full_skb(&mut self, tcb: &mut Tcb) {
        if self.sndbuf.needs_push(tcb) {
            self.sndbuf.mark_push(tcb.snd.written());
            self.push_pending(tcb);
        } else if self.sndbuf.queued.len() == 1 {
            self.write_xmit(tcb, Push::One);
        }
    }

    /// Wakes an application that waits for space, when a third of the buffer is free
    /// (`tcp_check_space`).
    #[inline]
    pub(super) fn check_space(&mut self, tcb: &mut Tcb) {
        if tcb.writer.waits_for_space && !tcb.wakeup.has_space && self.has_new_space(tcb) {
            tcb.wakeup.has_space = true;
            self.wake(tcb);
        }
    }

    /// Whether a writer that waits for space has some again (`tcp_new_space`).
    fn has_new_space(&mut self, tcb: &Tcb) -> bool {
        if tcb.has_cwnd_space() {
            self.sndbuf.expand(tcb, self.reordering.degree());
        }
        let limit = self.sndbuf.limit;
        // The payload alone decides in most cases, without the cost of the `skb`s.
        if tcb.snd.buffered() > limit / 3 * 2 {
            return false;
        }
        let memory = self.sndbuf.memory(tcb);
        limit.saturating_sub(memory) >= memory / 2 && memory < limit
    }

    /// The application is awake and there is space: it writes, or learns that it may.
    pub(super) fn use_space(&mut self, tcb: &mut Tcb) {
        tcb.writer.waits_for_space = false;
        self.write_early(tcb);
        if tcb.writer.waits_for_space {
            return;
        }
        if tcb.writer.is_unlimited {
            self.fill(tcb);
            self.push_pending(tcb);
        } else if !tcb.snd.fin_wanted {
            tcb.events.push_back(Event::Writable);
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::TcpFlags;

    use super::*;
    use crate::linux::testing;

    fn connection(cc: &str, send_buffer: Option<u64>) -> (Linux, Tcb) {
        let (mut linux, mut tcb) = testing::with(Profile::linux(), cc, send_buffer);
        linux.init_sndbuf(&mut tcb);
        (linux, tcb)
    }

    /// `tcp_sndbuf_expand`: 1460 + 256 + 320 bytes are 2048, and an `skb` besides.
    #[test]
    fn there_is_space_for_two_windows_or_three_with_bbr() {
        for (cc, cwnd, want) in [("reno", 10, 46_080), ("bbr", 10, 69_120), ("reno", 50, 230_400)] {
            let (mut linux, mut tcb) = connection(cc, None);
            tcb.window.cwnd = cwnd;
            linux.sndbuf.expand(&tcb, 3);
            assert_eq!(linux.sndbuf.limit, want, "{cc} {cwnd}");
        }
        let (mut fixed, tcb) = connection("reno", Some(64_000));
        fixed.sndbuf.expand(&tcb, 3);
        assert_eq!(fixed.sndbuf.limit, 128_000);
    }

    /// 45 segments fill an `skb`, and a second one may begin below the limit.
    #[test]
    fn the_limit_is_overstepped_by_less_than_an_skb() {
        let (mut linux, mut tcb) = connection("reno", Some(40_000));
        assert_eq!(linux.append(&mut tcb, 1_000_000), 2 * 65_160);
        assert_eq!(linux.sndbuf.memory(&tcb), 2 * (65_160 + 1_280));
        assert_eq!(linux.append(&mut tcb, 1), 0);
        assert_eq!(linux.sndbuf.head_end(), Some(65_161));
    }

    /// `sk_stream_is_writeable`: half of the memory in use must be free.
    #[test]
    fn a_writer_is_woken_when_a_third_is_free() {
        let (mut linux, mut tcb) = connection("reno", Some(48_000));
        for (bytes, want) in [(62_720, true), (1, false)] {
            linux.append(&mut tcb, bytes);
            let memory = linux.sndbuf.memory(&tcb);
            assert_eq!(linux.has_new_space(&tcb), want, "{memory} in use");
        }
    }

    /// `tcp_mark_push`, and `tcp_sendmsg_locked` when a write continues an `skb`.
    #[test]
    fn an_skb_carries_psh_where_a_write_ended_until_the_next_continues_it() {
        let (mut linux, mut tcb) = connection("reno", None);
        linux.append(&mut tcb, 3_000);
        assert!(linux.sndbuf.pushes_at(3_001));
        linux.lay_out(&mut tcb, 500, 65_160, Part::First);
        assert!(!linux.sndbuf.pushes_at(3_501));
    }

    /// `__tcp_transmit_skb`: PSH at the end of a burst is in the clone, not in the original.
    #[test]
    fn the_end_of_a_burst_carries_psh_only_once() {
        let (mut linux, mut tcb) = connection("reno", None);
        (tcb.window.cwnd, tcb.snd.wnd) = (10, 1 << 20);
        linux.append(&mut tcb, 4 * 1_448);
        linux.push_pending(&mut tcb);
        let push = |flags: TcpFlags| flags.has(TcpFlags::PSH);
        let sent: Vec<bool> = tcb.out.iter().map(|one| push(one.header.flags)).collect();
        let first = tcb.board.front_id().unwrap();
        let kept: Vec<bool> =
            (first..first + 4).map(|id| push(tcb.board.get(id).control())).collect();
        assert_eq!(sent, [false, true, false, true]);
        assert_eq!(kept, [false, false, false, true]);
    }

    /// `tcp_event_new_data_sent` checks the space after each burst, when the window is not full
    /// because another burst follows.
    #[test]
    fn the_limit_grows_with_a_window_that_its_last_burst_fills() {
        let (mut linux, mut tcb) = connection("reno", None);
        (tcb.window.cwnd, tcb.snd.wnd, tcb.writer.waits_for_space) = (20, 1 << 20, true);
        linux.append(&mut tcb, 20 * 1_448);
        linux.push_pending(&mut tcb);
        assert_eq!(u64::from(tcb.board.in_flight()), tcb.cwnd_segments());
        assert_eq!(linux.sndbuf.limit, 20 * 2 * 2_304);
    }
}
