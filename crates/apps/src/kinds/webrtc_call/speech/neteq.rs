//! The de-jitter buffer of the sound.
//!
//! Source: libwebrtc (2025-06), folder `modules/audio_coding/neteq`: `decision_logic.cc`,
//! `underrun_optimizer.cc`, `histogram.cc` and `packet_arrival_history.cc`, with the default
//! settings. The target is the 95th percentile of the longest delay in each half second, relative
//! to the shortest delay of the last two seconds. A late packet is played when it arrives, and the
//! gap is concealed. Speech is stretched towards the target, and compressed if the buffer holds
//! much more.
//!
//! Differences: each stretch or compression of the speech changes the delay by 10 ms, the pitch
//! period at 100 Hz; libwebrtc uses the pitch period of the voice. This module treats a reordered
//! packet like any other late packet. libwebrtc excludes reordered packets from the 95th
//! percentile, and may raise the target for them by another rule (`reorder_optimizer.cc`).

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

const START_MS: f64 = 80.0;
/// The part of the first target for which the first packet waits.
const FIRST_PART: f64 = 0.5;
const BUCKETS: usize = 100;
const BUCKET_MS: f64 = 20.0;
const QUANTILE: f64 = 0.95;
const FORGET: f64 = 0.983;
const FIRST_WEIGHT: f64 = 2.0;
const INTERVAL: Duration = Duration::from_millis(500);
const WINDOW: Duration = Duration::from_secs(2);
const MARGIN_MS: f64 = 20.0;
const FAST: f64 = 4.0;
const STRETCH_EVERY: Duration = Duration::from_millis(60);
const STRETCH_MS: f64 = 10.0;

/// The distribution of the longest delay in each interval. Older intervals weigh less.
#[derive(Debug)]
struct Histogram {
    shares: [f64; BUCKETS],
    forget: f64,
    count: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        let mut share = 1.0;
        let shares = std::array::from_fn(|_| {
            share /= 2.0;
            share
        });
        Self { shares, forget: 0.0, count: 0.0 }
    }
}

impl Histogram {
    fn add(&mut self, delay_ms: f64) {
        let place = (delay_ms / BUCKET_MS) as usize;
        if place >= BUCKETS {
            return;
        }
        for share in &mut self.shares {
            *share *= self.forget;
        }
        self.shares[place] += 1.0 - self.forget;
        self.count += 1.0;
        self.forget = (1.0 - FIRST_WEIGHT / (self.count + 1.0)).clamp(0.0, FORGET);
    }

    /// Returns the upper end of the bucket that contains the quantile, in milliseconds.
    fn quantile_ms(&self) -> f64 {
        let mut sum = 0.0;
        let reaches = |share: &f64| {
            sum += share;
            sum >= QUANTILE
        };
        let place = self.shares.iter().position(reaches).unwrap_or(BUCKETS - 1);
        BUCKET_MS * (place + 1) as f64
    }
}

/// The state of the buffer.
#[derive(Debug)]
pub(crate) struct Neteq {
    /// The arrival time and the delay in milliseconds of each packet in the last [`WINDOW`].
    delays: VecDeque<(Instant, f64)>,
    histogram: Histogram,
    interval: Option<Instant>,
    longest_ms: f64,
    target_ms: f64,
    /// The playout delay, in milliseconds, once a packet has arrived.
    playout_ms: Option<f64>,
    stretched: Instant,
}

impl Default for Neteq {
    fn default() -> Self {
        Self {
            delays: VecDeque::new(),
            histogram: Histogram::default(),
            interval: None,
            longest_ms: 0.0,
            target_ms: START_MS,
            playout_ms: None,
            stretched: Instant::ZERO,
        }
    }
}

/// The playout of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Played {
    /// The playout delay at which the packet was due.
    pub(crate) due: Duration,
    /// The playout delay at which the packet is played. The gap before a late packet is concealed.
    pub(crate) at: Duration,
}

impl Played {
    /// Returns the gap before the packet; zero if the packet is not late.
    pub(crate) fn gap(&self) -> Duration {
        self.at.saturating_sub(self.due)
    }
}

