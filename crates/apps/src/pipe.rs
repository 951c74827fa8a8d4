//! Messages over one direction of a connection, framed by counting bytes.

use std::collections::VecDeque;

use aqmlab_core::Side;

use crate::{ConnId, Io};

/// One direction of a connection, and the messages in transfer.
///
/// The content of a message, `T`, is delivered at the far end when the last byte of the message has
/// been read there. The two ends of a model therefore share no state.
#[derive(Debug)]
pub struct Pipe<T> {
    conn: ConnId,
    from: Side,
    /// The number of bytes that the send buffer has not yet accepted.
    unsent: u64,
    /// The messages not yet read completely, with their sizes.
    messages: VecDeque<(u64, T)>,
    /// The number of bytes read of the first message.
    read: u64,
}

impl<T> Pipe<T> {
    /// Returns an empty direction of `conn`, in which `from` sends.
    pub const fn new(conn: ConnId, from: Side) -> Self {
        Self { conn, from, unsent: 0, messages: VecDeque::new(), read: 0 }
    }

    /// Writes a message of `bytes` bytes, but at least one byte, after the earlier messages.
    pub fn push(&mut self, bytes: u64, message: T, io: &mut dyn Io) {
        self.messages.push_back((bytes.max(1), message));
        self.unsent += bytes.max(1);
        self.flush(io);
    }

    /// Tries again to write the bytes that the send buffer has not yet accepted.
    pub fn flush(&mut self, io: &mut dyn Io) {
        if self.unsent > 0 {
            self.unsent -= io.write(self.conn, self.from, self.unsent).min(self.unsent);
        }
    }

    /// Returns whether there are bytes that the send buffer has not yet accepted.
    pub const fn is_blocked(&self) -> bool {
        self.unsent > 0
    }

    /// Records that `bytes` more were read at the far end.
    pub const fn advance(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
    }

    /// Removes and returns the next message, if it has been read completely.
    pub fn pop(&mut self) -> Option<T> {
        let &(size, _) = self.messages.front()?;
        if self.read < size {
            return None;
        }
        self.read -= size;
        self.messages.pop_front().map(|(_, message)| message)
    }

    /// Returns the first message, the number of its bytes that were read, and its size; `None` if
    /// no message is in transfer.
    pub fn head(&self) -> Option<(&T, u64, u64)> {
        self.messages.front().map(|(size, message)| (message, self.read.min(*size), *size))
    }

    /// Returns the number of messages in transfer.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether no message is in transfer.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Net;
    use crate::{Io, Open};

    #[test]
    fn a_message_is_handed_out_with_its_last_byte() {
        let mut net = Net::new(1);
        let conn = net.open(Open::tcp(Side::Home));
        let mut pipe = Pipe::new(conn, Side::Home);
        pipe.push(100, 'a', &mut net);
        pipe.push(50, 'b', &mut net);
        pipe.advance(99);
        assert_eq!(pipe.pop(), None);
        assert_eq!(pipe.head(), Some((&'a', 99, 100)));
        pipe.advance(51);
        assert_eq!((pipe.pop(), pipe.pop(), pipe.pop()), (Some('a'), Some('b'), None));
    }

    #[test]
    fn a_write_cut_short_goes_on_when_there_is_room() {
        let mut net = Net::new(1);
        let conn = net.open(Open::tcp(Side::Home));
        let mut pipe = Pipe::new(conn, Side::Home);
        pipe.push(1_000_000, (), &mut net);
        assert!(pipe.is_blocked());
        pipe.flush(&mut net);
        assert!(pipe.is_blocked(), "nothing has left yet");
    }
}
