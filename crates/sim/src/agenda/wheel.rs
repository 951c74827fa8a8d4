//! The wheel of the hosts, which finds the host's actor that is called first.
//!
//! The connections of a run have many timers, and most of them are set again before they expire. As
//! in Linux's timer wheel (`kernel/time/timer.c`), a key therefore joins the unsorted list of a
//! span of time, its granule, and its place among these keys is found only when the wheel opens the
//! granule. Unlike in Linux, no time is rounded.
//!
//! The granules of the next half second have a list each. Later keys have no list until the wheel
//! comes to the first of them.

use aqmlab_core::hint::rare;

use super::actor::Queue;
use super::{NEVER, Place};

/// The binary logarithm of a granule in nanoseconds. A granule is about one tick of Linux at 250
/// Hz.
const GRANULE_BITS: u32 = 22;
/// The number of granules that have lists. A `u128` has a bit for each list.
const GRANULES: usize = 128;

/// A timer wheel of hosts, whose codes are the numbers of their leaves; see the module's
/// documentation. A list or `open` may contain a key twice. It may also contain former keys: keys
/// that their leaves no longer have.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The key of each leaf.
    keys: Vec<u128>,
    /// The keys of the granules after `cursor`.
    lists: Box<[Vec<u128>; GRANULES]>,
    /// A bit for each list that is not empty.
    occupied: u128,
    /// The keys of the granules up to `cursor`, the least last. A granule has few keys, so sorting
    /// them takes less time than a heap does.
    open: Vec<u128>,
    /// The last granule that was opened.
    cursor: u64,
    /// A lower bound of the granules of the keys that have no list.
    far_from: u64,
    least: u128,
}

/// Returns the granule of a key.
#[inline]
const fn granule(key: u128) -> u64 {
    (key >> (64 + GRANULE_BITS)) as u64
}

impl Queue for Wheel {
    fn new() -> Self {
        Self {
            keys: Vec::new(),
            lists: Box::new([const { Vec::new() }; GRANULES]),
            occupied: 0,
            open: Vec::new(),
            cursor: 0,
            far_from: u64::MAX,
            least: NEVER,
        }
    }

    #[inline]
    fn least(&self) -> u128 {
        self.least
    }

    fn key(&self, index: usize) -> u128 {
        self.keys[index]
    }

    #[expect(clippy::inline_always, reason = "every timer of a host passes")]
    #[inline(always)]
    fn set(&mut self, index: usize, key: u128) -> bool {
        let former = std::mem::replace(&mut self.keys[index], key);
        if former == key {
            return false;
        }
        if key != NEVER {
            self.insert(key);
        }
        let may_change = key < self.least || former == self.least;
        if may_change {
            self.find_least();
        }
        may_change
    }

    fn make_room(&mut self, index: usize) {
        self.keys.resize(self.keys.len().max(index + 1), NEVER);
    }
}

impl Wheel {
    /// Adds a key to the open granules or to a list, unless it is beyond the granules with lists.
    #[inline]
    fn insert(&mut self, key: u128) {
        let granule = granule(key);
        if granule <= self.cursor {
            rare();
            self.insert_open(key);
        } else if granule - self.cursor < GRANULES as u64 {
            let number = granule as usize % GRANULES;
            self.occupied |= 1 << number;
            let list = &mut self.lists[number];
            list.push(key);
            if list.len() > most(&self.keys) {
                rare();
                forget_former_keys(list, &self.keys);
            }
        } else {
            self.far_from = self.far_from.min(granule);
        }
    }

    /// Adds a key to the open granules.
    #[inline(never)]
    fn insert_open(&mut self, key: u128) {
        let place = self.open.partition_point(|&other| other > key);
        self.open.insert(place, key);
        if self.open.len() > most(&self.keys) {
            rare();
            forget_former_keys(&mut self.open, &self.keys);
            self.open.reverse();
        }
    }

    /// Finds the least key.
    #[inline]
    fn find_least(&mut self) {
        loop {
            while let Some(&key) = self.open.last() {
                if self.keys[leaf_of(key)] == key {
                    self.least = key;
                    return;
                }
                self.open.pop();
            }
            if !self.open_next() {
                self.least = NEVER;
                return;
            }
        }
    }

    /// Opens the next granule that has keys. The caller must have emptied `open`. Returns false if
    /// no leaf has a key.
    #[inline(never)]
    fn open_next(&mut self) -> bool {
        if self.next_granule().is_none_or(|granule| self.far_from <= granule) {
            rare();
            self.list_far();
        }
        let Some(granule) = self.next_granule() else { return false };
        self.cursor = granule;
        let number = granule as usize % GRANULES;
        self.occupied &= !(1 << number);
        let list = &mut self.lists[number];
        for &key in &*list {
            if self.keys[leaf_of(key)] == key {
                self.open.push(key);
            }
        }
        list.clear();
        if self.open.len() > 1 {
            self.open.sort_unstable_by(|one, other| other.cmp(one));
        }
        true
    }

