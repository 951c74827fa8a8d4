//! A rate that changes at stated times.

use crate::{Bytes, Instant};

/// The time in nanoseconds of one bit at 1 bit/s.
const SECOND: u128 = 1_000_000_000;

/// A rate from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// The time from which the rate applies.
    pub at: Instant,
    /// The rate in bits per second. At a rate of zero, nothing is sent.
    pub bps: u64,
}

/// A rate that changes at stated times. The last rate applies for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps(Box<[RateStep]>);

impl RateSteps {
    /// Returns the rate `first_bps` that then changes at each of `steps`.
    ///
    /// # Errors
    ///
    /// If the first or the last rate is zero, or if the times do not increase from a time above
    /// zero. The error contains the index of the wrong step and the reason.
    pub fn new(first_bps: u64, steps: &[RateStep]) -> Result<Self, (usize, &'static str)> {
        let mut all = vec![RateStep { at: Instant::ZERO, bps: first_bps }];
        for (index, &step) in steps.iter().enumerate() {
            if step.at <= all[index].at {
                return Err((index, "not after the time of the previous step"));
            }
            all.push(step);
        }
        if first_bps == 0 {
            return Err((0, "the first rate is zero"));
        }
        if all.last().is_some_and(|last| last.bps == 0) {
            return Err((steps.len() - 1, "the last rate is zero, at which a queue never drains"));
        }
        Ok(Self(all.into()))
    }

    /// Returns the rate at `now` in bits per second.
    pub fn bps_at(&self, now: Instant) -> u64 {
        self.0[self.index_at(now)].bps
    }

    /// Returns whether the rate is zero at some time.
    pub fn pauses(&self) -> bool {
        self.0.iter().any(|step| step.bps == 0)
    }

    /// Returns the time at which the last bit of `size` has been sent, if the first bit is sent at
    /// `from`. Each bit is sent at the rate of its time. The time is rounded up to a nanosecond.
    pub fn sent_at(&self, from: Instant, size: Bytes) -> Instant {
        // The work is in bits times nanoseconds per second, in which every product is exact.
        let mut work = u128::from(size.0) * 8 * SECOND;
        let mut begin = from;
        for index in self.index_at(from)..self.0.len() {
            let rate = u128::from(self.0[index].bps);
            let end = self.0.get(index + 1).map(|next| next.at);
            let span = end.map(|end| u128::from(end.since(begin).as_nanos()));
            let Some((end, done)) =
                end.zip(span.map(|span| span * rate)).filter(|(_, done)| *done < work)
            else {
                let nanos = u64::try_from(work.div_ceil(rate.max(1)));
                let nanos = nanos.expect("no packet takes 584 years");
                return Instant::from_nanos(begin.as_nanos().saturating_add(nanos));
            };
            work -= done;
            begin = end;
        }
        unreachable!("the last step has no end")
    }

    /// Returns the number of bits that are sent from `from` to `to`.
    pub fn bits(&self, from: Instant, to: Instant) -> f64 {
        let ends = self.0.iter().skip(1).map(|step| step.at).chain([to.max(from)]);
        let spans = self.0.iter().zip(ends).map(|(step, end)| {
            let span = end.min(to).as_nanos().saturating_sub(step.at.max(from).as_nanos());
            step.bps as f64 * span as f64
        });
        spans.sum::<f64>() / SECOND as f64
    }

    fn index_at(&self, now: Instant) -> usize {
        self.0.partition_point(|step| step.at <= now) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitRate, Rng};

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn steps(rates: &[(u64, u64)]) -> RateSteps {
        let later: Vec<_> =
            rates[1..].iter().map(|&(at, bps)| RateStep { at: ms(at), bps }).collect();
        RateSteps::new(rates[0].1, &later).unwrap()
    }

    #[test]
    fn the_rest_of_a_packet_is_sent_at_the_new_rate() {
        // Half of the packet's 12 000 bits takes half a millisecond; the rest takes six.
        let rate = steps(&[(0, 12_000_000), (10, 1_000_000), (20, 12_000_000)]);
        let half = Instant::from_nanos(9_500_000);
        assert_eq!(rate.sent_at(half, Bytes(1_500)), ms(16));
        assert_eq!(rate.sent_at(ms(5), Bytes(1_500)), ms(6));
        assert_eq!(rate.sent_at(ms(9), Bytes(1_500)), ms(10));
        assert_eq!(rate.sent_at(ms(10), Bytes(1_500)), Instant::from_nanos(20_166_667));
        assert_eq!([9, 10, 19, 20].map(|at| rate.bps_at(ms(at)) / 1_000_000), [12, 1, 1, 12]);
    }

    #[test]
    fn nothing_is_sent_at_a_rate_of_zero() {
        let rate = steps(&[(0, 12_000_000), (10, 0), (30, 12_000_000)]);
        assert!(rate.pauses());
        assert_eq!(
            rate.sent_at(Instant::from_nanos(9_500_000), Bytes(1_500)).as_nanos(),
            30_500_000
        );
        assert_eq!(rate.sent_at(ms(15), Bytes(1_500)), ms(31));
        assert!((rate.bits(ms(5), ms(40)) - 180_000.0).abs() < 1e-6);
    }

    #[test]
    fn wrong_steps_are_refused_with_their_index() {
        let at = |ms_at, bps| RateStep { at: ms(ms_at), bps };
        assert_eq!(RateSteps::new(0, &[at(1, 1)]).unwrap_err().0, 0);
        assert_eq!(RateSteps::new(1, &[at(2, 1), at(2, 3)]).unwrap_err().0, 1);
        assert_eq!(RateSteps::new(1, &[at(0, 1)]).unwrap_err().0, 0);
        assert_eq!(RateSteps::new(1, &[at(1, 5), at(2, 0)]).unwrap_err().0, 1);
    }

    #[test]
    fn c247_equal_rates_send_as_a_constant_rate_and_never_faster_than_the_rate_of_the_time() {
        let mut rng = Rng::stream(1, "rate steps");
        for _ in 0..2_000 {
            let bps = 1_000 + rng.below(50_000_000);
            let same = steps(&[(0, bps), (3, bps), (50, bps)]);
            let from = Instant::from_nanos(rng.below(60_000_000));
            let size = Bytes(1 + rng.below(2_000));
            let took = BitRate::new(bps).unwrap().transmit_time(size);
            assert_eq!(same.sent_at(from, size), from + took);

            let other = steps(&[(0, bps), (3, 1 + rng.below(1_000_000)), (50, bps / 2)]);
            let end = other.sent_at(from, size);
            let bits = (size.0 * 8) as f64;
            assert!(other.bits(from, end) >= bits * (1.0 - 1e-12), "faster than the rate");
            let earlier = Instant::from_nanos(end.as_nanos() - 1);
            assert!(other.bits(from, earlier) < bits, "slower than the rate");
        }
    }
}
