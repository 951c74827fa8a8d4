//! The send buffer, which counts mbufs.
//!
//! Source: FreeBSD 10.4 `sys/kern/uipc_mbuf.c` (`m_uiotombuf`, `m_getm2`), `uipc_sockbuf.c`
//! (`sbcompress`, `sbspace`), `sys/netinet/tcp_output.c` (automatic sizing of the send socket
//! buffer). A writer that wakes at every acknowledgement puts two segments into a page, so data
//! takes 2/3 of the memory.

use aqmlab_core::Ring;

use super::FreeBsd;
use crate::Profile;
use crate::cc::Window;
use crate::common::send_sequence::SendSequence;
use crate::profile::{SB_MAX, SB_MAX_ADJUSTED};
use crate::tcb::Tcb;

/// The free space in bytes at and above which a writer is woken (`sb_lowat`).
const LOW_WATER: u64 = CLUSTER;
/// The size of the buffer in bytes before the connection is open.
const UNOPENED: u64 = 1 << 16;
/// The number of bytes that an mbuf takes in addition to a cluster (`MSIZE`).
const MBUF: u64 = 256;
/// The number of payload bytes in an mbuf that has a packet header and no cluster (`MHLEN`).
const HEADED: u64 = 168;
/// The number of payload bytes in an mbuf without a packet header and without a cluster (`MLEN`).
const PLAIN: u64 = 224;
/// The number of payload bytes in a cluster (`MCLBYTES`).
const CLUSTER: u64 = 2_048;
/// The number of payload bytes in a cluster of the size of a page (`MJUMPAGESIZE`).
const PAGE: u64 = 4_096;
/// The space in bytes that is reserved for headers before written data (`max_hdr`).
const HEADERS: u64 = 76;
/// The maximum number of bytes that are copied into the previous mbuf (`sbcompress`).
const COPIED: u64 = CLUSTER / 4;
/// The ratio of the memory limit to the payload limit (`sb_efficiency`).
const EFFICIENCY: u64 = 8;

/// Returns the size of a buffer rounded up to whole segments. A size below one segment, or one
/// whose rounded value `sbreserve` refuses, stays as it is (`tcp_mss`).
pub(super) fn round_to_segments(size: u64, mss: u32) -> u64 {
    let mss = u64::from(mss.max(1));
    let rounded = size.next_multiple_of(mss);
    if size < mss || rounded > SB_MAX_ADJUSTED { size } else { rounded }
}

/// The send buffer of a socket. Sizes are in bytes.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// The maximum payload (`sb_hiwat`).
    size: u64,
    /// The size of the buffer at the start of the transfer.
    initial: u64,
    /// Whether the buffer may grow (`SB_AUTOSIZE`).
    grows: bool,
    mbufs: Mbufs,
}

impl SendBuffer {
    pub(super) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        Self {
            size: fixed.unwrap_or(UNOPENED),
            initial: fixed.unwrap_or(profile.send_buffer),
            grows: fixed.is_none() && profile.send_tuning,
            mbufs: Mbufs::default(),
        }
    }

    /// Sets the size of the buffer for the transfer.
    pub(super) fn init(&mut self, window: &Window) {
        self.size = round_to_segments(self.initial, window.mss);
    }

    /// Returns the free space, limited by payload and by memory.
    fn space(&self, snd: &SendSequence) -> u64 {
        self.mbufs.space(self.size.saturating_sub(snd.buffered()), self.size)
    }

    /// Returns whether `space` free bytes wake a writer that has more data than fits.
    fn is_enough(&self, space: u64) -> bool {
        space >= LOW_WATER.min(self.size)
    }

    /// Adds `bytes` of the application's data.
    fn append(&mut self, snd: &mut SendSequence, bytes: u64) {
        self.mbufs.append(snd.written(), bytes);
        snd.extend(bytes);
    }

    /// Frees the data below `una`.
    pub(super) fn free(&mut self, una: u64) {
        self.mbufs.free(una);
    }

    /// Returns whether [`Self::grow`] may grow the buffer although it is empty. 7/8 of a size below
    /// 8 bytes is rounded to zero, so the buffer counts as full.
    #[inline]
    pub(super) fn is_full_if_empty(&self) -> bool {
        self.size < 8
    }

    /// Grows the buffer by a step if the buffer limits the sender, and neither the peer nor
    /// `window` does. Growth ends at the maximum.
    #[inline]
    pub(super) fn grow(&mut self, snd: &SendSequence, window: u64, profile: &Profile) {
        let held = snd.buffered();
        if self.grows
            && snd.wnd / 4 * 5 >= self.size
            && held >= self.size / 8 * 7
            && window >= held.saturating_sub(snd.nxt - snd.una)
        {
            let larger = self.size + profile.send_buffer_step;
            if larger <= profile.send_buffer_max {
                self.size = larger;
            } else {
                self.grows = false;
            }
        }
    }
}

