//! The contents of the datagrams of one end.
//!
//! A datagram on the path has a size and a number, but no content. The sending end stores the
//! content by this number, and the other end takes it with the datagram that arrives.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::feedback::Report;

/// A content is kept for this time, like libwebrtc's history of sent packets.
const KEPT: Duration = Duration::from_secs(60);

/// A packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VideoPacket {
    /// Its number among the packets of the video.
    pub(crate) number: u64,
    /// Its place in the frame.
    pub(crate) index: u32,
    /// The frame.
    pub(crate) frame: Frame,
    /// Bytes of video.
    pub(crate) bytes: u32,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Its number among the encoded frames.
    pub(crate) number: u64,
    /// The time at which the camera took it.
    pub(crate) captured: Instant,
    /// Whether it can be decoded without its predecessor.
    pub(crate) is_key: bool,
    /// The height of its picture.
    pub(crate) lines: u32,
    /// Bytes of video.
    pub(crate) bytes: u32,
    /// The number of its packets.
    pub(crate) packets: u32,
}

/// The content of a media packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Media {
    /// A packet of video, sent first or again.
    Video(VideoPacket),
    /// 20 ms of speech: its number, and the time of its end.
    Audio(u64, Instant),
    /// Bytes that only probe the path.
    Padding,
}

/// The content of a datagram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// Media, with its transport-wide number.
    Media(u64, Media),
    /// A report on arrivals.
    Report(Report),
    /// A request to send packets of video again.
    Nack(Vec<u64>),
    /// A request for a key frame.
    KeyRequest,
}

/// The contents on the path from one end.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// The number of the first datagram kept.
    first: u64,
    sent: VecDeque<(Instant, Option<Content>)>,
}

impl Wire {
    /// Stores a content; returns the number of its datagram.
    pub(crate) fn put(&mut self, content: Content, now: Instant) -> u64 {
        while self.sent.front().is_some_and(|&(at, _)| now.since(at) > KEPT) {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back((now, Some(content)));
        self.first + self.sent.len() as u64 - 1
    }

    /// Takes the content of the datagram `number`, which has arrived.
    pub(crate) fn take(&mut self, number: u64) -> Option<Content> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let content = self.sent.get_mut(place)?.1.take();
        while self.sent.front().is_some_and(|(_, content)| content.is_none()) {
            self.sent.pop_front();
            self.first += 1;
        }
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_taken_once_and_not_after_a_minute() {
        let mut wire = Wire::default();
        let at = Instant::from_millis;
        assert_eq!(wire.put(Content::KeyRequest, at(0)), 0);
        assert_eq!(wire.put(Content::Nack(vec![3]), at(1)), 1);
        assert_eq!(wire.take(1), Some(Content::Nack(vec![3])));
        assert_eq!(wire.take(1), None);
        assert_eq!(wire.put(Content::KeyRequest, at(60_001)), 2);
        assert_eq!(wire.take(0), None, "dropped after a minute");
        assert_eq!(wire.take(2), Some(Content::KeyRequest));
        assert!(wire.sent.is_empty());
        assert_eq!(wire.take(u64::MAX), None);
    }
}
