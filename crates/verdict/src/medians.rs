//! The measurements that a reader compares between conditions, whatever an application needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measured::Measured;
use crate::statistics::median;

/// The medians over seeds of an application's measurements. Each measurement is from the direction
/// in which it is worst, among the directions that carry data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Medians {
    /// The median of the round-trip times in milliseconds.
    pub rtt_p50_ms: Option<f64>,
    /// The 95th percentile of the round-trip times in milliseconds.
    pub rtt_p95_ms: Option<f64>,
    /// The mean rate in Mbit/s.
    pub throughput_mean_mbit: Option<f64>,
}

impl Medians {
    /// Returns the measurements of one trial.
    pub(crate) fn of_trial(measured: &Measured) -> Self {
        Self {
            rtt_p50_ms: measured.worst("rtt_p50_ms", f64::max),
            rtt_p95_ms: measured.worst("rtt_p95_ms", f64::max),
            throughput_mean_mbit: measured.worst("throughput_mean_mbit", f64::min),
        }
    }

    /// Returns the medians over trials. Each median leaves out the trials without its measurement.
    pub(crate) fn over(trials: &[Self]) -> Self {
        let of = |value: fn(&Self) -> Option<f64>| {
            median(&trials.iter().filter_map(value).collect::<Vec<_>>())
        };
        Self {
            rtt_p50_ms: of(|trial| trial.rtt_p50_ms),
            rtt_p95_ms: of(|trial| trial.rtt_p95_ms),
            throughput_mean_mbit: of(|trial| trial.throughput_mean_mbit),
        }
    }
}
