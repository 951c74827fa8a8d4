//! The state of delayed acknowledgements: the adaptive delay (`ato`), quick acknowledgements
//! (`quick`) and compressed acknowledgements.
//!
//! All delays are in ticks, as in Linux. A half of an odd number of ticks is rounded down.

use std::hint::select_unpredictable;

use aqmlab_core::hint::rare;
use aqmlab_core::{TcpFlags, TcpHeader};

use super::MAX_DELAY;
use crate::Profile;
use crate::common::clock::Clock;
use crate::negotiated::{DEFAULT_MSS, NegotiatedOptions};
use crate::profile::DelayedAckRule;
use crate::segment::TCP_HEADER;
use crate::tcb::Tcb;

/// The number of duplicate acknowledgements that are never compressed, so that fast retransmission
/// starts in time (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u32 = 3;

/// The lower bound in bytes of the first estimate of the peer's segment size (`TCP_MIN_MSS`). The
/// upper bound is [`DEFAULT_MSS`].
const MIN_MSS: u32 = 88;

/// The pending acknowledgement, and the adaptive delay (`icsk_ack`).
#[derive(Debug)]
pub(in crate::linux) struct DelayedAck {
    rule: DelayedAckRule,
    /// Whether a full-sized segment with PSH counts as the end of a write.
    heeds_push: bool,
    /// Whether every segment is acknowledged at once, at the user's request.
    always: bool,
    /// The minimum delay.
    least: u64,
    /// The maximum delay.
    most: u64,
    /// A lower bound of the retransmission timeout.
    least_rto: u64,
    /// Whether an acknowledgement is pending (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// Whether the pending acknowledgement is due at once (`ICSK_ACK_NOW`).
    now: bool,
    /// Whether the end of a write has arrived, usually as a small segment (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// Whether the ends of several writes have arrived (`ICSK_ACK_PUSHED2`).
    pushed_twice: bool,
    /// The number of acknowledgements that must still be sent at once (`quick`).
    quick: u32,
    /// Whether data flows in both directions, so that acknowledgements wait for data that carries
    /// them (`pingpong`).
    pingpong: bool,
    /// The adaptive delay; `None` before the first data (`ato`).
    ato: Option<u64>,
    /// The tick at which data last arrived (`lrcvtime`).
    last_received: u64,
    last_size: u32,
    /// The estimate of the peer's segment size (`rcv_mss`).
    rcv_mss: u32,
    /// The number of acknowledgements that were not sent, because a later acknowledgement replaces
    /// them (`compressed_ack`).
    compressed: u32,
    compressed_at: u64,
    duplicates: u32,
}

impl DelayedAck {
    pub(in crate::linux) fn new(profile: &Profile, always: bool, clock: &Clock) -> Self {
        let least = clock.covering(profile.delayed_ack);
        Self {
            rule: profile.delayed_ack_rule,
            heeds_push: profile.push_acks,
            always,
            least,
            most: clock.covering(profile.delayed_ack_max).max(least),
            least_rto: clock
                .covering(profile.rto_min.min(profile.rto_max).min(profile.rto_fallback)),
            scheduled: false,
            now: false,
            pushed: false,
            pushed_twice: false,
            quick: 0,
            pingpong: false,
            ato: None,
            last_received: 0,
            last_size: 0,
            rcv_mss: DEFAULT_MSS,
            compressed: 0,
            compressed_at: 0,
            duplicates: 0,
        }
    }

    /// Starts the estimate of the peer's segment size at a low value, from which it rises quickly
    /// (`tcp_initialize_rcv_mss`).
    pub(in crate::linux) fn start(&mut self, tcb: &Tcb) {
        let hint = u64::from(tcb.options.advmss.min(tcb.window.mss)).min(tcb.rcv.wnd / 2);
        self.rcv_mss = hint.clamp(u64::from(MIN_MSS), u64::from(DEFAULT_MSS)) as u32;
        self.last_received = tcb.clock.jiffies();
    }

    pub(super) const fn rule(&self) -> DelayedAckRule {
        self.rule
    }

    /// Returns the minimum delay in ticks.
    pub(super) const fn least(&self) -> u64 {
        self.least
    }

    /// Returns the estimate of the peer's segment size.
    #[inline]
    pub(in crate::linux) const fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// Makes an acknowledgement pending.
    #[inline]
    pub(in crate::linux) fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// Makes the next acknowledgement due at once.
    #[inline]
    pub(in crate::linux) fn require_now(&mut self) {
        self.now = true;
    }

