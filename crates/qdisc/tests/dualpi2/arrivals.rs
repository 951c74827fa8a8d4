//! Arrivals drawn from a seed in integer arithmetic, which every platform reproduces.

use aqmlab_core::{Ecn, Instant};
use aqmlab_recipe::Mixer;

/// A packet that arrives at the discipline.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Instant,
    pub len: u32,
    pub ecn: Ecn,
}

/// A period with one arrival pattern.
struct Phase {
    left: u64,
    /// The load in per cent of the rate; 0 stands for a burst.
    load: u64,
    sizes: u64,
    /// The shares of Not-ECT, ECT(0), ECT(1) and CE.
    shares: [u64; 4],
}

/// The mixes of traffic: one kind alone, two kinds that compete, and all kinds.
const MIXES: [[u64; 4]; 8] = [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
    [1, 0, 1, 0],
    [1, 0, 9, 0],
    [9, 0, 1, 0],
    [0, 4, 4, 1],
    [3, 3, 3, 1],
];

impl Phase {
    /// Draws a phase, or the length of an idle period in nanoseconds.
    fn draw(mixer: &mut Mixer) -> Result<Self, u64> {
        let kind = mixer.below(9);
        let (sizes, shares) = (mixer.below(4), mixer.one_of(&MIXES));
        let mut left = 50 + mixer.below(450);
        let load = match kind {
            0 => 30 + mixer.below(60),
            1 | 2 => 90 + mixer.below(40),
            3 | 4 => 130 + mixer.below(100),
            5 => 200 + mixer.below(400),
            6 | 7 => {
                left = 2 + mixer.below(150);
                0
            }
            _ => {
                let most_ms = if mixer.below(4) > 0 { 300 } else { 1_500 };
                return Err(1_000_000 * (5 + mixer.below(most_ms)));
            }
        };
        Ok(Self { left, load, sizes, shares })
    }

    fn len(&self, mixer: &mut Mixer) -> u64 {
        let which = if self.sizes == 3 { mixer.below(3) } else { self.sizes };
        match which {
            0 => 66,
            1 => 1_514,
            _ => 60 + mixer.below(1_455),
        }
    }

    fn ecn(&self, mixer: &mut Mixer) -> Ecn {
        let mut draw = mixer.below(self.shares.iter().sum());
        let kinds = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        for (kind, share) in kinds.into_iter().zip(self.shares) {
            if draw < share {
                return kind;
            }
            draw -= share;
        }
        unreachable!("the draw is below the sum of the shares")
    }

    fn mean_gap_ns(&self, len: u64, rate: u64) -> u64 {
        if self.load > 0 { len * 800_000_000_000 / (rate * self.load) } else { 2_000 }
    }
}

/// Returns `count` arrivals at a link of `rate` bit/s: loads below and above the rate, bursts and
/// idle periods, with mixes of Not-ECT, ECT(0), ECT(1) and CE.
pub fn arrivals(seed: u64, rate: u64, count: usize) -> Vec<Arrival> {
    let mut mixer = Mixer(seed);
    let mut at_ns = 1_000_000;
    let mut arrivals = Vec::with_capacity(count);
    while arrivals.len() < count {
        let mut phase = match Phase::draw(&mut mixer) {
            Ok(phase) => phase,
            Err(silence_ns) => {
                at_ns += silence_ns;
                continue;
            }
        };
        while phase.left > 0 && arrivals.len() < count {
            phase.left -= 1;
            let len = phase.len(&mut mixer);
            let mean_ns = phase.mean_gap_ns(len, rate);
            at_ns += mean_ns / 2 + mixer.below(mean_ns + 1);
            let (at, ecn) = (Instant::from_nanos(at_ns), phase.ecn(&mut mixer));
            arrivals.push(Arrival { at, len: len as u32, ecn });
        }
    }
    arrivals
}
