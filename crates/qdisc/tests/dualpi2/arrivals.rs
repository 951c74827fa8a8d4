//! Arrivals drawn from a seed in integer arithmetic, which every platform reproduces.

use aqmlab_core::{Ecn, Instant};
use aqmlab_recipe::{Lengths, Mixer, Phase, Sizes};

const LENGTHS: Lengths = Lengths { small: 66, least: 60, most: 1_514 };
/// The mean time between the packets of a burst.
const BURST_NS: u64 = 2_000;

/// A packet that arrives at the discipline.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Instant,
    pub len: u32,
    pub ecn: Ecn,
}

/// The shares of Not-ECT, ECT(0), ECT(1) and CE in each mix: one kind alone, two or three kinds,
/// and all kinds.
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

/// The shares of Not-ECT, ECT(0), ECT(1) and CE.
type Shares = [u64; 4];

/// Draws a phase with its shares of ECN fields (`Ok`), or the length of an idle period in
/// nanoseconds (`Err`).
fn phase(mixer: &mut Mixer) -> Result<(Phase, Shares), u64> {
    let kind = mixer.below(9);
    let (sizes, shares) = (Sizes::draw(mixer), mixer.one_of(&MIXES));
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
    Ok((Phase { left, load, pause_ns: BURST_NS, sizes }, shares))
}

fn ecn(shares: Shares, mixer: &mut Mixer) -> Ecn {
    let mut draw = mixer.below(shares.iter().sum());
    let kinds = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for (kind, share) in kinds.into_iter().zip(shares) {
        if draw < share {
            return kind;
        }
        draw -= share;
    }
    unreachable!("the draw is below the sum of the shares")
}

/// Returns `count` arrivals at a link of `rate` bit/s. The arrivals contain loads below and above
/// the rate, bursts and idle periods, with mixes of Not-ECT, ECT(0), ECT(1) and CE.
pub fn arrivals(seed: u64, rate: u64, count: usize) -> Vec<Arrival> {
    let mut mixer = Mixer(seed);
    let mut at_ns = 1_000_000;
    let mut arrivals = Vec::with_capacity(count);
    while arrivals.len() < count {
        let (mut phase, shares) = match phase(&mut mixer) {
            Ok(phase) => phase,
            Err(silence_ns) => {
                at_ns += silence_ns;
                continue;
            }
        };
        while arrivals.len() < count {
            let Some((len, gap_ns)) = phase.next(LENGTHS, rate, &mut mixer) else { break };
            at_ns += gap_ns;
            let (at, ecn) = (Instant::from_nanos(at_ns), ecn(shares, &mut mixer));
            arrivals.push(Arrival { at, len: len as u32, ecn });
        }
    }
    arrivals
}
