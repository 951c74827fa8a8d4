//! The application's side of the send buffer.

/// An application that writes.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// The application writes without end, as fast as the buffer empties.
    pub(crate) is_unlimited: bool,
    /// The last write was cut short, and the application waits for space.
    pub(crate) waits_for_space: bool,
    /// The bytes that the last write could not place.
    pub(crate) missing: u64,
}

impl Writer {
    /// Records that the buffer took `taken` of `wanted` bytes.
    pub(crate) fn on_write(&mut self, taken: u64, wanted: u64) {
        self.waits_for_space = taken < wanted;
        self.missing = wanted - taken;
    }

    /// Whether the application has data at hand, however little is in the buffer.
    pub(crate) const fn has_more(&self) -> bool {
        self.waits_for_space || self.is_unlimited
    }
}
