//! Silent reads: reads by applications that cause no segment and no notice. They are the most
//! frequent calls of most ends.
//!
//! A process reads a moment after data has arrived. Most reads are silent. They have places in the
//! order of all calls, but they wait in a queue and not in the agenda. All hosts of a kind take
//! equally long to wake, so a new read usually belongs at the end of the queue.

use std::collections::VecDeque;

use aqmlab_core::Side;

use crate::agenda::Order;

/// The silent reads to come, in order.
#[derive(Debug, Default)]
pub(crate) struct SilentReads {
    waiting: VecDeque<(Order, u32, Side)>,
}

impl SilentReads {
    /// Adds a read of an end.
    #[inline]
    pub(crate) fn push(&mut self, place: Order, conn: u32, side: Side) {
        if self.waiting.back().is_none_or(|(last, ..)| *last < place) {
            self.waiting.push_back((place, conn, side));
        } else {
            let index = self.waiting.partition_point(|(other, ..)| *other < place);
            self.waiting.insert(index, (place, conn, side));
        }
    }

    /// Returns the place of the first read.
    #[inline]
    pub(crate) fn first(&self) -> Order {
        self.waiting.front().map_or(Order::NEVER, |(place, ..)| *place)
    }

    /// Removes and returns the first read.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Order, u32, Side)> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Instant;

    use super::*;
    use crate::agenda::{Actor, Agenda};

    #[test]
    fn reads_of_hosts_that_wake_at_different_speeds_are_in_order() {
        let mut agenda = Agenda::new();
        let slot = agenda.register(Actor::End(0, Side::Home));
        let mut reads = SilentReads::default();
        for (conn, ms) in [(0, 5), (1, 7), (2, 6), (3, 5), (4, 9)] {
            reads.push(agenda.place(slot, Instant::from_millis(ms)), conn, Side::Home);
        }
        let order: Vec<_> = std::iter::from_fn(|| reads.pop()).map(|(_, conn, _)| conn).collect();
        assert_eq!(order, [0, 3, 2, 1, 4]);
    }
}
