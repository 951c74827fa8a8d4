//! The meter of one direction of one flow: the packets between its taps, and the outcomes of all
//! earlier packets.

mod batch;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use aqmlab_core::hint::rare;
use aqmlab_core::{Direction, Duration, Instant, Ring};

use crate::arrivals::{Arrivals, Arrived};
use crate::jitter::Variation;
use crate::meter::{InOrder, Settings};
use crate::pairs::{Passage, RoundTrip, round_trip_by_one_clock};
use crate::report::DirectionReport;
use crate::series::Series;
use crate::throughput::Active;
use batch::{BATCH, SMALL_BATCH};

/// If packets may be reordered, the number of later arrivals after which a missing packet counts as
/// lost. `spp` searches 10 000 packets ahead and TEACUP 16 000, but in captures of several flows.
const MOST_WAITING: usize = 8_192;
/// The maximum number of packets that a meter stores. It bounds the memory on a path that no longer
/// delivers. It exceeds the number of full-sized packets that 10 Gbit/s carry in 5 s.
const MOST_FLIGHTS: usize = 1 << 22;
/// The maximum number of bins allocated in advance, more than any figure shows.
const MOST_BINS_AT_ONCE: usize = 1 << 16;

/// The properties of a packet that passes the tap on the sender's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The index of the flow.
    pub flow: u32,
    /// The number of the connection. A later arrival proves a loss only within one connection,
    /// since a queue may reorder packets of different connections.
    pub conn: u32,
    /// The direction of the packet.
    pub direction: Direction,
    /// The identity of the packet. Identities increase in the order of sending.
    pub id: u64,
    /// The length of the IP packet in bytes.
    pub ip_len: u32,
}

/// The interval of the statistics, which includes its start and excludes its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The start in nanoseconds.
    from: u64,
    /// The length in nanoseconds.
    length: u64,
}

impl Limits {
    /// Returns the interval from `from` to `to`. It is empty if `to` is not later than `from`.
    pub(crate) fn new(from: Instant, to: Instant) -> Self {
        Self { from: from.as_nanos(), length: to.since(from).as_nanos() }
    }

    /// Returns whether the interval contains `at`.
    #[inline]
    pub(crate) fn include(self, at: Instant) -> bool {
        // The subtraction wraps, so one comparison covers times before and after the interval.
        at.as_nanos().wrapping_sub(self.from) < self.length
    }

    /// Returns the first bound of the interval after `at`; [`u64::MAX`] if no bound is later.
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
    /// The low 32 bits of the packet's identity plus one; 0 before the first arrival. Two
    /// successive arrivals have different marks. An arrival is therefore used only if its mark
    /// differs from that of the arrival used before, and no arrival is used twice.
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

impl Flight {
    #[inline]
    fn has_arrived(&self) -> bool {
        self.received != Instant::NEVER
    }

