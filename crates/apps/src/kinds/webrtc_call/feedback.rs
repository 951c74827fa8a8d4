//! Reports of the receiver on the arrival of each packet.
//!
//! Source: draft-holmer-rmcat-transport-wide-cc-extensions-01; libwebrtc (2025-06)
//! `transport_sequence_number_feedback_generator.cc`. The first interval is 100 ms. Later intervals
//! are chosen so that reports take 5 % of the rate at which the reporting end sends, within 50 to
//! 250 ms.
//!
//! Differences: in the size of a report, a packet status chunk holds seven statuses, or one run of
//! seven or more missing packets. A chunk of draft-holmer-rmcat-transport-wide-cc-extensions-01 may
//! also hold fourteen statuses, or a run of packets that arrived. In this model a reordered packet
//! that arrives after the report on its neighbours is never reported; libwebrtc includes it in its
//! next report.

use aqmlab_core::{Duration, Instant};

const FIRST_INTERVAL: Duration = Duration::from_millis(100);
const INTERVALS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(250));
const SHARE: f64 = 0.05;
/// The size of a usual report in bits, including the headers of IP, UDP and SRTP.
const USUAL_BITS: f64 = 8.0 * (20 + 8 + 10 + 30) as f64;
/// The unit of arrival times, 250 us.
const UNIT_NS: u64 = 250_000;
/// The largest difference of two arrivals that fits into one byte, in units of 250 us.
const SMALL_UNITS: u64 = 255;
/// The length in bytes of RTCP's header, the two sources, and the base of sequence numbers and
/// times.
const HEADER: u32 = 20;
/// The length of SRTCP's index and authentication tag in bytes.
pub(crate) const SRTCP: u32 = 14;
/// The number of packets whose outcome fits into one chunk, with two bits each.
const CHUNK: u32 = 7;
const CHUNK_BYTES: u32 = 2;

/// A report on the arrivals of consecutive packets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    /// The sequence number of the first packet.
    pub(crate) first: u64,
    /// The time of each arrival, or `None` for a packet that has not arrived.
    pub(crate) arrivals: Vec<Option<Instant>>,
}

/// The arrivals that are not yet reported.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// The sequence number of the first packet that is not yet reported.
    next: u64,
    waiting: Vec<(u64, Instant)>,
    interval: Duration,
}

impl Default for Arrived {
    fn default() -> Self {
        Self { next: 0, waiting: Vec::new(), interval: FIRST_INTERVAL }
    }
}

impl Arrived {
    /// Records that packet `number` arrived, unless a report already covered this number.
    pub(crate) fn add(&mut self, number: u64, now: Instant) {
        if number >= self.next {
            let unit = Instant::from_nanos(now.as_nanos() / UNIT_NS * UNIT_NS);
            self.waiting.push((number, unit));
        }
    }

    /// Adapts the interval of reports to `bps`, the rate at which this end sends.
    pub(crate) fn set_rate(&mut self, bps: f64) {
        let seconds = USUAL_BITS / (SHARE * bps).max(1.0);
        self.interval = Duration::from_secs_f64(seconds).clamp(INTERVALS.0, INTERVALS.1);
    }

    /// Returns the time between two reports.
    pub(crate) const fn interval(&self) -> Duration {
        self.interval
    }

    /// Removes arrivals and returns the report on them, with its size in bytes; `None` if no packet
    /// has arrived. A report on more than one arrival has at most `room` bytes.
    pub(crate) fn report(&mut self, room: u32) -> Option<(Report, u32)> {
        self.waiting.sort_unstable();
        self.waiting.dedup_by_key(|&mut (number, _)| number);
        let first = self.next;
        let mut report = Report { first, arrivals: Vec::new() };
        let (mut size, mut chunks, mut last) = (Size::default(), first, None);
        let mut taken = 0;
        for &(number, at) in &self.waiting {
            let larger = size.with(number - chunks, last, at);
            if taken > 0 && larger.bytes() > room {
                break;
            }
            (size, last, chunks) = (larger, Some(at), number + 1);
            report.arrivals.resize((number - first) as usize, None);
            report.arrivals.push(Some(at));
            taken += 1;
        }
        self.waiting.drain(..taken);
        self.next = chunks;
        (taken > 0).then(|| (report, size.bytes()))
    }
}

