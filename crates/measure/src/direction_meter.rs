//! The meter of one direction of one flow: the packets between its taps, and the outcomes of all
//! earlier packets.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

use aqmlab_core::{Direction, Duration, Instant, Ring};

use crate::jitter::Variation;
use crate::pairs::{Passage, RoundTrip, round_trip};
use crate::report::DirectionReport;
use crate::series::Series;
use crate::throughput::Active;

/// If packets may be reordered, the number of later arrivals after which a missing packet counts as
/// lost. `spp` searches 10 000 packets ahead and TEACUP 16 000, but in captures of several flows.
const OVERTAKEN: usize = 8_192;
/// The maximum number of packets between the taps. It bounds the memory on a path that no longer
/// delivers, and exceeds every bandwidth-delay product.
const BETWEEN_TAPS: usize = 1 << 20;
/// The maximum number of bins allocated in advance, more than any figure shows.
const ROOM: usize = 1 << 16;

/// The properties of a packet that passes the tap on the sender's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The index of the flow.
    pub flow: u32,
    /// The number of the connection. At the end of the trial, a later arrival proves a loss only
    /// within one connection, since a queue may reorder packets of different connections.
    pub conn: u32,
    /// The direction of the packet.
    pub direction: Direction,
    /// The identity of the packet. Identities increase in the order of sending.
    pub id: u64,
    /// The length of the IP packet in bytes.
    pub ip_len: u32,
}

/// The interval of the statistics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The start of the interval.
    pub(crate) from: Instant,
    /// The end of the interval, which is excluded.
    pub(crate) to: Instant,
}

impl Limits {
    #[inline]
    pub(crate) fn include(self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }
}

/// The last packet that arrived in one direction, as a candidate for the OUT of a pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Out {
    passage: Passage,
    /// The serial number of the arrival, which ensures that each arrival is used once; 0 before the
    /// first arrival.
    serial: u32,
}

/// A packet that passed the tap at its sender.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    id: u64,
    conn: u32,
    sent: Instant,
    /// The time of arrival; [`Instant::NEVER`] while in flight.
    received: Instant,
    /// The last arrival at the packet's sender before the packet was sent. This field and `serial`
    /// are not an [`Out`], because the padding of an `Out` would lengthen each flight by a sixth.
    out: Passage,
    /// The serial number of `out`.
    serial: u32,
}

/// The meter of one direction of one flow.
pub(crate) struct DirectionMeter {
    /// The packets in the order of sending, which is also the order of their identities.
    flights: Ring<Flight>,
    /// If packets may be reordered: the number of `flights` that have arrived.
    landed: usize,
    /// If packets may be reordered: the index in `flights` at which the next arrival is expected.
    expected: usize,
    arrived: Out,
    /// The serial number of the other direction's last packet that was used in a pair.
    served: u32,
    variation: Variation,
    active: Active,
    report: DirectionReport,
    rtt_series: Series,
    keep_series: bool,
}

impl DirectionMeter {
    /// Returns a meter that counts throughput with `active`. `series` is the step of the time
    /// series, which last until `end`; with `None`, there are no time series.
    pub(crate) fn new(active: Active, series: Option<Duration>, end: Instant) -> Self {
        let keep = series.is_some();
        let width = series.unwrap_or(Duration::MAX);
        let bins = end.as_nanos().div_ceil(width.as_nanos().max(1)) as usize;
        let steps = vec![0; if keep { bins } else { 0 }];
        Self {
            flights: Ring::default(),
            landed: 0,
            expected: 0,
            arrived: Out::default(),
            served: 0,
            variation: Variation::default(),
            active,
            report: DirectionReport { steps, ..DirectionReport::default() },
            rtt_series: Series::new(width, if keep { bins.min(ROOM) } else { 0 }),
            keep_series: keep,
        }
    }

    /// Returns the last arrival in this direction.
    #[inline]
    pub(crate) fn arrived(&self) -> Out {
        self.arrived
    }

    /// Records a packet that passes the tap at its sender. `out` is the last arrival at that tap.
    /// If [`BETWEEN_TAPS`] packets are already between the taps, removes the oldest of them.
    #[inline]
    pub(crate) fn depart(&mut self, packet: Sent, now: Instant, out: Out, limits: Limits) {
        let Sent { conn, id, ip_len, .. } = packet;
        debug_assert!(
            self.flights.back().is_none_or(|last| last.id < id),
            "identities rise in the order of sending: {id} is not after the last"
        );
        if limits.include(now) {
            self.report.packets_sent += 1;
            self.report.bytes_sent += u64::from(ip_len);
        }
        if self.flights.len() == BETWEEN_TAPS {
            self.lose_first(limits);
        }
        let Out { passage: out, serial } = out;
        self.flights.push(Flight { id, conn, sent: now, received: Instant::NEVER, out, serial });
    }

    /// Counts the bytes of any packet that arrives at `now`, in the given step of the series.
    #[inline]
    pub(crate) fn count(&mut self, step: usize, ip_len: u32, now: Instant) {
        self.report.bytes_arrived += u64::from(ip_len);
        self.active.count(ip_len, now);
        if let Some(bytes) = self.report.steps.get_mut(step) {
            *bytes += u64::from(ip_len);
        }
    }

    /// Records that the flow ends by itself at `at`.
    pub(crate) fn end(&mut self, at: Instant) {
        self.active.end(at);
    }

