//! The measurement of the path: rounds, bandwidth, signals of congestion, aggregation, ECN.
//!
//! Source: google/bbr v3 `net/ipv4/tcp_bbr.c`. The functions are in the order of the source.

use aqmlab_core::Duration;

use super::{BW_UNIT, Bbr3, SCALE, UNBOUNDED, UNIT};
use crate::cc::kinds::bbr::aggregation::WINDOW_ROUNDS;
use crate::cc::{Ack, CaState, Feedback};

/// The largest round-trip time in microseconds at which marks count (`bbr_ecn_max_rtt_us`).
const ECN_MAX_RTT: u64 = 5_000;
/// The weight of a round's fraction of marked segments in the moving average
/// (`bbr_ecn_alpha_gain`).
const ECN_ALPHA_GAIN: u64 = UNIT / 16;

/// A sample of the path from an acknowledgement, in segments and microseconds (`rate_sample`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The bandwidth, rounded up; zero without a sample.
    pub(super) bw: u64,
    pub(super) interval: u64,
    pub(super) delivered: u64,
    pub(super) is_sampled: bool,
    pub(super) prior_delivered: u64,
    pub(super) acked_sacked: u64,
    pub(super) losses: u64,
    pub(super) lost: u64,
    pub(super) tx_in_flight: u64,
    pub(super) prior_in_flight: u64,
    pub(super) app_limited: bool,
    pub(super) cwnd_limited: bool,
    pub(super) ece: bool,
    pub(super) delivered_ce: u64,
    pub(super) total_ce: u64,
    pub(super) ack_delayed: bool,
    pub(super) acks_probe: bool,
    pub(super) until_departure: u64,
    pub(super) rtt: Option<u64>,
    pub(super) srtt: Option<Duration>,
    pub(super) ca: CaState,
}

impl Sample {
    pub(super) fn new(ack: &Ack, feedback: Option<Feedback>, segment: u64, ca: CaState) -> Self {
        let rate = &ack.rate;
        let interval = rate.interval.as_micros();
        let (acked, losses) = (rate.acked_sacked / segment, rate.losses / segment);
        let delivered = rate.delivered / segment;
        let bw = if interval > 0 { (delivered * BW_UNIT).div_ceil(interval) } else { 0 };
        let in_flight = ack.in_flight / segment;
        let told = feedback.unwrap_or(Feedback {
            cwnd_limited: ack.cwnd_limited,
            prior_in_flight: in_flight + acked + losses,
            delivered,
            ..Feedback::default()
        });
        Self {
            bw: bw.min(UNBOUNDED),
            interval,
            delivered: told.delivered,
            is_sampled: interval > 0 && acked > 0,
            prior_delivered: rate.prior_delivered / segment,
            acked_sacked: acked,
            losses,
            lost: told.lost,
            tx_in_flight: told.tx_in_flight,
            prior_in_flight: told.prior_in_flight,
            app_limited: rate.app_limited,
            cwnd_limited: told.cwnd_limited,
            ece: told.ece,
            delivered_ce: told.delivered_ce,
            total_ce: told.totals.delivered_ce,
            ack_delayed: told.ack_delayed,
            acks_probe: told.acks_probe,
            until_departure: ack.until_departure.as_micros(),
            rtt: ack.rtt.map(Duration::as_micros),
            srtt: ack.srtt,
            ca,
        }
    }
}

/// The congestion signals of the present round and of the present cycle.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// The maximum bandwidth of the latest round.
    pub(super) bw_latest: u64,
    /// The maximum amount of data delivered during a sample of the latest round.
    pub(super) inflight_latest: u64,
    pub(super) loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    pub(super) ecn_in_round: bool,
    pub(super) loss_in_cycle: bool,
    pub(super) ecn_in_cycle: bool,
    /// The number of acknowledgements of the round that showed new losses, at most 15.
    pub(super) loss_events_in_round: u32,
}

