use super::*;
use crate::testing::{Call, Net, build, close, known};

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Word(word, &[]))
}

fn flat() -> (&'static str, Value) {
    ("vbr", Value::Flag(false))
}

/// Returns the times of the requests in seconds.
fn requests(net: &Net) -> Vec<f64> {
    net.calls
        .iter()
        .filter(|(_, call)| matches!(call, Call::Write(_, Side::Home, _)))
        .map(|(at, _)| at.as_secs_f64())
        .collect()
}

fn notes(net: &Net, metric: &str) -> Vec<f64> {
    net.calls
        .iter()
        .filter_map(|(_, call)| match call {
            Call::Note(name, value) if *name == metric => Some(*value),
            _ => None,
        })
        .collect()
}

#[test]
fn a_fast_line_plays_the_highest_rate_after_the_first_segment() {
    let mut net = Net::new(1).with_rate(50_000_000).with_delay(Duration::from_millis(1));
    let summary = net.run_secs(&mut *build("dash", &[flat()]), 200);
    let rates = notes(&net, "rr_mbit");
    close(rates[0], 0.791_182, 1e-9); // 1000 kbit/s is the initial estimate.
    rates[1..].iter().for_each(|&rate| close(rate, 4.219_897, 1e-9));
    close(known(&summary, "rr_median_mbit"), 4.219_897, 1e-9);
    close(known(&summary, "stalls_count"), 0.0, 0.0);
    close(known(&summary, "switches_count"), 1.0, 0.0);
    // The delay is a handshake, a round trip, and the time of 200 kB at 50 Mbit/s.
    close(known(&summary, "startup_delay_s"), 0.004 + 0.033, 0.003);
    // 30 s are buffered; after that, the player checks once per second.
    let most = notes(&net, "buffer_s").into_iter().fold(0.0, f64::max);
    assert!((30.0..32.1).contains(&most), "{most}");
}

#[test]
fn a_slow_line_gets_the_rate_it_can_carry() {
    // A row has the line rate in bit/s and the expected median rate in Mbit/s.
    for (bps, want) in [(1_500_000, 1.244_778), (500_000, 0.396_126), (4_000_000, 3.078_587)] {
        let mut net = Net::new(1).with_rate(bps);
        let summary = net.run_secs(&mut *build("dash", &[flat()]), 200);
        close(known(&summary, "rr_median_mbit"), want, 1e-9);
    }
}

#[test]
fn the_achieved_rate_counts_the_wait_for_the_first_byte_and_the_players_does_not() {
    // A chunk of 11 kB arrives in one burst after a round trip of a second.
    let mut net = Net::new(1).with_rate(10_000_000).with_delay(Duration::from_millis(500));
    let lowest = [word("abr", "fixed"), ("quality", Value::Count(1)), flat()];
    let summary = net.run_secs(&mut *build("dash", &lowest), 60);
    let [achieved, sampled, took, bytes] =
        ["ar_mbit", "player_mbit", "fetch_s", "chunk_bytes"].map(|name| notes(&net, name));
    assert!(achieved.len() > 5 && achieved.len() == took.len());
    for (number, &mbit) in achieved.iter().enumerate().skip(1) {
        close(mbit, bytes[number] * 8e-6 / took[number], 1e-9);
        close(bytes[number], 45_652.0 * 2.0 / 8.0, 1.0);
        assert!((1.0..1.1).contains(&took[number]), "{}", took[number]);
        assert!(sampled[number] > 50.0 * mbit, "{} {mbit}", sampled[number]);
    }
    close(known(&summary, "ar_median_mbit"), 0.09, 0.01);
}

#[test]
fn requests_wait_on_a_grid_of_one_second_when_enough_is_buffered() {
    let mut net = Net::new(1).with_rate(2_000_000);
    net.run_secs(&mut *build("dash", &[flat()]), 100);
    let came = net.calls.iter().filter_map(|(at, call)| match call {
        Call::Note("buffer_s", level) => Some((at.as_secs_f64(), *level)),
        _ => None,
    });
    let times = requests(&net);
    let mut waits = 0;
    for (at, level) in came {
        let Some(asked) = times.iter().find(|&&when| when >= at) else { continue };
        // Below 12 s, the request is immediate. Otherwise it follows after the number of whole
        // seconds that the buffer takes to fall below 12 s.
        let want = if level < 12.0 { 0.0 } else { (level - 12.0).floor() + 1.0 };
        close(asked - at, want, 1e-6);
        waits += u32::from(want > 0.0);
    }
    assert!(waits >= 10, "{waits}");
}

#[test]
fn a_line_below_the_lowest_rate_stalls() {
    let mut net = Net::new(1).with_rate(40_000);
    let summary = net.run_secs(&mut *build("dash", &[flat()]), 200);
    assert!(known(&summary, "stalls_count") > 3.0);
    assert!(known(&summary, "stalled_percent") > 5.0);
    assert!(known(&summary, "abandoned_count") >= 1.0);
    close(known(&summary, "rr_median_mbit"), 0.045_652, 1e-9);
    assert!(known(&summary, "qoe_linear") < 0.0);
}

#[test]
fn abandoning_resets_the_connection_and_opens_another() {
    let mut net = Net::new(1).with_rate(100_000);
    net.run_secs(&mut *build("dash", &[flat()]), 30);
    let kinds: Vec<_> = net
        .calls
        .iter()
        .filter(|(_, call)| matches!(call, Call::Open(_) | Call::Abort(..)))
        .map(|(_, call)| matches!(call, Call::Abort(..)))
        .collect();
    assert_eq!(&kinds[..3], &[false, true, false]);
}

