//! The target of the controller: the limits from losses, round-trip times and the delay.
//!
//! Source: libwebrtc (2025-06) `send_side_bandwidth_estimation.cc`. The limit from losses is
//! computed as in `loss_based_bwe_v2.cc`. Before this estimator has three observations, an older
//! estimator applies, which counts the lost packets of each report. A round-trip time of more than
//! 3 s lowers the target.
//!
//! Difference: the transport-wide reports of each second together form one loss report. libwebrtc
//! uses RTCP's receiver reports.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::super::expiry::expired;
use super::loss_based::{LossBased, LossState, Outcome};

#[cfg(test)]
mod tests;

const LOW: f64 = 0.02;
const HIGH: f64 = 0.1;
const LEAST_PACKETS: u64 = 20;
const REPORT_EVERY: Duration = Duration::from_secs(1);
const INCREASE: f64 = 1.08;
const INCREASE_BPS: f64 = 1_000.0;
const INCREASE_WINDOW: Duration = Duration::from_secs(1);
const DECREASE_EVERY: Duration = Duration::from_millis(300);
/// The time for which a loss report is used, which is 1.2 times the longest interval of reports in
/// libwebrtc.
const REPORT_LASTS: Duration = Duration::from_secs(6);
/// The delay-based estimate raises the target until this time after the first loss report, unless
/// packets are lost.
const START: Duration = Duration::from_secs(2);
const LONGEST_RTT: Duration = Duration::from_secs(3);
const RTT_DECREASE: f64 = 0.8;
const RTT_DECREASE_EVERY: Duration = Duration::from_secs(1);
const RTT_FLOOR_BPS: f64 = 5_000.0;

/// The limit from losses and round-trip times.
#[derive(Debug)]
pub(crate) struct LossLimit {
    target_bps: f64,
    floor_bps: f64,
    delay_bps: f64,
    loss_based: LossBased,
    state: LossState,
    lost: u64,
    expected: u64,
    next_report: Instant,
    /// The proportion of lost packets, rounded down to a multiple of 1/256 as in RTCP.
    loss: f64,
    /// The time of the last loss report, if there was one.
    reported: Option<Instant>,
    first_report: Option<Instant>,
    decreased: Option<Instant>,
    has_decreased: bool,
    /// The targets of the last second that are below all later targets, with their times.
    lows: VecDeque<(Instant, f64)>,
    rtt: Duration,
    rtt_measured: Option<Instant>,
    last_sent: Instant,
}

impl LossLimit {
    pub(crate) fn new(start_bps: f64, floor_bps: f64) -> Self {
        Self {
            target_bps: start_bps.max(floor_bps),
            floor_bps,
            delay_bps: f64::INFINITY,
            loss_based: LossBased::new(floor_bps),
            state: LossState::Delay,
            lost: 0,
            expected: 0,
            next_report: Instant::ZERO,
            loss: 0.0,
            reported: None,
            first_report: None,
            decreased: None,
            has_decreased: false,
            lows: VecDeque::new(),
            rtt: Duration::ZERO,
            rtt_measured: None,
            last_sent: Instant::ZERO,
        }
    }

    /// Returns the target in bit/s.
    pub(crate) const fn bps(&self) -> f64 {
        self.target_bps
    }

    /// Returns the proportion of lost packets in the last loss report, from 0 to 1.
    pub(crate) const fn loss(&self) -> f64 {
        self.loss
    }

