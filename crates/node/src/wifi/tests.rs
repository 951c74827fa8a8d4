use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant, Packet, Rng};

use super::{Cell, Delivery, Fate, HtRate, Radio, RadioConfig, Width};

fn config(mcs: u8, aggregate_frames: usize) -> RadioConfig {
    RadioConfig {
        rate: HtRate::new(mcs, Width::Mhz20, false).unwrap(),
        loss: 0.0,
        aggregate_frames,
        aggregate_time: Duration::from_micros(4_096),
        driver_frames: 124,
    }
}

/// A cell, and the packets that each of its stations has yet to send.
struct Rig {
    cell: Cell,
    backlog: Vec<VecDeque<Packet>>,
    /// The deliveries, with their times.
    out: Vec<(Instant, Delivery)>,
    busy: Duration,
    collisions: u32,
}

impl Rig {
    fn new(configs: &[RadioConfig], seed: u64) -> Self {
        let mut cell = Cell::default();
        for (number, config) in configs.iter().enumerate() {
            let rng = Rng::stream(seed, &format!("radio.{number}"));
            assert_eq!(cell.join(Radio::new(*config, rng)), number);
        }
        let backlog = configs.iter().map(|_| VecDeque::new()).collect();
        Self { cell, backlog, out: Vec::new(), busy: Duration::ZERO, collisions: 0 }
    }

    fn load(mut self, radio: usize, packets: u64, ip_len: u32) -> Self {
        let ids = (0..packets).map(|id| id + 1_000_000 * radio as u64);
        self.backlog[radio].extend(ids.map(|id| Packet::plain(id, radio as u32, ip_len)));
        self
    }

    fn fill(&mut self, now: Instant) {
        for (number, backlog) in self.backlog.iter_mut().enumerate() {
            while self.cell.radio(number).has_room() {
                let Some(packet) = backlog.pop_front() else { break };
                self.cell.accept(number, packet, now);
            }
        }
    }

    /// Runs until all packets are sent; returns the time of the last departure.
    fn run(&mut self) -> Instant {
        let mut now = Instant::ZERO;
        self.fill(now);
        while let Some(due) = self.cell.poll_timeout() {
            assert!(due >= now, "time runs back");
            now = due;
            let mut out = Vec::new();
            if let Some(took) = self.cell.handle_timeout(now, &mut out) {
                self.busy += took;
                self.collisions += u32::from(self.cell.senders().len() > 1);
            }
            self.out.extend(out.into_iter().map(|delivery| (now, delivery)));
            self.fill(now);
        }
        now
    }

    fn ids(&self, radio: usize, fate: Fate) -> Vec<u64> {
        let of =
            |(_, delivery): &&(Instant, Delivery)| delivery.radio == radio && delivery.fate == fate;
        self.out.iter().filter(of).map(|(_, delivery)| delivery.packet.id).collect()
    }
}

/// Tests the throughput against airtimes computed by hand, for a single saturated sender with full
/// packets. Before each exchange there are an AIFS of 43 us and a mean backoff of 7.5 slots of 9
/// us. An exchange takes the durations in `phy`, a SIFS of 16 us, and the response.
#[test]
fn throughput_is_what_airtimes_computed_by_hand_give() {
    for (mcs, frames, per_exchange, data_us, answer_us, want_mbit) in [
        // 1 538 B are 12 326 bits, in symbols of 26, 104, 260 and 520 bits.
        (0, 1, 1, 36 + 1_900, 44, 5.697),
        (3, 1, 1, 36 + 476, 28, 18.005),
        (7, 1, 1, 36 + 192, 28, 31.373),
        (15, 1, 1, 40 + 96, 28, 41.308),
        // 4096 us hold 3 296 B at MCS 0: two frames of 1 544 and 1 542 B, 24 710 bits.
        (0, 32, 2, 36 + 3_804, 68, 5.949),
        // 32 984 B fit at MCS 7. They hold 21 frames in 998 symbols.
        (7, 32, 21, 36 + 3_992, 32, 60.194),
        // 65 532 B fit at MCS 15; the 32 frames allowed have 49 406 B: 761 symbols of 520 bits.
        (15, 32, 32, 40 + 3_044, 32, 118.427),
    ] {
        let cycle_us = f64::from(43 + data_us + 16 + answer_us) + 67.5;
        let by_hand = f64::from(per_exchange) * 12_000.0 / cycle_us;
        assert!((by_hand - want_mbit).abs() < 0.001, "MCS {mcs}, {frames}: {by_hand}");
        let packets = 4_000;
        let mut rig = Rig::new(&[config(mcs, frames)], 1).load(0, packets, 1_500);
        let took = rig.run().as_secs_f64();
        let got = packets as f64 * 12_000.0 / took / 1e6;
        assert!((got / want_mbit - 1.0).abs() < 0.02, "MCS {mcs}, {frames}: {got} Mbit/s");
    }
}

