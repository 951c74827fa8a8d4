//! HyStart and HyStart++, which end slow start before it overflows the queue.
//!
//! Source of HyStart: Linux 6.1 `net/ipv4/tcp_cubic.c` (`hystart_update`; since 6.1.129, a round
//! also starts while the window is below 16 segments). Source of HyStart++: RFC 9406. Difference
//! from Linux: the allowance for aggregated acknowledgements uses the pacing rate after the current
//! acknowledgement, but Linux uses the rate after the previous acknowledgement. CUBIC is not paced
//! here, so a train may last half of the sum of the minimum delay and the allowance, as on Linux
//! without pacing. For a host that does not pace (L = 8), there are no known differences from RFC
//! 9406.

use aqmlab_core::{Duration, Instant};

use crate::cc::{Ack, LARGEST_BURST, Window};

/// Grows `window` in slow start. Returns the part of `acked` beyond the threshold (RFC 5681; Linux
/// `tcp_slow_start`).
pub(super) fn slow_start(window: &mut Window, acked: u64) -> u64 {
    let grown = window.cwnd.saturating_add(acked).min(window.ssthresh);
    let left = acked - (grown - window.cwnd);
    window.cwnd = grown.min(window.clamp);
    left
}

/// The variant of slow start.
#[derive(Debug)]
pub(super) enum SlowStart {
    /// Slow start ends at the threshold or by a loss.
    Plain,
    /// HyStart may end slow start earlier.
    Hybrid(HyStart),
    /// HyStart++ may end slow start earlier.
    PlusPlus(PlusPlus),
}

impl SlowStart {
    /// Returns the variant that the parameter `hystart` names.
    pub(super) fn named(word: &str) -> Self {
        match word {
            "on" => Self::Hybrid(HyStart::default()),
            "plusplus" => Self::PlusPlus(PlusPlus::default()),
            _ => Self::Plain,
        }
    }

    /// Starts slow start for a new connection or after a timeout.
    pub(super) fn restart(&mut self, now: Instant, snd_nxt: u64) {
        if let Self::Hybrid(hystart) = self {
            hystart.found = false;
            hystart.begin_round(now, snd_nxt);
        }
    }

    /// Records that congestion ended slow start.
    pub(super) fn congestion(&mut self) {
        if let Self::PlusPlus(plusplus) = self {
            plusplus.phase = Phase::Done;
        }
    }

    /// Adds a round-trip sample, which may end slow start by lowering the threshold.
    #[inline]
    pub(super) fn sample(&mut self, window: &mut Window, ack: &Ack, rtt: Duration, least: u64) {
        if window.in_slow_start() {
            self.sample_slow_start(window, ack, rtt, least);
        }
    }

    #[inline(never)]
    fn sample_slow_start(&mut self, window: &mut Window, ack: &Ack, rtt: Duration, least: u64) {
        match self {
            Self::Plain => {}
            Self::Hybrid(hystart) => hystart.sample(window, ack, rtt.as_micros().max(1), least),
            Self::PlusPlus(plusplus) => plusplus.sample(window, ack, rtt),
        }
    }

    /// Grows `window`. Returns the part of `acked` for congestion avoidance.
    #[inline(never)]
    pub(super) fn grow(&mut self, window: &mut Window, acked: u64) -> u64 {
        match self {
            Self::PlusPlus(plusplus) => plusplus.grow(window, acked),
            _ => slow_start(window, acked),
        }
    }
}

/// The window in segments from which HyStart tests for the end of slow start.
const LOW_WINDOW: u64 = 16;
/// The longest time in microseconds between two acknowledgements of a train.
const ACK_DELTA: u64 = 2_000;
/// The minimum number of samples for the minimum delay of a round to count.
const SAMPLES: u32 = 8;
/// The bounds in microseconds of the rise in delay that ends slow start. The rise itself is 1/8 of
/// the minimum delay.
const RISE: std::ops::RangeInclusive<u64> = 4_000..=16_000;

/// Linux's HyStart. Slow start ends when a train of acknowledgements is longer than half of the
/// minimum delay, or when the delay rises. The allowance for aggregated acknowledgements permits a
/// longer train.
#[derive(Debug, Default)]
pub(super) struct HyStart {
    /// Whether HyStart has ended slow start.
    found: bool,
    /// The number of samples in this round, up to [`SAMPLES`].
    samples: u32,
    /// The start of the round, in microseconds.
    round_start: u64,
    /// The arrival of the last acknowledgement of the train, in microseconds.
    last_ack: u64,
    /// The sequence number whose acknowledgement ends the round.
    end_seq: u64,
    /// The minimum delay of this round in microseconds; `u64::MAX` before the first sample.
    least_of_round: u64,
}

impl HyStart {
    fn begin_round(&mut self, now: Instant, snd_nxt: u64) {
        self.round_start = now.as_nanos() / 1_000;
        self.last_ack = self.round_start;
        self.end_seq = snd_nxt;
        self.least_of_round = u64::MAX;
        self.samples = 0;
    }

