use super::*;

fn settings() -> Settings {
    Settings {
        limit: Bytes(400_000),
        min: Bytes(0),
        max: Bytes(0),
        avpkt: Bytes(1_000),
        burst: 0,
        probability: 0.02,
        adaptive: None,
    }
}

/// Returns a law with an average queue length of `average` bytes. The average stays constant while
/// arrivals find a backlog of this length.
fn at(settings: &Settings, average: u64) -> Red {
    let mut law = Red::new(settings);
    law.qavg = average << law.thresholds.wlog;
    law.idle_since = None;
    law
}

fn arrivals(law: &mut Red, count: usize, seed: u64) -> Vec<Action> {
    let mut rng = Rng::stream(seed, "arrivals");
    let waiting = law.average();
    (0..count).map(|_| law.arrive(Instant::ZERO, waiting, &mut rng)).collect()
}

#[test]
fn the_constants_are_those_that_tc_computes() {
    for (min, max, burst, want) in [
        (0, 0, 0, (33_333, 100_000, 5)),
        (30_000, 90_000, 55, (30_000, 90_000, 5)),
        (20_000, 0, 0, (20_000, 60_000, 4)),
        (0, 30_000, 0, (10_000, 30_000, 3)),
        // After a burst of 200 packets, the average queue length is 5.8 packets with weight 2^-12,
        // and 3.4 packets with weight 2^-13. The lower threshold is 5 packets.
        (5_000, 15_000, 200, (5_000, 15_000, 13)),
    ] {
        let settings = Settings { min: Bytes(min), max: Bytes(max), burst, ..settings() };
        let law = Red::new(&settings);
        let Thresholds { min, max, wlog, .. } = law.thresholds;
        assert_eq!((min >> wlog, max >> wlog, wlog), want, "{settings:?}");
    }
}

#[test]
fn what_tc_refuses_is_moved_to_where_it_fits() {
    let tight = Red::new(&Settings { min: Bytes(30_000), burst: 3, ..settings() });
    let enough = Red::new(&Settings { min: Bytes(30_000), burst: 30, ..settings() });
    assert_eq!(tight.thresholds.wlog, enough.thresholds.wlog);
    let huge = Settings { limit: Bytes(1 << 40), max: Bytes(1 << 40), ..settings() };
    let Thresholds { max, wlog, .. } = Red::new(&huge).thresholds;
    assert!(max < 1 << 31 && wlog >= 1, "{max} {wlog}");
}

#[test]
fn c53_below_min_none_is_signalled_and_above_max_all_are() {
    let mut low = at(&settings(), 33_332);
    low.since = Some(1_000);
    assert!(arrivals(&mut low, 1_000, 1).iter().all(|&action| action == Action::Keep));
    assert_eq!(low.since, None);
    let mut high = at(&settings(), 100_000);
    assert!(arrivals(&mut high, 1_000, 1).iter().all(|&action| action == Action::Forced));
    assert_eq!(high.since, None);
}

#[test]
fn c54_gaps_between_signals_are_uniform() {
    let settings =
        Settings { min: Bytes(30_000), max: Bytes(90_000), probability: 0.1, ..settings() };
    let mut law = at(&settings, 30_000 + 12_000);
    // The average queue length is at a fifth of the distance between the thresholds. With 10 % at
    // the upper threshold, the probability is 2 %: gaps of one to fifty packets.
    let mut counts = [0_u32; 51];
    let (mut gap, mut beyond) = (0, 0);
    for action in arrivals(&mut law, 2_600_000, 54).into_iter().skip(1) {
        gap += 1;
        if action == Action::Early {
            match counts.get_mut(gap) {
                Some(count) => *count += 1,
                None => beyond += 1,
            }
            gap = 0;
        }
    }
    // Because of integer division, the largest random number is 50.002 times the excess of the
    // average over the lower threshold.
    assert!(counts[0] == 0 && beyond < 20, "{} {beyond}", counts[0]);
    let total: u32 = counts.iter().sum();
    let mean = counts.iter().enumerate().map(|(gap, &n)| gap as f64 * f64::from(n)).sum::<f64>();
    assert!((mean / f64::from(total) - 25.5).abs() < 0.2, "{}", mean / f64::from(total));
    let expected = f64::from(total) / 50.0;
    let chi2: f64 = counts[1..].iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    // The limit is the 99.9 % quantile of χ² with 49 degrees of freedom.
    assert!(chi2 < 85.4, "{chi2} over {total} gaps");
}

#[test]
fn c55_idle_time_decays_the_average_as_the_table_of_tc_has_it() {
    let law = at(&settings(), 40_000);
    assert_eq!(law.table.cell_log, 15);
    let after = |us: u64| {
        let left = law.table.decayed(law.qavg, Duration::from_micros(us));
        left as f64 / law.qavg as f64
    };
    for (us, want) in [
        (0, 1.0),
        (8_192, 0.75),
        // 20 packet times: (1 − w)^m is 0.52, so the linear approximation is accurate.
        (16_384, 0.5),
        // 164 packet times: the correct value is 0.005.
        (131_072, 0.5),
        (24 << 15, 0.5),
        (25 << 15, 0.25),
        (100 << 15, 1.0 / 256.0),
        (99_000_000, 0.0),
    ] {
        assert!((after(us) - want).abs() < 1e-6, "{us} µs: {} is not {want}", after(us));
    }
}

#[test]
fn the_idle_table_follows_the_rate_of_the_link() {
    let mut law = at(&settings(), 40_000);
    let half_second = Duration::from_millis(500);
    let slow = law.table.decayed(law.qavg, half_second);
    law.link_rate(BitRate::new(100_000_000).unwrap());
    let fast = law.table.decayed(law.qavg, half_second);
    assert!(fast < slow / 100, "{fast} {slow}");
}

#[test]
fn idleness_begins_when_the_last_packet_leaves() {
    let mut law = at(&settings(), 40_000);
    let mut rng = Rng::stream(1, "idle");
    law.emptied(Instant::from_millis(100));
    law.emptied(Instant::from_millis(900));
    law.arrive(Instant::from_millis(100 + 820), Bytes(0), &mut rng);
    assert_eq!(law.average(), Bytes(10_000));
    law.arrive(Instant::from_millis(100 + 820), Bytes(0), &mut rng);
    assert_eq!(law.average(), Bytes(10_000 - 10_000 / 32 - 1), "and it is over");
}

#[test]
fn c56_the_probability_adapts_every_half_second_and_past_its_bounds_by_one_step() {
    let settings = Settings { adaptive: Some(Clock::Ideal), ..settings() };
    let walk = |average: u64, steps: u64| {
        let mut law = at(&settings, average);
        law.catch_up(Instant::from_millis(499));
        assert_eq!(law.max_p, (0.02 * 4_294_967_296.0) as u32);
        law.catch_up(Instant::from_millis(500 * steps));
        law.max_p()
    };
    let (min, delta) = (33_333, 66_667);
    assert!((walk(min + delta * 7 / 10, 1) - 0.025).abs() < 1e-6, "a quarter is less than 1 %");
    assert!((walk(min + delta * 7 / 10, 9) - 0.098_7).abs() < 1e-3);
    assert!((walk(min + delta / 2, 1_000) - 0.02).abs() < 1e-6, "in the band it rests");
    assert!((walk(min + delta / 10, 1) - 0.018).abs() < 1e-6);
    let (most, least) = (walk(min + delta * 7 / 10, 10_000), walk(min + delta / 10, 10_000));
    assert!((0.50..0.51).contains(&most), "{most}");
    assert!((0.009..0.010).contains(&least), "{least}");
}
