//! The window that the receiver offers.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_select_initial_window`,
//! `tcp_select_window`, `__tcp_select_window`) and `tcp_input.c` (`tcp_grow_window`,
//! `tcp_init_buffer_space`).
//!
//! The application reads as soon as it wakes. The receive buffer holds only out-of-order segments
//! and segments that arrived while the application slept. Up to seventeen segments share one skb
//! (`MAX_SKB_FRAGS`).
//!
//! Differences: instead of the kernel's page accounting, each skb is charged
//! [`crate::Profile::segment_overhead`] bytes beyond its payload. A full receive buffer never makes
//! this receiver discard data that it acknowledged selectively; the kernel may discard such data
//! (`tcp_prune_ofo_queue`).

use aqmlab_core::hint::rare;

use super::Linux;
use crate::Profile;
use crate::negotiated::{MAX_SHIFT, MAX_WINDOW};
use crate::segment::HEADERS;
use crate::tcb::Tcb;

/// The receive buffer and the window derived from it. Sizes and windows are in bytes.
#[derive(Debug)]
pub(super) struct RcvWindow {
    /// The memory of the buffer (`sk_rcvbuf`).
    buffer: u64,
    /// The upper limit of the window (`window_clamp`).
    clamp: u64,
    /// The current limit of the window (`rcv_ssthresh`).
    ssthresh: u64,
    /// Whether the user fixed the window.
    is_fixed: bool,
    /// The exponent `s` in the window's share of the memory, 1 − 2^−s.
    adv_win_scale: u32,
    /// The shift count of the window (RFC 7323); zero until the transfer starts.
    shift: u8,
    // The following values are stored, because few segments change them.
    /// The window in an empty buffer, if `ssthresh` does not limit it.
    full: u64,
    /// The memory of held data below which only `ssthresh` limits the window; zero without a shift.
    little: u64,
    /// The memory of held data below which `ssthresh` can grow.
    growable: u64,
    /// The window if only `ssthresh` limits it, rounded up to a value that a header can express.
    wide: u64,
}

impl RcvWindow {
    pub(super) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        let mut window = Self {
            buffer: profile.receive_buffer,
            clamp: u64::MAX,
            ssthresh: 0,
            is_fixed: fixed.is_some(),
            adv_win_scale: profile.adv_win_scale.min(31) as u32,
            shift: 0,
            full: 0,
            little: 0,
            growable: 0,
            wide: 0,
        };
        if let Some(fixed) = fixed {
            window.buffer = window.memory_for(fixed);
        }
        window
    }

    /// Returns the part of `memory` that is offered as the window (`tcp_win_from_space`).
    #[inline]
    pub(super) const fn window_in(&self, memory: u64) -> u64 {
        if self.adv_win_scale == 0 {
            return memory;
        }
        memory - (memory >> self.adv_win_scale)
    }

    /// Returns the memory for a window of `window` bytes, rounded up.
    const fn memory_for(&self, window: u64) -> u64 {
        if self.adv_win_scale == 0 {
            return window;
        }
        // The window is memory · (1 − 2^−s), so the memory is window · 2^s / (2^s − 1).
        let power = 1_u64 << self.adv_win_scale;
        (window.saturating_mul(power)).div_ceil(power - 1)
    }

    /// Returns the upper limit of the window.
    #[inline]
    pub(super) const fn clamp(&self) -> u64 {
        self.clamp
    }

    /// Sets the window and its scale for a SYN (`tcp_select_initial_window`).
    fn offer(&mut self, tcb: &mut Tcb) {
        let mss = u64::from((tcb.mtu - HEADERS - tcb.options.fixed_len()).max(1));
        let mut space = self.window_in(self.buffer);
        if self.is_fixed {
            self.clamp = space;
        }
        if space > mss {
            space -= space % mss;
        }
        tcb.rcv.wnd = space.min(MAX_WINDOW);
        let largest = if self.is_fixed { space } else { tcb.profile.receive_buffer_max };
        tcb.options.rcv_shift = if tcb.profile.window_scale {
            (space.max(largest).max(1).ilog2().saturating_sub(15)).min(u32::from(MAX_SHIFT)) as u8
        } else {
            0
        };
        self.clamp = self.clamp.min(MAX_WINDOW << tcb.options.rcv_shift);
        self.ssthresh = tcb.rcv.wnd;
    }

    /// Sets the limits of the window at the start of the transfer. Returns the number of bytes
    /// expected in the first round trip (`tcp_init_buffer_space`).
    pub(super) fn init(&mut self, tcb: &Tcb) -> u64 {
        let advmss = u64::from(tcb.options.advmss);
        let most = self.window_in(self.buffer);
        self.clamp = self.clamp.min(most);
        // The window leaves the space of one segment in reserve.
        if self.clamp > 2 * advmss && self.clamp + advmss > most {
            self.clamp = (most.saturating_sub(advmss)).max(2 * advmss);
        }
        self.ssthresh = self.ssthresh.min(self.clamp);
        self.shift = tcb.options.rcv_shift;
        self.update_stored();
        self.ssthresh.min(tcb.rcv.wnd).min(10 * advmss)
    }

    /// Returns the largest memory for a window of at most `window` bytes.
    const fn largest_memory_for(&self, window: u64) -> u64 {
        if self.adv_win_scale == 0 {
            return window;
        }
        let power = 1_u64 << self.adv_win_scale;
        window.saturating_mul(power) / (power - 1)
    }

    /// Computes the stored values `full`, `little`, `growable` and `wide`.
    fn update_stored(&mut self) {
        self.full = self.clamp.min(self.window_in(self.buffer));
        let needed = self.memory_for(self.ssthresh.max(self.full / 2));
        self.little = if self.shift > 0 { (self.buffer + 1).saturating_sub(needed) } else { 0 };
        let most = self.largest_memory_for(self.ssthresh);
        self.growable =
            if self.ssthresh < self.clamp { self.buffer.saturating_sub(most) } else { 0 };
        self.wide = expressible(self.ssthresh, self.shift);
    }

    /// Grows the buffer to `memory`, and the upper limit of the window with it. Does nothing if the
    /// buffer is at least as large.
    pub(super) fn grow_buffer(&mut self, memory: u64) {
        if memory > self.buffer {
            self.buffer = memory;
            self.clamp = self.window_in(memory);
            self.update_stored();
        }
    }
}

