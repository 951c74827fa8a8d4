//! The hosts that reply to echo requests.

use std::collections::VecDeque;

use super::settings::Settings;

/// The baseline of a reflector before its first reply.
const FIRST_BASELINE: i64 = 100_000;

/// The statistics of a reflector.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// The one-way delay without load.
    baseline: i64,
    /// The average increase.
    average: i64,
}

/// A place in the round of the requests.
#[derive(Debug)]
struct Pinger {
    /// The time of the last reply.
    replied: i64,
    /// Whether the latest checks counted against the reflector.
    offences: VecDeque<bool>,
}

/// The reflectors. The first of the list are asked, and the others are in reserve.
#[derive(Debug)]
pub(super) struct Reflectors {
    order: Vec<u32>,
    delays: Vec<Delays>,
    pingers: Vec<Pinger>,
}

impl Reflectors {
    /// Returns the reflectors, in a random order (Fisher and Yates) if the settings say so.
    pub(super) fn new(settings: &Settings, now: i64, draw: &mut dyn FnMut() -> u16) -> Self {
        let mut order: Vec<u32> = (0..settings.reflectors as u32).collect();
        if settings.shuffles {
            for last in (1..order.len()).rev() {
                order.swap(last, usize::from(draw()) % (last + 1));
            }
        }
        let fresh = || vec![false; settings.offence_window].into();
        Self {
            order,
            delays: vec![Delays { baseline: FIRST_BASELINE, average: 0 }; settings.reflectors],
            pingers: (0..settings.pingers)
                .map(|_| Pinger { replied: now, offences: fresh() })
                .collect(),
        }
    }

    /// Returns the reflectors that are asked.
    pub(super) fn active(&self) -> &[u32] {
        &self.order[..self.pingers.len()]
    }

    /// Returns the place of a reflector, if it is asked.
    pub(super) fn pinger_of(&self, reflector: u32) -> Option<usize> {
        self.active().iter().position(|&known| known == reflector)
    }

    fn delays(&self, pinger: usize) -> Delays {
        self.delays[self.order[pinger] as usize]
    }

    /// Records a reply with the one-way delay `delay`. Returns the increase over the baseline. The
    /// average increase changes only if `learns` is true.
    pub(super) fn note(
        &mut self,
        pinger: usize,
        delay: i64,
        time: i64,
        learns: bool,
        settings: &Settings,
    ) -> i64 {
        let known = &mut self.delays[self.order[pinger] as usize];
        let is_more = delay >= known.baseline;
        let weight = if is_more { settings.baseline_rise } else { settings.baseline_fall };
        known.baseline = mix(weight, delay, known.baseline);
        let delta = delay - known.baseline;
        if learns {
            known.average = mix(settings.delta_weight, delta, known.average);
        }
        self.pingers[pinger].replied = time;
        delta
    }

    /// Returns the first place whose reflector is much worse than the best, if there is one.
    pub(super) fn worst(&self, settings: &Settings) -> Option<usize> {
        let all = || (0..self.pingers.len()).map(|pinger| self.delays(pinger));
        // The program sums the baselines of both directions, which are equal.
        let least = all().map(|delays| 2 * delays.baseline).min()?;
        let calmest = all().map(|delays| delays.average).min()?;
        all().position(|delays| {
            2 * delays.baseline - least > settings.baseline_excess
                || delays.average - calmest > settings.delta_excess
        })
    }

    /// Checks at `now` whether the reflector at a place replies. Returns whether it should be
    /// replaced.
    pub(super) fn misbehaves(&mut self, pinger: usize, now: i64, settings: &Settings) -> bool {
        let Pinger { replied, offences } = &mut self.pingers[pinger];
        offences.pop_front();
        offences.push_back(now - *replied > settings.reply_deadline);
        offences.iter().filter(|offence| **offence).count() >= settings.offences
    }

    /// Puts the first reflector of the reserve at a place, and its reflector at the end of the
    /// reserve. Returns whether there is a reserve. Forgets the checks of the place in any case.
    pub(super) fn replace(&mut self, pinger: usize, now: i64) -> bool {
        let has_reserve = self.order.len() > self.pingers.len();
        if has_reserve {
            let next = self.order.remove(self.pingers.len());
            let bad = std::mem::replace(&mut self.order[pinger], next);
            self.order.push(bad);
            self.pingers[pinger].replied = now;
        }
        self.pingers[pinger].offences.iter_mut().for_each(|offence| *offence = false);
        has_reserve
    }
}

/// Returns the weighted average of a sample and an old average. The weight is in millionths.
const fn mix(weight: i64, sample: i64, old: i64) -> i64 {
    (weight * sample + (1_000_000 - weight) * old) / 1_000_000
}
