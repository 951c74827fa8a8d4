//! BOLA: the choice of a rate in dash.js 2.9.3.
//!
//! Source: dash.js 2.9.3, `BolaRule`: Spiteri, Urgaonkar and Sitaraman (2016) with BOLA-O's limit
//! on switching up. A placeholder is added to the buffer level. It is set during the start-up, and
//! grows while the player requests nothing. Throughput is averaged as in `ThroughputHistory`: the
//! last four segments, and more while neighbouring samples differ by a factor of 1.3 or more.
//!
//! Differences from dash.js 2.9.3: only BOLA is implemented, not the strategy DYNAMIC of dash.js,
//! which also uses the throughput rule. Fast switching, and `BolaRule`'s cap on the placeholder
//! after seeks, are left out.

use aqmlab_core::{Duration, Instant, math};

use super::abr::{Throughputs, View, index_for};

/// The buffer level in seconds up to which BOLA never waits (`MINIMUM_BUFFER_S`).
const MINIMUM_S: f64 = 10.0;
/// The seconds that each rate adds to the target (`MINIMUM_BUFFER_PER_BITRATE_LEVEL_S`).
const PER_LEVEL_S: f64 = 2.0;
/// The factor by which each arrival of a segment reduces the placeholder
/// (`PLACEHOLDER_BUFFER_DECAY`).
const DECAY: f64 = 0.99;
/// The player's stable buffer time in seconds, the minimum of the buffer target.
const STABLE_S: f64 = 12.0;
/// The number of samples in the average (`AVERAGE_THROUGHPUT_SAMPLE_AMOUNT_VOD`).
const SAMPLES: usize = 4;
/// The ratio of neighbouring samples at and above which more samples are averaged.
const RAISING_RATIO: f64 = 1.3;

/// BOLA's constants for a ladder of rates.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    rates: Vec<u64>,
    utilities: Vec<f64>,
    /// BOLA's parameter Vp in seconds, the weight of the utility against the buffer level.
    vp: f64,
    /// BOLA's parameter gp, which is added to each utility.
    gp: f64,
}

impl Law {
    pub(crate) fn new(rates: &[u64]) -> Self {
        let lowest = math::ln(rates[0] as f64);
        let utilities: Vec<f64> =
            rates.iter().map(|&rate| math::ln(rate as f64) - lowest + 1.0).collect();
        let target = STABLE_S.max(MINIMUM_S + PER_LEVEL_S * rates.len() as f64);
        let top = utilities[utilities.len() - 1];
        // With a single rate there is no choice, so any gp > 0 is valid.
        let gp = if rates.len() > 1 { (top - 1.0) / (target / MINIMUM_S - 1.0) } else { 1.0 };
        Self { rates: rates.to_vec(), utilities, vp: MINIMUM_S / gp, gp }
    }

    /// Returns the index with the best score at the buffer level `buffer_s`; of two equal scores,
    /// the higher index.
    fn best(&self, buffer_s: f64) -> usize {
        let score = |index: usize| {
            (self.vp * (self.utilities[index] + self.gp) - buffer_s) / self.rates[index] as f64
        };
        (1..self.rates.len()).fold(
            0,
            |best, index| {
                if score(index) >= score(best) { index } else { best }
            },
        )
    }

    /// Returns the buffer level in seconds above which the score of `index` is negative, so that
    /// waiting is better than requesting.
    fn most_s(&self, index: usize) -> f64 {
        self.vp * (self.utilities[index] + self.gp)
    }

    /// Returns the smallest buffer level in seconds at which no lower index has a better score than
    /// `index`.
    fn least_s(&self, index: usize) -> f64 {
        let weighted = |i: usize, j: usize| {
            let (ri, rj) = (self.rates[i] as f64, self.rates[j] as f64);
            let (ui, uj) = (self.utilities[i], self.utilities[j]);
            self.vp * (self.gp + (ri * uj - rj * ui) / (ri - rj))
        };
        (0..index).map(|lower| weighted(index, lower)).fold(0.0, f64::max)
    }
}

/// A decision on the next request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// Requests the next segment at this index.
    Ask(usize),
    /// Requests nothing for this time.
    Wait(Duration),
}

/// The state of BOLA.
#[derive(Clone, Debug)]
pub(crate) struct Bola {
    law: Law,
    steady: bool,
    placeholder_s: f64,
    /// The time of the last choice or of the last arrival of a segment, whichever is later.
    last: Option<Instant>,
}

impl Bola {
    pub(crate) fn new(rates: &[u64]) -> Self {
        Self { law: Law::new(rates), steady: false, placeholder_s: 0.0, last: None }
    }

    /// Records the arrival of a segment, and reduces the placeholder after the start-up.
    pub(crate) fn received(&mut self, now: Instant) {
        if self.steady {
            self.placeholder_s *= DECAY;
        }
        self.last = Some(now);
    }

    /// Returns the decision at the time of `view`, and adapts the placeholder.
    pub(crate) fn choose(
        &mut self,
        view: View,
        segment: Duration,
        throughputs: &Throughputs,
    ) -> Choice {
        if !self.steady {
            return self.start_up(view, segment, throughputs);
        }
        // Time without a request counts as buffer (`updatePlaceholderBuffer`).
        let idle = self.last.map_or(Duration::ZERO, |last| view.now.since(last));
        self.last = Some(view.now);
        self.placeholder_s += idle.as_secs_f64();
        let buffer_s = view.buffer.as_secs_f64();
        let mut index = self.law.best(buffer_s + self.placeholder_s);
        if index > view.quality {
            let carried = average(throughputs).map_or(0, |kbps| index_for(view.rates, kbps));
            index = index.min(carried.max(view.quality));
        }
        self.limit_buffer(index, buffer_s, view.top())
    }

