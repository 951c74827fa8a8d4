//! The receiver's frames, which are assembled from packets and decoded in order.
//!
//! A frame is complete when all its packets have arrived. It can be decoded if it is a key frame,
//! or if the frame before it was decoded.
//!
//! Source of the times: libwebrtc (2025-06) `video_receive_stream2.cc`. The receiver requests a key
//! frame after 3 s without a frame, and before the first frame every 200 ms. It requests none if
//! nothing arrived for 5 s, or if packets of a key frame arrived in the last 200 ms. The buffer
//! holds 800 frames (`frame_buffer.cc`).

use std::collections::BTreeMap;

use aqmlab_core::{Duration, Instant};

use super::nack::Gap;
use super::wire::{Frame, VideoPacket};

const MOST_FRAMES: usize = 800;
const WAIT_FOR_FRAME: Duration = Duration::from_secs(3);
const WAIT_FOR_KEY: Duration = Duration::from_millis(200);
const INACTIVE: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Partial {
    frame: Frame,
    /// The sequence number of the frame's first packet.
    first: u64,
    has: Vec<bool>,
    missing: u32,
    completed: Instant,
    is_repaired: bool,
}

/// A frame that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decoded {
    /// The frame, as its packets describe it.
    pub(crate) frame: Frame,
    /// The sequence number of the packet after the frame.
    pub(crate) next: u64,
    /// The time at which the frame's last packet arrived.
    pub(crate) completed: Instant,
    /// Whether at least one of the frame's packets was retransmitted on request.
    pub(crate) is_repaired: bool,
}

/// The frames that are not yet decoded.
#[derive(Debug)]
pub(crate) struct Frames {
    partial: BTreeMap<u64, Partial>,
    decoded: Option<u64>,
    /// The time of the last frame, or the time at which the receiver last gave up waiting for a
    /// frame.
    waiting_since: Instant,
    last_packet: Option<Instant>,
    last_key_packet: Option<Instant>,
}