/// Returns the smallest window that is at least `window` and that a header with the shift count
/// `shift` can express.
#[inline]
const fn expressible(window: u64, shift: u8) -> u64 {
    ((window + (1 << shift) - 1) >> shift) << shift
}

impl Linux {
    /// Sets the window and its scale for a SYN.
    pub(crate) fn init_receive_window(&mut self, tcb: &mut Tcb) {
        self.rcv_window.offer(tcb);
    }

    /// Limits the offered window to `limit`.
    pub(crate) fn limit_window(&mut self, limit: u64) {
        self.rcv_window.clamp = self.rcv_window.clamp.min(limit);
        self.rcv_window.update_stored();
    }

    /// Returns the memory of out-of-order data and of unread data, in bytes.
    #[inline]
    fn held_memory(&self, tcb: &Tcb) -> u64 {
        let overhead = tcb.profile.segment_overhead;
        self.ooo.memory(overhead) + tcb.wakeup.unread.memory(overhead)
    }

    /// Returns the window that could be offered, in bytes. The result is zero if less than a
    /// sixteenth of the buffer, or less than a segment, is free (silly window avoidance). If less
    /// than half is free, ends quick acknowledgements (`__tcp_select_window`).
    #[inline]
    pub(super) fn possible_window(&mut self, tcb: &Tcb) -> u64 {
        let held = self.held_memory(tcb);
        if held < self.rcv_window.little {
            return self.rcv_window.wide;
        }
        self.possible_window_beside(held, tcb)
    }

    /// Returns the window that could be offered beside held data of `held` bytes of memory; see
    /// [`Self::possible_window`].
    #[inline(never)]
    fn possible_window_beside(&mut self, held: u64, tcb: &Tcb) -> u64 {
        let window = &self.rcv_window;
        let free = window.window_in(window.buffer.saturating_sub(held));
        if free >= window.full / 2 && window.shift > 0 {
            return expressible(free.min(window.ssthresh), window.shift);
        }
        rare();
        self.possible_window_in(free, tcb)
    }

