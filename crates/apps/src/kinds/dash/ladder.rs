//! The bit rates of a video, and the sizes of its segments.
//!
//! Source: the Big Buck Bunny data set of Lederer, Müller and Timmerer (2012), as encoded again in
//! 2014. It has 20 rates for each segment length, named by the bandwidths in its MPDs
//! (`bunny_<bps>bps`). Of the MPD of 6-second segments, only the first, fourth, ninth, twelfth and
//! last rate were available. Its other rates are the geometric means of the rates for 4 and 10
//! seconds.
//!
//! Segment sizes are synthetic. The complexity of the scene is an AR(1) process with ρ = 0.5, which
//! changes the sizes at all rates together. Each rate has its own correlation with the complexity.
//! The deviation and the range of the sizes come from the first 150 two-second segments at each
//! measured rate. Rates that were not measured are interpolated between their neighbours. Segments
//! of other lengths vary like two-second segments.

use aqmlab_core::{Duration, Rng, math};

const RATES_1S: [u64; 20] = [
    46_980, 91_917, 135_410, 182_366, 226_106, 270_316, 352_546, 424_520, 537_825, 620_705,
    808_057, 1_071_529, 1_312_787, 1_662_809, 2_234_145, 2_617_284, 3_305_118, 3_841_983,
    4_242_923, 4_726_737,
];
const RATES_2S: [u64; 20] = [
    45_652, 89_283, 131_087, 178_351, 221_600, 262_537, 334_349, 396_126, 522_286, 595_491,
    791_182, 1_032_682, 1_244_778, 1_546_902, 2_133_691, 2_484_135, 3_078_587, 3_526_922,
    3_840_360, 4_219_897,
];
const RATES_4S: [u64; 20] = [
    45_226, 88_783, 128_503, 177_437, 217_761, 255_865, 323_047, 378_355, 509_091, 577_751,
    782_553, 1_008_699, 1_207_152, 1_473_801, 2_087_347, 2_409_742, 2_944_291, 3_340_509,
    3_613_836, 3_936_261,
];
const RATES_6S: [u64; 20] = [
    45_514, 88_632, 127_956, 176_827, 217_148, 254_422, 320_175, 373_604, 506_300, 573_107,
    776_936, 1_006_743, 1_190_581, 1_452_361, 2_079_150, 2_397_031, 2_914_183, 3_292_865,
    3_553_293, 3_858_484,
];
const RATES_10S: [u64; 20] = [
    45_373, 88_482, 127_412, 176_780, 216_536, 252_988, 317_328, 368_912, 503_270, 568_500,
    771_359, 987_061, 1_174_238, 1_431_232, 2_070_985, 2_384_387, 2_884_382, 3_245_900, 3_493_765,
    3_792_491,
];
const RATES_15S: [u64; 20] = [
    45_351, 88_563, 127_052, 176_031, 215_976, 252_582, 315_047, 365_887, 500_530, 565_835,
    769_540, 982_168, 1_165_885, 1_419_205, 2_061_491, 2_372_196, 2_863_389, 3_222_578, 3_464_259,
    3_748_236,
];

/// The height of the picture in lines at each rate. The heights come from the MPDs. If the MPD of a
/// rate was not available, the rate has the height of a neighbouring rate.
pub(crate) const LINES: [u16; 20] = [
    240, 240, 240, 360, 360, 360, 360, 360, 480, 480, 720, 720, 720, 720, 1080, 1080, 1080, 1080,
    1080, 1080,
];

/// The values of the parameter `segment`.
pub(crate) const LENGTHS: &[&str] = &["1s", "2s", "4s", "6s", "10s", "15s"];

/// Returns the segment length that `word` names, and its rates in bits per second.
pub(crate) fn offer(word: &str) -> (Duration, &'static [u64]) {
    let (seconds, rates) = match word {
        "1s" => (1, &RATES_1S),
        "4s" => (4, &RATES_4S),
        "6s" => (6, &RATES_6S),
        "10s" => (10, &RATES_10S),
        "15s" => (15, &RATES_15S),
        _ => (2, &RATES_2S),
    };
    (Duration::from_secs(seconds), rates)
}

/// The variation of the segment sizes at one rate. `least` and `most` limit a size relative to the
/// mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The mean size divided by the size that the rate announces.
    mean: f64,
    /// The relative standard deviation of the size.
    cv: f64,
    least: f64,
    most: f64,
    /// The correlation of the size with the complexity of the scene.
    follows: f64,
}

impl Spread {
    /// No variation: every segment has the size that the rate announces.
    pub(crate) const NONE: Self = Self { mean: 1.0, cv: 0.0, least: 1.0, most: 1.0, follows: 0.0 };

    fn between(self, other: Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| a + (b - a) * share;
        Self {
            mean: mix(self.mean, other.mean),
            cv: mix(self.cv, other.cv),
            least: mix(self.least, other.least),
            most: mix(self.most, other.most),
            follows: mix(self.follows, other.follows),
        }
    }
}

const fn spread(mean: f64, cv: f64, least: f64, most: f64, follows: f64) -> Spread {
    Spread { mean, cv, least, most, follows }
}

