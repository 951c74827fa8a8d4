//! Room in the send buffer, as Linux counts it: in memory, not in payload.
//!
//! Source: Linux 6.1 `net/ipv4/tcp.c` (`tcp_sendmsg_locked`), `tcp_input.c` (`tcp_sndbuf_expand`,
//! `tcp_should_expand_sndbuf`, `tcp_new_space`), `include/net/sock.h` (`sk_stream_memory_free`,
//! `sk_stream_is_writeable`).
//!
//! What is written is laid into buffers (`skb`) of up to 64 KiB. A new one may be begun while
//! less memory is taken than is allowed, so the limit is overstepped by up to one. A writer that
//! found no room is told when a third of the limit is free. The limit itself grows whenever that is
//! looked at, which is after each burst too, while the congestion window is not full.
//!
//! A buffer asks the receiver to push (`tcp_mark_push`) if a write ended in it and the next did not
//! go on in it, or if it was full when more than half a window had been written since the last that
//! asks.

use std::collections::VecDeque;

use crate::connection::Connection;
use crate::linux::output::Push;
use crate::linux::tso::MAX_TCP_HEADER;

/// Linux doubles what `SO_SNDBUF` asks for.
const DOUBLED: u64 = 2;
/// What an application writes at once.
const WRITE: u64 = 65_536;
/// What an `skb` costs besides, its page list included: `SKB_TRUESIZE` of nothing.
const SHARED_INFO: u64 = 320;
const SKB: u64 = 256;

/// A buffer of the write queue.
#[derive(Clone, Copy, Debug)]
struct Skb {
    end: u64,
    /// Whether its last segment asks for a push, each time that it is sent.
    push: bool,
}

/// The memory of the send buffer.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// What it may take (Linux `sk_sndbuf`).
    limit: u64,
    /// The ends of the buffers that were handed down and not yet acknowledged.
    handed: VecDeque<u64>,
    /// Those that are still to be sent, whole or in part.
    laid: VecDeque<Skb>,
    /// What was written when it was last pushed.
    pushed: u64,
}

impl SendBuffer {
    /// Notes that what ends at `end` was handed down.
    #[inline]
    pub(crate) fn hand_down(&mut self, end: u64) {
        self.handed.push_back(end);
        while self.laid.front().is_some_and(|laid| laid.end <= end) {
            self.laid.pop_front();
        }
    }

    /// The end of the buffer that is next to be sent.
    #[inline]
    pub(crate) fn head_end(&self) -> Option<u64> {
        self.laid.front().map(|laid| laid.end)
    }

    /// Whether a segment that ends at `end` asks for a push.
    #[inline]
    pub(crate) fn asks_for_push(&self, end: u64) -> bool {
        self.laid.front().is_some_and(|laid| laid.push && laid.end == end)
    }

    /// Linux `tcp_mark_push`: what was written up to `written` is to be pushed.
    fn mark_push(&mut self, written: u64) {
        if let Some(tail) = self.laid.back_mut() {
            tail.push = true;
            self.pushed = written;
        }
    }

    /// Forgets the buffers that are acknowledged up to `una`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, una: u64) {
        while self.handed.front().is_some_and(|end| *end <= una) {
            self.handed.pop_front();
        }
    }
}

impl Connection {
    /// The room before the transfer starts.
    pub(crate) fn init_room(&mut self) {
        let asked = self.fixed_send_buffer.map(|bytes| bytes.saturating_mul(DOUBLED));
        self.sndbuf.limit = asked.unwrap_or(self.profile.send_buffer);
        self.grow_room();
        // What was written before is still with the application.
        self.snd.early = self.snd.take_back();
        self.sndbuf.pushed = self.snd.nxt;
    }

    /// Writes what the application has had since before the connection was open.
    pub(crate) fn write_early(&mut self) {
        if self.snd.early > 0 {
            self.snd.early -= self.append(self.snd.early);
            self.snd.short_of_room |= self.snd.early > 0;
            self.app_acted = true; // a FIN may follow
        }
    }