    /// Records that a packet was sent.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.rtt_measured.get_or_insert(now);
        self.last_sent = now;
    }

    /// Sets the round-trip time.
    pub(crate) fn set_rtt(&mut self, rtt: Duration, now: Instant) {
        self.rtt = rtt;
        self.rtt_measured = Some(now);
    }

    /// Sets the target to the result of a probe, and removes the delay-based limit.
    pub(crate) fn probed(&mut self, bps: f64) {
        self.delay_bps = f64::INFINITY;
        self.set(bps);
        self.lows.clear();
    }

    /// Sets the delay-based estimate in bit/s, and limits the target to it.
    pub(crate) fn set_delay_limit(&mut self, bps: f64) {
        self.delay_bps = bps;
        self.set(self.target_bps);
    }

    /// Returns which limit determines the target.
    pub(crate) const fn state(&self) -> LossState {
        self.state
    }

    /// Sets the rate in bit/s at which packets arrive.
    pub(crate) const fn set_acked(&mut self, bps: f64) {
        self.loss_based.set_acked(bps);
    }

    /// Adds the outcome of each packet of a report to the loss-based estimator, and adapts the
    /// target. `is_limited` states whether the application limits the sender.
    pub(crate) fn learn(&mut self, outcomes: &[Outcome], is_limited: bool, now: Instant) {
        self.loss_based.update(outcomes, self.delay_bps, is_limited);
        self.process(now);
    }

    /// Counts `lost` of `expected` packets. If a loss report is due and covers at least 20 packets,
    /// completes it and adapts the target.
    pub(crate) fn count(&mut self, lost: u64, expected: u64, now: Instant) {
        self.lost += lost;
        self.expected += expected;
        if now < self.next_report {
            return;
        }
        self.next_report = now + REPORT_EVERY;
        self.first_report.get_or_insert(now);
        if self.expected < LEAST_PACKETS {
            return;
        }
        self.has_decreased = false;
        self.loss = ((256 * self.lost / self.expected).min(255)) as f64 / 256.0;
        (self.lost, self.expected) = (0, 0);
        self.reported = Some(now);
        self.process(now);
    }

    /// Adapts the target. The controller calls this function at least every 25 ms.
    pub(crate) fn process(&mut self, now: Instant) {
        if self.is_rtt_long() {
            self.limit_rtt(now);
            return;
        }
        let estimate = self.loss_based.estimate();
        if estimate.is_none() && self.start(now) {
            return;
        }
        self.remember(now);
        let Some(reported) = self.reported else { return };
        if let Some((bps, state)) = estimate {
            self.state = state;
            self.set(bps);
        } else if now.since(reported) < REPORT_LASTS {
            self.count_losses(now);
        }
    }

    /// Lowers the target, at most once per second, because the round trip is too long.
    fn limit_rtt(&mut self, now: Instant) {
        let is_due = self.decreased.is_none_or(|at| now.since(at) >= RTT_DECREASE_EVERY);
        if is_due && self.target_bps > RTT_FLOOR_BPS {
            self.decreased = Some(now);
            self.set((RTT_DECREASE * self.target_bps).max(RTT_FLOOR_BPS));
        }
    }

    /// Raises the target to the delay-based estimate, soon after the start and without losses.
    /// Returns whether the target changed.
    fn start(&mut self, now: Instant) -> bool {
        let trusts_delay = self.loss == 0.0 && self.is_starting(now) && self.delay_bps.is_finite();
        if !trusts_delay || self.delay_bps <= self.target_bps {
            return false;
        }
        self.lows.clear();
        self.lows.push_back((now, self.target_bps));
        self.set(self.delay_bps);
        true
    }

    /// Adapts the target to the last loss report, as the older loss-based estimator does.
    fn count_losses(&mut self, now: Instant) {
        if self.loss <= LOW {
            let low = self.lows.front().map_or(self.target_bps, |&(_, bps)| bps);
            self.set(INCREASE * low + INCREASE_BPS);
        } else if self.loss > HIGH && !self.has_decreased {
            let pause = DECREASE_EVERY + self.rtt;
            if self.decreased.is_none_or(|at| now.since(at) >= pause) {
                self.decreased = Some(now);
                self.has_decreased = true;
                self.set(self.target_bps * (1.0 - 0.5 * self.loss));
            }
        }
    }

    /// Returns whether the round-trip time, plus the time from its measurement to the last packet
    /// sent, exceeds the limit.
    pub(crate) fn is_rtt_long(&self) -> bool {
        let silent = self.rtt_measured.map_or(Duration::ZERO, |at| self.last_sent.since(at));
        silent.saturating_add(self.rtt) > LONGEST_RTT
    }

    fn is_starting(&self, now: Instant) -> bool {
        self.first_report.is_none_or(|at| now.since(at) < START)
    }

    fn remember(&mut self, now: Instant) {
        let is_old = |at: Instant| now.since(at) + Duration::from_millis(1) > INCREASE_WINDOW;
        expired(&mut self.lows, |&(at, _)| is_old(at)).for_each(drop);
        while self.lows.back().is_some_and(|&(_, bps)| self.target_bps <= bps) {
            self.lows.pop_back();
        }
        self.lows.push_back((now, self.target_bps));
    }

    fn set(&mut self, bps: f64) {
        self.target_bps = bps.min(self.delay_bps).max(self.floor_bps);
    }
}
