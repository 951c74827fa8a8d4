//! CUBIC as FreeBSD 10 has it: in bytes and clock ticks, without HyStart.
//!
//! Source: FreeBSD 10.4 `sys/netinet/cc/cc_cubic.{c,h}`, `cc_newreno.c` (slow start) and
//! `tcp_input.c` (appropriate byte counting), after draft-rhee-tcpm-cubic-02.
//! Kept as found there: Reno's window is computed in 32 bits and wraps, so that with segments of
//! 1448 bytes it grows for 75 ticks only and then starts again (`tf_window`); and a cubic below
//! nothing, as it is after timeouts, which move the time of the last congestion but not K, is taken
//! for a window without bounds (`cubic_window`).
//! Difference: a timeout is "the second in a row" if nothing was measured since the one before.

use aqmlab_core::{Args, Duration, Instant};

use super::Jiffies;
use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, Signal, Window};

/// Bits after the binary point.
const SHIFT: u32 = 8;
/// β ≈ 0.8: what remains after a loss.
const BETA: u64 = 204;
const ONE_SUB_BETA: u64 = 51;
/// `3·(1−β)` and `2−(1−β)`.
const THREE_ONE_SUB_BETA: u32 = 153;
const TWO_SUB_ONE_SUB_BETA: u32 = 461;
/// C ≈ 0.4.
const C_FACTOR: u64 = 102;
/// ≈ 0.9: what fast convergence leaves of the maximum.
const FAST_CONVERGENCE: u64 = 230;
/// Round-trip samples before the smoothed time is believed.
const MIN_RTT_SAMPLES: u32 = 8;
/// Segments per acknowledgement that count (`net.inet.tcp.abc_l_var`).
const ABC_LIMIT: u64 = 2;

/// The controller.
#[derive(Debug)]
pub(super) struct Cubic {
    clock: Jiffies,
    /// From the last congestion to the plateau, in 256ths of a second.
    k: i64,
    /// The window at the last congestion and at the one before.
    max_cwnd: u64,
    prev_max_cwnd: u64,
    congestions: u32,
    last_congestion: u64,
    /// What told of the last congestion.
    signal: Option<Signal>,
    rtt: RttRecord,
    /// Bytes counted towards the next increase.
    counted: u64,
    /// A whole window of them (`CCF_ABC_SENTAWND`).
    sent_a_window: bool,
    /// Timeouts since something was last acknowledged.
    timeouts: u32,
}

