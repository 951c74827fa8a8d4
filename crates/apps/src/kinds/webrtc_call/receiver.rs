//! The receiving end of a direction: reports, requests for repair, frames, screen and speaker.

use aqmlab_core::{Duration, Instant};

use super::end::{End, ReceiverTimer};
use super::feedback::{Arrived, SRTCP};
use super::frames::Frames;
use super::nack::{self, Gap, Nacks};
use super::screen::{Screen, Seen};
use super::speech::{AudioReceiver, Heard};
use super::timing::VcmTiming;
use super::wire::{Content, Media, VideoPacket};

/// The size of a request for a key frame in bytes (RFC 4585 §6.3.1).
const KEY_REQUEST: u32 = 12 + SRTCP;

/// The state of this end as the sender of the other direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reverse {
    /// The rate at which this end sends, in bit/s, if it sends.
    pub(crate) bps: Option<f64>,
    /// The round-trip time, once it is known.
    pub(crate) rtt: Option<Duration>,
}

/// The receiving end of a direction.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// The maximum payload of a datagram above UDP, in bytes.
    room: u32,
    began: Instant,
    arrived: Arrived,
    nacks: Nacks,
    is_checking: bool,
    frames: Frames,
    timing: VcmTiming,
    screen: Screen,
    video_bytes: u64,
    audio: AudioReceiver,
}

impl Receiver {
    /// Returns a receiver for a sender that begins at `began`.
    pub(crate) fn new(room: u32, top_lines: u32, began: Instant) -> Self {
        Self {
            room,
            began,
            arrived: Arrived::default(),
            nacks: Nacks::default(),
            is_checking: false,
            frames: Frames::new(began),
            timing: VcmTiming::new(began),
            screen: Screen::new(began, top_lines),
            video_bytes: 0,
            audio: AudioReceiver::default(),
        }
    }

    /// Sets the first timers.
    pub(crate) fn begin(&mut self, end: &mut End<'_>) {
        end.wake(end.now() + self.arrived.interval(), ReceiverTimer::Report);
        end.wake(self.frames.deadline(), ReceiverTimer::KeyFrame);
    }

    /// Handles the expiry of a timer.
    pub(crate) fn wake(&mut self, timer: ReceiverTimer, reverse: Reverse, end: &mut End<'_>) {
        let now = end.now();
        match timer {
            ReceiverTimer::Report => {
                while let Some((report, bytes)) = self.arrived.report(self.room) {
                    end.send(Content::Report(report), bytes);
                }
                if let Some(bps) = reverse.bps {
                    self.arrived.set_rate(bps);
                }
                end.wake(now + self.arrived.interval(), ReceiverTimer::Report);
            }
            ReceiverTimer::Missing => {
                self.is_checking = false;
                let due = self.nacks.due(reverse.rtt, now);
                self.request(&due, end);
            }
            ReceiverTimer::KeyFrame => {
                if self.frames.give_up(now) {
                    end.send(Content::KeyRequest, KEY_REQUEST);
                }
                end.wake(self.frames.deadline(), ReceiverTimer::KeyFrame);
            }
        }
    }

    /// Processes a media packet that arrived.
    pub(crate) fn media(&mut self, number: u64, media: Media, reverse: Reverse, end: &mut End<'_>) {
        let now = end.now();
        self.arrived.add(number, now);
        self.screen.advance(now);
        match media {
            Media::Video(packet) => self.video(packet, reverse, end),
            Media::Speech(packet) => self.audio.take(packet, now),
            Media::Padding => {}
        }
    }

    fn video(&mut self, packet: VideoPacket, reverse: Reverse, end: &mut End<'_>) {
        let now = end.now();
        let gap = self.nacks.arrived(packet.number, now);
        if self.frames.add(&packet, &gap, now) {
            self.video_bytes += u64::from(packet.bytes);
        }
        match gap {
            Gap::Request(numbers) => self.request(&numbers, end),
            Gap::Repaired => {}
            Gap::TooLarge => end.send(Content::KeyRequest, KEY_REQUEST),
        }
        while let Some(decoded) = self.frames.decode(now) {
            self.nacks.forget(decoded.next);
            let at = self.timing.time(&decoded, reverse.rtt, now);
            self.screen.add(decoded.frame, at);
        }
    }

    /// Requests the retransmission of the packets `numbers`. Sets a timer for a check if any packet
    /// is missing.
    fn request(&mut self, numbers: &[u64], end: &mut End<'_>) {
        let most = (self.room.saturating_sub(nack::size(&[])) / 4).max(1) as usize;
        for part in numbers.chunks(most) {
            end.send(Content::Nack(part.to_vec()), nack::size(part));
        }
        if self.nacks.is_waiting() && !self.is_checking {
            self.is_checking = true;
            end.wake(end.now() + nack::CHECK_EVERY, ReceiverTimer::Missing);
        }
    }

    /// Returns the mean delay in milliseconds of the frames, if any, rendered since this method was
    /// last called.
    pub(crate) fn take_frame_delay_ms(&mut self, now: Instant) -> Option<f64> {
        self.screen.advance(now);
        self.screen.take_recent_ms()
    }

    /// Returns the quality of the picture until `end`.
    pub(crate) fn seen(&self, end: Instant) -> Seen {
        self.screen.measures(end)
    }

    /// Returns the rate of the received video until `end`, in bit/s; `None` if no time has passed.
    pub(crate) fn video_bps(&self, end: Instant) -> Option<f64> {
        let span = end.since(self.began).as_secs_f64();
        (span > 0.0).then(|| 8.0 * self.video_bytes as f64 / span)
    }

    /// Returns the quality of the sound, if there is any. `sent` packets of speech were sent.
    pub(crate) fn heard(&self, sent: u64) -> Option<Heard> {
        self.audio.heard(sent)
    }
}
