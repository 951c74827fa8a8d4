//! Streams: ordered bytes that are retransmitted independently of other streams.
//!
//! Source: RFC 9000 §2 and §3. The end of a stream counts as one byte after its data, so one set of
//! ranges describes both. Differences, each pinned by a test:
//!
//! - there is no flow control, so an end accepts all bytes that its application writes;
//! - an end reads data as soon as they arrive in order.

use aqmlab_core::QuicFrame;

use crate::ranges::Ranges;

/// The number of bytes of a stream whose application writes without limit.
const UNLIMITED: u64 = 1 << 60;

/// Bytes to send: of a stream, or of the TLS handshake in a number space.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// The number of bytes that the application has written.
    written: u64,
    /// Whether the data end after `written`.
    fin: bool,
    /// The offset of the first byte that was never sent.
    next: u64,
    /// The bytes to send again.
    lost: Ranges,
    /// The bytes that the peer has acknowledged.
    acked: Ranges,
}

/// A part of a [`SendBuffer`], for one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) fin: bool,
    pub(crate) is_repeated: bool,
}

impl SendBuffer {
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        if self.fin || self.written >= UNLIMITED {
            return 0;
        }
        self.written += bytes;
        bytes
    }

    pub(crate) fn write_unlimited(&mut self) {
        if !self.fin {
            self.written = UNLIMITED;
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.written >= UNLIMITED {
            self.written = self.next;
        }
        self.fin = true;
    }

    const fn end(&self) -> u64 {
        self.written + self.fin as u64
    }

    pub(crate) fn has_data(&self) -> bool {
        self.next < self.end() || self.has_lost_data()
    }

    pub(crate) fn has_lost_data(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Returns the offset of the next bytes to send.
    pub(crate) fn next_offset(&self) -> u64 {
        self.lost.first().map_or(self.next, |(start, _)| start)
    }

    /// Removes up to `most` bytes to send and returns them, if there are any. Lost bytes come
    /// first.
    pub(crate) fn take(&mut self, most: u32) -> Option<Chunk> {
        let (start, end, is_repeated) = match self.lost.first() {
            Some((start, end)) => (start, end, true),
            None if self.next < self.end() => (self.next, self.end(), false),
            None => return None,
        };
        let data = (end.min(self.written) - start.min(self.written)).min(u64::from(most));
        let fin = self.fin && end > self.written && start.max(self.written) == start + data;
        if data == 0 && !fin {
            return None;
        }
        let past = start + data + u64::from(fin);
        if is_repeated {
            self.lost.remove(start, past);
        } else {
            self.next = past;
        }
        Some(Chunk { offset: start, len: data as u32, fin, is_repeated })
    }

    /// Puts the bytes of a lost frame back, except bytes that have been acknowledged.
    pub(crate) fn on_lost(&mut self, offset: u64, len: u64) {
        self.lost.insert_without(offset, offset + len, &self.acked);
    }

    pub(crate) fn on_acked(&mut self, offset: u64, len: u64) {
        self.lost.remove(offset, offset + len);
        self.acked.insert(offset, offset + len);
    }

    /// Returns whether the peer has acknowledged all bytes and the end.
    pub(crate) fn is_delivered(&self) -> bool {
        self.fin && self.acked.first() == Some((0, self.end()))
    }
}

/// Received bytes, in any order.
#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    /// The bytes received.
    got: Ranges,
    /// The number of bytes that the application has read, in order.
    read: u64,
    /// The number of bytes of the stream, once its end has arrived.
    end: Option<u64>,
    /// Whether the application has read the end.
    is_finished: bool,
}

/// The effect of a frame on the reader of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The number of bytes that became readable.
    pub(crate) bytes: u64,
    /// Whether this frame made the end of the stream readable.
    pub(crate) finished: bool,
}

impl ReceiveBuffer {
    pub(crate) fn receive(&mut self, offset: u64, len: u64, fin: bool) -> Progress {
        if fin {
            self.end = Some(offset + len);
        }
        self.got.insert(offset, offset + len + u64::from(fin));
        let reached = self.got.first().filter(|(start, _)| *start == 0).map_or(0, |(_, end)| end);
        let data = self.end.map_or(reached, |end| reached.min(end));
        let bytes = data - self.read;
        self.read = data;
        let finished = !self.is_finished && self.end.is_some_and(|end| reached > end);
        self.is_finished |= finished;
        Progress { bytes, finished }
    }

    pub(crate) const fn read(&self) -> u64 {
        self.read
    }

    const fn is_finished(&self) -> bool {
        self.is_finished
    }
}

#[derive(Debug, Default)]
struct Stream {
    send: SendBuffer,
    receive: ReceiveBuffer,
}

