//! A queue in a ring of memory whose size is a power of two.
//!
//! The values are numbered consecutively from the front to the back. The low bits of a number
//! select the value's place, so a position wraps without a comparison. A `VecDeque` takes more
//! instructions for each operation, and every packet passes through several queues.
//!
//! A caller that keeps the number of a value may use the number only while [`Ring::holds`] returns
//! true for it. Only builds with assertions check this. In other builds, [`Ring::get`] returns
//! whatever is at the number's place.

use std::fmt;

/// A queue whose values are numbered consecutively from the front to the back. The numbers begin at
/// zero, and removals at the front do not change them. Unused places hold [`Default::default`], or
/// what [`Ring::skip`] and [`Ring::pop_place`] left.
#[derive(Clone)]
pub struct Ring<T> {
    places: Vec<T>,
    /// The number of the value at the front.
    head: usize,
    /// The number of the next value to be added.
    tail: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { places: Vec::new(), head: 0, tail: 0 }
    }
}

impl<T: Default + fmt::Debug> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Default> Ring<T> {
    /// Returns the number of values.
    #[inline]
    pub const fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Returns whether the queue is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    /// Returns whether the next addition takes more memory.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == self.places.len()
    }

    /// Adds a value at the back.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.is_full() {
            self.grow();
        }
        let place = self.place(self.tail);
        // An unused place holds nothing that needs to be dropped, but the compiler cannot know
        // this.
        std::mem::forget(std::mem::replace(&mut self.places[place], value));
        self.tail = self.tail.wrapping_add(1);
    }

    /// Inserts a value so that it has `index` values in front of it. The numbers of all values
    /// behind it increase by one.
    pub fn insert(&mut self, index: usize, value: T) {
        self.push(value);
        for index in (index..self.len() - 1).rev() {
            let (one, next) = (self.place_of(index), self.place_of(index + 1));
            self.places.swap(one, next);
        }
    }

    /// Removes the value at the front, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.head);
        self.head = self.head.wrapping_add(1);
        Some(std::mem::take(&mut self.places[place]))
    }

    /// Removes the value at the front, if there is one, and returns its place. The value stays in
    /// its place until a new value overwrites it. The caller must take everything out of it that
    /// needs to be dropped, because [`Self::push`] does not drop what it overwrites.
    #[inline]
    pub fn pop_place(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.head);
        self.head = self.head.wrapping_add(1);
        Some(&mut self.places[place])
    }

    /// Removes up to `count` values at the front. They stay in their places until new values
    /// overwrite them.
    #[inline]
    pub fn skip(&mut self, count: usize)
    where
        T: Copy,
    {
        self.head = self.head.wrapping_add(count.min(self.len()));
    }

    /// Returns the number of the value at the front. This is also the count of values removed from
    /// the front.
    #[inline]
    pub const fn first(&self) -> usize {
        self.head
    }

    /// Returns the number of the next value to be added. This is also the count of values added, if
    /// none was removed from the back.
    #[inline]
    pub const fn end(&self) -> usize {
        self.tail
    }

    /// Returns whether there is a value with this number.
    #[inline]
    pub const fn holds(&self, number: usize) -> bool {
        number.wrapping_sub(self.head) < self.len()
    }

    /// Returns the value with this number.
    ///
    /// # Panics
    ///
    /// If nothing has ever been added to the queue. Builds with assertions panic whenever there is
    /// no value with this number.
    #[inline]
    pub fn get(&self, number: usize) -> &T {
        debug_assert!(self.holds(number), "there is no value {number}");
        &self.places[self.place(number)]
    }

    /// Returns the value with this number; see [`Self::get`].
    #[inline]
    pub fn get_mut(&mut self, number: usize) -> &mut T {
        debug_assert!(self.holds(number), "there is no value {number}");
        let place = self.place(number);
        &mut self.places[place]
    }

    /// Returns the number of the first value for which `is_before` is false. If there is no such
    /// value, returns the number of the next value to be added. `is_before` must be false for all
    /// values behind that first value, as in [`slice::partition_point`].
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_before(&self.places[self.place_of(middle)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.head.wrapping_add(low)
    }

    /// Removes the value at the back, if there is one.
    pub fn pop_back(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.tail = self.tail.wrapping_sub(1);
        let place = self.place(self.tail);
        Some(std::mem::take(&mut self.places[place]))
    }

    /// Returns the value at the front, if there is one.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.places[self.place(self.head)]) }
    }

    /// Returns the value at the back, if there is one.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.is_empty() {
            None
        } else {
            Some(&self.places[self.place(self.tail.wrapping_sub(1))])
        }
    }

    /// Returns the value at the back, if there is one.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.tail.wrapping_sub(1));
        Some(&mut self.places[place])
    }

    /// Returns the values from the front to the back.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len()).map(|index| &self.places[self.place_of(index)])
    }

    /// Returns the first `count` values, or all values if there are fewer. The values whose places
    /// wrap are the second run.
    #[inline]
    pub fn runs(&self, count: usize) -> [&[T]; 2] {
        let count = count.min(self.len());
        let (wrapped, straight) = self.places.split_at(self.place(self.head));
        let len = count.min(straight.len());
        [&straight[..len], &wrapped[..count - len]]
    }

    /// Returns the place of a number.
    #[inline]
    fn place(&self, counter: usize) -> usize {
        counter & self.places.len().wrapping_sub(1)
    }

    /// Returns the place of the value that has `index` values in front of it.
    fn place_of(&self, index: usize) -> usize {
        self.place(self.head.wrapping_add(index))
    }

    /// Doubles the memory of a full queue, or allocates the first eight places.
    ///
    /// One more bit of each number then selects the place. The values whose numbers have this bit
    /// set move to the upper half. Each of them is as far from the start of that half as it was
    /// from the start of the memory.
    #[cold]
    fn grow(&mut self) {
        let size = self.places.len();
        self.places.resize_with((2 * size).max(8), T::default);
        let (lower, upper) = self.places.split_at_mut(size);
        let first = self.head & size.wrapping_sub(1);
        if self.head & size == 0 {
            lower[..first].swap_with_slice(&mut upper[..first]);
        } else {
            lower[first..].swap_with_slice(&mut upper[first..size]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::Rng;

    #[test]
    fn it_does_what_a_plain_queue_does() {
        let mut rng = Rng::stream(1, "ring");
        let (mut queue, mut plain) = (Ring::default(), VecDeque::new());
        for value in 0..50_000_u64 {
            // The queue grows and shrinks alternately.
            let push = if value / 1_000 % 2 == 0 { 6 } else { 3 };
            match rng.below(10) {
                0 => assert_eq!(queue.pop_back(), plain.pop_back()),
                1 => {
                    let index = rng.below(plain.len() as u64 + 1) as usize;
                    queue.insert(index, value);
                    plain.insert(index, value);
                }
                draw if draw < push => {
                    let (number, size, was_full) =
                        (queue.end(), queue.places.len(), queue.is_full());
                    queue.push(value);
                    plain.push_back(value);
                    assert_eq!(*queue.get(number), value, "the number of the next value");
                    assert_eq!(queue.places.len() > size, was_full, "{size} places");
                }
                8 => assert_eq!(queue.pop_place().copied(), plain.pop_front()),
                9 => {
                    queue.skip(2);
                    plain.drain(..plain.len().min(2));
                }
                _ => assert_eq!(queue.pop(), plain.pop_front()),
            }
            assert_eq!((queue.len(), queue.is_empty()), (plain.len(), plain.is_empty()));
            assert_eq!(queue.end(), queue.first() + plain.len());
            assert_eq!((queue.front(), queue.back()), (plain.front(), plain.back()));
            assert_eq!(queue.back_mut(), plain.back_mut());
            if let Some(last) = plain.len().checked_sub(1) {
                *queue.get_mut(queue.first() + last) += 1;
                plain[last] += 1;
                assert_eq!(queue.get(queue.first() + last / 2), &plain[last / 2]);
                assert!(queue.holds(queue.first()) && queue.holds(queue.first() + last));
            }
            assert!(!queue.holds(queue.first() + plain.len()), "no value has this number yet");
            assert!(!queue.holds(queue.first().wrapping_sub(1)), "the value has left");
            if value % 100 == 0 {
                assert!(queue.iter().eq(&plain));
                let count = rng.below(plain.len() as u64 + 3) as usize;
                assert!(queue.runs(count).into_iter().flatten().eq(plain.iter().take(count)));
            }
        }
    }

    #[test]
    fn a_popped_place_keeps_its_value_until_a_new_value_overwrites_it() {
        let mut queue = Ring::default();
        for value in 0..8 {
            queue.push(Some(value));
        }
        assert!(queue.is_full(), "the first memory is that of eight values");
        assert_eq!(queue.pop_place().and_then(Option::take), Some(0));
        assert_eq!(queue.pop_place(), Some(&mut Some(1)));
        assert_eq!(queue.places[..2], [None, Some(1)]);
        assert_eq!((queue.first(), queue.end(), queue.len()), (2, 8, 6));
        queue.push(Some(8));
        queue.push(Some(9));
        assert!(queue.is_full() && queue.places[..2] == [Some(8), Some(9)]);
        assert!(queue.iter().copied().eq((2..10).map(Some)));
        queue.skip(8);
        assert_eq!(queue.pop_place(), None);
        assert_eq!((queue.first(), queue.end()), (10, 10));
    }

    #[test]
    fn the_partition_point_is_that_of_a_slice() {
        for gone in 0..20 {
            let mut queue = Ring::default();
            (0..gone).for_each(|value| queue.push(value));
            queue.skip(gone);
            let values = [1, 3, 3, 5, 8, 13];
            for value in values {
                queue.push(value);
            }
            for limit in 0..15 {
                let want = values.partition_point(|value| *value < limit);
                let found = queue.partition_point(|value| *value < limit);
                assert_eq!(found, queue.first() + want, "{limit} after {gone}");
            }
        }
    }
}