    /// Linux `tcp_sndbuf_expand`: room for two windows (three with BBR) of the costliest segments.
    fn grow_room(&mut self) {
        if self.fixed_send_buffer.is_some() || !self.profile.send_tuning {
            return;
        }
        let mss = u64::from(self.options.mss_clamp.max(self.window.mss));
        let segment = (mss + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two() + SKB;
        let segments = self.cwnd_segments().max(10).max(u64::from(self.recovery.reordering) + 1);
        let wanted = (self.cc.buffered_windows() * segments).saturating_mul(segment);
        self.sndbuf.limit = self.sndbuf.limit.max(wanted.min(self.profile.send_buffer_max));
    }

    /// The bytes that one buffer takes: whole segments, and no more than half a window of the
    /// peer's (`tcp_xmit_size_goal`).
    pub(crate) fn buffer_goal(&self, mss: u32) -> u64 {
        let window = self.snd.max_window;
        let half = if window > 536 { window / 2 } else { window };
        let most = if self.profile.bursts { crate::linux::tso::GSO_MAX } else { u64::from(mss) };
        let goal = if half > 0 { most.min(half) } else { most };
        let mss = u64::from(mss);
        (goal - goal % mss).max(mss)
    }

    /// The memory that is taken (`sk_wmem_queued`).
    fn memory(&self) -> u64 {
        let handed = if self.board.sacked_out + self.board.retrans_out == 0 {
            self.sndbuf.handed.len() as u64
        } else {
            self.board.buffers(self.sndbuf.handed.iter().copied())
        };
        let buffers = handed + self.sndbuf.laid.len() as u64;
        self.snd.buffered() + buffers * self.profile.segment_overhead
    }

    /// What more the buffer that is being written would take.
    fn left_in_tail(&self, goal: u64) -> u64 {
        let laid = &self.sndbuf.laid;
        let start = match laid.len() {
            0 => return 0,
            1 => self.snd.nxt,
            count => laid[count - 2].end,
        };
        (start + goal).saturating_sub(self.snd.written())
    }

    /// Lays up to `bytes` into the buffer that is being written, or into a new one; returns how
    /// many. None, if there is no room. What a write `begins` in is no longer an end to be pushed.
    fn lay(&mut self, bytes: u64, goal: u64, begins: bool) -> u64 {
        let mut left = self.left_in_tail(goal);
        if left == 0 {
            if self.memory() >= self.sndbuf.limit {
                return 0;
            }
            self.restart_after_idle();
            self.sndbuf.laid.push_back(Skb { end: self.snd.written(), push: false });
            left = goal;
        }
        let some = left.min(bytes);
        self.snd.extend(some);
        if let Some(tail) = self.sndbuf.laid.back_mut() {
            tail.end += some;
            tail.push &= !begins;
        }
        some
    }

    /// Takes in up to `bytes`, and returns how many. The application writes until nothing is taken:
    /// what the end of a short write pushed out has left room in its last buffer.
    pub(crate) fn append(&mut self, bytes: u64) -> u64 {
        let mut taken = 0;
        while taken < bytes {
            match self.write_once((bytes - taken).min(WRITE)) {
                0 => break,
                some => taken += some,
            }
        }
        taken
    }

    /// An application that pours writes until nothing is taken.
    pub(crate) fn fill(&mut self) {
        let ready = self.state.is_synchronized() && !self.wakeup.opened;
        if !self.snd.pouring || self.snd.short_of_room || self.snd.early > 0 || !ready {
            return;
        }
        self.check_app_limited();
        let mut left = WRITE;
        loop {
            match self.write_once(left) {
                0 => break,
                taken if taken == left => left = WRITE,
                taken => left -= taken,
            }
        }
        self.snd.short_of_room = true;
    }

    /// One write, which hands down full buffers as it goes: so there is room again in the one being
    /// written. Returns how much was taken.
    fn write_once(&mut self, bytes: u64) -> u64 {
        let goal = self.buffer_goal(self.current_mss());
        let mut left = bytes;
        loop {
            let some = self.lay(left, goal, left == bytes);
            left -= some;
            if left == bytes {
                return 0;
            }
            if left == 0 || some == 0 {
                self.sndbuf.mark_push(self.snd.written());
                self.push_pending();
                return bytes - left;
            }
            if self.left_in_tail(goal) == 0 {
                self.push_full_buffer();
            }
        }
    }

    /// A full buffer is pushed as far as it may go if more than half a window was written since
    /// the last time, or else, if it is the next to be sent, by one burst.
    fn push_full_buffer(&mut self) {
        if self.wrote_half_a_window() {
            self.sndbuf.mark_push(self.snd.written());
            self.push_pending();
        } else if self.sndbuf.laid.len() == 1 {
            self.write_transmit(true, Push::One);
        }
    }

    /// Linux `forced_push`.
    fn wrote_half_a_window(&self) -> bool {
        self.snd.written() - self.sndbuf.pushed > self.snd.max_window / 2
    }

    /// Linux `tcp_new_space`: whether a writer that waits for room has some again.
    pub(crate) fn has_room_again(&mut self) -> bool {
        if u64::from(self.board.in_flight()) < self.cwnd_segments() {
            self.grow_room();
        }
        let limit = self.sndbuf.limit;
        // Without what the buffers cost there would be room, or else there is none.
        if self.snd.buffered() > limit / 3 * 2 {
            return false;
        }
        let memory = self.memory();
        limit.saturating_sub(memory) >= memory / 2 && memory < limit
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, TcpFlags};

    use super::*;
    use crate::state::State;
    use crate::{Config, Profile};

    fn connection(cc: &str, send_buffer: Option<u64>) -> Connection {
        let kind = crate::cc::kinds::find(cc).unwrap();
        let cc = (kind.build)(&Args::defaults(kind.params));
        let mut config = Config::new(Profile::linux(), cc);
        config.send_buffer = send_buffer;
        let mut tcp = Connection::passive(config);
        tcp.state = State::Established;
        (tcp.window.mss, tcp.window.segment, tcp.options.mss_clamp) = (1_448, 1, 1_460);
        (tcp.snd.una, tcp.snd.nxt, tcp.snd.max) = (1, 1, 1);
        tcp.init_room();
        tcp
    }

    /// `tcp_sndbuf_expand`: 1460 + 256 + 320 bytes are 2048, and an `skb` besides.
    #[test]
    fn there_is_room_for_two_windows_or_three_with_bbr() {
        for (cc, cwnd, want) in [("reno", 10, 46_080), ("bbr", 10, 69_120), ("reno", 50, 230_400)] {
            let mut tcp = connection(cc, None);
            tcp.window.cwnd = cwnd;
            tcp.grow_room();
            assert_eq!(tcp.sndbuf.limit, want, "{cc} {cwnd}");
        }
        let mut fixed = connection("reno", Some(64_000));
        fixed.grow_room();
        assert_eq!(fixed.sndbuf.limit, 128_000);
    }

    /// 45 segments fill a buffer, and a second one may be begun below the limit.
    #[test]
    fn the_limit_is_overstepped_by_less_than_a_buffer() {
        let mut tcp = connection("reno", Some(40_000));
        assert_eq!(tcp.append(1_000_000), 2 * 65_160);
        assert_eq!(tcp.memory(), 2 * (65_160 + 1_280));
        assert_eq!(tcp.append(1), 0);
        assert_eq!(tcp.sndbuf.head_end(), Some(65_161));
    }

    /// `sk_stream_is_writeable`: half as much as is taken must be free.
    #[test]
    fn a_writer_is_told_when_a_third_is_free() {
        let mut tcp = connection("reno", Some(48_000));
        for (bytes, want) in [(62_720, true), (1, false)] {
            tcp.append(bytes);
            assert_eq!(tcp.has_room_again(), want, "{} taken", tcp.memory());
        }
    }

    /// `tcp_mark_push`, and `tcp_sendmsg_locked` when a write goes on in a buffer.
    #[test]
    fn a_buffer_asks_for_a_push_where_a_write_ended_until_the_next_goes_on_in_it() {
        let mut tcp = connection("reno", None);
        tcp.append(3_000);
        assert!(tcp.sndbuf.asks_for_push(3_001));
        tcp.lay(500, 65_160, true);
        assert!(!tcp.sndbuf.asks_for_push(3_501));
    }

    /// `__tcp_transmit_skb`: a burst's push is in what is sent, and not in what is kept.
    #[test]
    fn the_end_of_a_burst_asks_for_a_push_only_once() {
        let mut tcp = connection("reno", None);
        (tcp.window.cwnd, tcp.snd.wnd) = (10, 1 << 20);
        tcp.append(4 * 1_448);
        tcp.push_pending();
        let push = |flags: TcpFlags| flags.has(TcpFlags::PSH);
        let sent: Vec<bool> = tcp.out.iter().map(|one| push(one.header.flags)).collect();
        let first = tcp.board.front_id().unwrap();
        let kept: Vec<bool> =
            (first..first + 4).map(|id| push(tcp.board.get(id).control())).collect();
        assert_eq!(sent, [false, true, false, true]);
        assert_eq!(kept, [false, false, false, true]);
    }

    /// `tcp_event_new_data_sent` looks for room after each burst: as long as another is to go the
    /// window is not full.
    #[test]
    fn the_limit_grows_with_a_window_that_its_last_burst_fills() {
        let mut tcp = connection("reno", None);
        (tcp.window.cwnd, tcp.snd.wnd, tcp.snd.short_of_room) = (20, 1 << 20, true);
        tcp.append(20 * 1_448);
        tcp.push_pending();
        assert_eq!(u64::from(tcp.board.in_flight()), tcp.cwnd_segments());
        assert_eq!(tcp.sndbuf.limit, 20 * 2 * 2_304);
    }
}
