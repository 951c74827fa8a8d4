//! The agenda: it determines the order in which actors are called.
//!
//! The order is that of the calls' times. Calls at one time are in the order of their requests.
//!
//! Anything that can cause an event (a link, a propagation delay, an application, a TCP) is an
//! *actor*. An actor has at most one entry in the agenda, with the time of its next call. The size
//! of the agenda is therefore the number of actors, not of packets. Only a read is not an entry: an
//! end of a connection may have both an entry and a read.
//!
//! The actors have two ranks. Links and lines are few, and are called for every packet. Hosts may
//! be many, and are called rarely. Links and lines are in a tree, and hosts in a timer wheel. The
//! reads of applications are in a queue beside the wheel, because most calls of the ends of
//! connections are reads. A read that was replaced stays in the queue and has no effect.
//!
//! `agenda/actor.rs` defines the actors and their ranks, `agenda/tree.rs` the tree,
//! `agenda/wheel.rs` the wheel, and `agenda/reads.rs` the queue of reads.

mod actor;
mod reads;
mod tree;
mod wheel;

use aqmlab_core::Instant;
use aqmlab_core::hint::rare;

use self::actor::{Actor, Queue, Rank};
pub(crate) use self::actor::{HostActor, NetworkActor, Slot};
use self::reads::Reads;

/// The number of bits of a key that identify the actor. The rest of the key's lower half is the
/// ticket.
const SLOT_BITS: u32 = 20;
/// The bits of a key that identify the actor.
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

/// The key of an actor without a request.
const NEVER: u128 = u128::MAX;

/// A place in the order of calls: the time and, among calls at one time, the order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u128);

impl Default for Place {
    fn default() -> Self {
        Self::NEVER
    }
}

impl Place {
    /// The place after all calls.
    pub(crate) const NEVER: Self = Self(NEVER);

    /// Returns the time of the call.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    /// Returns the code of the actor; see [`Actor::code`].
    #[inline]
    const fn code(self) -> u32 {
        (self.0 as u64 & SLOT_MASK) as u32
    }
}

/// A set of actors, each of which has at most one time. Calls are in order of time and, at equal
/// times, in order of the requests.
///
/// This rule makes the order total. Together with integer times and named random streams, it makes
/// runs deterministic.
#[derive(Debug)]
pub(crate) struct Agenda {
    network: Rank<NetworkActor>,
    hosts: Rank<HostActor>,
    /// The pending reads of applications.
    reads: Reads,
    /// The place of the first call of a host's actor or of the first read.
    first_of_hosts: Place,
    tickets: u64,
}

impl Agenda {
    /// Returns an agenda without actors.
    pub(crate) fn new() -> Self {
        Self {
            network: Rank::new(),
            hosts: Rank::new(),
            reads: Reads::default(),
            first_of_hosts: Place::NEVER,
            tickets: 0,
        }
    }

    /// Assigns a slot to an actor, and returns the slot. The actor has no request yet.
    ///
    /// # Panics
    ///
    /// If the actor belongs to a host and 2²⁰ such actors have slots, or if the actor is a link, a
    /// line or a medium whose number is not below 2¹⁸.
    pub(crate) fn register<A: Actor>(&mut self, actor: A) -> Slot<A> {
        A::rank_mut(self).join(actor)
    }

    /// Withdraws the request of a slot, and frees the slot.
    pub(crate) fn leave<A: Actor>(&mut self, slot: Slot<A>) {
        self.clear(slot);
        A::rank_mut(self).leave(slot);
    }

    /// Returns the actor that is called at `place`.
    #[inline]
    pub(crate) fn actor<A: Actor>(&self, place: Place) -> A {
        A::with_code(place.code(), A::rank(self))
    }

    /// Returns a new ticket. Calls at one time are in order of their tickets.
    #[inline]
    pub(crate) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Returns the place of a call of `slot` at `at`, after all earlier requests for that time.
    #[inline]
    pub(crate) fn place<A: Actor>(&mut self, slot: Slot<A>, at: Instant) -> Place {
        let ticket = self.ticket();
        place_of(slot, at, ticket)
    }

