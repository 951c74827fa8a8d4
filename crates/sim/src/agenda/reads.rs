//! The reads of applications, which are most calls of the ends of connections.
//!
//! A *read* is the call of an end at which its application wakes, shortly after data has arrived.
//! At such a call, the application may also learn that its connection is open or that the send
//! buffer has space. Reads have places in the order of all calls, but the agenda stores them in a
//! queue of their own. All hosts with the same profile have the same wake-up latency, so a new read
//! usually belongs at the end of the queue.

use aqmlab_core::Ring;

use super::Place;

/// The places of the pending reads, in order.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    waiting: Ring<Place>,
}

impl Reads {
    /// Adds a read at `place`.
    #[inline]
    pub(crate) fn push(&mut self, place: Place) {
        if self.waiting.back().is_none_or(|last| *last < place) {
            self.waiting.push(place);
        } else {
            self.insert(place);
        }
    }

    /// Inserts a read that does not belong at the end.
    #[cold]
    fn insert(&mut self, place: Place) {
        let index = self.waiting.iter().take_while(|other| **other < place).count();
        self.waiting.insert(index, place);
    }

    /// Returns the place of the first read, or [`Place::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Place {
        self.waiting.front().copied().unwrap_or(Place::NEVER)
    }

    /// Removes the first read, if there is one.
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
        while reads.first() != Place::NEVER {
            order.push(agenda.actor::<HostActor>(reads.first()));
            reads.skip();
        }
        assert_eq!(order, [0, 3, 2, 1, 4].map(|conn| HostActor::End(conn, Side::Home)));
    }
}
