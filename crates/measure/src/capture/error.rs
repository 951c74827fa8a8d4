//! What is wrong with a capture, and where.

use std::fmt;
use std::io;

/// A capture that cannot be read: which, at which packet and byte, and what is wrong there.
#[derive(Debug)]
pub struct CaptureError {
    /// The name given to the capture.
    pub file: String,
    /// Which packet, counted from 1; 0 before the first.
    pub packet: u64,
    /// Bytes from the start of the file to what is wrong.
    pub offset: u64,
    /// What was found and what is allowed.
    pub problem: String,
    /// What the operating system said, if it was at fault.
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
