//! The latest replies, from which delays are detected.

use std::collections::VecDeque;

/// A reply: the increase of its delay, and whether each direction was delayed.
type Reply = (i64, [bool; 2]);

/// The latest replies. At the start, all have no increase.
#[derive(Debug)]
pub(super) struct Window(VecDeque<Reply>);

impl Window {
    pub(super) fn new(size: usize) -> Self {
        Self(vec![(0, [false; 2]); size].into())
    }

    /// Adds a reply that exceeds its baseline by `delta`, and forgets the oldest. The reply counts
    /// as delayed in a direction if `delta` exceeds the direction's limit at the time of the reply.
    /// Returns the number of delayed replies of each direction.
    pub(super) fn push(&mut self, delta: i64, limits: [i64; 2]) -> [usize; 2] {
        self.0.pop_front();
        self.0.push_back((delta, limits.map(|limit| delta > limit)));
        [0, 1].map(|index| self.0.iter().filter(|(_, delayed)| delayed[index]).count())
    }

    /// Returns the average increase.
    pub(super) fn average(&self) -> i64 {
        self.0.iter().map(|(delta, _)| delta).sum::<i64>() / self.0.len() as i64
    }
}