    /// Returns the window that could be offered if the free memory gives a window of `free` bytes;
    /// see [`Self::possible_window`].
    #[inline(never)]
    fn possible_window_in(&mut self, mut free: u64, tcb: &Tcb) -> u64 {
        let window = &self.rcv_window;
        let allowed = window.window_in(window.buffer);
        let full = window.clamp.min(allowed);
        let mss = u64::from(self.delack.rcv_mss()).min(full);
        let shift = tcb.options.rcv_shift;
        if free < full / 2 {
            self.delack.end_quick();
            free -= free % (1 << shift);
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        free = free.min(window.ssthresh);
        if shift > 0 {
            return expressible(free, shift);
        }
        let offered = tcb.rcv.wnd;
        if offered + mss <= free || offered > free {
            return free - free % mss.max(1);
        }
        if mss == full && free > offered + full / 2 {
            return free;
        }
        offered
    }

    /// Returns the window to offer in a segment that is about to be sent, and records it as
    /// offered. The end of the window never moves back (`tcp_select_window`).
    #[inline]
    pub(super) fn select_window(&mut self, tcb: &mut Tcb) -> u32 {
        let open = tcb.rcv.open();
        let shift = tcb.options.rcv_shift;
        let mut window = self.possible_window(tcb);
        if window < open {
            window = expressible(open, shift);
        }
        tcb.rcv.advertise(window);
        window.min(MAX_WINDOW << shift) as u32
    }

    /// Grows the limit of the window by two full-sized segments, as far as the buffer has space. If
    /// the limit grows, makes at least one acknowledgement immediate. `uncharged` is the part of
    /// the held memory that does not count yet (`tcp_grow_window`).
    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn grow_window(&mut self, tcb: &Tcb, payload: u32, uncharged: u64) {
        // In a long transfer, the limit usually has its final value.
        if self.rcv_window.growable == 0 {
            return;
        }
        let held = self.held_memory(tcb).saturating_sub(uncharged);
        let window = &mut self.rcv_window;
        if held >= window.growable {
            return;
        }
        rare();
        let space = window.window_in(window.buffer.saturating_sub(held));
        let growth = window.clamp.min(space) - window.ssthresh;
        // The linear part of a received `skb` is empty and does not count, so the memory of a
        // segment is its payload. The kernel's rule for segments that cost more therefore never
        // applies.
        let step = (2 * u64::from(tcb.options.advmss)).max(2 * u64::from(payload));
        window.ssthresh += growth.min(step);
        window.update_stored();
        self.delack.ensure_quick();
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use crate::linux::ooo_queue::OooQueue;
    use crate::linux::testing;

    #[test]
    fn the_window_is_the_same_on_both_paths() {
        let (mut linux, mut tcb) = testing::open("reno");
        let mut rng = Rng::stream(1, "window");
        for _ in 0..5_000 {
            let mut any = || rng.below(1 << 24) >> rng.below(24);
            let (buffer, clamp, ssthresh, offered) = (any(), any(), any(), any());
            linux.rcv_window.buffer = buffer;
            linux.rcv_window.clamp = clamp;
            linux.rcv_window.ssthresh = ssthresh;
            tcb.rcv.wnd = offered;
            tcb.options.rcv_shift = 1 + rng.below(14) as u8;
            linux.rcv_window.shift = tcb.options.rcv_shift;
            linux.rcv_window.update_stored();
            linux.ooo = OooQueue::default();
            if rng.below(2) == 0 {
                let end = 10 + (rng.below(1 << 24) >> rng.below(24));
                let _ = linux.ooo.insert(9, end, &mut tcb.rcv.sack);
            }
            linux.delack.ensure_quick();
            let short = (linux.possible_window(&tcb), linux.delack.is_urgent());
            linux.delack.ensure_quick();
            let window = &linux.rcv_window;
            let free = window.window_in(window.buffer.saturating_sub(linux.held_memory(&tcb)));
            let long = (linux.possible_window_in(free, &tcb), linux.delack.is_urgent());
            assert_eq!(short, long);
        }
    }

    #[test]
    fn ssthresh_grows_as_far_as_the_clamp_and_the_free_memory_permit() {
        let (mut linux, mut tcb) = testing::open("reno");
        let mut rng = Rng::stream(1, "growth");
        tcb.options.advmss = 1_448;
        for _ in 0..5_000 {
            let mut any = || rng.below(1 << 17) >> rng.below(17);
            let (mut buffer, clamp, ssthresh, end) = (any(), any(), any(), any());
            linux.ooo = OooQueue::default();
            let _ = linux.ooo.insert(9, 10 + end, &mut tcb.rcv.sack);
            let uncharged = rng.below(2) * (1 + end);
            let held = linux.held_memory(&tcb) - uncharged;
            linux.rcv_window.clamp = clamp;
            linux.rcv_window.ssthresh = ssthresh;
            linux.rcv_window.adv_win_scale = rng.below(4) as u32;
            if rng.below(2) == 0 {
                // The free memory is near the memory from which the limit grows.
                buffer = held + linux.rcv_window.memory_for(ssthresh + 1) + rng.below(5) - 3;
            }
            linux.rcv_window.buffer = buffer;
            linux.rcv_window.update_stored();
            let window = &linux.rcv_window;
            let most = clamp.min(window.window_in(buffer.saturating_sub(held)));
            let want = ssthresh + most.saturating_sub(ssthresh).min(2 * 1_448);
            linux.grow_window(&tcb, 100, uncharged);
            assert_eq!(linux.rcv_window.ssthresh, want, "{buffer} {clamp} {ssthresh} {held}");
        }
    }

    /// Tests that a window with a shift count is unchanged if it is offered again. `send_segments`
    /// and `send_plain` rely on this, because the segments of a burst share the window of the first
    /// segment.
    #[test]
    fn a_window_with_a_shift_count_is_the_same_when_it_is_offered_again() {
        let (mut linux, mut tcb) = testing::open("reno");
        let mut rng = Rng::stream(1, "again");
        for _ in 0..5_000 {
            let mut any = || rng.below(1 << 24) >> rng.below(24);
            linux.rcv_window.buffer = any();
            linux.rcv_window.clamp = any();
            linux.rcv_window.ssthresh = any();
            (tcb.rcv.wnd, tcb.rcv.wup) = (any(), any());
            tcb.rcv.nxt = tcb.rcv.wup + any();
            tcb.options.rcv_shift = 1 + rng.below(14) as u8;
            linux.rcv_window.shift = tcb.options.rcv_shift;
            linux.rcv_window.update_stored();
            let first = linux.select_window(&mut tcb);
            assert_eq!(linux.select_window(&mut tcb), first);
        }
    }
}
