//! Tests of the controller with all its parts, on a path of constant rate and delay.

use proptest::prelude::*;

use super::*;
use crate::testing::close;

const RTT: Duration = Duration::from_millis(40);
const PACKET: u32 = 1_250;
const REPORTS: Duration = Duration::from_millis(50);

/// A sender of equal packets and its FIFO.
struct Path {
    gcc: Gcc,
    now: Instant,
    /// The time at which the FIFO has sent all its packets.
    free: Instant,
    capacity_bps: f64,
    arrived: Vec<(u64, Instant)>,
    reported: u64,
    longest: Duration,
}

impl Path {
    fn new(start_bps: f64, capacity_bps: f64) -> Self {
        let limits = Limits { start: start_bps, floor: 30e3, allocated: 10e6 };
        Self {
            gcc: Gcc::new(limits),
            now: Instant::ZERO,
            free: Instant::ZERO,
            capacity_bps,
            arrived: Vec::new(),
            reported: 0,
            longest: Duration::ZERO,
        }
    }

    /// Runs for `seconds`, sending at most `most_bps`. Returns the minimum and the maximum target.
    fn run(&mut self, seconds: u64, most_bps: f64) -> (f64, f64) {
        let end = self.now + Duration::from_secs(seconds);
        let (mut next_report, mut next_process) = (self.now + REPORTS, self.now);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        self.longest = Duration::ZERO;
        while self.now < end {
            let bps = self.gcc.target_bps().min(most_bps);
            (least, most) = (least.min(self.gcc.target_bps()), most.max(self.gcc.target_bps()));
            let number = self.gcc.sent(PACKET, None, self.now);
            let bits = f64::from(8 * PACKET);
            let service = Duration::from_secs_f64(bits / self.capacity_bps);
            self.free = self.free.max(self.now) + service;
            self.longest = self.longest.max(self.free.since(self.now));
            self.arrived.push((number, self.free + RTT / 2));
            self.now += Duration::from_secs_f64(bits / bps);
            if self.now >= next_process {
                self.gcc.process(self.now);
                next_process = self.now + PROCESS_EVERY;
            }
            if self.now >= next_report {
                self.report();
                next_report = self.now + REPORTS;
            }
        }
        (least, most)
    }

    /// Reports the packets that arrived at least half a round trip ago.
    fn report(&mut self) {
        let known = |&(_, at): &(u64, Instant)| at + RTT / 2 <= self.now;
        let count = self.arrived.iter().take_while(|one| known(one)).count();
        let arrivals = self.arrived.drain(..count).map(|(_, at)| Some(at)).collect();
        let report = Report { first: self.reported, arrivals };
        self.reported += count as u64;
        self.gcc.report(&report, self.now);
    }
}

/// Tests statement C-98.
#[test]
fn with_room_the_target_climbs_by_8_percent_a_second() {
    let mut path = Path::new(1e6, 100e6);
    path.run(2, f64::INFINITY);
    let from = path.gcc.target_bps();
    path.run(10, f64::INFINITY);
    close(path.gcc.target_bps() / from / 1.08_f64.powi(10), 1.0, 0.03);
    assert_eq!(path.gcc.rtt().unwrap().as_millis(), 40);
}

/// Tests statement C-99.
#[test]
fn a_sender_with_little_to_send_is_held_at_half_again_of_what_arrives() {
    let mut path = Path::new(300e3, 100e6);
    path.run(40, 500e3);
    // A window of 150 ms has seven or eight packets, which are up to 533 kbit/s.
    let (least, most) = (1.5 * 490e3, 1.5 * 8.0 * 10e3 / 0.15 + 10e3);
    assert!((least..=most).contains(&path.gcc.target_bps()), "{}", path.gcc.target_bps());
}

#[test]
fn at_a_bottleneck_the_target_stays_below_it_and_the_queue_is_short() {
    let mut path = Path::new(300e3, 1e6);
    path.run(30, f64::INFINITY);
    let (least, most) = path.run(60, f64::INFINITY);
    assert!(least > 0.6e6 && most < 1.15e6, "{least} to {most}");
    assert!(path.longest < Duration::from_millis(120), "{}", path.longest);
}

#[test]
fn half_of_the_capacity_is_found_within_seconds() {
    let mut path = Path::new(1e6, 2e6);
    path.run(30, f64::INFINITY);
    path.capacity_bps = 1e6;
    path.run(3, f64::INFINITY);
    let (_, most) = path.run(10, f64::INFINITY);
    assert!(most < 1.15e6, "{most}");
    assert!(path.longest < Duration::from_millis(500), "{}", path.longest);
}

proptest! {
    #[test]
    fn no_report_brings_the_controller_out_of_its_bounds(
        steps in prop::collection::vec(
            (1..30_u32, 0..3_u64, prop::collection::vec((any::<bool>(), 0..400_u64), 0..40)),
            1..60,
        ),
    ) {
        let limits = Limits { start: 300e3, floor: 60e3, allocated: 2.7e6 };
        let mut gcc = Gcc::new(limits);
        gcc.start_probing(Instant::ZERO);
        let (mut now, mut next) = (Instant::ZERO, 0);
        for (packets, skipped, outcomes) in steps {
            for _ in 0..packets {
                let cluster = gcc.take_probes().pop();
                gcc.sent(PACKET, cluster, now);
                now += Duration::from_millis(3);
            }
            next += skipped;
            let arrival = |(has, ms): (bool, u64)| {
                has.then(|| Instant::from_nanos(now.as_nanos() - 3_000_000 + ms * 1_000_000))
            };
            let report = Report { first: next, arrivals: outcomes.into_iter().map(arrival).collect() };
            next += report.arrivals.len() as u64;
            gcc.report(&report, now);
            gcc.process(now);
            let bps = gcc.target_bps();
            prop_assert!((60e3..=30e6).contains(&bps), "{bps}");
            prop_assert!(gcc.take_probes().iter().all(|one| one.bps <= 5e6 && one.bps > 0.0));
        }
    }
}
