//! The agenda: it determines the order in which actors are called.
//!
//! Anything that can cause an event (a link, a propagation delay, an application, a TCP) is an
//! *actor*. An actor has at most one entry in the agenda, with the time of its next call. The
//! agenda's size is therefore the number of actors, not of packets, and changing a time leaves no
//! stale entry.
//!
//! The agenda is a tournament tree: every inner node holds the smallest key of its four children. A
//! change of a time repeats the comparisons on the path to the root, up to the first node whose key
//! stays the same. No other node changes.

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

    /// Returns the time and the actor of the call.
    #[inline]
    pub(crate) const fn call(self) -> (Instant, Slot) {
        (self.time(), Slot((self.0 as u64 & SLOT_MASK) as u32))
    }

    /// Returns the time of the call.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

/// The number that identifies an actor in the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

/// An actor: a part of the world that the agenda calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A link that becomes free while packets are queued.
    Link(u32),
    /// A delay line when its first packet arrives.
    Line(u32),
    /// A medium on which an exchange begins or ends.
    Medium(u32),
    /// An application at a wake-up, its start or its stop.
    App(u32),
    /// One end of a connection, when a timer may have expired.
    End(u32, Side),
    /// The sampler of sender and queue state.
    Sampler,
}

/// The group of an actor. Links and lines are few, and are called for every packet. Hosts may be
/// many, and are called rarely. Each group has its own tree, so that a link's path to the root does
/// not grow with the number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// Links, lines and media.
    Network,
    /// Applications, connections, the sampler.
    Host,
}

impl Actor {
    const fn rank(self) -> Rank {
        match self {
            Self::Link(_) | Self::Line(_) | Self::Medium(_) => Rank::Network,
            Self::App(_) | Self::End(..) | Self::Sampler => Rank::Host,
        }
    }
}

impl Slot {
    /// Returns the index of the actor's tree in [`Agenda::trees`].
    #[inline]
    const fn rank(self) -> usize {
        (self.0 % 2) as usize
    }

    /// Returns the actor's index among the actors of its rank.
    #[inline]
    const fn index(self) -> usize {
        (self.0 / 2) as usize
    }
}

/// A set of actors, each of which has at most one time. Calls are in order of time and, at equal
/// times, in order of the requests.
///
/// This rule makes the order total. Together with integer times and named random streams, it makes
/// runs deterministic.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The trees, by rank.
    trees: [Tree; 2],
    /// The actors, by slot.
    actors: Vec<Actor>,
    tickets: u64,
}

impl Agenda {
    /// Returns an agenda without actors.
    pub(crate) fn new() -> Self {
        let trees = [Tree::new(), Tree::new()];
        Self { trees, actors: Vec::new(), tickets: 0 }
    }

    /// Assigns a slot to an actor, and returns the slot. The actor has no request yet.
    ///
    /// # Panics
    ///
    /// If there are already 2¹⁹ actors of the same rank.
    pub(crate) fn register(&mut self, actor: Actor) -> Slot {
        let rank = actor.rank() as usize;
        let index = self.trees[rank].join();
        let slot = index * 2 + rank;
        assert!(slot as u64 <= SLOT_MASK, "more than {} actors of a rank", SLOT_MASK / 2);
        if slot >= self.actors.len() {
            // Slots of the other rank that are not yet assigned hold this actor in the meantime.
            self.actors.resize(slot + 1, actor);
        }
        self.actors[slot] = actor;
        Slot(slot as u32)
    }

    /// Returns the actor of a slot.
    #[inline]
    pub(crate) fn actor(&self, slot: Slot) -> Actor {
        self.actors[slot.0 as usize]
    }

    /// Withdraws the request of a slot, and frees the slot.
    pub(crate) fn leave(&mut self, slot: Slot) {
        self.clear(slot);
        self.trees[slot.rank()].vacant.push(slot.index());
    }

    /// Returns a new ticket. Calls at one time are in order of their tickets.
    #[inline]
    pub(crate) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Returns the place of a call of `slot` at `at`, after all earlier requests for that time.
    #[inline]
    pub(crate) fn place(&mut self, slot: Slot, at: Instant) -> Order {
        let ticket = self.ticket();
        key(slot, at, ticket)
    }

    /// Requests a call of `slot` at a place that [`Self::place`] returned for it. [`Order::NEVER`]
    /// withdraws the request.
    #[inline]
    pub(crate) fn set_at(&mut self, slot: Slot, place: Order) {
        self.trees[slot.rank()].replay(slot.index(), place.0);
    }

    /// Requests a call of `slot` at `at`, after all earlier requests for that time.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, at: Instant) {
        let ticket = self.ticket();
        self.set_with(slot, at, ticket);
    }

    /// Requests a call of `slot` at `at`, with a ticket taken earlier.
    #[inline]
    pub(crate) fn set_with(&mut self, slot: Slot, at: Instant, ticket: u64) {
        self.set_at(slot, key(slot, at, ticket));
    }

    /// Withdraws the request of `slot`, if any.
    #[inline]
    pub(crate) fn clear(&mut self, slot: Slot) {
        self.trees[slot.rank()].replay(slot.index(), NEVER);
    }

    /// Returns the time of the next call of `slot`, or [`Instant::NEVER`].
    pub(crate) fn due(&self, slot: Slot) -> Instant {
        Order(self.trees[slot.rank()].key(slot.index())).time()
    }

    /// Returns the place of the next call of any actor, or [`Order::NEVER`]. The request remains
    /// until it is changed or cleared.
    #[inline]
    pub(crate) fn first(&self) -> Order {
        Order(self.trees[0].least.min(self.trees[1].least))
    }
}

