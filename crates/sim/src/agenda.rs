//! The agenda: which actor is next.
//!
//! Whoever can make something happen (a link, a propagation delay, an application, a TCP) is an
//! *actor* and stands in the agenda at most once, with the time at which it wants to be called.
//! So the agenda's size is the number of actors and not of packets, and changing one's mind
//! costs no stale entries.
//!
//! A tournament tree: every inner node holds the lesser of its two children. Setting one time
//! replays the matches on the path to the root, log2(actors) comparisons of neighbours, without
//! moving anything else.

use aqmlab_core::Instant;

/// Bits of a key that name the actor; the rest of its lower half is the ticket.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// The key of an actor that wants nothing.
const NEVER: u128 = u128::MAX;

/// An actor's place in the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

/// A set of actors, each with at most one time, served in order of time and, at equal times,
/// in the order in which they asked.
///
/// That tie-break makes the order total: one of the three legs of determinism, with integer
/// time and named streams of chance.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Time in the upper half, ticket and actor in the lower, so that one comparison decides.
    /// Node `i` has the children `2i` and `2i + 1`, and the actors are the leaves, from `leaves`
    /// on. Siblings are stored as a pair, so that one bounds check serves a match: nodes `2p`
    /// and `2p + 1` are `pairs[p]`. The root, node 1, is therefore the second of pair 0.
    pairs: Vec<[u128; 2]>,
    leaves: usize,
    used: usize,
    vacant: Vec<Slot>,
    tickets: u64,
}

impl Agenda {
    /// An agenda without actors.
    pub(crate) fn new() -> Self {
        Self { pairs: vec![[NEVER; 2]; 8], leaves: 8, used: 0, vacant: Vec::new(), tickets: 0 }
    }

    /// A place for one more actor, which wants nothing yet.
    ///
    /// # Panics
    ///
    /// If there are a million actors already.
    pub(crate) fn join(&mut self) -> Slot {
        if let Some(slot) = self.vacant.pop() {
            return slot;
        }
        if self.used == self.leaves {
            self.grow();
        }
        assert!(self.used as u64 <= SLOT_MASK, "more than {SLOT_MASK} actors");
        self.used += 1;
        Slot(self.used as u32 - 1)
    }

    /// Gives a place back.
    pub(crate) fn leave(&mut self, slot: Slot) {
        self.clear(slot);
        self.vacant.push(slot);
    }

    /// Takes a ticket: among equal times, the lower ticket is served first.
    #[inline]
    pub(crate) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Asks for `slot` to be called at `at`, after all who already asked for that time.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, at: Instant) {
        let ticket = self.ticket();
        self.set_with(slot, at, ticket);
    }

    /// Asks for `slot` to be called at `at`, in the order of a ticket taken earlier.
    #[inline]
    pub(crate) fn set_with(&mut self, slot: Slot, at: Instant, ticket: u64) {
        let lower = ticket << SLOT_BITS | u64::from(slot.0);
        self.replay(slot, u128::from(at.as_nanos()) << 64 | u128::from(lower));
    }

    /// Withdraws whatever `slot` asked for.
    #[inline]
    pub(crate) fn clear(&mut self, slot: Slot) {
        if self.key(slot) != NEVER {
            self.replay(slot, NEVER);
        }
    }

    /// When `slot` will be called.
    #[inline]
    pub(crate) fn due(&self, slot: Slot) -> Instant {
        Instant::from_nanos((self.key(slot) >> 64) as u64)
    }

    /// Who is next, and when; the request stands until it is set or cleared.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(Instant, Slot)> {
        let first = self.pairs[0][1];
        let slot = Slot((first as u64 & SLOT_MASK) as u32);
        (first != NEVER).then_some((Instant::from_nanos((first >> 64) as u64), slot))
    }

    #[inline]
    fn key(&self, slot: Slot) -> u128 {
        let node = self.leaves + slot.0 as usize;
        self.pairs[node / 2][node % 2]
    }

    #[inline]
    fn replay(&mut self, slot: Slot, key: u128) {
        let mut node = self.leaves + slot.0 as usize;
        let mut least = key;
        while node > 1 {
            let pair = &mut self.pairs[node / 2];
            pair[node % 2] = least;
            least = least.min(pair[node % 2 ^ 1]);
            node /= 2;
        }
        self.pairs[0][1] = least;
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

    #[test]
    fn equal_times_are_served_in_the_order_of_asking() {
        let mut agenda = Agenda::new();
        let slots: Vec<_> = (0..20).map(|_| agenda.join()).collect();
        for &index in &[3, 17, 0, 9, 12] {
            agenda.set(slots[index], Instant::from_millis(5));
        }
        agenda.set(slots[19], Instant::from_millis(2));
        let mut served = Vec::new();
        while let Some((_, slot)) = agenda.peek() {
            served.push(slot.0);
            agenda.clear(slot);
        }
        assert_eq!(served, [19, 3, 17, 0, 9, 12]);
    }

    #[test]
    fn it_always_serves_the_least_of_what_a_plain_list_holds() {
        let mut rng = Rng::stream(1, "agenda");
        let mut agenda = Agenda::new();
        let slots: Vec<_> = (0..50).map(|_| agenda.join()).collect();
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
            let got = agenda.peek().map(|(at, slot)| (at.as_nanos(), slot.0 as usize));
            assert_eq!(got, want.map(|((at, _), i)| (at, i)));
        }
    }
}
