//! The receiver's screen: the picture quality as a person sees it.
//!
//! Source: the definition of freezes in W3C's webrtc-stats. A freeze is an interval between frames
//! that meets two conditions. It is at least three times the mean of the last 30 intervals, and at
//! least this mean plus 150 ms. As in `video_quality_observer2.cc` (libwebrtc 2025-06), the first
//! five intervals are never freezes.
//!
//! Differences: to find a freeze, libwebrtc compares the interval between two frames with a mean
//! that includes this interval; this module compares it with the mean of the earlier intervals. A
//! freeze at the end of the call and a pause of more than 5 s count too, and a call without a
//! picture is one freeze.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::wire::Frame;
use crate::quantiles::Quantiles;

#[cfg(test)]
mod tests;

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
    longest_freeze: Duration,
    delays: Quantiles,
    /// The sum over time of the lines shown, in line nanoseconds. With integers, the mean of equal
    /// heights is exactly this height, so that it reaches a limit of this height.
    line_ns: u128,
    /// The time with the largest picture.
    top: Duration,
    /// The time with any picture.
    shown: Duration,
    top_lines: u32,
    /// The current second, counted from the start.
    second: u64,
    /// The number of frames in the current second.
    in_second: u64,
    slow: [u64; 2],
    recent: (Duration, u64),
}

impl Screen {
    /// Returns a screen for a stream that starts at `started`, with pictures of up to `top_lines`.
    pub(crate) fn new(started: Instant, top_lines: u32) -> Self {
        Self {
            started,
            ahead: VecDeque::new(),
            last: None,
            frames: 0,
            intervals: VecDeque::with_capacity(INTERVALS + 1),
            freezes: 0,
            frozen: Duration::ZERO,
            longest_freeze: Duration::ZERO,
            delays: Quantiles::default(),
            line_ns: 0,
            top: Duration::ZERO,
            shown: Duration::ZERO,
            top_lines,
            second: 0,
            in_second: 0,
            slow: [0; 2],
            recent: (Duration::ZERO, 0),
        }
    }

    /// Adds a frame that is rendered at `at`, or with the previous frame if that is later.
    pub(crate) fn add(&mut self, frame: Frame, at: Instant) {
        let before = self.ahead.back().or(self.last.as_ref()).map_or(Instant::ZERO, |one| one.at);
        self.ahead.push_back(Rendered { at: at.max(before), frame });
    }

    /// Renders the frames that are due, and counts the slow seconds that are over.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(&next) = self.ahead.front().filter(|next| next.at <= now) {
            self.ahead.pop_front();
            self.render(next);
        }
        self.count_seconds(now);
    }

    /// Returns the mean delay in milliseconds of the frames, if any, rendered since this method was
    /// last called.
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
                self.count_freeze(span);
            }
            self.intervals.push_back(span.as_secs_f64() * 1e3);
            if self.intervals.len() > INTERVALS {
                self.intervals.pop_front();
            }
        }
    }

    fn show(&mut self, lines: u32, span: Duration) {
        self.shown += span;
        self.line_ns += u128::from(lines) * u128::from(span.as_nanos());
        if lines == self.top_lines {
            self.top += span;
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

    fn count_freeze(&mut self, span: Duration) {
        self.freezes += 1;
        self.frozen += span;
        self.longest_freeze = self.longest_freeze.max(span);
    }

    /// Counts the slow seconds that are over at `now`, except the first second, in which the call
    /// begins.
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

    /// Returns the picture's quality at the end of the call.
    pub(crate) fn measures(&self, end: Instant) -> Seen {
        let mut screen = self.clone();
        screen.advance(end);
        let span = end.since(self.started);
        let since = end.since(screen.last.map_or(self.started, |last| last.at));
        if screen.last.is_none() || screen.is_freeze(since) {
            screen.count_freeze(since);
        }
        if let Some(last) = screen.last {
            screen.show(last.frame.lines, since);
        }
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| 100.0 * part / whole);
        let seconds = screen.second.saturating_sub(1) as f64;
        let slow = screen.slow.map(|slow| share(slow as f64, seconds));
        let further = screen.frozen.saturating_sub(screen.longest_freeze);
        Seen {
            fps: (span > Duration::ZERO).then(|| screen.frames as f64 / span.as_secs_f64()),
            slow_percent: slow,
            freezes_per_minute: (span > Duration::ZERO)
                .then(|| screen.freezes as f64 * 60.0 / span.as_secs_f64()),
            frozen_percent: share(screen.frozen.as_secs_f64(), span.as_secs_f64()),
            longest_freeze_ms: screen.longest_freeze.as_secs_f64() * 1e3,
            further_freezes_percent: share(further.as_secs_f64(), span.as_secs_f64()),
            lines: (screen.shown > Duration::ZERO)
                .then(|| screen.line_ns as f64 / screen.shown.as_nanos() as f64),
            top_percent: share(screen.top.as_secs_f64(), screen.shown.as_secs_f64()),
            delays: screen.delays,
        }
    }
}

/// The picture quality that a person saw. Values are `None` without time, or without a picture.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The number of frames rendered per second.
    pub(crate) fps: Option<f64>,
    /// The percentages of whole seconds after the first with fewer than 15 frames and with fewer
    /// than 24 frames.
    pub(crate) slow_percent: [Option<f64>; 2],
    /// The number of freezes per minute.
    pub(crate) freezes_per_minute: Option<f64>,
    /// The percentage of the time in freezes.
    pub(crate) frozen_percent: Option<f64>,
    /// The length of the longest freeze in milliseconds.
    pub(crate) longest_freeze_ms: f64,
    /// The percentage of the time in all freezes but the longest.
    pub(crate) further_freezes_percent: Option<f64>,
    /// The mean height of the picture over time.
    pub(crate) lines: Option<f64>,
    /// The percentage of the time with a picture in which the picture is the largest.
    pub(crate) top_percent: Option<f64>,
    /// The delays from capture to rendering, in milliseconds.
    pub(crate) delays: Quantiles,
}
