//! The send buffer, whose limit applies to memory, not to payload.
//!
//! Source: Linux 6.1 `net/ipv4/tcp.c` (`tcp_sendmsg_locked`), `tcp_input.c` (`tcp_sndbuf_expand`,
//! `tcp_should_expand_sndbuf`, `tcp_new_space`), `include/net/sock.h` (`sk_stream_memory_free`,
//! `sk_stream_is_writeable`).
//!
//! Written data is stored in `skb`s of up to 64 KiB. A new `skb` may begin while the memory is
//! below the limit, so the buffer exceeds the limit by up to one `skb`. A writer that found no
//! space wakes when a third of the limit is free. This condition is checked after each burst and
//! after each segment received. Each check raises the limit if the congestion window is not full.
//!
//! An `skb` carries PSH (`tcp_mark_push`) in two cases. First, a write ended in the `skb`, and the
//! next write did not continue the `skb`. Second, the `skb` was full, and more than half of the
//! peer's largest window had been written since the last PSH.

use std::collections::VecDeque;

use aqmlab_core::hint::rare;

use super::Linux;
use super::sendmsg::Part;
use super::tso::{SHARED_INFO, SK_BUFF};
use crate::cc::MAX_TCP_HEADER;
use crate::tcb::Tcb;
use crate::{Event, Profile};

/// The factor by which Linux multiplies the value of `SO_SNDBUF`.
const DOUBLED: u64 = 2;
/// The maximum payload in bytes before the connection is open, unless the user fixed the buffer.
const UNOPENED: u64 = 1 << 16;

/// An `skb` of the write queue.
#[derive(Clone, Copy, Debug)]
struct Skb {
    end: u64,
    /// Whether the last segment of the `skb` carries PSH in every transmission.
    push: bool,
}

/// The send buffer. Sizes are in bytes.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// The maximum memory (`sk_sndbuf`).
    limit: u64,
    /// The maximum payload before the connection is open.
    unopened: u64,
    /// The `skb`s that are unsent, as a whole or in part.
    queued: VecDeque<Skb>,
    /// The end of the first of `queued`; `u64::MAX` if there is none. Every burst reads it.
    head_end: u64,
    /// The end of the last data that carried PSH (`pushed_seq`).
    pushed: u64,
    /// The greatest number of segments for which the limit was grown; `u64::MAX` if the limit may
    /// not grow (`SOCK_SNDBUF_LOCK`).
    grown_for: u64,
}