impl Signals {
    /// Updates the maxima of the latest round, and records whether a new round starts
    /// (`bbr_update_latest_delivery_signals`).
    pub(super) fn update_latest(&mut self, sample: &Sample, delivered: u64) {
        self.loss_round_start = false;
        if !sample.is_sampled {
            return;
        }
        self.bw_latest = self.bw_latest.max(sample.bw);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = delivered;
            self.loss_round_start = true;
        }
    }

    /// At the start of a round, restarts the filters of the latest round, unless the
    /// acknowledgement may acknowledge a tail loss probe (`bbr_advance_latest_delivery_signals`).
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start && !sample.acks_probe {
            self.bw_latest = sample.bw;
            self.inflight_latest = sample.delivered;
        }
    }

    /// Forgets the signals (`bbr_reset_congestion_signals`).
    pub(super) fn reset(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.loss_in_cycle = false;
        self.ecn_in_cycle = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// Records a loss (`bbr_note_loss`).
    pub(super) fn note_loss(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_delivered = delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
    }
}

impl Bbr3 {
    /// Returns the maximum bandwidth of the last two cycles.
    pub(super) fn max_bw(&self) -> u64 {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    /// Returns the estimate of the bandwidth: the maximum, limited by the short-term bound.
    pub(super) fn bw(&self) -> u64 {
        self.max_bw().min(self.bounds.bw_lo)
    }

    pub(super) fn update_round_start(&mut self, sample: &Sample) {
        self.round_start = false;
        if sample.interval > 0 && sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = self.view.delivered;
            self.round_start = true;
        }
    }

    /// Updates the maximum bandwidth and, once per round, the short-term bounds.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        if !sample.is_sampled {
            return;
        }
        if !sample.app_limited || sample.bw >= self.max_bw() {
            self.bw_hi[1] = self.bw_hi[1].max(sample.bw);
        }
        self.signals.loss_in_round |= sample.losses > 0;
        if self.signals.loss_round_start {
            self.adapt_lower_bounds();
            self.signals.loss_in_round = false;
            self.signals.ecn_in_round = false;
        }
    }

    /// Moves the filter of the maximum bandwidth to the next cycle, if the present cycle has
    /// samples.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.bw_hi[1] != 0 {
            self.bw_hi = [self.bw_hi[1], 0];
        }
    }

    pub(super) fn update_aggregation(&mut self, sample: &Sample) {
        if !sample.is_sampled {
            return;
        }
        if self.round_start {
            self.aggregation.next_round(if self.full_bw_reached { WINDOW_ROUNDS } else { 1 });
        }
        let (bw, cwnd) = (self.bw(), self.view.cwnd);
        self.aggregation.update(self.delivered_at, sample.acked_sacked, bw, cwnd);
    }

    /// Returns whether the path marks early and both ends use ECN.
    pub(super) fn can_use_ecn(&self) -> bool {
        self.has_ecn && self.options.ecn_low
    }

    /// Updates the moving average of the fraction of marked segments once per round. Returns the
    /// fraction of this round in 256ths, if marks count.
    pub(super) fn update_ecn_alpha(&mut self, sample: &Sample) -> Option<u64> {
        self.ecn_eligible |= self.can_use_ecn() && self.min_rtt <= ECN_MAX_RTT;
        if !self.ecn_eligible {
            return None;
        }
        let delivered = self.view.delivered - self.alpha_last_delivered;
        if delivered == 0 {
            return None;
        }
        let ratio = ((sample.total_ce - self.alpha_last_delivered_ce) << SCALE) / delivered;
        let kept = ((UNIT - ECN_ALPHA_GAIN) * self.ecn_alpha) >> SCALE;
        self.ecn_alpha = (kept + ((ECN_ALPHA_GAIN * ratio) >> SCALE)).min(UNIT);
        self.alpha_last_delivered = self.view.delivered;
        self.alpha_last_delivered_ce = sample.total_ce;
        Some(ratio)
    }
}
