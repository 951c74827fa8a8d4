//! The rate of probes.

use aqmlab_core::Duration;

/// The bytes that a foreign probe exchanges, by the draft's estimate.
const FOREIGN_BYTES: f64 = 5_000.0;
/// The bytes that a self probe exchanges, by the draft's estimate.
const SELF_BYTES: f64 = 1_000.0;

/// The limits on the rate of probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The maximum number of pairs per second. A pair is a foreign probe and a self probe.
    pub(crate) per_second: u64,
    /// The maximum proportion of the capacity that the probes may use.
    pub(crate) share: f64,
}

impl Limits {
    /// Returns the time between two pairs of probes on a line of `capacity_bps` bits per second;
    /// `None` if the capacity is zero.
    pub(crate) fn between_pairs(self, capacity_bps: f64) -> Option<Duration> {
        let least_s = 1.0 / self.per_second as f64;
        let allowed_bps = self.share * capacity_bps;
        let seconds = least_s.max((FOREIGN_BYTES + SELF_BYTES) * 8.0 / allowed_bps);
        seconds.is_finite().then(|| Duration::from_secs_f64(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    const DEFAULT: Limits = Limits { per_second: 100, share: 0.05 };

    #[test]
    fn c243_probes_use_at_most_their_share_of_the_capacity() {
        let slow = DEFAULT.between_pairs(2e6).unwrap();
        close(1.0 / slow.as_secs_f64(), 2.08, 0.005);
        assert_eq!(DEFAULT.between_pairs(1e9), Some(Duration::from_millis(10)));
        assert_eq!(DEFAULT.between_pairs(0.0), None);
    }
}