    /// Returns the round trip of the packet, which arrived at `now`, as an IN. Returns `None` if
    /// its OUT is used. `served` is the mark of the last OUT that was used.
    #[inline]
    fn round_trip(&self, now: Instant, served: &mut u32) -> Option<RoundTrip> {
        if self.mark == *served {
            return None;
        }
        *served = self.mark;
        let inbound = Passage { reference: now, monitor: self.sent };
        Some(round_trip_by_one_clock(self.out, inbound))
    }
}

/// The meter of one direction of one flow.
pub(crate) struct DirectionMeter {
    limits: Limits,
    /// The packets that are not reordered.
    in_order: InOrder,
    /// The packets in the order of sending, which is also the order of their identities. The first
    /// packet that is not `pending` has not arrived.
    flights: Ring<Flight>,
    /// The number in `flights` at which the next arrival is expected.
    expected: usize,
    /// The number of packets at the front of `flights` that have arrived in the order of sending,
    /// and whose delays and round trips are not counted yet. If there are such packets, `waiting`
    /// is zero.
    pending: usize,
    /// The number of `flights` that have arrived before an earlier packet, and wait for it.
    waiting: usize,
    /// The identity of the last packet of each connection that arrived before an earlier packet of
    /// the flow, while `waiting` is not zero. It is filled only if connections keep their order.
    overtook: BTreeMap<u32, u64>,
    departures: Departures,
    arrived: Out,
    arrivals: Arrivals,
    variation: Variation,
    /// The measurements. Its round trips are those of the pairs whose IN belongs to this direction.
    /// Their reference is the sender of the other direction.
    report: DirectionReport,
    /// The mark of the other direction's last packet that was used in a pair.
    served: u32,
    /// The round trips over time, as in `report`.
    rtt_series: Option<Series>,
}

impl DirectionMeter {
    /// Returns a meter that counts throughput with `active`. `settings` are those of the whole
    /// measurement.
    pub(crate) fn new(active: Active, settings: &Settings) -> Self {
        let &Settings { from, to, end, in_order, series, .. } = settings;
        let width = series.unwrap_or(Duration::MAX);
        let bins = end.as_nanos().div_ceil(width.as_nanos().max(1)) as usize;
        let steps = if series.is_some() { bins } else { 0 };
        let series = series.map(|step| Series::new(step, bins.min(MOST_BINS_AT_ONCE)));
        Self {
            limits: Limits::new(from, to),
            in_order,
            flights: Ring::default(),
            expected: 0,
            pending: 0,
            waiting: 0,
            overtook: BTreeMap::new(),
            departures: Departures::default(),
            arrived: Out::default(),
            arrivals: Arrivals::new(active, steps, width),
            variation: Variation::default(),
            report: DirectionReport::default(),
            served: 0,
            rtt_series: series,
        }
    }

    /// Records a packet that passes the tap at its sender. `back` is the meter of the other
    /// direction, whose receiver is this sender. If [`MOST_FLIGHTS`] packets are already stored,
    /// the oldest of them counts as lost.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn depart(&mut self, packet: Sent, now: Instant, back: &Self) {
        let Sent { conn, id, ip_len, .. } = packet;
        debug_assert!(
            self.flights.back().is_none_or(|last| last.id < id),
            "identities rise in the order of sending: {id} is not after the last"
        );
        if now.as_nanos() >= self.departures.until {
            self.begin_departures(now);
        }
        self.departures.bytes += u64::from(ip_len);
        if self.flights.is_full() {
            self.bound_flights();
        }
        // The last arrival at this side, which is the monitor, is the OUT of the pair whose IN may
        // be this packet.
        let Out { passage: out, mark } = back.arrived;
        self.flights.push(Flight { id, conn, sent: now, received: Instant::NEVER, out, mark });
    }

    /// Begins to count packets at a bound of the interval, or after it.
    #[cold]
    fn begin_departures(&mut self, now: Instant) {
        self.count_departures();
        self.departures = Departures {
            bytes: 0,
            until: self.limits.next_bound(now),
            first: self.flights.end(),
            count: self.limits.include(now),
        };
    }

    /// Adds the packets sent since the last bound of the interval to the report.
    fn count_departures(&mut self) {
        let Departures { bytes, first, count, .. } = self.departures;
        if count {
            self.report.bytes_sent += bytes;
            self.report.packets_sent += self.flights.end().wrapping_sub(first) as u64;
        }
    }

    /// Counts the pending packets of a full ring, so that it need not grow. If only a few packets
    /// are pending, the ring grows instead, because small batches take more time than a larger
    /// ring. If the ring still has [`MOST_FLIGHTS`] packets, gives up the first. Only a full ring
    /// can have so many, because this number and the size of a ring are powers of two.
    #[cold]
    fn bound_flights(&mut self) {
        if self.pending < SMALL_BATCH && self.flights.len() < MOST_FLIGHTS {
            return;
        }
        self.count_pending();
        if self.flights.len() >= MOST_FLIGHTS {
            self.give_up_first();
        }
    }

