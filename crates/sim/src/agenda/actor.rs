//! The actors of the agenda, their ranks, and the codes that identify them in keys.

use std::marker::PhantomData;

use aqmlab_core::Side;

use super::tree::Tree;
use super::wheel::Wheel;
use super::{Agenda, Place, SLOT_MASK};

/// A part of the network that the agenda calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkActor {
    /// A link that becomes free while packets are queued.
    Link(u32),
    /// A delay line when its first packet arrives.
    Line(u32),
    /// A medium on which an exchange begins or ends.
    Medium(u32),
}

/// A part of a host, or the sampler, that the agenda calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostActor {
    /// An application at a wake-up, its start or its stop.
    App(u32),
    /// One end of a connection, when a timer may have expired.
    End(u32, Side),
    /// The sampler of sender and queue state.
    Sampler,
}

/// The numbers that identify an actor of type `A` in the agenda.
#[derive(Debug)]
pub(crate) struct Slot<A> {
    /// The actor's leaf in the queue of its rank.
    pub(super) index: u32,
    /// The actor's code in keys.
    pub(super) code: u32,
    rank: PhantomData<A>,
}

// `derive` would require `A: Copy`.
impl<A> Clone for Slot<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Slot<A> {}

/// A queue of the actors of a rank, which finds the actor with the least key.
///
/// A key holds the time in its upper half, and the ticket and the actor in its lower half. One
/// comparison of keys therefore orders two calls.
pub(crate) trait Queue: std::fmt::Debug {
    /// Returns a queue without requests.
    fn new() -> Self;
    /// Returns the least key.
    fn least(&self) -> u128;
    /// Returns the key of leaf `index`.
    fn key(&self, index: usize) -> u128;
    /// Sets the key of leaf `index`. Returns whether the least key may have changed.
    fn set(&mut self, index: usize, key: u128) -> bool;
    /// Adds leaves, if necessary, so that there is a leaf `index`. All leaves before it must exist.
    fn make_room(&mut self, index: usize);
}

/// A type of actors, all of the same rank.
pub(crate) trait Actor: Copy {
    /// The queue that orders the calls of the actors of this type.
    type Queue: Queue;
    /// Returns the actors of this type.
    fn rank(agenda: &Agenda) -> &Rank<Self>;
    /// Returns the actors of this type, for changes.
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self>;
    /// Returns the code that identifies the actor at leaf `index` in keys.
    fn code(self, index: u32) -> u32;
    /// Returns the actor with this code.
    fn with_code(code: u32, rank: &Rank<Self>) -> Self;
    /// Updates the places that the agenda derives from the queue of this type.
    fn on_change(agenda: &mut Agenda);
}

/// The code has the kind of the actor in its two lowest bits, and then its number, so that the next
/// actor is found without a table.
impl Actor for NetworkActor {
    type Queue = Tree;

    #[inline]
    fn rank(agenda: &Agenda) -> &Rank<Self> {
        &agenda.network
    }

    #[inline]
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self> {
        &mut agenda.network
    }

    fn code(self, _index: u32) -> u32 {
        match self {
            Self::Link(link) => link << 2,
            Self::Line(line) => line << 2 | 1,
            Self::Medium(medium) => medium << 2 | 2,
        }
    }

    #[inline]
    fn with_code(code: u32, _rank: &Rank<Self>) -> Self {
        match code & 3 {
            0 => Self::Link(code >> 2),
            1 => Self::Line(code >> 2),
            _ => Self::Medium(code >> 2),
        }
    }

    #[inline]
    fn on_change(_agenda: &mut Agenda) {}
}

/// The code is the number of the leaf.
impl Actor for HostActor {
    type Queue = Wheel;

    #[inline]
    fn rank(agenda: &Agenda) -> &Rank<Self> {
        &agenda.hosts
    }

    #[inline]
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self> {
        &mut agenda.hosts
    }

    fn code(self, index: u32) -> u32 {
        index
    }

    #[inline]
    fn with_code(code: u32, rank: &Rank<Self>) -> Self {
        rank.actors[code as usize]
    }

