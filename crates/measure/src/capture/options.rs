//! The options of a measurement of two captures.

use aqmlab_core::{Duration, Instant};

use super::decode::Translation;
use crate::direction_meter::Limits;

/// The options of a measurement of two captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The names of the two captures in messages.
    pub names: [String; 2],
    /// The start of the statistics, counted from the first packet of the sender's capture, or of
    /// either capture if the clocks agree.
    pub from: Instant,
    /// The end of the statistics, counted like the start and excluded.
    pub to: Instant,
    /// The width of a bin of the time series.
    pub step: Duration,
    /// The translation of addresses between the taps.
    pub translation: Translation,
    /// Whether the taps share one clock, which one-way delay requires. A negative delay then counts
    /// as zero.
    pub synchronised: bool,
    /// Whether to keep every round trip. The memory then grows with the captures.
    pub keep_samples: bool,
    /// The number of later packets of a capture after which a packet missing from the other capture
    /// counts as unmatched.
    pub search: usize,
    /// The maximum number of flows measured. Packets of further flows are counted but not measured.
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
    /// Returns the interval of the statistics.
    pub(super) fn limits(&self) -> Limits {
        Limits::new(self.from, self.to)
    }
}
