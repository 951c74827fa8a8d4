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

pub use decode::{Endpoint, Translation, Tuple};
pub use error::CaptureError;
pub use options::Options;
pub use spp::{CaptureSummary, SppFlow, SppReport, spp};
pub use write::{CaptureWriter, Endpoints, write_captures};
