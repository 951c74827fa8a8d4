//! A histogram of durations with a relative error of at most 0.1 %.
//!
//! Log-linear buckets as in `HdrHistogram` (Tene 2012): each octave, the range between two powers
//! of two, has [`SLOTS`] equal slots. The width of a slot is at most 1/512 of the values in it, so
//! its middle is within 1/1024 of each value. Values below 1024 ns are exact. Count, sum, minimum
//! and maximum are always exact. An octave takes memory when it receives its first value, so a
//! histogram takes at most 56 octaves of 2 kB.

use std::collections::BTreeMap;

use aqmlab_core::Duration;
use aqmlab_core::hint::rare;

/// The number of slots in an octave.
const SLOTS: usize = 512;
const SLOT_BITS: u32 = SLOTS.trailing_zeros();
/// The number of slots that are counted together for [`Ranks`].
const GROUP: usize = 16;
/// The number of octaves. The index of an octave is the number of leading zeros of its values. The
/// last octave holds all values below 512.
const OCTAVES: usize = LAST + 1;
/// The index of the last octave.
const LAST: usize = (u64::BITS - SLOT_BITS) as usize;

/// The number of values in each slot. A slot has 32 bits, because slots of 64 bits make a trial 2 %
/// slower. [`Histogram::excess`] holds what a slot cannot.
type Octave = [u32; SLOTS];

/// The number of values in a full slot.
const FULL: u64 = u32::MAX as u64;

/// The number of occurrences of each duration. Durations have a relative error of at most 0.1 %.
#[derive(Clone, Debug)]
pub struct Histogram {
    octaves: [Option<Box<Octave>>; OCTAVES],
    /// The number of values beyond [`FULL`], by octave and slot.
    excess: BTreeMap<(usize, usize), u64>,
    count: u64,
    sum: u128,
    range: Extremes,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            octaves: [const { None }; OCTAVES],
            excess: BTreeMap::new(),
            count: 0,
            sum: 0,
            range: Extremes { min: u64::MAX, max: 0 },
        }
    }
}

impl Histogram {
    /// Adds a duration.
    #[inline]
    pub fn record(&mut self, span: Duration) {
        self.record_values(span.as_nanos(), 1);
    }

    /// Begins a batch of values. There must be [room](Self::has_room_for) for all of them.
    #[inline]
    pub(crate) fn batch(&mut self) -> Batch<'_> {
        let range = self.range;
        Batch { histogram: self, count: 0, sum: 0, range }
    }

    /// Returns whether `n` more values cannot overflow a slot.
    #[inline]
    pub(crate) fn has_room_for(&self, n: usize) -> bool {
        self.count + n as u64 <= FULL
    }

    /// Adds an integer value `n` times, in any unit.
    #[inline]
    pub(crate) fn record_values(&mut self, value: u64, n: u64) {
        self.count += n;
        if self.count > FULL {
            return self.record_many(value, n);
        }
        self.sum += u128::from(value) * u128::from(n);
        self.range.include(value);
        let (octave, slot) = place(value);
        match &mut self.octaves[octave] {
            Some(slots) => slots[slot] += n as u32,
            empty => octave_in(empty)[slot] += n as u32,
        }
    }

    /// Adds a value `n` times to its slot, if there are so many values that a slot could overflow.
    /// `count` already includes these values.
    #[cold]
    #[inline(never)]
    fn record_many(&mut self, value: u64, n: u64) {
        self.sum += u128::from(value) * u128::from(n);
        self.range.widen(value);
        let (octave, slot) = place(value);
        let slots = octave_in(&mut self.octaves[octave]);
        let sum = u64::from(slots[slot]) + n;
        slots[slot] = sum.min(FULL) as u32;
        if sum > FULL {
            *self.excess.entry((octave, slot)).or_default() += sum - FULL;
        }
    }

    /// Returns the number of durations recorded.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the shortest duration, which is exact; `None` for an empty histogram.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration::from_nanos(self.range.min))
    }

    /// Returns the longest duration, which is exact; `None` for an empty histogram.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(Duration::from_nanos(self.range.max))
    }

    /// Returns the sum of the durations; [`Duration::MAX`] on overflow.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// Returns the mean, rounded down to a nanosecond; `None` for an empty histogram.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(mean as u64))
    }

    /// Returns the ranks of the durations, from which quantiles are computed.
    pub fn ranks(&self) -> Ranks<'_> {
        let octaves: Vec<_> = self.rising().collect();
        let mut ends = Vec::with_capacity(octaves.len() * (SLOTS / GROUP));
        let mut end = 0;
        for &(octave, slots) in &octaves {
            for first in (0..SLOTS).step_by(GROUP) {
                end += self.count_in(octave, first, &slots[first..first + GROUP]);
                ends.push(end);
            }
        }
        Ranks { histogram: self, octaves, ends }
    }

    /// Returns the middle and the count of every non-empty slot, in rising order, for distribution
    /// functions.
    pub fn slots(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.rising().flat_map(move |(octave, slots)| {
            let all = slots.chunks_exact(1).enumerate();
            let counts = all.map(move |(slot, n)| (slot, self.count_in(octave, slot, n)));
            let occupied = counts.filter(|&(_, n)| n > 0);
            occupied.map(move |(slot, n)| (Duration::from_nanos(self.value(octave, slot)), n))
        })
    }

    /// Returns the octaves with memory in rising order of their values.
    fn rising(&self) -> impl Iterator<Item = (usize, &Octave)> {
        let octaves = self.octaves.iter().enumerate().rev();
        octaves.filter_map(|(octave, slots)| Some((octave, &**slots.as_ref()?)))
    }

    /// Returns the number of values in `slots`, which begin with the slot `first` of `octave`.
    #[inline]
    fn count_in(&self, octave: usize, first: usize, slots: &[u32]) -> u64 {
        if self.count > FULL {
            rare();
            let excess = self.excess.range((octave, first)..(octave, first + slots.len()));
            let held = slots.iter().map(|&n| u64::from(n));
            return held.chain(excess.map(|(_, &n)| n)).sum();
        }
        // No sum exceeds the count, and the sum of 32-bit numbers takes fewer instructions.
        slots.iter().sum::<u32>().into()
    }

    /// Returns the value that represents a slot.
    fn value(&self, octave: usize, slot: usize) -> u64 {
        middle(octave, slot).clamp(self.range.min, self.range.max)
    }
}