    /// Makes an acknowledgement pending for data that was dropped. A host with a fixed delay sends
    /// it at once.
    pub(in crate::linux) fn on_refused(&mut self) {
        self.scheduled = true;
        self.now |= self.rule == DelayedAckRule::Fixed;
    }

    /// Handles the peer's FIN. Later acknowledgements wait for data that carries them. A host with
    /// a fixed delay acknowledges the FIN at once.
    pub(in crate::linux) fn on_fin(&mut self) {
        self.pingpong = true;
        self.now |= self.rule == DelayedAckRule::Fixed;
    }

    /// Ends quick acknowledgements, because the free space in the buffer is small.
    pub(in crate::linux) fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Makes at least one acknowledgement immediate, because the window has grown.
    #[inline]
    pub(in crate::linux) fn ensure_quick(&mut self) {
        self.quick |= 1;
    }

    #[inline]
    pub(in crate::linux) const fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Returns whether the pending acknowledgement must not be delayed (`tcp_in_quickack_mode`).
    #[inline]
    pub(in crate::linux) const fn is_urgent(&self) -> bool {
        self.is_forced() || (self.quick > 0 && !self.pingpong)
    }

    /// Returns whether the pending acknowledgement is due at once, whichever delay rule applies.
    pub(super) const fn is_forced(&self) -> bool {
        self.now || self.always
    }

    /// Makes up to `count` of the next acknowledgements immediate, at most one for every two
    /// segments of `wnd`, the window last offered. Sets the delay to its minimum.
    pub(super) fn enter_quick_ack(&mut self, wnd: u64, count: u64) {
        self.raise_quick(wnd, count);
        self.pingpong = false;
        self.ato = Some(self.least);
    }

    /// Raises the number of immediate acknowledgements to `count`, or to half of the segments in
    /// `wnd` if these are fewer. For a window below two segments, the limit is two
    /// (`tcp_incr_quickack`).
    fn raise_quick(&mut self, wnd: u64, count: u64) {
        let half = wnd / (2 * u64::from(self.rcv_mss.max(1)));
        let half = if half == 0 { 2 } else { half };
        self.quick = self.quick.max(half.min(count) as u32);
    }

    /// Records the arrival of data in order. With the adaptive rule, also adapts the delay.
    #[inline]
    pub(super) fn on_data_received(&mut self, tcb: &Tcb) {
        if self.rule == DelayedAckRule::Adaptive {
            self.adapt(tcb);
        }
        self.last_received = tcb.clock.jiffies();
    }

    /// Adapts the delay. At high rates the delay approaches the minimum; at low rates it follows
    /// the gaps between segments. The first data, and data after a long gap, also make
    /// acknowledgements immediate.
    #[inline]
    fn adapt(&mut self, tcb: &Tcb) {
        let Some(ato) = self.ato else {
            rare();
            self.raise_quick(tcb.rcv.wnd, tcb.profile.quick_acks);
            self.ato = Some(self.least);
            return;
        };
        let gap = tcb.clock.jiffies() - self.last_received;
        let (is_short, shrinks) = (gap <= self.least / 2, gap < ato);
        let shorter = ato / 2 + select_unpredictable(is_short, self.least / 2, gap);
        self.ato = Some(select_unpredictable(is_short | shrinks, shorter, ato));
        // The timeout is not below this bound, so it matters only beyond the bound.
        if shorter.max(gap) > self.least_rto {
            rare();
            self.adapt_to_timeout(tcb, gap, shrinks);
        }
    }

    /// Completes [`Self::adapt`] if the gap or the new delay may exceed the timeout. `shrinks`
    /// states whether the gap is shorter than the previous delay.
    #[inline(never)]
    fn adapt_to_timeout(&mut self, tcb: &Tcb, gap: u64, shrinks: bool) {
        let rto = tcb.clock.covering(tcb.rtt.rto);
        if gap <= self.least / 2 {
            return;
        }
        if shrinks {
            self.ato = self.ato.map(|ato| ato.min(rto));
        } else if gap > rto {
            // After a gap longer than the timeout, the sender has probably not restarted its
            // window. It then needs acknowledgements.
            self.raise_quick(tcb.rcv.wnd, tcb.profile.quick_acks);
        }
    }

