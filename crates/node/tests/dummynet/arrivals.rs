//! Arrivals drawn from a seed in integer arithmetic, which every platform reproduces.

use aqmlab_core::Instant;
use aqmlab_recipe::Mixer;

/// A packet that arrives at the pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) flow: u32,
    pub(crate) len: u32,
    pub(crate) capable: bool,
}

/// A period with one arrival pattern.
struct Phase {
    left: u64,
    /// The load in per cent of the rate; 0 stands for arrivals at fixed intervals.
    load: u64,
    pause_ns: u64,
    first_flow: u64,
    flows: u64,
    sizes: u64,
}

impl Phase {
    /// Draws a phase, or the length of an idle period in nanoseconds.
    fn draw(mixer: &mut Mixer, flows: u64) -> Result<Self, u64> {
        let kind = mixer.below(8);
        let (first_flow, spread) = (mixer.below(flows), 1 + mixer.below(flows));
        let sizes = mixer.below(4);
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
        Ok(Self { left, load, pause_ns: 1_000 * pause_us, first_flow, flows: spread, sizes })
    }

    fn len(&self, mixer: &mut Mixer) -> u64 {
        let which = if self.sizes == 3 { mixer.below(3) } else { self.sizes };
        match which {
            0 => 40,
            1 => 1_500,
            _ => 40 + mixer.below(1_461),
        }
    }

    fn mean_gap_ns(&self, len: u64, rate: u64) -> u64 {
        if self.load > 0 { len * 800_000_000_000 / (rate * self.load) } else { self.pause_ns }
    }
}

/// Returns `count` arrivals of 1 to 24 flows at a pipe of `rate` bit/s: loads below and above the
/// rate, bursts, single packets and idle periods.
pub(crate) fn arrivals(seed: u64, rate: u64, count: usize) -> Vec<Arrival> {
    let mut mixer = Mixer(seed);
    let flows = 1 + mixer.below(24);
    let capable = mixer.below(1 << 24);
    let mut at_ns = 0;
    let mut arrivals = Vec::with_capacity(count);
    while arrivals.len() < count {
        let mut phase = match Phase::draw(&mut mixer, flows) {
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
            // Whether an arrival exactly at a tick comes before or after the tick is undefined, so
            // arrivals avoid ticks.
            at_ns += u64::from(at_ns % 1_000_000 == 0);
            let flow = (phase.first_flow + mixer.below(phase.flows)) % flows;
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