impl FreeBsd {
    /// Adds up to `bytes` to the send buffer, and returns the number of bytes accepted. If not all
    /// bytes fit, fills the free space, provided that this space is at least the low-water mark.
    pub(crate) fn write(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        let buffer = &mut self.send_buffer;
        let space = buffer.space(&tcb.snd);
        let fits = space >= bytes || buffer.is_enough(space);
        let taken = if fits { bytes.min(space) } else { 0 };
        buffer.append(&mut tcb.snd, taken);
        taken
    }

    /// Fills the buffer for an application that writes without limit, or wakes an application that
    /// waits for space.
    #[inline]
    pub(super) fn check_space(&mut self, tcb: &mut Tcb) {
        if tcb.writer.has_more() {
            self.use_space(tcb);
        }
    }

    fn use_space(&mut self, tcb: &mut Tcb) {
        while tcb.writer.is_unlimited && tcb.state.may_write() {
            let space = self.send_buffer.space(&tcb.snd);
            if !self.send_buffer.is_enough(space) {
                break;
            }
            self.send_buffer.append(&mut tcb.snd, space);
            self.output(tcb);
        }
        if tcb.writer.waits_for_space && !tcb.wakeup.has_space && self.has_space_for_writer(tcb) {
            tcb.wakeup.has_space = true;
            self.wake(tcb);
        }
    }

    fn has_space_for_writer(&self, tcb: &Tcb) -> bool {
        let space = self.send_buffer.space(&tcb.snd);
        self.send_buffer.is_enough(space) || tcb.writer.missing <= space
    }
}

/// The mbufs of a send buffer. The list contains the end of each mbuf's data, and the mbuf's memory
/// in bytes.
#[derive(Debug, Default)]
struct Mbufs {
    list: Ring<(u64, u64)>,
    /// The total memory of the mbufs (`sb_mbcnt`).
    cost: u64,
    /// The free space in the last mbuf.
    left: u64,
}

impl Mbufs {
    /// Stores `bytes` in mbufs, starting at the sequence number `start`.
    fn append(&mut self, mut start: u64, mut bytes: u64) {
        let (mut wanted, mut headers) = (bytes + HEADERS, HEADERS);
        while bytes > 0 {
            let (size, cost) = if wanted > CLUSTER {
                (PAGE, MBUF + PAGE)
            } else if wanted > HEADED {
                (CLUSTER, MBUF + CLUSTER)
            } else if headers > 0 {
                (HEADED, MBUF)
            } else {
                (PLAIN, MBUF)
            };
            wanted = wanted.saturating_sub(size);
            let space = size - std::mem::take(&mut headers);
            let some = space.min(bytes);
            (start, bytes) = (start + some, bytes - some);
            if some <= COPIED.min(self.left) {
                self.left -= some;
                if let Some(last) = self.list.back_mut() {
                    last.0 = start;
                }
            } else {
                self.list.push((start, cost));
                self.cost += cost;
                self.left = space - some;
            }
        }
    }

    /// Frees the mbufs below `una`.
    fn free(&mut self, una: u64) {
        while let Some(&(end, cost)) = self.list.front()
            && end <= una
        {
            self.list.skip(1);
            self.cost -= cost;
        }
        if self.list.is_empty() {
            self.left = 0;
        }
    }

    /// Returns the part of `space` that the memory limit of a buffer of `size` allows.
    fn space(&self, space: u64, size: u64) -> u64 {
        space.min(EFFICIENCY.saturating_mul(size).min(SB_MAX).saturating_sub(self.cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_segments_take_a_page_and_small_messages_share() {
        let mut mbufs = Mbufs::default();
        mbufs.append(1, 2_896);
        assert_eq!(mbufs.cost, MBUF + PAGE);
        for i in 0..10 {
            mbufs.append(2_897 + 100 * i, 100);
        }
        assert_eq!((mbufs.cost, mbufs.list.len()), (MBUF + PAGE, 1));
        mbufs.append(3_897, 1_448);
        assert_eq!(mbufs.cost, MBUF + PAGE + MBUF + CLUSTER);
        mbufs.free(3_897);
        assert_eq!(mbufs.cost, MBUF + CLUSTER);
        assert_eq!(mbufs.space(1 << 30, 1 << 30), SB_MAX - MBUF - CLUSTER);
    }

    #[test]
    fn a_message_in_an_emptied_buffer_takes_an_mbuf_of_its_own() {
        let mut mbufs = Mbufs::default();
        mbufs.append(1, 2_896);
        mbufs.free(2_897);
        assert_eq!((mbufs.cost, mbufs.list.len()), (0, 0));
        mbufs.append(2_897, 100);
        assert_eq!((mbufs.cost, mbufs.list.len()), (MBUF + CLUSTER, 1));
    }

    #[test]
    fn a_writer_wakes_at_the_low_water_mark_or_in_an_empty_small_buffer() {
        let profile = Profile::find("freebsd-10.3").expect("there is such a profile");
        let buffer = |size| SendBuffer::new(&profile, Some(size));
        assert!(!buffer(1 << 16).is_enough(2_047) && buffer(1 << 16).is_enough(2_048));
        assert!(!buffer(1_000).is_enough(999) && buffer(1_000).is_enough(1_000));
    }
}
