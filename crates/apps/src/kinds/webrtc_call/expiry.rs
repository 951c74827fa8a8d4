//! The removal of old items from queues in time order.

use std::collections::VecDeque;

/// Returns an iterator that removes and yields the first item of `queue` as long as `is_old` is
/// true for it.
pub(crate) fn expired<T>(
    queue: &mut VecDeque<T>,
    is_old: impl Fn(&T) -> bool,
) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || {
        let is_due = queue.front().is_some_and(&is_old);
        if is_due { queue.pop_front() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_old_items_at_the_front_are_removed() {
        let mut queue = VecDeque::from([1, 2, 5, 3]);
        assert_eq!(expired(&mut queue, |one| *one < 4).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(queue, [5, 3]);
        assert_eq!(expired(&mut queue, |_| true).count(), 2);
        assert_eq!(expired(&mut queue, |_| true).count(), 0);
    }
}
