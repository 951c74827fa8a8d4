//! The sent packets of one number space.

use std::ops::Range;

use aqmlab_core::{EcnCounts, Instant, QuicFrame, Ring};

use crate::congestion::Packet;

/// The length of the list of sent packets above which the oldest packet is removed if it only
/// acknowledges. The peer may never acknowledge such a packet. (quinn-proto 0.11, `spaces.rs`.)
const MOST_ACK_ONLY: usize = 1_000;

/// A packet in flight.
#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) ack_eliciting: bool,
    /// Whether the packet was sent with ECT(0).
    pub(crate) ecn: bool,
    /// The frames, without acknowledgements.
    pub(crate) frames: Vec<QuicFrame>,
    /// The largest packet number that the packet acknowledges, if any.
    pub(crate) acks: Option<u64>,
    pub(crate) packet: Packet,
}

/// The state of a sent packet.
#[derive(Debug, Default)]
pub(super) enum Place {
    /// The packet is acknowledged or lost.
    #[default]
    Empty,
    /// The packet only acknowledges, so it is not in flight.
    AckOnly {
        sent: Instant,
        /// The largest packet number that the packet acknowledges, if any.
        acks: Option<u64>,
    },
    InFlight(SentPacket),
}

impl Place {
    /// Returns the time of the transmission, unless the packet is acknowledged or lost.
    pub(super) const fn sent(&self) -> Option<Instant> {
        match self {
            Self::Empty => None,
            Self::AckOnly { sent, .. } => Some(*sent),
            Self::InFlight(packet) => Some(packet.packet.sent()),
        }
    }

    /// Returns the largest number that the packet acknowledges, unless the packet is acknowledged
    /// or lost.
    pub(super) const fn acks(&self) -> Option<u64> {
        match self {
            Self::Empty => None,
            Self::AckOnly { acks, .. } => *acks,
            Self::InFlight(packet) => packet.acks,
        }
    }
}

/// The sent packets of a number space.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// The packets from the oldest packet that is neither acknowledged nor lost. A packet's number
    /// is its number in the ring.
    sent: Ring<Place>,
    /// The largest number that the peer has acknowledged.
    pub(super) largest_acked: Option<u64>,
    /// The time at which the next packet is lost by the time threshold, if a packet waits for it.
    pub(super) loss_time: Option<Instant>,
    /// The transmission time of the last ack-eliciting packet.
    pub(super) last_eliciting: Instant,
    /// The number of ack-eliciting packets in flight.
    pub(super) eliciting: u64,
    /// The ECN counts in the peer's last acknowledgement that had counts.
    pub(super) ecn: EcnCounts,
}

impl Space {
    /// Adds the next packet of the space.
    pub(super) fn push(&mut self, place: Place) {
        if let Place::InFlight(packet) = &place
            && packet.ack_eliciting
        {
            self.eliciting += 1;
            self.last_eliciting = packet.packet.sent();
        }
        self.sent.push(place);
        self.trim();
        if let Some(Place::AckOnly { .. }) = self.sent.front()
            && self.sent.len() > MOST_ACK_ONLY
        {
            self.sent.pop();
        }
    }

    /// Returns the numbers of the packets, from the oldest packet that is neither acknowledged nor
    /// lost.
    pub(super) fn numbers(&self) -> Range<u64> {
        let first = self.sent.first();
        first as u64..(first + self.sent.len()) as u64
    }

    /// Returns the state of a packet whose number is in [`Space::numbers`].
    pub(super) fn get(&self, number: u64) -> &Place {
        self.sent.get(number as usize)
    }

    /// Removes a packet whose number is in [`Space::numbers`], and returns its state.
    pub(super) fn take(&mut self, number: u64) -> Place {
        let place = std::mem::take(self.sent.get_mut(number as usize));
        if let Place::InFlight(packet) = &place {
            self.eliciting -= u64::from(packet.ack_eliciting);
        }
        place
    }

    /// Removes the acknowledged and lost packets at the front.
    pub(super) fn trim(&mut self) {
        while let Some(Place::Empty) = self.sent.front() {
            self.sent.pop();
        }
    }

    /// Returns the packets in flight, the oldest first.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &SentPacket> {
        self.sent.iter().filter_map(|place| match place {
            Place::InFlight(packet) => Some(packet),
            Place::Empty | Place::AckOnly { .. } => None,
        })
    }

    /// Returns the oldest packet in flight, if there is one.
    pub(super) fn oldest(&self) -> Option<&SentPacket> {
        self.in_flight().next()
    }
}