    #[inline]
    fn on_change(agenda: &mut Agenda) {
        agenda.first_of_hosts = Place(agenda.hosts.queue.least()).min(agenda.reads.first());
    }
}

/// The actors of one rank.
#[derive(Debug)]
pub(crate) struct Rank<A: Actor> {
    pub(super) queue: A::Queue,
    /// The actors, by leaf.
    actors: Vec<A>,
    /// The leaves that were freed.
    vacant: Vec<u32>,
}

impl<A: Actor> Rank<A> {
    pub(super) fn new() -> Self {
        Self { queue: A::Queue::new(), actors: Vec::new(), vacant: Vec::new() }
    }

    /// Assigns a leaf to an actor; see [`Agenda::register`].
    pub(super) fn join(&mut self, actor: A) -> Slot<A> {
        let index = self.vacant.pop().unwrap_or(self.actors.len() as u32);
        let code = actor.code(index);
        assert!(
            u64::from(code) <= SLOT_MASK,
            "an agenda has room for 2^20 actors of hosts, and for 2^18 links, lines and media each"
        );
        self.queue.make_room(index as usize);
        match self.actors.get_mut(index as usize) {
            Some(former) => *former = actor,
            None => self.actors.push(actor),
        }
        Slot { index, code, rank: PhantomData }
    }

    /// Frees the leaf of a slot. The slot has no request.
    pub(super) fn leave(&mut self, slot: Slot<A>) {
        self.vacant.push(slot.index);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use aqmlab_core::Instant;

    use super::*;

    #[test]
    fn the_place_of_a_call_states_the_actor() {
        let mut agenda = Agenda::new();
        let last = SLOT_MASK as u32 >> 2;
        for number in [0, 1, last] {
            for kind in [NetworkActor::Link, NetworkActor::Line, NetworkActor::Medium] {
                let actor = kind(number);
                let slot = agenda.register(actor);
                let place = agenda.place(slot, Instant::from_millis(1));
                assert_eq!(agenda.actor::<NetworkActor>(place), actor);
            }
        }
        for actor in [HostActor::Sampler, HostActor::App(7), HostActor::End(1 << 30, Side::Wan)] {
            let slot = agenda.register(actor);
            let place = agenda.place(slot, Instant::from_millis(1));
            assert_eq!(agenda.actor::<HostActor>(place), actor);
        }
    }

    #[test]
    fn an_actor_without_a_code_is_refused() {
        let mut agenda = Agenda::new();
        let mut is_refused = |register: &dyn Fn(&mut Agenda)| {
            catch_unwind(AssertUnwindSafe(|| register(&mut agenda))).is_err()
        };
        for kind in [NetworkActor::Link, NetworkActor::Line, NetworkActor::Medium] {
            assert!(!is_refused(&|agenda| _ = agenda.register(kind((1 << 18) - 1))));
            assert!(is_refused(&|agenda| _ = agenda.register(kind(1 << 18))));
        }
        for app in 0..1 << 20 {
            assert!(!is_refused(&|agenda| _ = agenda.register(HostActor::App(app))), "{app}");
        }
        assert!(is_refused(&|agenda| _ = agenda.register(HostActor::Sampler)));
    }

    #[test]
    fn a_freed_leaf_goes_to_the_next_actor() {
        let mut agenda = Agenda::new();
        let [first, second] = [0, 1].map(|app| agenda.register(HostActor::App(app)));
        agenda.set(first, Instant::from_millis(1));
        agenda.leave(first);
        let next = agenda.register(HostActor::App(2));
        assert_eq!((next.index, next.code), (first.index, first.code));
        assert_eq!(agenda.due(next), Instant::NEVER, "the request of the former actor is gone");
        agenda.set(second, Instant::from_millis(3));
        agenda.set(next, Instant::from_millis(2));
        assert_eq!(agenda.actor::<HostActor>(agenda.first_of_hosts()), HostActor::App(2));
        assert_eq!(agenda.register(HostActor::App(3)).index, 2, "no other leaf was freed");
    }
}
