//! The wake-ups of applications. Most calls of the ends of connections are wake-ups.
//!
//! An application wakes shortly after data has arrived, and reads. Wake-ups have places in the
//! order of all calls, but they are stored in a queue and not in the agenda. All hosts with the
//! same profile have the same wake-up latency, so a new wake-up usually belongs at the end of the
//! queue.

use aqmlab_core::{Ring, Side};

use crate::agenda::Order;

/// A call of one end of a connection at a wake-up of its application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) place: Order,
    pub(crate) conn: u32,
    pub(crate) side: Side,
}

impl Default for Call {
    fn default() -> Self {
        Self { place: Order::NEVER, conn: 0, side: Side::Home }
    }
}

/// The pending wake-ups, in order.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    waiting: Ring<Call>,
}

impl Reads {
    /// Adds a wake-up.
    #[inline]
    pub(crate) fn push(&mut self, call: Call) {
        if self.waiting.back().is_none_or(|last| last.place < call.place) {
            self.waiting.push(call);
        } else {
            self.insert(call);
        }
    }

    /// Inserts a wake-up that does not belong at the end.
    #[cold]
    fn insert(&mut self, call: Call) {
        let index = self.waiting.iter().take_while(|other| other.place < call.place).count();
        self.waiting.insert(index, call);
    }

    /// Returns the place of the first wake-up, or [`Order::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Order {
        self.waiting.front().map_or(Order::NEVER, |call| call.place)
    }

    /// Removes and returns the first wake-up, if there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Call> {
        self.waiting.pop_place().copied()
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Instant;

    use super::*;
    use crate::agenda::{Agenda, HostActor};

    #[test]
    fn reads_of_hosts_that_wake_at_different_speeds_are_in_order() {
        let mut agenda = Agenda::new();
        let slot = agenda.register(HostActor::End(0, Side::Home));
        let mut reads = Reads::default();
        for (conn, ms) in [(0, 5), (1, 7), (2, 6), (3, 5), (4, 9)] {
            let place = agenda.place(slot, Instant::from_millis(ms));
            reads.push(Call { place, conn, side: Side::Home });
        }
        let order: Vec<_> = std::iter::from_fn(|| reads.pop()).map(|call| call.conn).collect();
        assert_eq!(order, [0, 3, 2, 1, 4]);
    }
}