    /// Estimates the peer's segment size, and records whether the segment is probably the end of a
    /// write (`tcp_measure_rcv_mss`).
    #[inline]
    pub(super) fn measure_rcv_mss(&mut self, header: &TcpHeader, options: &NegotiatedOptions) {
        let last = std::mem::take(&mut self.last_size);
        if header.payload >= self.rcv_mss {
            self.rcv_mss = header.payload.min(options.advmss).max(1);
            // The segment is probably the end of a write. The sender may wait for its
            // acknowledgement.
            self.pushed |= self.heeds_push && header.flags.has(TcpFlags::PSH);
            return;
        }
        rare();
        let whole = header.payload + TCP_HEADER + u32::from(header.options_len);
        let ends = header.flags.has(TcpFlags::PSH) || header.flags.has(TcpFlags::FIN);
        if whole >= DEFAULT_MSS + TCP_HEADER || (whole >= MIN_MSS + TCP_HEADER && !ends) {
            // If two segments in a row have the same size without options, this size counts as the
            // peer's segment size.
            let size = whole.saturating_sub(TCP_HEADER + options.fixed_len());
            self.last_size = size;
            if size == last {
                self.rcv_mss = size.max(1);
                return;
            }
        }
        self.pushed_twice |= self.pushed;
        self.pushed = true;
    }