impl SendBuffer {
    pub(super) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        let grows = fixed.is_none() && profile.send_tuning;
        Self {
            limit: fixed.map_or(profile.send_buffer, |bytes| bytes.saturating_mul(DOUBLED)),
            unopened: fixed.unwrap_or(UNOPENED),
            queued: VecDeque::new(),
            head_end: u64::MAX,
            pushed: 0,
            grown_for: if grows { 0 } else { u64::MAX },
        }
    }

    /// Returns the number of payload bytes that the buffer still accepts before the connection is
    /// open.
    pub(super) fn unopened_space(&self, buffered: u64) -> u64 {
        self.unopened.saturating_sub(buffered)
    }

    /// Returns whether another `skb` may begin (`sk_stream_memory_free`).
    pub(super) fn has_memory(&self, tcb: &Tcb) -> bool {
        self.memory(tcb) < self.limit
    }

    /// Begins an `skb` at the sequence number `written`.
    pub(super) fn begin_skb(&mut self, written: u64) {
        self.queued.push_back(Skb { end: written, push: false });
        self.update_head_end();
    }

    /// Adds `bytes` to the last `skb`. If a write begins in it, the `skb` no longer carries PSH.
    pub(super) fn extend_skb(&mut self, bytes: u64, part: Part) {
        if let Some(tail) = self.queued.back_mut() {
            tail.end += bytes;
            tail.push &= part == Part::Rest;
        }
        self.update_head_end();
    }

    /// Returns whether exactly one `skb` has unsent data.
    pub(super) fn has_one_skb(&self) -> bool {
        self.queued.len() == 1
    }

    /// Records that a burst that ends at `end` was sent.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64) {
        if self.head_end <= end {
            rare();
            self.remove_sent(end);
        }
    }

    /// Removes the `skb`s up to `end`, which were sent, from the unsent ones.
    #[inline(never)]
    fn remove_sent(&mut self, end: u64) {
        while self.queued.front().is_some_and(|skb| skb.end <= end) {
            self.queued.pop_front();
        }
        self.update_head_end();
    }

    fn update_head_end(&mut self) {
        self.head_end = self.queued.front().map_or(u64::MAX, |skb| skb.end);
    }

    /// Returns the end of the `skb` to send next; `u64::MAX` if there is none.
    #[inline]
    pub(super) const fn head_end(&self) -> u64 {
        self.head_end
    }

    /// Returns whether a segment that ends at `end` carries PSH.
    #[inline]
    pub(super) fn pushes_at(&self, end: u64) -> bool {
        if self.head_end != end {
            return false;
        }
        rare();
        self.queued.front().is_some_and(|skb| skb.push)
    }

    /// Makes the last `skb` carry PSH. `written` is the end of that `skb` (`tcp_mark_push`).
    pub(super) fn mark_push(&mut self, written: u64) {
        if let Some(tail) = self.queued.back_mut() {
            tail.push = true;
            self.pushed = written;
        }
    }

    /// Returns whether more than half of the peer's largest window was written since the last PSH
    /// (`forced_push`).
    pub(super) fn needs_push(&self, tcb: &Tcb) -> bool {
        tcb.snd.written() - self.pushed > tcb.snd.max_window / 2
    }

    /// Returns the memory in use, in bytes (`sk_wmem_queued`).
    fn memory(&self, tcb: &Tcb) -> u64 {
        let skbs = u64::from(tcb.board.skbs()) + self.queued.len() as u64;
        tcb.snd.buffered() + skbs * tcb.profile.segment_overhead
    }

    /// Returns the number of bytes that still fit into the last unsent `skb`, which holds up to
    /// `goal`.
    pub(super) fn left_in_tail(&self, tcb: &Tcb, goal: u64) -> u64 {
        let start = match self.queued.len() {
            0 => return 0,
            1 => tcb.snd.nxt,
            count => self.queued[count - 2].end,
        };
        (start + goal).saturating_sub(tcb.snd.written())
    }

    /// Grows the limit to the memory of two windows, or of three with BBR, unless the user fixed
    /// the buffer. A window counts as at least ten segments, and as more segments than `degree`,
    /// the degree of reordering. Each segment counts with its maximum memory (`tcp_sndbuf_expand`).
    #[inline(never)]
    fn expand(&mut self, tcb: &Tcb, degree: u32) {
        if !self.may_expand(tcb, degree) {
            return;
        }
        let segments = tcb.cwnd_segments().max(10).max(u64::from(degree) + 1);
        self.grown_for = segments;
        let mss = u64::from(tcb.options.mss_clamp.max(tcb.window.mss));
        let segment = (mss + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two() + SK_BUFF;
        let wanted = (tcb.cc.sndbuf_windows() * segments).saturating_mul(segment);
        self.limit = self.limit.max(wanted.min(tcb.profile.send_buffer_max));
    }

    /// Returns whether [`Self::expand`] would grow the limit for more segments than before. After
    /// the first growth, `grown_for` is at least ten, so the minimum of ten does not matter.
    #[inline]
    fn may_expand(&self, tcb: &Tcb, degree: u32) -> bool {
        tcb.cwnd_segments() > self.grown_for || u64::from(degree) >= self.grown_for
    }

    /// Returns whether a third of the buffer is free (`sk_stream_min_wspace`).
    #[inline]
    fn is_third_free(&self, tcb: &Tcb) -> bool {
        let memory = self.memory(tcb);
        memory + memory / 2 <= self.limit
    }
}

impl Tcb {
    /// Returns whether the space is checked after each burst, and not only after all bursts.
    ///
    /// Linux 6.1 checks the space after each burst (`tcp_event_new_data_sent`). The window is not
    /// full while another burst follows, so the buffer grows. Linux 3.17 checks the space after all
    /// bursts. A host whose application never sleeps also checks the space after all bursts,
    /// because the application could otherwise write within a burst.
    #[inline]
    pub(super) fn checks_space_after_each_burst(&self) -> bool {
        self.profile.bursts && !self.never_sleeps()
    }
}

impl Linux {
    /// Sets the limit of the buffer for the transfer, and takes back the data that was written
    /// before the connection opened.
    pub(super) fn init_sndbuf(&mut self, tcb: &mut Tcb) {
        self.sndbuf.expand(tcb, self.reordering.degree());
        // Data that was written before the connection opened goes back to the application.
        tcb.snd.early = tcb.snd.take_back();
        self.sndbuf.pushed = tcb.snd.nxt;
    }

    /// Wakes an application that waits for space, if a third of the buffer is free
    /// (`tcp_check_space`).
    #[expect(clippy::inline_always, reason = "every burst passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn check_space(&mut self, tcb: &mut Tcb) {
        if tcb.writer.waits_for_space && !tcb.wakeup.has_space && self.has_new_space(tcb) {
            rare();
            tcb.wakeup.has_space = true;
            self.wake(tcb);
        }
    }

    /// Returns whether a writer that waits for space has enough space again. If the congestion
    /// window is not full, first grows the limit (`tcp_new_space`).
    #[inline]
    fn has_new_space(&mut self, tcb: &Tcb) -> bool {
        let degree = self.reordering.degree();
        if self.sndbuf.may_expand(tcb, degree) && tcb.has_cwnd_space() {
            rare();
            self.sndbuf.expand(tcb, degree);
        }
        self.sndbuf.is_third_free(tcb)
    }

    /// Lets the woken application use the space. The application writes early or unlimited data, or
    /// is notified of the space.
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
mod tests;
