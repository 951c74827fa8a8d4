//! The recipe of a run, drawn from a seed.

use aqmlab_recipe::Mixer;

/// The path and the application of a run.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub seed: u64,
    /// The rate of the link in kbit/s.
    pub kbit: u64,
    /// The factor in per cent by which the rate changes halfway.
    pub step: u64,
    pub rtt_us: u64,
    /// The limit of the queue in packets.
    pub buffer: u64,
    /// The delay above which the queue marks packets; zero for never.
    pub mark_us: u64,
    /// The number of random losses per million packets.
    pub loss: u64,
    /// The interval at which acknowledgements arrive together; zero if each arrives without
    /// waiting.
    pub batch_us: u64,
    /// Whether the application pauses.
    pub pauses: bool,
    /// Whether the link fails for a while.
    pub outage: bool,
    /// Whether some recoveries are spurious.
    pub spurious: bool,
    pub seconds: u64,
}

impl Recipe {
    /// Draws the recipe of a run.
    pub fn draw(seed: u64) -> Self {
        let mut mixer = Mixer(seed ^ 0x5eed);
        let rates = [500, 2_000, 5_000, 12_000, 25_000, 50_000];
        Self {
            seed,
            kbit: mixer.one_of(&rates),
            step: mixer.one_of(&[100, 100, 10, 50, 200, 400]),
            rtt_us: mixer.one_of(&[500, 2_000, 4_000, 10_000, 25_000, 40_000, 100_000, 200_000]),
            buffer: mixer.one_of(&[5, 20, 100, 1_000]),
            mark_us: mixer.one_of(&[0, 0, 500, 1_000, 5_000, 20_000]),
            loss: mixer.one_of(&[0, 0, 0, 100, 2_000, 20_000]),
            batch_us: mixer.one_of(&[0, 0, 0, 2_000, 10_000]),
            pauses: mixer.below(3) == 0,
            outage: mixer.below(5) == 0,
            spurious: mixer.below(3) == 0,
            seconds: 7 + mixer.below(7),
        }
    }
}
