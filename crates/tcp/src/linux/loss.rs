//! Finding out what is lost: by time, by counting, by duplicates, or by a timeout.

use super::{AckState, flag};
use crate::common::scoreboard::{LOST, SACKED};
use crate::connection::Connection;
use crate::state::CaState;

impl Connection {
    /// Finds out what is lost.
    pub(crate) fn identify_losses(&mut self, ack: &mut AckState) {
        if self.board.is_empty() {
            return;
        }
        if !self.options.sack {
            self.mark_head_without_sack(ack.has(flag::SND_UNA_ADVANCED));
        } else if self.profile.rack {
            let before = self.board.retrans_out;
            if self.rack_mark_lost() {
                ack.flags &= !flag::SET_XMIT_TIMER;
            }
            if before > self.board.retrans_out {
                ack.flags |= flag::LOST_RETRANS;
            }
        }
    }

    /// NewReno (RFC 6582): the head is lost at the third duplicate, and at each partial
    /// acknowledgement.
    fn mark_head_without_sack(&mut self, advanced: bool) {
        let ca = self.recovery.ca;
        let third = ca < CaState::Recovery && self.board.sacked_out >= self.recovery.reordering;
        if (third || (ca == CaState::Recovery && advanced))
            && let Some(id) = self.board.front_id()
            && !self.board.get(id).is(LOST)
        {
            self.mark_lost(id);
        }
    }

    pub(crate) fn is_time_to_recover(&self) -> bool {
        let counted = !self.profile.rack && self.board.sacked_out + 1 > self.recovery.reordering;
        self.board.lost_out > 0 || counted
    }

    /// Whether something is selectively acknowledged beyond what reordering explains.
    pub(crate) fn has_far_sacks(&self) -> bool {
        let reach = u64::from(self.recovery.reordering) * u64::from(self.window.mss);
        self.board.highest_sack(self.snd.una) > self.snd.una + reach
    }

    /// RFC 6675: a segment is lost when enough above it is selectively acknowledged.
    pub(crate) fn update_scoreboard(&mut self, fast: bool) {
        if !self.options.sack {
            return;
        }
        match self.board.sacked_out.checked_sub(self.recovery.reordering) {
            Some(spare) => self.mark_head_lost(spare, false),
            None if fast => self.mark_head_lost(1, true),
            None => {}
        }
    }

    /// Marks from the head on until more than `spare` selectively acknowledged segments have
    /// been passed; only the head if `one`.
    fn mark_head_lost(&mut self, spare: u32, one: bool) {
        let Some(front) = self.board.front_id() else { return };
        let hint = self.board.lost_hint.filter(|(id, _)| self.board.holds(*id));
        let (start, mut count) = hint.unwrap_or((front, 0));
        if one && hint.is_some() && start != front {
            return;
        }
        for id in start..self.board.end_id() {
            self.board.lost_hint = Some((id, count));
            let flags = self.board.get(id).flags;
            if flags & SACKED != 0 {
                count += 1;
            }
            if count > spare {
                break;
            }
            if flags & LOST == 0 {
                self.mark_lost(id);
            }
            if one {
                break;
            }
        }
    }

    /// A timeout: everything counts as lost that was not sent quite recently.
    pub(crate) fn mark_lost_by_timeout(&mut self) {
        let Some(head) = self.board.front_id() else { return };
        let reneging = self.board.get(head).is(SACKED);
        if reneging {
            self.board.unmark_sacked();
            self.recovery.reneging = true;
        } else if !self.options.sack {
            self.board.sacked_out = 0;
        }
        for id in self.board.ids() {
            let sent = self.board.get(id).sent;
            let spared = !reneging && self.profile.rack && id != head;
            if spared && self.rack_is_recent(sent) {
                continue;
            }
            self.mark_lost(id);
        }
        self.board.clear_hints();
    }
}
