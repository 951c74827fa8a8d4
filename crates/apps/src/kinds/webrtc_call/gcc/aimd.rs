//! Rate control by additive increase and multiplicative decrease.
//!
//! Source: libwebrtc (2025-06) `aimd_rate_control.cc`, with the default settings.
//!
//! Difference: the rate is at most 30 Mbit/s, the ceiling in older versions of libwebrtc.

use aqmlab_core::{Duration, Instant, math};

use super::capacity::Capacity;
use super::trendline::Usage;

#[cfg(test)]
mod tests;

const DECREASE: f64 = 0.85;
const INCREASE: f64 = 1.08;
const LEAST_INCREASE_BPS: f64 = 1_000.0;
const LEAST_SLOPE_BPS: f64 = 4_000.0;
const DECREASE_MARGIN_BPS: f64 = 5_000.0;
const HEADROOM: f64 = 1.5;
const HEADROOM_BPS: f64 = 10_000.0;
const CEILING_BPS: f64 = 30e6;
const FIRST_RTT: Duration = Duration::from_millis(200);
/// The packet size for which the additive increase is computed.
const PACKET_BITS: f64 = 8.0 * 1_200.0;
/// The frame rate for which the additive increase is computed.
const FRAMES: f64 = 30.0;
/// The assumed time until the detector reports over-use.
const REACTION: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The rate and the state of the rate control.
#[derive(Debug)]
pub(crate) struct Aimd {
    bps: f64,
    floor_bps: f64,
    acked_bps: f64,
    capacity: Capacity,
    state: State,
    changed: Option<Instant>,
    rtt: Duration,
}

impl Aimd {
    /// Returns a control that starts at `start_bps` and never falls below `floor_bps`.
    pub(crate) fn new(start_bps: f64, floor_bps: f64) -> Self {
        Self {
            bps: start_bps.min(CEILING_BPS).max(floor_bps),
            floor_bps,
            acked_bps: start_bps,
            capacity: Capacity::default(),
            state: State::Hold,
            changed: None,
            rtt: FIRST_RTT,
        }
    }

    /// Returns the rate in bit/s.
    pub(crate) const fn bps(&self) -> f64 {
        self.bps
    }

    /// Sets the round-trip time.
    pub(crate) const fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Sets the rate in bit/s, within the floor and the ceiling, for example to the result of a
    /// probe.
    pub(crate) fn set(&mut self, bps: f64, now: Instant) {
        self.bps = self.bounded(bps);
        self.changed = Some(now);
    }

    /// Returns whether another decrease is due. It is due one round trip after the last change,
    /// where the round trip counts as at least 10 ms and at most 200 ms. It is due at once if the
    /// rate has not changed yet or if less than half of the rate arrives.
    pub(crate) fn may_decrease(&self, now: Instant, acked_bps: f64) -> bool {
        let pause = self.rtt.clamp(Duration::from_millis(10), Duration::from_millis(200));
        self.changed.is_none_or(|at| now.since(at) >= pause) || acked_bps < 0.5 * self.bps
    }

    /// Halves the rate if a decrease is due. Returns whether the rate was halved. The caller calls
    /// this function on over-use before any arrival rate is known.
    pub(crate) fn halve(&mut self, now: Instant) -> bool {
        let due = self.may_decrease(now, self.bps / 2.0);
        if due {
            self.set(self.bps / 2.0, now);
        }
        due
    }

    /// Adapts the rate to the state of the path and to the rate at which packets arrive. If
    /// `acked_bps` is `None`, the last known rate applies.
    pub(crate) fn update(&mut self, usage: Usage, acked_bps: Option<f64>, now: Instant) {
        self.acked_bps = acked_bps.unwrap_or(self.acked_bps);
        self.state = match usage {
            Usage::Normal if self.state == State::Hold => {
                self.changed = Some(now);
                State::Increase
            }
            Usage::Normal => self.state,
            Usage::Over => State::Decrease,
            Usage::Under => State::Hold,
        };
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(now),
            State::Decrease => self.decrease(now),
        }
    }

    fn increase(&mut self, now: Instant) {
        if self.capacity.is_below(self.acked_bps) {
            self.capacity.forget();
        }
        let limit = HEADROOM * self.acked_bps + HEADROOM_BPS;
        let span = now.since(self.changed.unwrap_or(now)).as_secs_f64();
        if self.bps < limit {
            let more = if self.capacity.bps().is_some() {
                self.slope_bps() * span
            } else {
                (self.bps * (math::pow(INCREASE, span.min(1.0)) - 1.0)).max(LEAST_INCREASE_BPS)
            };
            self.bps = self.bounded((self.bps + more).min(limit));
        }
        self.changed = Some(now);
    }

    fn decrease(&mut self, now: Instant) {
        let mut lower = DECREASE * self.acked_bps;
        if lower > DECREASE_MARGIN_BPS {
            lower -= DECREASE_MARGIN_BPS;
        }
        if lower > self.bps {
            lower = self.capacity.bps().map_or(lower, |bps| DECREASE * bps);
        }
        if lower < self.bps {
            self.bps = self.bounded(lower);
        }
        if self.capacity.is_above(self.acked_bps) {
            self.capacity.forget();
        }
        self.capacity.add(self.acked_bps);
        // The rate is held until the queues are empty.
        self.state = State::Hold;
        self.changed = Some(now);
    }

    /// Returns the additive increase in bit/s per second, at least [`LEAST_SLOPE_BPS`]. It is half
    /// a packet in each response time, which is the round-trip time plus [`REACTION`].
    fn slope_bps(&self) -> f64 {
        let frame = self.bps / FRAMES;
        let packet = frame / (frame / PACKET_BITS).ceil().max(1.0);
        let reaction = 2.0 * (self.rtt + REACTION).as_secs_f64();
        (packet / reaction).max(LEAST_SLOPE_BPS)
    }

    fn bounded(&self, bps: f64) -> f64 {
        bps.min(CEILING_BPS).max(self.floor_bps)
    }
}
