use super::*;

const FIXED: Tuning = Tuning::Fixed { min: 5.0, max: 15.0, weight: 0.002 };
const AUTOMATIC: Tuning = Tuning::Automatic {
    target_delay: Duration::from_millis(5),
    interval: Duration::from_millis(500),
};

fn settings(tuning: Tuning) -> Settings {
    Settings { tuning, max_p: 0.02, gentle: false, wait: false, mean_packet: Bytes(500) }
}

/// Returns a law with an average queue length of `average` packets. The average stays constant
/// while arrivals find a backlog of this length.
fn at(settings: Settings, average: f64) -> Floyd {
    let mut law = Floyd::new(settings);
    (law.average, law.above, law.idle_since) = (average, true, None);
    law
}

/// Returns the gaps between signals at a constant average queue length.
fn gaps(settings: Settings, average: f64, arrivals: u32) -> Vec<u64> {
    let mut law = at(settings, average);
    let mut rng = Rng::stream(54, "arrivals");
    let (mut gap, mut gaps) = (0, Vec::new());
    for _ in 0..arrivals {
        law.average = average;
        gap += 1;
        if law.arrive(Instant::ZERO, average as usize, &mut rng) == Action::Early {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    gaps
}

#[test]
fn c53_below_min_none_is_signalled_and_above_max_all_are() {
    let mut rng = Rng::stream(53, "c53");
    let mut offer = |average: f64, gentle: bool| {
        let mut law = at(Settings { gentle, ..settings(FIXED) }, average);
        (0..100)
            .filter(|_| {
                law.average = average;
                law.arrive(Instant::ZERO, average as usize, &mut rng) == Action::Forced
            })
            .count()
    };
    assert_eq!([offer(4.9, false), offer(14.0, false), offer(15.1, false)], [0, 0, 100]);
    assert_eq!([offer(15.1, true), offer(29.0, true), offer(30.1, true)], [0, 0, 100]);
}

#[test]
fn c54_gaps_without_wait_are_uniform() {
    // At the midpoint of the thresholds, the probability is 2 %, half of 4 %. The count includes
    // the packet itself, so the largest gap is 49 packets, one below the 50 of the paper's text.
    // The paper's own algorithm has the same difference.
    let settings = Settings { max_p: 0.04, ..settings(FIXED) };
    let gaps = gaps(settings, 10.0, 1_000_000);
    let mut counts = [0_u32; 50];
    for &gap in &gaps {
        counts[gap as usize] += 1;
    }
    let expected = gaps.len() as f64 / 49.0;
    let chi2: f64 = counts[1..].iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    // The limit is the 99.9 % quantile of χ² with 48 degrees of freedom.
    assert!(chi2 < 84.0, "{chi2} over {} gaps", gaps.len());
}

#[test]
fn with_wait_gaps_are_between_one_and_two_times_the_mean() {
    let settings = Settings { max_p: 0.04, wait: true, ..settings(FIXED) };
    let gaps = gaps(settings, 10.0, 500_000);
    assert!(gaps.iter().all(|gap| (50..=100).contains(gap)), "{:?}", gaps.iter().max());
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((mean - 75.0).abs() < 1.0, "{mean}");
}

#[test]
fn c55_idle_time_decays_the_average_as_if_small_queues_had_been_seen() {
    let mut law = at(settings(FIXED), 10.0);
    law.link_rate(BitRate::new(4_000_000).unwrap());
    law.emptied(Instant::from_millis(10));
    // The idle time counts as 250 arrivals, at 1000 packets of 500 bytes per second. The arrival
    // itself also counts.
    law.arrive(Instant::from_millis(260), 0, &mut Rng::stream(1, "c55"));
    let want = 10.0 * (0..251).fold(1.0, |product, _| product * 0.998);
    assert!((law.average - want).abs() < 1e-12, "{} is not {want}", law.average);
}

#[test]
fn automatic_tuning_follows_the_rate() {
    let mut law = Floyd::new(settings(AUTOMATIC));
    for (rate, min) in [(1_000_000, 5.0), (10_000_000, 6.25), (100_000_000, 62.5)] {
        law.link_rate(BitRate::new(rate).unwrap());
        let Tuned { min: got, max, weight, packets_per_second } = law.tuned;
        assert!((got - min).abs() < 1e-9 && (max - 3.0 * min).abs() < 1e-9, "{rate}: {got}");
        assert!((weight * packets_per_second - 1.0).abs() < 0.003, "a time constant of 1 s");
    }
}

#[test]
fn c56_the_probability_adapts_no_more_often_than_allowed_and_within_bounds() {
    let walk = |average: f64| {
        let mut law = at(settings(AUTOMATIC), average);
        let mut rng = Rng::stream(56, "c56");
        let (mut changes, mut last) = (Vec::new(), law.max_p);
        for ms in (0..200_000).step_by(10) {
            law.average = average;
            law.arrive(Instant::from_millis(ms), average as usize, &mut rng);
            if (law.max_p - last).abs() > 0.0 {
                changes.push(ms);
                last = law.max_p;
            }
        }
        assert!(changes.windows(2).all(|pair| pair[1] - pair[0] > 500), "{changes:?}");
        last
    };
    assert!((walk(14.0) - 0.5).abs() < 1e-12);
    assert!((walk(6.0) - 0.01).abs() < 1e-12);
    assert!((walk(10.0) - 0.02).abs() < 1e-12, "in the band it rests");
}

#[test]
fn gentle_rises_from_the_probability_as_adapted() {
    let mut law = at(Settings { gentle: true, ..settings(FIXED) }, 15.0);
    law.max_p = 0.3;
    for (average, want) in [(10.0, 0.15), (15.0, 0.3), (22.5, 0.65), (30.0, 1.0)] {
        law.average = average;
        assert!((law.base_probability() - want).abs() < 1e-12, "{average}");
    }
}

#[test]
fn the_first_packet_above_min_and_one_that_finds_a_single_one_pass() {
    let mut law = at(Settings { max_p: 1.0, ..settings(FIXED) }, 14.0);
    let mut rng = Rng::stream(1, "first");
    law.above = false;
    assert_eq!(law.arrive(Instant::ZERO, 14, &mut rng), Action::Keep);
    assert_eq!(law.arrive(Instant::ZERO, 14, &mut rng), Action::Early);
    assert_eq!(law.arrive(Instant::ZERO, 1, &mut rng), Action::Keep);
    assert!(!law.above, "and it begins anew");
}
