//! A tin: its flows, the rotation among them (DRR++), and the fairness between hosts.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_hash`, the end of `cake_enqueue`, and `cake_dequeue`.

use std::collections::VecDeque;

use aqmlab_core::{Instant, Packet, Rng};

use super::chains::{Chain, Chains};
use super::report::TinCounters;
use super::sets::{Hosts, SLOTS, Tags, Way};
use super::settings::Isolation;
use super::shaper::Clock;
use crate::aqm::cobalt::{self, Blue, Cobalt};
use crate::flows::spread;

/// The state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// On no list. The slot is free.
    #[default]
    None,
    /// Within its first quantum.
    Sparse,
    /// Empty with its quantum used up. It rotates with the bulk flows and counts as sparse.
    SparseWait,
    /// Beyond its first quantum.
    Bulk,
    /// Empty, while the state of COBALT decays.
    Decaying,
}

/// A packet in a queue, and the length that the shaper charges for it.
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) charged: u32,
}

/// A flow's queue.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) queue: VecDeque<Waiting>,
    pub(super) backlog: u32,
    pub(super) deficit: i64,
    pub(super) cobalt: Cobalt,
    /// The slots of the flow's source and destination.
    hosts: [u16; 2],
    set: Set,
}

/// The hashes of a packet.
#[derive(Clone, Copy)]
pub(super) struct Hashes {
    pub(super) flow: u32,
    /// The salted addresses, which are hashed only for a new flow.
    pub(super) hosts: [u32; 2],
}

/// A tin: its flows, its share of the rate, and its counters.
pub(super) struct Tin {
    pub(super) flows: Box<[Flow; SLOTS]>,
    tags: Tags,
    /// The sources and the destinations.
    hosts: [Hosts; 2],
    chains: Chains,
    pub(super) isolation: Isolation,
    pub(super) params: cobalt::Params,
    pub(super) clock: Clock,
    /// The rate up to which the tin has priority, in bytes per second.
    pub(super) threshold: u64,
    /// The number of bytes that a flow may send per round if its hosts have no other bulk flow.
    pub(super) flow_quantum: u16,
    /// The tin's weight if the rate is not limited.
    pub(super) quantum: u16,
    pub(super) deficit: i64,
    pub(super) backlog: u32,
    pub(super) sparse_flows: u16,
    pub(super) bulk_flows: u16,
    pub(super) decaying_flows: u16,
    pub(super) unresponsive_flows: u16,
    pub(super) counters: TinCounters,
}

impl Tin {
    /// Returns an empty tin without a rate.
    pub(super) fn new(isolation: Isolation) -> Self {
        Self {
            flows: Box::new(std::array::from_fn(|_| Flow::default())),
            tags: Tags::default(),
            hosts: Default::default(),
            chains: Chains::default(),
            isolation,
            params: cobalt::Params::default(),
            clock: Clock::default(),
            threshold: 0,
            flow_quantum: 0,
            quantum: 0,
            deficit: 0,
            backlog: 0,
            sparse_flows: 0,
            bulk_flows: 0,
            decaying_flows: 0,
            unresponsive_flows: 0,
            counters: TinCounters::default(),
        }
    }

