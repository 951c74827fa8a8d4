//! The receiver's screen: the picture quality as a person sees it.
//!
//! Source: the definition of freezes in W3C's webrtc-stats. A freeze is an interval between frames
//! of at least three times the mean of the last 30 intervals, and of at least that mean plus 150
//! ms. As in `video_quality_observer2.cc` (libwebrtc 2025-06), the first five intervals are never
//! freezes.
//!
//! Differences: libwebrtc includes an interval in its own mean; this module uses the mean of the
//! intervals before it. A freeze at the end of the call counts, and so does a pause of more than 5
//! s.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::wire::Frame;
use crate::quantiles::Quantiles;

const INTERVALS: usize = 30;
const LEAST_INTERVALS: usize = 5;
const FACTOR: f64 = 3.0;
const LONGER_MS: f64 = 150.0;
const SECOND: u64 = 1_000_000_000;
const SLOW_FPS: [u64; 2] = [15, 24];

/// A frame on the screen.
#[derive(Clone, Copy, Debug)]
struct Rendered {
    at: Instant,
    frame: Frame,
}

/// The frames that were rendered, and the statistics on them.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    started: Instant,
    /// Frames that are decoded but not yet rendered.
    ahead: VecDeque<Rendered>,
    last: Option<Rendered>,
    frames: u64,
    intervals: VecDeque<f64>,
    freezes: u64,
    frozen: Duration,
    delays: Quantiles,
    line_seconds: f64,
    top_seconds: f64,
    shown_seconds: f64,
    top_lines: u32,
    /// The current second, counted from the start, and the number of its frames.
    second: u64,
    in_second: u64,
    slow: [u64; 2],
    recent: (Duration, u64),
}

impl Screen {
    /// Returns a screen for a stream that starts now, with pictures of up to `top_lines`.
    pub(crate) fn new(started: Instant, top_lines: u32) -> Self {
        Self {
            started,
            ahead: VecDeque::new(),
            last: None,
            frames: 0,
            intervals: VecDeque::with_capacity(INTERVALS + 1),
            freezes: 0,
            frozen: Duration::ZERO,
            delays: Quantiles::default(),
            line_seconds: 0.0,
            top_seconds: 0.0,
            shown_seconds: 0.0,
            top_lines,
            second: 0,
            in_second: 0,
            slow: [0; 2],
            recent: (Duration::ZERO, 0),
        }
    }

    /// Adds a frame that is rendered at `at`, or after the previous frame.
    pub(crate) fn add(&mut self, frame: Frame, at: Instant) {
        let before = self.ahead.back().or(self.last.as_ref()).map_or(Instant::ZERO, |one| one.at);
        self.ahead.push_back(Rendered { at: at.max(before), frame });
    }

