//! Facts about acknowledgements and losses for controllers that ask for them.
//!
//! Source: google/bbr v3 `net/ipv4/tcp_rate.c` (`tcp_rate_gen`), `tcp_input.c`
//! (`tcp_notify_skb_loss_event`).
//!
//! Difference, pinned by a test: each segment of a burst has its own count of segments in flight.
//! The kernel counts the whole burst for all of its segments (`tcp_set_tx_in_flight`).

use aqmlab_core::Instant;

use super::Linux;
use super::ack::{AckState, flag};
use crate::cc::{Feedback, LostSegment};
use crate::common::scoreboard::APP_LIMITED;
use crate::tcb::Tcb;

/// The number of segments in flight, and the number delivered with a CE mark, before an
/// acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    pub(super) in_flight: u32,
    pub(super) delivered_ce: u64,
}

impl Tcb {
    /// Records the counters of the connection at the transmission of the segment that ends at
    /// `end`.
    #[cold]
    #[inline(never)]
    pub(super) fn record_transmission(&mut self, end: u64) {
        let in_flight = self.board.in_flight() + 1;
        self.tx_records.record(end, in_flight, self.rate.lost, self.ecn.delivered_ce);
    }

    /// Notifies the controller that the segment `id` was marked as lost, if its transmission is on
    /// record.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_of_loss(&mut self, id: u32) {
        let sent = self.board.get(id);
        let Some(record) = self.tx_records.get(sent.end()) else { return };
        let lost = LostSegment {
            now: self.clock.now,
            delivered: self.rate.delivered,
            tx_in_flight: u64::from(record.in_flight),
            lost: self.rate.lost - record.lost,
            app_limited: sent.is(APP_LIMITED),
            was_delivered: sent.delivered_at == Instant::NEVER,
        };
        self.cc.on_lost(&self.window, &lost);
    }
}

impl Linux {
    /// Passes the facts about an acknowledgement to the controller, and removes the records of the
    /// acknowledged segments.
    pub(super) fn give_feedback(
        &self,
        tcb: &mut Tcb,
        ack: &AckState,
        prior: Prior,
        acks_probe: bool,
    ) {
        let totals = tcb.totals();
        let mut feedback = Feedback {
            totals,
            marks: totals.delivered_ce - prior.delivered_ce,
            ece: ack.has(flag::ECE),
            prior_in_flight: u64::from(prior.in_flight),
            cwnd_limited: self.usage.is_cwnd_limited(),
            ack_delayed: ack.has(flag::MAYBE_DELAYED),
            acks_probe,
            ca: self.recovery.ca(),
            ..Feedback::default()
        };
        if let Some(end) = ack.rate.newest_end().filter(|_| !self.recovery.is_reneging())
            && let Some(record) = tcb.tx_records.get(end)
        {
            feedback.delivered = tcb.rate.delivered - ack.rate.prior_delivered;
            feedback.delivered_ce = totals.delivered_ce - record.delivered_ce;
            feedback.lost = tcb.rate.lost - record.lost;
            feedback.tx_in_flight = u64::from(record.in_flight);
        }
        tcb.cc.on_feedback(&feedback);
        tcb.tx_records.forget_below(tcb.snd.una);
    }
}

#[cfg(test)]
mod tests {
    use crate::common::scoreboard::Sent;
    use crate::linux::testing;

    /// Tests a difference from Linux: Linux counts a whole burst as in flight, and in this model
    /// each segment of a burst has its own count.
    #[test]
    fn each_segment_of_a_burst_has_its_own_count_of_data_in_flight() {
        let (_, mut tcb) = testing::open("bbr3");
        for number in 1..=3 {
            let sent = Sent::new(number * 1_448, 1_448, 0);
            tcb.record_transmission(sent.end());
            tcb.board.push(sent);
        }
        for number in 1..=3 {
            let record = tcb.tx_records.get((number + 1) * 1_448).expect("it was sent");
            assert_eq!(u64::from(record.in_flight), number);
        }
    }
}