/// The measured spreads, each with its index in the ladder of two-second segments.
const MEASURED: [(usize, Spread); 14] = [
    (1, spread(0.985, 0.083, 0.82, 1.18, 0.34)),
    (2, spread(0.978, 0.111, 0.62, 1.22, 0.54)),
    (3, spread(0.986, 0.082, 0.77, 1.16, 0.40)),
    (4, spread(0.981, 0.098, 0.68, 1.17, 0.49)),
    (5, spread(0.980, 0.118, 0.59, 1.20, 0.58)),
    (6, spread(0.974, 0.171, 0.45, 1.27, 0.71)),
    (9, spread(0.971, 0.153, 0.51, 1.22, 0.69)),
    (10, spread(0.977, 0.103, 0.62, 1.21, 0.55)),
    (11, spread(0.976, 0.141, 0.50, 1.24, 0.67)),
    (12, spread(0.970, 0.189, 0.43, 1.30, 0.73)),
    (13, spread(0.961, 0.255, 0.35, 1.40, 0.83)),
    (15, spread(0.970, 0.194, 0.40, 1.30, 0.76)),
    (17, spread(0.935, 0.310, 0.29, 1.58, 0.91)),
    (19, spread(0.907, 0.429, 0.25, 2.20, 1.0)),
];

/// Returns the spread of the rate at `index` of a ladder of 20 rates, interpolated between the
/// measured spreads. The lowest rate has the spread of the second.
pub(crate) fn spread_of(index: usize) -> Spread {
    let after = MEASURED.iter().find(|(at, _)| *at >= index);
    let before = MEASURED.iter().rev().find(|(at, _)| *at <= index);
    match (before, after) {
        (Some(&(low, a)), Some(&(high, b))) if high > low => {
            a.between(b, (index - low) as f64 / (high - low) as f64)
        }
        (Some(&(_, spread)), _) | (None, Some(&(_, spread))) => spread,
        (None, None) => Spread::NONE,
    }
}

/// The segments of a video, generated in order at all rates.
///
/// The random draws do not depend on the requested rates. Two runs that differ in their queues
/// therefore play the same video.
#[derive(Debug)]
pub(crate) struct Segments {
    length: Duration,
    rates: Vec<(u64, Spread)>,
    complexity: Option<f64>,
    /// The number of segments generated; `sizes` has the sizes of the last segment.
    made: u64,
    sizes: Vec<u64>,
}

impl Segments {
    pub(crate) fn new(length: Duration, rates: Vec<(u64, Spread)>) -> Self {
        let sizes = vec![0; rates.len()];
        Self { length, rates, complexity: None, made: 0, sizes }
    }

    /// Returns the size in bytes of segment `number` at the rate with `index`. Segments must be
    /// requested in order; the last segment may be requested again.
    pub(crate) fn size(&mut self, number: u64, index: usize, rng: &mut Rng) -> u64 {
        while self.made <= number {
            self.make(rng);
            self.made += 1;
        }
        self.sizes[index]
    }

    fn make(&mut self, rng: &mut Rng) {
        const RHO: f64 = 0.5;
        let fresh = rng.normal(0.0, 1.0);
        let z = self.complexity.map_or(fresh, |z| RHO * z + math::sqrt(1.0 - RHO * RHO) * fresh);
        self.complexity = Some(z);
        for ((rate, spread), size) in self.rates.iter().zip(&mut self.sizes) {
            let own = math::sqrt(1.0 - spread.follows * spread.follows) * rng.normal(0.0, 1.0);
            let varied = 1.0 + spread.cv * (spread.follows * z + own);
            let factor = spread.mean * varied.clamp(spread.least, spread.most);
            *size = ((*rate as f64 * self.length.as_secs_f64() / 8.0 * factor) as u64).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn every_ladder_rises() {
        for word in LENGTHS {
            let (length, rates) = offer(word);
            assert_eq!(length.to_string(), *word);
            assert!(rates.windows(2).all(|pair| pair[0] < pair[1]), "{word}");
        }
    }

    #[test]
    fn six_second_rates_not_seen_are_geometric_means() {
        for index in [1, 2, 4, 5, 6, 7, 9, 10, 12, 13, 14, 15, 16, 17, 18] {
            let mean = math::sqrt(RATES_4S[index] as f64 * RATES_10S[index] as f64);
            close(RATES_6S[index] as f64, mean, 2.0);
        }
    }

    #[test]
    fn rates_in_between_vary_as_their_neighbours_do() {
        assert_eq!(spread_of(0), MEASURED[0].1);
        assert_eq!(spread_of(19), MEASURED[13].1);
        close(spread_of(14).cv, f64::midpoint(0.255, 0.194), 1e-9);
        close(spread_of(7).cv, 0.171 + (0.153 - 0.171) / 3.0, 1e-9);
    }

    #[test]
    fn sizes_have_the_measured_mean_and_deviation() {
        let rates = RATES_2S.iter().enumerate().map(|(n, &rate)| (rate, spread_of(n))).collect();
        let mut segments = Segments::new(Duration::from_secs(2), rates);
        let mut rng = Rng::stream(1, "segments");
        for (index, cv, slack) in [(1, 0.083, 0.01), (12, 0.189, 0.03), (19, 0.429, 0.07)] {
            segments.made = 0;
            let nominal = RATES_2S[index] as f64 / 4.0;
            let all: Vec<f64> =
                (0..20_000).map(|n| segments.size(n, index, &mut rng) as f64 / nominal).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let var = all.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>();
            let sd = math::sqrt(var / all.len() as f64);
            close(mean, spread_of(index).mean, 0.05);
            close(sd / mean, cv, slack);
        }
    }

    #[test]
    fn the_video_is_the_same_whatever_is_asked_for() {
        let all = |indices: [usize; 6]| {
            let rates = RATES_2S.iter().map(|&rate| (rate, spread_of(5))).collect();
            let mut segments = Segments::new(Duration::from_secs(2), rates);
            let mut rng = Rng::stream(1, "segments");
            for (n, index) in indices.into_iter().enumerate() {
                segments.size(n as u64, index, &mut rng);
            }
            segments.size(6, 3, &mut rng)
        };
        assert_eq!(all([0; 6]), all([19, 3, 4, 19, 0, 7]));
    }
}
