//! The lists of a tin's flows: new, old and decaying. A flow is on one list at most.

use super::sets::SLOTS;

/// A list of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Flows that have just become active.
    New,
    /// Flows that used up their first quantum.
    Old,
    /// Empty flows whose COBALT state decays.
    Decaying,
}

/// The three lists. Each list is a ring through a head node of its own. The head nodes follow the
/// nodes of the flows.
pub(super) struct Chains(Box<[Link; SLOTS + 3]>);

#[derive(Clone, Copy)]
struct Link {
    prev: u16,
    next: u16,
}

impl Default for Chains {
    fn default() -> Self {
        let alone = |node: usize| Link { prev: node as u16, next: node as u16 };
        Self(Box::new(std::array::from_fn(alone)))
    }
}

const fn anchor(chain: Chain) -> usize {
    SLOTS + chain as usize
}

impl Chains {
    /// Returns the first flow of a list, if there is one.
    #[inline]
    pub(super) fn first(&self, chain: Chain) -> Option<usize> {
        let first = usize::from(self.0[anchor(chain)].next);
        (first < SLOTS).then_some(first)
    }

    /// Removes a flow from its list, if the flow is on a list.
    #[inline]
    pub(super) fn remove(&mut self, flow: usize) {
        let Link { prev, next } = self.0[flow];
        self.0[usize::from(prev)].next = next;
        self.0[usize::from(next)].prev = prev;
        self.0[flow] = Link { prev: flow as u16, next: flow as u16 };
    }

    /// Moves a flow to the end of a list.
    #[inline]
    pub(super) fn append(&mut self, flow: usize, chain: Chain) {
        self.remove(flow);
        let end = anchor(chain);
        let last = self.0[end].prev;
        self.0[flow] = Link { prev: last, next: end as u16 };
        self.0[usize::from(last)].next = flow as u16;
        self.0[end].prev = flow as u16;
    }
}
