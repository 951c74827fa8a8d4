//! The set-associative hash of flows and hosts: 1024 slots in sets of eight ways.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_hash`. A flow takes the slot of its hash (its own slot),
//! or another way of its set. Two flows share a queue only if all eight ways are in use.

/// The number of slots of flows, which is also the number of slots of hosts.
pub(super) const SLOTS: usize = 1_024;
const WAYS: usize = 8;

/// Returns the eight slots of a hash's set. The first is the slot of the hash itself.
fn ways(hash: u32) -> impl Iterator<Item = usize> {
    let own = hash as usize % SLOTS;
    let (inner, outer) = (own % WAYS, own - own % WAYS);
    (0..WAYS).map(move |step| outer + (inner + step) % WAYS)
}

/// The result of a search for the slot of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The flow's own slot has its tag and is in use.
    Direct,
    /// A slot has the flow's tag; `true` if the slot is not the flow's own slot.
    Tagged(bool),
    /// No slot has the flow's tag, and the slot found is free.
    Free,
    /// All slots of the set are in use by other flows. The flow takes over its own slot.
    Collision,
}

/// The tags of a tin's flows.
pub(super) struct Tags(Box<[u32; SLOTS]>);

impl Default for Tags {
    fn default() -> Self {
        Self(Box::new([0; SLOTS]))
    }
}

impl Tags {
    /// Finds the slot of the flow with this hash, and tags the slot with the hash. Returns the
    /// slot, and the way in which it was found. `is_used` states whether a slot is in use.
    #[inline]
    pub(super) fn find(&mut self, hash: u32, is_used: impl Fn(usize) -> bool) -> (usize, Way) {
        let own = hash as usize % SLOTS;
        if self.0[own] == hash && is_used(own) {
            return (own, Way::Direct);
        }
        let found = self.search(hash, is_used);
        self.0[found.0] = hash;
        found
    }

    #[inline(never)]
    fn search(&self, hash: u32, is_used: impl Fn(usize) -> bool) -> (usize, Way) {
        let own = hash as usize % SLOTS;
        if let Some(slot) = ways(hash).find(|&slot| self.0[slot] == hash) {
            return (slot, Way::Tagged(slot != own));
        }
        match ways(hash).find(|&slot| !is_used(slot)) {
            Some(slot) => (slot, Way::Free),
            None => (own, Way::Collision),
        }
    }
}

/// The hosts at one end of a tin's flows, with the number of bulk flows of each.
pub(super) struct Hosts {
    tags: Box<[u32; SLOTS]>,
    bulk_flows: Box<[u16; SLOTS]>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { tags: Box::new([0; SLOTS]), bulk_flows: Box::new([0; SLOTS]) }
    }
}

impl Hosts {
    /// Returns the slot of the host with this hash. It is the slot with the host's tag; otherwise a
    /// slot without bulk flows; otherwise the hash's own slot.
    pub(super) fn find(&mut self, hash: u32) -> u16 {
        let slot = ways(hash).find(|&slot| self.tags[slot] == hash).unwrap_or_else(|| {
            let idle = ways(hash).find(|&slot| self.bulk_flows[slot] == 0);
            idle.unwrap_or(hash as usize % SLOTS)
        });
        self.tags[slot] = hash;
        slot as u16
    }

    /// Returns the number of bulk flows of the host in `slot`.
    #[inline]
    pub(super) fn bulk_flows(&self, slot: u16) -> u16 {
        self.bulk_flows[usize::from(slot)]
    }

    /// Counts a bulk flow of the host in `slot`.
    pub(super) fn add(&mut self, slot: u16) {
        let count = &mut self.bulk_flows[usize::from(slot)];
        *count = (*count + 1).min(SLOTS as u16);
    }

    /// Removes a bulk flow from the count of the host in `slot`.
    pub(super) fn remove(&mut self, slot: u16) {
        let count = &mut self.bulk_flows[usize::from(slot)];
        *count = count.saturating_sub(1);
    }
}
