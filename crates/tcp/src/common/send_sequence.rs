//! What the application has written and the peer's window: the sender's own variables.

use aqmlab_core::Instant;

use crate::Connection;

/// The send sequence space (RFC 9293 §3.3.1) and the send buffer.
#[derive(Debug, Default)]
pub(crate) struct SendSequence {
    /// The first byte not acknowledged.
    pub(crate) una: u64,
    /// The next byte to send; on Linux, for the first time.
    pub(crate) nxt: u64,
    /// The highest `nxt` so far; what FreeBSD sends again takes `nxt` back.
    pub(crate) max: u64,
    /// The window that the peer offers.
    pub(crate) wnd: u64,
    /// The largest window that it ever offered.
    pub(crate) max_window: u64,
    /// The sequence number of the segment that last updated the window.
    pub(crate) wl1: u64,
    /// The end of the last small segment sent (Minshall).
    pub(crate) small_end: u64,
    /// The number after the last byte written.
    written: u64,
    /// Data without end.
    pub(crate) pouring: bool,
    /// The application has closed its half.
    pub(crate) fin_wanted: bool,
    /// The FIN has been sent; its number is `max - 1`.
    pub(crate) fin_sent: bool,
    /// A write was cut short, so the application waits for room.
    pub(crate) short_of_room: bool,
    /// What was not taken of it.
    pub(crate) missing: u64,
    /// Payload that the buffer holds: on FreeBSD, and anywhere before the connection is open.
    pub(crate) capacity: u64,
    /// Linux: what the application has for the socket since before it was open, and goes on to
    /// write before anything else.
    pub(crate) early: u64,
}

impl SendSequence {
    pub(crate) fn new() -> Self {
        Self { una: 0, nxt: 0, max: 0, written: 1, capacity: u64::MAX, ..Self::default() }
    }

    /// Bytes written and not sent.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.nxt)
    }

    /// The number after the last byte that is in the buffer.
    #[inline]
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Takes `bytes` more into the buffer.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Takes what was not sent out of the buffer again, and returns how much that is.
    pub(crate) fn take_back(&mut self) -> u64 {
        let unsent = self.unsent();
        self.written -= unsent;
        unsent
    }

    /// Whether a FIN remains to be sent after the data.
    #[inline]
    pub(crate) fn fin_pending(&self) -> bool {
        self.fin_wanted && !self.fin_sent && self.early == 0
    }

    /// Whether everything written, and the FIN if any, has been acknowledged.
    pub(crate) fn all_acknowledged(&self) -> bool {
        self.una == self.max && self.unsent() == 0 && self.early == 0 && !self.fin_pending()
    }

    /// The end of the peer's window.
    #[inline]
    pub(crate) fn window_end(&self) -> u64 {
        self.una + self.wnd
    }

    /// Bytes that the buffer holds.
    #[inline]
    pub(crate) fn buffered(&self) -> u64 {
        self.written.saturating_sub(self.una.max(1))
    }
}

impl Connection {
    /// Takes up to `bytes` into the send buffer at `now`, and returns how many it took.
    ///
    /// After a short write, [`crate::Event::Writable`] says when there is room again.
    pub fn write(&mut self, now: Instant, bytes: u64) -> u64 {
        if !self.state.may_write() || self.snd.fin_wanted || self.snd.pouring {
            return 0;
        }
        self.clock.set(now);
        self.check_app_limited();
        let taken = if self.is_bsd() || !self.state.is_synchronized() {
            self.write_bytes(bytes)
        } else if self.snd.early > 0 {
            0
        } else {
            self.append(bytes)
        };
        self.snd.short_of_room = taken < bytes;
        self.snd.missing = bytes - taken;
        self.app_acted |= taken > 0;
        taken
    }

    /// Takes what a buffer that counts payload has room for; FreeBSD's not a little of much.
    fn write_bytes(&mut self, bytes: u64) -> u64 {
        if self.is_bsd() {
            let room = self.bsd_room();
            let some = if room >= bytes || self.bsd_has_room() { bytes.min(room) } else { 0 };
            self.bsd_write(some);
            return some;
        }
        let some = bytes.min(self.snd.capacity.saturating_sub(self.snd.buffered()));
        self.snd.extend(some);
        some
    }

    /// Writes without end, as fast as the buffer empties, until closed.
    pub fn send_unlimited(&mut self) {
        if self.state.may_write() && !self.snd.fin_wanted {
            self.snd.pouring = true;
            self.app_acted = true;
        }
    }

    /// Sizes the buffer for the start of the transfer.
    pub(crate) fn init_send_buffer(&mut self) {
        if self.is_bsd() {
            let buffer = self.fixed_send_buffer.unwrap_or(self.profile.send_buffer);
            self.snd.capacity = self.bsd_round_to_segments(buffer);
            self.freebsd.send_tuning = self.fixed_send_buffer.is_none() && self.profile.send_tuning;
        } else {
            self.init_room();
        }
    }

    /// Lets a waiting application write, or tells it, when a third of the buffer is free again
    /// (Linux `sk_stream_is_writeable`), or on FreeBSD two kilobytes are.
    #[inline]
    pub(crate) fn check_room(&mut self) {
        if self.is_bsd() {
            self.bsd_refill();
        }
        if self.snd.short_of_room && !self.wakeup.room && self.has_room() {
            self.wakeup.room = true;
            self.wake();
        }
    }

    /// The application, awake, writes what there is room for.
    pub(crate) fn use_room(&mut self) {
        self.snd.short_of_room = false;
        self.write_early();
        if self.snd.short_of_room {
            return;
        }
        if self.snd.pouring {
            self.fill();
            self.push_pending();
        } else if !self.snd.fin_wanted {
            self.events.push_back(crate::Event::Writable);
        }
    }

    fn has_room(&mut self) -> bool {
        if self.is_bsd() {
            self.bsd_has_room() || self.snd.missing <= self.bsd_room()
        } else {
            self.has_room_again()
        }
    }
}
