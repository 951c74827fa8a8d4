//! The receive buffer, which is the window, and which grows in steps.
//!
//! Sources: FreeBSD 10.4 `tcp_output.c`, `tcp_syncache.c`, `tcp_input.c` (`tcp_mss`); 10.0 to 10.3
//! `tcp_input.c` (automatic sizing of the receive socket buffer, each step of a round trip by the
//! echoed timestamp; 10.4 compares the time that has passed with the receiver's `t_srtt` instead,
//! which stays at the handshake's on a path that fills up).
//!
//! What is out of order waits in a queue beside the buffer, so that only what is not yet read takes
//! room in it.

use aqmlab_core::TcpHeader;

use crate::Connection;
use crate::common::clock::later_by;
use crate::profile::{SB_MAX, SB_MAX_ADJUSTED};

/// What the receiver counts to size its buffer.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The timestamp sent when counting began.
    from: Option<u32>,
    /// The payload since then.
    bytes: u64,
}

/// The least window scale that can say `largest`, or `sb_max` if that is more.
pub(crate) fn scale_of(largest: u64) -> u8 {
    (0..14).find(|shift| 65_535_u64 << shift >= largest.max(SB_MAX)).unwrap_or(14)
}

impl Connection {
    /// The window at the start of the transfer: the buffer may grow up to what the scale can say.
    pub(crate) fn bsd_init_window(&mut self) {
        self.rcv_window.clamp = 65_535 << self.options.rcv_shift;
        self.rcv_window.buffer = self.bsd_round_to_segments(self.rcv_window.buffer);
    }

    /// A buffer is of whole segments (`tcp_mss`).
    pub(crate) fn bsd_round_to_segments(&self, buffer: u64) -> u64 {
        let mss = u64::from(self.window.mss.max(1));
        let rounded = buffer.next_multiple_of(mss);
        // More than that `sbreserve` refuses.
        if buffer < mss || rounded > SB_MAX_ADJUSTED { buffer } else { rounded }
    }

    /// The room in the buffer (`sbspace`).
    #[inline]
    fn bsd_space(&self) -> u64 {
        self.rcv_window.buffer.saturating_sub(self.wakeup.unread.memory(0))
    }

    /// The window that could be offered.
    #[inline]
    pub(super) fn bsd_possible_window(&self) -> u64 {
        self.bsd_space().min(self.rcv_window.clamp)
    }

    /// The window to offer in a segment that is about to be sent (`tcp_output`). What is meant
    /// need not be what a scaled number can say.
    pub(crate) fn bsd_select_window(&mut self) -> u32 {
        let (shift, mss) = (self.options.rcv_shift, u64::from(self.window.mss));
        let mut window = self.bsd_possible_window();
        if window < self.rcv_window.buffer / 4 && window < mss {
            window = 0;
        }
        window = window.max(self.rcv_window.open(self.rcv.nxt)).min(65_535 << shift);
        self.rcv_window.advertised = window;
        self.rcv_window.advertised_at = self.rcv.nxt;
        self.freebsd.told_closed = window >> shift == 0;
        ((window >> shift) << shift) as u32
    }

    /// The application has read, and no acknowledgement waits that could say so (`tcp_output`). An
    /// update is due for a fourth of the buffer, or two segments of a small one.
    pub(super) fn bsd_is_window_update_due(&self) -> bool {
        if self.delack.scheduled {
            return false;
        }
        let rwin = &self.rcv_window;
        let (mss, space) = (u64::from(self.window.mss), self.bsd_space());
        let (open, shift) = (rwin.open(self.rcv.nxt), self.options.rcv_shift);
        let could = space.min(65_535 << shift);
        let more = could.saturating_sub(open);
        open >> shift != could >> shift
            && more >= 2 * mss
            && (more >= rwin.buffer / 4 || space <= rwin.buffer / 8 || rwin.buffer <= 8 * mss)
    }

    /// Counting starts with the next segment sent.
    #[inline]
    pub(crate) fn bsd_start_steps(&mut self) {
        if self.freebsd.steps.from.is_none() {
            self.freebsd.steps.from = Some(self.clock.timestamp());
        }
    }

    /// A step when seven eighths of the buffer arrived before the echo of a later timestamp than
    /// that of the segment with which counting began, which is a round trip of the loaded path.
    /// Echoes a second or more later are distrusted.
    #[inline]
    pub(super) fn bsd_step_receive_buffer(&mut self, header: &TcpHeader) {
        let (true, None) = (self.profile.receive_tuning, self.rcv_window.fixed) else { return };
        if header.ts_ecr == 0 {
            return;
        }
        let steps = &mut self.freebsd.steps;
        let age_ms = later_by(header.ts_ecr, steps.from.unwrap_or(0));
        if !(1..1_000).contains(&age_ms) {
            steps.bytes += u64::from(header.payload);
            return;
        }
        let (bytes, buffer) = (steps.bytes, self.rcv_window.buffer);
        *steps = Steps::default();
        if bytes > buffer / 8 * 7 && buffer < self.profile.receive_buffer_max {
            let larger = buffer + self.profile.receive_buffer_step;
            // More than that `sbreserve` refuses.
            if larger <= self.profile.receive_buffer_max {
                self.rcv_window.buffer = larger;
            }
        }
    }
}
