//! Counting the delays and round trips of many packets at once.
//!
//! While packets arrive in the order of sending, only their times of arrival are stored. Delays and
//! round trips do not depend on the time at which they are counted. A batch uses few slots of one
//! flow's histograms, and these slots stay in the processor's first-level cache. The histograms of
//! all flows do not fit into it.

use aqmlab_core::Instant;
use aqmlab_core::hint::rare;

use super::DirectionMeter;
use crate::jitter::Variation;
use crate::pairs::RoundTrip;

/// The maximum number of packets in a batch. Batches of 16 and 32 packets save less time.
pub(super) const BATCH: usize = 128;
/// The number of pending packets from which a full ring counts them instead of growing.
pub(super) const SMALL_BATCH: usize = 32;
/// Packets that arrive at this time or later are counted one by one, because the estimate of jitter
/// could overflow.
const LATEST: Instant = Instant::from_nanos(Variation::LONGEST);

impl DirectionMeter {
    /// Counts the delays and round trips of the pending packets, and removes these packets.
    #[inline(never)]
    pub(super) fn count_pending(&mut self) {
        if self.is_batch() {
            self.count_delays();
            self.count_round_trips();
            self.flights.skip(self.pending);
            self.pending = 0;
        } else {
            rare();
            self.count_one_by_one();
        }
    }

    /// Returns whether the pending packets are a batch: all of them count in the statistics, and
    /// neither jitter nor a slot can overflow. The packets were sent in order and the interval is
    /// contiguous, so the first and the last packet suffice.
    fn is_batch(&self) -> bool {
        let Some(last) = self.pending.checked_sub(1) else { return false };
        let first = self.flights.first();
        let [first, last] =
            [first, first.wrapping_add(last)].map(|number| self.flights.get(number));
        self.limits.include(first.sent)
            && self.limits.include(last.sent)
            && last.received < LATEST
            && self.report.owd.has_room_for(self.pending)
            && self.report.rtt.has_room_for(self.pending)
    }

    /// Counts the delays of a batch.
    #[inline]
    fn count_delays(&mut self) {
        let mut variation = self.variation;
        let mut delays = self.report.owd.batch();
        for flights in self.flights.runs(self.pending) {
            for flight in flights {
                let delay = flight.received.as_nanos() - flight.sent.as_nanos();
                delays.add(delay);
                variation.follow_bounded(delay);
            }
        }
        delays.finish();
        self.variation = variation;
    }

    /// Uses the packets of a batch as INs, as [`Self::pair`] does.
    #[inline]
    fn count_round_trips(&mut self) {
        let mut served = self.served;
        let mut round_trips = self.report.rtt.batch();
        for flights in self.flights.runs(self.pending) {
            for flight in flights {
                let pair = flight.round_trip(flight.received, &mut served);
                let Some(RoundTrip { at, rtt }) = pair else { continue };
                if let Some(series) = &mut self.rtt_series {
                    series.record(at, rtt);
                }
                if self.limits.include(at) {
                    round_trips.add(rtt.as_nanos());
                }
            }
        }
        round_trips.finish();
        self.served = served;
    }