    /// Records that the flow ends by itself at `at`.
    pub(crate) fn end(&mut self, at: Instant) {
        self.arrivals.end(at);
    }

    /// Records a packet that passes the tap at its receiver. A packet arrives at most once.
    ///
    /// Pairs are made in the order of sending, which is the order of the monitor's capture. A
    /// packet is therefore not paired before all earlier packets have arrived or are lost.
    #[inline]
    pub(crate) fn arrive(&mut self, id: u64, ip_len: u32, now: Instant) {
        debug_assert!(!self.has_arrived(id), "packet {id} arrives at most once");
        self.arrivals.count(ip_len, now);
        let number = self.expected;
        if self.waiting > 0 || !self.flights.holds(number) || self.flights.get(number).id != id {
            rare();
            return self.arrive_alone(id, ip_len, now);
        }
        debug_assert_eq!(number, self.flights.first().wrapping_add(self.pending));
        let flight = self.flights.get_mut(number);
        flight.received = now;
        let sent = flight.sent;
        self.expected = number.wrapping_add(1);
        self.pending += 1;
        self.note_arrival(sent, id, ip_len, now);
        if self.pending >= BATCH {
            self.count_pending();
        }
    }

    /// Counts the pending packets, and then records the arrival of a packet that may have overtaken
    /// others.
    #[inline(never)]
    fn arrive_alone(&mut self, id: u64, ip_len: u32, now: Instant) {
        if self.pending > 0 {
            self.count_pending();
        }
        let mut number = self.expected;
        if !self.flights.holds(number) || self.flights.get(number).id != id {
            match self.find(id) {
                Some(found) if !self.flights.get(found).has_arrived() => number = found,
                _ => return,
            }
        }
        let flight = *self.flights.get(number);
        self.expected = number.wrapping_add(1);
        self.note_arrival(flight.sent, id, ip_len, now);
        self.count_delay(flight.sent, now);
        if number == self.flights.first() {
            self.flights.skip(1);
            self.pair(&flight, now);
            if self.waiting > 0 {
                self.release();
            }
        } else {
            self.hold(number, now);
        }
    }

    /// Returns whether the packet with the identity `id` is stored and has arrived.
    fn has_arrived(&self, id: u64) -> bool {
        self.find(id).is_some_and(|number| self.flights.get(number).has_arrived())
    }

    /// Returns the number of the packet with the identity `id`, if it is stored.
    #[cold]
    fn find(&self, id: u64) -> Option<usize> {
        let number = self.flights.partition_point(|flight| flight.id < id);
        (self.flights.holds(number) && self.flights.get(number).id == id).then_some(number)
    }

    /// Stores the arrival of the packet `id` as the next OUT, and counts its bytes. The packet was
    /// sent at `sent` and arrives at `now`.
    #[inline]
    fn note_arrival(&mut self, sent: Instant, id: u64, ip_len: u32, now: Instant) {
        let passage = Passage { reference: sent, monitor: now };
        self.arrived = Out { passage, mark: (id as u32).wrapping_add(1) };
        if self.limits.include(sent) {
            self.report.bytes_received += u64::from(ip_len);
        }
    }

    /// Counts the delay of a packet that was sent at `sent` and arrived at `now`.
    #[inline]
    fn count_delay(&mut self, sent: Instant, now: Instant) {
        if self.limits.include(sent) {
            let owd = Duration::from_nanos(now.as_nanos() - sent.as_nanos());
            self.report.owd.record(owd);
            self.variation.follow(owd.as_nanos());
        }
    }

