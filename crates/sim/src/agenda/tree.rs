//! The tree of a rank, which finds the actor that is called first.
//!
//! The tree is a tournament tree: every inner node holds the smallest key of its four children. A
//! change of a time repeats the comparisons on the path to the root, up to the first node whose key
//! stays the same. No other node changes.

use super::NEVER;
use super::actor::Queue;

/// The keys of four siblings. They fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Quad([u128; 4]);

impl Quad {
    const NEVER: Self = Self([NEVER; 4]);

    /// Replaces the key at `place`, and returns the least of the four keys.
    ///
    /// The comparison gets the new key from its register. If it read the key from the quad, it
    /// would wait for the key to be written, which took 12 % of the time of a run. The other three
    /// places are computed, because the processor could not predict a branch for each place.
    #[inline]
    fn replace(&mut self, place: usize, key: u128) -> u128 {
        let other = |step: usize| self.0[(place ^ step) % 4];
        let least = key.min(other(1)).min(other(2).min(other(3)));
        self.0[place] = key;
        least
    }
}

/// A tournament tree.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The keys of the four children of the root. Up to four actors need no other quad.
    root: Quad,
    /// The quads of the other inner nodes: `lower[n]` holds the keys of the children of node `n`,
    /// which are the nodes from `4n + 4` on. The nodes 0 to 3 are the children of the root. The
    /// actors are the nodes without a quad.
    lower: Vec<Quad>,
    /// The key of the root.
    least: u128,
}

impl Queue for Tree {
    fn new() -> Self {
        Self { root: Quad::NEVER, lower: Vec::new(), least: NEVER }
    }

    #[inline]
    fn least(&self) -> u128 {
        self.least
    }

    fn key(&self, index: usize) -> u128 {
        let node = self.lower.len() + index;
        match node.checked_sub(4) {
            None => self.root.0[node],
            Some(below) => self.lower[below / 4].0[below % 4],
        }
    }

    /// Sets the key of leaf `index`, and replays the matches on the path to the root, up to the first
    /// node whose key stays the same.
    #[inline]
    fn set(&mut self, index: usize, key: u128) -> bool {
        let (mut node, mut least) = (self.lower.len() + index, key);
        while let Some(below) = node.checked_sub(4) {
            node = below / 4;
            let quad = &mut self.lower[node];
            if quad.0[below % 4] == least {
                return false;
            }
            least = quad.replace(below % 4, least);
        }
        // The node is below 4. The remainder states this to the compiler.
        self.least = self.root.replace(node % 4, least);
        true
    }

    /// Adds levels of inner nodes until there is a leaf `index`.
    fn make_room(&mut self, index: usize) {
        // A tree of `n` quads below the root has `3n + 4` leaves.
        while index >= 3 * self.lower.len() + 4 {
            let keys: Vec<_> = (0..index).map(|index| self.key(index)).collect();
            self.root = Quad::NEVER;
            self.lower = vec![Quad::NEVER; 4 * self.lower.len() + 4];
            for (index, key) in keys.into_iter().enumerate() {
                self.set(index, key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Rng;

    use super::*;

    #[test]
    fn a_tree_that_grows_keeps_its_keys() {
        let mut rng = Rng::stream(1, "tree");
        let (mut tree, mut plain) = (Tree::new(), Vec::new());
        for index in 0..300 {
            tree.make_room(index);
            plain.push(NEVER);
            assert_eq!(tree.key(index), NEVER, "leaf {index}");
            for _ in 0..3 {
                let at = rng.below(plain.len() as u64) as usize;
                let key = if rng.below(4) == 0 { NEVER } else { u128::from(rng.below(1_000)) };
                tree.set(at, key);
                plain[at] = key;
                assert_eq!(Some(&tree.least), plain.iter().min(), "{} leaves", plain.len());
            }
            assert!((0..plain.len()).all(|at| tree.key(at) == plain[at]), "{} leaves", plain.len());
        }
    }
}