/// The streams of one end, in the order of opening. A stream sends all its data before the next
/// stream does. This is the order of responses without a stated priority (RFC 9218 §10).
#[derive(Debug, Default)]
pub(crate) struct Streams {
    all: Vec<Stream>,
    /// The first stream that may have data.
    first: usize,
}

impl Streams {
    fn stream(&mut self, stream: u32) -> &mut Stream {
        let index = stream as usize;
        if self.all.len() <= index {
            self.all.resize_with(index + 1, Stream::default);
        }
        &mut self.all[index]
    }

    /// Returns the sending side of a stream. Creates the stream if it does not exist.
    pub(crate) fn sender(&mut self, stream: u32) -> &mut SendBuffer {
        self.first = self.first.min(stream as usize);
        &mut self.stream(stream).send
    }

    /// Records that the peer has acknowledged bytes of a stream.
    pub(crate) fn on_acked(&mut self, stream: u32, offset: u64, len: u64) {
        self.stream(stream).send.on_acked(offset, len);
    }

    pub(crate) fn receive(&mut self, stream: u32, offset: u64, len: u32, fin: bool) -> Progress {
        self.stream(stream).receive.receive(offset, u64::from(len), fin)
    }

    /// Returns whether both directions of a stream are complete at this end.
    pub(crate) fn is_done(&self, stream: u32) -> bool {
        self.all
            .get(stream as usize)
            .is_some_and(|stream| stream.send.is_delivered() && stream.receive.is_finished())
    }

    /// Returns the next stream that has data to send, if there is one.
    pub(crate) fn next_ready(&mut self) -> Option<u32> {
        let ready = (self.first..self.all.len()).find(|&at| self.all[at].send.has_data())?;
        self.first = ready;
        Some(ready as u32)
    }
}

/// Returns the offset of a frame in its buffer and the number of bytes that it occupies there. The
/// end of a stream counts as one byte. Returns `None` for a frame without data.
pub(crate) fn extent(frame: &QuicFrame) -> Option<(u64, u64)> {
    match *frame {
        QuicFrame::Crypto { offset, len } => Some((offset, u64::from(len))),
        QuicFrame::Stream { offset, len, fin, .. } => {
            Some((offset, u64::from(len) + u64::from(fin)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn chunk(offset: u64, len: u32, fin: bool, is_repeated: bool) -> Chunk {
        Chunk { offset, len, fin, is_repeated }
    }

    #[test]
    fn lost_bytes_are_sent_again_before_new_bytes_unless_acknowledged() {
        let mut send = SendBuffer::default();
        send.write(250);
        send.finish();
        assert_eq!(send.take(100), Some(chunk(0, 100, false, false)));
        assert_eq!(send.take(100), Some(chunk(100, 100, false, false)));
        send.on_acked(50, 20);
        send.on_lost(0, 100);
        assert_eq!(send.take(100), Some(chunk(0, 50, false, true)));
        assert_eq!(send.take(100), Some(chunk(70, 30, false, true)));
        assert_eq!(send.take(100), Some(chunk(200, 50, true, false)));
        assert_eq!(send.take(100), None);
        send.on_lost(200, 51);
        assert_eq!(send.take(100), Some(chunk(200, 50, true, true)));
        send.on_acked(0, 251);
        assert!(send.is_delivered() && !send.has_data());
    }

    #[test]
    fn an_end_without_data_is_sent_alone() {
        let mut send = SendBuffer::default();
        send.write(10);
        assert_eq!(send.take(100), Some(chunk(0, 10, false, false)));
        send.finish();
        assert_eq!(send.take(100), Some(chunk(10, 0, true, false)));
        assert_eq!(send.write(5), 0, "a finished stream accepts nothing");
    }

    #[test]
    fn data_are_read_in_order() {
        let mut receive = ReceiveBuffer::default();
        assert_eq!(receive.receive(100, 50, true), Progress::default());
        assert_eq!(receive.receive(0, 60, false), Progress { bytes: 60, finished: false });
        assert_eq!(receive.receive(60, 40, false), Progress { bytes: 90, finished: true });
        assert_eq!(receive.receive(60, 40, false), Progress::default(), "a duplicate");
    }

    #[test]
    fn a_stream_sends_all_its_data_before_the_next_stream() {
        let mut streams = Streams::default();
        for stream in 0..2 {
            streams.sender(stream).write(200);
        }
        let mut next = || {
            let stream = streams.next_ready()?;
            streams.sender(stream).take(100);
            Some(stream)
        };
        assert_eq!([(); 5].map(|()| next()), [Some(0), Some(0), Some(1), Some(1), None]);
        streams.sender(0).on_lost(0, 100);
        assert_eq!(streams.next_ready(), Some(0));
    }
}
