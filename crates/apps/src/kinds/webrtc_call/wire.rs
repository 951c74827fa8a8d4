//! The contents of the datagrams of one end.
//!
//! A datagram in flight has a size and a number, but no content. The sending end stores the
//! content under this number. The other end takes the content when the datagram arrives.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::expiry::expired;
use super::feedback::Report;
use super::speech::SpeechPacket;

/// The time for which contents are kept, as in libwebrtc's history of sent packets.
const KEPT: Duration = Duration::from_secs(60);

/// A packet of video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VideoPacket {
    /// The number of the packet within the video stream.
    pub(crate) number: u64,
    /// The index of the packet within the frame.
    pub(crate) index: u32,
    /// The frame to which the packet belongs.
    pub(crate) frame: Frame,
    /// The number of video bytes in the packet.
    pub(crate) bytes: u32,
}

/// An encoded picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// The number of the frame within the encoded video.
    pub(crate) number: u64,
    /// The time at which the camera captured the frame.
    pub(crate) captured: Instant,
    /// Whether the frame can be decoded without the frame before it.
    pub(crate) is_key: bool,
    /// The height of the picture in lines.
    pub(crate) lines: u32,
    /// The number of video bytes in the frame.
    pub(crate) bytes: u32,
    /// The number of packets of the frame.
    pub(crate) packets: u32,
}

/// The content of a media packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Media {
    /// A packet of video, sent for the first time or again.
    Video(VideoPacket),
    /// A packet of speech.
    Speech(SpeechPacket),
    /// Bytes without content.
    Padding,
}

/// The content of a datagram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// Media, with its transport-wide number.
    Media(u64, Media),
    /// A report on arrivals.
    Report(Report),
    /// A request to retransmit the video packets with these numbers.
    Nack(Vec<u64>),
    /// A request for a key frame.
    KeyRequest,
}

/// The contents of one end's datagrams in flight.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// The number of the first datagram kept.
    first: u64,
    sent: VecDeque<(Instant, Option<Content>)>,
}

impl Wire {
    /// Stores the content of a datagram; returns the number of the datagram.
    pub(crate) fn put(&mut self, content: Content, now: Instant) -> u64 {
        self.first += expired(&mut self.sent, |(at, _)| now.since(*at) > KEPT).count() as u64;
        self.sent.push_back((now, Some(content)));
        self.first + self.sent.len() as u64 - 1
    }

    /// Takes the content of the datagram `number`, which has arrived, if the content is still kept.
    pub(crate) fn take(&mut self, number: u64) -> Option<Content> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let content = self.sent.get_mut(place)?.1.take();
        self.first += expired(&mut self.sent, |(_, content)| content.is_none()).count() as u64;
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
