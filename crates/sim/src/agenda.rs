//! The agenda: it determines the order in which actors are called.
//!
//! Anything that can cause an event (a link, a propagation delay, an application, a TCP) is an
//! *actor*. An actor has at most one entry in the agenda's trees, with the time of its next call.
//! The size of the trees is therefore the number of actors, not of packets, and changing a time
//! leaves no stale entry.
//!
//! The actors have two ranks. Links and lines are few, and are called for every packet. Hosts may
//! be many, and are called rarely. Each rank has its own tree, so that a link's path to the root
//! does not grow with the number of connections. The wake-ups of applications are in a queue beside
//! the tree of the hosts, because most calls of the ends of connections are wake-ups. A wake-up
//! that was replaced stays in the queue and has no effect.
//!
//! A tree is a tournament tree: every inner node holds the smallest key of its four children. A
//! change of a time repeats the comparisons on the path to the root, up to the first node whose key
//! stays the same. No other node changes.

use std::marker::PhantomData;

use aqmlab_core::{Instant, Side};

use crate::reads::Reads;

/// The number of bits of a key that identify the actor. The rest of the key's lower half is the
/// ticket.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// The key of an actor without a request.
const NEVER: u128 = u128::MAX;

/// A place in the order of calls: the time and, among calls at one time, the order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u128);

impl Default for Order {
    fn default() -> Self {
        Self::NEVER
    }
}

impl Order {
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
    /// The actor's leaf in the tree of its rank.
    index: u32,
    /// The actor's code in keys.
    code: u32,
    rank: PhantomData<A>,
}

// `derive` would require `A: Copy`.
impl<A> Clone for Slot<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Slot<A> {}

/// A type of actors, all of the same rank.
pub(crate) trait Actor: Copy {
    /// Returns the actors of this type.
    fn rank(agenda: &Agenda) -> &Rank<Self>;
    /// Returns the actors of this type, for changes.
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self>;
    /// Returns the code that identifies the actor at leaf `index` in keys.
    fn code(self, index: u32) -> u32;
    /// Returns the actor with this code.
    fn with_code(code: u32, rank: &Rank<Self>) -> Self;
    /// Updates the places that the agenda derives from the tree of this type.
    fn on_change(agenda: &mut Agenda);
}

/// The code has the kind of the actor in its two lowest bits, and then its number, so that the next
/// actor is found without a table.
impl Actor for NetworkActor {
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
        agenda.first_of_hosts = Order(agenda.hosts.tree.least).min(agenda.reads.first());
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
    /// The pending wake-ups of applications.
    reads: Reads,
    /// The place of the first call of a host's actor or of the first wake-up.
    first_of_hosts: Order,
    tickets: u64,
}

impl Agenda {
    /// Returns an agenda without actors.
    pub(crate) fn new() -> Self {
        Self {
            network: Rank::new(),
            hosts: Rank::new(),
            reads: Reads::default(),
            first_of_hosts: Order::NEVER,
            tickets: 0,
        }
    }

    /// Assigns a slot to an actor, and returns the slot. The actor has no request yet.
    ///
    /// # Panics
    ///
    /// If there are already 2²⁰ hosts' actors, or 2¹⁸ actors of one kind in the network.
    pub(crate) fn register<A: Actor>(&mut self, actor: A) -> Slot<A> {
        A::rank_mut(self).join(actor)
    }

    /// Withdraws the request of a slot, and frees the slot.
    pub(crate) fn leave<A: Actor>(&mut self, slot: Slot<A>) {
        self.clear(slot);
        A::rank_mut(self).vacant.push(slot.index);
    }

