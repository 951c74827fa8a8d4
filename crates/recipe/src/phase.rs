//! Phases of arrivals: the packets of a period with one load and one mix of sizes.

use crate::Mixer;

/// The sizes of the packets in a phase.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    /// Only acknowledgements ([`Lengths::small`]).
    Small,
    /// Only packets of the largest length.
    Large,
    /// Any length from the smallest to the largest, drawn for each packet.
    Any,
    /// `Small`, `Large` or `Any`, drawn for each packet.
    Mixed,
}

impl Sizes {
    /// Draws the sizes of a phase.
    pub fn draw(mixer: &mut Mixer) -> Self {
        mixer.one_of(&[Self::Small, Self::Large, Self::Any, Self::Mixed])
    }
}

/// The lengths of packets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// The length of an acknowledgement.
    pub small: u64,
    /// The smallest length of a packet.
    pub least: u64,
    /// The largest length of a packet.
    pub most: u64,
}

/// A period with one arrival pattern.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The number of packets that are left.
    pub left: u64,
    /// The load in per cent of the rate; 0 stands for arrivals at intervals of `pause_ns`.
    pub load: u64,
    /// The mean interval between arrivals in nanoseconds, if `load` is 0.
    pub pause_ns: u64,
    /// The sizes of the packets.
    pub sizes: Sizes,
}

impl Phase {
    /// Draws the length in bytes of the next packet at a link of `rate` bit/s, and the time since
    /// the previous packet in nanoseconds. Counts the packet. Returns `None` after the last packet.
    pub fn next(&mut self, lengths: Lengths, rate: u64, mixer: &mut Mixer) -> Option<(u64, u64)> {
        self.left = self.left.checked_sub(1)?;
        let len = match self.sizes {
            Sizes::Mixed => [Sizes::Small, Sizes::Large, Sizes::Any][mixer.below(3) as usize],
            sizes => sizes,
        };
        let Lengths { small, least, most } = lengths;
        let len = match len {
            Sizes::Small => small,
            Sizes::Large => most,
            Sizes::Any | Sizes::Mixed => least + mixer.below(most - least + 1),
        };
        let mean_ns = match self.load {
            0 => self.pause_ns,
            load => len * 800_000_000_000 / (rate * load),
        };
        Some((len, mean_ns / 2 + mixer.below(mean_ns + 1)))
    }
}
