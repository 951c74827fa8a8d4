//! Linux's CUBIC, in whole segments and clock ticks.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_cubic.c` (`bictcp_update` and its callers) and
//! `tcp_cong.c` (`tcp_slow_start`, `tcp_cong_avoid_ai`).
//! Differences, each pinned by a test:
//!
//! - numbers saturate where Linux's numbers of 32 and 64 bits would wrap (after about six minutes
//!   without a loss);
//! - on a host that counts bytes, acknowledged bytes are first summed into whole segments.

use aqmlab_core::hint::rare;
use aqmlab_core::{Args, Instant};

use super::hystart::SlowStart;
use super::root::cubic_root;
use crate::cc::jiffies::{Jiffies, LINUX_HZ};
use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, Window};

/// The factor by which a loss multiplies the window, in 1024ths.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1_024;
/// `C` in 1024ths, divided by the nominal round-trip time of 0.1 s (`cube_rtt_scale`).
const CUBE_RTT_SCALE: u64 = 41 * 10;
/// `1/C` in the unit of K³. K is in 1024ths of a second.
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// The distance from the plateau, in 1024ths of a second, below which the cubic function fits into
/// 64 bits.
const NEAR_PLATEAU: u64 = 1 << 18;
/// Reno's growth with CUBIC's β: the window grows by one segment when this many eighths of the
/// window are acknowledged (`beta_scale`).
const FRIENDLY_SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// The CUBIC controller of Linux.
#[derive(Debug)]
pub(super) struct Cubic {
    fast_convergence: bool,
    friendliness: bool,
    clock: Jiffies,
    slow_start: SlowStart,
    law: Law,
    /// The minimum delay in microseconds; zero before the first sample.
    delay_min: u64,
    /// The number of ticks that cover `delay_min`.
    delay_ticks: u64,
    /// The number of segments acknowledged towards the next increase.
    credit: u64,
    /// The number of bytes acknowledged towards the next whole segment.
    partial: u64,
    /// The value of `snd_nxt` at the last acknowledgement.
    snd_nxt: u64,
}

/// The cubic function and Reno's window, with their state. Windows are in segments.
#[derive(Debug, Default)]
struct Law {
    /// The number of acknowledged segments per segment of growth.
    cnt: u64,
    /// The window at the last loss, possibly reduced by fast convergence; zero if none is known.
    last_max_cwnd: u64,
    /// The window at the last evaluation.
    last_cwnd: u64,
    /// The tick of the last evaluation.
    last_time: u64,
    /// The window at the plateau of the function (`bic_origin_point`).
    origin: u64,
    /// The time from the start of the epoch to the plateau, in 1024ths of a second.
    k: u64,
    /// The tick at which the epoch started; `None` until growth resumes after a reduction.
    epoch_start: Option<u64>,
    /// The number of segments acknowledged towards Reno's next increase.
    ack_cnt: u64,
    /// The window that Reno would have.
    tcp_cwnd: u64,
}

impl Cubic {
    /// Returns a controller with the arguments of the kind `cubic`.
    pub(super) fn new(args: &Args) -> Self {
        Self {
            fast_convergence: args.flag("fast_convergence"),
            friendliness: args.flag("tcp_friendliness"),
            clock: Jiffies::new(args.count(LINUX_HZ.name)),
            slow_start: SlowStart::named(args.word("hystart")),
            law: Law::default(),
            delay_min: 0,
            delay_ticks: 0,
            credit: 0,
            partial: 0,
            snd_nxt: 0,
        }
    }

    /// Returns the number of whole segments in `acked` units, and keeps the remainder for the next
    /// call.
    fn whole_segments(&mut self, segment: u64, acked: u64) -> u64 {
        if segment == 1 {
            return acked;
        }
        rare();
        let bytes = self.partial + acked;
        self.partial = bytes % segment;
        bytes / segment
    }

    /// Returns the number of segments by which the window grows for `acked` (`tcp_cong_avoid_ai`).
    fn additive_increase(&mut self, acked: u64) -> u64 {
        let per = self.law.cnt;
        let mut grown = 0;
        // Credit from a time of slower growth is worth one segment, even if it would suffice for
        // several.
        if self.credit >= per {
            rare();
            self.credit = 0;
            grown = 1;
        }
        self.credit += acked;
        if self.credit >= per {
            rare();
            grown += self.credit / per;
            self.credit %= per;
        }
        grown
    }

    fn reset(&mut self, now: Instant) {
        self.law = Law::default();
        (self.delay_min, self.delay_ticks) = (0, 0);
        self.slow_start.restart(now, self.snd_nxt);
    }
}

impl Law {
    /// Returns whether `cnt` was set for a window of `cwnd` segments less than 1/32 s ago.
    #[inline]
    fn is_fresh(&self, cwnd: u64, now: u64, hz: u64) -> bool {
        self.last_cwnd == cwnd && now - self.last_time <= hz / 32
    }

