use super::*;

const KBIT: i64 = 20_000;
/// The time of a full packet at 20 Mbit/s, which the program adds to each threshold.
const PACKET: i64 = 600;

/// A law with the default settings, except that the reflectors keep their order.
struct Rig {
    law: Law,
    now: i64,
    next: u32,
}

impl Rig {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings { shuffles: false, ..Settings::default() };
        change(&mut settings);
        let mut law = Law::new(settings, 0, &mut || 0);
        let first = law.orders();
        assert_eq!(first.last(), Some(&Order::StartPings));
        Self { law, now: 0, next: 0 }
    }

    fn read(&mut self, line: Line) -> Vec<Order> {
        self.law.handle(line, self.now, &mut || 0);
        self.law.orders()
    }

    /// Passes a sample of the rates, up and down.
    fn rates(&mut self, up: i64, down: i64) -> Vec<Order> {
        self.read(Line::Rates([up, down]))
    }

    /// Passes 50 ms later the reply of the next reflector, with a delay in one direction.
    fn reply(&mut self, delay: i64) -> Vec<Order> {
        self.now += 50_000;
        self.next += 1;
        let active = self.law.active();
        let reflector = active[self.next as usize % active.len()];
        self.read(Line::Reply { reflector, rtt: 2 * delay, time: self.now })
    }

    /// Passes so many replies of 20 ms that all baselines are there, within `seconds`.
    fn settle(&mut self, seconds: i64) {
        for _ in 0..20 * seconds {
            self.reply(20_000);
        }
        self.law.orders();
    }

    fn down(&self) -> i64 {
        self.law.shapers[Direction::Down.index()].rate
    }
}

#[test]
fn c252_three_delayed_replies_of_six_cut_both_rates() {
    let mut rig = Rig::new(|_| {});
    rig.settle(3);
    // Each reply is 40 ms later than the baseline. The average of the window at the third is half
    // of that, which is below the threshold, so the cut is the smallest.
    assert_eq!([rig.reply(60_000), rig.reply(60_000)], [vec![], vec![]]);
    let cut = rig.reply(60_000);
    let rate = KBIT * 99 / 100;
    let set = |direction| Order::SetRate(direction, rate);
    assert_eq!(cut, [set(Direction::Down), set(Direction::Up)]);
    // The next cut is more than 300 ms later. All six replies are then delayed by 40 ms.
    let next: Vec<_> = (0..7).map(|_| rig.reply(60_000)).collect();
    assert!(next[..6].iter().all(Vec::is_empty), "{next:?}");
    let average = rig.law.window.average();
    let packet = 12_000_000 / rate;
    let thousandths = 1_000 * (average - 30_000 - packet) / 30_000;
    let want = rate * (990_000 - thousandths * 240) / 1_000_000;
    assert_eq!(next[6][0], Order::SetRate(Direction::Down, want));
}

#[test]
fn c253_a_delay_of_60_ms_cuts_a_rate_by_a_quarter() {
    let mut rig = Rig::new(|settings| settings.baseline_rise = 0);
    rig.settle(3);
    for _ in 0..2 {
        rig.reply(300_000);
    }
    let cut = rig.reply(300_000);
    assert_eq!(cut[0], Order::SetRate(Direction::Down, KBIT * 3 / 4));
}

#[test]
fn c254_under_high_load_a_sample_raises_a_rate_once_by_four_per_cent() {
    let mut rig = Rig::new(|_| {});
    rig.settle(3);
    // 75 % is not high, 76 % is.
    rig.rates(0, KBIT * 75 / 100);
    assert_eq!(rig.reply(20_000), []);
    rig.rates(0, KBIT * 76 / 100);
    assert_eq!(rig.reply(20_000), [Order::SetRate(Direction::Down, KBIT * 104 / 100)]);
    assert_eq!(rig.reply(20_000), [], "the sample is used");
    // Half-way between 10 and 30 ms a rise is half as large.
    rig.rates(0, KBIT);
    for _ in 0..6 {
        rig.reply(40_000);
    }
    let before = rig.down();
    rig.rates(0, KBIT);
    rig.reply(40_000);
    let rise = rig.down() as f64 / before as f64;
    assert!((1.019..1.022).contains(&rise), "{rise}");
}

#[test]
fn c255_without_load_a_rate_returns_to_its_base_by_one_per_cent_per_second() {
    let mut rig = Rig::new(|settings| settings.rates[1].base = 10_000);
    rig.settle(2);
    for _ in 0..20 {
        rig.rates(0, 200_000);
        rig.reply(20_000);
    }
    assert!(rig.down() > 20_000, "{}", rig.down());
    rig.rates(0, 0);
    let (start, before) = (rig.now, rig.down());
    let mut orders = Vec::new();
    while rig.now < start + 3_300_000 {
        orders.extend(rig.reply(20_000));
    }
    let steps = [1, 2, 3].map(|power| (0..power).fold(before, |rate, _| rate * 990 / 1_000));
    assert_eq!(orders, steps.map(|rate| Order::SetRate(Direction::Down, rate)));
}

