use proptest::prelude::*;

use super::*;
use crate::testing::close;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn frame(lines: u32, captured: Instant) -> Frame {
    Frame { number: 0, captured, is_key: false, lines, bytes: 1, packets: 1 }
}

/// Returns the quality of a picture with 31 frames every `every` ms and one further frame after
/// `gap` ms.
fn gap(every: u64, gap: u64) -> Seen {
    let mut screen = Screen::new(ms(0), 720);
    for n in 0..=30 {
        screen.add(frame(360, ms(every * n)), ms(every * n));
    }
    screen.add(frame(720, ms(0)), ms(30 * every + gap));
    screen.measures(ms(30 * every + gap))
}

#[track_caller]
fn freezes(every: u64, span: u64, want: bool) {
    let seen = gap(every, span);
    let whole = (30 * every + span) as f64;
    let (count, frozen) =
        if want { (60e3 / whole, 100.0 * span as f64 / whole) } else { (0.0, 0.0) };
    close(seen.freezes_per_minute.unwrap(), count, 1e-9);
    close(seen.frozen_percent.unwrap(), frozen, 1e-9);
}

/// Tests statement C-105.
#[test]
fn at_30_frames_a_second_a_freeze_begins_at_183_ms() {
    freezes(33, 182, false);
    freezes(33, 184, true);
}

/// Tests statement C-106.
#[test]
fn at_10_frames_a_second_a_freeze_begins_at_300_ms() {
    freezes(100, 299, false);
    freezes(100, 300, true);
}

#[test]
fn a_freeze_at_the_end_counts_and_so_does_a_call_without_a_picture() {
    let mut screen = Screen::new(ms(0), 720);
    for n in 0..=30 {
        screen.add(frame(360, ms(33 * n)), ms(33 * n));
    }
    let seen = screen.measures(ms(10_990));
    close(seen.frozen_percent.unwrap(), 100.0 * 10_000.0 / 10_990.0, 1e-9);
    close(seen.longest_freeze_ms, 10_000.0, 1e-9);
    // None of the seconds 1 to 9 has a frame.
    assert_eq!(seen.slow_percent, [Some(100.0); 2]);
    let none = Screen::new(ms(0), 720).measures(ms(10_000));
    assert_eq!((none.frozen_percent, none.lines), (Some(100.0), None));
    assert_eq!(none.slow_percent, [Some(100.0); 2]);
    assert_eq!(Screen::new(ms(0), 720).measures(ms(0)).fps, None);
}

/// Returns the quality of a picture with 50 frames per second for `seconds`. Each freeze has the
/// second at which it begins and a length in milliseconds.
fn with_freezes(seconds: u64, freezes: &[(u64, u64)]) -> Seen {
    let mut screen = Screen::new(ms(0), 720);
    let is_shown = |at: u64| {
        freezes.iter().all(|&(from, length)| at <= 1_000 * from || at >= 1_000 * from + length)
    };
    for at in (0..1_000 * seconds).step_by(20).filter(|&at| is_shown(at)) {
        screen.add(frame(720, ms(at)), ms(at));
    }
    screen.measures(ms(1_000 * seconds))
}

#[test]
fn one_freeze_is_judged_alike_in_a_short_and_in_a_long_call() {
    for seconds in [20, 60, 300] {
        let seen = with_freezes(seconds, &[(5, 500)]);
        close(seen.longest_freeze_ms, 500.0, 1e-9);
        close(seen.further_freezes_percent.unwrap(), 0.0, 1e-9);
    }
}

#[test]
fn freezes_beside_the_longest_are_a_share_of_the_time() {
    let seen = with_freezes(60, &[(5, 800), (20, 300), (40, 240)]);
    close(seen.longest_freeze_ms, 800.0, 1e-9);
    close(seen.further_freezes_percent.unwrap(), 100.0 * 0.54 / 60.0, 1e-9);
    close(seen.frozen_percent.unwrap(), 100.0 * 1.34 / 60.0, 1e-9);
    close(seen.freezes_per_minute.unwrap(), 3.0, 1e-9);
}

#[test]
fn seconds_are_counted_by_their_frames_and_pictures_by_their_time() {
    let mut screen = Screen::new(ms(0), 720);
    // 30, 20 and 10 frames per second for four seconds each. The pictures of the first four
    // seconds are larger.
    let mut n = 0;
    for (seconds, every, lines) in [(0..4_u64, 33, 720), (4..8, 50, 360), (8..12, 100, 360)] {
        for at in (1_000 * seconds.start..1_000 * seconds.end).step_by(every) {
            screen.add(frame(lines, ms(at)), ms(at + 40));
            n += 1;
        }
    }
    let seen = screen.measures(ms(12_040));
    close(seen.fps.unwrap(), n as f64 / 12.04, 1e-9);
    // There are eleven whole seconds after the first. Three have the large pictures, and one
    // has both sizes.
    close(seen.slow_percent[0].unwrap(), 100.0 * 4.0 / 11.0, 9.1);
    close(seen.slow_percent[1].unwrap(), 100.0 * 8.0 / 11.0, 9.1);
    close(seen.lines.unwrap(), 480.0, 1.0);
    close(seen.top_percent.unwrap(), 100.0 / 3.0, 0.5);
    close(seen.delays.at(0.5).unwrap(), 40.0, 1e-9);
}

proptest! {
    #[test]
    fn shares_are_shares(
        gaps in prop::collection::vec(0..4_000_u64, 0..80),
        tail in 0..9_000_u64,
    ) {
        let mut screen = Screen::new(ms(0), 360);
        let mut now = 0;
        for gap in gaps {
            now += gap;
            screen.advance(ms(now));
            screen.add(frame(360, ms(now)), ms(now + 30));
        }
        let seen = screen.measures(ms(now + tail));
        let shares = [seen.frozen_percent, seen.further_freezes_percent, seen.top_percent].into_iter();
        for share in shares.chain(seen.slow_percent).flatten() {
            prop_assert!((0.0..=100.0 + 1e-9).contains(&share), "{share}");
        }
    }
}