    /// Returns whether a flow of the tin is sparse or bulk.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.sparse_flows + self.bulk_flows > 0
    }

    /// Returns the slot for a packet with these hashes, and counts how it was found.
    #[inline]
    pub(super) fn classify(&mut self, hashes: Hashes) -> usize {
        if self.isolation.is_blind() {
            return 0;
        }
        let flows = &self.flows;
        let (slot, way) = self.tags.find(hashes.flow, |slot| flows[slot].set != Set::None);
        if way == Way::Direct {
            self.counters.way_directs += 1;
        } else {
            self.take_slot(slot, way, hashes.hosts);
        }
        slot
    }

    /// Counts the way in which a slot was found. Finds the flow's hosts, unless the flow already
    /// uses the slot. If a bulk flow loses the slot, moves its count to these hosts.
    #[inline(never)]
    fn take_slot(&mut self, slot: usize, way: Way, hosts: [u32; 2]) {
        let set = self.flows[slot].set;
        match way {
            Way::Direct => {}
            Way::Tagged(moved) => {
                self.counters.way_hits += u64::from(moved);
                if set != Set::None {
                    return;
                }
            }
            Way::Free => self.counters.way_misses += 1,
            Way::Collision => {
                self.counters.way_collisions += 1;
                if set == Set::Bulk {
                    self.count_bulk(slot, Hosts::remove);
                }
            }
        }
        for (end, address) in hosts.into_iter().enumerate() {
            if self.isolation.limits[end] {
                self.flows[slot].hosts[end] = self.hosts[end].find(spread(address));
            }
        }
        if set == Set::Bulk {
            self.count_bulk(slot, Hosts::add);
        }
    }

    /// Changes the number of bulk flows of a flow's hosts.
    fn count_bulk(&mut self, slot: usize, change: fn(&mut Hosts, u16)) {
        for (end, host) in self.flows[slot].hosts.into_iter().enumerate() {
            if self.isolation.limits[end] {
                change(&mut self.hosts[end], host);
            }
        }
    }

    /// Returns the quantum of a flow's turn: the flow's share of its host's quantum. A random
    /// number rounds the quantum up or down, so that its mean is exact.
    #[expect(clippy::inline_always, reason = "nearly every packet passes; a call costs 0.5 %")]
    #[inline(always)]
    pub(super) fn quantum_of(&self, slot: usize, rng: &mut Rng) -> i64 {
        let mut load = 1;
        for (end, host) in self.flows[slot].hosts.into_iter().enumerate() {
            if self.isolation.limits[end] {
                load = load.max(self.hosts[end].bulk_flows(host));
            }
        }
        let share = u32::from(u16::MAX / load);
        i64::from((u32::from(self.flow_quantum) * share + u32::from(rng.next_u16())) >> 16)
    }

    /// Counts an arrival of `len` bytes.
    #[inline]
    pub(super) fn grow(&mut self, slot: usize, len: u32) {
        self.counters.packets += 1;
        self.counters.bytes += u64::from(len);
        self.counters.max_len = self.counters.max_len.max(len);
        self.flows[slot].backlog += len;
        self.backlog += len;
    }

    /// Records that `len` bytes of a flow were removed.
    #[inline]
    pub(super) fn shrink(&mut self, slot: usize, len: u32) {
        self.flows[slot].backlog -= len;
        self.backlog -= len;
    }

    /// Removes the first packet of a queue, if there is one.
    #[inline]
    pub(super) fn take(&mut self, slot: usize) -> Option<Waiting> {
        let flow = &mut self.flows[slot];
        let waiting = flow.queue.pop_front()?;
        flow.backlog -= waiting.packet.len;
        self.backlog -= waiting.packet.len;
        Some(waiting)
    }

    /// Records that a packet joined a flow.
    #[inline]
    pub(super) fn joined(&mut self, slot: usize, rng: &mut Rng) {
        match self.flows[slot].set {
            Set::None | Set::Decaying => self.wake(slot, rng),
            Set::SparseWait => self.become_bulk(slot),
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn wake(&mut self, slot: usize, rng: &mut Rng) {
        if self.flows[slot].set == Set::Decaying {
            self.decaying_flows -= 1;
        }
        self.chains.append(slot, Chain::New);
        self.flows[slot].set = Set::Sparse;
        self.sparse_flows += 1;
        self.flows[slot].deficit = self.quantum_of(slot, rng);
    }

    pub(super) fn become_bulk(&mut self, slot: usize) {
        self.flows[slot].set = Set::Bulk;
        self.sparse_flows -= 1;
        self.bulk_flows += 1;
        self.count_bulk(slot, Hosts::add);
    }

    /// Returns the next flow to serve, if there is one. A decaying flow comes first if
    /// `decaying_first`, and otherwise last.
    #[inline]
    pub(super) fn first(&self, decaying_first: bool) -> Option<usize> {
        let decaying = || self.chains.first(Chain::Decaying);
        decaying_first
            .then(decaying)
            .flatten()
            .or_else(|| self.chains.first(Chain::New))
            .or_else(|| self.chains.first(Chain::Old))
            .or_else(decaying)
    }

    /// Gives a flow without credit its next quantum, and moves the flow to the end of the old
    /// flows. A sparse flow becomes bulk if it has packets.
    pub(super) fn rotate(&mut self, slot: usize, rng: &mut Rng) {
        if self.flows[slot].set == Set::Sparse {
            if self.flows[slot].queue.is_empty() {
                self.flows[slot].set = Set::SparseWait;
            } else {
                self.become_bulk(slot);
            }
        }
        self.flows[slot].deficit += self.quantum_of(slot, rng);
        self.chains.append(slot, Chain::Old);
    }

    /// Records that a flow was served and is empty. The flow leaves the lists if the state of
    /// COBALT has decayed; otherwise it joins the decaying flows.
    pub(super) fn emptied(&mut self, slot: usize, now: Instant) {
        let flow = &mut self.flows[slot];
        let blue = flow.cobalt.emptied(&self.params, now);
        let rests = flow.cobalt.is_at_rest(now);
        self.note_blue(blue);
        match self.flows[slot].set {
            Set::Bulk => {
                self.bulk_flows -= 1;
                self.count_bulk(slot, Hosts::remove);
            }
            Set::Sparse | Set::SparseWait => self.sparse_flows -= 1,
            Set::Decaying | Set::None => self.decaying_flows -= 1,
        }
        if rests {
            self.chains.remove(slot);
            self.flows[slot].set = Set::None;
        } else {
            self.chains.append(slot, Chain::Decaying);
            self.flows[slot].set = Set::Decaying;
            self.decaying_flows += 1;
        }
    }

    /// Updates the number of queues in which BLUE is active.
    pub(super) fn note_blue(&mut self, change: Blue) {
        match change {
            Blue::Unchanged => {}
            Blue::Started => self.unresponsive_flows = self.unresponsive_flows.wrapping_add(1),
            Blue::Ended => self.unresponsive_flows = self.unresponsive_flows.wrapping_sub(1),
        }
    }
}