/// The size of a report.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// The number of outcomes that are reported in chunks of seven outcomes.
    outcomes: u32,
    /// The number of chunks that hold a run of missing packets.
    runs: u32,
    times: u32,
}

impl Size {
    /// Returns this size plus `missing` missing packets and one packet that arrived at `at`. `last`
    /// is the arrival time of the packet reported before.
    fn with(self, missing: u64, last: Option<Instant>, at: Instant) -> Self {
        let is_run = missing >= u64::from(CHUNK);
        let apart = last.map_or(0, |last| at.as_nanos().abs_diff(last.as_nanos()) / UNIT_NS);
        let is_small = apart <= SMALL_UNITS && last.is_none_or(|last| at >= last);
        Self {
            outcomes: self.outcomes + 1 + if is_run { 0 } else { missing as u32 },
            runs: self.runs + u32::from(is_run),
            times: self.times + if is_small { 1 } else { 2 },
        }
    }

    fn bytes(self) -> u32 {
        let chunks = self.outcomes.div_ceil(CHUNK) + self.runs;
        (HEADER + CHUNK_BYTES * chunks + self.times).next_multiple_of(4) + SRTCP
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrived(numbers: &[(u64, u64)]) -> Arrived {
        let mut arrived = Arrived::default();
        for &(number, ms) in numbers {
            arrived.add(number, Instant::from_millis(ms));
        }
        arrived
    }

    #[test]
    fn a_report_holds_every_packet_since_the_last() {
        let mut two = arrived(&[(0, 10), (1, 11), (3, 12)]);
        let (report, bytes) = two.report(1_200).unwrap();
        let at = |ms| Some(Instant::from_millis(ms));
        assert_eq!(report, Report { first: 0, arrivals: vec![at(10), at(11), None, at(12)] });
        // 20 B, plus one chunk and three times, are 25 B. In whole words they are 28 B, and SRTCP
        // adds 14 B.
        assert_eq!(bytes, 42);
        assert_eq!(two.report(1_200), None);
        two.add(2, Instant::from_millis(200));
        two.add(6, Instant::from_millis(201));
        let (report, _) = two.report(1_200).unwrap();
        assert_eq!(report, Report { first: 4, arrivals: vec![None, None, at(201)] });
    }

    /// Tests statement C-107.
    #[test]
    fn reports_are_50_to_250_ms_apart_and_100_at_first() {
        let mut arrived = Arrived::default();
        assert_eq!(arrived.interval(), Duration::from_millis(100));
        // 68 B every 100 ms are 5 % of 108.8 kbit/s.
        for (bps, ms) in [(108_800.0, 100), (300e3, 50), (5e6, 50), (5e3, 250), (0.0, 250)] {
            arrived.set_rate(bps);
            assert_eq!(arrived.interval(), Duration::from_millis(ms), "{bps} bit/s");
        }
    }

    #[test]
    fn times_are_in_quarters_of_a_millisecond() {
        let mut arrived = Arrived::default();
        arrived.add(0, Instant::from_micros(10_499));
        let (report, _) = arrived.report(1_200).unwrap();
        assert_eq!(report.arrivals, [Some(Instant::from_micros(10_250))]);
    }

    proptest! {
        #[test]
        fn reports_fit_their_packets_and_lose_nothing(
            gaps in prop::collection::vec((1..40_u64, 0..200_u64), 1..400),
            room in 100..1_300_u32,
        ) {
            let (mut number, mut ms) = (0, 0);
            let mut all = Arrived::default();
            let mut want = Vec::new();
            for (gap, later) in gaps {
                number += gap;
                ms += later;
                all.add(number, Instant::from_millis(ms));
                want.push(number);
            }
            let mut got = Vec::new();
            while let Some((report, bytes)) = all.report(room) {
                prop_assert!(bytes <= room, "{bytes} B");
                let numbers = (report.first..).zip(&report.arrivals);
                got.extend(numbers.filter(|(_, at)| at.is_some()).map(|(number, _)| number));
            }
            prop_assert_eq!(got, want);
        }
    }
}
