//! RACK: a segment is lost when one sent sufficiently later has been delivered.
//!
//! Sources: RFC 8985 §6; Linux 6.1 `net/ipv4/tcp_recovery.c`.

use aqmlab_core::{Duration, Instant};

use super::TIMEOUT_MIN;
use crate::common::delivery_rate::sent_after;
use crate::common::scoreboard::{ANY_RETRANS, LOST, RETRANS};
use crate::connection::Connection;
use crate::state::CaState;
use crate::timers::XmitTimer;

/// Recoveries for which an enlarged window persists.
pub(crate) const PERSISTENCE: u8 = 16;

/// What RACK remembers.
#[derive(Debug)]
pub(crate) struct Rack {
    /// The latest transmission that was delivered: when, and its end.
    sent: Instant,
    end: u64,
    /// Its round-trip time.
    rtt: Duration,
    /// A delivery has happened since losses were last looked for.
    pub(crate) advanced: bool,
    /// A duplicate was reported since the reordering window last changed.
    pub(crate) dsack_seen: bool,
    /// The reordering window in quarters of the least round-trip time.
    steps: u64,
    /// Recoveries until it shrinks again.
    pub(crate) persist: u8,
    /// What had been delivered when it last changed.
    changed_at: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent: Instant::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            advanced: false,
            dsack_seen: false,
            steps: 1,
            persist: 0,
            changed_at: 0,
        }
    }
}

impl Connection {
    /// Takes in a delivery of a transmission at `sent`.
    #[inline]
    pub(crate) fn rack_advance(&mut self, flags: u8, end: u64, sent: Instant) {
        let rtt = self.clock.now.since(sent);
        let ambiguous = flags & ANY_RETRANS != 0;
        if ambiguous && self.rtt.min().is_none_or(|min| rtt < min) {
            // Too soon: it is the original, or an earlier retransmission, that was delivered.
            return;
        }
        let rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt = rtt;
        if sent_after(sent, end, rack.sent, rack.end) {
            rack.sent = sent;
            rack.end = end;
        }
    }

    /// How long a segment may be overtaken (RFC 8985 §6.2 step 4).
    fn rack_window(&self) -> Duration {
        let rec = &self.recovery;
        if rec.reordering_seen == 0
            && (rec.ca >= CaState::Recovery || self.board.sacked_out >= rec.reordering)
        {
            return Duration::ZERO;
        }
        let Some(min) = self.rtt.min() else { return Duration::ZERO };
        let most = self.rtt.srtt().unwrap_or(Duration::ZERO);
        ((min / 4) * self.rack.steps).min(most)
    }

    /// How much longer a segment sent at `sent` may stay out; `None` if no longer.
    fn rack_patience(&self, sent: Instant, window: Duration) -> Option<Duration> {
        let due = sent + self.rack.rtt + window;
        (due > self.now()).then(|| due.since(self.now()))
    }

    /// Whether a timeout leaves the segment alone, because it was sent only recently.
    pub(crate) fn rack_is_recent(&self, sent: Instant) -> bool {
        self.rack_patience(sent, Duration::ZERO).is_some()
    }

    /// Marks what is lost; returns how long until more may be.
    fn rack_detect(&mut self) -> Option<Duration> {
        let window = self.rack_window();
        let mut wait: Option<Duration> = None;
        let mut next = self.board.oldest();
        while let Some(id) = next {
            next = self.board.next_oldest(id);
            let sent = *self.board.get(id);
            if sent.is(LOST) && !sent.is(RETRANS) {
                continue;
            }
            if !sent_after(self.rack.sent, self.rack.end, sent.sent, sent.end()) {
                break;
            }
            let patience = self.rack_patience(sent.sent, window);
            wait = wait.max(patience);
            if patience.is_none() {
                self.mark_lost(id);
                self.board.delist(id);
            }
        }
        wait
    }

    /// Looks for losses after a delivery; returns whether the reordering timer was set.
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let Some(wait) = self.rack_detect() else { return false };
        self.arm(XmitTimer::Reorder, wait + TIMEOUT_MIN, self.rtt.rto);
        true
    }

    /// The reordering timer went off.
    pub(crate) fn rack_timeout(&mut self) {
        let (in_flight, lost) = (self.board.in_flight(), self.rate.lost);
        self.rack_detect();
        if in_flight != self.board.in_flight() {
            if self.recovery.ca != CaState::Recovery {
                self.enter_recovery(false);
                if !self.cc.controls_cwnd() {
                    self.reduce_cwnd(1, self.rate.lost - lost, false);
                }
            }
            self.retransmit_lost();
        }
        if self.timers.xmit != XmitTimer::Retransmit {
            self.rearm_timeout();
        }
    }

    /// Adapts the reordering window once a round trip: up by a quarter of the least
    /// round-trip time when duplicates are reported, back after sixteen recoveries without.
    #[inline]
    pub(crate) fn rack_update_window(&mut self, prior_delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        let rack = &mut self.rack;
        if prior_delivered < rack.changed_at {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.steps = (rack.steps + 1).min(255);
            rack.dsack_seen = false;
            rack.changed_at = self.rate.delivered;
            rack.persist = PERSISTENCE;
        } else if rack.persist == 0 {
            rack.steps = 1;
        }
    }

    /// Marks a segment as lost and counts it.
    pub(crate) fn mark_lost(&mut self, id: u32) {
        if self.board.mark_lost(id) {
            self.rate.lost += 1;
        }
    }
}
