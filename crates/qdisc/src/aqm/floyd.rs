//! RED as its authors define it, and its self-tuning variant.
//!
//! Sources: Floyd and Jacobson 1993 (the average, the thresholds, the spacing of drops); Floyd 2000
//! (`gentle`); Floyd, Gummadi and Shenker 2001 (adaptive RED). The papers do not specify the order
//! of the checks and `wait`; there this module follows ns-2 and ns-3 (`red-queue-disc.cc`). As in
//! both simulators, RED keeps the first packet that finds the average queue length at or above the
//! lower threshold, but below the length at which every arrival is dropped. It also keeps any
//! packet that finds at most one packet queued.
//!
//! Differences from ns-3, each pinned by a test:
//!
//! - with `gentle`, the probability above the upper threshold rises from the adapted probability;
//!   ns-3 starts from the initial probability;
//! - the adapted probability stays at 1 % or more, as in Floyd, Gummadi and Shenker 2001; ns-3
//!   computes a much smaller minimum from the rate;
//! - an idle period begins when the last packet leaves the queue; in ns-3 it begins at the first
//!   dequeue that finds the queue empty.

use aqmlab_core::{BitRate, Bytes, Duration, Instant, Rng, math};

use super::red::Action;

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The source of the thresholds and the weight.
    pub tuning: Tuning,
    /// The initial drop probability at the upper threshold.
    pub max_p: f64,
    /// Whether the drop probability rises gradually to 1 at twice the upper threshold. Otherwise it
    /// jumps to 1 at the upper threshold.
    pub gentle: bool,
    /// Whether drops are at least `1/p` packets apart, where `p` is the drop probability.
    pub wait: bool,
    /// The packet size assumed for idle times and automatic tuning.
    pub mean_packet: Bytes,
}

/// The source of the thresholds and the weight.
#[derive(Clone, Copy, Debug)]
pub enum Tuning {
    /// Values that the user sets.
    Fixed {
        /// The average queue length, in packets, at and above which arrivals are dropped at random.
        min: f64,
        /// Without `gentle`, the average queue length, in packets, at and above which all arrivals
        /// are dropped. With `gentle`, the drop probability rises from `max_p` at this length to 1
        /// at twice this length.
        max: f64,
        /// The weight of the current queue length in the average.
        weight: f64,
    },
    /// Computed from the link's rate and the target delay; `max_p` adapts.
    Automatic {
        /// The target delay.
        target_delay: Duration,
        /// The minimum time between changes of `max_p`.
        interval: Duration,
    },
}

/// The RED law.
#[derive(Clone, Debug)]
pub struct Floyd {
    settings: Settings,
    tuned: Tuned,
    max_p: f64,
    average: f64,
    /// The number of arrivals since the last signal, or since the average rose to the lower
    /// threshold.
    count: u64,
    above: bool,
    idle_since: Option<Instant>,
    adapted: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Tuned {
    min: f64,
    max: f64,
    weight: f64,
    packets_per_second: f64,
}

/// The default link rate of ns-3 in bit/s.
const DEFAULT_RATE: u64 = 1_500_000;
const LEAST_MAX_P: f64 = 0.01;
const MOST_MAX_P: f64 = 0.5;

impl Floyd {
    /// Returns the law of an empty queue.
    pub fn new(settings: Settings) -> Self {
        let rate = BitRate::new(DEFAULT_RATE).expect("one and a half million is not zero");
        Self {
            tuned: Tuned::new(&settings, rate),
            max_p: settings.max_p,
            settings,
            average: 0.0,
            count: 0,
            above: false,
            idle_since: Some(Instant::ZERO),
            adapted: Instant::ZERO,
        }
    }

    /// Tunes the law to the rate of the link.
    pub fn link_rate(&mut self, rate: BitRate) {
        self.tuned = Tuned::new(&self.settings, rate);
    }

