//! FreeBSD 10's CUBIC, in bytes and clock ticks and without HyStart.
//!
//! Source: FreeBSD 10.4 `sys/netinet/cc/cc_cubic.{c,h}`, after draft-rhee-tcpm-cubic-02. Two errors
//! of FreeBSD are reproduced. First, Reno's window is computed in 32 bits. With segments of 1448
//! bytes, it grows for 75 ticks, wraps and starts again (`tf_window`). Second, a negative value of
//! the cubic function counts as an unbounded window (`cubic_window`). Such a value occurs after
//! timeouts, which move the time of the last congestion event but not K. Difference: in this module
//! a timeout counts as the second in a row if there was no round-trip sample since the first
//! timeout. FreeBSD tests `t_rxtshift` instead, which the persist timer also raises.

use aqmlab_core::{Args, Duration, Instant};

use crate::cc::byte_counting::{self, ByteCounter};
use crate::cc::jiffies::Jiffies;
use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, Signal, Window};

/// The number of bits after the binary point in fixed-point numbers (`CUBIC_SHIFT`).
const SHIFT: u32 = 8;
/// β ≈ 0.8: the factor by which a loss multiplies the window, in 256ths.
const BETA: u64 = 204;
const ONE_SUB_BETA: u64 = 51;
/// The constant `3·(1−β)`, in 256ths.
const THREE_ONE_SUB_BETA: u32 = 153;
/// The constant `2−(1−β)`, in 256ths.
const TWO_SUB_ONE_SUB_BETA: u32 = 461;
/// The constant C ≈ 0.4, in 256ths.
const C_FACTOR: u64 = 102;
/// The factor by which fast convergence multiplies the maximum window, ≈ 0.9, in 256ths.
const FAST_CONVERGENCE: u64 = 230;
/// The minimum number of samples for the smoothed round-trip time to count.
const MIN_RTT_SAMPLES: u32 = 8;

/// The CUBIC controller of FreeBSD.
#[derive(Debug)]
pub(super) struct Cubic {
    clock: Jiffies,
    /// The time from the last congestion event to the plateau, in 256ths of a second.
    k: i64,
    /// The window at the last congestion event, possibly reduced by fast convergence. Before the
    /// first event, it is the largest window so far.
    max_cwnd: u64,
    /// The window at the second to last congestion event.
    prev_max_cwnd: u64,
    congestions: u32,
    last_congestion: u64,
    /// The signal of the last congestion event, if there was one.
    signal: Option<Signal>,
    rtt: RttRecord,
    counter: ByteCounter,
    /// The number of timeouts since the last round-trip sample.
    timeouts: u32,
}

/// Round-trip times in ticks.
#[derive(Debug)]
struct RttRecord {
    /// The number of samples so far.
    samples: u32,
    /// The minimum of the smoothed round-trip time; zero if there is none.
    min: u64,
    /// The mean round-trip time of the last epoch.
    mean: u64,
    /// The sum of the smoothed samples of this epoch.
    sum: u64,
    /// The number of smoothed samples that `sum` contains.
    count: u64,
}

impl RttRecord {
    fn record(&mut self, is_new: bool, srtt: Option<Duration>, clock: Jiffies) {
        self.samples += u32::from(is_new);
        if self.samples < MIN_RTT_SAMPLES {
            return;
        }
        let ticks = srtt.map_or(0, |srtt| clock.within(srtt));
        if self.min == 0 || ticks < self.min {
            self.min = ticks.max(1);
            self.mean = self.mean.max(self.min);
        }
        self.sum += ticks;
        self.count += 1;
    }

    fn end_epoch(&mut self) {
        if self.count > 0 && self.sum >= self.count {
            self.mean = self.sum / self.count;
        }
        self.sum = 0;
        self.count = 0;
    }
}

/// Returns K for a maximum window of `segments`, in 256ths of a second. The cube root is
/// approximated by a parabola fitted between 1/8 and 1.
#[expect(clippy::cast_possible_wrap, reason = "FreeBSD lets it")]
fn k_of(segments: u64) -> i64 {
    let mut s = ((segments.wrapping_mul(ONE_SUB_BETA) << SHIFT) / C_FACTOR) as i64;
    let mut doublings = 0;
    while s >= 256 {
        s >>= 3;
        doublings += 1;
    }
    let root = (((s * 275) >> SHIFT) + 98) - ((s * s * 120) >> (2 * SHIFT));
    root << doublings
}

impl Cubic {
    /// Returns a controller with the arguments of the kind `cubic_freebsd`.
    pub(super) fn new(args: &Args) -> Self {
        Self {
            clock: Jiffies::new(args.count("hz")),
            k: 0,
            max_cwnd: 0,
            prev_max_cwnd: 0,
            congestions: 0,
            last_congestion: 0,
            signal: None,
            rtt: RttRecord { samples: 0, min: 0, mean: 1, sum: 0, count: 0 },
            counter: ByteCounter::default(),
            timeouts: 0,
        }
    }

