//! Reads the bytes of a capture, keeps the position for errors, and reports a file that ends too
//! early.

use std::io::{BufRead, BufReader, Read};

use super::error::CaptureError;

/// The byte order of a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// The bytes of one file, with the position of the reader.
pub(super) struct Input<R> {
    bytes: BufReader<R>,
    file: String,
    /// The number of packets begun.
    pub(super) packet: u64,
    /// The number of bytes read.
    pub(super) offset: u64,
    /// The offset at which the value being read starts, for errors.
    begun: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(bytes: R, file: &str) -> Self {
        let bytes = BufReader::with_capacity(1 << 16, bytes);
        Self { bytes, file: file.into(), packet: 0, offset: 0, begun: 0 }
    }

    /// Marks the start of the next value. Errors report this offset.
    pub(super) fn begin(&mut self) {
        self.begun = self.offset;
    }

    /// Returns an error at the start of the value that is being read.
    pub(super) fn error(&self, problem: impl Into<String>) -> CaptureError {
        CaptureError {
            file: self.file.clone(),
            packet: self.packet,
            offset: self.begun,
            problem: problem.into(),
            source: None,
        }
    }

    /// Returns whether the input is at its end.
    pub(super) fn at_end(&mut self) -> Result<bool, CaptureError> {
        Ok(self.peek()?.is_empty())
    }

    /// Fills the whole `buffer`. If the file ends first, the error names `what`.
    pub(super) fn fill(&mut self, buffer: &mut [u8], what: &str) -> Result<(), CaptureError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let ready = self.peek()?;
            if ready.is_empty() {
                return Err(self.cut(what, buffer.len() as u64, filled as u64));
            }
            let n = ready.len().min(buffer.len() - filled);
            buffer[filled..filled + n].copy_from_slice(&ready[..n]);
            filled += n;
            self.take(n);
        }
        Ok(())
    }

    /// Skips `n` bytes. If the file ends first, the error names `what`.
    pub(super) fn skip(&mut self, n: u64, what: &str) -> Result<(), CaptureError> {
        let mut left = n;
        while left > 0 {
            let ready = self.peek()?.len() as u64;
            if ready == 0 {
                return Err(self.cut(what, n, n - left));
            }
            let taken = ready.min(left);
            left -= taken;
            self.take(taken as usize);
        }
        Ok(())
    }

    fn cut(&self, what: &str, wanted: u64, got: u64) -> CaptureError {
        self.error(format!("the file ends within {what}: {got} of its {wanted} bytes are there"))
    }

    fn peek(&mut self) -> Result<&[u8], CaptureError> {
        loop {
            match self.bytes.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let mut problem = self.error("cannot be read");
                    (problem.offset, problem.source) = (self.offset, Some(error));
                    return Err(problem);
                }
            }
        }
        Ok(self.bytes.buffer())
    }

    fn take(&mut self, n: usize) {
        self.bytes.consume(n);
        self.offset += n as u64;
    }
}
