//! The measurements that a trial keeps.

use aqmlab_core::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units;

/// The measurements to keep.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Whether the taps record anything.
    pub enabled: bool,
    /// The start of the measured interval; time series begin with the trial.
    #[serde(rename = "from_ns", with = "units::instant")]
    #[schemars(with = "u64")]
    pub from: Instant,
    /// The end of the measured interval. If it is absent, the interval ends with the trial.
    #[serde(rename = "to_ns", with = "units::maybe_instant")]
    #[schemars(with = "Option<u64>")]
    pub to: Option<Instant>,
    /// The width of a throughput window.
    #[serde(rename = "window_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub window: Duration,
    /// The time between the starts of two successive windows. The window width is a whole multiple
    /// of the step.
    #[serde(rename = "step_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub step: Duration,
    /// The interval at which senders and queues are sampled; zero disables sampling. A long trial
    /// is sampled less often.
    #[serde(rename = "sample_ns", with = "units::nanos")]
    #[schemars(with = "u64")]
    pub sample: Duration,
    /// Whether every packet is kept, for tables and captures.
    pub packets: bool,
    /// Whether time series are kept: throughput, delays, queues, senders, and the metrics that
    /// applications record.
    pub series: bool,
    /// The maximum number of points of a time series. A longer trial has coarser steps.
    pub points: u32,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self {
            enabled: true,
            from: Instant::ZERO,
            to: None,
            window: Duration::from_millis(1_000),
            step: Duration::from_millis(250),
            sample: Duration::from_millis(100),
            packets: false,
            series: true,
            points: 1_024,
        }
    }
}
