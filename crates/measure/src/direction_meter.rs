//! The meter of one direction of one flow: the packets between its taps, and the outcomes of all
//! earlier packets.

use std::collections::BTreeSet;
use std::ops::Range;

use aqmlab_core::{Direction, Duration, Instant, Ring};

use crate::arrivals::{Arrivals, Arrived};
use crate::jitter::Variation;
use crate::pairs::{Passage, RoundTrip, round_trip_by_one_clock};
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
    from: u64,
    length: u64,
}

impl Limits {
    /// Returns the interval that includes `from` and excludes `to`.
    pub(crate) fn new(from: Instant, to: Instant) -> Self {
        Self { from: from.as_nanos(), length: to.since(from).as_nanos() }
    }

    #[inline]
    pub(crate) fn include(self, at: Instant) -> bool {
        // The subtraction wraps, so one comparison covers times before and after the interval.
        at.as_nanos().wrapping_sub(self.from) < self.length
    }

    /// Returns the first bound of the interval after `at`; [`u64::MAX`] if both bounds are earlier.
    fn next_bound(self, at: Instant) -> u64 {
        let bounds = [self.from, self.from.saturating_add(self.length)];
        bounds.into_iter().find(|&bound| bound > at.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The packets that have passed the tap at their sender since a bound of the interval.
#[derive(Clone, Copy, Debug, Default)]
struct Departures {
    bytes: u64,
    /// The time of the next bound.
    until: u64,
    /// The number of the first packet in the flights.
    first: usize,
    /// Whether these packets count in the statistics.
    count: bool,
}

/// The last packet that arrived in one direction, as a candidate for the OUT of a pair.
#[derive(Clone, Copy, Debug, Default)]
struct Out {
    passage: Passage,
    /// The mark of the packet, which ensures that each arrival is used once: the low bits of the
    /// identity that follows the packet's identity. It is 0 before the first arrival.
    mark: u32,
}

/// A packet that passed the tap at its sender.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    id: u64,
    conn: u32,
    sent: Instant,
    /// The time of arrival; [`Instant::NEVER`] while in flight.
    received: Instant,
    /// The last arrival at the packet's sender before the packet was sent. This field and `mark`
    /// are not an [`Out`], because the padding of an `Out` would lengthen each flight by a sixth.
    out: Passage,
    /// The mark of `out`.
    mark: u32,
}

/// The meter of one direction of one flow.
pub(crate) struct DirectionMeter {
    /// The packets in the order of sending, which is also the order of their identities. The first
    /// packet has not arrived.
    flights: Ring<Flight>,
    /// The number in `flights` at which the next arrival is expected.
    expected: usize,
    /// The number of `flights` that have arrived.
    landed: usize,
    /// Whether packets may be reordered. Otherwise no packet of `flights` has arrived.
    reorders: bool,
    departures: Departures,
    arrived: Out,
    /// The mark of the other direction's last packet that was used in a pair.
    served: u32,
    arrivals: Arrivals,
    variation: Variation,
    report: DirectionReport,
    rtt_series: Series,
    keep_series: bool,
}

impl DirectionMeter {
    /// Returns a meter that counts throughput with `active`, on a path that may reorder packets or
    /// keeps their order. `series` is the step of the time series, which last until `end`; with
    /// `None`, there are no time series.
    pub(crate) fn new(
        active: Active,
        reorders: bool,
        series: Option<Duration>,
        end: Instant,
    ) -> Self {
        let keep = series.is_some();
        let width = series.unwrap_or(Duration::MAX);
        let bins = end.as_nanos().div_ceil(width.as_nanos().max(1)) as usize;
        let bins = if keep { bins } else { 0 };
        Self {
            flights: Ring::default(),
            expected: 0,
            landed: 0,
            reorders,
            departures: Departures::default(),
            arrived: Out::default(),
            served: 0,
            arrivals: Arrivals::new(active, bins, width),
            variation: Variation::default(),
            report: DirectionReport::default(),
            rtt_series: Series::new(width, bins.min(ROOM)),
            keep_series: keep,
        }
    }

    /// Records a packet that passes the tap at its sender. `back` is the meter of the other
    /// direction, whose receiver is this sender. If [`BETWEEN_TAPS`] packets are already between
    /// the taps, removes the oldest of them.
    #[inline(always)]
    pub(crate) fn depart(&mut self, packet: Sent, now: Instant, back: &mut Self, limits: Limits) {
        let Sent { conn, id, ip_len, .. } = packet;
        debug_assert!(
            self.flights.back().is_none_or(|last| last.id < id),
            "identities rise in the order of sending: {id} is not after the last"
        );
        if now.as_nanos() >= self.departures.until {
            self.settle_departures();
            self.begin_departures(now, limits);
        }
        self.departures.bytes += u64::from(ip_len);
        // The last arrival at this side, which is the monitor, is the OUT of the pair whose IN may
        // be this packet.
        let Out { passage: out, mark } = back.arrived;
        if self.flights.is_full() {
            self.bound(back, limits);
        }
        self.flights.push(Flight { id, conn, sent: now, received: Instant::NEVER, out, mark });
    }

    /// Adds the packets sent since the last bound of the interval to the report.
    #[cold]
    fn settle_departures(&mut self) {
        let Departures { bytes, first, count, .. } = self.departures;
        if count {
            self.report.bytes_sent += bytes;
            self.report.packets_sent += self.flights.end().wrapping_sub(first) as u64;
        }
    }

    /// Begins to count packets at a bound of the interval, or after it.
    #[cold]
    fn begin_departures(&mut self, now: Instant, limits: Limits) {
        self.departures = Departures {
            bytes: 0,
            until: limits.next_bound(now),
            first: self.flights.end(),
            count: limits.include(now),
        };
    }

    /// Records that the flow ends by itself at `at`.
    pub(crate) fn end(&mut self, at: Instant) {
        self.arrivals.end(at);
    }

    /// Records a packet that passes the tap at its receiver. `back` is the meter of the other
    /// direction.
    ///
    /// Pairs are made in the order of sending, which is the order of the monitor's capture. A
    /// packet is therefore paired once all earlier packets have arrived or are lost.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        id: u64,
        ip_len: u32,
        now: Instant,
        back: &mut Self,
        limits: Limits,
    ) {
        self.arrivals.count(ip_len, now);
        let mut number = self.expected;
        if !self.flights.holds(number) || self.flights.get(number).id != id {
            let Some(found) = self.find(id, limits) else { return };
            number = found;
        }
        let flight = *self.flights.get(number);
        self.expected = number.wrapping_add(1);
        self.land(flight.sent, id, ip_len, now, limits);
        if number == self.flights.first() {
            self.flights.skip(1);
            self.pair(&flight, now, back, limits);
            if self.landed > 0 {
                self.release(back, limits);
            }
        } else {
            self.keep(number, now, back, limits);
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
        for flight in self.flights.clone().iter().filter(|flight| flight.received != Instant::NEVER) {
            self.pair(flight, flight.received, back, limits);
        }
    }

    /// Returns the active time of the flow, and the measurements.
    pub(crate) fn finish(mut self) -> (Range<Instant>, DirectionReport) {
        self.settle_departures();
        let Arrived { total, active, while_active, windows, steps } = self.arrivals.finish();
        let report = DirectionReport {
            packets_received: self.report.owd.count(),
            bytes_arrived: total,
            active_bytes: while_active,
            windows,
            steps,
            rtt_series: self.rtt_series.finish(),
            jitter: self.variation.jitter(),
            ..self.report
        };
        (active, report)
    }

    /// Returns the number of the packet with the identity `id`, if it is in flight. On a path that
    /// keeps the order, earlier packets are lost.
    #[cold]
    fn find(&mut self, id: u64, limits: Limits) -> Option<usize> {
        let number = self.flights.partition_point(|flight| flight.id < id);
        while !self.reorders && self.flights.first() != number {
            self.lose_first(limits);
        }
        let found = self.flights.holds(number).then(|| self.flights.get(number))?;
        (found.id == id && found.received == Instant::NEVER).then_some(number)
    }

    /// Keeps the time of arrival of a packet that must wait for an earlier packet. After
    /// [`OVERTAKEN`] such arrivals, the earlier packet is lost.
    #[inline]
    fn keep(&mut self, number: usize, now: Instant, back: &mut Self, limits: Limits) {
        self.flights.get_mut(number).received = now;
        self.landed += 1;
        while self.landed >= OVERTAKEN {
            self.give_up_first(back, limits);
        }
    }

    /// Removes the arrived packets at the front of `flights`, and pairs them.
    #[inline(never)]
    fn release(&mut self, back: &mut Self, limits: Limits) {
        while let Some(&flight) = self.flights.front() {
            if flight.received == Instant::NEVER {
                return;
            }
            self.flights.skip(1);
            self.landed -= 1;
            self.pair(&flight, flight.received, back, limits);
        }
    }

    /// Keeps the number of packets below [`BETWEEN_TAPS`]. Only a full ring, whose size is a power
    /// of two, can have so many.
    #[cold]
    #[inline(never)]
    fn bound(&mut self, back: &mut Self, limits: Limits) {
        if self.flights.len() >= BETWEEN_TAPS {
            self.give_up_first(back, limits);
        }
    }

    /// Counts the first packet as lost. The packets that waited for it are paired.
    #[cold]
    fn give_up_first(&mut self, back: &mut Self, limits: Limits) {
        self.lose_first(limits);
        self.release(back, limits);
    }

    /// Removes the first packet, which has not arrived, and counts it as lost.
    #[cold]
    fn lose_first(&mut self, limits: Limits) {
        if let Some(flight) = self.flights.pop() {
            self.report.lost += u64::from(limits.include(flight.sent));
        }
    }

    /// Counts the arrival at `now` of the packet `id`, which was sent at `sent`.
    #[inline]
    fn land(&mut self, sent: Instant, id: u64, ip_len: u32, now: Instant, limits: Limits) {
        let passage = Passage { reference: sent, monitor: now };
        self.arrived = Out { passage, mark: (id as u32).wrapping_add(1) };
        let owd = now.since(sent);
        if limits.include(sent) {
            self.report.bytes_received += u64::from(ip_len);
            self.report.owd.record(owd);
            self.variation.follow(owd.as_nanos());
        }
    }

    /// Uses a packet that arrived at `now` as the IN of a pair, if its OUT is unused. The pair is a
    /// round trip measured at the sender of the other direction, which is the reference.
    #[inline]
    fn pair(&mut self, flight: &Flight, now: Instant, back: &mut Self, limits: Limits) {
        if flight.mark == self.served {
            return;
        }
        self.served = flight.mark;
        let inbound = Passage { reference: now, monitor: flight.sent };
        let RoundTrip { at, rtt } = round_trip_by_one_clock(flight.out, inbound);
        if back.keep_series {
            back.rtt_series.record(at, rtt);
        }
        if limits.include(at) {
            back.report.rtt.record(rtt);
        }
    }
}