impl Frames {
    /// Returns an empty store, for a receiver that waits for its first key frame from `now` on.
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            partial: BTreeMap::new(),
            decoded: None,
            waiting_since: now,
            last_packet: None,
            last_key_packet: None,
        }
    }

    /// Adds a packet, which may be a repair. Returns false if the packet had already arrived or its
    /// frame is no longer needed. If there are then more than 800 frames, removes all of them.
    pub(crate) fn add(&mut self, packet: &VideoPacket, gap: &Gap, now: Instant) -> bool {
        let frame = packet.frame;
        self.last_packet = Some(now);
        if frame.is_key {
            self.last_key_packet = Some(now);
        }
        if self.decoded.is_some_and(|last| frame.number <= last) {
            return false;
        }
        let partial = self.partial.entry(frame.number).or_insert_with(|| Partial {
            frame,
            first: packet.number - u64::from(packet.index),
            has: vec![false; frame.packets as usize],
            missing: frame.packets,
            completed: now,
            is_repaired: false,
        });
        let is_new = partial.has.get_mut(packet.index as usize).is_some_and(|has| {
            let is_new = !*has;
            *has = true;
            is_new
        });
        if is_new {
            partial.missing -= 1;
            partial.completed = now;
            partial.is_repaired |= *gap == Gap::Repaired;
        }
        if self.partial.len() > MOST_FRAMES {
            self.partial.clear();
        }
        is_new
    }

    /// Removes and returns the next frame that can be decoded, if there is one. Drops the frames
    /// before it.
    pub(crate) fn decode(&mut self, now: Instant) -> Option<Decoded> {
        let next = self.decoded.map(|last| last + 1);
        let is_complete = |partial: &Partial| partial.missing == 0;
        let follows = next.filter(|next| self.partial.get(next).is_some_and(is_complete));
        let key = || {
            let mut complete = self.partial.iter().filter(|(_, partial)| is_complete(partial));
            complete.find(|(_, partial)| partial.frame.is_key).map(|(&number, _)| number)
        };
        let number = follows.or_else(key)?;
        let partial = self.partial.remove(&number)?;
        self.partial = self.partial.split_off(&number);
        self.decoded = Some(number);
        self.waiting_since = now;
        let Partial { frame, first, completed, is_repaired, .. } = partial;
        Some(Decoded { frame, next: first + u64::from(frame.packets), completed, is_repaired })
    }

    /// Returns the time at which the receiver gives up waiting, unless a frame is decoded before.
    pub(crate) fn deadline(&self) -> Instant {
        self.waiting_since + if self.decoded.is_none() { WAIT_FOR_KEY } else { WAIT_FOR_FRAME }
    }

    /// Gives up waiting if the deadline has passed. Returns whether to request a key frame.
    pub(crate) fn give_up(&mut self, now: Instant) -> bool {
        if now < self.deadline() {
            return false;
        }
        self.waiting_since = now;
        let within = |last: Option<Instant>, span| last.is_some_and(|at| now.since(at) < span);
        within(self.last_packet, INACTIVE) && !within(self.last_key_packet, WAIT_FOR_KEY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gap of a packet that arrives in order.
    const IN_TURN: &Gap = &Gap::Request(Vec::new());

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Returns packet `index` of frame `number`. Each frame has two packets.
    fn packet(number: u64, index: u32, is_key: bool) -> VideoPacket {
        let captured = ms(33 * number);
        let frame = Frame { number, captured, is_key, lines: 360, bytes: 2_000, packets: 2 };
        VideoPacket { number: 2 * number + u64::from(index), index, frame, bytes: 1_000 }
    }

    fn add(frames: &mut Frames, number: u64, is_key: bool) -> Vec<u64> {
        let now = ms(33 * number);
        frames.add(&packet(number, 1, is_key), IN_TURN, now);
        frames.add(&packet(number, 0, is_key), IN_TURN, now);
        let decode = || frames.decode(ms(33 * number)).map(|decoded| decoded.frame.number);
        std::iter::from_fn(decode).collect()
    }

    #[test]
    fn frames_are_decoded_in_order_once_they_are_complete() {
        let mut frames = Frames::new(ms(0));
        assert_eq!(add(&mut frames, 0, true), [0]);
        assert!(frames.add(&packet(1, 0, false), IN_TURN, ms(33)));
        assert!(!frames.add(&packet(1, 0, false), IN_TURN, ms(33)), "the same packet");
        assert!(add(&mut frames, 2, false).is_empty());
        assert!(frames.add(&packet(1, 1, false), &Gap::Repaired, ms(99)));
        let frame = packet(1, 0, false).frame;
        let repaired = Decoded { frame, next: 4, completed: ms(99), is_repaired: true };
        assert_eq!(frames.decode(ms(99)), Some(repaired));
        let waited = frames.decode(ms(99)).unwrap();
        assert_eq!((waited.frame.number, waited.completed), (2, ms(66)));
        assert!(!waited.is_repaired);
        assert!(!frames.add(&packet(1, 1, false), IN_TURN, ms(99)), "decoded");
    }

    #[test]
    fn a_key_frame_skips_what_is_missing() {
        let mut frames = Frames::new(ms(0));
        assert!(add(&mut frames, 1, false).is_empty(), "no key frame yet");
        assert_eq!(add(&mut frames, 3, true), [3]);
        assert!(frames.partial.is_empty());
        assert_eq!(add(&mut frames, 4, false), [4]);
    }

    #[test]
    fn a_key_frame_is_requested_after_3_s_or_200_ms_before_the_first() {
        let mut frames = Frames::new(ms(0));
        assert!(!frames.give_up(ms(199)));
        assert!(!frames.give_up(ms(200)), "nothing has arrived");
        assert_eq!(frames.deadline(), ms(400));
        frames.add(&packet(1, 0, false), IN_TURN, ms(300));
        assert!(frames.give_up(ms(400)));
        frames.add(&packet(2, 0, true), IN_TURN, ms(500));
        assert!(!frames.give_up(ms(600)), "one is arriving");
        assert_eq!(add(&mut frames, 20, true), [20]);
        assert_eq!(frames.deadline(), ms(660 + 3_000));
        frames.add(&packet(22, 0, false), IN_TURN, ms(3_000));
        assert!(frames.give_up(ms(3_660)));
        assert!(frames.give_up(ms(6_660)));
        assert!(!frames.give_up(ms(9_660)), "nothing has arrived for 5 s");
    }
}