    /// Counts the pending packets one by one, and removes them.
    fn count_one_by_one(&mut self) {
        for _ in 0..std::mem::take(&mut self.pending) {
            let Some(flight) = self.flights.pop() else { break };
            self.count_delay(flight.sent, flight.received);
            self.pair(&flight, flight.received);
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Direction, Duration, Rng};

    use super::*;
    use crate::direction_meter::Sent;
    use crate::meter::{InOrder, Settings};
    use crate::throughput::Active;

    /// The meters of both directions of a flow.
    struct Flow {
        ends: [DirectionMeter; 2],
        /// Whether each packet is counted alone, when it arrives.
        is_reference: bool,
    }

    impl Flow {
        fn new(settings: &Settings, is_reference: bool) -> Self {
            let active =
                || Active::new(&(settings.from..settings.to), settings.step, settings.window);
            Self { ends: [(); 2].map(|()| DirectionMeter::new(active(), settings)), is_reference }
        }

        fn depart(&mut self, direction: Direction, conn: u32, id: u64, now: Instant) {
            let [up, down] = &mut self.ends;
            let (meter, back) = if direction == Direction::Up { (up, down) } else { (down, up) };
            meter.depart(Sent { flow: 0, conn, direction, id, ip_len: 100 }, now, back);
        }

        fn arrive(&mut self, direction: Direction, id: u64, now: Instant) {
            let meter = &mut self.ends[direction.index()];
            meter.arrive(id, 100 + id as u32 % 1_000, now);
            if self.is_reference {
                meter.count_one_by_one();
            }
        }

        fn finish(self) -> [String; 2] {
            self.ends.map(|meter| format!("{:?}", meter.finish()))
        }
    }

    /// Returns the reports of a flow whose packets take 1 to 50 ms. With three seeds of four, some
    /// are lost. With one seed of three, some are overtaken.
    fn reports(seed: u64, is_reference: bool) -> [String; 2] {
        let mut rng = Rng::stream(seed, "batches");
        let (has_losses, is_reordered) = (!seed.is_multiple_of(4), seed % 3 == 1);
        let ms = Instant::from_millis;
        let settings = Settings {
            // The interval may begin and end within a batch.
            from: ms(rng.below(300)),
            to: ms(600 + rng.below(1_000)),
            window: Duration::from_millis(100),
            step: Duration::from_millis(50),
            end: ms(1_500),
            in_order: if is_reordered { InOrder::Nothing } else { InOrder::Connection },
            series: seed.is_multiple_of(2).then_some(Duration::from_millis(80)),
        };
        let mut flow = Flow::new(&settings, is_reference);
        let mut under_way: [Vec<(u64, Instant)>; 2] = Default::default();
        let mut now = Instant::ZERO;
        for id in 0..3_000 {
            now += Duration::from_nanos(rng.below(1_000_000));
            for direction in [Direction::Up, Direction::Down] {
                let packets = &mut under_way[direction.index()];
                let arrived = packets.partition_point(|&(_, at)| at <= now);
                for (id, at) in packets.drain(..arrived) {
                    flow.arrive(direction, id, at.max(now));
                }
            }
            let direction = if rng.below(3) == 0 { Direction::Up } else { Direction::Down };
            flow.depart(direction, rng.below(2) as u32, id, now);
            if has_losses && rng.below(200) == 0 {
                continue;
            }
            let packets = &mut under_way[direction.index()];
            let delay = Duration::from_nanos(1_000_000 + rng.below(49_000_000));
            let earliest = packets.last().map_or(now, |&(_, at)| at);
            packets.push((id, earliest.max(now + delay)));
            if is_reordered && rng.below(100) == 0 && packets.len() > 1 {
                let last = packets.len() - 1;
                let [one, other] = [packets[last - 1].0, packets[last].0];
                (packets[last - 1].0, packets[last].0) = (other, one);
            }
        }
        flow.finish()
    }

    #[test]
    fn a_batch_counts_what_its_packets_count_one_by_one() {
        for seed in 0..60 {
            assert_eq!(reports(seed, false), reports(seed, true), "seed {seed}");
        }
    }

    /// Tests requests and answers that take 20 ms each way, so that all delays are in one slot, and
    /// all round trips in another. Both slots become full.
    #[test]
    fn packets_count_alone_where_a_slot_could_overflow() {
        let ms = Duration::from_millis;
        let settings = Settings {
            from: Instant::ZERO,
            to: Instant::from_millis(60_000),
            window: ms(100),
            step: ms(50),
            end: Instant::from_millis(60_000),
            in_order: InOrder::Connection,
            series: None,
        };
        let count = |is_reference| {
            let mut flow = Flow::new(&settings, is_reference);
            for (end, room) in flow.ends.iter_mut().zip([[200, 900], [900, 200]]) {
                let [delays, round_trips] = room.map(|room| u64::from(u32::MAX) - room);
                end.report.owd.record_values(ms(20).as_nanos(), delays);
                end.report.rtt.record_values(ms(40).as_nanos(), round_trips);
            }
            for exchange in 0..1_000 {
                let [sent, answered, ended] =
                    [0, 20, 40].map(|after| Instant::from_millis(exchange * 50 + after));
                flow.depart(Direction::Up, 0, 2 * exchange, sent);
                flow.arrive(Direction::Up, 2 * exchange, answered);
                flow.depart(Direction::Down, 0, 2 * exchange + 1, answered);
                flow.arrive(Direction::Down, 2 * exchange + 1, ended);
            }
            flow.finish()
        };
        assert_eq!(count(false), count(true));
    }

    /// Tests delays of centuries, which no trial has. Half of them are zero, so that 16 times the
    /// jitter exceeds 64 bits. The first packet arrives at once.
    #[test]
    fn packets_count_alone_where_jitter_could_overflow() {
        let settings = Settings {
            from: Instant::ZERO,
            to: Instant::NEVER,
            window: Duration::MAX,
            step: Duration::MAX,
            end: Instant::NEVER,
            in_order: InOrder::Connection,
            series: None,
        };
        let count = |is_reference| {
            let mut flow = Flow::new(&settings, is_reference);
            flow.depart(Direction::Up, 0, 0, Instant::ZERO);
            flow.arrive(Direction::Up, 0, Instant::ZERO);
            for century in 0..4 {
                let [sent, arrived] =
                    [century, century + 1].map(|n| Instant::from_nanos(n * (u64::MAX / 5)));
                for (id, sent) in [(2 * century + 1, sent), (2 * century + 2, arrived)] {
                    flow.depart(Direction::Up, 0, id, sent);
                    flow.arrive(Direction::Up, id, arrived);
                }
            }
            flow.finish()
        };
        assert_eq!(count(false), count(true));
    }
}