/// Round-trip times in ticks.
#[derive(Debug)]
struct RttRecord {
    /// Samples so far.
    samples: u32,
    /// The least smoothed time; zero if there is none.
    min: u64,
    /// The mean of the last epoch.
    mean: u64,
    /// Of this epoch.
    sum: u64,
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

/// K for a maximum of `segments`, in 256ths of a second: a cube root by a parabola fitted
/// between 1/8 and 1.
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
    /// One with the arguments of the kind `cubic_freebsd`.
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
            counted: 0,
            sent_a_window: false,
            timeouts: 0,
        }
    }

    /// The cubic function, `ticks` after the last congestion.
    #[expect(clippy::cast_possible_wrap, reason = "FreeBSD lets it")]
    fn cubic_window(&self, ticks: u64, segment: u64) -> u64 {
        let hz = self.clock.hz() as i64;
        let since = i64::from((ticks as i32).wrapping_shl(SHIFT));
        let from_plateau = since.wrapping_sub(self.k.wrapping_mul(hz)) / hz;
        let cube = from_plateau.wrapping_mul(from_plateau.wrapping_mul(from_plateau));
        let above = cube.wrapping_mul(C_FACTOR as i64).wrapping_mul(segment as i64) >> (4 * SHIFT);
        above.wrapping_add(self.max_cwnd as i64) as u64
    }

    /// Reno's window, `ticks` after the last congestion, in FreeBSD's 32 bits.
    fn tf_window(&self, ticks: u64, segment: u64) -> u64 {
        let grown = THREE_ONE_SUB_BETA
            .wrapping_mul(ticks as u32)
            .wrapping_mul(segment as u32)
            .wrapping_shl(SHIFT);
        let per_round = grown / TWO_SUB_ONE_SUB_BETA / (self.rtt.mean as u32).max(1);
        self.max_cwnd.wrapping_mul(BETA).wrapping_add(u64::from(per_round)) >> SHIFT
    }

    /// Sets the window by the law; called once per window of acknowledged bytes.
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
        // Before the first loss the maximum follows the window.
        if self.congestions == 0 {
            self.max_cwnd = self.max_cwnd.max(window.cwnd);
        }
    }

    /// Counts towards a whole window acknowledged (RFC 3465).
    fn count(&mut self, window: &Window, acked: u64) {
        if window.cwnd <= window.ssthresh {
            self.counted = 0;
            self.sent_a_window = false;
            return;
        }
        self.counted += acked.min(ABC_LIMIT * window.segment);
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            self.sent_a_window = true;
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

/// Bytes acknowledged, in the window's unit.
fn acked_units(window: &Window, ack: &Ack) -> u64 {
    if window.segment == u64::from(window.mss) {
        ack.bytes
    } else {
        ack.bytes * window.segment / u64::from(window.mss)
    }
}

/// Keeps the window of a host that counts segments, which is not FreeBSD, within what is allowed.
fn confine(window: &mut Window) {
    window.cwnd = window.cwnd.max(window.segment).min(window.clamp);
}

/// RFC 3390's window, which FreeBSD goes back to after an idle period.
fn restart_window(window: &Window) -> u64 {
    let mss = u64::from(window.mss.max(1));
    let bytes = (4 * mss).min((2 * mss).max(4_380));
    if window.segment == 1 { bytes / mss } else { bytes }
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
        self.count(window, acked_units(window, ack));
        self.rtt.record(ack.rtt.is_some(), ack.srtt, self.clock);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = acked_units(window, ack);
        // At the threshold itself FreeBSD still starts slowly.
        if window.cwnd <= window.ssthresh {
            let goes_back = ack.snd_nxt < ack.snd_una + ack.in_flight;
            let limit = if goes_back { 1 } else { ABC_LIMIT };
            let growth = acked.min(limit * window.segment);
            window.cwnd = window.cwnd.saturating_add(growth).min(window.clamp);
        } else if std::mem::take(&mut self.sent_a_window) {
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
                self.counted = 0;
                self.last_congestion = self.clock.at(congestion.now);
                (window.cwnd / 2 / window.segment * window.segment).max(2 * window.segment)
            }
            // The first loss ends slow start, which overshot by as much again.
            (_, 0) => window.cwnd / 2,
            (_, _) => window.cwnd.wrapping_mul(BETA) >> SHIFT,
        };
        if congestion.signal != Signal::Rto {
            self.note_congestion(window);
        }
        if congestion.signal == Signal::EcnEcho {
            self.last_congestion = self.clock.at(congestion.now);
        }
        // A host that counts segments is not FreeBSD.
        if window.segment == 1 { threshold.max(2) } else { threshold }
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        match event {
            CcEvent::DuplicateAck(srtt) => self.rtt.record(false, srtt, self.clock),
            CcEvent::RecoveryLeft if self.signal != Some(Signal::EcnEcho) => {
                self.counted = 0;
                self.leave_recovery(window, now);
            }
            CcEvent::IdleRestart => window.cwnd = window.cwnd.min(restart_window(window)),
            _ => {}
        }
    }

    fn recovered_cwnd(&mut self, _window: &Window) -> u64 {
        (self.max_cwnd.wrapping_mul(BETA) >> SHIFT).max(1)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("w_max", self.max_cwnd as f64), ("k_s", self.k as f64 / 256.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    fn after_loss(segments: u64, mean_ticks: u64) -> Cubic {
        let mut cubic = Cubic::new(&aqmlab_core::Args::defaults(super::super::KINDS[2].params));
        cubic.max_cwnd = segments * MSS;
        cubic.k = k_of(segments);
        cubic.rtt.mean = mean_ticks;
        cubic
    }

    #[test]
    fn the_function_starts_at_four_fifths_and_reaches_the_maximum_after_k() {
        // ∛(100·0.2/0.4) = 3.684 s, by the parabola within 2 %.
        let cubic = after_loss(100, 100);
        assert!((cubic.k as f64 / 256.0 - 3.684).abs() < 0.07, "K = {}", cubic.k);
        let start = cubic.cubic_window(0, MSS) as f64 / MSS as f64;
        assert!((start - 80.0).abs() < 1.5, "W(0) = {start}");
        let ticks = cubic.k as u64 * 1_000 / 256;
        let plateau = cubic.cubic_window(ticks, MSS) as f64 / MSS as f64;
        assert!((plateau - 100.0).abs() < 0.01, "W(K) = {plateau}");
    }

    /// Equation 4 of the draft holds for 75 ticks: 153·75·1448·256 < 2³² < 153·76·1448·256.
    #[test]
    fn renos_window_wraps_as_on_freebsd() {
        let cubic = after_loss(100, 10);
        let (at_75, at_76) = (cubic.tf_window(75, MSS), cubic.tf_window(76, MSS));
        let grown = 3.0 * 51.0 / (512.0 - 51.0) * 7.5 * MSS as f64;
        let want = 100.0 * MSS as f64 * 204.0 / 256.0 + grown;
        assert!((at_75 as f64 - want).abs() < 2.0, "{at_75} is not {want}");
        assert!(at_76 + 3_000 < at_75, "{at_76} after {at_75}");
    }

    #[test]
    fn the_threshold_is_half_first_then_four_fifths_and_only_a_timeouts_has_a_floor() {
        let mut cubic = after_loss(100, 10);
        let window = Window {
            cwnd: 100 * MSS,
            ssthresh: u64::MAX,
            segment: MSS,
            mss: 1_448,
            clamp: 1 << 30,
        };
        let loss = Congestion {
            now: Instant::ZERO,
            in_flight: 100 * MSS,
            signal: Signal::Loss,
            srtt: None,
        };
        assert_eq!(cubic.ssthresh(&window, &loss), 50 * MSS);
        assert_eq!(cubic.ssthresh(&window, &loss), (100 * MSS * 204) >> 8);
        let tiny = Window { cwnd: MSS, ..window };
        assert_eq!(cubic.ssthresh(&tiny, &loss), (MSS * 204) >> 8);
        assert_eq!(cubic.ssthresh(&tiny, &Congestion { signal: Signal::Rto, ..loss }), 2 * MSS);
    }

    #[test]
    fn the_smoothed_time_counts_from_the_eighth_sample_on() {
        let mut cubic = after_loss(100, 1);
        let window =
            Window { cwnd: MSS, ssthresh: u64::MAX, segment: MSS, mss: 1_448, clamp: 1 << 30 };
        for number in 1..=8 {
            assert_eq!(cubic.rtt.min, 0, "before sample {number}");
            let rtt = Some(Duration::from_millis(30));
            let ack = Ack {
                now: Instant::from_millis(number),
                acked: MSS,
                bytes: MSS,
                in_flight: MSS,
                prior_in_flight: MSS,
                until_departure: Duration::ZERO,
                rtt,
                srtt: rtt,
                min_rtt: rtt,
                cwnd_limited: true,
                snd_una: number * MSS,
                snd_nxt: number * MSS,
                rate: crate::cc::RateSample::default(),
            };
            cubic.on_sample(&mut window.clone(), &ack);
        }
        assert_eq!((cubic.rtt.min, cubic.rtt.mean), (30, 30));
    }

    #[test]
    fn only_a_second_timeout_in_a_row_counts_as_congestion() {
        let mut cubic = after_loss(100, 10);
        let window =
            Window { cwnd: 9 * MSS, ssthresh: u64::MAX, segment: MSS, mss: 1_448, clamp: 1 << 30 };
        let rto = Congestion { now: Instant::ZERO, in_flight: 0, signal: Signal::Rto, srtt: None };
        assert_eq!(cubic.ssthresh(&window, &rto), 4 * MSS);
        assert_eq!(cubic.congestions, 0);
        cubic.ssthresh(&window, &rto);
        assert_eq!(cubic.congestions, 1);
    }
}
