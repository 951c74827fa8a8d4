//! The list of outstanding segments in order of their last transmission.
//!
//! Source: Linux 6.1 `tsorted_sent_queue` of `struct tcp_sock`.

use aqmlab_core::Instant;

use super::Scoreboard;
use super::sent::{EVER_RETRANS, LISTED, NONE, Sent};

impl Scoreboard {
    /// Records that the segment was retransmitted at `now`.
    #[inline]
    pub(crate) fn resend(&mut self, id: u32, now: Instant) -> &mut Sent {
        self.delist(id);
        let tail = self.tail;
        let sent = self.get_mut(id);
        sent.sent = now;
        sent.flags |= LISTED | EVER_RETRANS;
        sent.before = tail;
        sent.after = NONE;
        self.tail = id;
        self.link(tail, id);
        self.get_mut(id)
    }

    /// Links `id` behind `tail` in the list.
    #[inline]
    pub(super) fn link(&mut self, tail: u32, id: u32) {
        if tail == NONE {
            self.head = id;
        } else {
            self.get_mut(tail).after = id;
        }
    }

    /// Removes the segment from the list in order of transmission.
    #[inline]
    pub(crate) fn delist(&mut self, id: u32) {
        let sent = self.get_mut(id);
        if !sent.is(LISTED) {
            return;
        }
        sent.flags &= !LISTED;
        let (before, after) = (sent.before, sent.after);
        self.unlink(before, after);
    }

    /// Closes the gap between `before` and `after` in the list.
    #[inline]
    pub(super) fn unlink(&mut self, before: u32, after: u32) {
        if before == NONE {
            self.head = after;
        } else {
            self.get_mut(before).after = after;
        }
        if after == NONE {
            self.tail = before;
        } else {
            self.get_mut(after).before = before;
        }
    }

    /// Returns the segment in the list with the oldest transmission, if the list has one.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Returns the segment after `id` in order of transmission, if there is one.
    pub(crate) fn next_oldest(&self, id: u32) -> Option<u32> {
        let after = self.get(id).after;
        (after != NONE).then_some(after)
    }
}
