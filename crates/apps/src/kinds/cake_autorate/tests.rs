use aqmlab_core::{BitRate, Direction, Duration, Instant, Value};

use crate::params::ms;
use crate::testing::{Call, Net, build, close, known, value};

/// Returns the times at which a rate was set, in milliseconds, and the rates in kbit/s.
fn rates(net: &Net, direction: Direction) -> Vec<(u64, u64)> {
    let of = |(at, call): &(Instant, Call)| match call {
        Call::SetShaperRate(way, rate) if *way == direction => {
            Some((at.as_nanos() / 1_000_000, rate.as_bps() / 1_000))
        }
        _ => None,
    };
    net.calls.iter().filter_map(of).collect()
}

#[test]
fn six_reflectors_are_asked_every_300_ms_and_the_rates_begin_at_their_bases() {
    let mut net = Net::new(1);
    let summary = net.run_secs(&mut *build("cake_autorate", &[]), 30);
    close(known(&summary, "sent_packets"), 600.0, 1.0);
    close(known(&summary, "received_packets"), 600.0, 2.0);
    close(known(&summary, "rtt_mean_ms"), 40.134, 0.01);
    assert_eq!(rates(&net, Direction::Down), [(0, 20_000)]);
    assert_eq!(rates(&net, Direction::Up), [(0, 20_000)]);
    close(known(&summary, "shaper_down_mean_mbit"), 20.0, 1e-9);
    assert_eq!(value(&summary, "rate_changes_count"), Some(0.0));
}

#[test]
fn a_busy_line_without_delay_raises_its_rate_to_the_highest() {
    let mut net = Net::new(1);
    // 100 Mbit/s pass downstream.
    net.counters[1] = |now| now.as_nanos() / 80;
    let summary = net.run_secs(&mut *build("cake_autorate", &[]), 30);
    let down = rates(&net, Direction::Down);
    assert_eq!(down.last().unwrap().1, 80_000);
    close(known(&summary, "shaper_down_max_mbit"), 80.0, 0.0);
    // One rise per sample of 200 ms: the 36th rise by 4 % reaches four times the base.
    assert!((34..=37).contains(&(down.len() - 1)), "{}", down.len());
    assert_eq!(rates(&net, Direction::Up).len(), 1);
}

#[test]
fn an_idle_line_is_not_asked_after_a_minute() {
    let mut net = Net::new(1);
    let summary = net.run_secs(&mut *build("cake_autorate", &[]), 120);
    close(known(&summary, "sent_packets"), 1_202.0, 4.0);
    let never = &mut *build("cake_autorate", &[("sleep", Value::Flag(false))]);
    close(known(&Net::new(1).run_secs(never, 120), "sent_packets"), 2_400.0, 2.0);
}

#[test]
fn a_delay_that_grows_cuts_both_rates() {
    let later: fn(&mut Net) = |net| net.one_way = Duration::from_millis(120);
    let mut net = Net::new(1).then(Duration::from_secs(10), later);
    net.run_secs(&mut *build("cake_autorate", &[]), 12);
    let down = rates(&net, Direction::Down);
    assert!((10_200..10_500).contains(&down[1].0), "{down:?}");
    assert!(down.last().unwrap().1 < 10_000, "{down:?}");
}

#[test]
fn contradictions_are_refused() {
    let mbit = |mbit: u64| Value::Rate(BitRate::new(mbit * 1_000_000).unwrap());
    for (changes, set_by) in [
        (vec![("min_down", mbit(30))], "min_down"),
        (vec![("base_up", mbit(40))], "base_up"),
        (vec![("active_rate", mbit(6))], "active_rate"),
        (vec![("reflectors", Value::Count(3))], "pingers"),
        (vec![("window", Value::Count(2))], "detection"),
    ] {
        let misfit = build("cake_autorate", &changes).misfit().expect(set_by);
        assert_eq!(misfit.set_by, set_by);
    }
    assert_eq!(build("cake_autorate", &[("cut_pause", ms(0))]).misfit(), None);
}