    /// Renders the frames that are due.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(&next) = self.ahead.front().filter(|next| next.at <= now) {
            self.ahead.pop_front();
            self.render(next);
        }
        self.count_seconds(now);
    }

    /// Returns the mean delay in milliseconds of the frames rendered since the last call.
    pub(crate) fn take_recent_ms(&mut self) -> Option<f64> {
        let (sum, count) = std::mem::take(&mut self.recent);
        (count > 0).then(|| sum.as_secs_f64() * 1e3 / count as f64)
    }

    fn render(&mut self, next: Rendered) {
        self.count_seconds(next.at);
        self.in_second += 1;
        self.frames += 1;
        let delay = next.at.since(next.frame.captured);
        self.delays.add_ms(delay);
        self.recent = (self.recent.0 + delay, self.recent.1 + 1);
        if let Some(last) = self.last.replace(next) {
            let span = next.at.since(last.at);
            self.show(last.frame.lines, span);
            if self.is_freeze(span) {
                self.freezes += 1;
                self.frozen += span;
            }
            self.intervals.push_back(span.as_secs_f64() * 1e3);
            if self.intervals.len() > INTERVALS {
                self.intervals.pop_front();
            }
        }
    }

    fn show(&mut self, lines: u32, span: Duration) {
        let seconds = span.as_secs_f64();
        self.shown_seconds += seconds;
        self.line_seconds += f64::from(lines) * seconds;
        if lines == self.top_lines {
            self.top_seconds += seconds;
        }
    }

    fn is_freeze(&self, span: Duration) -> bool {
        let count = self.intervals.len();
        if count < LEAST_INTERVALS {
            return false;
        }
        let mean = self.intervals.iter().sum::<f64>() / count as f64;
        span.as_secs_f64() * 1e3 >= (FACTOR * mean).max(mean + LONGER_MS)
    }

    /// Counts the seconds that are over at `now`, except the first, in which the call begins.
    fn count_seconds(&mut self, now: Instant) {
        let second = now.since(self.started).as_nanos() / SECOND;
        if second <= self.second {
            return;
        }
        let empty = second - self.second - 1;
        for (slow, fps) in self.slow.iter_mut().zip(SLOW_FPS) {
            *slow += empty + u64::from(self.second > 0 && self.in_second < fps);
        }
        self.second = second;
        self.in_second = 0;
    }

    /// Returns the measures at the end of the call.
    pub(crate) fn measures(&self, end: Instant) -> Seen {
        let mut screen = self.clone();
        screen.advance(end);
        let span = end.since(self.started);
        let since = end.since(screen.last.map_or(self.started, |last| last.at));
        if screen.last.is_none() || screen.is_freeze(since) {
            screen.freezes += 1;
            screen.frozen += since;
        }
        if let Some(last) = screen.last {
            screen.show(last.frame.lines, since);
        }
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| 100.0 * part / whole);
        let seconds = screen.second.saturating_sub(1) as f64;
        let slow = screen.slow.map(|slow| share(slow as f64, seconds));
        Seen {
            fps: (span > Duration::ZERO).then(|| screen.frames as f64 / span.as_secs_f64()),
            slow_percent: slow,
            freezes_per_minute: (span > Duration::ZERO)
                .then(|| screen.freezes as f64 * 60.0 / span.as_secs_f64()),
            frozen_percent: share(screen.frozen.as_secs_f64(), span.as_secs_f64()),
            lines: (screen.shown_seconds > 0.0).then(|| screen.line_seconds / screen.shown_seconds),
            top_percent: share(screen.top_seconds, screen.shown_seconds),
            delays: screen.delays,
        }
    }
}

/// The picture quality that a person saw.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Rendered frames per second.
    pub(crate) fps: Option<f64>,
    /// The percentages of seconds with fewer than 15 frames and with fewer than 24 frames.
    pub(crate) slow_percent: [Option<f64>; 2],
    /// Freezes per minute.
    pub(crate) freezes_per_minute: Option<f64>,
    /// The percentage of the time in freezes.
    pub(crate) frozen_percent: Option<f64>,
    /// The mean height of the picture over time.
    pub(crate) lines: Option<f64>,
    /// The percentage of the time with the largest picture.
    pub(crate) top_percent: Option<f64>,
    /// The delays from capture to rendering, in milliseconds.
    pub(crate) delays: Quantiles,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::close;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn frame(lines: u32, captured: Instant) -> Frame {
        Frame { number: 0, captured, is_key: false, lines, bytes: 1, packets: 1 }
    }

    /// Returns a screen with 31 frames every `every` ms and one further frame after `gap` ms.
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

    /// Covers requirement C-105.
    #[test]
    fn at_30_frames_a_second_a_freeze_begins_at_183_ms() {
        freezes(33, 182, false);
        freezes(33, 184, true);
    }

    /// Covers requirement C-106.
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
        // None of the seconds 1 to 9 has a frame.
        assert_eq!(seen.slow_percent, [Some(100.0); 2]);
        let none = Screen::new(ms(0), 720).measures(ms(10_000));
        assert_eq!((none.frozen_percent, none.lines), (Some(100.0), None));
        assert_eq!(none.slow_percent, [Some(100.0); 2]);
        assert_eq!(Screen::new(ms(0), 720).measures(ms(0)).fps, None);
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
            let shares = [seen.frozen_percent, seen.top_percent].into_iter();
            for share in shares.chain(seen.slow_percent).flatten() {
                prop_assert!((0.0..=100.0 + 1e-9).contains(&share), "{share}");
            }
        }
    }
}
