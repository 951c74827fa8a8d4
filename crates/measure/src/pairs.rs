//! Synthetic packet pairs: the round-trip time between two taps, from ordinary traffic.
//!
//! Source: Zander and Armitage, CAIA Technical Report 130730A (2013), and the tool `spp` 0.3.6. One
//! tap is the *reference*, whose round trips are measured; the other is the *monitor*. Only packets
//! at both taps count. Packets IN go from the monitor to the reference, and packets OUT from the
//! reference to the monitor. In the order of the monitor's capture, each IN is paired with the last
//! OUT before it. Each OUT is used at most once, and an IN without a fresh OUT is skipped. The
//! round-trip time is the time between OUT and IN at the reference, minus the time between OUT and
//! IN at the monitor. An offset between the clocks therefore cancels. A negative result, caused by
//! coarse clocks, counts as zero. The time of the round trip is the midpoint of OUT and IN at the
//! reference.
//!
//! Differences from `spp` 0.3.6, each pinned by a test:
//!
//! - The order in the monitor's capture decides which packet is earlier. `spp` compares timestamps
//!   in whole microseconds and requires them to differ. A simulated host can answer in zero time,
//!   and its answer still belongs to the request.
//! - The last pair is reported even if no further packet goes from the reference to the monitor.

use aqmlab_core::{Duration, Instant};

/// One round trip from the reference to the monitor and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The midpoint of OUT and IN, by the reference's clock.
    pub at: Instant,
    /// The round-trip time.
    pub rtt: Duration,
}

/// The times of one packet at the two taps, each by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The time at the reference.
    pub(crate) reference: Instant,
    /// The time at the monitor.
    pub(crate) monitor: Instant,
}

/// Returns `later` minus `earlier`. The result is exact for times in nanoseconds that are less than
/// 292 years apart.
#[inline]
pub(crate) const fn difference(later: u64, earlier: u64) -> i64 {
    i64::from_ne_bytes(later.wrapping_sub(earlier).to_ne_bytes())
}

/// Returns the round trip that the packets `out` and `inbound` form.
#[inline]
pub(crate) fn round_trip(out: Passage, inbound: Passage) -> RoundTrip {
    let span = |from: Instant, to: Instant| difference(to.as_nanos(), from.as_nanos());
    let total = span(out.reference, inbound.reference);
    let away = span(out.monitor, inbound.monitor);
    RoundTrip {
        at: Instant::from_nanos(out.reference.as_nanos().wrapping_add_signed(total / 2)),
        rtt: Duration::from_nanos(total.saturating_sub(away).max(0) as u64),
    }
}

/// Returns the round trip of two packets, if both taps have one clock. Each packet then arrives
/// after it was sent, and `inbound` is sent after `out` arrives.
#[inline]
pub(crate) fn round_trip_by_one_clock(out: Passage, inbound: Passage) -> RoundTrip {
    let span = |from: Instant, to: Instant| to.as_nanos() - from.as_nanos();
    let total = span(out.reference, inbound.reference);
    let away = span(out.monitor, inbound.monitor);
    RoundTrip {
        at: out.reference + Duration::from_nanos(total / 2),
        rtt: Duration::from_nanos(total - away),
    }
}

/// The pairing of packets at both taps, in the order of the monitor's capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairing {
    /// The last OUT, until it is used in a pair.
    fresh: Option<Passage>,
}

impl Pairing {
    /// Records a packet from the reference to the monitor.
    pub(crate) fn outbound(&mut self, passage: Passage) {
        self.fresh = Some(passage);
    }

    /// Pairs a packet from the monitor to the reference with the last OUT. Returns `None` if there
    /// is no unused OUT.
    pub(crate) fn inbound(&mut self, passage: Passage) -> Option<RoundTrip> {
        self.fresh.take().map(|out| round_trip(out, passage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: u64 = 20_000_000;

    /// Returns the passage of a packet that leaves one tap at the true time `sent` and takes `D`.
    /// The monitor's clock is ahead by `offset`.
    fn passage(sent: u64, offset: u64, outbound: bool) -> Passage {
        let (reference, monitor) = if outbound { (sent, sent + D) } else { (sent + D, sent) };
        Passage {
            reference: Instant::from_nanos(reference),
            monitor: Instant::from_nanos(monitor + offset),
        }
    }

    /// Tests statement C-89.
    #[test]
    fn a_fixed_delay_each_way_gives_twice_itself_whatever_the_clocks() {
        for offset in [0, 1, 3_600_000_000_000, 1 << 62] {
            let mut pairing = Pairing::default();
            let mut trips = Vec::new();
            for n in 1..=50 {
                pairing.outbound(passage(n * 1_000_000, offset, true));
                trips.extend(pairing.inbound(passage(n * 1_000_000 + D + 777, offset, false)));
            }
            assert_eq!(trips.len(), 50);
            assert!(trips.iter().all(|trip| trip.rtt.as_nanos() == 2 * D), "offset {offset}");
            assert_eq!(trips[0].at.as_nanos(), 21_000_388, "half of 2 D + 777 ns after 1 ms");
        }
    }

    /// Tests statement C-89.
    #[test]
    fn each_packet_serves_once() {
        let mut pairing = Pairing::default();
        assert_eq!(pairing.inbound(passage(0, 0, false)), None, "nothing went out yet");
        pairing.outbound(passage(0, 0, true));
        pairing.outbound(passage(100, 0, true));
        let trip = pairing.inbound(passage(D + 200, 0, false)).unwrap();
        assert_eq!(trip.rtt.as_nanos(), 2 * D);
        assert_eq!(pairing.inbound(passage(D + 300, 0, false)), None, "the last OUT is used");
    }

    #[test]
    fn an_answer_at_the_very_moment_of_the_question_belongs_to_it() {
        let mut pairing = Pairing::default();
        pairing.outbound(passage(0, 0, true));
        assert_eq!(pairing.inbound(passage(D, 0, false)).unwrap().rtt.as_nanos(), 2 * D);
    }

    #[test]
    fn the_last_pair_is_given_though_nothing_follows() {
        let mut pairing = Pairing::default();
        pairing.outbound(passage(0, 5, true));
        assert!(pairing.inbound(passage(D + 1, 5, false)).is_some());
    }

    #[test]
    fn a_negative_round_trip_is_none_at_all() {
        let out = Passage { reference: Instant::ZERO, monitor: Instant::ZERO };
        let back = Passage { reference: Instant::from_nanos(5), monitor: Instant::from_nanos(9) };
        assert_eq!(round_trip(out, back).rtt, Duration::ZERO);
    }
}