    /// Holds a packet that arrived before an earlier packet, until that packet arrives or is lost.
    /// The earlier packet is lost if both are of one connection whose packets keep their order, or
    /// after [`MOST_WAITING`] such arrivals.
    #[inline]
    fn hold(&mut self, number: usize, now: Instant) {
        let flight = self.flights.get_mut(number);
        flight.received = now;
        let (conn, id) = (flight.conn, flight.id);
        self.waiting += 1;
        if self.in_order == InOrder::Connection {
            let before = self.overtook.insert(conn, id);
            debug_assert!(before < Some(id), "packet {id} of connection {conn} was overtaken");
            if self.flights.get(self.flights.first()).conn == conn {
                self.give_up_first();
            }
        }
        while self.waiting >= MOST_WAITING {
            self.give_up_first();
        }
    }

    /// Counts the first packet as lost, and pairs the packets that waited for it.
    #[cold]
    fn give_up_first(&mut self) {
        self.lose_first();
        self.release();
    }

    /// Removes the first packet, which has not arrived, and counts it as lost.
    fn lose_first(&mut self) {
        if let Some(flight) = self.flights.pop() {
            self.report.lost += u64::from(self.limits.include(flight.sent));
        }
    }

    /// Removes the arrived packets at the front of `flights`, and pairs them. A packet before them
    /// is lost if connections keep their order and a later packet of its connection has arrived.
    #[inline(never)]
    fn release(&mut self) {
        while let Some(&flight) = self.flights.front() {
            if flight.has_arrived() {
                self.flights.skip(1);
                self.waiting -= 1;
                self.pair(&flight, flight.received);
            } else if self.overtook.get(&flight.conn).is_some_and(|&later| later > flight.id) {
                self.lose_first();
            } else {
                break;
            }
        }
        if self.waiting == 0 {
            self.overtook.clear();
        }
    }

    /// Uses a packet that arrived at `now` as the IN of a pair, if its OUT is unused.
    #[inline]
    fn pair(&mut self, flight: &Flight, now: Instant) {
        let Some(RoundTrip { at, rtt }) = flight.round_trip(now, &mut self.served) else { return };
        if let Some(series) = &mut self.rtt_series {
            series.record(at, rtt);
        }
        if self.limits.include(at) {
            self.report.rtt.record(rtt);
        }
    }

    /// Ends the measurement. Returns the active time of the flow, and the measurements with the
    /// round trips of the other direction.
    pub(crate) fn finish(mut self) -> (Range<Instant>, DirectionReport) {
        self.count_departures();
        self.count_pending();
        self.lose_missing();
        let Arrived { total, active, while_active, windows, steps } = self.arrivals.finish();
        let report = DirectionReport {
            packets_received: self.report.owd.count(),
            bytes_arrived: total,
            active_bytes: while_active,
            windows,
            steps,
            rtt_series: self.rtt_series.map_or_else(Vec::new, Series::finish),
            jitter: self.variation.jitter(),
            ..self.report
        };
        (active, report)
    }