/// Tests two saturated stations against the model of Bianchi (2000), with windows of 16 slots
/// doubled up to six times. Each station sends in a slot with probability 0.1046, so 5.52 % of
/// exchanges are collisions.
#[test]
fn two_stations_share_the_medium_alike_and_collide_now_and_then() {
    let mut rig =
        Rig::new(&[config(7, 1), config(7, 1)], 3).load(0, 5_000, 1_500).load(1, 5_000, 1_500);
    rig.run();
    let both = rig.out.iter().take(8_000);
    let first = both.filter(|(_, delivery)| delivery.radio == 0).count();
    assert!((3_800..4_200).contains(&first), "{first} of 8000");
    let share = f64::from(rig.collisions) / (10_000.0 + f64::from(rig.collisions));
    assert!((0.050..0.060).contains(&share), "{share} of all exchanges");
}

/// Tests that a new packet waits for all 124 frames of a full driver on a slow medium.
#[test]
fn a_packet_that_comes_last_waits_for_the_whole_driver() {
    let mut rig = Rig::new(&[config(7, 32)], 1).load(0, 124, 1_500);
    rig.fill(Instant::ZERO);
    assert!(!rig.cell.radio(0).has_room());
    let end = rig.run();
    // 124 frames are five aggregates of 21 and one of 19.
    let (full_us, rest_us) = (43.0 + 67.5 + 4_028.0 + 48.0, 43.0 + 67.5 + 3_648.0 + 48.0);
    let want_s = (5.0 * full_us + rest_us) / 1e6;
    assert!((end.as_secs_f64() / want_s - 1.0).abs() < 0.02, "{end:?}, not {want_s} s");
}

#[test]
fn small_frames_of_an_aggregate_take_256_bytes_each() {
    let mut rig = Rig::new(&[config(7, 32)], 1).load(0, 33, 40);
    rig.run();
    // The hardware takes the first two frames one by one, as they arrive. The other 31 frames go
    // together: 63 510 bits in 245 symbols.
    assert_eq!(rig.busy, Duration::from_micros(2 * (36 + 12 + 16 + 28) + 36 + 980 + 16 + 32));
}

#[test]
fn what_is_lost_is_sent_again_and_everything_arrives_in_order() {
    for seed in 0..20 {
        let mut rng = Rng::stream(seed, "wifi.tests");
        let configs: Vec<_> = (0..=rng.below(3))
            .map(|_| RadioConfig {
                loss: rng.uniform(0.0, 0.6),
                driver_frames: 1 + rng.below(200) as usize,
                ..config(rng.below(16) as u8, 1 + rng.below(32) as usize)
            })
            .collect();
        let mut rig = Rig::new(&configs, seed);
        for number in 0..configs.len() {
            rig = rig.load(number, rng.below(600), 40 + rng.below(1_461) as u32);
        }
        let sent: Vec<_> = rig.backlog.iter().map(VecDeque::len).collect();
        rig.run();
        assert!(rig.cell.is_empty(), "seed {seed}: something is left");
        for (number, sent) in sent.into_iter().enumerate() {
            let delivered = rig.ids(number, Fate::Delivered);
            assert!(delivered.is_sorted(), "seed {seed}: radio {number} reorders");
            let all = delivered.len() + rig.ids(number, Fate::GivenUp).len();
            assert_eq!(all, sent, "seed {seed}: radio {number}");
        }
    }
}

#[test]
fn a_frame_is_given_up_after_thirty_tries_and_no_longer_holds_others_back() {
    let dead = RadioConfig { loss: 1.0, ..config(7, 32) };
    let mut rig = Rig::new(&[dead], 1).load(0, 200, 1_500);
    rig.run();
    assert_eq!(rig.ids(0, Fate::GivenUp).len(), 200);
    assert!(rig.cell.is_empty());
}

/// Tests that the hardware makes seven attempts, because `dot11ShortRetryLimit` counts attempts.
/// The driver then passes the frame to the hardware again.
#[test]
fn the_hardware_returns_a_frame_after_seven_attempts() {
    let mut rig = Rig::new(&[RadioConfig { loss: 1.0, ..config(7, 1) }], 1).load(0, 1, 1_500);
    rig.fill(Instant::ZERO);
    let mut unanswered = Vec::new();
    while let Some(due) = rig.cell.poll_timeout() {
        if rig.cell.handle_timeout(due, &mut Vec::new()).is_some() {
            unanswered.push(rig.cell.radio(0).unanswered);
        }
    }
    assert_eq!(unanswered[..8], [1, 2, 3, 4, 5, 6, 0, 1]);
}

/// Tests that the medium is idle between two exchanges for at most the timeout and the largest
/// window.
#[test]
fn the_medium_is_never_left_idle_while_somebody_wants_it() {
    let lossy = RadioConfig { loss: 0.1, ..config(7, 32) };
    let mut rig = Rig::new(&[lossy, lossy], 5).load(0, 3_000, 1_500).load(1, 3_000, 300);
    let end = rig.run();
    let idle = end.as_secs_f64() - rig.busy.as_secs_f64();
    let exchanges = rig.out.len() as f64;
    assert!(idle < exchanges * (50e-6 + 1_023.0 * 9e-6), "{idle} s");
    assert!(rig.busy.as_secs_f64() > 0.85 * end.as_secs_f64(), "{:?} of {end:?}", rig.busy);
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let run = |seed| {
        let lossy = RadioConfig { loss: 0.2, ..config(4, 16) };
        let mut rig = Rig::new(&[lossy, lossy], seed).load(0, 500, 1_500).load(1, 500, 1_500);
        rig.run();
        rig.out.iter().map(|(at, delivery)| (*at, delivery.packet.id)).collect::<Vec<_>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
