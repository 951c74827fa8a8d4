//! The memory of FreeBSD's send buffer: what is written is laid into mbufs, which count whole.
//!
//! Source: FreeBSD 10.4 `sys/kern/uipc_mbuf.c` (`m_uiotombuf`, `m_getm2`) and `uipc_sockbuf.c`
//! (`sbcompress`, `sbspace`). A writer that is woken for every acknowledgement puts two segments into
//! a page, so two thirds of the memory hold data.

use std::collections::VecDeque;

use crate::profile::SB_MAX;

/// What an mbuf takes beside a cluster (`MSIZE`), and what it holds alone, with a packet's header or
/// without.
const MBUF: u64 = 256;
const HEADED: u64 = 168;
const PLAIN: u64 = 224;
const CLUSTER: u64 = 2_048;
const PAGE: u64 = 4_096;
/// The room that is left for headers before what is written (`max_hdr`).
const HEADERS: u64 = 76;
/// The most that is copied into the mbuf before.
const COPIED: u64 = CLUSTER / 4;
/// The memory of a buffer is bounded by so many times what it may hold, too (`sb_efficiency`).
const EFFICIENCY: u64 = 8;

/// Mbufs by the end of what they hold, with their cost.
#[derive(Debug, Default)]
pub(crate) struct Mbufs {
    list: VecDeque<(u64, u64)>,
    taken: u64,
    /// Room in the last one.
    left: u64,
}

impl Mbufs {
    /// Lays `bytes` from number `start` on into mbufs.
    pub(crate) fn append(&mut self, mut start: u64, mut bytes: u64) {
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
            let room = size - std::mem::take(&mut headers);
            let some = room.min(bytes);
            (start, bytes) = (start + some, bytes - some);
            if some <= COPIED.min(self.left) {
                self.left -= some;
                if let Some(last) = self.list.back_mut() {
                    last.0 = start;
                }
            } else {
                self.list.push_back((start, cost));
                self.taken += cost;
                self.left = room - some;
            }
        }
    }

    /// Frees what is acknowledged up to `una`.
    pub(crate) fn drop(&mut self, una: u64) {
        while let Some(&(end, cost)) = self.list.front()
            && end <= una
        {
            self.list.pop_front();
            self.taken -= cost;
        }
        if self.list.is_empty() {
            self.left = 0;
        }
    }

    /// What of `room` the memory allows in a buffer of `capacity`.
    pub(crate) fn space(&self, room: u64, capacity: u64) -> u64 {
        room.min(EFFICIENCY.saturating_mul(capacity).min(SB_MAX).saturating_sub(self.taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_segments_take_a_page_and_small_messages_share() {
        let mut mbufs = Mbufs::default();
        mbufs.append(1, 2_896);
        assert_eq!(mbufs.taken, 4_352);
        for i in 0..10 {
            mbufs.append(2_897 + 100 * i, 100);
        }
        assert_eq!((mbufs.taken, mbufs.list.len()), (4_352, 1));
        mbufs.append(3_897, 1_448);
        assert_eq!(mbufs.taken, 4_352 + 2_304);
        mbufs.drop(3_897);
        assert_eq!(mbufs.taken, 2_304);
        assert_eq!(mbufs.space(1 << 30, 1 << 30), (2 << 20) - 2_304);
    }
}