    /// Records the arrival of a packet on a path that keeps the order. Earlier packets that have
    /// not arrived are lost.
    #[inline]
    pub(crate) fn land_in_order(
        &mut self,
        id: u64,
        ip_len: u32,
        now: Instant,
        back: &mut Self,
        limits: Limits,
    ) {
        while let Some(flight) = self.flights.front().copied() {
            if flight.id > id {
                return;
            }
            self.flights.skip(1);
            if flight.id == id {
                self.land(flight.sent, ip_len, now, limits);
                self.pair(flight, now, back, limits);
                return;
            }
            self.report.lost += u64::from(limits.include(flight.sent));
        }
    }

    /// Records the arrival of a packet on a path that may reorder packets.
    ///
    /// Pairs are made in the order of sending, which is the order of the monitor's capture. A
    /// packet is therefore paired once all earlier packets have arrived or are lost.
    #[inline]
    pub(crate) fn land_anywhere(
        &mut self,
        id: u64,
        ip_len: u32,
        now: Instant,
        back: &mut Self,
        limits: Limits,
    ) {
        // Nearly all packets arrive in the order of sending, and no packet waits for an earlier
        // packet.
        if self.landed == 0 && self.flights.front().is_some_and(|first| first.id == id) {
            self.expected = 0;
            return self.land_in_order(id, ip_len, now, back, limits);
        }
        let Some(place) = self.find(id) else { return };
        let flight = self.flights.get_mut(self.flights.first().wrapping_add(place));
        if flight.received != Instant::NEVER {
            return;
        }
        flight.received = now;
        let sent = flight.sent;
        self.landed += 1;
        self.expected = place + 1;
        self.land(sent, ip_len, now, limits);
        self.release(back, limits);
        while self.landed >= OVERTAKEN {
            self.lose_first(limits);
            self.release(back, limits);
        }
    }

    /// Ends the measurement: pairs the remaining arrivals, and counts the missing packets. A
    /// missing packet is lost if a later packet of its connection has arrived. A later packet of
    /// another connection proves nothing, because a fair queue may send it first.
    pub(crate) fn lose_missing(&mut self, back: &mut Self, limits: Limits) {
        let mut arrived = BTreeSet::new();
        for flight in self.flights.iter().rev() {
            if flight.received != Instant::NEVER {
                arrived.insert(flight.conn);
            } else if limits.include(flight.sent) {
                let lost = arrived.contains(&flight.conn);
                self.report.lost += u64::from(lost);
                self.report.in_flight += u64::from(!lost);
            }
        }
        let flights = std::mem::take(&mut self.flights);
        for &flight in flights.iter().filter(|flight| flight.received != Instant::NEVER) {
            self.pair(flight, flight.received, back, limits);
        }
    }

    /// Returns the active time of the flow, and the measurements.
    pub(crate) fn finish(self) -> (Range<Instant>, DirectionReport) {
        let (active, active_bytes, windows) = self.active.finish();
        let report = DirectionReport {
            active_bytes,
            windows,
            rtt_series: self.rtt_series.finish(),
            jitter: self.variation.jitter(),
            ..self.report
        };
        (active, report)
    }

    #[inline(never)]
    fn find(&self, id: u64) -> Option<usize> {
        let id_at = |place: usize| self.flights.get(self.flights.first().wrapping_add(place)).id;
        if self.expected < self.flights.len() && id_at(self.expected) == id {
            return Some(self.expected);
        }
        let (mut low, mut high) = (0, self.flights.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match id_at(middle).cmp(&id) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Removes the arrived packets at the front of `flights`, and pairs them.
    fn release(&mut self, back: &mut Self, limits: Limits) {
        while let Some(&flight) = self.flights.front() {
            if flight.received == Instant::NEVER {
                return;
            }
            self.flights.skip(1);
            self.landed -= 1;
            self.expected = self.expected.saturating_sub(1);
            self.pair(flight, flight.received, back, limits);
        }
    }

    /// Removes the first packet and makes no pair from it. Counts the packet as lost unless it has
    /// arrived.
    #[cold]
    fn lose_first(&mut self, limits: Limits) {
        let Some(flight) = self.flights.pop() else { return };
        self.expected = self.expected.saturating_sub(1);
        if flight.received == Instant::NEVER {
            self.report.lost += u64::from(limits.include(flight.sent));
        } else {
            self.landed -= 1;
        }
    }

    /// Counts the arrival at `now` of a packet sent at `sent`.
    #[inline]
    fn land(&mut self, sent: Instant, ip_len: u32, now: Instant, limits: Limits) {
        let passage = Passage { reference: sent, monitor: now };
        self.arrived = Out { passage, serial: self.arrived.serial.wrapping_add(1).max(1) };
        let owd = now.since(sent);
        if limits.include(sent) {
            self.report.packets_received += 1;
            self.report.bytes_received += u64::from(ip_len);
            self.report.owd.record(owd);
            self.variation.follow(owd.as_nanos());
        }
    }

    /// Uses a packet that arrived at `now` as the IN of a pair, if its OUT is unused. The pair is a
    /// round trip measured at the sender of the other direction, which is the reference.
    #[inline]
    fn pair(&mut self, flight: Flight, now: Instant, back: &mut Self, limits: Limits) {
        if flight.serial == self.served {
            return;
        }
        self.served = flight.serial;
        let inbound = Passage { reference: now, monitor: flight.sent };
        let RoundTrip { at, rtt } = round_trip(flight.out, inbound);
        if back.keep_series {
            back.rtt_series.record(at, rtt);
        }
        if limits.include(at) {
            back.report.rtt.record(rtt);
        }
    }
}
