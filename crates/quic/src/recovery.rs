//! Loss detection: the packets in flight, the packets that are lost, and the probe timeout.
//!
//! Source: RFC 9002 §6 and §7.6, Appendix A. The names of its pseudo-code are in parentheses.
//! Differences, each pinned by a test:
//!
//! - persistent congestion is established among consecutive packets of one detection and one number
//!   space;
//! - packets that only acknowledge are not kept, so their acknowledgement gives no round-trip
//!   sample.

mod probe;
mod space;

use aqmlab_core::{Duration, Instant, QuicAck, QuicFrame, QuicSpace};
use aqmlab_tcp::cc::{CongestionControl, Signal};

use crate::congestion::{Congest, Outcome, Packet};
use crate::rtt::Rtt;

pub(crate) use probe::{Expiry, Standing};
pub(crate) use space::SentPacket;
use space::Space;

/// The number of later packets whose acknowledgement makes a packet lost (`kPacketThreshold`).
const PACKET_THRESHOLD: u64 = 3;
/// The number of probe timeouts of persistent congestion (`kPersistentCongestionThreshold`).
const PERSISTENT_THRESHOLD: u64 = 3;

/// The result of an acknowledgement or of the loss timer.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) acked: Vec<SentPacket>,
    pub(crate) lost: Vec<SentPacket>,
    /// Whether the validation of ECN failed (RFC 9000 §13.4.2).
    pub(crate) ecn_failed: bool,
}

/// Counters of loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStats {
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Expiries of the probe timeout.
    pub ptos: u64,
    /// Recovery periods that a loss began.
    pub loss_periods: u64,
    /// Recovery periods that an ECN mark began.
    pub ecn_periods: u64,
    /// Times of persistent congestion.
    pub persistent: u64,
}

/// Loss detection and congestion control of one end.
pub(crate) struct Recovery {
    spaces: [Space; 3],
    pub(crate) rtt: Rtt,
    pub(crate) congest: Congest,
    max_ack_delay: Duration,
    pto_count: u32,
    timer: Option<Instant>,
    pub(crate) stats: RecoveryStats,
}

impl Recovery {
    pub(crate) fn new(cc: Box<dyn CongestionControl>, mds: u32, max_ack_delay: Duration) -> Self {
        Self {
            spaces: Default::default(),
            rtt: Rtt::default(),
            congest: Congest::new(cc, mds),
            max_ack_delay,
            pto_count: 0,
            timer: None,
            stats: RecoveryStats::default(),
        }
    }

    /// Returns the time of the loss timer.
    pub(crate) const fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Returns the largest acknowledged number of a space.
    pub(crate) fn largest_acked(&self, space: QuicSpace) -> Option<u64> {
        self.spaces[space.index()].largest_acked
    }

    /// Returns the frames of the oldest packet in flight of a space.
    pub(crate) fn oldest_frames(&self, space: QuicSpace) -> Option<&[QuicFrame]> {
        self.spaces[space.index()].oldest().map(|sent| sent.frames.as_slice())
    }

    /// Records a packet in flight (`OnPacketSent`).
    pub(crate) fn on_sent(
        &mut self,
        space: QuicSpace,
        now: Instant,
        bytes: u64,
        sent: impl FnOnce(Packet) -> SentPacket,
    ) {
        let sent = sent(self.congest.on_sent(now, bytes));
        let space = &mut self.spaces[space.index()];
        if space.sent.is_empty() {
            space.base = sent.number;
        }
        // Packets that only acknowledge leave gaps.
        while space.base + (space.sent.len() as u64) < sent.number {
            space.sent.push_back(None);
        }
        if sent.ack_eliciting {
            space.eliciting += 1;
            space.last_eliciting = now;
        }
        space.sent.push_back(Some(sent));
    }

    /// Processes an acknowledgement (`OnAckReceived`). `ack_delay` is the peer's delay, limited as
    /// the state of the handshake requires.
    pub(crate) fn on_ack(
        &mut self,
        index: QuicSpace,
        ack: &QuicAck,
        ack_delay: Duration,
        now: Instant,
    ) -> Found {
        let mut found = Found::default();
        let space = &mut self.spaces[index.index()];
        let Some(&(_, largest)) = ack.ranges.first() else { return found };
        let advances = space.largest_acked.is_none_or(|known| largest > known);
        space.largest_acked = space.largest_acked.max(Some(largest));
        for &(first, last) in &ack.ranges {
            let end = space.base + space.sent.len() as u64;
            for number in first.max(space.base)..last.saturating_add(1).min(end) {
                found.acked.extend(space.take(number));
            }
        }
        if found.acked.is_empty() {
            return found;
        }
        found.acked.sort_by_key(|sent| sent.number);
        let newest = found.acked.last().filter(|sent| sent.number == largest);
        let elicited = found.acked.iter().any(|sent| sent.ack_eliciting);
        let sample = newest.filter(|_| elicited).map(|sent| now.since(sent.packet.sent));
        if let Some(sample) = sample {
            self.rtt.update(now, sample, ack_delay);
        }
        if advances {
            found.ecn_failed = self.process_ecn(index, ack, &found.acked, now);
        }
        let before = self.congest.in_flight;
        found.lost = self.detect_lost(index, now);
        self.process_lost(&found.lost, before, now);
        let acked: Vec<Packet> = found.acked.iter().map(|sent| sent.packet).collect();
        let outcome = Outcome {
            now,
            acked: &acked,
            sample,
            lost: found.lost.iter().map(|sent| sent.packet.bytes).sum(),
            oldest: self.oldest(),
        };
        self.congest.on_ack(&outcome, &self.rtt);
        self.spaces[index.index()].trim();
        found
    }

