//! Reduces a run to one number.

use std::fmt;

/// A digest of the events of a run. Two runs with equal digests have, with near certainty, equal
/// events. Every simulated result contains the digest, and tests compare digests.
///
/// Words are folded in order, so the digest also depends on the order of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Folds one word into the digest.
    #[inline]
    pub fn fold(&mut self, word: u64) {
        // The multiplication moves low bits upwards, and the rotation moves them back down, as in
        // the FxHash family. The digest does not need to be cryptographic.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Returns the digest as a number.
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_every_bit_matter() {
        let of = |words: &[u64]| {
            let mut digest = Digest::default();
            for &word in words {
                digest.fold(word);
            }
            digest
        };
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        for bit in 0..64 {
            assert_ne!(of(&[0, 5]), of(&[1 << bit, 5]), "bit {bit}");
        }
    }
}