    /// Returns the value of the cubic function `ticks` after the last congestion event
    /// (`cubic_window`).
    #[expect(clippy::cast_possible_wrap, reason = "FreeBSD lets it")]
    fn cubic_window(&self, ticks: u64, segment: u64) -> u64 {
        let hz = self.clock.hz() as i64;
        let since = i64::from((ticks as i32).wrapping_shl(SHIFT));
        let from_plateau = since.wrapping_sub(self.k.wrapping_mul(hz)) / hz;
        let cube = from_plateau.wrapping_mul(from_plateau.wrapping_mul(from_plateau));
        let above = cube.wrapping_mul(C_FACTOR as i64).wrapping_mul(segment as i64) >> (4 * SHIFT);
        above.wrapping_add(self.max_cwnd as i64) as u64
    }

    /// Returns Reno's window `ticks` after the last congestion event, in FreeBSD's 32 bits
    /// (`tf_window`).
    fn tf_window(&self, ticks: u64, segment: u64) -> u64 {
        let grown = THREE_ONE_SUB_BETA
            .wrapping_mul(ticks as u32)
            .wrapping_mul(segment as u32)
            .wrapping_shl(SHIFT);
        let per_round = grown / TWO_SUB_ONE_SUB_BETA / (self.rtt.mean as u32).max(1);
        self.max_cwnd.wrapping_mul(BETA).wrapping_add(u64::from(per_round)) >> SHIFT
    }

    /// Raises the window to the value of the cubic function or, if Reno's window is above that
    /// value, sets the window to Reno's. The caller calls this function once per window of
    /// acknowledged bytes.
    fn follow_law(&mut self, window: &mut Window, now: Instant) {
        let ticks = self.clock.at(now).saturating_sub(self.last_congestion);
        let reno = self.tf_window(ticks, window.segment);
        let cubic = self.cubic_window(ticks + self.rtt.mean, window.segment);
        if cubic < reno {
            window.cwnd = reno;
        } else if window.cwnd < cubic {
            window.cwnd = cubic;
        }
        if window.segment == 1 {
            confine(window);
        }
        // Before the first loss, the maximum is the largest window so far.
        if self.congestions == 0 {
            self.max_cwnd = self.max_cwnd.max(window.cwnd);
        }
    }

    fn note_congestion(&mut self, window: &Window) {
        self.congestions += 1;
        self.prev_max_cwnd = self.max_cwnd;
        self.max_cwnd = window.cwnd;
    }

    fn leave_recovery(&mut self, window: &Window, now: Instant) {
        if self.max_cwnd < self.prev_max_cwnd {
            self.max_cwnd = self.max_cwnd.wrapping_mul(FAST_CONVERGENCE) >> SHIFT;
        }
        self.last_congestion = self.clock.at(now);
        self.rtt.end_epoch();
        self.k = k_of(self.max_cwnd / window.segment);
    }
}

/// Returns the acknowledged data in the unit of the window.
fn acked_units(window: &Window, ack: &Ack) -> u64 {
    if window.segment == u64::from(window.mss) {
        ack.bytes
    } else {
        ack.bytes * window.segment / u64::from(window.mss)
    }
}

/// Limits the window to between one segment and `clamp`.
fn confine(window: &mut Window) {
    window.cwnd = window.cwnd.max(window.segment).min(window.clamp);
}

impl CongestionControl for Cubic {
    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        self.rtt.samples = u32::from(srtt.is_some());
        self.max_cwnd = window.cwnd;
        self.last_congestion = self.clock.at(now);
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        if ack.rtt.is_some() {
            self.timeouts = 0;
        }
        self.counter.record(window, acked_units(window, ack));
        self.rtt.record(ack.rtt.is_some(), ack.srtt, self.clock);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if byte_counting::is_slow_start(window) {
            byte_counting::slow_start(window, ack, acked_units(window, ack));
        } else if self.counter.take_window() {
            if self.rtt.min == 0 {
                window.cwnd = window.cwnd.saturating_add(window.segment).min(window.clamp);
            } else {
                self.follow_law(window, ack.now);
            }
        }
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.signal = Some(congestion.signal);
        let threshold = match (congestion.signal, self.congestions) {
            (Signal::Rto, _) => {
                self.timeouts += 1;
                self.congestions += u32::from(self.timeouts >= 2);
                self.counter.restart();
                self.last_congestion = self.clock.at(congestion.now);
                (window.cwnd / 2 / window.segment * window.segment).max(2 * window.segment)
            }
            // The first loss ends slow start, whose window overshot to twice the capacity.
            (_, 0) => window.cwnd / 2,
            (_, _) => window.cwnd.wrapping_mul(BETA) >> SHIFT,
        };
        if congestion.signal != Signal::Rto {
            self.note_congestion(window);
        }
        if congestion.signal == Signal::EcnEcho {
            self.last_congestion = self.clock.at(congestion.now);
        }
        // FreeBSD counts the window in bytes. For a host that counts segments, the lower bound is
        // two segments.
        if window.segment == 1 { threshold.max(2) } else { threshold }
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        match event {
            CcEvent::DuplicateAck(srtt) => self.rtt.record(false, srtt, self.clock),
            CcEvent::RecoveryLeft if self.signal != Some(Signal::EcnEcho) => {
                self.counter.restart();
                self.leave_recovery(window, now);
            }
            CcEvent::IdleRestart => byte_counting::restart_after_idle(window),
            _ => {}
        }
    }

    fn post_recovery_cwnd(&mut self, _window: &Window) -> u64 {
        (self.max_cwnd.wrapping_mul(BETA) >> SHIFT).max(1)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("w_max", self.max_cwnd as f64), ("k_s", self.k as f64 / 256.0)]
    }
}

#[cfg(test)]
mod tests;
