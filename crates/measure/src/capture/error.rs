//! The error of an unreadable capture.

use std::fmt;
use std::io;

/// An unreadable capture: its name, the packet, the offset in the file, and the problem.
#[derive(Debug)]
pub struct CaptureError {
    /// The name given to the capture.
    pub file: String,
    /// The number of the packet, counted from 1; 0 before the first packet.
    pub packet: u64,
    /// The number of bytes from the start of the file to the problem.
    pub offset: u64,
    /// The problem, such as the value found and the values allowed.
    pub problem: String,
    /// The error of the operating system, if it is the cause.
    pub source: Option<io::Error>,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if self.packet > 0 {
            write!(f, "packet {}, ", self.packet)?;
        }
        write!(f, "byte {}: {}", self.offset, self.problem)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
