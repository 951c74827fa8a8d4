//! The agenda: it determines the order in which actors are called.
//!
//! Anything that can cause an event (a link, a propagation delay, an application, a TCP) is an
//! *actor*. An actor has at most one entry in the agenda, with the time of its next call. The
//! agenda's size is therefore the number of actors, not of packets, and changing a time leaves no
//! stale entry.
//!
//! The agenda is a tournament tree: every inner node holds the smaller of its two children. A
//! changed time repeats the comparisons on the path to the root, which are log2(actors) comparisons
//! of neighbours. No other node changes.

use aqmlab_core::{Instant, Side};

/// The number of bits of a key that identify the actor. The rest of the key's lower half is the
/// ticket.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// The key of an actor without a request.
const NEVER: u128 = u128::MAX;

/// A place in the order of calls: the time and, among calls of one time, the order of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u128);

impl Order {
    /// After all calls.
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

/// An actor's place in the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

/// An actor: a part of the world that the agenda calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A link that becomes free while packets are queued.
    Link(usize),
    /// A delay line when its first packet arrives.
    Line(usize),
    /// A medium on which an exchange begins or ends.
    Medium(usize),
    /// An application at a wake-up, its start or its stop.
    App(u32),
    /// One end of a connection, when a timer may have expired.
    End(u32, Side),
    /// The sampler of TCP and queue state.
    Sampler,
}

/// The tree of an actor. Links and lines are few, and are called for every packet. Hosts may be
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
    /// Returns the rank's index in arrays.
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
/// times, in order of request.
///
/// This rule makes the order total. Together with integer times and named random streams, it makes
/// runs deterministic.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The trees, by rank.
    trees: [Tree; 2],
    /// The actors, by rank and slot.
    actors: [Vec<Actor>; 2],
    tickets: u64,
}

impl Agenda {
    /// Returns an agenda without actors.
    pub(crate) fn new() -> Self {
        let trees = [Tree::new(), Tree::new()];
        Self { trees, actors: [Vec::new(), Vec::new()], tickets: 0 }
    }

    /// Assigns a slot to an actor, which has no time yet.
    ///
    /// # Panics
    ///
    /// If there are already half a million actors of that rank.
    pub(crate) fn register(&mut self, actor: Actor) -> Slot {
        let rank = actor.rank() as usize;
        let index = self.trees[rank].join();
        let slot = index * 2 + rank;
        assert!(slot as u64 <= SLOT_MASK, "more than {} actors of a rank", SLOT_MASK / 2);
        let actors = &mut self.actors[rank];
        if index == actors.len() {
            actors.push(actor);
        } else {
            actors[index] = actor;
        }
        Slot(slot as u32)
    }

    /// Returns the actor of a slot.
    #[inline]
    pub(crate) fn actor(&self, slot: Slot) -> Actor {
        self.actors[slot.rank()][slot.index()]
    }

    /// Frees a slot.
    pub(crate) fn leave(&mut self, slot: Slot) {
        self.clear(slot);
        self.trees[slot.rank()].vacant.push(slot.index());
    }

    /// Returns a new ticket. At equal times, the lower ticket is served first.
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

    /// Requests a call of `slot` at a place that was taken for it earlier.
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

    /// Requests a call of `slot` at `at`, in the order of a ticket taken earlier.
    #[inline]
    pub(crate) fn set_with(&mut self, slot: Slot, at: Instant, ticket: u64) {
        self.set_at(slot, key(slot, at, ticket));
    }

    /// Withdraws the request of `slot`, if any.
    #[inline]
    pub(crate) fn clear(&mut self, slot: Slot) {
        let tree = &mut self.trees[slot.rank()];
        if tree.key(slot.index()) != NEVER {
            tree.replay(slot.index(), NEVER);
        }
    }

    /// Returns the time of the next call of `slot`.
    pub(crate) fn due(&self, slot: Slot) -> Instant {
        Order(self.trees[slot.rank()].key(slot.index())).time()
    }

    /// Returns the place of the next call. The request remains until it is set or cleared.
    #[inline]
    pub(crate) fn first(&self) -> Order {
        Order(self.trees[0].least.min(self.trees[1].least))
    }
}

/// Returns the place of a call of `slot` at `at` with a ticket.
#[inline]
fn key(slot: Slot, at: Instant, ticket: u64) -> Order {
    let lower = ticket << SLOT_BITS | u64::from(slot.0);
    Order(u128::from(at.as_nanos()) << 64 | u128::from(lower))
}

/// The actors of one rank.
#[derive(Debug)]
struct Tree {
    /// Time in the upper half, ticket and actor in the lower, so that one comparison decides.
    /// Node `i` has the children `2i` and `2i + 1`, and the actors are the leaves, from `leaves`
    /// on. Siblings are stored as a pair, so that one bounds check serves a match: nodes `2p`
    /// and `2p + 1` are `pairs[p]`.
    pairs: Vec<[u128; 2]>,
    /// The root, node 1.
    least: u128,
    leaves: usize,
    used: usize,
    vacant: Vec<usize>,
}

impl Tree {
    fn new() -> Self {
        let pairs = vec![[NEVER; 2]; 2];
        Self { pairs, least: NEVER, leaves: 2, used: 0, vacant: Vec::new() }
    }

    fn join(&mut self) -> usize {
        if let Some(index) = self.vacant.pop() {
            return index;
        }
        if self.used == self.leaves {
            self.grow();
        }
        self.used += 1;
        self.used - 1
    }

    #[inline]
    fn key(&self, index: usize) -> u128 {
        let node = self.leaves + index;
        self.pairs[node / 2][node % 2]
    }

    #[inline]
    fn replay(&mut self, index: usize, key: u128) {
        let mut node = self.leaves + index;
        let mut least = key;
        while node > 1 {
            let pair = &mut self.pairs[node / 2];
            pair[node % 2] = least;
            least = pair[0].min(pair[1]);
            node /= 2;
        }
        self.least = least;
    }

    fn grow(&mut self) {
        let (half, leaves) = (self.leaves / 2, self.leaves * 2);
        let mut pairs = vec![[NEVER; 2]; leaves];
        pairs[2 * half..3 * half].copy_from_slice(&self.pairs[half..]);
        for node in (1..leaves).rev() {
            let [left, right] = pairs[node];
            pairs[node / 2][node % 2] = left.min(right);
        }
        (self.pairs, self.leaves) = (pairs, leaves);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    fn actor(i: usize) -> Actor {
        if i % 3 == 0 { Actor::Link(i) } else { Actor::App(i as u32) }
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