impl Neteq {
    /// Processes a packet that arrives at `now`, `delay` after its capture. Returns its playout.
    pub(crate) fn take(&mut self, delay: Duration, now: Instant) -> Played {
        let delay_ms = delay.as_secs_f64() * 1e3;
        self.delays.push_back((now, delay_ms));
        while self.delays.front().is_some_and(|&(at, _)| now.since(at) > WINDOW) {
            self.delays.pop_front();
        }
        let all = || self.delays.iter().map(|&(_, ms)| ms);
        let least_ms = all().fold(f64::INFINITY, f64::min);
        let most_ms = all().fold(0.0, f64::max);
        self.learn(delay_ms - least_ms, now);
        let due_ms = self.playout_ms.unwrap_or(delay_ms + FIRST_PART * START_MS);
        let played_ms = due_ms.max(delay_ms);
        self.playout_ms = Some(played_ms);
        if played_ms <= due_ms {
            self.stretch(least_ms, most_ms, now);
        }
        let [due, at] = [due_ms, played_ms].map(|ms| Duration::from_secs_f64(ms / 1e3));
        Played { due, at }
    }

    fn learn(&mut self, relative_ms: f64, now: Instant) {
        let since = *self.interval.get_or_insert(now);
        if now.since(since) > INTERVAL {
            self.histogram.add(self.longest_ms);
            self.target_ms = self.histogram.quantile_ms();
            (self.interval, self.longest_ms) = (Some(now), 0.0);
        }
        self.longest_ms = self.longest_ms.max(relative_ms);
    }

    /// Raises the playout delay by a step if the buffer is below the target, and lowers the delay
    /// by a step if the buffer is at or above its upper limit. Steps are at least [`STRETCH_EVERY`]
    /// apart, unless the buffer is at or above [`FAST`] times its upper limit.
    fn stretch(&mut self, least_ms: f64, most_ms: f64, now: Instant) {
        let Some(playout_ms) = self.playout_ms else { return };
        let level_ms = playout_ms - least_ms;
        let high_ms = self.target_ms + (most_ms - least_ms) + MARGIN_MS;
        let is_due = now.since(self.stretched) >= STRETCH_EVERY;
        let step_ms = match level_ms {
            level if level >= FAST * high_ms => -STRETCH_MS,
            level if is_due && level >= high_ms => -STRETCH_MS,
            level if is_due && level < self.target_ms => STRETCH_MS,
            _ => return,
        };
        self.stretched = now;
        self.playout_ms = Some(playout_ms + step_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    /// Returns the playout of `packets` packets, of which packet `n` takes `took_ms(n)` ms.
    fn played(packets: u64, took_ms: impl Fn(u64) -> u64) -> Vec<Played> {
        let mut neteq = Neteq::default();
        let one = |number| {
            let delay = Duration::from_millis(took_ms(number));
            neteq.take(delay, Instant::from_millis(20 * number) + delay)
        };
        (0..packets).map(one).collect()
    }

    fn ms(span: Duration) -> f64 {
        span.as_secs_f64() * 1e3
    }

    /// Returns the packets that came late.
    fn late(all: &[Played]) -> Vec<Played> {
        all.iter().copied().filter(|one| one.gap() > Duration::ZERO).collect()
    }

    /// Tests the playout at a constant delay. The target is 80 ms until the first half second is
    /// over, and then 20 ms. Speech is compressed until the delay is less than 20 ms above the
    /// target.
    #[test]
    fn a_constant_delay_is_played_20_to_40_ms_later() {
        let all = played(500, |_| 30);
        assert!(late(&all).is_empty());
        close(ms(all[0].at), 70.0, 1e-6);
        assert!((50.0..70.0).contains(&ms(all[499].at)), "{:?}", all[499]);
    }

    #[test]
    fn a_late_packet_leaves_a_gap_once_and_the_delay_falls_again() {
        let all = played(1_000, |n| if n == 100 { 200 } else { 30 });
        let gaps = late(&all);
        assert_eq!(gaps.len(), 1);
        close(ms(gaps[0].gap()), 200.0 - ms(all[99].at), 11.0);
        close(ms(all[101].due), 200.0, 20.0);
        assert!(ms(all[999].at) < 100.0, "{:?}", all[999]);
    }

    #[test]
    fn jitter_raises_the_target_to_its_95th_percentile() {
        let all = played(2_000, |n| 30 + 7 * (n % 11));
        assert!(late(&all[500..]).is_empty());
        let delay_ms = ms(all[1_999].at);
        assert!((100.0..=190.0).contains(&delay_ms), "{delay_ms}");
    }
}
