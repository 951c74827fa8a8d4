//! The arguments that every call to a queue discipline needs.

use crate::{Ecn, Event, Instant, Log, Packet, Reason, Rng};

/// The context of a call to a queue discipline: the time, the random stream, and the log.
///
/// The driver builds a context for each call, except for a call of a FIFO that drops nothing. A
/// simulated and a live driver differ only in the source of `now`.
pub struct Cx<'a> {
    /// The time of the event being handled.
    pub now: Instant,
    /// The discipline's stream of random numbers.
    pub rng: &'a mut Rng,
    /// The log of drops and marks.
    pub log: &'a mut dyn Log,
}

impl Cx<'_> {
    /// Drops `packet` and logs the drop. The packet is taken by value, so it cannot be delivered
    /// afterwards.
    pub fn drop(&mut self, packet: Packet, reason: Reason) {
        self.log.record(self.now, &packet, Event::Drop(reason));
        self.log.discard(packet);
    }

    /// Returns the time of another clock reading within this call; see [`Log::read_clock`].
    pub fn read_clock(&mut self) -> Instant {
        self.log.read_clock(self.now)
    }

    /// Signals congestion: marks `packet` if it is ECN-capable, and otherwise drops it. Returns the
    /// packet unless it was dropped.
    #[must_use = "a surviving packet must be delivered"]
    pub fn signal(&mut self, packet: Packet, reason: Reason) -> Option<Packet> {
        if packet.ecn.is_capable() {
            return Some(self.mark(packet, reason));
        }
        self.drop(packet, reason);
        None
    }

    /// Marks `packet`, which must be ECN-capable, logs the mark, and returns the packet.
    #[must_use = "a marked packet must be delivered"]
    pub fn mark(&mut self, mut packet: Packet, reason: Reason) -> Packet {
        debug_assert!(packet.ecn.is_capable(), "RFC 3168 §5: Not-ECT packets are never marked");
        packet.ecn = Ecn::Ce;
        self.log.record(self.now, &packet, Event::Mark(reason));
        packet
    }
}
