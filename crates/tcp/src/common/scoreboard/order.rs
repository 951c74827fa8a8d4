//! The list of outstanding segments in the order of their last transmission. Segments tagged S, and
//! segments that RACK marks as lost, leave the list.
//!
//! Source: Linux 6.1 `tsorted_sent_queue` of `struct tcp_sock`.
//!
//! Only retransmissions change the order of the list. Before the first retransmission, and after
//! all retransmitted segments are acknowledged, the list is in sequence order. It then needs no
//! links: its segments have the tag [`LISTED`]. Most segments of a transfer therefore never need
//! links. If many segments have left the list, the others are linked. A search then does not visit
//! the segments that have left.

use aqmlab_core::Instant;

use super::Scoreboard;
use super::sent::{EVER_RETRANS, LISTED, NONE, Sent};

/// The number of segments tagged S or L above which the list is linked. A search of a list that is
/// not linked visits no more segments than these that have left it.
const MANY: u32 = 16;

impl Scoreboard {
    /// Records that the segment was retransmitted at `now`, and moves it to the end of the list.
    /// Returns the segment.
    #[inline]
    pub(crate) fn resend(&mut self, id: u32, now: Instant) -> &mut Sent {
        self.delist(id);
        if !self.is_linked() {
            self.link();
        }
        self.linked_until = self.linked_until.max(id + 1);
        self.split_skb(id);
        let sent = self.get_mut(id);
        (sent.sent_at, sent.part) = (now, 0);
        sent.flags |= LISTED | EVER_RETRANS;
        self.append(id);
        self.get_mut(id)
    }

    /// Returns whether the list is linked. Otherwise it is in sequence order.
    #[inline]
    pub(super) const fn is_linked(&self) -> bool {
        self.first() < self.linked_until
    }

    /// Links the segments of a list in sequence order.
    fn link(&mut self) {
        (self.head, self.tail) = (NONE, NONE);
        for id in self.ids() {
            if self.get(id).is(LISTED) {
                self.append(id);
            }
        }
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

    /// Removes the segment from the list, if it is in the list. Links the list if many segments
    /// have left it.
    pub(crate) fn delist(&mut self, id: u32) {
        if self.is_linked() {
            self.take_from_list(id);
            return;
        }
        self.get_mut(id).flags &= !LISTED;
        if self.left_out() > MANY {
            self.link();
            self.linked_until = self.end_id();
        }
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
        self.listed_from(self.first())
    }

    /// Returns the id of the segment after `id` in the list, if there is one.
    pub(crate) fn next_oldest(&self, id: u32) -> Option<u32> {
        if self.is_linked() {
            let after = self.get(id).after;
            return (after != NONE).then_some(after);
        }
        self.listed_from(id + 1)
    }

    /// Returns the id of the first segment from `id` on that is in the list, if there is one.
    fn listed_from(&self, mut id: u32) -> Option<u32> {
        while self.holds(id) {
            if self.get(id).is(LISTED) {
                return Some(id);
            }
            id += 1;
        }
        None
    }
}
