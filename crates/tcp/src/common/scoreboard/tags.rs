//! The tags S, R and L, with their counters and hints.

use super::Scoreboard;
use super::sent::{LOST, RETRANS, SACKED};

impl Scoreboard {
    /// Sets the tag S of the segment, and removes the segment from the list in transmission order.
    pub(crate) fn set_sacked(&mut self, id: u32) {
        self.split_skb(id);
        self.merge_sacked(id);
        let sent = self.get_mut(id);
        sent.flags |= SACKED;
        let end = sent.end();
        if self.sacked_out == 0 || end > self.fack {
            (self.fack, self.after_fack) = (end, id + 1);
        }
        self.sacked_out += 1;
        self.delist(id);
        if let Some((hint, count)) = &mut self.lost_hint
            && id < *hint
        {
            *count += 1;
        }
    }

    /// Without SACK, sets the number of segments that duplicate acknowledgements stand for.
    pub(crate) fn set_emulated_sacks(&mut self, count: u32) {
        self.sacked_out = count;
    }

    /// Sets the tag R of the segment, unless the segment already has the tag R or S.
    pub(crate) fn mark_retransmitted(&mut self, id: u32) {
        let sent = self.get_mut(id);
        if sent.flags & (SACKED | RETRANS) == 0 {
            sent.flags |= RETRANS;
            self.retrans_out += 1;
        }
    }

    /// Removes the tag R of the segment.
    pub(crate) fn unmark_retransmitted(&mut self, id: u32) {
        let sent = self.get_mut(id);
        if sent.is(RETRANS) {
            sent.flags &= !RETRANS;
            self.retrans_out -= 1;
        }
    }

    /// Removes all tags R.
    pub(crate) fn clear_retransmitted(&mut self) {
        for id in self.ids() {
            self.get_mut(id).flags &= !RETRANS;
        }
        self.retrans_out = 0;
    }

    /// Removes the tag L of the segment.
    pub(crate) fn unmark_lost(&mut self, id: u32) {
        let sent = self.get_mut(id);
        if sent.is(LOST) {
            sent.flags &= !LOST;
            self.lost_out -= 1;
        }
    }

    /// Sets the tag L of the segment, unless the segment has the tag S. A segment that already has
    /// the tag L loses the tag R. Returns whether the loss of the segment, or of its
    /// retransmission, was previously unknown.
    pub(crate) fn mark_lost(&mut self, id: u32) -> bool {
        let flags = self.get(id).flags;
        if flags & SACKED != 0 {
            return false;
        }
        self.verify_retransmit_hint(id);
        if flags & LOST == 0 {
            self.lost_out += 1;
            self.get_mut(id).flags |= LOST;
            return true;
        }
        self.unmark_retransmitted(id);
        flags & RETRANS != 0
    }

    /// Moves the retransmission hint back to a newly lost segment. The hint may be beyond all lost
    /// segments only if all lost segments have been retransmitted.
    fn verify_retransmit_hint(&mut self, id: u32) {
        match self.retransmit_hint {
            None if self.retrans_out >= self.lost_out => self.retransmit_hint = Some(id),
            Some(hint) if id < hint => self.retransmit_hint = Some(id),
            _ => {}
        }
    }

    /// Removes all tags L and the hints.
    pub(crate) fn clear_lost(&mut self) {
        for id in self.ids() {
            self.get_mut(id).flags &= !LOST;
        }
        self.lost_out = 0;
        self.clear_hints();
    }

    /// Removes all tags S, because the receiver has discarded data that it had acknowledged
    /// selectively.
    pub(crate) fn clear_sacked(&mut self) {
        for id in self.ids() {
            self.get_mut(id).flags &= !SACKED;
        }
        self.sacked_out = 0;
        self.count_skbs();
    }

    /// Returns the id of the segment, if stored, at which the search for the next retransmission
    /// starts.
    pub(crate) const fn retransmit_hint(&self) -> Option<u32> {
        self.retransmit_hint
    }

    /// Makes the search for the next retransmission start at `id`.
    pub(crate) fn set_retransmit_hint(&mut self, id: u32) {
        self.retransmit_hint = Some(id);
    }

    /// Returns the id of the segment at which counting for RFC 6675 stopped, and the count, if that
    /// segment is still outstanding.
    pub(crate) fn lost_hint(&self) -> Option<(u32, u32)> {
        self.lost_hint.filter(|(id, _)| self.holds(*id))
    }

    /// Records that counting for RFC 6675 stopped at `id` with `count`.
    pub(crate) fn set_lost_hint(&mut self, id: u32, count: u32) {
        self.lost_hint = Some((id, count));
    }

    /// Reduces the stored count for RFC 6675, if any, by `removed`, the number of removed segments
    /// tagged S.
    pub(crate) fn discount_lost_hint(&mut self, removed: u32) {
        if let Some((_, count)) = &mut self.lost_hint {
            *count = count.saturating_sub(removed);
        }
    }

    pub(crate) fn clear_hints(&mut self) {
        self.retransmit_hint = None;
        self.lost_hint = None;
    }
}
