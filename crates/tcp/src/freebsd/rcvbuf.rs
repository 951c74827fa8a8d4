//! The receive buffer. The whole buffer is offered as the window, and it grows in steps.
//!
//! Sources: FreeBSD 10.4 `tcp_output.c`, `tcp_syncache.c`, `tcp_input.c` (`tcp_mss`); 10.0 to 10.3
//! `tcp_input.c` (automatic sizing of the receive socket buffer). Releases 10.0 to 10.3 grow the
//! buffer once per round trip, measured by the echoed timestamp. Release 10.4 compares the elapsed
//! time with the receiver's `t_srtt`. On a path that fills up, `t_srtt` keeps its value from the
//! handshake.
//!
//! Out-of-order segments are stored in a separate queue, so only unread data takes space in the
//! buffer.

use aqmlab_core::TcpHeader;

use super::{FreeBsd, sockbuf};
use crate::Profile;
use crate::common::clock::later_by;
use crate::negotiated::{MAX_SHIFT, MAX_WINDOW};
use crate::profile::SB_MAX;
use crate::tcb::Tcb;

/// The receive buffer of a socket. Sizes and windows are in bytes.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    /// The size in bytes of payload (`sb_hiwat`).
    size: u64,
    /// The largest window that the scale can express.
    limit: u64,
    /// Whether the user fixed the size.
    is_fixed: bool,
    /// Whether the last window offered was zero (`TF_RXWIN0SENT`).
    offered_zero: bool,
    /// The timestamp sent when counting began, if it has begun (`rfbuf_ts`).
    counted_from: Option<u32>,
    /// The payload received since counting began (`rfbuf_cnt`).
    counted: u64,
}

impl ReceiveBuffer {
    pub(super) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        Self {
            size: fixed.unwrap_or(profile.receive_buffer),
            limit: u64::MAX,
            is_fixed: fixed.is_some(),
            offered_zero: false,
            counted_from: None,
            counted: 0,
        }
    }

    /// Sets the receive window and its scale for a SYN.
    pub(super) fn offer(&mut self, tcb: &mut Tcb) {
        tcb.rcv.wnd = self.size.min(MAX_WINDOW);
        let largest = if self.is_fixed { self.size } else { tcb.profile.receive_buffer_max };
        tcb.options.rcv_shift = if tcb.profile.window_scale { scale_of(largest) } else { 0 };
        self.limit(MAX_WINDOW << tcb.options.rcv_shift);
    }

    /// Limits the offered window to `limit`.
    pub(super) fn limit(&mut self, limit: u64) {
        self.limit = self.limit.min(limit);
    }

    /// Rounds the size of the buffer up to whole segments for the transfer. Limits the window to
    /// the largest that the scale can express.
    pub(super) fn init(&mut self, tcb: &Tcb) {
        self.limit = MAX_WINDOW << tcb.options.rcv_shift;
        self.size = sockbuf::round_to_segments(self.size, tcb.window.mss);
    }

    /// Returns the number of segments that may wait out of order, in addition to the expected
    /// segment.
    pub(super) fn segments(&self, mss: u32) -> u64 {
        self.size / u64::from(mss) + 1
    }

    /// Returns whether the last window offered was zero.
    pub(super) const fn offered_zero(&self) -> bool {
        self.offered_zero
    }

    /// Fixes the window at `window` until the end of the connection (`tcp_twstart`).
    pub(super) fn freeze(&mut self, window: u64) {
        self.size = window;
    }

    /// Returns the space in the buffer (`sbspace`).
    #[inline]
    fn space(&self, tcb: &Tcb) -> u64 {
        self.size.saturating_sub(tcb.wakeup.unread.memory(0))
    }

    /// Returns the largest window that could be offered.
    #[inline]
    pub(super) fn possible_window(&self, tcb: &Tcb) -> u64 {
        self.space(tcb).min(self.limit)
    }

    /// Starts to count the received payload when a segment with `timestamp` is sent, unless
    /// counting has begun.
    #[inline]
    pub(super) fn start_counting(&mut self, timestamp: u32) {
        self.counted_from.get_or_insert(timestamp);
    }

    /// Counts the payload of a segment. Grows the buffer by a step, up to its maximum, if more than
    /// 7/8 of the buffer arrived in a round trip. The round trip ends with the echo of a timestamp
    /// that is later than the timestamp at the start of counting. Echoes of timestamps at least one
    /// second later are ignored.
    #[inline]
    pub(super) fn on_data(&mut self, header: &TcpHeader, profile: &Profile) {
        if !profile.receive_tuning || self.is_fixed || header.ts_ecr == 0 {
            return;
        }
        let age_ms = later_by(header.ts_ecr, self.counted_from.unwrap_or(0));
        if !(1..1_000).contains(&age_ms) {
            self.counted += u64::from(header.payload);
            return;
        }
        let bytes = std::mem::take(&mut self.counted);
        self.counted_from = None;
        if bytes > self.size / 8 * 7 {
            let larger = self.size + profile.receive_buffer_step;
            // `sbreserve` refuses a larger buffer.
            if larger <= profile.receive_buffer_max {
                self.size = larger;
            }
        }
    }
}

/// Returns the smallest window scale that can express the larger of `largest` and `sb_max`, at most
/// [`MAX_SHIFT`].
fn scale_of(largest: u64) -> u8 {
    (0..MAX_SHIFT).find(|shift| MAX_WINDOW << shift >= largest.max(SB_MAX)).unwrap_or(MAX_SHIFT)
}

impl FreeBsd {
    /// Returns the window to offer in a segment that is about to be sent (`tcp_output`), rounded
    /// down to a window that the scale can express. `tcb` keeps the window before the rounding.
    pub(super) fn select_window(&mut self, tcb: &mut Tcb) -> u32 {
        let (shift, mss) = (tcb.options.rcv_shift, u64::from(tcb.window.mss));
        let buffer = &mut self.receive_buffer;
        let mut window = buffer.possible_window(tcb);
        if window < buffer.size / 4 && window < mss {
            window = 0;
        }
        window = window.max(tcb.rcv.open()).min(MAX_WINDOW << shift);
        tcb.rcv.advertise(window);
        buffer.offered_zero = window >> shift == 0;
        ((window >> shift) << shift) as u32
    }

    /// Returns whether the window has grown enough for an update: by a quarter of the buffer, or by
    /// two segments if the buffer is small or nearly full. If a delayed acknowledgement is pending,
    /// no update is due (`tcp_output`).
    #[inline]
    pub(super) fn is_window_update_due(&self, tcb: &Tcb) -> bool {
        if self.owed_ack.delayed {
            return false;
        }
        let buffer = &self.receive_buffer;
        let (mss, space) = (u64::from(tcb.window.mss), buffer.space(tcb));
        let (open, shift) = (tcb.rcv.open(), tcb.options.rcv_shift);
        let possible = space.min(MAX_WINDOW << shift);
        let growth = possible.saturating_sub(open);
        let is_small = space <= buffer.size / 8 || buffer.size <= 8 * mss;
        open >> shift != possible >> shift
            && growth >= 2 * mss
            && (growth >= buffer.size / 4 || is_small)
    }
}
