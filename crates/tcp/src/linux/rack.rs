//! RACK: a segment is lost if a segment sent sufficiently later has been delivered.
//!
//! Sources: RFC 8985 §6; Linux 6.1 `net/ipv4/tcp_recovery.c`.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant};

use super::{Linux, TIMEOUT_MIN};
use crate::common::delivery_rate::sent_after;
use crate::common::scoreboard::{ANY_RETRANS, LOST, RETRANS, Sent};
use crate::state::CaState;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The number of recoveries for which an enlarged reordering window persists
/// (`TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u8 = 16;

/// The time between two parts of a train: a microsecond, the resolution of the times that RACK
/// compares. RACK only tests whether a segment was sent later, so a longer time has the same effect.
///
/// A simulated host sends a train of bursts at one time. On Linux, TCP small queues divide the train
/// into parts, and the host sends a part after it has processed the packets of the part before. If
/// an acknowledgement covers data and reports later segments by SACK, RACK's round-trip time is that
/// of the covered data. A segment that was sent later, even by a microsecond, then counts as lost
/// only at the next acknowledgement of a later segment, or when the reordering timer expires.
const BETWEEN_PARTS: Duration = Duration::from_micros(1);

/// The state of RACK.
#[derive(Debug)]
pub(super) struct Rack {
    /// The time of the latest transmission that was delivered (`mstamp`).
    sent_at: Instant,
    /// The end of the segment in the latest transmission that was delivered (`end_seq`).
    end: u64,
    /// The round-trip time of the segment delivered last (`rtt_us`).
    rtt: Duration,
    /// Whether a segment was delivered since the last detection of losses.
    advanced: bool,
    /// Whether a duplicate was reported that has not yet enlarged the reordering window.
    dsack_seen: bool,
    /// The reordering window in quarters of the minimum round-trip time (`reo_wnd_steps`).
    steps: u64,
    /// The number of recoveries until the window returns to its initial size (`reo_wnd_persist`).
    persist: u8,
    /// The number of segments delivered when the window last grew (`last_delivered`).
    changed_at: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: Instant::ZERO,
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

impl Rack {
    /// Records the delivery of `segment`. Ignores a delivery that is probably of an earlier
    /// transmission (`tcp_rack_advance`).
    #[inline]
    pub(super) fn advance(&mut self, tcb: &Tcb, segment: &Sent) {
        let (sent_at, end) = (segment.sent_at, segment.end());
        let rtt = tcb.clock.now.since(transmission(segment));
        if segment.flags & ANY_RETRANS != 0 {
            rare();
            if tcb.rtt.min().is_none_or(|min| rtt < min) {
                // The round trip is too short: the original, or an earlier retransmission, was
                // delivered.
                return;
            }
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent_after(sent_at, end, self.sent_at, self.end) {
            self.sent_at = sent_at;
            self.end = end;
        }
    }

    /// Records the delivery of the SYN, which triggers no detection.
    pub(super) fn on_syn_delivered(&mut self, tcb: &Tcb, sent_at: Instant) {
        let mut syn = Sent::new(0, 1, 0);
        syn.sent_at = sent_at;
        self.advance(tcb, &syn);
        self.advanced = false;
    }

    /// Makes the next acknowledgement detect losses.
    pub(super) fn force_detection(&mut self) {
        self.advanced = true;
    }

    /// Records that the peer reports a duplicate.
    pub(super) fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Records that a reduction was undone because of duplicates. The enlarged window then persists
    /// for one more recovery.
    pub(super) fn on_dsack_undo(&mut self) {
        self.persist = (self.persist + 1).min(PERSISTENCE);
    }

    /// Records the end of a recovery that was not undone.
    pub(super) fn on_recovery_kept(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Returns whether the segment was sent after the latest delivered segment.
    fn is_later(&self, segment: &Sent) -> bool {
        !sent_after(self.sent_at, self.end, segment.sent_at, segment.end())
    }

    /// Returns the time until `segment` counts as lost; `None` if it is lost
    /// (`tcp_rack_skb_timeout`).
    fn remaining(&self, now: Instant, segment: &Sent, window: Duration) -> Option<Duration> {
        let due = transmission(segment) + self.rtt + window;
        (due > now).then(|| due.since(now))
    }

    /// Returns whether a segment was sent within the last round-trip time. A timeout does not mark
    /// such a segment as lost.
    pub(super) fn is_recent(&self, now: Instant, segment: &Sent) -> bool {
        self.remaining(now, segment, Duration::ZERO).is_some()
    }

    /// Adapts the reordering window once per round trip (`tcp_rack_update_reo_wnd`). If duplicates
    /// are reported, the window grows by a quarter of the minimum round-trip time. After sixteen
    /// recoveries that were not undone, the window returns to its initial size.
    #[inline]
    pub(super) fn update_window(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        self.dsack_seen &= prior_delivered >= self.changed_at;
        if self.dsack_seen {
            rare();
            self.steps = (self.steps + 1).min(255);
            self.dsack_seen = false;
            self.changed_at = delivered;
            self.persist = PERSISTENCE;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }
}

/// Returns the time of the last transmission of a segment, from which RACK counts times. The order
/// of transmissions needs no parts, because later parts of a train have higher sequence numbers.
#[inline]
fn transmission(segment: &Sent) -> Instant {
    segment.sent_at + BETWEEN_PARTS * u64::from(segment.part)
}

impl Linux {
    /// Returns the time by which a segment may be reordered (RFC 8985 §6.2 step 4).
    fn reordering_window(&self, tcb: &Tcb) -> Duration {
        let is_certain = self.recovery.ca() >= CaState::Recovery
            || tcb.board.sacked_out() >= self.reordering.degree();
        if !self.reordering.is_seen() && is_certain {
            return Duration::ZERO;
        }
        let Some(min) = tcb.rtt.min() else { return Duration::ZERO };
        let most = tcb.rtt.srtt().unwrap_or(Duration::ZERO);
        ((min / 4) * self.rack.steps).min(most)
    }

    /// Marks lost segments. Returns the time after which the remaining segments that were sent
    /// before the latest delivered segment count as lost, if there are any
    /// (`tcp_rack_detect_loss`).
    fn detect_losses(&mut self, tcb: &mut Tcb) -> Option<Duration> {
        let window = self.reordering_window(tcb);
        let now = tcb.now();
        let mut wait: Option<Duration> = None;
        let mut next = tcb.board.oldest();
        while let Some(id) = next {
            let sent = tcb.board.get(id);
            if sent.is(LOST) && !sent.is(RETRANS) {
                next = tcb.board.next_oldest(id);
                continue;
            }
            if self.rack.is_later(sent) {
                break;
            }
            let remaining = self.rack.remaining(now, sent, window);
            wait = wait.max(remaining);
            next = tcb.board.next_oldest(id);
            if remaining.is_none() {
                tcb.mark_lost(id);
                tcb.board.delist(id);
            }
        }
        wait
    }

    /// Returns whether [`Self::detect_losses`] would end at its first segment, or has no segment.
    /// Its rules for the first segment are repeated here. Debug builds compare the two.
    #[inline]
    fn finds_no_loss(&self, tcb: &Tcb) -> bool {
        tcb.board.oldest().is_none_or(|id| {
            let sent = tcb.board.get(id);
            sent.flags & (LOST | RETRANS) != LOST && self.rack.is_later(sent)
        })
    }

    /// Detects losses after a delivery. Returns whether the reordering timer was set
    /// (`tcp_rack_mark_lost`).
    pub(super) fn rack_mark_lost(&mut self, tcb: &mut Tcb) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        if self.finds_no_loss(tcb) {
            debug_assert_eq!(self.detect_losses(tcb), None, "the first segment ends the search");
            return false;
        }
        let Some(wait) = self.detect_losses(tcb) else { return false };
        tcb.arm(XmitTimer::Reorder, wait + TIMEOUT_MIN, tcb.rtt.rto);
        true
    }

    /// Handles the expiry of the reordering timer: marks and retransmits lost segments
    /// (`tcp_rack_reo_timeout`).
    pub(super) fn on_reorder_timer(&mut self, tcb: &mut Tcb) {
        let (in_flight, lost) = (tcb.board.in_flight(), tcb.rate.lost);
        self.detect_losses(tcb);
        if in_flight != tcb.board.in_flight() {
            if self.recovery.ca() != CaState::Recovery {
                self.enter_recovery(tcb, false);
                if !tcb.controls_cwnd {
                    let lost = tcb.rate.lost - lost;
                    self.reduce_cwnd(tcb, 1, lost, false);
                }
            }
            self.retransmit_lost(tcb);
        }
        if tcb.timers.xmit != XmitTimer::Retransmit {
            tcb.rearm_rto();
        }
    }
}
