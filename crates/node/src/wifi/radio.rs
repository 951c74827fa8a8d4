//! A station's side of the medium: the driver's queue, its aggregates, and the frames missing at
//! the receiver.
//!
//! Source: Linux 3.14 ath9k.
//!
//! - The driver accepts frames until more than `ATH_MAX_QDEPTH` = 123 are pending (`ath_tx_start`).
//!   It accepts frames again when fewer than 123 are pending (`ath_txq_skb_done`).
//! - Up to two aggregates are ready for the hardware (`ATH_AGGR_MIN_QDEPTH`).
//! - An aggregate holds at most 32 frames, 4096 us and 65532 bytes, and stays within the block-ack
//!   window of 64. Delimiters pad small frames to `ATH_AGGR_MINPLEN` = 256 bytes
//!   (`ath_tx_form_aggr`).
//! - An unacknowledged frame goes first into the next aggregate. The driver gives the frame up
//!   after `ATH_MAX_SW_RETRIES` = 30 transmissions (`ath_tx_complete_aggr`).

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant, Packet, Rng};

use super::phy::{DELIMITER, FRAMING, HtRate};

/// The maximum number of aggregates that are ready for the hardware (`ATH_AGGR_MIN_QDEPTH`).
const READY_AGGREGATES: usize = 2;
/// The number of frames in a block-ack window.
const WINDOW: u64 = 64;
/// The smallest size in bytes of a frame in an aggregate, delimiter included (`ATH_AGGR_MINPLEN`).
const LEAST_SUBFRAME: u32 = 256;
/// The maximum number of transmissions of a frame (`ATH_MAX_SW_RETRIES`).
const MOST_TRIES: u8 = 30;

/// The configuration of a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioConfig {
    /// The PHY rate of the radio.
    pub rate: HtRate,
    /// The probability that a frame is lost on the air.
    pub loss: f64,
    /// The maximum number of frames in an aggregate; 1 disables aggregation.
    pub aggregate_frames: usize,
    /// The longest airtime of an aggregate.
    pub aggregate_time: Duration,
    /// The number of frames at which the driver's queue is full.
    pub driver_frames: usize,
}

/// A frame in the driver.
#[derive(Debug)]
struct Frame {
    packet: Packet,
    number: u64,
    /// The number of transmissions so far.
    tries: u8,
    /// Whether the last transmission reached the receiver.
    through: bool,
    /// The time at which the frame entered the driver.
    since: Instant,
}

impl Frame {
    fn bytes(&self) -> u32 {
        self.packet.ip_len + FRAMING
    }

    /// Returns the frame's bytes in an aggregate, without the padding to a whole word.
    fn subframe(&self) -> u32 {
        (DELIMITER + self.bytes()).max(LEAST_SUBFRAME)
    }
}

/// Frames that are sent together.
#[derive(Debug)]
struct Aggregate {
    frames: Vec<Frame>,
    /// The airtime of the frames.
    airtime: Duration,
}

/// The state of a frame at the receiver.
#[derive(Debug)]
enum Slot {
    Missing,
    Held(Packet),
    GivenUp,
}

/// A station's transmitter, its driver's queue, and the reorder buffer of its receiver.
#[derive(Debug)]
pub struct Radio {
    config: RadioConfig,
    most_bytes: u32,
    /// Unacknowledged frames, which go first.
    again: VecDeque<Frame>,
    fresh: VecDeque<Frame>,
    ready: VecDeque<Aggregate>,
    pending: usize,
    /// The states of the frames from number `first_slot` on. If there are any, the first is
    /// missing.
    slots: VecDeque<Slot>,
    first_slot: u64,
    held: usize,
    rng: Rng,
    /// The number of backoff slots left at the beginning of the contention.
    pub(super) backoff: u32,
    /// The number of consecutive transmissions without a response.
    pub(super) unanswered: u32,
    /// The time since which the radio has a frame to send.
    pub(super) ready_since: Instant,
}

impl Radio {
    /// Returns a radio with nothing to send; `rng` draws its losses and backoffs.
    pub fn new(config: RadioConfig, rng: Rng) -> Self {
        Self {
            most_bytes: config.rate.bytes_within(config.aggregate_time),
            config,
            again: VecDeque::new(),
            fresh: VecDeque::new(),
            ready: VecDeque::new(),
            pending: 0,
            slots: VecDeque::new(),
            first_slot: 0,
            held: 0,
            rng,
            backoff: 0,
            unanswered: 0,
            ready_since: Instant::ZERO,
        }
    }

