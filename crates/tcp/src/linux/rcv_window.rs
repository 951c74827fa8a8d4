//! The window that the receiver offers.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_select_initial_window`,
//! `tcp_select_window`, `__tcp_select_window`) and `tcp_input.c` (`tcp_grow_window`,
//! `tcp_init_buffer_space`); FreeBSD's is in `freebsd/rcvbuf.rs`.
//!
//! The application reads as soon as it is awake, so only what waits out of order takes room in
//! the buffer, and what has come since it slept.
//! Differences: the kernel's page accounting is replaced by
//! [`crate::Profile::segment_overhead`] bytes a buffer, which up to seventeen segments share; and a
//! full buffer never makes the receiver throw away what it had acknowledged selectively.

use crate::Connection;
use crate::Profile;
use crate::freebsd;
use crate::linux::rcv_autotune::RcvAutotune;
use crate::profile::Stack;

/// The receive buffer and the window made of it.
#[derive(Debug)]
pub(crate) struct RcvWindow {
    /// The window offered when `rcv_wup` was the next byte.
    pub(crate) advertised: u64,
    /// The next byte expected when the window was last offered (Linux `rcv_wup`).
    pub(crate) advertised_at: u64,
    /// The buffer, in memory on Linux and in payload on FreeBSD.
    pub(crate) buffer: u64,
    /// The most that may be offered (Linux `window_clamp`).
    pub(crate) clamp: u64,
    /// The most that is offered for the time being (Linux `rcv_ssthresh`).
    pub(crate) ssthresh: u64,
    /// The window that the user fixed.
    pub(crate) fixed: Option<u64>,
    /// Zero if all of the buffer is window, as it is on FreeBSD.
    adv_win_scale: u32,
    pub(crate) autotune: RcvAutotune,
}

impl RcvWindow {
    pub(crate) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        let mut window = Self {
            advertised: 0,
            advertised_at: 0,
            buffer: profile.receive_buffer,
            clamp: u64::MAX,
            ssthresh: 0,
            fixed,
            adv_win_scale: match profile.stack {
                Stack::Linux => profile.adv_win_scale.min(31) as u32,
                Stack::FreeBsd => 0,
            },
            autotune: RcvAutotune::default(),
        };
        if let Some(fixed) = fixed {
            window.buffer = window.memory_for(fixed);
        }
        window
    }

    /// The share of `memory` that is window.
    #[inline]
    pub(crate) const fn window_in(&self, memory: u64) -> u64 {
        if self.adv_win_scale == 0 {
            return memory;
        }
        memory - (memory >> self.adv_win_scale)
    }

    /// The least memory whose share is `window`.
    const fn memory_for(&self, window: u64) -> u64 {
        if self.adv_win_scale == 0 {
            return window;
        }
        // window = memory · (1 − 2^−s), so memory = window · 2^s / (2^s − 1).
        let power = 1_u64 << self.adv_win_scale;
        (window.saturating_mul(power)).div_ceil(power - 1)
    }

    /// The window still open from `nxt` on.
    #[inline]
    pub(crate) const fn open(&self, nxt: u64) -> u64 {
        (self.advertised_at + self.advertised).saturating_sub(nxt)
    }
}

/// The least window of at least `window` that a scale of `shift` can express.
#[inline]
const fn expressible(window: u64, shift: u8) -> u64 {
    ((window + (1 << shift) - 1) >> shift) << shift
}

impl Connection {
    /// The window and its scale for a SYN.
    pub(crate) fn init_receive_window(&mut self, mss: u32) {
        let mss = u64::from(mss.max(1));
        let is_bsd = self.is_bsd();
        let rwin = &mut self.rcv_window;
        let mut space = rwin.window_in(rwin.buffer);
        if rwin.fixed.is_some() {
            rwin.clamp = space;
        }
        if !is_bsd && space > mss {
            space -= space % mss;
        }
        rwin.advertised = space.min(65_535);
        let largest = if rwin.fixed.is_some() { space } else { self.profile.receive_buffer_max };
        self.options.rcv_shift = if !self.profile.window_scale {
            0
        } else if is_bsd {
            freebsd::scale_of(largest)
        } else {
            (space.max(largest).max(1).ilog2().saturating_sub(15)).min(14) as u8
        };
        rwin.clamp = rwin.clamp.min(65_535 << self.options.rcv_shift);
        rwin.ssthresh = rwin.advertised;
    }

    /// Without window scaling, nothing above 65 535 can be said.
    pub(crate) fn unscale_window(&mut self) {
        self.options.rcv_shift = 0;
        self.options.snd_shift = 0;
        self.rcv_window.clamp = self.rcv_window.clamp.min(65_535);
    }

    /// Linux `tcp_init_buffer_space`: the window at the start of the transfer.
    pub(crate) fn init_buffer_space(&mut self) {
        let advmss = u64::from(self.options.advmss);
        let rwin = &mut self.rcv_window;
        let most = rwin.window_in(rwin.buffer);
        rwin.clamp = rwin.clamp.min(most);
        // One segment is kept in reserve.
        if rwin.clamp > 2 * advmss && rwin.clamp + advmss > most {
            rwin.clamp = (most.saturating_sub(advmss)).max(2 * advmss);
        }
        rwin.ssthresh = rwin.ssthresh.min(rwin.clamp);
        let space = rwin.ssthresh.min(rwin.advertised).min(10 * advmss);
        rwin.autotune.start(space, self.rcv.nxt, self.clock.now);
    }

