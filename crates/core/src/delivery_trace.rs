//! A trace of delivery opportunities, as mahimahi replays it.
//!
//! Source: mahimahi ae477d4 `src/frontend/link_queue.cc`. A trace lists times in whole
//! milliseconds. At each time the link can send [`OPPORTUNITY`]; several equal times stand for
//! several opportunities. After the last time the trace repeats, and the last time becomes the
//! time zero of the repetition.

use crate::{Bytes, Instant};

/// The bytes of one opportunity (`PACKET_SIZE`): a full packet of 1500 bytes and the header that
/// mahimahi's TUN device puts before each packet. mm-link(1) states 1500.
pub const OPPORTUNITY: Bytes = Bytes(1_504);
/// The bytes of the header that mahimahi's TUN device puts before each packet.
pub const TUN_HEADER: Bytes = Bytes(4);
/// The largest number of opportunities that a trace can have per millisecond: 100 Gbit/s.
const MOST_PER_MS: u64 = 8_311;

const MS: u64 = 1_000_000;

/// A trace of delivery opportunities that repeats after its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// The times of the first pass in milliseconds, in order.
    times_ms: Box<[u64]>,
}

impl DeliveryTrace {
    /// Returns the trace whose opportunities have these `gaps_ms`. The first gap is the time of the
    /// first opportunity, and each other gap is the time since the previous opportunity.
    ///
    /// # Errors
    ///
    /// The reason, if the trace has no opportunity, if its length is zero, or if it is faster than
    /// 100 Gbit/s.
    pub fn new(gaps_ms: &[u32]) -> Result<Self, &'static str> {
        let times = gaps_ms.iter().scan(0_u64, |at, &gap| {
            *at += u64::from(gap);
            Some(*at)
        });
        let times_ms: Box<[u64]> = times.collect();
        match times_ms.last() {
            None => Err("a trace without opportunities"),
            Some(0) => Err("a trace that lasts no time"),
            Some(&last) if times_ms.len() as u64 / last > MOST_PER_MS => {
                Err("a trace of more than 100 Gbit/s")
            }
            Some(_) => Ok(Self { times_ms }),
        }
    }

    /// Returns the time of opportunity number `number`, which counts from zero through all passes.
    pub fn time(&self, number: u64) -> Instant {
        let count = self.times_ms.len() as u64;
        let (pass, index) = (number / count, number % count);
        let at =
            pass.saturating_mul(self.period_ms()).saturating_add(self.times_ms[index as usize]);
        Instant::from_nanos(at.saturating_mul(MS))
    }

    /// Returns the number of the first opportunity at or after `now`.
    pub fn first_from(&self, now: Instant) -> u64 {
        let at = now.as_nanos().div_ceil(MS);
        // An opportunity at the end of a pass precedes one at the beginning of the next pass.
        let pass = at.saturating_sub(1) / self.period_ms();
        let within = at - pass * self.period_ms();
        let index = self.times_ms.partition_point(|&time| time < within);
        pass * self.times_ms.len() as u64 + index as u64
    }

    /// Returns the number of bits that the trace can send from `from` to just before `to`.
    pub fn bits(&self, from: Instant, to: Instant) -> f64 {
        let count = self.first_from(to.max(from)) - self.first_from(from);
        count as f64 * OPPORTUNITY.0 as f64 * 8.0
    }

    fn period_ms(&self) -> u64 {
        self.times_ms[self.times_ms.len() - 1]
    }
}

/// The use of a trace: the present opportunity and the rest of its bytes.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: DeliveryTrace,
    number: u64,
    at: Instant,
    left: u64,
}

impl Opportunities {
    /// Returns an unused trace.
    pub fn new(trace: DeliveryTrace) -> Self {
        let at = trace.time(0);
        Self { trace, number: 0, at, left: OPPORTUNITY.0 }
    }