    /// Returns whether the driver has room for another frame.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.pending < self.config.driver_frames
    }

    /// Returns the number of packets accepted that are neither delivered nor given up.
    pub fn len(&self) -> usize {
        self.pending + self.held
    }

    /// Returns whether the radio holds no packet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of frames in the driver, including frames on the air.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Returns how long the oldest frame has been in the driver; zero without a frame.
    pub fn oldest(&self, now: Instant) -> Duration {
        let frames = self.ready.iter().flat_map(|aggregate| &aggregate.frames);
        let since = frames.chain(&self.again).chain(&self.fresh).map(|frame| frame.since).min();
        since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Accepts a packet from the discipline; returns whether the radio had nothing to send before.
    pub(super) fn accept(&mut self, packet: Packet, now: Instant) -> bool {
        let idle = self.ready.is_empty();
        let number = self.first_slot + self.slots.len() as u64;
        self.slots.push_back(Slot::Missing);
        self.pending += 1;
        self.fresh.push_back(Frame { packet, number, tries: 0, through: false, since: now });
        self.make_ready(now);
        idle
    }

    /// Forms aggregates from the queue while the hardware has room.
    pub(super) fn make_ready(&mut self, now: Instant) {
        while self.ready.len() < READY_AGGREGATES {
            let Some(aggregate) = self.form() else { return };
            if self.ready.is_empty() {
                self.ready_since = now;
            }
            self.ready.push_back(aggregate);
        }
    }

    fn form(&mut self) -> Option<Aggregate> {
        let (mut frames, mut bytes) = (Vec::new(), 0_u32);
        while let Some(frame) = self.next() {
            let end = bytes.next_multiple_of(4) + frame.subframe();
            let full = frames.len() >= self.config.aggregate_frames || end > self.most_bytes;
            if full && !frames.is_empty() {
                break;
            }
            bytes = end;
            let waiting = if self.again.is_empty() { &mut self.fresh } else { &mut self.again };
            frames.extend(waiting.pop_front());
        }
        let alone = if let [frame] = &frames[..] { Some(frame.bytes()) } else { None };
        let airtime = self.config.rate.ppdu(alone.unwrap_or(bytes));
        (!frames.is_empty()).then_some(Aggregate { frames, airtime })
    }

    /// Returns the next frame, if there is one and the block-ack window has room for it.
    fn next(&self) -> Option<&Frame> {
        let frame = self.again.front().or(self.fresh.front())?;
        (frame.number < self.first_slot + WINDOW).then_some(frame)
    }

    /// Returns whether the radio contends for the medium.
    #[inline]
    pub(super) fn wants(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the airtime of the next transmission; zero if no frame is ready.
    pub(super) fn airtime(&self) -> Duration {
        self.ready.front().map_or(Duration::ZERO, |aggregate| aggregate.airtime)
    }

    /// Returns the airtime of the response to the next transmission.
    pub(super) fn answer(&self) -> Duration {
        let many = self.ready.front().is_some_and(|aggregate| aggregate.frames.len() > 1);
        if many { self.config.rate.block_ack() } else { self.config.rate.ack() }
    }

    /// Sends the next aggregate, and draws which of its frames arrive; after a collision, none
    /// arrives. Returns whether there is a response. One arrived frame suffices for a response.
    pub(super) fn send(&mut self, collided: bool) -> bool {
        let Some(aggregate) = self.ready.front_mut() else { return false };
        for frame in &mut aggregate.frames {
            frame.tries += 1;
            let lost = self.config.loss > 0.0 && self.rng.unit() < self.config.loss;
            frame.through = !(collided || lost);
        }
        aggregate.frames.iter().any(|frame| frame.through)
    }

    /// Draws the number of slots, from zero to `window`, to wait before the next transmission.
    pub(super) fn draw_backoff(&mut self, window: u32) {
        self.backoff = self.rng.below(u64::from(window) + 1) as u32;
    }

    /// Removes the transmission from the hardware. Frames that arrived go to the receiver. The
    /// driver repeats the other frames or gives them up. `done` receives each packet that leaves
    /// the radio, and whether it was delivered.
    pub(super) fn complete(&mut self, now: Instant, mut done: impl FnMut(Packet, bool)) {
        let Some(aggregate) = self.ready.pop_front() else { return };
        let mut failed = Vec::new();
        for frame in aggregate.frames {
            let slot = &mut self.slots[(frame.number - self.first_slot) as usize];
            if frame.through {
                *slot = Slot::Held(frame.packet);
                self.held += 1;
                self.pending -= 1;
            } else if frame.tries < MOST_TRIES {
                failed.push(frame);
            } else {
                *slot = Slot::GivenUp;
                self.pending -= 1;
                done(frame.packet, false);
            }
        }
        self.again.extend(failed);
        self.ready_since = now;
        self.let_go(&mut done);
        self.make_ready(now);
    }

    /// Delivers the frames that are in order.
    fn let_go(&mut self, done: &mut impl FnMut(Packet, bool)) {
        while let Some(slot) = self.slots.pop_front() {
            match slot {
                Slot::Missing => return self.slots.push_front(Slot::Missing),
                Slot::GivenUp => {}
                Slot::Held(packet) => {
                    self.held -= 1;
                    done(packet, true);
                }
            }
            self.first_slot += 1;
        }
    }
}
