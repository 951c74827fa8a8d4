//! Captures: what the taps saw, as files that other tools read and write.

mod decode;
mod error;
mod flow;
mod flows;
mod input;
mod matching;
mod read;
mod sides;
mod spp;
mod write;

pub use decode::{Endpoint, Translation, Tuple};
pub use error::CaptureError;
pub use spp::{CaptureSummary, Options, SppFlow, SppReport, spp};
pub use write::{CaptureWriter, Endpoints, write_captures};
