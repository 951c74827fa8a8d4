//! Loss detection: the packets in flight, the packets that are lost, and the probe timeout.
//!
//! Source: RFC 9002 §6 and §7.6, Appendix A. The names of its pseudo-code are in parentheses.
//! Differences: this module establishes persistent congestion only among consecutive packets of one
//! packet number space that one call of `DetectAndRemoveLostPackets` declares lost, which a test
//! pins. RFC 9002 §7.6.2 recommends considering the packets of all spaces together. A client whose
//! address is not validated also sets the probe timer if only 0-RTT packets are in flight; by
//! Appendix A.8 of RFC 9002 it would not set this timer.

mod probe;
#[cfg(test)]
mod replay;
mod space;

use aqmlab_core::{Duration, Instant, QuicAck, QuicFrame, QuicSpace};
use aqmlab_tcp::cc::{CongestionControl, Signal};

use crate::acks::MAX_ACK_DELAY;
use crate::congestion::{CongestionState, Outcome, Packet};
use crate::rtt::Rtt;

pub(crate) use probe::{Expiry, Standing};
pub(crate) use space::SentPacket;
use space::{Place, Space};

/// A packet is lost if the largest acknowledged number exceeds the packet's number by at least this
/// value (`kPacketThreshold`).
const PACKET_THRESHOLD: u64 = 3;
/// The duration of persistent congestion in probe timeouts (`kPersistentCongestionThreshold`).
const PERSISTENT_THRESHOLD: u64 = 3;

/// The packets that an acknowledgement or the loss timer has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) acked: Vec<SentPacket>,
    pub(crate) lost: Vec<SentPacket>,
    /// The largest number in the acknowledgements that the newly acknowledged packets carried.
    pub(crate) acks: Option<u64>,
    /// Whether a packet is newly acknowledged. A packet that only acknowledges counts too.
    pub(crate) is_new: bool,
    /// Whether the validation of ECN failed (RFC 9000 §13.4.2).
    pub(crate) ecn_failed: bool,
}

/// Counters of loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStats {
    /// The number of packets declared lost.
    pub lost_packets: u64,
    /// The number of expiries of the probe timeout.
    pub ptos: u64,
    /// The number of recovery periods that a loss began.
    pub loss_periods: u64,
    /// The number of recovery periods that an ECN mark began.
    pub ecn_periods: u64,
    /// The number of times that persistent congestion set the window to its minimum.
    pub persistent: u64,
}

/// Consecutive lost packets. They establish persistent congestion if they span enough time
/// (§7.6.2).
struct Streak {
    /// The time of the first round-trip sample. Packets sent before it do not count.
    first_sample: Option<Instant>,
    /// The duration of persistent congestion (§7.6.1).
    span: Duration,
    /// The transmission time of the first packet of the streak.
    start: Option<Instant>,
    is_persistent: bool,
}

impl Streak {
    /// Adds a lost packet, if it is ack-eliciting and was not sent before the first sample.
    fn extend(&mut self, packet: &SentPacket) {
        let sent = packet.packet.sent();
        // The acknowledgement with the first sample lets packets leave at the same instant.
        if packet.ack_eliciting && self.first_sample.is_some_and(|sample| sent >= sample) {
            let start = *self.start.get_or_insert(sent);
            self.is_persistent |= sent.since(start) > self.span;
        }
    }

    /// Ends the streak at a packet that is not lost.
    const fn interrupt(&mut self) {
        self.start = None;
    }
}

/// Loss detection and congestion control of one end.
pub(crate) struct Recovery {
    spaces: [Space; 3],
    pub(crate) rtt: Rtt,
    pub(crate) congestion: CongestionState,
    /// The number of consecutive probe timeouts (`pto_count`).
    pto_count: u32,
    /// The time at which the loss timer expires, if it is set.
    timer: Option<Instant>,
    pub(crate) stats: RecoveryStats,
}