    /// Memory that waits, out of order or to be read.
    #[inline]
    fn held_memory(&self) -> u64 {
        self.out_of_order_memory() + self.unread_memory()
    }

    /// Memory that waits to be read.
    #[inline]
    fn unread_memory(&self) -> u64 {
        self.wakeup.unread.memory(self.profile.segment_overhead)
    }

    /// Memory that waits out of order.
    fn out_of_order_memory(&self) -> u64 {
        let buffers = self.rcv.waiting().len() as u64;
        self.rcv.out_of_order_bytes() + buffers * self.profile.segment_overhead
    }

    /// Linux `__tcp_select_window`: the window that could be offered, not yet scaled. It is
    /// zero rather than silly.
    #[inline]
    pub(crate) fn possible_window(&mut self) -> u64 {
        let (rwin, shift) = (&self.rcv_window, self.options.rcv_shift);
        if self.rcv.waiting().is_empty() && shift > 0 {
            let free = rwin.window_in(rwin.buffer.saturating_sub(self.unread_memory()));
            // Hardly anything waits, so only the offer limits.
            if free >= rwin.clamp.min(rwin.window_in(rwin.buffer)) / 2 {
                return expressible(free.min(rwin.ssthresh), shift);
            }
        }
        self.possible_window_beside_what_waits()
    }

    fn possible_window_beside_what_waits(&mut self) -> u64 {
        let held = self.held_memory();
        let rwin = &self.rcv_window;
        let allowed = rwin.window_in(rwin.buffer);
        let mut free = rwin.window_in(rwin.buffer.saturating_sub(held));
        let full = rwin.clamp.min(allowed);
        let mss = u64::from(self.delack.rcv_mss).min(full);
        let unit = 1_u64 << self.options.rcv_shift;
        if free < full / 2 {
            self.delack.quick = 0;
            free -= free % unit;
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        free = free.min(rwin.ssthresh);
        if self.options.rcv_shift > 0 {
            return expressible(free, self.options.rcv_shift);
        }
        let window = rwin.advertised;
        if window + mss <= free || window > free {
            return free - free % mss.max(1);
        }
        if mss == full && free > window + full / 2 {
            return free;
        }
        window
    }

    /// The window to offer in a segment that is about to be sent: never one that takes back
    /// what was offered before.
    #[inline]
    pub(crate) fn select_window(&mut self) -> u32 {
        if self.is_bsd() {
            return self.bsd_select_window();
        }
        let open = self.rcv_window.open(self.rcv.nxt);
        let mut window = self.possible_window();
        if window < open {
            window = expressible(open, self.options.rcv_shift);
        }
        self.rcv_window.advertised = window;
        self.rcv_window.advertised_at = self.rcv.nxt;
        let shift = self.options.rcv_shift;
        ((window.min(65_535 << shift) >> shift) << shift) as u32
    }

    /// Linux `tcp_grow_window`: every segment of some size lets the offer grow by two, as long
    /// as its memory is in proportion to its payload. Of what is held, `uncharged` does not count yet.
    #[inline]
    pub(crate) fn grow_receive_window(&mut self, payload: u32, uncharged: u64) {
        if self.rcv_window.ssthresh >= self.rcv_window.clamp {
            return;
        }
        let held = self.held_memory().saturating_sub(uncharged);
        let rwin = &mut self.rcv_window;
        let space = rwin.window_in(rwin.buffer.saturating_sub(held));
        let room = rwin.clamp.min(space).saturating_sub(rwin.ssthresh);
        if room == 0 {
            return;
        }
        let length = u64::from(payload);
        // A segment's head is empty once it is received and does not count, so its memory is
        // its payload; only the rule for costlier segments never applies.
        let step = (2 * u64::from(self.options.advmss)).max(2 * length);
        rwin.ssthresh += room.min(step);
        self.delack.quick |= 1;
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, Rng};

    use super::*;
    use crate::Config;

    #[test]
    fn the_window_is_the_same_the_short_way() {
        let kind = crate::cc::kinds::find("reno").unwrap();
        let config = Config::new(Profile::linux(), (kind.build)(&Args::defaults(kind.params)));
        let mut connection = Connection::passive(config);
        let mut rng = Rng::stream(1, "window");
        for _ in 0..5_000 {
            let mut any = || rng.below(1 << 24) >> rng.below(24);
            let (buffer, clamp, ssthresh, advertised) = (any(), any(), any(), any());
            connection.rcv_window.buffer = buffer;
            connection.rcv_window.clamp = clamp;
            connection.rcv_window.ssthresh = ssthresh;
            connection.rcv_window.advertised = advertised;
            connection.options.rcv_shift = 1 + rng.below(14) as u8;
            connection.delack.quick = 3;
            let short = connection.possible_window();
            let long = connection.possible_window_beside_what_waits();
            assert_eq!((short, 3), (long, connection.delack.quick));
        }
    }
}