    /// Sets `cnt` for a window of `cwnd` segments (`bictcp_update`).
    #[inline(never)]
    fn update(&mut self, cwnd: u64, acked: u64, now: u64, cubic: &Terms) {
        // The cubic function is evaluated at most once per tick, Reno's window every time.
        if self.epoch_start.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.evaluate(cwnd, acked, now, cubic);
        }
        if cubic.friendliness {
            self.keep_up_with_reno(cwnd);
        }
        // The window grows by at most one segment per two acknowledged segments, which is 50 % per
        // round trip.
        self.cnt = self.cnt.max(2);
    }

    fn evaluate(&mut self, cwnd: u64, acked: u64, now: u64, cubic: &Terms) {
        let start = match self.epoch_start {
            Some(start) => start,
            None => self.begin_epoch(cwnd, acked, now),
        };
        let ticks = now - start + cubic.delay_ticks;
        let target = self.target((ticks << 10) / cubic.hz);
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Without a known maximum, the window grows by at least 5 % per round trip.
        if self.last_max_cwnd == 0 {
            self.cnt = self.cnt.min(20);
        }
    }

    fn begin_epoch(&mut self, cwnd: u64, acked: u64, now: u64) -> u64 {
        self.epoch_start = Some(now);
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        self.origin = self.last_max_cwnd.max(cwnd);
        self.k = match self.last_max_cwnd.saturating_sub(cwnd) {
            0 => 0,
            below => cubic_root(CUBE_FACTOR.saturating_mul(below)),
        };
        now
    }

    /// Returns the value of the cubic function `t` 1024ths of a second after the start of the
    /// epoch.
    fn target(&self, t: u64) -> u64 {
        let offset = t.abs_diff(self.k);
        let delta = if offset < NEAR_PLATEAU {
            (offset * offset * offset * CUBE_RTT_SCALE) >> 40
        } else {
            let offset = u128::from(offset);
            let cube = offset.saturating_mul(offset).saturating_mul(offset);
            let scaled = cube.saturating_mul(u128::from(CUBE_RTT_SCALE)) >> 40;
            scaled.min(u128::from(u32::MAX)) as u64
        };
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta }
    }

    fn keep_up_with_reno(&mut self, cwnd: u64) {
        let per = (cwnd * FRIENDLY_SCALE) >> 3;
        if self.ack_cnt > per {
            let grown = (self.ack_cnt - 1) / per;
            self.ack_cnt -= grown * per;
            self.tcp_cwnd += grown;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

/// The inputs of the cubic function from the controller.
struct Terms {
    /// The number of ticks per second.
    hz: u64,
    /// The number of ticks that cover the minimum delay.
    delay_ticks: u64,
    friendliness: bool,
}

impl CongestionControl for Cubic {
    fn on_established(
        &mut self,
        _window: &mut Window,
        now: Instant,
        _srtt: Option<aqmlab_core::Duration>,
    ) {
        self.reset(now);
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        self.snd_nxt = ack.snd_nxt;
        let Some(rtt) = ack.rtt else { return };
        // Samples in the first second of an epoch include the queue that caused the recovery, and
        // do not count.
        let now = self.clock.at(ack.now);
        if self.law.epoch_start.is_some_and(|start| now.saturating_sub(start) < self.clock.hz()) {
            return;
        }
        let delay = rtt.as_micros().max(1);
        if self.delay_min == 0 || delay < self.delay_min {
            self.delay_min = delay;
            self.delay_ticks = self.clock.covering_micros(delay);
        }
        self.slow_start.sample(window, ack, rtt, self.delay_min);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            rare();
            acked = self.slow_start.grow(window, acked);
            if acked == 0 {
                return;
            }
        }
        let acked = self.whole_segments(window.segment, acked);
        let cwnd = if window.segment == 1 { window.cwnd } else { window.cwnd / window.segment };
        let (cwnd, now) = (cwnd.max(1), self.clock.at(ack.now));
        self.law.ack_cnt += acked;
        if !self.law.is_fresh(cwnd, now, self.clock.hz()) {
            rare();
            let (hz, delay_ticks) = (self.clock.hz(), self.delay_ticks);
            let terms = Terms { hz, delay_ticks, friendliness: self.friendliness };
            self.law.update(cwnd, acked, now, &terms);
        }
        let grown = self.additive_increase(acked);
        window.cwnd = (window.cwnd + grown * window.segment).min(window.clamp);
    }

    fn ssthresh(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        let cwnd = window.cwnd / window.segment;
        self.law.epoch_start = None;
        self.law.last_max_cwnd = if self.fast_convergence && cwnd < self.law.last_max_cwnd {
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        self.credit = 0;
        self.slow_start.congestion();
        (cwnd * BETA / BETA_SCALE).max(2) * window.segment
    }

    fn on_event(&mut self, _window: &mut Window, event: CcEvent, now: Instant) {
        match event {
            // An idle period does not count, so the start of the epoch moves by its length.
            CcEvent::TransmitStart { idle, .. } => {
                let now = self.clock.at(now);
                if let Some(start) = &mut self.law.epoch_start {
                    *start = (*start + self.clock.within(idle)).min(now);
                }
            }
            CcEvent::RtoEntered => {
                self.credit = 0;
                self.reset(now);
            }
            _ => {}
        }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("w_max", self.law.last_max_cwnd as f64),
            ("k_s", self.law.k as f64 / 1_024.0),
            ("w_reno", self.law.tcp_cwnd as f64),
            ("delay_min_ms", self.delay_min as f64 / 1e3),
        ]
    }
}

#[cfg(test)]
mod tests;