    /// Returns the time of the present opportunity.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Discards the opportunities before `now`, at which nothing could be sent.
    pub fn skip_to(&mut self, now: Instant) {
        if self.at < now {
            self.turn_to(self.trace.first_from(now));
        }
    }

    /// Sends a packet of `size` and its TUN header. Returns the time at which its last byte is
    /// sent. A packet may span opportunities, and the next packet uses the rest of the last one.
    pub fn send(&mut self, size: Bytes) -> Instant {
        let mut rest = size.0 + TUN_HEADER.0;
        while rest > self.left {
            rest -= self.left;
            self.turn_to(self.number + 1);
        }
        self.left -= rest;
        let done = self.at;
        if self.left == 0 {
            self.turn_to(self.number + 1);
        }
        done
    }

    fn turn_to(&mut self, number: u64) {
        (self.number, self.at, self.left) = (number, self.trace.time(number), OPPORTUNITY.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn trace(gaps_ms: &[u32]) -> DeliveryTrace {
        DeliveryTrace::new(gaps_ms).unwrap()
    }

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    #[test]
    fn c250_a_trace_of_one_line_repeats() {
        let one = trace(&[1]);
        assert_eq!([0, 1, 7].map(|number| one.time(number)), [ms(1), ms(2), ms(8)]);
        assert_eq!([0, 1, 2].map(|at| one.first_from(ms(at))), [0, 0, 1]);
        // 12 Mbit/s of IP in packets of 1500 bytes with their header of four.
        assert!((one.bits(ms(0), ms(1_001)) - 8.0 * 1_504.0 * 1_000.0).abs() < 1e-6);
    }

    /// Tests the trace `10 10 20` with a packet of 1500 bytes and two packets of 748 bytes. All
    /// packets are in the queue from the start, and each has a header of four bytes.
    #[test]
    fn c248_packets_share_and_span_opportunities() {
        let mut uses = Opportunities::new(trace(&[10, 0, 10]));
        let left = [1_500, 748, 748].map(|size| uses.send(Bytes(size)));
        assert_eq!(left, [ms(10), ms(10), ms(10)]);
        // The opportunity at 20 ms is lost, and the trace repeats from there.
        uses.skip_to(ms(21));
        let left = [1_500, 748, 1_500].map(|size| uses.send(Bytes(size)));
        assert_eq!(left, [ms(30), ms(30), ms(40)]);
        assert_eq!(uses.at(), ms(40));
    }

    #[test]
    fn c249_the_rest_of_an_opportunity_is_lost() {
        let mut uses = Opportunities::new(trace(&[5, 5]));
        assert_eq!(uses.send(Bytes(748)), ms(5));
        uses.skip_to(ms(6));
        assert_eq!(uses.send(Bytes(1_500)), ms(10));
    }

    #[test]
    fn impossible_traces_are_refused() {
        assert!(DeliveryTrace::new(&[]).is_err());
        assert!(DeliveryTrace::new(&[0, 0]).is_err());
        assert!(DeliveryTrace::new(&[1; 3]).is_ok());
        let mut fast = vec![0; 10_000];
        fast.push(1);
        assert_eq!(DeliveryTrace::new(&fast), Err("a trace of more than 100 Gbit/s"));
    }

    #[test]
    fn the_first_opportunity_is_the_one_that_a_search_finds() {
        let mut rng = Rng::stream(1, "trace");
        for _ in 0..300 {
            let count = 1 + rng.below(8);
            let mut gaps: Vec<u32> = (0..count).map(|_| rng.below(4) as u32).collect();
            gaps[0] += u32::from(gaps.iter().all(|&gap| gap == 0));
            let trace = trace(&gaps);
            let times: Vec<_> = (0..400).map(|number| trace.time(number)).collect();
            assert!(times.is_sorted());
            for _ in 0..20 {
                let now = Instant::from_nanos(rng.below(30_000_000));
                let found = times.iter().position(|&time| time >= now).unwrap();
                assert_eq!(trace.first_from(now), found as u64, "{gaps:?} at {now}");
            }
        }
    }
}