    /// Chooses a rate by throughput until a segment is buffered and there is a throughput sample.
    /// The placeholder is set so that BOLA would choose the same rate.
    fn start_up(&mut self, view: View, segment: Duration, throughputs: &Throughputs) -> Choice {
        let index = average(throughputs).map_or(view.quality, |kbps| index_for(view.rates, kbps));
        let buffer_s = view.buffer.as_secs_f64();
        self.placeholder_s = (self.law.least_s(index) - buffer_s).max(0.0);
        self.last = Some(view.now);
        self.steady = throughputs.len() > 0 && view.buffer >= segment;
        Choice::Ask(index)
    }

    /// Reduces the placeholder, at most to zero, by the excess of the buffer and the placeholder
    /// over the maximum for `index`. Returns a wait for the rest of the excess. Returns a request
    /// if there is no rest, or at the highest rate.
    fn limit_buffer(&mut self, index: usize, buffer_s: f64, top: usize) -> Choice {
        let excess_s = (buffer_s + self.placeholder_s - self.law.most_s(index)).max(0.0);
        let given = excess_s.min(self.placeholder_s);
        self.placeholder_s -= given;
        let wait = Duration::from_secs_f64(excess_s - given);
        // At the top rate the player's own limit determines the buffer level.
        if wait > Duration::ZERO && index < top { Choice::Wait(wait) } else { Choice::Ask(index) }
    }
}

/// Returns the safe throughput in kbit/s, if there is a sample. The average covers more segments
/// while the throughput varies.
fn average(throughputs: &Throughputs) -> Option<f64> {
    let all: Vec<f64> = throughputs.iter().collect();
    let mut n = SAMPLES;
    let mut at = 1;
    while at < n.min(all.len()) {
        let ratio = all[at - 1] / all[at];
        if ratio >= RAISING_RATIO || ratio <= 1.0 / RAISING_RATIO {
            n += 1;
        }
        at += 1;
    }
    throughputs.safe_kbps(n)
}

#[cfg(test)]
mod tests {
    use super::super::ladder;
    use super::*;
    use crate::testing::close;

    fn law() -> Law {
        Law::new(ladder::offer("2s").1)
    }

    #[test]
    fn the_constants_follow_from_the_ladder() {
        let law = law();
        // u_max = ln(4 219 897 / 45 652) + 1 = 5.5265; the target is 10 + 2 · 20 = 50 s.
        close(law.utilities[19], 5.5265, 1e-3);
        close(law.gp, 4.5265 / 4.0, 1e-3);
        close(law.vp, 10.0 / law.gp, 1e-9);
    }

    #[test]
    fn ten_seconds_make_the_lowest_rate_best_and_the_target_the_highest() {
        let law = law();
        for (buffer_s, want) in [(0.0, 0), (9.9, 0), (50.1, 19), (80.0, 19)] {
            assert_eq!(law.best(buffer_s), want, "{buffer_s} s");
        }
        let choices: Vec<_> = (0..60).map(|s| law.best(f64::from(s))).collect();
        assert!(choices.is_sorted(), "{choices:?}");
        close(law.most_s(19), law.vp * (law.utilities[19] + law.gp), 1e-9);
        // The score of the highest rate is zero at a buffer of `Vp` seconds above the target.
        close(law.most_s(19), 50.0 + 10.0 / law.gp, 1.0);
    }

    #[test]
    fn the_least_buffer_of_a_rate_is_where_it_becomes_best() {
        let law = law();
        for index in 1..20 {
            let least = law.least_s(index);
            assert!(law.best(least + 0.01) >= index, "{index} at {least} s");
        }
    }

    #[test]
    fn it_starts_by_throughput_and_goes_on_by_buffer() {
        let rates = ladder::offer("2s").1;
        let segment = Duration::from_secs(2);
        let mut bola = Bola::new(rates);
        let mut throughputs = Throughputs::default();
        let mut view = View {
            now: Instant::from_millis(0),
            rates,
            quality: 10,
            buffer: Duration::ZERO,
            loaded: false,
            loaded_once: false,
        };
        assert_eq!(bola.choose(view, segment, &throughputs), Choice::Ask(10));
        throughputs.push(1.5e6);
        view.now = Instant::from_millis(1_000);
        view.buffer = segment;
        bola.received(view.now);
        assert_eq!(bola.choose(view, segment, &throughputs), Choice::Ask(12));
        assert!(bola.steady);
        // A real buffer that is full makes the highest rate best, but the throughput caps it.
        view.buffer = Duration::from_secs(60);
        view.quality = 12;
        assert!(matches!(bola.choose(view, segment, &throughputs), Choice::Wait(_)));
        throughputs.push(9e6);
        assert_eq!(bola.choose(view, segment, &throughputs), Choice::Ask(19));
    }

    #[test]
    fn throughput_that_varies_is_averaged_over_more_segments() {
        let of = |mbit: &[f64]| {
            let mut throughputs = Throughputs::default();
            mbit.iter().rev().for_each(|mbit| throughputs.push(mbit * 1e6));
            average(&throughputs).unwrap()
        };
        close(of(&[1.0, 1.1, 1.0, 1.1, 9.0]), 1_050.0 * 0.9, 1.0);
        // The fifth sample is added because one pair of neighbours differs.
        close(of(&[1.0, 2.0, 2.1, 2.0, 1.9, 9.0]), 1_800.0 * 0.9, 1.0);
    }
}
