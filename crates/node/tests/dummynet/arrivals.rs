//! Arrivals drawn from a seed in integer arithmetic, which every platform reproduces.

use aqmlab_core::Instant;
use aqmlab_recipe::{Lengths, Mixer, Phase, Sizes};

const LENGTHS: Lengths = Lengths { small: 40, least: 40, most: 1_500 };

/// A packet that arrives at the pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) flow: u32,
    pub(crate) len: u32,
    pub(crate) capable: bool,
}

/// The flows of a phase: the first flow and the number of flows.
type Flows = (u64, u64);

/// Draws a phase, or the length of an idle period in nanoseconds.
fn phase(mixer: &mut Mixer, flows: u64) -> Result<(Phase, Flows), u64> {
    let kind = mixer.below(8);
    let chosen = (mixer.below(flows), 1 + mixer.below(flows));
    let sizes = Sizes::draw(mixer);
    let mut left = 20 + mixer.below(280);
    let load = match kind {
        0 => 30 + mixer.below(60),
        1 | 2 => 90 + mixer.below(50),
        3 | 4 => 140 + mixer.below(180),
        _ => 0,
    };
    let pause_us = match kind {
        5 => 1 + mixer.below(20),
        6 => 8_000 + mixer.below(60_000),
        _ => 0,
    };
    match kind {
        5 => left = 2 + mixer.below(150),
        6 => left = 2 + mixer.below(12),
        7 => {
            let most_ms = if mixer.below(4) > 0 { 300 } else { 1_500 };
            return Err(1_000_000 * (5 + mixer.below(most_ms)));
        }
        _ => {}
    }
    Ok((Phase { left, load, pause_ns: 1_000 * pause_us, sizes }, chosen))
}

/// Returns `count` arrivals of 1 to 24 flows at a pipe of `rate` bit/s. The arrivals contain loads
/// below and above the rate, bursts, single packets and idle periods.
pub(crate) fn arrivals(seed: u64, rate: u64, count: usize) -> Vec<Arrival> {
    let mut mixer = Mixer(seed);
    let flows = 1 + mixer.below(24);
    let capable = mixer.below(1 << 24);
    let mut at_ns = 0;
    let mut arrivals = Vec::with_capacity(count);
    while arrivals.len() < count {
        let (mut phase, (first, spread)) = match phase(&mut mixer, flows) {
            Ok(phase) => phase,
            Err(silence_ns) => {
                at_ns += silence_ns;
                continue;
            }
        };
        while arrivals.len() < count {
            let Some((len, gap_ns)) = phase.next(LENGTHS, rate, &mut mixer) else { break };
            at_ns += gap_ns;
            // Whether an arrival exactly at a tick comes before or after the tick is undefined, so
            // arrivals avoid ticks.
            at_ns += u64::from(at_ns % 1_000_000 == 0);
            let flow = (first + mixer.below(spread)) % flows;
            arrivals.push(Arrival {
                at: Instant::from_nanos(at_ns),
                flow: flow as u32,
                len: len as u32,
                capable: capable >> flow & 1 == 1,
            });
        }
    }
    arrivals
}
