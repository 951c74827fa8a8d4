//! A set of numbers as sorted ranges. The crate `aqmlab_tcp` keeps no ranges of out-of-order data:
//! its queues hold buffers as the kernels do, because the memory of the buffers limits a receiver.

/// A set of packet numbers or of bytes, as half-open ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the range with the smallest numbers, if there is one.
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.0.first().copied()
    }

    /// Returns the largest number, if there is one.
    pub(crate) fn largest(&self) -> Option<u64> {
        self.0.last().map(|&(_, end)| end - 1)
    }

    /// Returns the ranges, the largest numbers first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().rev().copied()
    }

    /// Returns whether `number` is in the set.
    pub(crate) fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|&(start, _)| start <= number);
        after > 0 && number < self.0[after - 1].1
    }

    /// Adds `[start, end)`.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|&(_, to)| to < start);
        let past = self.0.partition_point(|&(from, _)| from <= end);
        let merged = match self.0.get(first..past) {
            Some([]) | None => (start, end),
            Some(touched) => {
                (touched[0].0.min(start), touched.last().map_or(end, |&(_, to)| to.max(end)))
            }
        };
        self.0.splice(first..past, [merged]);
    }

    /// Removes `[start, end)`.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|&(_, to)| to <= start);
        let past = self.0.partition_point(|&(from, _)| from < end);
        if start >= end || first >= past {
            return;
        }
        let left = (self.0[first].0, start);
        let right = (end, self.0[past - 1].1);
        let kept = [left, right].into_iter().filter(|(from, to)| from < to);
        self.0.splice(first..past, kept);
    }

    /// Removes the smallest ranges until at most `most` ranges remain.
    pub(crate) fn keep_newest(&mut self, most: usize) {
        self.0.drain(..self.0.len().saturating_sub(most));
    }

    /// Adds the part of `[start, end)` that is not in `other`.
    pub(crate) fn insert_without(&mut self, start: u64, end: u64, other: &Self) {
        let mut from = start;
        for &(known, to) in other.0.iter().filter(|&&(_, to)| to > start) {
            if known >= end {
                break;
            }
            self.insert(from, known);
            from = to;
        }
        self.insert(from, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_split_and_answer() {
        let mut set = Ranges::default();
        for (start, end) in [(10, 12), (20, 22), (12, 15), (5, 5), (30, 31)] {
            set.insert(start, end);
        }
        assert_eq!(set.0, [(10, 15), (20, 22), (30, 31)]);
        set.insert(14, 21);
        assert_eq!(set.0, [(10, 22), (30, 31)]);
        set.remove(12, 14);
        assert_eq!(set.0, [(10, 12), (14, 22), (30, 31)]);
        assert!(set.contains(11) && !set.contains(12) && set.contains(30) && !set.contains(31));
        assert_eq!((set.first(), set.largest()), (Some((10, 12)), Some(30)));
        set.remove(0, 100);
        assert!(set.is_empty());
    }

    #[test]
    fn a_range_is_added_without_the_numbers_of_another_set() {
        let (mut set, mut other) = (Ranges::default(), Ranges::default());
        other.insert(2, 4);
        other.insert(6, 7);
        set.insert_without(0, 8, &other);
        assert_eq!(set.0, [(0, 2), (4, 6), (7, 8)]);
        set.keep_newest(2);
        assert_eq!(set.0, [(4, 6), (7, 8)]);
    }
}