    /// Resets the back-off of the probe timeout.
    pub(crate) const fn reset_backoff(&mut self) {
        self.pto_count = 0;
    }

    fn oldest(&self) -> Option<u64> {
        let oldest = |space: &Space| space.oldest().map(|sent| sent.packet.end - sent.packet.bytes);
        self.spaces.iter().filter_map(oldest).min()
    }

    /// Validates the counts of an acknowledgement and reacts to new marks (`ProcessECN`). Returns
    /// whether the validation failed.
    fn process_ecn(
        &mut self,
        index: QuicSpace,
        ack: &QuicAck,
        acked: &[SentPacket],
        now: Instant,
    ) -> bool {
        let marked = acked.iter().filter(|sent| sent.ecn).count() as u64;
        let space = &mut self.spaces[index.index()];
        let Some(counts) = ack.ecn else { return marked > 0 };
        let known = std::mem::replace(&mut space.ecn, counts);
        let grew = (counts.ect0 + counts.ce).checked_sub(known.ect0 + known.ce);
        if grew.is_none_or(|grew| grew < marked) || counts.ce < known.ce {
            return true;
        }
        if counts.ce > known.ce
            && let Some(newest) = acked.last()
        {
            let (sent, in_flight) = (newest.packet.sent, self.congest.in_flight);
            let began =
                self.congest.on_congestion(now, sent, Signal::EcnEcho, in_flight, &self.rtt);
            self.stats.ecn_periods += u64::from(began);
        }
        false
    }

    /// Removes the lost packets of a space (`DetectAndRemoveLostPackets`).
    fn detect_lost(&mut self, index: QuicSpace, now: Instant) -> Vec<SentPacket> {
        let delay = self.rtt.loss_delay();
        let space = &mut self.spaces[index.index()];
        space.loss_time = None;
        let Some(largest) = space.largest_acked else { return Vec::new() };
        let mut lost = Vec::new();
        let end = (space.base + space.sent.len() as u64).min(largest);
        for number in space.base..end {
            let Some(sent) = &space.sent[(number - space.base) as usize] else { continue };
            let due = sent.packet.sent + delay;
            if due <= now || largest >= number + PACKET_THRESHOLD {
                lost.extend(space.take(number));
            } else {
                space.loss_time = Some(space.loss_time.map_or(due, |known| known.min(due)));
            }
        }
        lost
    }

    /// Reacts to lost packets (`OnPacketsLost`). `in_flight` is the flight before them.
    fn process_lost(&mut self, lost: &[SentPacket], in_flight: u64, now: Instant) {
        let Some(last) = lost.last() else { return };
        for sent in lost {
            self.congest.on_lost(&sent.packet);
        }
        self.stats.lost_packets += lost.len() as u64;
        let began =
            self.congest.on_congestion(now, last.packet.sent, Signal::Loss, in_flight, &self.rtt);
        self.stats.loss_periods += u64::from(began);
        if self.is_persistent(lost) {
            self.congest.on_persistent_congestion(now);
            self.stats.persistent += 1;
        }
    }

    /// Returns whether lost packets establish persistent congestion (§7.6).
    fn is_persistent(&self, lost: &[SentPacket]) -> bool {
        let Some(first_sample) = self.rtt.first_sample() else { return false };
        let span = (self.rtt.pto() + self.max_ack_delay) * PERSISTENT_THRESHOLD;
        let mut start: Option<&SentPacket> = None;
        let mut previous = None;
        for sent in lost {
            let follows = previous.is_none_or(|number| number + 1 == sent.number);
            previous = Some(sent.number);
            if !follows {
                start = None;
            }
            if !sent.ack_eliciting || sent.packet.sent <= first_sample {
                continue;
            }
            let from = *start.get_or_insert(sent);
            if sent.packet.sent.since(from.packet.sent) >= span && from.number != sent.number {
                return true;
            }
        }
        false
    }

    /// Removes the packets of a space whose keys are discarded (`OnPacketNumberSpaceDiscarded`).
    pub(crate) fn discard(&mut self, space: QuicSpace) {
        let space = std::mem::take(&mut self.spaces[space.index()]);
        for sent in space.sent.iter().flatten() {
            self.congest.forget(&sent.packet);
        }
        self.pto_count = 0;
    }
}
