//! The options of a measurement of two captures.

use aqmlab_core::{Duration, Instant};

use super::decode::Translation;
use crate::direction_meter::Limits;

/// The options of a measurement of two captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The names of the two captures in messages.
    pub names: [String; 2],
    /// Statistics begin so long after the first packet of the sender's capture.
    pub from: Instant,
    /// Statistics end so long after it.
    pub to: Instant,
    /// Width of a bin of the time series.
    pub step: Duration,
    /// The translation of addresses between the taps.
    pub translation: Translation,
    /// Whether the clocks of the taps agree, which one-way delay requires. A delay below zero
    /// counts as zero.
    pub synchronised: bool,
    /// Whether every round trip is kept, which costs memory.
    pub keep_samples: bool,
    /// The number of packets of a capture that may follow one that is missing from the other,
    /// before it is given up.
    pub search: usize,
    /// Flows measured; packets of further ones are counted and left out.
    pub max_flows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            names: ["first capture".into(), "second capture".into()],
            from: Instant::ZERO,
            to: Instant::NEVER,
            step: Duration::from_millis(250),
            translation: Translation::None,
            synchronised: false,
            keep_samples: false,
            search: 16_000,
            max_flows: 16_384,
        }
    }
}

impl Options {
    /// The interval of the statistics.
    pub(super) fn limits(&self) -> Limits {
        Limits { from: self.from, to: self.to }
    }
}