/// The least and the greatest of some values.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    min: u64,
    max: u64,
}

impl Extremes {
    /// Includes a value.
    #[inline]
    fn include(&mut self, value: u64) {
        // One branch on both conditions takes 0.3 % more instructions in a trial.
        if value < self.min {
            self.widen(value);
        }
        if value > self.max {
            self.widen(value);
        }
    }

    /// Does what [`Self::include`] does. A separate function keeps the code that runs for every
    /// packet short, because few values are outside the range of the earlier values.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

/// Values that are added to a histogram together. Until [`Self::finish`], the histogram's count, sum
/// and range do not include them.
pub(crate) struct Batch<'a> {
    histogram: &'a mut Histogram,
    count: u64,
    sum: u128,
    range: Extremes,
}

impl Batch<'_> {
    /// Adds a value.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.range.include(value);
        let (octave, slot) = place(value);
        match &mut self.histogram.octaves[octave] {
            Some(slots) => slots[slot] += 1,
            empty => octave_in(empty)[slot] += 1,
        }
    }

    /// Adds the count, the sum and the range of the values to the histogram.
    #[inline]
    pub(crate) fn finish(self) {
        let Self { histogram, count, sum, range } = self;
        histogram.count += count;
        histogram.sum += sum;
        histogram.range = range;
    }
}

/// The durations of a histogram in rising order, from which quantiles are computed.
///
/// Building the list of groups visits every slot of the histogram once. A quantile then takes one
/// search in this list and one in a group. No branch depends on the content of a slot, because the
/// processor could not predict it.
#[derive(Clone, Debug)]
pub struct Ranks<'a> {
    histogram: &'a Histogram,
    /// The octaves with memory in rising order.
    octaves: Vec<(usize, &'a Octave)>,
    /// The rank after the last value of each group of the octaves. Ranks count from 0.
    ends: Vec<u64>,
}

impl Ranks<'_> {
    /// Returns the `q`-quantile, for `q` from 0 to 1, by the estimator of
    /// [`quantile`](crate::quantile) (R's type 7). The result is within 0.1 % of the quantile of
    /// the durations themselves. Returns `None` for an empty histogram.
    ///
    /// # Panics
    ///
    /// If `q` is not from 0 to 1.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let (whole, part) = self.quantile_value(q)?;
        Some(Duration::from_nanos(whole + (part + 0.5) as u64))
    }

    /// Returns the quantile of integer values: the order statistic below it, and the amount that
    /// interpolation adds. Returns `None` for an empty histogram.
    pub(crate) fn quantile_value(&self, q: f64) -> Option<(u64, f64)> {
        assert!((0.0..=1.0).contains(&q), "quantile {q}: allowed is 0 to 1");
        let last = self.histogram.count.checked_sub(1)?;
        let position = q * last as f64;
        let rank = (position as u64).min(last);
        let (below, above) = (self.value(rank), self.value(rank + 1));
        Some((below, (above - below) as f64 * (position - rank as f64)))
    }

    /// Returns the value of a rank. A rank after the last has the value of the last rank.
    fn value(&self, rank: u64) -> u64 {
        match rank {
            0 => self.histogram.range.min,
            rank if rank + 1 >= self.histogram.count => self.histogram.range.max,
            rank => self.inner_value(rank),
        }
    }

    /// Returns the value of a rank that is neither the first nor the last.
    fn inner_value(&self, rank: u64) -> u64 {
        let group = self.ends.partition_point(|&end| end <= rank);
        let mut end = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        let (octave, slots) = self.octaves[group / (SLOTS / GROUP)];
        let first = group % (SLOTS / GROUP) * GROUP;
        let mut slot = first;
        for (place, n) in (first..).zip(slots[first..first + GROUP].chunks_exact(1)) {
            end += self.histogram.count_in(octave, place, n);
            slot += usize::from(end <= rank);
        }
        self.histogram.value(octave, slot)
    }
}

