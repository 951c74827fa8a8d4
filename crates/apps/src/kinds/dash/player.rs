//! The player's buffer, the playback, and its stalls.
//!
//! Source: dash.js 2.0.0, `BufferController`. With less than half a second buffered the state is
//! EMPTY and playback stops. With half a second or more the state is LOADED and playback continues.
//! After the last segment the player plays to the end.

use aqmlab_core::{Duration, Instant};

/// The buffer below which the state is EMPTY.
pub(crate) const STALL_THRESHOLD: Duration = Duration::from_millis(500);

/// A player's buffer and clock.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    level: Duration,
    /// The time at which `level` was computed.
    since: Instant,
    playing: bool,
    /// Whether the last segment has arrived.
    complete: bool,
    asked: Instant,
    began: Option<Instant>,
    stalls: u64,
    stalled: Duration,
    /// The start of the current stall, if playback has stalled.
    stalled_since: Option<Instant>,
    played: Duration,
}

impl Player {
    /// Returns a player with a playing time of `level` in its buffer. The player plays at once if
    /// `level` is at least [`STALL_THRESHOLD`].
    pub(crate) fn new(now: Instant, level: Duration) -> Self {
        let playing = level >= STALL_THRESHOLD;
        Self {
            level,
            since: now,
            playing,
            complete: false,
            asked: now,
            began: playing.then_some(now),
            stalls: 0,
            stalled: Duration::ZERO,
            stalled_since: None,
            played: Duration::ZERO,
        }
    }

    /// Advances playback to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        let elapsed = now.since(self.since);
        if self.playing {
            let floor = if self.complete { Duration::ZERO } else { STALL_THRESHOLD };
            let left = self.level.saturating_sub(floor);
            let played = elapsed.min(left);
            self.level = self.level.saturating_sub(played);
            self.played += played;
            if elapsed > left {
                self.playing = false;
                if !self.complete {
                    self.stalls += 1;
                    self.stalled_since = Some(self.since + left);
                }
            }
        }
        self.since = self.since.max(now);
    }

    /// Advances playback to `now`, and adds a segment. Playback starts or continues if the level is
    /// at least [`STALL_THRESHOLD`].
    pub(crate) fn append(&mut self, segment: Duration, now: Instant) {
        self.advance(now);
        self.level += segment;
        if !self.playing && self.level >= STALL_THRESHOLD {
            self.playing = true;
            self.began = self.began.or(Some(now));
            if let Some(since) = self.stalled_since.take() {
                self.stalled += now.since(since);
            }
        }
    }

    /// Advances playback to `now`, and records that the last segment has arrived.
    pub(crate) fn complete(&mut self, now: Instant) {
        self.advance(now);
        self.complete = true;
    }

    /// Returns the level of the buffer at the last [`Player::advance`].
    pub(crate) const fn level(&self) -> Duration {
        self.level
    }

    /// Returns whether the state is LOADED.
    pub(crate) const fn is_loaded(&self) -> bool {
        self.playing
    }

    /// Returns whether playback has ever started.
    pub(crate) const fn has_begun(&self) -> bool {
        self.began.is_some()
    }

    /// Returns the time from the start of the session to the first picture, once there is one.
    pub(crate) fn startup(&self) -> Option<Duration> {
        self.began.map(|began| began.since(self.asked))
    }

    /// Returns the time from the start of the session to the last advance.
    pub(crate) fn asked_ago(&self) -> Duration {
        self.since.since(self.asked)
    }

    /// Returns the number of stalls, and their total duration as of the last advance.
    pub(crate) fn stalls(&self) -> (u64, Duration) {
        let lasting = self.stalled_since.map_or(Duration::ZERO, |since| self.since.since(since));
        (self.stalls, self.stalled + lasting)
    }

    /// Returns the playing time played as of the last advance.
    pub(crate) const fn played(&self) -> Duration {
        self.played
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Duration = Duration::from_secs(2);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn playback_begins_with_the_first_segment_and_stalls_at_half_a_second() {
        let mut player = Player::new(at(1_000), Duration::ZERO);
        player.advance(at(3_000));
        assert!(!player.is_loaded() && player.stalls().0 == 0, "waiting to begin is no stall");
        player.append(TWO, at(4_000));
        assert_eq!(player.startup(), Some(Duration::from_secs(3)));
        player.advance(at(5_500));
        assert!(player.is_loaded(), "exactly half a second left is LOADED");
        player.advance(at(9_500));
        assert_eq!(player.level(), STALL_THRESHOLD);
        assert_eq!(player.stalls(), (1, Duration::from_secs(4)));
        player.append(TWO, at(10_500));
        assert_eq!(player.stalls(), (1, Duration::from_secs(5)));
        assert!(player.is_loaded());
        player.advance(at(11_500));
        assert_eq!(player.played(), Duration::from_millis(2_500));
    }

    #[test]
    fn the_end_is_played_out_and_is_no_stall() {
        let mut player = Player::new(at(0), Duration::ZERO);
        player.append(TWO, at(0));
        player.complete(at(1_000));
        player.advance(at(9_000));
        assert_eq!(player.played(), TWO);
        assert_eq!(player.stalls(), (0, Duration::ZERO));
    }
}
