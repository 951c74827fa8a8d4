//! The completion time of a transfer that has a size.
//!
//! If the trial ends before a transfer, the transfer's time is projected: the remaining bytes
//! continue at the measured goodput.

use aqmlab_apps::needs::{BULK_BYTES, BULK_MS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rows::{AppRow, FlowRow};
use crate::trial::{App, Trial};

/// The metrics of a transfer: the time that it took, and the bytes that it read.
pub(crate) const METRICS: [&str; 2] = ["completion_time_s", "read_bytes"];

/// The completion time of a transfer, in one trial or over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferTime {
    /// The number of bytes to transfer over all connections.
    pub size_bytes: u64,
    /// The time in milliseconds, or the median of the times over seeds.
    pub ms: f64,
    /// Whether the time is projected, because a trial ended before the transfer.
    pub projected: bool,
    /// The shortest time among the seeds, in milliseconds.
    pub least_ms: f64,
    /// The longest time among the seeds, in milliseconds.
    pub most_ms: f64,
}

/// A transfer with a size, and its outcome in a trial.
pub(crate) struct Transfer {
    size_bytes: u64,
    took_ms: Option<f64>,
    /// The time from the transfer's start to the latest time at which it can end.
    had_ms: f64,
    read_bytes: f64,
    goodput_mbit: f64,
}

impl Transfer {
    /// Returns the transfer of `app`; `None` if it has no size.
    pub(crate) fn of(trial: &Trial, app: &App, flows: &[FlowRow], apps: &[AppRow]) -> Option<Self> {
        let parallel = app.param("parallel").unwrap_or(1);
        let size_bytes = app.param("size").unwrap_or(0).saturating_mul(parallel);
        let own = |metric: &str| {
            let row = apps.iter().find(|row| row.flow == app.name && row.metric == metric);
            row.map(|row| row.value).filter(|value| value.is_finite())
        };
        let row = flows.iter().find(|row| row.flow == app.name && row.primary);
        (size_bytes > 0).then(|| Self {
            size_bytes,
            took_ms: own(METRICS[0]).map(|seconds| 1e3 * seconds),
            had_ms: trial.end_of(app).saturating_sub(app.start_ns) as f64 / 1e6,
            read_bytes: own(METRICS[1]).unwrap_or(0.0),
            goodput_mbit: row.and_then(|row| row.get("goodput_mbit")).unwrap_or(0.0),
        })
    }

    /// Returns the judged time in milliseconds, if a limit applies to a transfer of this size. An
    /// unfinished transfer is judged by its age at the end of the trial, if this age has reached
    /// the limit of tolerable times.
    pub(crate) fn judged_ms(&self) -> Option<f64> {
        if self.size_bytes > BULK_BYTES {
            return None;
        }
        self.took_ms.or(Some(self.had_ms).filter(|&ms| ms >= BULK_MS[1]))
    }

    /// Returns the transfer's time, measured or projected; `None` if the transfer is unfinished and
    /// has no goodput.
    pub(crate) fn time(&self) -> Option<TransferTime> {
        let projected = || {
            let left_bits = (self.size_bytes as f64 - self.read_bytes).max(0.0) * 8.0;
            let left_ms = left_bits / (self.goodput_mbit * 1e3);
            (self.goodput_mbit > 0.0).then_some(self.had_ms + left_ms)
        };
        let ms = self.took_ms.or_else(projected)?;
        let projected = self.took_ms.is_none();
        Some(TransferTime { size_bytes: self.size_bytes, ms, projected, least_ms: ms, most_ms: ms })
    }
}
