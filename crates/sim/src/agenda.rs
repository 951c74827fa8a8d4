//! The agenda: it determines the order in which actors are called.
//!
//! Anything that can cause an event (a link, a propagation delay, an application, a TCP) is an
//! *actor*. An actor has at most one entry in the agenda, with the time of its next call. The
//! agenda's size is therefore the number of actors, not of packets, and changing a time leaves no
//! stale entry.
//!
//! The actors have two ranks. Links and lines are few, and are called for every packet. Hosts may
//! be many, and are called rarely. Each rank has its own tree, so that a link's path to the root
//! does not grow with the number of connections.
//!
//! A tree is a tournament tree: every inner node holds the smallest key of its four children. A
//! change of a time repeats the comparisons on the path to the root, up to the first node whose key
//! stays the same. No other node changes.

use std::marker::PhantomData;

use aqmlab_core::{Instant, Side};

/// The number of bits of a key that identify the actor. The rest of the key's lower half is the
/// ticket.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// The key of an actor without a request.
const NEVER: u128 = u128::MAX;

/// A place in the order of calls: the time and, among calls at one time, the order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u128);

impl Order {
    /// The place after all calls.
    pub(crate) const NEVER: Self = Self(NEVER);

    /// Returns the time of the call.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    /// Returns the index of the actor among the actors of its rank.
    #[inline]
    const fn index(self) -> usize {
        (self.0 as u64 & SLOT_MASK) as usize
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

/// The number that identifies an actor of type `A` in the agenda.
#[derive(Debug)]
pub(crate) struct Slot<A> {
    index: u32,
    rank: PhantomData<A>,
}

// `derive` would require `A: Copy`.
impl<A> Clone for Slot<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Slot<A> {}

impl<A> Slot<A> {
    /// Returns the slot of the actor that was the `index`-th to register.
    pub(crate) const fn new(index: u32) -> Self {
        Self { index, rank: PhantomData }
    }
}

/// A type of actors, all of the same rank.
pub(crate) trait Actor: Copy {
    /// Returns the actors of this type.
    fn rank(agenda: &Agenda) -> &Rank<Self>;
    /// Returns the actors of this type.
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self>;
}

impl Actor for NetworkActor {
    #[inline]
    fn rank(agenda: &Agenda) -> &Rank<Self> {
        &agenda.network
    }

    #[inline]
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self> {
        &mut agenda.network
    }
}

impl Actor for HostActor {
    #[inline]
    fn rank(agenda: &Agenda) -> &Rank<Self> {
        &agenda.hosts
    }

    #[inline]
    fn rank_mut(agenda: &mut Agenda) -> &mut Rank<Self> {
        &mut agenda.hosts
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
    tickets: u64,
}

impl Agenda {
    /// Returns an agenda without actors.
    pub(crate) fn new() -> Self {
        Self { network: Rank::new(), hosts: Rank::new(), tickets: 0 }
    }

    /// Assigns a slot to an actor, and returns the slot. The actor has no request yet.
    ///
    /// # Panics
    ///
    /// If there are already 2²⁰ actors of the same rank.
    pub(crate) fn register<A: Actor>(&mut self, actor: A) -> Slot<A> {
        A::rank_mut(self).join(actor)
    }

    /// Withdraws the request of a slot, and frees the slot.
    pub(crate) fn leave<A: Actor>(&mut self, slot: Slot<A>) {
        self.clear(slot);
        A::rank_mut(self).vacant.push(slot);
    }

    /// Returns the actor that is called at `place`.
    #[inline]
    pub(crate) fn actor<A: Actor>(&self, place: Order) -> A {
        A::rank(self).actors[place.index()]
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

    /// Returns the place of the next call of an actor of type `A`, or [`Order::NEVER`]. The request
    /// remains until it is changed or cleared.
    #[inline]
    pub(crate) fn first<A: Actor>(&self) -> Order {
        Order(A::rank(self).tree.least)
    }
}

/// Returns the place of a call of `slot` at `at` with this ticket.
#[inline]
fn key<A>(slot: Slot<A>, at: Instant, ticket: u64) -> Order {
    let lower = ticket << SLOT_BITS | u64::from(slot.index);
    Order(u128::from(at.as_nanos()) << 64 | u128::from(lower))
}

/// The actors of one rank.
#[derive(Debug)]
pub(crate) struct Rank<A> {
    tree: Tree,
    /// The actors, by slot.
    actors: Vec<A>,
    /// The slots that were freed.
    vacant: Vec<Slot<A>>,
}

impl<A> Rank<A> {
    const fn new() -> Self {
        Self { tree: Tree::new(), actors: Vec::new(), vacant: Vec::new() }
    }

    fn join(&mut self, actor: A) -> Slot<A> {
        if let Some(slot) = self.vacant.pop() {
            self.actors[slot.index as usize] = actor;
            return slot;
        }
        let index = self.actors.len();
        assert!(index as u64 <= SLOT_MASK, "more than {} actors of a rank", SLOT_MASK + 1);
        self.tree.make_room(index);
        self.actors.push(actor);
        Slot::new(index as u32)
    }
}

/// The keys of four siblings. They fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Quad([u128; 4]);

impl Quad {
    const NEVER: Self = Self([NEVER; 4]);

    #[inline]
    fn least(&self) -> u128 {
        let [a, b, c, d] = self.0;
        a.min(b).min(c.min(d))
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
            quad.0[below % 4] = least;
            least = quad.least();
        }
        // The node is below 4. The remainder states this to the compiler.
        self.root.0[node % 4] = least;
        self.least = self.root.least();
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
        let place = Some(agenda.first::<NetworkActor>()).filter(|place| *place != Order::NEVER)?;
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
                let time = agenda.first::<NetworkActor>().time();
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
        assert!(agenda.first::<NetworkActor>() < agenda.first::<HostActor>());
        agenda.set(links[2], Instant::from_millis(5));
        assert!(agenda.first::<NetworkActor>() > agenda.first::<HostActor>());
        agenda.leave(app);
        assert_eq!(agenda.first::<HostActor>(), Order::NEVER);
        assert_eq!(first_link(&agenda), Some(2));
    }
}
