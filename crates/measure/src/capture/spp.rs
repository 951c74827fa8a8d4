//! Measures a pair of captures: round trips by synthetic packet pairs, loss, throughput.
//!
//! Both captures are read side by side in bounded memory, and the packets of the two taps are
//! matched ([`super::matching`]). The definitions are the same as for simulated flows. The clocks
//! may differ. Without [`Options::synchronised`], equally many packets are read from each capture
//! until a packet has matched. After that, the times of the last matched packet give the offset of
//! the clocks.

use std::io::Read;

use aqmlab_core::Duration;

use super::decode::{LINKS, Tuple, can_read, decode};
use super::error::CaptureError;
use super::flow::FlowMeter;
use super::flows::Flows;
use super::matching::{Matching, Settled};
use super::options::Options;
use super::read::CaptureReader;
use crate::pairs::{RoundTrip, difference};
use crate::report::FlowReport;

/// The maximum number of steps between the first and the last packet of a capture.
const MAX_STEPS: u64 = 1 << 22;
/// The maximum number of steps of all flows together.
const MAX_BINS: u64 = 1 << 24;

/// The measurements of two captures.
#[derive(Clone, Debug)]
pub struct SppReport {
    /// The flows with a packet in both captures, in order of appearance.
    pub flows: Vec<SppFlow>,
    /// The contents of the captures.
    pub captures: [CaptureSummary; 2],
    /// The number of matched packets of flows beyond [`Options::max_flows`]; a packet counts once
    /// in each capture.
    pub left_out: u64,
}

/// The measurements of one flow. The up direction is from the first tap to the second.
#[derive(Clone, Debug)]
pub struct SppFlow {
    /// The protocol, addresses and ports of the flow's upstream packets, at the first tap.
    pub tuple: Tuple,
    /// The measurements. If the clocks agree, all times count from the first packet of either
    /// capture. Otherwise they count from the first packet of one capture: the receiver's for
    /// arrivals, and the reference's (the sender's) for round trips and delays. Packets that the
    /// other capture may not cover count as in flight.
    pub report: FlowReport,
    /// The round trips of each direction, in the order of the monitor's capture, if they are kept.
    pub samples: [Vec<RoundTrip>; 2],
}

/// The contents of one capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureSummary {
    /// The number of packets of any kind.
    pub packets: u64,
    /// The number of IP packets.
    pub ip_packets: u64,
    /// The number of IP packets that the other capture also contains.
    pub matched: u64,
    /// The time of the first IP packet, in nanoseconds since 1970.
    pub begins: Option<u64>,
    /// The time of the last IP packet, in nanoseconds since 1970.
    pub ends: Option<u64>,
}

/// Measures the capture `first` against the capture `second`.
///
/// # Errors
///
/// If a capture cannot be read, or if the time series would have too many steps: see
/// [`CaptureError`].
///
/// # Panics
///
/// If the step is zero.
pub fn spp<A: Read, B: Read>(
    first: A,
    second: B,
    options: &Options,
) -> Result<SppReport, CaptureError> {
    assert!(options.step > Duration::ZERO, "a step of no time: allowed is any longer one");
    let [first_name, second_name] = &options.names;
    let mut readers =
        (CaptureReader::new(first, first_name)?, CaptureReader::new(second, second_name)?);
    let mut run = Run {
        options,
        matching: Matching::new(options.search),
        flows: Flows::default(),
        captures: [CaptureSummary::default(); 2],
    };
    let mut open = [true; 2];
    while let Some(tap) = run.choose(open) {
        open[tap] = match tap {
            0 => run.advance(0, &mut readers.0)?,
            _ => run.advance(1, &mut readers.1)?,
        };
        run.measure(Matching::settle);
    }
    run.measure(Matching::settle_all);
    run.finish()
}

struct Run<'a> {
    options: &'a Options,
    matching: Matching,
    flows: Flows,
    captures: [CaptureSummary; 2],
}

impl Run<'_> {
    /// Returns the capture to read next, so that both are read up to the same time; `None` if both
    /// have ended.
    fn choose(&self, open: [bool; 2]) -> Option<usize> {
        match open {
            [false, false] => return None,
            [true, false] => return Some(0),
            [false, true] => return Some(1),
            [true, true] => {}
        }
        // If the assumed clock offset is wrong, many unmatched packets accumulate at one tap.
        let crowded = [0, 1].map(|tap| self.matching.waiting(tap) > self.options.search / 2);
        match crowded {
            [true, false] => return Some(1),
            [false, true] => return Some(0),
            _ => {}
        }
        let offset = if self.options.synchronised { Some(0) } else { self.matching.offset };
        let [first, second] = &self.captures;
        let behind = match (offset, first.ends, second.ends) {
            (Some(offset), Some(first), Some(second)) => difference(second, first) >= offset,
            _ => first.packets <= second.packets,
        };
        Some(usize::from(!behind))
    }

    /// Processes the next packet of a capture; returns false at the end of the capture.
    fn advance<R: Read>(
        &mut self,
        tap: usize,
        reader: &mut CaptureReader<R>,
    ) -> Result<bool, CaptureError> {
        let Some(raw) = reader.next()? else { return Ok(false) };
        let (at, link) = (raw.at, raw.link);
        let identify = || decode(link, raw.data, raw.length, self.options.translation);
        let Some(decoded) = can_read(link).then(identify) else {
            return Err(reader.error(format!("link type {link}: allowed are {LINKS}")));
        };
        let capture = &mut self.captures[tap];
        capture.packets += 1;
        let Some(decoded) = decoded else { return Ok(true) };
        capture.ip_packets += 1;
        capture.ends = Some(at);
        let begins = *capture.begins.get_or_insert(at);
        let steps = at.saturating_sub(begins) / self.options.step.as_nanos();
        if steps >= MAX_STEPS {
            return Err(reader.error(format!(
                "it is {} after the first: allowed are {MAX_STEPS} steps of {}; take longer steps",
                Duration::from_nanos(at - begins),
                self.options.step
            )));
        }
        self.matching.push(tap, decoded, at);
        Ok(true)
    }

    fn measure(&mut self, settle: fn(&mut Matching, usize) -> Option<Settled>) {
        let [first, second] = self.captures.map(|capture| capture.begins.unwrap_or(0));
        let together = self.options.synchronised && first > 0 && second > 0;
        let begun = if together { [first.min(second); 2] } else { [first, second] };
        for tap in [0, 1] {
            while let Some(packet) = settle(&mut self.matching, tap) {
                self.captures[tap].matched += u64::from(packet.mate.is_some());
                self.flows.take(&packet, begun, self.options);
            }
        }
    }

    fn finish(self) -> Result<SppReport, CaptureError> {
        let left_out = self.flows.left_out;
        let meters = self.flows.finish(self.options);
        let bins: u64 = meters.iter().map(FlowMeter::steps).sum();
        if bins > MAX_BINS {
            return Err(CaptureError {
                file: self.options.names.join(" and "),
                packet: 0,
                offset: 0,
                problem: format!(
                    "{} flows in steps of {} make {bins} bins: allowed are {MAX_BINS}; \
                     take longer steps",
                    meters.len(),
                    self.options.step
                ),
                source: None,
            });
        }
        let flow = |meter: FlowMeter| {
            let (tuple, report, samples) = meter.finish();
            SppFlow { tuple, report, samples }
        };
        let flows = meters.into_iter().map(flow).collect();
        Ok(SppReport { flows, captures: self.captures, left_out })
    }
}