    /// Pairs the remaining arrivals, and counts the missing packets. A missing packet is lost if a
    /// later packet of its connection has arrived. A later packet of another connection proves
    /// nothing, because a fair queue may send it first.
    fn lose_missing(&mut self) {
        let mut arrived = BTreeSet::new();
        for flight in self.flights.iter().rev() {
            if flight.has_arrived() {
                arrived.insert(flight.conn);
            } else if self.limits.include(flight.sent) {
                let lost = arrived.contains(&flight.conn);
                self.report.lost += u64::from(lost);
                self.report.in_flight += u64::from(!lost);
            }
        }
        while let Some(flight) = self.flights.pop() {
            if flight.has_arrived() {
                self.pair(&flight, flight.received);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Instant = Instant::from_millis(1_000);

    fn meter() -> DirectionMeter {
        meter_of(InOrder::Nothing)
    }

    fn meter_of(in_order: InOrder) -> DirectionMeter {
        let step = Duration::from_millis(100);
        let (from, to, end) = (Instant::ZERO, END, END);
        let settings = Settings { from, to, window: step, step, end, in_order, series: None };
        DirectionMeter::new(Active::new(&(from..to), step, step), &settings)
    }

    #[test]
    fn the_oldest_packet_is_lost_when_one_more_than_the_limit_is_sent() {
        let (mut meter, back) = (meter(), meter());
        for id in 0..=MOST_FLIGHTS as u64 {
            assert_eq!(meter.report.lost, 0, "before packet {id}");
            let packet = Sent { flow: 0, conn: 0, direction: Direction::Up, id, ip_len: 100 };
            meter.depart(packet, Instant::from_millis(1), &back);
        }
        assert_eq!((meter.flights.len(), meter.report.lost), (MOST_FLIGHTS, 1));
        assert_eq!(meter.flights.front().map(|flight| flight.id), Some(1));
    }

    #[test]
    fn packets_that_have_arrived_are_not_lost_when_one_more_than_the_limit_is_sent() {
        let (mut meter, back) = (meter(), meter());
        let send = |meter: &mut DirectionMeter, id| {
            let packet = Sent { flow: 0, conn: 0, direction: Direction::Up, id, ip_len: 100 };
            meter.depart(packet, Instant::from_millis(1), &back);
        };
        (0..MOST_FLIGHTS as u64).for_each(|id| send(&mut meter, id));
        meter.arrive(0, 100, Instant::from_millis(2));
        meter.arrive(1, 100, Instant::from_millis(2));
        send(&mut meter, MOST_FLIGHTS as u64);
        assert_eq!((meter.report.owd.count(), meter.report.lost), (2, 0));
        assert_eq!(meter.flights.len(), MOST_FLIGHTS - 1);
    }

    #[test]
    fn a_full_ring_counts_no_batch_below_the_smallest() {
        for in_flight in [1, 7, 8, 31, 32, 64, 100, 128] {
            let (mut meter, back) = (meter(), meter());
            let mut counted = 0;
            for id in 0..2_000 {
                let packet = Sent { flow: 0, conn: 0, direction: Direction::Up, id, ip_len: 100 };
                meter.depart(packet, Instant::from_millis(1), &back);
                if let Some(arrived) = id.checked_sub(in_flight) {
                    meter.arrive(arrived, 100, Instant::from_millis(2));
                }
                let before = std::mem::replace(&mut counted, meter.report.owd.count());
                let batch = (counted - before) as usize;
                assert!(batch == 0 || batch >= SMALL_BATCH, "{in_flight} in flight: {batch}");
                assert!(meter.pending < BATCH);
            }
        }
    }

    /// Connection 0 sends packets 0, 2 and 4, and connection 1 sends packets 1, 3 and 5.
    #[test]
    fn packets_are_kept_until_a_later_packet_of_the_lost_packets_connection_arrives() {
        for (in_order, kept, lost) in
            [(InOrder::Connection, [6, 2, 2], 2), (InOrder::Nothing, [6, 6, 6], 0)]
        {
            let (mut meter, back) = (meter_of(in_order), meter());
            for id in 0..6 {
                let conn = id as u32 % 2;
                let packet = Sent { flow: 0, conn, direction: Direction::Up, id, ip_len: 100 };
                meter.depart(packet, Instant::from_millis(1), &back);
            }
            let left = [3, 2, 5].map(|id| {
                meter.arrive(id, 100, Instant::from_millis(2));
                meter.flights.len()
            });
            assert_eq!((left, meter.report.lost), (kept, lost), "{in_order:?}");
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "packet 1 arrives at most once")]
    fn a_packet_that_waits_does_not_arrive_again() {
        let (mut meter, back) = (meter(), meter());
        for id in 0..2 {
            let packet = Sent { flow: 0, conn: 0, direction: Direction::Up, id, ip_len: 100 };
            meter.depart(packet, Instant::ZERO, &back);
        }
        meter.arrive(1, 100, Instant::from_millis(1));
        meter.arrive(1, 100, Instant::from_millis(2));
    }
}
