//! The objects of a web page.
//!
//! Sources:
//!
//! - `archive2016`: the mean page of httparchive.org on 2 December 2016. It has 2.4 MB in 106
//!   requests over 35 connections (quoted by Armitage et al. 2017);
//! - `small`, `large`: the front pages of a search engine and of a news site. The first has 56 KiB
//!   in 3 requests, the second 3 MiB in 110 requests (Høiland-Jørgensen et al. 2017);
//! - `3gpp`: the HTTP model of 3GPP and NGMN as in ns-3 (`three-gpp-http-variables`). The main
//!   object is lognormal with a mean of 10 710 bytes and a deviation of 25 032 bytes, within 100
//!   bytes to 2 MB. Embedded objects have a mean of 7758 bytes and a deviation of 126 168 bytes,
//!   within 50 bytes to 2 MB. Their number is Pareto with shape 1.1 and scale 2, drawn again above
//!   55, minus 2. The parsing time has a mean of 0.13 s.
//!
//! If only the total of a page is published, the sizes of its objects are lognormal with a
//! deviation of twice their mean. The sizes are scaled to the total. This deviation is not from the
//! sources.

use aqmlab_core::{Duration, Rng, math};

/// The values of the parameter `page`.
pub(crate) const PAGES: &[&str] = &["archive2016", "small", "large", "3gpp", "custom"];

/// The maximum number of objects of a page.
pub(crate) const MOST_OBJECTS: usize = 10_000;

const SPREAD: f64 = 2.0;
const LARGEST: f64 = 2e6;

/// A model of pages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Model {
    /// A page of `objects` objects, which together have `bytes` bytes.
    Total { bytes: u64, objects: usize },
    /// A page of the 3GPP model.
    Lognormal,
}

impl Model {
    /// Returns the model that `word` names. Only `custom` uses `bytes` and `objects`.
    pub(crate) fn named(word: &str, bytes: u64, objects: usize) -> Self {
        match word {
            "archive2016" => Self::Total { bytes: 2_400_000, objects: 106 },
            "small" => Self::Total { bytes: 56 * 1_024, objects: 3 },
            "large" => Self::Total { bytes: 3 * 1_024 * 1_024, objects: 110 },
            "3gpp" => Self::Lognormal,
            _ => Self::Total { bytes, objects: objects.clamp(1, MOST_OBJECTS) },
        }
    }

    fn sizes(self, rng: &mut Rng) -> Vec<u64> {
        match self {
            Self::Total { bytes, objects } => {
                let drawn: Vec<f64> = (0..objects).map(|_| rng.lognormal(1.0, SPREAD)).collect();
                let scale = bytes as f64 / drawn.iter().sum::<f64>();
                drawn.iter().map(|size| ((size * scale) as u64).max(1)).collect()
            }
            Self::Lognormal => {
                let embedded = embedded(rng);
                let main = within(100.0, LARGEST, || rng.lognormal(10_710.0, 25_032.0));
                let mut sizes = vec![main];
                sizes.extend(
                    (0..embedded)
                        .map(|_| within(50.0, LARGEST, || rng.lognormal(7_758.0, 126_168.0))),
                );
                sizes
            }
        }
    }

    /// Draws the time that a browser takes to parse the main object. It is zero except in the 3GPP
    /// model.
    pub(crate) fn parsing(self, rng: &mut Rng) -> Duration {
        match self {
            Self::Total { .. } => Duration::ZERO,
            Self::Lognormal => Duration::from_secs_f64(rng.exponential(0.13)),
        }
    }
}

/// Draws the number of objects embedded in a page of the 3GPP model.
fn embedded(rng: &mut Rng) -> usize {
    loop {
        let drawn = 2.0 / math::pow(1.0 - rng.unit(), 1.0 / 1.1);
        if drawn <= 55.0 {
            return drawn as usize - 2;
        }
    }
}

fn within(least: f64, most: f64, mut draw: impl FnMut() -> f64) -> u64 {
    loop {
        let size = draw();
        if (least..=most).contains(&size) {
            return size as u64;
        }
    }
}

/// An object to fetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Object {
    pub(crate) size: u64,
    /// The host that serves the object.
    pub(crate) host: usize,
    /// The number of the object that refers to this object; 0 for the first object, the page
    /// itself.
    pub(crate) parent: usize,
}

/// Draws a page of `model`, spread over `hosts` hosts. Its objects, including the page itself, are
/// discovered in up to `depth` steps; `depth` must be at least 2.
pub(crate) fn page(model: Model, hosts: usize, depth: usize, rng: &mut Rng) -> Vec<Object> {
    let sizes = model.sizes(rng);
    let (embedded, steps) = (sizes.len() - 1, depth - 1);
    // Step s has the objects from start(s) up to start(s + 1); step 0 is the main object.
    let start = |step: usize| if step == 0 { 0 } else { 1 + (step - 1) * embedded / steps };
    let step_of = |n: usize| (1..=steps).rev().find(|&step| start(step) <= n).unwrap_or(0);
    let mut parent = |n: usize| {
        let step = step_of(n);
        let before = (0..step).rev().find(|&earlier| start(earlier) < start(step)).unwrap_or(0);
        let (low, high) = (start(before), start(step));
        low + rng.below((high - low) as u64) as usize
    };
    sizes
        .iter()
        .enumerate()
        .map(|(n, &size)| Object {
            size,
            host: n % hosts,
            parent: if n == 0 { 0 } else { parent(n) },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn pages_have_their_bytes_and_objects() {
        for (word, bytes, objects) in
            [("archive2016", 2.4e6, 106), ("small", 57_344.0, 3), ("large", 3_145_728.0, 110)]
        {
            let mut rng = Rng::stream(1, word);
            let page = page(Model::named(word, 0, 0), 6, 3, &mut rng);
            assert_eq!(page.len(), objects);
            close(page.iter().map(|object| object.size).sum::<u64>() as f64, bytes, 200.0);
        }
    }

    #[test]
    fn pages_of_3gpp_have_its_means() {
        let mut rng = Rng::stream(1, "3gpp");
        let pages: Vec<_> = (0..20_000).map(|_| page(Model::Lognormal, 1, 2, &mut rng)).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (mut n, mut sum) = (0.0, 0.0);
            values.for_each(|value| (n, sum) = (n + 1.0, sum + value));
            sum / n
        };
        // The limit of 2 MB lowers the mean of the main objects only slightly, from 10 710 bytes.
        close(mean(&mut pages.iter().map(|page| page[0].size as f64)), 10_700.0, 400.0);
        close(mean(&mut pages.iter().map(|page| page.len() as f64 - 1.0)), 3.95, 0.4);
        assert!(pages.iter().all(|page| page.len() <= 54));
    }

    #[test]
    fn every_object_is_found_from_one_of_the_step_before() {
        for depth in 2..6 {
            for objects in [1, 2, 3, 106] {
                let model = Model::Total { bytes: 1_000_000, objects };
                let page = page(model, 6, depth, &mut Rng::stream(1, "depth"));
                let deep = |mut n: usize| {
                    let mut steps = 0;
                    while n != 0 {
                        assert!(page[n].parent < n, "{n} of {objects}");
                        n = page[n].parent;
                        steps += 1;
                    }
                    steps
                };
                let deepest = (0..objects).map(deep).max().unwrap();
                assert_eq!(deepest, (objects - 1).min(depth - 1), "{objects}, {depth}");
            }
        }
    }
}
