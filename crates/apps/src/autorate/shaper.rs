//! The rate of one direction, and its changes.

use aqmlab_core::Direction;

use super::settings::{Range, Settings, Thresholds};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Idle,
    Low,
    High,
}

/// The rate of one direction.
#[derive(Debug)]
pub(super) struct Shaper {
    pub(super) range: Range,
    /// The rate in kbit/s.
    pub(super) rate: i64,
    /// The rate that was last applied; zero before the first.
    applied: i64,
    thresholds: Thresholds,
    packet_bits: i64,
    /// The time of a full packet at the applied rate.
    packet_time: i64,
    /// The latest sample of the achieved rate.
    pub(super) achieved: i64,
    /// Whether no rise has used the sample.
    is_new: bool,
    percent: i64,
    load: Load,
    /// The times of the last cut and of the last change of any kind.
    cut: i64,
    changed: i64,
}

impl Shaper {
    pub(super) fn new(settings: &Settings, direction: Direction, now: i64) -> Self {
        let index = direction.index();
        let range = settings.range(index);
        Self {
            range,
            rate: range.base,
            applied: 0,
            thresholds: settings.thresholds[index],
            packet_bits: settings.packet_bits[index],
            packet_time: 0,
            achieved: 0,
            is_new: false,
            percent: 0,
            load: Load::Idle,
            cut: now,
            changed: now,
        }
    }

    /// Stores a sample of the achieved rate.
    pub(super) fn sample(&mut self, rate: i64, settings: &Settings) {
        self.achieved = rate;
        self.is_new = true;
        self.percent = 100 * rate / self.rate;
        self.load = if self.percent > settings.high_load {
            Load::High
        } else if rate > settings.active_rate {
            Load::Low
        } else {
            Load::Idle
        };
    }

    pub(super) fn is_high(&self) -> bool {
        self.load == Load::High
    }

    pub(super) fn is_idle(&self) -> bool {
        self.load == Load::Idle
    }

    /// Returns whether the load is so high that replies do not change the average increase.
    pub(super) fn is_loaded(&self, settings: &Settings) -> bool {
        self.percent >= settings.high_load
    }

    pub(super) fn delay_threshold(&self) -> i64 {
        self.thresholds.delay + self.packet_time
    }

    /// Cuts the rate after delays, unless it was just cut.
    pub(super) fn cut(&mut self, average: i64, now: i64, settings: &Settings) {
        if now <= self.cut + settings.cut_pause {
            return;
        }
        let (delay, full) = (self.delay_threshold(), self.thresholds.full_cut + self.packet_time);
        let thousandths = thousandths(average - delay, full - delay);
        let factors = &settings.factors;
        self.scale(factors.least_cut, factors.most_cut, thousandths);
        (self.cut, self.changed) = (now, now);
    }

    /// Raises the rate under high load, once per sample, unless it was just cut.
    pub(super) fn raise(&mut self, average: i64, now: i64, settings: &Settings) {
        if !self.is_new || now <= self.cut + settings.cut_pause {
            return;
        }
        let (delay, full) = (self.delay_threshold(), self.thresholds.full_rise + self.packet_time);
        let thousandths = thousandths(delay - average, delay - full);
        let factors = &settings.factors;
        self.scale(factors.least_rise, factors.most_rise, thousandths);
        self.is_new = false;
        self.changed = now;
    }

    /// Multiplies the rate by a factor between `least` and `most`. The factor lies `thousandths` of
    /// the way from `least` to `most`.
    fn scale(&mut self, least: i64, most: i64, thousandths: i64) {
        let factor = 1_000 * least - thousandths * (least - most);
        self.rate = self.rate * factor / 1_000_000;
    }

    /// Moves the rate one step to the base rate, if the last change was long ago.
    pub(super) fn decay(&mut self, now: i64, settings: &Settings) {
        if now <= self.changed + settings.decay_pause {
            return;
        }
        let base = self.range.base;
        if self.rate > base {
            self.rate = (self.rate * settings.factors.decay_down / 1_000).max(base);
        } else if self.rate < base {
            self.rate = (self.rate * settings.factors.decay_up / 1_000).min(base);
        }
        self.changed = now;
    }

    pub(super) fn clamp(&mut self) {
        self.rate = self.rate.clamp(self.range.min, self.range.max);
    }

    /// Applies the rate; returns whether it differs from the rate applied before.
    pub(super) fn apply(&mut self) -> bool {
        if self.rate == self.applied {
            return false;
        }
        self.packet_time = 1_000 * self.packet_bits / self.rate;
        self.applied = self.rate;
        true
    }
}

/// Returns `part` of `whole` in thousandths, from 0 to 1000. Without a whole, returns 1000.
fn thousandths(part: i64, whole: i64) -> i64 {
    if whole <= 0 {
        1_000
    } else if part > 0 {
        (1_000 * part / whole).min(1_000)
    } else {
        0
    }
}
