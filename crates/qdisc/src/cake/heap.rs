//! The heap that finds the longest queue when the buffer overflows.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_heapify`, `cake_heapify_up` and the head of `cake_drop`.
//! The heap has an entry for each queue of eight tins. The kernel's function sifts an entry down by
//! one level. It continues only if a queue further down is longer than the queue that has just
//! moved up. The root is therefore the longest queue right after the heap is built, and often but
//! not always later. The model has the same behaviour.

use super::diffserv::TINS;
use super::sets::SLOTS;

const SIZE: usize = TINS * SLOTS;
/// The number of dequeues without overflow after which the heap is no longer kept.
const TIMEOUT: u16 = u16::MAX;

/// A queue: its tin and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueId {
    pub(super) tin: usize,
    pub(super) slot: usize,
}

impl QueueId {
    const fn number(self) -> usize {
        self.slot * TINS + self.tin
    }

    const fn numbered(number: usize) -> Self {
        Self { tin: number % TINS, slot: number / TINS }
    }
}

/// The heap. It occupies memory from the first overflow.
#[derive(Default)]
pub(super) struct Heap {
    /// The number of the queue at each place.
    order: Vec<u16>,
    /// The place of each queue.
    places: Vec<u16>,
    /// The number of dequeues for which the heap is still kept.
    timeout: u16,
}

impl Heap {
    /// Returns whether the heap follows changes of the backlogs.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.timeout > 0
    }

    /// Records a dequeue.
    #[inline]
    pub(super) fn age(&mut self) {
        self.timeout = self.timeout.saturating_sub(1);
    }

    /// Requires that the heap is built anew at the next overflow.
    pub(super) fn discard(&mut self) {
        self.timeout = 0;
    }

    /// Returns the queue at the root, and keeps the heap for another [`TIMEOUT`] dequeues. Builds
    /// the heap first if it was not kept.
    pub(super) fn longest(&mut self, backlog: impl Fn(QueueId) -> u32) -> QueueId {
        if self.order.is_empty() {
            self.order = (0..SIZE as u16).collect();
            self.places = self.order.clone();
        }
        if self.timeout == 0 {
            for place in (0..=SIZE / 2).rev() {
                self.sift_down(place, &backlog);
            }
        }
        self.timeout = TIMEOUT;
        self.at(0)
    }

    /// Records that the root became shorter.
    pub(super) fn root_shrank(&mut self, backlog: impl Fn(QueueId) -> u32) {
        self.sift_down(0, &backlog);
    }

    /// Records that a queue became shorter.
    #[inline(never)]
    pub(super) fn shrank(&mut self, queue: QueueId, backlog: impl Fn(QueueId) -> u32) {
        self.sift_down(self.places[queue.number()].into(), &backlog);
    }

    /// Records that a queue became longer.
    #[inline(never)]
    pub(super) fn grew(&mut self, queue: QueueId, backlog: impl Fn(QueueId) -> u32) {
        let mut place = usize::from(self.places[queue.number()]);
        while place > 0 {
            let parent = (place - 1) / 2;
            if backlog(self.at(place)) <= backlog(self.at(parent)) {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
    }

    fn at(&self, place: usize) -> QueueId {
        QueueId::numbered(self.order[place].into())
    }

    fn sift_down(&mut self, from: usize, backlog: &impl Fn(QueueId) -> u32) {
        // The kernel does not reset the largest backlog after a swap.
        let (mut largest, mut place) = (backlog(self.at(from)), from);
        loop {
            let mut child = place;
            for candidate in [2 * place + 1, 2 * place + 2] {
                if candidate < SIZE && backlog(self.at(candidate)) > largest {
                    largest = backlog(self.at(candidate));
                    child = candidate;
                }
            }
            if child == place {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.order.swap(one, other);
        for place in [one, other] {
            self.places[usize::from(self.order[place])] = place as u16;
        }
    }
}
