//! The list of outstanding segments in the order of their last transmission. Segments tagged S, and
//! segments that RACK marks as lost, leave the list.
//!
//! Source: Linux 6.1 `tsorted_sent_queue` of `struct tcp_sock`.

use aqmlab_core::Instant;

use super::Scoreboard;
use super::sent::{EVER_RETRANS, LISTED, NONE, Sent};

impl Scoreboard {
    /// Records that the segment was retransmitted at `now`, and moves it to the end of the list.
    /// Returns the segment.
    #[inline]
    pub(crate) fn resend(&mut self, id: u32, now: Instant) -> &mut Sent {
        self.delist(id);
        self.split_skb(id);
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

    /// Links `id` behind `tail`, or as the head if `tail` is [`NONE`].
    #[inline]
    pub(super) fn link(&mut self, tail: u32, id: u32) {
        if tail == NONE {
            self.head = id;
        } else {
            self.get_mut(tail).after = id;
        }
    }

    /// Removes the segment from the list, if it is in the list.
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

    /// Links `before` to `after`, between which a segment leaves the list.
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

    /// Returns the id of the segment whose last transmission is the oldest, if the list is not
    /// empty.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Returns the id of the segment after `id` in the list, if there is one.
    pub(crate) fn next_oldest(&self, id: u32) -> Option<u32> {
        let after = self.get(id).after;
        (after != NONE).then_some(after)
    }
}
