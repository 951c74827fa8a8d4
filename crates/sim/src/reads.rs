//! The wake-ups of applications. Most calls of the ends of connections are wake-ups.
//!
//! An application wakes shortly after data has arrived, and reads. Wake-ups have places in the
//! order of all calls, but the agenda stores them in a queue of their own. All hosts with the
//! same profile have the same wake-up latency, so a new wake-up usually belongs at the end of the
//! queue.

use aqmlab_core::Ring;

use crate::agenda::Order;

/// The places of the pending wake-ups, in order.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    waiting: Ring<Order>,
}

impl Reads {
    /// Adds a wake-up at `place`.
    #[inline]
    pub(crate) fn push(&mut self, place: Order) {
        if self.waiting.back().is_none_or(|last| *last < place) {
            self.waiting.push(place);
        } else {
            self.insert(place);
        }
    }

    /// Inserts a wake-up that does not belong at the end.
    #[cold]
    fn insert(&mut self, place: Order) {
        let index = self.waiting.iter().take_while(|other| **other < place).count();
        self.waiting.insert(index, place);
    }

    /// Returns the place of the first wake-up, or [`Order::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Order {
        self.waiting.front().copied().unwrap_or(Order::NEVER)
    }

    /// Removes the first wake-up, if there is one.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.waiting.skip(1);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Instant, Side};

    use super::*;
    use crate::agenda::{Agenda, HostActor};

    #[test]
    fn reads_of_hosts_that_wake_at_different_speeds_are_in_order() {
        let mut agenda = Agenda::new();
        let mut reads = Reads::default();
        for (conn, ms) in [(0, 5), (1, 7), (2, 6), (3, 5), (4, 9)] {
            let slot = agenda.register(HostActor::End(conn, Side::Home));
            reads.push(agenda.place(slot, Instant::from_millis(ms)));
        }
        let mut order = Vec::new();
        while reads.first() != Order::NEVER {
            order.push(agenda.actor::<HostActor>(reads.first()));
            reads.skip();
        }
        assert_eq!(order, [0, 3, 2, 1, 4].map(|conn| HostActor::End(conn, Side::Home)));
    }
}