#[test]
fn c256_a_full_packet_at_the_rate_is_added_to_each_threshold() {
    let mut rig = Rig::new(|settings| settings.baseline_rise = 0);
    rig.settle(3);
    let threshold = 30_000 + PACKET;
    let shaper = &rig.law.shapers[1];
    assert_eq!(shaper.delay_threshold(), threshold);
    let baseline = 20_000;
    for _ in 0..10 {
        assert_eq!(rig.reply(baseline + threshold), [], "equal is not above");
    }
    let cut: Vec<_> = (0..3).flat_map(|_| rig.reply(baseline + threshold + 2)).collect();
    assert!(!cut.is_empty());
}

#[test]
fn c257_the_first_interval_of_an_idle_line_is_not_counted() {
    let mut rig = Rig::new(|settings| settings.sleep_after = 1_000_000);
    let mut slept = None;
    for _ in 0..40 {
        if rig.reply(20_000).contains(&Order::StopPings) {
            slept = slept.or(Some(rig.now));
        }
    }
    // The first reply is at 50 ms, so the second at 100 ms is the first of the count.
    assert_eq!(slept, Some(100_000 + 1_000_000 + 50_000));
    assert_eq!(rig.rates(2_000, 2_000), []);
    assert_eq!(rig.rates(2_001, 0), [Order::StartPings]);
}

#[test]
fn c258_five_missing_replies_and_no_data_are_a_stall_and_ten_seconds_restart_the_requests() {
    let mut rig = Rig::new(|settings| settings.enforces_min = true);
    rig.settle(2);
    let start = rig.now;
    let mut restarted = None;
    while rig.now < start + 12_000_000 {
        rig.now += 200_000;
        let orders = rig.rates(11, 10);
        if orders.contains(&Order::StopPings) && orders.contains(&Order::StartPings) {
            restarted = restarted.or(Some(rig.now - start));
            assert!(orders.contains(&Order::SetRate(Direction::Down, 5_000)), "{orders:?}");
        }
    }
    // The stall is noticed after 250 ms, at 400 ms, and the restart is 9.75 s later.
    assert_eq!(restarted, Some(10_200_000));
    assert!(matches!(rig.law.state, State::Stall(_)));
    rig.reply(20_000);
    assert_eq!(rig.law.state, State::Running);
}

#[test]
fn c258_a_line_with_data_has_not_stalled() {
    let mut rig = Rig::new(|_| {});
    rig.settle(2);
    for _ in 0..10 {
        rig.now += 200_000;
        rig.rates(11, 11);
    }
    assert_eq!(rig.law.state, State::Running);
}

#[test]
fn c259_a_reflector_without_replies_in_three_checks_is_replaced() {
    let mut rig = Rig::new(|_| {});
    rig.settle(2);
    let dead = rig.law.active()[0];
    let mut after = None;
    for _ in 0..100 {
        rig.now += 50_000;
        rig.next += 1;
        let reflector = rig.law.active()[rig.next as usize % 6];
        let orders = if reflector == dead {
            vec![]
        } else {
            rig.read(Line::Reply { reflector, rtt: 40_000, time: rig.now })
        };
        if orders.contains(&Order::StartPings) {
            after = after.or(Some(rig.now));
        }
    }
    assert!(after.is_some_and(|after| (5_000_000..6_500_000).contains(&after)), "{after:?}");
    assert_eq!(rig.law.active()[0], 6, "the first of the reserve");
}

#[test]
fn a_reply_older_than_half_a_second_changes_nothing() {
    let mut rig = Rig::new(|_| {});
    rig.settle(3);
    for _ in 0..6 {
        rig.now += 50_000;
        let reflector = rig.law.active()[0];
        let time = rig.now - 500_001;
        assert_eq!(rig.read(Line::Reply { reflector, rtt: 900_000, time }), []);
    }
}

#[test]
fn a_direction_that_is_not_adjusted_has_no_commands() {
    let mut rig = Rig::new(|settings| settings.adjusts = [true, false]);
    rig.settle(3);
    let orders: Vec<_> = (0..6).flat_map(|_| rig.reply(300_000)).collect();
    assert!(orders.iter().any(|order| matches!(order, Order::SetRate(Direction::Up, _))));
    assert!(!orders.iter().any(|order| matches!(order, Order::SetRate(Direction::Down, _))));
}

#[test]
fn c260_the_sampler_knows_only_the_base_rates() {
    let sampled = |base: i64, bytes: u64| {
        let rates = [Range { min: base, base, max: base }; 2];
        let settings = Settings { rates, ..Settings::default() };
        let mut sampler = Sampler::new(&settings, [0; 2]);
        sampler.sample([0; 2]);
        (sampler.period(), sampler.sample([bytes, bytes])[0])
    };
    assert_eq!(sampled(20_000, 25_000), (200_000, 1_000));
    // Full packets take 24 ms in sum, so the divisor is 240 ms, but the sleep is 200 ms.
    assert_eq!(sampled(1_000, 25_000), (200_000, 833));
    // The divisor of 260 ms leads to a sleep of 300 ms.
    assert_eq!(sampled(923, 37_500), (300_000, 1_153));
}

#[test]
fn fping_prints_three_digits_and_hundred_thousandths_of_a_second() {
    for (nanos, micros) in [
        (123_456, 123),
        (1_234_567, 1_230),
        (12_345_678, 12_300),
        (99_960_000, 100_000),
        (123_456_789, 123_000),
        (1_234_567_890, 1_235_000),
    ] {
        assert_eq!(printed_rtt(nanos), micros, "{nanos}");
    }
    assert_eq!(printed_time(1_234_567_890), 1_234_570);
}
