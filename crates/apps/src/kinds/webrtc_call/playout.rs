//! The de-jitter buffer of the picture: when a frame is rendered.
//!
//! A judgement: the capture time, plus the least delay of the last 5 s, plus the range of those
//! delays and 10 ms. libwebrtc estimates the range with a Kalman filter instead. That it falls by
//! 100 ms a second is libwebrtc's (2025-06, `timing.cc`).

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(5);
const MARGIN: Duration = Duration::from_millis(10);
/// The playout delay falls by a tenth of the time (`timing.cc`).
const DECREASE: u64 = 10;

/// The delay between capture and rendering.
#[derive(Debug, Default)]
pub(crate) struct Playout {
    /// Arrivals of the last 5 s and their delays.
    delays: VecDeque<(Instant, Duration)>,
    variation: Duration,
    last: Instant,
}

impl Playout {
    /// Processes a decoded frame; returns its time on the screen, which is not before `now`.
    pub(crate) fn time(&mut self, captured: Instant, now: Instant) -> Instant {
        let delay = now.since(captured);
        while self.delays.front().is_some_and(|&(at, _)| now.since(at) > WINDOW) {
            self.delays.pop_front();
        }
        self.delays.push_back((now, delay));
        let all = || self.delays.iter().map(|&(_, delay)| delay);
        let least = all().min().unwrap_or(delay);
        let most = all().max().unwrap_or(delay);
        let wanted = most.saturating_sub(least) + MARGIN;
        let fall = now.since(std::mem::replace(&mut self.last, now)) / DECREASE;
        self.variation = wanted.max(self.variation.saturating_sub(fall));
        now.max(captured + least + self.variation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn the_playout_delay_jumps_to_the_variation_and_falls_by_a_tenth_of_the_time() {
        let mut playout = Playout::default();
        let mut delay = |n: u64, late: u64| {
            let captured = ms(40 * n);
            playout.time(captured, captured + Duration::from_millis(late)).since(captured)
        };
        assert_eq!(delay(0, 20), Duration::from_millis(30), "10 ms of margin");
        assert_eq!(delay(1, 70), Duration::from_millis(80), "a variation of 50 ms");
        assert_eq!(delay(2, 20), Duration::from_millis(80));
        // The late frame leaves the window after 125 frames.
        assert_eq!(delay(124, 20), Duration::from_millis(80));
        let later: Vec<_> = (128..132).map(|n| delay(n, 20).as_millis()).collect();
        assert_eq!(later, [64, 60, 56, 52], "from 128 on, 160 ms after frame 124");
    }
}
