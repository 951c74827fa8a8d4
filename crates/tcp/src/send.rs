//! What the application has written and the peer's window: the sender's own variables.

use crate::Connection;

/// The send sequence space (RFC 9293 §3.3.1) and the send buffer.
#[derive(Debug, Default)]
pub(crate) struct Send {
    /// The first byte not acknowledged.
    pub(crate) una: u64,
    /// The next byte to send for the first time.
    pub(crate) nxt: u64,
    /// The highest `nxt` so far; differs from it only on FreeBSD after a timeout.
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
    /// Payload that the buffer holds.
    pub(crate) capacity: u64,
    /// The window for which `capacity` was computed.
    sized_for: u64,
    /// The end of the buffer (Linux: of the `skb`) that is next to be sent.
    pub(crate) buffer_end: u64,
    /// Up to where the receiver has been asked to push.
    pub(crate) pushed: u64,
}

impl Send {
    pub(crate) fn new() -> Self {
        Self { una: 0, nxt: 0, max: 0, written: 1, capacity: u64::MAX, ..Self::default() }
    }

    /// Bytes written and not sent.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.write_end().saturating_sub(self.nxt)
    }

    /// The number after the last byte that is in the buffer.
    #[inline]
    pub(crate) fn write_end(&self) -> u64 {
        if self.pouring {
            self.una.max(1).saturating_add(self.capacity).max(self.nxt)
        } else {
            self.written
        }
    }

    /// Whether a FIN remains to be sent after the data.
    #[inline]
    pub(crate) fn fin_pending(&self) -> bool {
        self.fin_wanted && !self.fin_sent
    }

    /// Whether everything written, and the FIN if any, has been acknowledged.
    pub(crate) fn all_acknowledged(&self) -> bool {
        self.una == self.max && self.unsent() == 0 && !self.fin_pending()
    }

    /// The end of the peer's window.
    #[inline]
    pub(crate) fn window_end(&self) -> u64 {
        self.una + self.wnd
    }

    /// Bytes that the buffer holds.
    fn buffered(&self) -> u64 {
        self.written.saturating_sub(self.una.max(1))
    }
}

impl Connection {
    /// Takes up to `bytes` into the send buffer and returns how many it took.
    ///
    /// After a short write, [`crate::Event::Writable`] says when there is room again.
    pub fn write(&mut self, bytes: u64) -> u64 {
        if !self.state.may_write() || self.snd.fin_wanted || self.snd.pouring {
            return 0;
        }
        self.check_app_limited();
        let room = self.snd.capacity.saturating_sub(self.snd.buffered());
        let taken = bytes.min(room);
        self.snd.written += taken;
        self.snd.short_of_room = taken < bytes;
        self.app_acted |= taken > 0;
        taken
    }

    /// Writes without end, as fast as the buffer empties, until closed.
    pub fn pour(&mut self) {
        if self.state.may_write() && !self.snd.fin_wanted {
            self.check_app_limited();
            self.snd.pouring = true;
            self.app_acted = true;
        }
    }

    /// Stops pouring with what the buffer holds.
    pub(crate) fn stop_pouring(&mut self) {
        if self.snd.pouring {
            self.snd.written = if self.state.is_synchronized() {
                self.snd.write_end()
            } else {
                1 + self.initial_capacity()
            };
            self.snd.pouring = false;
        }
    }

    /// Sizes the buffer for the start of the transfer.
    pub(crate) fn init_send_buffer(&mut self) {
        self.snd.capacity = self.initial_capacity();
        self.snd.sized_for = 0;
        self.grow_send_buffer();
    }

    fn initial_capacity(&self) -> u64 {
        self.fixed_send_buffer.unwrap_or_else(|| self.payload_of(self.profile.send_buffer))
    }

    /// The payload that fits `memory`, given what a segment costs beyond it.
    fn payload_of(&self, memory: u64) -> u64 {
        let mss = u64::from(self.window.mss).max(1);
        memory * mss / (mss + self.profile.segment_overhead)
    }

    /// Linux `tcp_sndbuf_expand`: room for two windows of the costliest segments. FreeBSD
    /// (`tcp_output`): a step more while the buffer, not the peer, is what limits.
    #[inline]
    pub(crate) fn grow_send_buffer(&mut self) {
        if self.is_bsd() {
            self.step_send_buffer();
        } else if self.window.cwnd > self.snd.sized_for {
            self.size_send_buffer();
        }
    }

    fn size_send_buffer(&mut self) {
        self.snd.sized_for = self.window.cwnd;
        if self.fixed_send_buffer.is_some() || !self.profile.send_tuning {
            return;
        }
        let mss = u64::from(self.wire.mss_clamp.max(self.window.mss));
        // 320 bytes of headers' room and 320 of page list, in a power of two, and 256 of skb.
        let per_segment = (mss + 640).next_power_of_two() + 256;
        let segments = self.cwnd_segments().max(10).max(u64::from(self.rec.reordering) + 1);
        let memory = (2 * segments).saturating_mul(per_segment);
        let memory = memory.min(self.profile.send_buffer_max);
        self.snd.capacity = self.snd.capacity.max(self.payload_of(memory));
    }

    fn step_send_buffer(&mut self) {
        let (snd, profile) = (&mut self.snd, &self.profile);
        let held = if snd.pouring { snd.capacity } else { snd.buffered() };
        if self.fixed_send_buffer.is_none()
            && profile.send_tuning
            && snd.wnd / 4 * 5 >= snd.capacity
            && held >= snd.capacity / 8 * 7
            && held < profile.send_buffer_max
            && snd.wnd.min(self.window.cwnd) >= held.saturating_sub(snd.nxt.saturating_sub(snd.una))
        {
            snd.capacity = (snd.capacity + profile.send_buffer_step).min(profile.send_buffer_max);
        }
    }

    /// Tells a waiting application that a third of the buffer is free again (Linux
    /// `sk_stream_is_writeable`).
    #[inline]
    pub(crate) fn check_room(&mut self) {
        if self.snd.pouring {
            self.grow_send_buffer();
        } else if self.snd.short_of_room {
            self.grow_send_buffer();
            let buffered = self.snd.buffered();
            if buffered + buffered / 2 <= self.snd.capacity {
                self.snd.short_of_room = false;
                self.events.push_back(crate::Event::Writable);
            }
        }
    }
}
