//! The sent packets of one number space.

use std::collections::VecDeque;

use aqmlab_core::{EcnCounts, Instant, QuicFrame};

use crate::congestion::Packet;

/// A packet in flight.
#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) number: u64,
    pub(crate) ack_eliciting: bool,
    /// Whether the packet carries an ECN codepoint.
    pub(crate) ecn: bool,
    /// The frames, without acknowledgements.
    pub(crate) frames: Vec<QuicFrame>,
    /// The largest packet that the packet acknowledges.
    pub(crate) acks: Option<u64>,
    pub(crate) packet: Packet,
}

/// The sent packets of a number space.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// The number of the first entry of `sent`.
    pub(super) base: u64,
    pub(super) sent: VecDeque<Option<SentPacket>>,
    pub(super) largest_acked: Option<u64>,
    pub(super) loss_time: Option<Instant>,
    /// The time of the last packet that elicits an acknowledgement.
    pub(super) last_eliciting: Instant,
    /// The number of such packets in flight.
    pub(super) eliciting: u64,
    /// The last counts of the peer.
    pub(super) ecn: EcnCounts,
}

impl Space {
    pub(super) fn take(&mut self, number: u64) -> Option<SentPacket> {
        let index = number.checked_sub(self.base)?;
        let found = self.sent.get_mut(usize::try_from(index).ok()?)?.take()?;
        self.eliciting -= u64::from(found.ack_eliciting);
        Some(found)
    }

    pub(super) fn trim(&mut self) {
        while let Some(None) = self.sent.front() {
            self.sent.pop_front();
            self.base += 1;
        }
    }

    pub(super) fn oldest(&self) -> Option<&SentPacket> {
        self.sent.iter().flatten().next()
    }
}
