//! The acknowledgements that an end must send, in one packet number space.
//!
//! Source: RFC 9000 §13.2. Difference, pinned by a test: an ACK frame has at most 64 ranges, as in
//! quinn-proto 0.11. RFC 9000 §13.2.3 names no number.

use aqmlab_core::{Duration, Ecn, EcnCounts, Instant, QuicAck};

use crate::ranges::Ranges;

/// The longest time by which an end delays an acknowledgement (`max_ack_delay`, RFC 9000 §18.2).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The number of ack-eliciting packets after which an end sends an acknowledgement at once
/// (§13.2.2).
const ELICITING_THRESHOLD: u32 = 2;
/// The largest number of ranges in a frame (`MAX_ACK_BLOCKS` of quinn-proto).
const MOST_RANGES: usize = 64;
/// The number of ranges kept to recognise duplicates.
const MOST_KNOWN: usize = 1_024;

/// Whether acknowledgements may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckRule {
    /// Initial and Handshake packets are acknowledged at once.
    AtOnce,
    /// Acknowledgements of 0-RTT and 1-RTT packets may wait for a second ack-eliciting packet.
    Delayed,
}

/// The received packets of a number space.
#[derive(Debug, Default)]
pub(crate) struct AckTracker {
    /// The numbers received, to recognise duplicates.
    known: Ranges,
    /// The numbers to acknowledge.
    ranges: Ranges,
    /// The arrival time of the packet with the largest number.
    largest_at: Instant,
    /// The largest number of an ack-eliciting packet, if one was received.
    largest_eliciting: Option<u64>,
    /// The number of packets received with each ECN codepoint.
    counts: EcnCounts,
    /// The number of ack-eliciting packets since the last acknowledgement was sent.
    pending: u32,
    /// The time at which an acknowledgement is due, if an ack-eliciting packet waits for it.
    due: Option<Instant>,
}

impl AckTracker {
    /// Returns whether the packet with this number has been received.
    pub(crate) fn is_known(&self, number: u64) -> bool {
        self.known.contains(number)
    }

    /// Records a received packet. An ack-eliciting packet sets the time at which an acknowledgement
    /// is due.
    pub(crate) fn on_packet(
        &mut self,
        number: u64,
        is_eliciting: bool,
        ecn: Ecn,
        now: Instant,
        rule: AckRule,
    ) {
        if self.ranges.largest().is_none_or(|largest| number > largest) {
            self.largest_at = now;
        }
        self.known.insert(number, number + 1);
        self.known.keep_newest(MOST_KNOWN);
        self.ranges.insert(number, number + 1);
        self.ranges.keep_newest(MOST_RANGES);
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.counts.ect0 += 1,
            Ecn::Ect1 => self.counts.ect1 += 1,
            Ecn::Ce => self.counts.ce += 1,
        }
        if !is_eliciting {
            return;
        }
        self.pending += 1;
        let at_once = rule == AckRule::AtOnce
            || self.pending >= ELICITING_THRESHOLD
            || ecn == Ecn::Ce
            || self.is_out_of_order(number);
        let due = if at_once { now } else { now + MAX_ACK_DELAY };
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
    }

    /// Returns whether a packet arrived after an ack-eliciting packet with a larger number, or
    /// after a gap (§13.2.1).
    fn is_out_of_order(&self, number: u64) -> bool {
        let Some(largest) = self.largest_eliciting else { return false };
        if number < largest {
            return true;
        }
        let range = self.known.newest_first().find(|&(start, _)| start <= number);
        range.is_some_and(|(start, _)| start > largest + 1)
    }

    /// Returns the time at which an acknowledgement is due, if an ack-eliciting packet waits for
    /// it.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns whether an ack-eliciting packet waits for its acknowledgement.
    pub(crate) const fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// Returns an ACK frame with all ranges that are kept.
    pub(crate) fn frame(&self, now: Instant) -> QuicAck {
        let counts = self.counts;
        QuicAck {
            ranges: self.ranges.newest_first().map(|(start, end)| (start, end - 1)).collect(),
            delay: now.since(self.largest_at),
            ecn: (counts != EcnCounts::default()).then_some(counts),
        }
    }

    /// Records that an acknowledgement is sent.
    pub(crate) const fn on_sent(&mut self) {
        (self.pending, self.due) = (0, None);
    }

    /// Removes the packets up to `largest` from later acknowledgements, because the peer has
    /// received an acknowledgement of them (§13.2.4).
    pub(crate) fn on_acknowledged(&mut self, largest: u64) {
        self.ranges.remove(0, largest + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn tracker(numbers: &[u64]) -> AckTracker {
        let mut tracker = AckTracker::default();
        for &number in numbers {
            tracker.on_packet(number, true, Ecn::NotEct, at(0), AckRule::Delayed);
        }
        tracker
    }

    #[test]
    fn a_lone_packet_is_acknowledged_after_25_ms_and_a_second_one_at_once() {
        assert_eq!(tracker(&[0]).due(), Some(at(25)));
        assert_eq!(tracker(&[0, 1]).due(), Some(at(0)));
    }

    #[test]
    fn packets_out_of_order_and_marked_packets_are_acknowledged_at_once() {
        let mut tracker = tracker(&[0, 1]);
        for (number, ecn, due) in [
            (2, Ecn::NotEct, at(35)),
            (4, Ecn::NotEct, at(10)),
            (3, Ecn::NotEct, at(10)),
            (5, Ecn::Ce, at(10)),
            (6, Ecn::Ect0, at(35)),
        ] {
            tracker.on_sent();
            tracker.on_packet(number, true, ecn, at(10), AckRule::Delayed);
            assert_eq!(tracker.due(), Some(due), "packet {number}");
        }
    }

    #[test]
    fn a_frame_has_up_to_64_ranges() {
        let odd: Vec<u64> = (0..100).map(|n| 2 * n).collect();
        let frame = tracker(&odd).frame(at(7));
        assert_eq!((frame.ranges.len(), frame.ranges[0]), (64, (198, 198)));
        assert_eq!(frame.delay, Duration::from_millis(7));
    }

    #[test]
    fn ranges_go_when_their_acknowledgement_is_acknowledged() {
        let mut tracker = tracker(&[0, 1, 4]);
        tracker.on_acknowledged(1);
        assert_eq!(tracker.frame(at(0)).ranges, [(4, 4)]);
        assert!(tracker.is_known(1) && !tracker.is_known(2), "duplicates are still known");
    }
}