    /// Returns the actor that is called at `place`.
    #[inline]
    pub(crate) fn actor<A: Actor>(&self, place: Order) -> A {
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
    pub(crate) fn place<A: Actor>(&mut self, slot: Slot<A>, at: Instant) -> Order {
        let ticket = self.ticket();
        key(slot, at, ticket)
    }

    /// Requests a call of `slot` at a place that [`Self::place`] returned for it. [`Order::NEVER`]
    /// withdraws the request.
    #[inline]
    pub(crate) fn set_at<A: Actor>(&mut self, slot: Slot<A>, place: Order) {
        A::rank_mut(self).tree.replay(slot.index as usize, place.0);
        A::on_change(self);
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
        self.set_at(slot, key(slot, at, ticket));
    }

    /// Withdraws the request of `slot`, if any.
    #[inline]
    pub(crate) fn clear<A: Actor>(&mut self, slot: Slot<A>) {
        self.set_at(slot, Order::NEVER);
    }

    /// Returns the time of the next call of `slot`, or [`Instant::NEVER`].
    pub(crate) fn due<A: Actor>(&self, slot: Slot<A>) -> Instant {
        Order(A::rank(self).tree.key(slot.index as usize)).time()
    }

    /// Requests a wake-up at `place`, which [`Self::place`] returned for the end that wakes.
    #[inline]
    pub(crate) fn wake_up(&mut self, place: Order) {
        self.first_of_hosts = self.first_of_hosts.min(place);
        self.reads.push(place);
    }

    /// Removes the wake-up at `place`, which must be the first place of the hosts. Returns false if
    /// it is not a wake-up.
    #[inline]
    pub(crate) fn take_wake_up(&mut self, place: Order) -> bool {
        if place.0 == self.hosts.tree.least {
            return false;
        }
        self.reads.skip();
        HostActor::on_change(self);
        true
    }

    /// Returns the place of the next call of the network, or [`Order::NEVER`]. The request remains
    /// until it is changed or cleared.
    #[inline]
    pub(crate) const fn first_of_network(&self) -> Order {
        Order(self.network.tree.least)
    }

    /// Returns the place of the next call of a host's actor, or of the next wake-up if it is
    /// earlier. Returns [`Order::NEVER`] if there is neither. The request remains until it is
    /// changed or cleared, or the wake-up is taken.
    #[inline]
    pub(crate) const fn first_of_hosts(&self) -> Order {
        self.first_of_hosts
    }
}

/// Returns the place of a call of `slot` at `at` with this ticket.
#[inline]
fn key<A>(slot: Slot<A>, at: Instant, ticket: u64) -> Order {
    let lower = ticket << SLOT_BITS | u64::from(slot.code);
    Order(u128::from(at.as_nanos()) << 64 | u128::from(lower))
}

/// The actors of one rank.
#[derive(Debug)]
pub(crate) struct Rank<A> {
    tree: Tree,
    /// The actors, by leaf.
    actors: Vec<A>,
    /// The leaves that were freed.
    vacant: Vec<u32>,
}

impl<A> Rank<A> {
    const fn new() -> Self {
        Self { tree: Tree::new(), actors: Vec::new(), vacant: Vec::new() }
    }
}

impl<A: Actor> Rank<A> {
    fn join(&mut self, actor: A) -> Slot<A> {
        let index = self.vacant.pop().unwrap_or(self.actors.len() as u32);
        let code = actor.code(index);
        assert!(u64::from(code) <= SLOT_MASK, "more than {} actors of a rank", SLOT_MASK + 1);
        self.tree.make_room(index as usize);
        match self.actors.get_mut(index as usize) {
            Some(former) => *former = actor,
            None => self.actors.push(actor),
        }
        Slot { index, code, rank: PhantomData }
    }
}

/// The keys of four siblings. They fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Quad([u128; 4]);

impl Quad {
    const NEVER: Self = Self([NEVER; 4]);

    /// Replaces the key at `place`, and returns the least of the four keys.
    ///
    /// The comparison gets the new key from its register. If it read the key from the quad, it
    /// would wait for the key to be written, which took 12 % of the time of a run.
    #[inline]
    fn replace(&mut self, place: usize, key: u128) -> u128 {
        let present = |at: usize| if at == place { key } else { self.0[at] };
        let least = present(0).min(present(1)).min(present(2).min(present(3)));
        self.0[place] = key;
        least
    }
}

/// The tournament tree for the actors of one rank.
///
/// A key holds the time in its upper half, and the ticket and the actor in its lower half. One
/// comparison of keys therefore orders two calls.
#[derive(Debug)]
struct Tree {
    /// The keys of the four children of the root. Up to four actors need no other quad.
    root: Quad,
    /// The quads of the other inner nodes: `lower[n]` holds the keys of the children of node `n`,
    /// which are the nodes from `4n + 4` on. The nodes 0 to 3 are the children of the root. The
    /// actors are the nodes without a quad.
    lower: Vec<Quad>,
    /// The key of the root.
    least: u128,
}

impl Tree {
    const fn new() -> Self {
        Self { root: Quad::NEVER, lower: Vec::new(), least: NEVER }
    }

    /// Returns the key of the actor with this index.
    fn key(&self, index: usize) -> u128 {
        let node = self.lower.len() + index;
        match node.checked_sub(4) {
            None => self.root.0[node],
            Some(below) => self.lower[below / 4].0[below % 4],
        }
    }

    /// Sets the key of an actor. Repeats the comparisons on the path to the root, up to the first
    /// node whose key stays the same.
    #[inline]
    fn replay(&mut self, index: usize, key: u128) {
        let (mut node, mut least) = (self.lower.len() + index, key);
        while let Some(below) = node.checked_sub(4) {
            node = below / 4;
            let quad = &mut self.lower[node];
            if quad.0[below % 4] == least {
                return;
            }
            least = quad.replace(below % 4, least);
        }
        // The node is below 4. The remainder states this to the compiler.
        self.least = self.root.replace(node % 4, least);
    }

    /// Adds levels of inner nodes until there is a leaf for the actor with this index.
    fn make_room(&mut self, index: usize) {
        // A tree of `n` quads below the root has `3n + 4` leaves.
        while index >= 3 * self.lower.len() + 4 {
            let keys: Vec<_> = (0..index).map(|index| self.key(index)).collect();
            self.root = Quad::NEVER;
            self.lower = vec![Quad::NEVER; 4 * self.lower.len() + 4];
            for (index, key) in keys.into_iter().enumerate() {
                self.replay(index, key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    /// Returns an agenda with `count` links, and the links' slots.
    fn links(count: u32) -> (Agenda, Vec<Slot<NetworkActor>>) {
        let mut agenda = Agenda::new();
        let slots = (0..count).map(|i| agenda.register(NetworkActor::Link(i))).collect();
        (agenda, slots)
    }

    /// Returns the number of the link to be called first, if there is one.
    fn first_link(agenda: &Agenda) -> Option<u32> {
        let place = Some(agenda.first_of_network()).filter(|place| *place != Order::NEVER)?;
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
        assert_eq!(agenda.first_of_hosts(), Order::NEVER);
        assert_eq!(first_link(&agenda), Some(2));
    }
}
