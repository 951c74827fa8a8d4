//! The aggregation of acknowledgements: the data acknowledged in excess of the bandwidth.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` and google/bbr v3 (`bbr_update_ack_aggregation`, equal in
//! both except for the window of rounds, which the caller gives). Wireless links and offloads
//! hold acknowledgements back and release many at once. The excess is the additional data in flight
//! that keeps the sender busy between two releases.

use aqmlab_core::Instant;

use super::BW_UNIT;

/// The number of rounds after which the older of two maxima is dropped.
pub(in crate::cc::kinds) const WINDOW_ROUNDS: u32 = 5;
/// The amount of acknowledged data at and above which an epoch restarts.
const EPOCH_LIMIT: u64 = 1 << 20;
/// The limit of the allowance for aggregation: the data that the bandwidth carries in this time, in
/// microseconds.
const MAX_MICROS: u64 = 100_000;

/// The estimator of the data acknowledged in excess of the bandwidth.
#[derive(Debug, Default)]
pub(in crate::cc::kinds) struct Aggregation {
    epoch: Instant,
    epoch_acked: u64,
    /// The maximum excess of the current window of rounds and of the previous window. `index`
    /// selects the maximum of the current window.
    excess: [u64; 2],
    index: usize,
    rounds: u32,
}

impl Aggregation {
    /// Starts a new epoch at `now`.
    pub(in crate::cc::kinds) fn begin_epoch(&mut self, now: Instant) {
        self.epoch = now;
        self.epoch_acked = 0;
    }

    /// Records that a round trip has passed. A maximum lasts for at least `window` and at most `2 *
    /// window` rounds.
    pub(in crate::cc::kinds) fn next_round(&mut self, window: u32) {
        self.rounds = (self.rounds + 1).min(0x1f);
        if self.rounds >= window {
            self.rounds = 0;
            self.index ^= 1;
            self.excess[self.index] = 0;
        }
    }

    /// Records that the amount `acked` of data was acknowledged at `now`, at the bandwidth `bw` and
    /// with the window `cwnd`.
    pub(in crate::cc::kinds) fn update(&mut self, now: Instant, acked: u64, bw: u64, cwnd: u64) {
        // Both sources keep the product in 32 bits.
        let mut expected = product(bw, now.since(self.epoch).as_micros()) & u64::from(u32::MAX);
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.begin_epoch(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_LIMIT - 1);
        let excess = (self.epoch_acked - expected).min(cwnd);
        let greatest = &mut self.excess[self.index];
        *greatest = (*greatest).max(excess);
    }

    /// Returns the additional data to keep in flight on a path of bandwidth `bw`.
    pub(in crate::cc::kinds) fn allowance(&self, bw: u64) -> u64 {
        self.excess[0].max(self.excess[1]).min(product(bw, MAX_MICROS))
    }
}

/// Returns the amount of data that bandwidth `bw` delivers in `micros`.
fn product(bw: u64, micros: u64) -> u64 {
    (u128::from(bw) * u128::from(micros) / u128::from(BW_UNIT)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the allowance for aggregation, and its expiry after ten rounds. The test sends one
    /// segment per millisecond, and acknowledges twenty segments at a time.
    #[test]
    fn aggregation_is_allowed_for_and_expires_after_ten_rounds() {
        let bw = BW_UNIT / 1_000;
        let mut aggregation = Aggregation::default();
        for burst in 1..=10 {
            aggregation.update(Instant::from_millis(20 * burst), 20, bw, 1_000);
        }
        let allowance = aggregation.allowance(bw);
        assert!((20..=21).contains(&allowance), "{allowance}");
        assert_eq!(aggregation.allowance(bw / 10), 9, "100 ms at a tenth of the rate");
        for _ in 0..10 {
            aggregation.next_round(WINDOW_ROUNDS);
        }
        assert_eq!(aggregation.allowance(bw), 0);
    }
}