    /// Requests a call of `slot` at a place that [`Self::place`] returned for it. [`Place::NEVER`]
    /// withdraws the request.
    #[inline]
    pub(crate) fn set_at<A: Actor>(&mut self, slot: Slot<A>, place: Place) {
        if A::rank_mut(self).queue.set(slot.index as usize, place.0) {
            A::on_change(self);
        }
    }

    /// Requests a call of `slot` at `at`, after all earlier requests for that time.
    #[inline]
    pub(crate) fn set<A: Actor>(&mut self, slot: Slot<A>, at: Instant) {
        let ticket = self.ticket();
        self.set_with(slot, at, ticket);
    }

    /// Requests a call of `slot` at `at`, with a ticket taken earlier.
    #[inline]
    pub(crate) fn set_with<A: Actor>(&mut self, slot: Slot<A>, at: Instant, ticket: u64) {
        self.set_at(slot, place_of(slot, at, ticket));
    }

    /// Withdraws the request of `slot`, if any.
    #[inline]
    pub(crate) fn clear<A: Actor>(&mut self, slot: Slot<A>) {
        self.set_at(slot, Place::NEVER);
    }

    /// Returns the time of the next call of `slot`, or [`Instant::NEVER`].
    pub(crate) fn due<A: Actor>(&self, slot: Slot<A>) -> Instant {
        Place(A::rank(self).queue.key(slot.index as usize)).time()
    }

    /// Requests a read at `place`, which [`Self::place`] returned for the end that reads.
    #[inline]
    pub(crate) fn request_read(&mut self, place: Place) {
        self.first_of_hosts = self.first_of_hosts.min(place);
        self.reads.push(place);
    }

    /// Removes the read at `place`, which must be the first place of the hosts. Returns false if
    /// the call at `place` is not a read.
    #[inline]
    pub(crate) fn take_read(&mut self, place: Place) -> bool {
        if place.0 == self.hosts.queue.least() {
            rare();
            return false;
        }
        self.reads.skip();
        HostActor::on_change(self);
        true
    }

    /// Returns the place of the next call of the network, or [`Place::NEVER`]. The request remains
    /// until it is changed or cleared.
    #[inline]
    pub(crate) fn first_of_network(&self) -> Place {
        Place(self.network.queue.least())
    }

    /// Returns the place of the next call of a host's actor, or of the next read if it is
    /// earlier. Returns [`Place::NEVER`] if there is neither. The request remains until it is
    /// changed or cleared, or the read is taken.
    #[inline]
    pub(crate) const fn first_of_hosts(&self) -> Place {
        self.first_of_hosts
    }
}