/// Returns the octave in `place`, and allocates it if there is none. A separate function keeps the
/// code that runs for every packet short.
#[cold]
fn octave_in(place: &mut Option<Box<Octave>>) -> &mut Octave {
    place.get_or_insert_with(|| Box::new([0; SLOTS]))
}

/// Returns the octave and slot of a value.
#[inline]
const fn place(value: u64) -> (usize, usize) {
    if value < SLOTS as u64 {
        // Of the durations of packets, only the sojourn time in an idle queue is so short.
        rare();
        return (LAST, value as usize);
    }
    // The leading bit selects the octave; the next nine bits select the slot. The rotation moves
    // these bits to the end.
    let zeros = value.leading_zeros();
    let slot = value.rotate_left(zeros + 1 + SLOT_BITS) as usize % SLOTS;
    (zeros as usize, slot)
}

/// Returns the value that represents a slot.
const fn middle(octave: usize, slot: usize) -> u64 {
    if octave == LAST {
        return slot as u64;
    }
    let width = 1_u64 << (LAST - 1 - octave);
    (SLOTS + slot) as u64 * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &value in values {
            histogram.record(Duration::from_nanos(value));
        }
        histogram
    }

    #[test]
    fn the_middle_of_a_slot_is_within_a_thousandth_of_its_values() {
        for value in (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]) {
            let (octave, slot) = place(value);
            let error = middle(octave, slot).abs_diff(value);
            assert!(error as f64 <= value as f64 / 1_024.0, "{value}: off by {error}");
        }
        assert_eq!(place(u64::MAX), (0, SLOTS - 1));
    }

    #[test]
    fn there_is_room_until_a_slot_could_overflow() {
        let mut histogram = of(&[]);
        histogram.record_values(1, FULL - 3);
        assert!(histogram.has_room_for(3) && !histogram.has_room_for(4));
    }

    #[test]
    fn an_empty_histogram_has_no_statistics() {
        let empty = Histogram::default();
        assert_eq!((empty.min(), empty.max(), empty.mean()), (None, None, None));
        assert_eq!((empty.ranks().quantile(0.5), empty.count()), (None, 0));
    }

    #[test]
    fn count_sum_and_extremes_are_exact() {
        let histogram = of(&[40_000_001, 40_000_003, 1_000_000_007]);
        assert_eq!(histogram.min(), Some(Duration::from_nanos(40_000_001)));
        assert_eq!(histogram.max(), Some(Duration::from_nanos(1_000_000_007)));
        assert_eq!(histogram.sum(), Duration::from_nanos(1_080_000_011));
        assert_eq!(histogram.mean(), Some(Duration::from_nanos(360_000_003)));
        let ranks = histogram.ranks();
        assert_eq!(ranks.quantile(0.0), histogram.min());
        assert_eq!(ranks.quantile(1.0), histogram.max());
        assert_eq!(histogram.slots().map(|(_, n)| n).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_slot_counts_more_values_than_its_counter_holds() {
        let mut histogram = Histogram::default();
        for n in [FULL - 1, 1, 1, 3 * FULL] {
            histogram.record_values(40, n);
        }
        histogram.record_values(41, FULL + 7);
        let counts = [4 * FULL + 1, FULL + 7];
        assert_eq!(histogram.slots().map(|(_, n)| n).collect::<Vec<_>>(), counts);
        assert_eq!(histogram.count(), counts.iter().sum::<u64>());
        let ranks = histogram.ranks();
        assert_eq!(ranks.quantile(0.79), Some(Duration::from_nanos(40)));
        assert_eq!(ranks.quantile(0.81), Some(Duration::from_nanos(41)));
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_values_within_a_thousandth(
            values in prop::collection::vec((0_u32..40).prop_flat_map(|bits| 0..=1_u64 << bits), 1..300),
            q in 0.0..=1.0_f64,
        ) {
            let mut sorted: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            sorted.sort_by(f64::total_cmp);
            let want = quantile(&sorted, q).unwrap();
            let got = of(&values).ranks().quantile(q).unwrap().as_nanos() as f64;
            prop_assert!((got - want).abs() <= want / 1_000.0 + 1.0, "{got} for {want}");
        }
    }
}