/// Returns the place of a call of `slot` at `at` with this ticket.
#[inline]
fn key(slot: Slot, at: Instant, ticket: u64) -> Order {
    let lower = ticket << SLOT_BITS | u64::from(slot.0);
    Order(u128::from(at.as_nanos()) << 64 | u128::from(lower))
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
#[derive(Debug)]
struct Tree {
    /// A key has the time in its upper half, and the ticket and the actor in its lower half. One
    /// comparison of keys therefore orders two calls. `quads[n]` has the keys of the four children
    /// of node `n`, which are the nodes from `4n + 1` on. The root is node 0. The actors are the
    /// nodes without a quad.
    quads: Vec<Quad>,
    /// The key of the root.
    least: u128,
    used: usize,
    vacant: Vec<usize>,
}

impl Tree {
    fn new() -> Self {
        Self { quads: vec![Quad::NEVER], least: NEVER, used: 0, vacant: Vec::new() }
    }

    fn join(&mut self) -> usize {
        if let Some(index) = self.vacant.pop() {
            return index;
        }
        if self.used == self.leaves() {
            self.grow();
        }
        self.used += 1;
        self.used - 1
    }

    /// Returns the number of leaves: a full tree of `n` inner nodes has `3n + 1` leaves.
    fn leaves(&self) -> usize {
        3 * self.quads.len() + 1
    }

    /// Returns the index of an actor's quad, and the actor's place in the quad.
    #[inline]
    fn place(&self, index: usize) -> (usize, usize) {
        let node = self.quads.len() + index;
        ((node - 1) / 4, (node - 1) % 4)
    }

    #[inline]
    fn key(&self, index: usize) -> u128 {
        let (quad, place) = self.place(index);
        self.quads[quad].0[place]
    }

    /// Sets the key of an actor. Repeats the comparisons on the path to the root, up to the first
    /// node whose key stays the same.
    #[inline]
    fn replay(&mut self, index: usize, key: u128) {
        let (mut node, mut place) = self.place(index);
        let mut least = key;
        loop {
            let quad = &mut self.quads[node];
            if quad.0[place] == least {
                return;
            }
            quad.0[place] = least;
            least = quad.least();
            if node == 0 {
                self.least = least;
                return;
            }
            (node, place) = ((node - 1) / 4, (node - 1) % 4);
        }
    }

    /// Adds a level of inner nodes, so that there is room for more actors.
    fn grow(&mut self) {
        let keys: Vec<_> = (0..self.used).map(|index| self.key(index)).collect();
        self.quads = vec![Quad::NEVER; 4 * self.quads.len() + 1];
        for (index, key) in keys.into_iter().enumerate() {
            self.replay(index, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    fn actor(i: usize) -> Actor {
        if i % 3 == 0 { Actor::Link(i as u32) } else { Actor::App(i as u32) }
    }

    #[test]
    fn equal_times_are_served_in_the_order_of_asking() {
        let mut agenda = Agenda::new();
        let slots: Vec<_> = (0..20).map(|i| agenda.register(actor(i))).collect();
        for &index in &[3, 17, 0, 9, 12] {
            agenda.set(slots[index], Instant::from_millis(5));
        }
        agenda.set(slots[19], Instant::from_millis(2));
        let mut served = Vec::new();
        while agenda.first() != Order::NEVER {
            let (_, slot) = agenda.first().call();
            served.push(slots.iter().position(|&of| of == slot).unwrap());
            agenda.clear(slot);
        }
        assert_eq!(served, [19, 3, 17, 0, 9, 12]);
    }

    #[test]
    fn it_always_serves_the_least_of_what_a_plain_list_holds() {
        let mut rng = Rng::stream(1, "agenda");
        let mut agenda = Agenda::new();
        let slots: Vec<_> = (0..50).map(|i| agenda.register(actor(i))).collect();
        let mut list = [None; 50];
        for ticket in 1..20_000_u64 {
            let index = rng.below(50) as usize;
            if rng.below(3) == 0 {
                agenda.clear(slots[index]);
                list[index] = None;
                agenda.ticket();
            } else {
                let at = rng.below(100);
                agenda.set(slots[index], Instant::from_nanos(at));
                list[index] = Some((at, ticket));
            }
            let want = list.iter().enumerate().filter_map(|(i, key)| key.map(|key| (key, i))).min();
            let place = |slot| slots.iter().position(|&of| of == slot).unwrap();
            let first = Some(agenda.first()).filter(|first| *first != Order::NEVER);
            let got = first.map(Order::call).map(|(at, slot)| (at.as_nanos(), place(slot)));
            assert_eq!(got, want.map(|((at, _), i)| (at, i)));
        }
    }
}
