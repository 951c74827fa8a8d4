//! The de-jitter buffer of the picture, which determines when a frame is rendered.
//!
//! Source: libwebrtc (2025-06) `timing.cc` and `video_stream_buffer_controller.cc`. A frame is
//! rendered at the time at which it is expected, plus the playout delay. The expected time is the
//! arrival time of an average frame (`timestamp_extrapolator`). The target of the playout delay is
//! the variation of the delays (`jitter`), plus 10 ms for the renderer. A late frame raises the
//! playout delay, at most to this target.
//!
//! Differences: decoding takes no time. A frame changes the playout delay when the frame can be
//! decoded. In libwebrtc a frame changes the delay when the frame has been decoded.

use aqmlab_core::{Duration, Instant};

use self::jitter::Jitter;
use self::timestamp_extrapolator::TimestampExtrapolator;
use super::frames::Decoded;
use super::nack::FIRST_RTT;

mod jitter;
mod kalman;
mod timestamp_extrapolator;

/// The time that the renderer takes for a frame.
const RENDERER: Duration = Duration::from_millis(10);
/// The longest playout delay, and the longest time between a frame's rendering time and the present
/// before the buffer restarts.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns the time from `from` to `to` in milliseconds. It is negative if `to` is earlier.
fn signed_ms(from: Instant, to: Instant) -> f64 {
    (i128::from(to.as_nanos()) - i128::from(from.as_nanos())) as f64 / 1e6
}

/// The playout delay, and the estimators that determine it.
#[derive(Debug)]
pub(crate) struct VcmTiming {
    extrapolator: TimestampExtrapolator,
    jitter: Jitter,
    delay: Duration,
    /// The capture time and the arrival time of the last frame without repair, if there was one.
    last: Option<(Instant, Instant)>,
}

impl VcmTiming {
    /// Returns a buffer for a stream that begins at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            extrapolator: TimestampExtrapolator::new(now),
            jitter: Jitter::default(),
            delay: Duration::ZERO,
            last: None,
        }
    }

    /// Processes a decoded frame. Returns the time at which it is rendered, which is not before
    /// `now`.
    pub(crate) fn time(
        &mut self,
        decoded: &Decoded,
        rtt: Option<Duration>,
        now: Instant,
    ) -> Instant {
        let captured = decoded.frame.captured;
        if !decoded.is_repaired {
            self.extrapolator.update(captured, decoded.completed);
        }
        let at = self.render_time(captured, now);
        let is_absurd = at.since(now).max(now.since(at)) > LONGEST;
        let at = if is_absurd { self.reset(decoded, now) } else { at };
        if decoded.is_repaired {
            self.jitter.repaired(now);
        } else {
            self.learn(decoded, rtt.unwrap_or(FIRST_RTT), at, now);
        }
        at.max(now)
    }

    fn render_time(&self, captured: Instant, now: Instant) -> Instant {
        self.extrapolator.expected(captured).map_or(now, |at| at + self.delay.min(LONGEST))
    }

    fn reset(&mut self, decoded: &Decoded, now: Instant) -> Instant {
        *self = Self { last: self.last, ..Self::new(now) };
        self.render_time(decoded.frame.captured, now)
    }

    /// Adapts the delay to a frame whose rendering time was `at`.
    fn learn(&mut self, decoded: &Decoded, rtt: Duration, at: Instant, now: Instant) {
        let (captured, completed) = (decoded.frame.captured, decoded.completed);
        let change_ms = self.last.replace((captured, completed)).map_or(0.0, |(sent, arrived)| {
            signed_ms(arrived, completed) - signed_ms(sent, captured)
        });
        self.jitter.update(change_ms, decoded.frame.bytes, now);
        let jitter = Duration::from_secs_f64(self.jitter.ms(rtt, now) / 1e3);
        if self.delay == Duration::ZERO {
            self.delay = jitter;
        }
        let target = jitter + RENDERER;
        // A frame that has arrived is decoded 10 ms before its rendering time.
        let decoded_at =
            now.max(Instant::from_nanos(at.as_nanos().saturating_sub(RENDERER.as_nanos())));
        let late = (decoded_at + RENDERER).since(at);
        self.delay = target.min(self.delay + late);
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Frame;
    use super::*;
    use crate::testing::close;

    const RTT: Option<Duration> = Some(Duration::from_millis(50));

    /// Returns the delay at which frame `n` is rendered, in milliseconds. Frames are sent every 33
    /// ms, and the last packet takes `took` ms.
    fn delay(timing: &mut VcmTiming, n: u64, took: u64, is_repaired: bool) -> f64 {
        let captured = Instant::from_millis(33 * n);
        let frame =
            Frame { number: n, captured, is_key: false, lines: 360, bytes: 4_000, packets: 4 };
        let completed = captured + Duration::from_millis(took);
        let decoded = Decoded { frame, next: 0, completed, is_repaired };
        timing.time(&decoded, RTT, completed).since(captured).as_secs_f64() * 1e3
    }

    /// Tests the playout delay without variation: an estimate of 1 ms, 10 ms for the system and 10
    /// ms for the renderer.
    #[test]
    fn a_constant_delay_adds_21_ms() {
        let mut timing = VcmTiming::new(Instant::ZERO);
        let last = (0..300).map(|n| delay(&mut timing, n, 40, false)).last().unwrap();
        close(last, 61.0, 0.5);
    }

    #[test]
    fn a_late_frame_raises_the_delay_as_far_as_the_variation_does() {
        let mut timing = VcmTiming::new(Instant::ZERO);
        for n in 0..300 {
            delay(&mut timing, n, 40 + 30 * u64::from(n % 3 == 0), false);
        }
        // The average frame takes 50 ms, and the late frames take 70 ms.
        let calm = delay(&mut timing, 301, 40, false);
        assert!((70.0..120.0).contains(&calm), "{calm}");
        close(delay(&mut timing, 302, 400, false), 400.0, 0.5);
        let after = delay(&mut timing, 303, 367, false);
        close(after, 367.0, 0.5);
        let later: Vec<_> = (304..400).map(|n| delay(&mut timing, n, 40, false)).collect();
        assert!(later.iter().all(|&ms| ms > calm && ms < 400.0), "{later:?}");
        assert!(later[95] < later[0], "{later:?}");
    }

    #[test]
    fn repaired_frames_do_not_count_but_three_of_them_add_most_of_a_round_trip() {
        let mut timing = VcmTiming::new(Instant::ZERO);
        for n in 0..300 {
            delay(&mut timing, n, 40, false);
        }
        for n in 300..303 {
            close(delay(&mut timing, n, 100, true), 100.0, 0.5);
        }
        // The delay rises with the next late frame.
        delay(&mut timing, 303, 140, false);
        let with_repairs = delay(&mut timing, 304, 40, false);
        assert!((61.0 + 40.0..61.0 + 65.0).contains(&with_repairs), "{with_repairs}");
    }

    #[test]
    fn a_pause_of_minutes_begins_anew() {
        let mut timing = VcmTiming::new(Instant::ZERO);
        for n in 0..300 {
            delay(&mut timing, n, 40, false);
        }
        let late = delay(&mut timing, 300, 60_000, true);
        close(late, 60_000.0, 1.0);
        let next = delay(&mut timing, 3_000, 40, false);
        assert!(next < 100.0, "{next}");
    }
}