    /// Returns the first granule after `cursor` whose list is not empty.
    #[inline]
    fn next_granule(&self) -> Option<u64> {
        let next = self.cursor + 1;
        let occupied = self.occupied.rotate_right(next as u32 % GRANULES as u32);
        (occupied != 0).then(|| next + u64::from(occupied.trailing_zeros()))
    }

    /// Moves the wheel to the first granule with a key, and makes the lists again from all keys.
    /// Each call looks at all keys. It is called only if no list has a key, or if half a second has
    /// passed since the last call.
    #[cold]
    fn list_far(&mut self) {
        let first = self.keys.iter().copied().min().unwrap_or(NEVER);
        self.far_from = u64::MAX;
        if first == NEVER {
            return;
        }
        debug_assert!(granule(first) > self.cursor, "no granule with a key is passed over");
        self.cursor = granule(first) - 1;
        for list in self.lists.iter_mut() {
            list.clear();
        }
        self.occupied = 0;
        for index in 0..self.keys.len() {
            if self.keys[index] != NEVER {
                self.insert(self.keys[index]);
            }
        }
    }
}

/// Returns the number of entries above which a list or the open granules must contain former keys
/// or keys twice. The constant keeps a wheel of few leaves from removing them often.
#[inline]
const fn most(keys: &[u128]) -> usize {
    2 * keys.len() + 16
}

/// Removes former keys and repetitions, and sorts the others in rising order. No more entries than
/// leaves remain.
#[cold]
fn forget_former_keys(entries: &mut Vec<u128>, keys: &[u128]) {
    entries.retain(|key| keys[leaf_of(*key)] == *key);
    entries.sort_unstable();
    entries.dedup();
}

/// Returns the leaf whose key this is.
#[inline]
fn leaf_of(key: u128) -> usize {
    Place(key).code() as usize
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    /// Returns the key of a call of leaf `index` at `time`.
    fn key(time: u64, ticket: u64, index: usize) -> u128 {
        u128::from(time) << 64 | u128::from(ticket << 20 | index as u64)
    }

    #[test]
    fn it_finds_the_least_key_over_all_spans_of_time() {
        for leaves in [1, 3, 40] {
            let mut rng = Rng::stream(1, "wheel");
            let (mut wheel, mut plain) = (Wheel::new(), vec![NEVER; leaves]);
            wheel.make_room(leaves - 1);
            let mut now = 0;
            for ticket in 0..50_000 {
                let index = rng.below(leaves as u64) as usize;
                // The call is due after a nanosecond to a century.
                let span = rng.below(1 << 62) >> rng.below(62);
                let key = if rng.below(4) == 0 { NEVER } else { key(now + span, ticket, index) };
                let (before, changes) = (wheel.least(), wheel.set(index, key));
                assert!(changes || wheel.least() == before);
                plain[index] = key;
                if rng.below(3) > 0 {
                    let least = wheel.least();
                    assert_eq!(Some(&least), plain.iter().min(), "{leaves} leaves, {ticket}");
                    // As in a run, the least key is called and then replaced.
                    if least != NEVER && (least >> 64) as u64 >> 61 == 0 {
                        now = now.max((least >> 64) as u64);
                        let after = rng.below(4) * rng.below(1 << 30);
                        let next = self::key(now + after, ticket, leaf_of(least));
                        wheel.set(leaf_of(least), next);
                        plain[leaf_of(least)] = next;
                    }
                }
                assert!((0..leaves).all(|index| wheel.key(index) == plain[index]));
            }
            let turns = (now >> GRANULE_BITS) / GRANULES as u64;
            assert!(turns > 100, "{leaves} leaves: {turns} turns");
        }
    }

    #[test]
    fn former_and_repeated_keys_do_not_accumulate() {
        let (first, most) = (key(1 << 40, 0, 0), 2 * 2 + 16);
        let mut wheel = Wheel::new();
        wheel.make_room(1);
        wheel.set(0, first);
        assert_eq!(wheel.cursor, 1 << (40 - GRANULE_BITS), "the granule is open");
        for ticket in 1..100_000 {
            wheel.set(1, key(1 << 39, ticket, 1));
            wheel.set(1, NEVER);
            assert_eq!(wheel.least(), first);
            wheel.set(1, key((1 << 40) + 1, 1, 1));
            assert!(wheel.open.len() <= most, "{} open keys", wheel.open.len());
            wheel.set(1, key((1 << 40) + (1 << 28), ticket, 1));
            let listed: usize = wheel.lists.iter().map(Vec::len).sum();
            assert!(listed <= most, "{listed} keys in lists");
            assert_eq!(wheel.least(), first);
        }
    }

    #[test]
    fn keys_at_the_end_of_time_and_far_ahead_are_found() {
        let mut wheel = Wheel::new();
        wheel.make_room(2);
        let keys = [key(u64::MAX - 1, 1, 0), key(1 << 50, 2, 1), key(5, 3, 2)];
        for (index, key) in keys.into_iter().enumerate() {
            assert!(wheel.set(index, key), "it is the least");
            assert!(!wheel.set(index, key), "nothing changed");
        }
        for index in [2, 1, 0] {
            assert_eq!(wheel.least(), keys[index]);
            wheel.set(index, NEVER);
        }
        assert_eq!(wheel.least(), NEVER);
    }
}