    /// Returns the delay of the pending acknowledgement in ticks.
    #[expect(clippy::inline_always, reason = "nearly all data passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn delay(&self, tcb: &Tcb) -> u64 {
        // Before the first data there is no delay, so a FIN without data before it is acknowledged
        // at the next tick.
        let mut ato = self.ato.unwrap_or(0);
        if ato > self.least {
            rare();
            ato = self.limited(ato, tcb);
        }
        ato.min(self.most)
    }

    /// Limits a delay in ticks that is longer than the minimum. The limits are rounded up to whole
    /// ticks.
    #[expect(
        clippy::inline_always,
        reason = "with 64 flows, unlike in most trials, most data passes"
    )]
    #[inline(always)]
    fn limited(&self, mut ato: u64, tcb: &Tcb) -> u64 {
        if !self.pingpong && !self.pushed {
            ato = ato.min(tcb.clock.covering(MAX_DELAY));
        }
        if let Some(srtt) = tcb.rtt.srtt() {
            ato = ato.min(tcb.clock.covering(srtt).max(self.least));
        }
        ato
    }

    /// Counts a duplicate acknowledgement at `nxt` as compressed, unless `limit` is reached or it
    /// is among the first three at `nxt`. Returns whether it was counted.
    pub(super) fn compress(&mut self, nxt: u64, limit: u32) -> bool {
        if self.compressed >= limit {
            return false;
        }
        if self.compressed_at != nxt {
            self.compressed_at = nxt;
            self.duplicates = 0;
        }
        if self.duplicates < UNCOMPRESSED {
            self.duplicates += 1;
            return false;
        }
        self.compressed += 1;
        true
    }

    pub(super) const fn has_compressed(&self) -> bool {
        self.compressed > 0
    }

    /// Returns whether the pending acknowledgement is due after the application has read.
    /// `unacknowledged` is in bytes, and `in_order` states whether no data is out of order.
    #[inline]
    pub(super) fn is_due_after_read(&self, unacknowledged: u64, in_order: bool) -> bool {
        let drained = self.pushed_twice | (self.pushed & !self.pingpong);
        self.scheduled & ((unacknowledged > u64::from(self.rcv_mss)) | (drained & in_order))
    }

    /// Records that an acknowledgement was sent, alone or with data. Returns whether it covers
    /// compressed acknowledgements (`tcp_event_ack_sent`).
    #[inline]
    pub(in crate::linux) fn on_ack_sent(&mut self) -> bool {
        let had_compressed = self.compressed > 0;
        self.compressed = 0;
        // Only an acknowledgement of data counts as a quick acknowledgement.
        if self.quick > 0 && self.scheduled {
            rare();
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = Some(self.least);
            }
        }
        self.scheduled = false;
        self.now = false;
        self.pushed = false;
        self.pushed_twice = false;
        had_compressed
    }

    /// Records that data was sent. If data arrived less than the adaptive delay ago, the traffic is
    /// interactive (`tcp_event_data_sent`).
    #[inline]
    pub(in crate::linux) fn on_data_sent(&mut self, clock: &Clock) {
        if let (Some(ato), false) = (self.ato, self.pingpong) {
            rare();
            self.pingpong = clock.jiffies() - self.last_received < ato;
        }
    }

    /// Handles the expiry of the timer. If an acknowledgement is pending, ends the interactive
    /// mode, or doubles the delay up to the retransmission timeout. Returns whether one is pending.
    pub(super) fn on_timer(&mut self, tcb: &Tcb) -> bool {
        if self.scheduled {
            if self.pingpong {
                // No reply came in time, so the traffic is not interactive.
                self.pingpong = false;
                self.ato = Some(self.least);
            } else {
                self.ato = self.ato.map(|ato| (ato * 2).min(tcb.clock.covering(tcb.rtt.rto)));
            }
        }
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Duration, Instant, Rng};

    use crate::Profile;
    use crate::linux::testing;

    /// The constants of Linux in ticks, at 250 ticks per second.
    const HZ: u64 = 250;
    const TCP_ATO_MIN: u64 = HZ / 25;
    const TCP_DELACK_MIN: u64 = HZ / 25;
    const TCP_DELACK_MAX: u64 = HZ / 5;

    /// Compares the delay with `tcp_send_delayed_ack`.
    #[test]
    fn a_delay_is_limited_by_whole_ticks() {
        let (mut linux, mut tcb) = testing::open("cubic");
        let mut rng = Rng::stream(1, "delay");
        for _ in 0..20_000 {
            let srtt = Duration::from_nanos(rng.below(600_000_000) >> rng.below(4));
            tcb.rtt.srtt8 = srtt.as_nanos() * 8;
            let srtt_ticks = tcb.clock.covering(srtt);
            let near = [srtt_ticks, HZ / 2, TCP_DELACK_MAX, rng.below(175)];
            let ato = near[rng.below(4) as usize] + rng.below(3);
            let delack = &mut linux.delack;
            delack.ato = Some(ato);
            (delack.pingpong, delack.pushed) = (rng.below(2) == 0, rng.below(2) == 0);
            let mut want = ato;
            if want > TCP_DELACK_MIN {
                let is_short = delack.pingpong || delack.pushed;
                let mut most = if is_short { TCP_DELACK_MAX } else { HZ / 2 };
                if srtt > Duration::ZERO {
                    most = most.min(srtt_ticks.max(TCP_DELACK_MIN));
                }
                want = want.min(most);
            }
            let want = want.min(TCP_DELACK_MAX);
            assert_eq!(delack.delay(&tcb), want, "{ato} ticks, srtt {srtt}");
        }
    }

    /// Compares the adaptive delay with `tcp_event_data_recv`.
    #[test]
    fn a_delay_is_adapted_in_whole_ticks() {
        let mut short = Profile::linux();
        // A timeout that is shorter than the minimum of other timeouts.
        short.rto_max = Duration::from_millis(100);
        for (profile, timeout_ms, rto) in [(Profile::linux(), 201, 51), (short, 100, 25)] {
            let (mut linux, mut tcb) = testing::with(profile, "cubic", None);
            let mut rng = Rng::stream(2, "gaps");
            tcb.rtt.rto = Duration::from_millis(timeout_ms);
            let (mut ato, mut now) = (TCP_ATO_MIN, 0);
            linux.delack.ato = Some(ato);
            linux.delack.last_received = 0;
            for _ in 0..20_000 {
                let most = 12 << rng.below(4);
                let gap = rng.below(most);
                now += gap;
                tcb.clock.set(Instant::ZERO + tcb.clock.span(now));
                linux.delack.quick = 0;
                linux.delack.on_data_received(&tcb);
                let is_restart = gap > rto && gap >= ato;
                if gap <= TCP_ATO_MIN / 2 {
                    ato = (ato >> 1) + TCP_ATO_MIN / 2;
                } else if gap < ato {
                    ato = ((ato >> 1) + gap).min(rto);
                }
                assert_eq!(linux.delack.ato, Some(ato), "a gap of {gap} ticks");
                assert_eq!(linux.delack.quick > 0, is_restart, "a gap of {gap} ticks");
                if rng.below(50) == 0 {
                    ato = rng.below(60) + TCP_ATO_MIN;
                    linux.delack.ato = Some(ato);
                }
            }
        }
    }
}
