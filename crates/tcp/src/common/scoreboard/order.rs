//! The list of outstanding segments in the order of their last transmission. Segments tagged S, and
//! segments that RACK marks as lost, leave the list.
//!
//! Source: Linux 6.1 `tsorted_sent_queue` of `struct tcp_sock`.
//!
//! Without losses the list has all segments in sequence order. The segments are linked only at the
//! first change of this order, and as long as a segment that was sent before the last change is
//! outstanding. Most segments of a transfer therefore never need links.

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
        let sent = self.get_mut(id);
        (sent.sent, sent.part) = (now, 0);
        sent.flags |= LISTED | EVER_RETRANS;
        self.append(id);
        self.get_mut(id)
    }

    /// Returns whether the list is linked. Otherwise it has all segments in sequence order.
    #[inline]
    pub(super) const fn is_linked(&self) -> bool {
        self.first() < self.unchanged_from
    }

    /// Links all segments in sequence order, unless they are linked. The list is about to change.
    fn prepare_change(&mut self) {
        if !self.is_linked() {
            (self.head, self.tail) = (NONE, NONE);
            self.ids().for_each(|id| self.append(id));
        }
        self.unchanged_from = self.end_id();
    }

    /// Links `id` behind the last segment in the list.
    #[inline(never)]
    pub(super) fn append(&mut self, id: u32) {
        let tail = std::mem::replace(&mut self.tail, id);
        let sent = self.get_mut(id);
        (sent.before, sent.after) = (tail, NONE);
        if tail == NONE {
            self.head = id;
        } else {
            self.get_mut(tail).after = id;
        }
    }

    /// Removes the segment from the list, if it is in the list.
    pub(crate) fn delist(&mut self, id: u32) {
        self.prepare_change();
        self.take_from_list(id);
    }

    /// Removes the segment from the linked list, if it is in the list.
    pub(super) fn take_from_list(&mut self, id: u32) {
        let sent = self.get_mut(id);
        if !sent.is(LISTED) {
            return;
        }
        sent.flags &= !LISTED;
        let (before, after) = (sent.before, sent.after);
        self.unlink(before, after);
    }

    /// Links `before` to `after`, between which a segment leaves the list.
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
        if self.is_linked() {
            return (self.head != NONE).then_some(self.head);
        }
        self.front_id()
    }

    /// Returns the id of the segment after `id` in the list, if there is one.
    pub(crate) fn next_oldest(&self, id: u32) -> Option<u32> {
        if self.is_linked() {
            let after = self.get(id).after;
            return (after != NONE).then_some(after);
        }
        (id + 1 < self.end_id()).then_some(id + 1)
    }
}