impl Recovery {
    pub(crate) fn new(cc: Box<dyn CongestionControl>, mds: u32) -> Self {
        Self {
            spaces: Default::default(),
            rtt: Rtt::default(),
            congestion: CongestionState::new(cc, mds),
            pto_count: 0,
            timer: None,
            stats: RecoveryStats::default(),
        }
    }

    /// Returns the time at which the loss timer expires, if it is set.
    pub(crate) const fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Returns the largest acknowledged number of a space, if a packet was acknowledged.
    pub(crate) fn largest_acked(&self, space: QuicSpace) -> Option<u64> {
        self.spaces[space.index()].largest_acked
    }

    /// Returns the frames of the oldest packet in flight of a space, if there is one.
    pub(crate) fn oldest_frames(&self, space: QuicSpace) -> Option<&[QuicFrame]> {
        self.spaces[space.index()].oldest().map(|sent| sent.frames.as_slice())
    }

    /// Records a packet in flight (`OnPacketSent`).
    pub(crate) fn on_sent(
        &mut self,
        space: QuicSpace,
        now: Instant,
        bytes: u32,
        sent: impl FnOnce(Packet) -> SentPacket,
    ) {
        let sent = sent(self.congestion.on_sent(now, bytes));
        self.spaces[space.index()].push(Place::InFlight(sent));
    }

    /// Records a packet that only acknowledges, up to the number `acks`.
    pub(crate) fn on_ack_only_sent(&mut self, space: QuicSpace, now: Instant, acks: Option<u64>) {
        self.spaces[space.index()].push(Place::AckOnly { sent: now, acks });
    }

    /// Processes an acknowledgement (`OnAckReceived`). `ack_delay` is the peer's delay, limited as
    /// the state of the handshake requires.
    pub(crate) fn on_ack(
        &mut self,
        which: QuicSpace,
        ack: &QuicAck,
        ack_delay: Duration,
        now: Instant,
    ) -> Found {
        let space = &mut self.spaces[which.index()];
        let Some(&(_, largest)) = ack.ranges.first() else { return Found::default() };
        let advances = space.largest_acked.is_none_or(|known| largest > known);
        space.largest_acked = space.largest_acked.max(Some(largest));
        let is_stored = space.numbers().contains(&largest);
        let newest = is_stored.then(|| space.get(largest).sent()).flatten();
        let mut found = take_acked(space, ack);
        if !found.is_new {
            return found;
        }
        let elicited = found.acked.iter().any(|sent| sent.ack_eliciting);
        let sample = newest.filter(|_| elicited).map(|sent| now.since(sent));
        if let Some(sample) = sample {
            self.rtt.update(now, sample, ack_delay);
        }
        if advances {
            found.ecn_failed = self.process_ecn(which, ack, &found.acked, now);
        }
        let before = self.congestion.in_flight;
        found.lost = self.detect_lost(which, before, now);
        self.spaces[which.index()].trim();
        let outcome = Outcome {
            now,
            acked: &found.acked,
            sample,
            lost: found.lost.iter().map(|sent| sent.packet.bytes()).sum(),
            oldest: self.oldest(),
        };
        self.congestion.on_ack(&outcome, &self.rtt);
        found
    }

    /// Resets the back-off of the probe timeout.
    pub(crate) const fn reset_backoff(&mut self) {
        self.pto_count = 0;
    }

    fn oldest(&self) -> Option<u64> {
        let oldest = |space: &Space| space.oldest().map(|sent| sent.packet.start());
        self.spaces.iter().filter_map(oldest).min()
    }