    /// Adds a sample of `delay` microseconds, on a path with a minimum delay of `least`. Ends slow
    /// start if a train is long or the delay rises.
    fn sample(&mut self, window: &mut Window, ack: &Ack, delay: u64, least: u64) {
        if self.found {
            return;
        }
        if ack.snd_una > self.end_seq {
            self.begin_round(ack.now, ack.snd_nxt);
        }
        if window.cwnd < LOW_WINDOW * window.segment {
            return;
        }
        let train = self.train_is_long(window, ack, least);
        let rise = self.delay_rose(delay, least);
        if train || rise {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    fn train_is_long(&mut self, window: &Window, ack: &Ack, least: u64) -> bool {
        let now = ack.now.as_nanos() / 1_000;
        if now - self.last_ack > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        now - self.round_start > u64::midpoint(least, aggregation_allowance(window, ack))
    }

    fn delay_rose(&mut self, delay: u64, least: u64) -> bool {
        self.least_of_round = self.least_of_round.min(delay);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_of_round > least + (least / 8).clamp(*RISE.start(), *RISE.end())
    }
}

/// Returns the microseconds that offloads may add to a train: the time of four maximal bursts at
/// the pacing rate, at most one millisecond (`hystart_ack_delay`).
fn aggregation_allowance(window: &Window, ack: &Ack) -> u64 {
    let Some(srtt) = ack.srtt else { return 0 };
    // `tcp_update_pacing_rate`: 2 windows per round trip early in slow start, otherwise 1.2
    // windows.
    let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
    let segments = (window.cwnd.max(ack.in_flight) / window.segment).max(1);
    let per_round = segments.saturating_mul(u64::from(window.mss) * percent * 10_000);
    let rate = (per_round / srtt.as_micros().max(1)).max(1);
    (LARGEST_BURST * 4 * 1_000_000 / rate).min(1_000)
}

/// The lower bound of the rise in delay that slows growth. This constant and the five constants
/// below are those of RFC 9406 §4.2.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// The maximum number of segments by which an acknowledgement grows the window of a sender that
/// does not pace.
const L: u64 = 8;

/// HyStart++. A rise in delay slows growth for several rounds, and ends slow start if the delay
/// stays high.
#[derive(Debug)]
pub(super) struct PlusPlus {
    phase: Phase,
    /// The sequence number whose acknowledgement ends the round.
    window_end: u64,
    /// The minimum delay of the last round, if it had a sample.
    last_round_min: Option<Duration>,
    /// The minimum delay of this round, if it has a sample.
    round_min: Option<Duration>,
    /// The number of samples in this round.
    samples: u32,
    /// The growth that is not yet a whole unit, in units of 1/[`CSS_GROWTH_DIVISOR`].
    owed: u64,
}

impl Default for PlusPlus {
    fn default() -> Self {
        Self {
            phase: Phase::Standard,
            window_end: 0,
            last_round_min: None,
            round_min: None,
            samples: 0,
            owed: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Standard slow start.
    Standard,
    /// Conservative slow start: the number of rounds since it began, and the delay that started it.
    Conservative { rounds: u32, baseline: Duration },
    /// The first slow start is over; later slow starts are standard (RFC 9406 §4.3).
    Done,
}

impl PlusPlus {
    fn sample(&mut self, window: &mut Window, ack: &Ack, rtt: Duration) {
        if self.phase == Phase::Done {
            return;
        }
        if ack.snd_una > self.window_end {
            self.next_round(window, ack.snd_nxt);
        }
        self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        self.samples += 1;
        if self.samples >= N_RTT_SAMPLE {
            self.judge();
        }
    }

    fn next_round(&mut self, window: &mut Window, snd_nxt: u64) {
        self.last_round_min = self.round_min.take();
        self.samples = 0;
        self.window_end = snd_nxt;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                self.phase = Phase::Done;
                window.ssthresh = window.cwnd;
            }
        }
    }

    /// Slows growth if this round's minimum delay exceeds the minimum delay of the last round by
    /// the threshold: an eighth of that delay, within bounds (RFC 9406 §4.2). Resumes standard slow
    /// start if this round's minimum has fallen below the delay that slowed growth.
    fn judge(&mut self) {
        let Some(delay) = self.round_min else { return };
        match (self.phase, self.last_round_min) {
            (Phase::Standard, Some(last)) => {
                let rise = (last / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
                if delay >= last + rise {
                    self.phase = Phase::Conservative { rounds: 0, baseline: delay };
                }
            }
            (Phase::Conservative { baseline, .. }, _) if delay < baseline => {
                self.phase = Phase::Standard;
            }
            _ => {}
        }
    }

    fn grow(&mut self, window: &mut Window, acked: u64) -> u64 {
        match self.phase {
            Phase::Done => slow_start(window, acked),
            Phase::Standard => {
                let counted = acked.min(L * window.segment);
                slow_start(window, counted)
            }
            Phase::Conservative { .. } => {
                self.owed += acked.min(L * window.segment);
                let whole = self.owed / CSS_GROWTH_DIVISOR;
                self.owed %= CSS_GROWTH_DIVISOR;
                slow_start(window, whole)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that the allowance is one millisecond up to 2 Gbit/s, and less at higher rates.
    #[test]
    fn the_allowance_for_aggregation_shrinks_with_the_rate() {
        for (cwnd, rtt_ms, want) in [(100, 40, 1_000), (10_000, 10, 90), (100_000, 10, 9)] {
            let window =
                Window { cwnd, ssthresh: u64::MAX, segment: 1, mss: 1_448, clamp: u64::MAX };
            let ack = Ack { srtt: Some(Duration::from_millis(rtt_ms)), ..Ack::default() };
            assert_eq!(aggregation_allowance(&window, &ack), want, "{cwnd} in {rtt_ms} ms");
        }
    }
}