    /// Judges an arrival that finds `waiting` packets in the queue.
    #[inline]
    pub fn arrive(&mut self, now: Instant, waiting: usize, rng: &mut Rng) -> Action {
        self.note(now, waiting);
        self.count += 1;
        if self.average < self.tuned.min || waiting <= 1 {
            self.above = false;
            return Action::Keep;
        }
        if self.average >= self.ceiling() {
            return Action::Forced;
        }
        if !self.above {
            self.above = true;
            self.count = 1;
            return Action::Keep;
        }
        if rng.unit() <= self.spaced(self.base_probability()) {
            self.count = 0;
            return Action::Early;
        }
        Action::Keep
    }

    /// Records that the queue is empty at `now`. Further calls in the same idle period have no
    /// effect.
    pub fn emptied(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    /// Returns the average queue length in packets, as of the last arrival.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Returns the drop probability at the upper threshold.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Returns the average queue length at and above which every arrival is dropped.
    fn ceiling(&self) -> f64 {
        if self.settings.gentle { 2.0 * self.tuned.max } else { self.tuned.max }
    }

    /// Updates the average queue length, and adapts `max_p` when an adaptation is due. An idle
    /// period counts as a series of arrivals at an empty queue.
    fn note(&mut self, now: Instant, waiting: usize) {
        let kept = 1.0 - self.tuned.weight;
        let faded = match self.idle_since.take() {
            Some(start) => {
                let idle = now.since(start).as_secs_f64() * self.tuned.packets_per_second;
                self.average * math::pow(kept, idle.trunc() + 1.0)
            }
            None => self.average * kept,
        };
        self.average = faded + self.tuned.weight * waiting as f64;
        if let Tuning::Automatic { interval, .. } = self.settings.tuning {
            if now.since(self.adapted) > interval {
                self.adapt(now);
            }
        }
    }

    /// Adapts `max_p`, which increases additively and decreases multiplicatively (Floyd, Gummadi
    /// and Shenker 2001 §4).
    fn adapt(&mut self, now: Instant) {
        let Tuned { min, max, .. } = self.tuned;
        let part = 0.4 * (max - min);
        if self.average < min + part && self.max_p > LEAST_MAX_P {
            self.max_p = (self.max_p * 0.9).max(LEAST_MAX_P);
            self.adapted = now;
        } else if self.average > max - part && self.max_p < MOST_MAX_P {
            self.max_p = (self.max_p + (self.max_p / 4.0).min(0.01)).min(MOST_MAX_P);
            self.adapted = now;
        }
    }

    /// Returns the drop probability for the average queue length alone.
    fn base_probability(&self) -> f64 {
        let Tuned { min, max, .. } = self.tuned;
        if self.average < max {
            return self.max_p * (self.average - min) / (max - min);
        }
        self.max_p + (1.0 - self.max_p) * (self.average - max) / max
    }

    /// Returns the drop probability, given the number of arrivals since the last signal.
    fn spaced(&self, base: f64) -> f64 {
        let expected = self.count as f64 * base;
        match (self.settings.wait, expected) {
            (true, ..1.0) => 0.0,
            (true, ..2.0) => base / (2.0 - expected),
            (false, ..1.0) => base / (1.0 - expected),
            _ => 1.0,
        }
    }
}

impl Tuned {
    fn new(settings: &Settings, rate: BitRate) -> Self {
        let bits = settings.mean_packet.0.max(1) as f64 * 8.0;
        let packets_per_second = rate.as_bps() as f64 / bits;
        let (min, max, weight) = match settings.tuning {
            Tuning::Fixed { min, max, weight } => (min, max.max(min + 1e-9), weight),
            Tuning::Automatic { target_delay, .. } => {
                let min = (target_delay.as_secs_f64() * packets_per_second / 2.0).max(5.0);
                (min, 3.0 * min, 1.0 - math::exp(-1.0 / packets_per_second))
            }
        };
        Self { min, max, weight, packets_per_second }
    }
}

#[cfg(test)]
mod tests;
