//! Captures: the packets at the taps, in files that other tools can read and write.

mod decode;
mod error;
mod flow;
mod flows;
mod input;
mod matching;
mod options;
mod read;
mod sides;
mod spp;
mod write;

use aqmlab_core::Duration;

pub use decode::{Endpoint, Translation, Tuple};
pub use error::CaptureError;
pub use options::Options;
pub use spp::{CaptureSummary, SppFlow, SppReport, spp};
pub use write::{CaptureWriter, Endpoints, write_captures};

/// The start of a trial in captures: midnight UTC on 1 January 2020. A capture needs a date, and a
/// fixed date gives the same bytes in every run.
pub const EPOCH: Duration = Duration::from_secs(1_577_836_800);