    /// Validates the ECN counts of an acknowledgement and reacts to new marks (`ProcessECN`).
    /// Returns whether the validation failed.
    fn process_ecn(
        &mut self,
        which: QuicSpace,
        ack: &QuicAck,
        acked: &[SentPacket],
        now: Instant,
    ) -> bool {
        let marked = acked.iter().filter(|sent| sent.ecn).count() as u64;
        let space = &mut self.spaces[which.index()];
        let Some(counts) = ack.ecn else { return marked > 0 };
        let known = std::mem::replace(&mut space.ecn, counts);
        let grew = (counts.ect0 + counts.ce).checked_sub(known.ect0 + known.ce);
        if grew.is_none_or(|grew| grew < marked) || counts.ce < known.ce {
            return true;
        }
        if counts.ce > known.ce
            && let Some(newest) = acked.last()
        {
            let (sent, in_flight) = (newest.packet.sent(), self.congestion.in_flight);
            let began =
                self.congestion.on_congestion(now, sent, Signal::EcnEcho, in_flight, &self.rtt);
            self.stats.ecn_periods += u64::from(began);
        }
        false
    }

    /// Removes the lost packets of a space (`DetectAndRemoveLostPackets`) and reacts to them.
    /// `in_flight` is the number of bytes in flight before the losses.
    fn detect_lost(&mut self, which: QuicSpace, in_flight: u64, now: Instant) -> Vec<SentPacket> {
        let delay = self.rtt.loss_delay();
        let mut streak = self.streak();
        let space = &mut self.spaces[which.index()];
        space.loss_time = None;
        let Some(largest) = space.largest_acked else { return Vec::new() };
        let mut lost = Vec::new();
        let numbers = space.numbers();
        for number in numbers.start..numbers.end.min(largest) {
            let Some(sent) = space.get(number).sent() else {
                streak.interrupt();
                continue;
            };
            let due = sent + delay;
            if due > now && largest < number + PACKET_THRESHOLD {
                space.loss_time = Some(space.loss_time.map_or(due, |known| known.min(due)));
                streak.interrupt();
            } else if let Place::InFlight(packet) = space.take(number) {
                streak.extend(&packet);
                lost.push(packet);
            }
        }
        self.process_lost(&lost, streak.is_persistent, in_flight, now);
        lost
    }

    /// Reacts to lost packets (`OnPacketsLost`). `in_flight` is the number of bytes in flight
    /// before the losses.
    fn process_lost(
        &mut self,
        lost: &[SentPacket],
        is_persistent: bool,
        in_flight: u64,
        now: Instant,
    ) {
        let Some(newest) = lost.last() else { return };
        for sent in lost {
            self.congestion.on_lost(&sent.packet);
        }
        self.stats.lost_packets += lost.len() as u64;
        let sent = newest.packet.sent();
        let began = self.congestion.on_congestion(now, sent, Signal::Loss, in_flight, &self.rtt);
        self.stats.loss_periods += u64::from(began);
        if is_persistent {
            self.stats.persistent += u64::from(self.congestion.on_persistent_congestion(now));
        }
    }

    fn streak(&self) -> Streak {
        let span = (self.rtt.pto() + MAX_ACK_DELAY) * PERSISTENT_THRESHOLD;
        Streak { first_sample: self.rtt.first_sample(), span, start: None, is_persistent: false }
    }

    /// Removes the packets of a space whose keys are discarded, and resets the back-off of the
    /// probe timeout (`OnPacketNumberSpaceDiscarded`).
    pub(crate) fn discard(&mut self, space: QuicSpace) {
        let space = std::mem::take(&mut self.spaces[space.index()]);
        for sent in space.in_flight() {
            self.congestion.forget(&sent.packet);
        }
        self.pto_count = 0;
    }
}

/// Removes the packets that `ack` acknowledges, and returns them in the order of transmission.
fn take_acked(space: &mut Space, ack: &QuicAck) -> Found {
    let mut found = Found::default();
    let numbers = space.numbers();
    // The ranges are stored newest first, and the packets are needed oldest first.
    for &(first, last) in ack.ranges.iter().rev() {
        for number in first.max(numbers.start)..last.saturating_add(1).min(numbers.end) {
            let place = space.take(number);
            found.acks = found.acks.max(place.acks());
            match place {
                Place::Empty => continue,
                Place::AckOnly { .. } => {}
                Place::InFlight(packet) => found.acked.push(packet),
            }
            found.is_new = true;
        }
    }
    found
}