/// Returns the place of a call of `slot` at `at` with this ticket.
#[inline]
fn place_of<A>(slot: Slot<A>, at: Instant, ticket: u64) -> Place {
    let lower = ticket << SLOT_BITS | u64::from(slot.code);
    Place(u128::from(at.as_nanos()) << 64 | u128::from(lower))
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Rng, Side};

    use super::*;

    /// Returns an agenda with `count` links, and the links' slots.
    fn links(count: u32) -> (Agenda, Vec<Slot<NetworkActor>>) {
        let mut agenda = Agenda::new();
        let slots = (0..count).map(|i| agenda.register(NetworkActor::Link(i))).collect();
        (agenda, slots)
    }

    /// Returns the number of the link to be called first, if there is one.
    fn first_link(agenda: &Agenda) -> Option<u32> {
        let place = Some(agenda.first_of_network()).filter(|place| *place != Place::NEVER)?;
        match agenda.actor(place) {
            NetworkActor::Link(link) => Some(link),
            other => panic!("{other:?} was not registered"),
        }
    }

    #[test]
    fn equal_times_are_served_in_the_order_of_asking() {
        let (mut agenda, slots) = links(20);
        for &index in &[3, 17, 0, 9, 12] {
            agenda.set(slots[index], Instant::from_millis(5));
        }
        agenda.set(slots[19], Instant::from_millis(2));
        let mut served = Vec::new();
        while let Some(link) = first_link(&agenda) {
            served.push(link);
            agenda.clear(slots[link as usize]);
        }
        assert_eq!(served, [19, 3, 17, 0, 9, 12]);
    }

    #[test]
    fn it_always_serves_the_least_of_what_a_plain_list_holds() {
        for count in [1, 4, 5, 20, 21, 100] {
            let mut rng = Rng::stream(1, "agenda");
            let (mut agenda, slots) = links(count);
            let mut list = vec![None; count as usize];
            for ticket in 1..20_000_u64 {
                let index = rng.below(count.into()) as usize;
                if rng.below(3) == 0 {
                    agenda.clear(slots[index]);
                    list[index] = None;
                    agenda.ticket();
                } else {
                    let at = rng.below(100);
                    agenda.set(slots[index], Instant::from_nanos(at));
                    list[index] = Some((at, ticket));
                }
                let times = list.iter().enumerate().filter_map(|(i, key)| key.map(|key| (key, i)));
                let want = times.min();
                let time = agenda.first_of_network().time();
                assert_eq!(first_link(&agenda), want.map(|(_, link)| link as u32), "{count} links");
                assert_eq!(time.as_nanos(), want.map_or(u64::MAX, |((at, _), _)| at));
            }
        }
    }

    #[test]
    fn the_ranks_share_their_tickets_and_nothing_else() {
        let (mut agenda, links) = links(3);
        let app = agenda.register(HostActor::App(0));
        agenda.set(links[2], Instant::from_millis(5));
        agenda.set(app, Instant::from_millis(5));
        assert!(agenda.first_of_network() < agenda.first_of_hosts());
        agenda.set(links[2], Instant::from_millis(5));
        assert!(agenda.first_of_network() > agenda.first_of_hosts());
        agenda.leave(app);
        assert_eq!(agenda.first_of_hosts(), Place::NEVER);
        assert_eq!(first_link(&agenda), Some(2));
    }

    #[test]
    fn a_read_is_taken_at_its_place_among_the_calls_of_hosts() {
        let mut agenda = Agenda::new();
        let [first, second] = [0, 1].map(|conn| agenda.register(HostActor::End(conn, Side::Home)));
        agenda.set(first, Instant::from_millis(5));
        let later = agenda.place(second, Instant::from_millis(5));
        agenda.request_read(later);
        let entry = agenda.first_of_hosts();
        assert!(entry < later, "the entry was requested first");
        assert!(!agenda.take_read(entry), "the first call is no read");
        assert_eq!(agenda.first_of_hosts(), entry, "nothing was taken");
        let earlier = agenda.place(second, Instant::from_millis(4));
        agenda.request_read(earlier);
        assert_eq!(agenda.first_of_hosts(), earlier);
        assert!(agenda.take_read(earlier));
        assert_eq!(agenda.first_of_hosts(), entry);
        agenda.clear(first);
        assert_eq!(agenda.first_of_hosts(), later);
        assert!(agenda.take_read(later));
        assert_eq!(agenda.first_of_hosts(), Place::NEVER);
    }

    /// Tests that the read of an actor that left stays, with the code of the actor that has the
    /// slot since. The caller therefore compares places, and not only actors.
    #[test]
    fn the_read_of_a_freed_slot_states_the_next_actor_of_the_slot() {
        let mut agenda = Agenda::new();
        let former = agenda.register(HostActor::End(0, Side::Home));
        let stale = agenda.place(former, Instant::from_millis(5));
        agenda.request_read(stale);
        agenda.leave(former);
        assert_eq!(agenda.first_of_hosts(), stale);
        let next = agenda.register(HostActor::End(1, Side::Wan));
        let own = agenda.place(next, Instant::from_millis(5));
        agenda.request_read(own);
        for (place, what) in [(stale, "the former actor"), (own, "the next actor")] {
            assert_eq!(agenda.first_of_hosts(), place, "the read of {what}");
            assert_eq!(agenda.actor::<HostActor>(place), HostActor::End(1, Side::Wan));
            assert!(agenda.take_read(place), "the read of {what}");
        }
        assert_eq!(agenda.first_of_hosts(), Place::NEVER);
    }
}
