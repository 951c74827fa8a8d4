//! The de-jitter buffer of the picture, which determines when a frame is rendered.
//!
//! The playout time is a judgement: the capture time, plus the minimum delay of the last 5 s, plus
//! the range of those delays. libwebrtc estimates the range with a Kalman filter. The other rules
//! are those of libwebrtc (2025-06, `jitter_estimator.cc`, `video_stream_buffer_controller.cc`,
//! `timing.cc`). They add 10 ms. The delay of a frame is that of its last packet, and a repaired
//! frame does not count. After three repairs within a minute, 0.9 round trips are added, at most
//! 200 ms. The delay falls by at most 100 ms per second.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::frames::Decoded;
use super::nack::FIRST_RTT;

const WINDOW: Duration = Duration::from_secs(5);
const MARGIN: Duration = Duration::from_millis(10);
/// The divisor of the time by which the playout delay may fall: 1/10.
const DECREASE: u64 = 10;
const REPAIRS: u32 = 3;
const REPAIRS_LAST: Duration = Duration::from_secs(60);
const LONGEST_FOR_REPAIRS: Duration = Duration::from_millis(200);

/// The delay between capture and rendering.
#[derive(Debug, Default)]
pub(crate) struct Playout {
    /// The frames of the last 5 s and their delays.
    delays: VecDeque<(Instant, Duration)>,
    least: Duration,
    variation: Duration,
    last: Instant,
    repairs: u32,
    last_repair: Instant,
}

impl Playout {
    /// Processes a decoded frame. Returns the time at which it is rendered, which is not before
    /// `now`.
    pub(crate) fn time(
        &mut self,
        decoded: &Decoded,
        rtt: Option<Duration>,
        now: Instant,
    ) -> Instant {
        let captured = decoded.frame.captured;
        if decoded.is_repaired {
            self.repairs = REPAIRS.min(self.repairs + 1);
            self.last_repair = now;
        } else {
            self.delays.push_back((now, decoded.completed.since(captured)));
        }
        while self.delays.front().is_some_and(|&(at, _)| now.since(at) > WINDOW) {
            self.delays.pop_front();
        }
        let all = || self.delays.iter().map(|&(_, delay)| delay);
        self.least = all().min().unwrap_or(self.least);
        let range = all().max().unwrap_or(self.least).saturating_sub(self.least);
        let wanted = range + MARGIN + self.for_repairs(rtt, now);
        let fall = now.since(std::mem::replace(&mut self.last, now)) / DECREASE;
        self.variation = wanted.max(self.variation.saturating_sub(fall));
        now.max(captured + self.least + self.variation)
    }

    /// Returns the time for which the receiver waits for repairs.
    fn for_repairs(&mut self, rtt: Option<Duration>, now: Instant) -> Duration {
        if now.since(self.last_repair) > REPAIRS_LAST {
            self.repairs = 0;
        }
        if self.repairs < REPAIRS {
            return Duration::ZERO;
        }
        LONGEST_FOR_REPAIRS.min(rtt.unwrap_or(FIRST_RTT) * 9 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Frame;
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(50));

    /// Returns the delay at which frame `n` is rendered. Frames are sent every 40 ms, and the last
    /// packet takes `took` ms.
    fn delay(playout: &mut Playout, n: u64, took: u64, is_repaired: bool) -> u64 {
        let captured = Instant::from_millis(40 * n);
        let frame = Frame { number: n, captured, is_key: false, lines: 360, bytes: 1, packets: 1 };
        let completed = captured + Duration::from_millis(took);
        let decoded = Decoded { frame, next: 0, completed, is_repaired };
        playout.time(&decoded, RTT, completed).since(captured).as_millis()
    }

    #[test]
    fn the_playout_delay_jumps_to_the_range_and_falls_by_a_tenth_of_the_time() {
        let mut playout = Playout::default();
        let mut delay = |n, took| delay(&mut playout, n, took, false);
        assert_eq!(delay(0, 20), 30, "10 ms of margin");
        assert_eq!(delay(1, 70), 80, "a range of 50 ms");
        assert_eq!(delay(2, 20), 80);
        // The late frame leaves the window after 125 frames.
        assert_eq!(delay(124, 20), 80);
        let later: Vec<_> = (128..132).map(|n| delay(n, 20)).collect();
        assert_eq!(later, [64, 60, 56, 52], "from 128 on, 160 ms after frame 124");
    }

    #[test]
    fn repaired_frames_do_not_count_but_three_of_them_add_most_of_a_round_trip() {
        let mut playout = Playout::default();
        let mut delay = |n, took, repaired| delay(&mut playout, n, took, repaired);
        assert_eq!(delay(0, 20, false), 30);
        assert_eq!(delay(1, 120, true), 120, "late");
        assert_eq!(delay(2, 90, true), 90);
        assert_eq!(delay(3, 20, false), 30);
        assert_eq!(delay(4, 70, true), 75, "0.9 round trips of 50 ms");
        assert_eq!(delay(5, 20, false), 75);
        assert_eq!(delay(1_500, 20, false), 75, "within a minute");
        assert_eq!(delay(3_100, 20, false), 30);
    }
}