#[test]
fn the_video_ends_when_it_is_over() {
    let mut net = Net::new(1).with_rate(50_000_000);
    let length = ("length", Value::MaybeDuration(Some(Duration::from_secs(21))));
    let summary = net.run_secs(&mut *build("dash", &[flat(), length]), 200);
    close(known(&summary, "segments_count"), 11.0, 0.0);
    close(known(&summary, "played_s"), 22.0, 1e-6);
    close(known(&summary, "stalls_count"), 0.0, 0.0);
}

#[test]
fn a_fixed_rate_stays_and_a_cap_holds() {
    for (changes, want) in [
        (vec![word("abr", "fixed")], 4.219_897),
        (vec![word("abr", "fixed"), ("quality", Value::Count(8))], 0.396_126),
        (vec![word("abr", "fixed"), ("max_rate", rate(1_500_000))], 1.244_778),
        (vec![("max_rate", rate(5_000_000)), word("segment", "4s")], 3.936_261),
    ] {
        let mut net = Net::new(1).with_rate(50_000_000);
        let summary = net.run_secs(&mut *build("dash", &changes), 60);
        close(known(&summary, "rr_median_mbit"), want, 1e-9);
    }
}

#[test]
fn bola_fills_its_buffer_and_settles_below_the_line_rate() {
    let mut net = Net::new(1).with_rate(2_000_000);
    let summary = net.run_secs(&mut *build("dash", &[word("abr", "bola"), flat()]), 300);
    let median = known(&summary, "rr_median_mbit");
    assert!((1.0..2.0).contains(&median), "{median}");
    // The second segment takes most of the two seconds that the first segment plays.
    assert!(known(&summary, "stalls_count") <= 1.0);
}

#[test]
fn music_plays_without_a_pause_at_its_rate() {
    let mut net = Net::new(1).with_rate(2_000_000);
    let summary = net.run_secs(&mut *build("audio_stream", &[]), 600);
    close(known(&summary, "rr_median_mbit"), 0.32, 1e-9);
    close(known(&summary, "stalls_count"), 0.0, 0.0);
    // The traffic is 320 kbit/s of music, plus the buffer of 60 s, headers and requests.
    let mbit = net.ip_bytes[1] as f64 * 8.0 / 1e6;
    close(mbit, 0.32 * 665.0 * 1.04, 8.0);
}

#[test]
fn a_film_with_a_full_reserve_uses_its_own_rate_from_the_start() {
    let span = |name, secs| (name, Value::Duration(Duration::from_secs(secs)));
    let mut film = vec![("rate", rate(15_000_000)), span("chunk", 4), span("reserve", 12)];
    film.push(span("buffered", 12));
    let mut net = Net::new(1).with_rate(50_000_000).with_delay(Duration::from_millis(1));
    let summary = net.run_secs(&mut *build("audio_stream", &film), 120);
    close(known(&summary, "startup_ms"), 0.0, 0.0);
    close(known(&summary, "stalls_count"), 0.0, 0.0);
    let most = notes(&net, "buffer_s").into_iter().fold(0.0, f64::max);
    assert!((12.0..16.0).contains(&most), "{most}");
    let mbit = net.ip_bytes[1] as f64 * 8.0 / 1e6;
    close(mbit / 120.0, 15.0 * 1.04, 0.6);
    // A line of 10 Mbit/s loads two seconds of the film in three seconds. The 11.5 s in the buffer
    // above the limit of 0.5 s therefore last for 34.5 s.
    let mut net = Net::new(1).with_rate(10_000_000).with_delay(Duration::from_millis(1));
    let summary = net.run_secs(&mut *build("audio_stream", &film), 60);
    assert!(known(&summary, "stalls_count") > 0.0);
}

#[test]
fn a_video_in_the_middle_begins_at_its_highest_rate() {
    let buffered = ("buffered", Value::Duration(Duration::from_secs(30)));
    let mut net = Net::new(1).with_rate(50_000_000);
    let summary = net.run_secs(&mut *build("dash", &[flat(), buffered]), 60);
    let rates = notes(&net, "rr_mbit");
    assert!(rates.len() >= 28);
    for &rate in &rates {
        close(rate, 4.219_897, 1e-9);
    }
    close(known(&summary, "startup_ms"), 0.0, 0.0);
    // On a slow line the player chooses a lower rate before the buffer is empty.
    let mut net = Net::new(1).with_rate(1_000_000);
    let summary = net.run_secs(&mut *build("dash", &[flat(), buffered]), 60);
    close(known(&summary, "stalls_count"), 0.0, 0.0);
    assert!(*notes(&net, "rr_mbit").last().unwrap() < 1.0);
}

#[test]
fn a_camera_sends_upwards() {
    let mut net = Net::new(1).with_rate(5_000_000);
    let app = build("dash", &[word("direction", "up")]);
    assert_eq!(app.carries(), Carries::One(aqmlab_core::Direction::Up));
    let mut app = app;
    net.run_secs(&mut *app, 30);
    assert!(net.ip_bytes[0] > 20 * net.ip_bytes[1]);
}

#[test]
fn a_connection_that_is_lost_is_opened_again_three_times() {
    struct Dead(Net, u32);
    let mut dead = Dead(Net::new(1), 0);
    let mut app = build("dash", &[]);
    app.handle(Notice::Start, &mut dead.0);
    for n in 0..10 {
        app.handle(Notice::Closed(crate::ConnId(n)), &mut dead.0);
        app.handle(Notice::Wake(u64::from(n) + 1), &mut dead.0);
        dead.1 =
            dead.0.calls.iter().filter(|(_, call)| matches!(call, Call::Open(_))).count() as u32;
    }
    assert_eq!(dead.1, 1 + 3);
    close(known(&app.summary(Instant::ZERO), "failed_count"), 4.0, 0.0);
}
