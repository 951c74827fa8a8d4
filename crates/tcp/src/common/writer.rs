//! The application that writes to the send buffer, and the result of its last write.

/// An application that writes to the send buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// Whether the application writes without limit, as fast as the buffer empties.
    pub(crate) is_unlimited: bool,
    /// Whether the last write was cut short, so that the application waits for space.
    pub(crate) waits_for_space: bool,
    /// The number of bytes of the last write that did not fit.
    pub(crate) missing: u64,
}

impl Writer {
    /// Records that `taken` of `wanted` bytes were added to the buffer.
    pub(crate) fn on_write(&mut self, taken: u64, wanted: u64) {
        self.waits_for_space = taken < wanted;
        self.missing = wanted - taken;
    }

    /// Returns whether the application has more data to write, regardless of the buffer's contents.
    pub(crate) const fn has_more(&self) -> bool {
        self.waits_for_space || self.is_unlimited
    }
}
