//! Rate control by additive increase and multiplicative decrease.
//!
//! Source: libwebrtc (2025-06) `aimd_rate_control.cc`, with the default settings.
//!
//! Difference: the rate is at most 30 Mbit/s, the ceiling in older versions of libwebrtc.

use aqmlab_core::{Duration, Instant, math};

use super::capacity::Capacity;
use super::trendline::Usage;

const DECREASE: f64 = 0.85;
const INCREASE: f64 = 1.08;
const LEAST_INCREASE_BPS: f64 = 1_000.0;
const LEAST_SLOPE_BPS: f64 = 4_000.0;
const DECREASE_MARGIN_BPS: f64 = 5_000.0;
const HEADROOM: f64 = 1.5;
const HEADROOM_BPS: f64 = 10_000.0;
const CEILING_BPS: f64 = 30e6;
const FIRST_RTT: Duration = Duration::from_millis(200);
/// The packet size for which the additive increase is computed; the next constant is the frame
/// rate.
const PACKET_BITS: f64 = 8.0 * 1_200.0;
const FRAMES: f64 = 30.0;
/// The time until the detector reacts.
const REACTION: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The rate control.
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

    /// Sets the rate, for example to the result of a probe.
    pub(crate) fn set(&mut self, bps: f64, now: Instant) {
        self.bps = self.bounded(bps);
        self.changed = Some(now);
    }

    /// Returns whether another decrease is due. It is due a round trip after the last change, or at
    /// once if less than half of the rate arrives.
    pub(crate) fn may_decrease(&self, now: Instant, acked_bps: f64) -> bool {
        let pause = self.rtt.clamp(Duration::from_millis(10), Duration::from_millis(200));
        self.changed.is_none_or(|at| now.since(at) >= pause) || acked_bps < 0.5 * self.bps
    }

    /// Halves the rate if a decrease is due on over-use before any arrival rate is known. Returns
    /// whether it did.
    pub(crate) fn halve(&mut self, now: Instant) -> bool {
        let due = self.may_decrease(now, self.bps / 2.0);
        if due {
            self.set(self.bps / 2.0, now);
        }
        due
    }

    /// Processes the state of the path and the rate at which packets arrive.
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

    /// Returns the additive increase in bit/s per second, which is half a packet per reaction time.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::close;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn usage() -> impl Strategy<Value = Usage> {
        prop_oneof![Just(Usage::Normal), Just(Usage::Over), Just(Usage::Under)]
    }

    /// Covers requirement C-97.
    #[test]
    fn over_use_decreases_to_85_percent_of_what_arrives_less_5_kbit() {
        let mut aimd = Aimd::new(2e6, 5e3);
        aimd.update(Usage::Over, Some(1e6), ms(0));
        close(aimd.bps(), 845_000.0, 1e-6);
    }

    /// Covers requirement C-97.
    #[test]
    fn near_the_capacity_the_rate_grows_by_half_a_packet_each_reaction() {
        let aimd = Aimd { rtt: Duration::from_millis(100), ..Aimd::new(1e6, 5e3) };
        // A frame of 4,167 B in 4 packets gives 8,333 bit per 0.4 s.
        close(aimd.slope_bps(), 1e6 / 30.0 / 4.0 / 0.4, 1e-6);
        close(aimd.slope_bps(), 20_833.3, 0.1);
        assert!(Aimd::new(20e3, 5e3).slope_bps() >= 4_000.0);
    }

    /// Covers requirement C-97.
    #[test]
    fn from_1_to_2_5_mbit_takes_11_9_seconds() {
        let mut aimd = Aimd::new(1e6, 5e3);
        let reached = (0..1_000).find(|n| {
            aimd.update(Usage::Normal, Some(2.5e6), ms(50 * n));
            aimd.bps() >= 2.5e6
        });
        // The expected time is ln 2.5 / ln 1.08 = 11.906 s.
        close(reached.unwrap() as f64 * 0.05, 11.906, 0.06);
    }

    /// Covers requirement C-98.
    #[test]
    fn without_a_queue_the_rate_climbs_by_8_percent_a_second_to_its_cap() {
        let mut aimd = Aimd::new(1e6, 5e3);
        aimd.update(Usage::Normal, Some(1e6), ms(0));
        let first = aimd.bps();
        for n in 1..=20 {
            aimd.update(Usage::Normal, Some(1e6), ms(50 * n));
        }
        close(aimd.bps() / first, 1.08, 1e-3);
        for n in 21..=600 {
            aimd.update(Usage::Normal, Some(1e6), ms(50 * n));
        }
        close(aimd.bps(), 1.5e6 + 10e3, 1e-6);
    }

    /// Covers requirement C-102.
    #[test]
    fn decreases_are_a_round_trip_apart_unless_half_of_the_rate_is_lost() {
        for (rtt, pause) in [(1, 10), (80, 80), (3_000, 200)] {
            let mut aimd = Aimd::new(1e6, 5e3);
            aimd.set_rtt(Duration::from_millis(rtt));
            aimd.set(1e6, ms(1_000));
            assert!(!aimd.may_decrease(ms(1_000 + pause - 1), 9e5), "{rtt} ms");
            assert!(aimd.may_decrease(ms(1_000 + pause), 9e5), "{rtt} ms");
            assert!(aimd.may_decrease(ms(1_001), 4.9e5), "less than half arrives");
        }
    }

    #[test]
    fn without_a_measured_rate_it_halves_every_200_ms() {
        let mut aimd = Aimd::new(1e6, 5e3);
        let halved = (0..=600).step_by(50).filter(|&n| aimd.halve(ms(n))).count();
        assert_eq!(halved, 4, "at 0, 200, 400 and 600 ms");
        close(aimd.bps(), 62_500.0, 1e-6);
    }

    proptest! {
        /// Covers requirement C-99.
        #[test]
        fn an_increase_never_exceeds_half_again_of_what_arrives(
            acked in prop::collection::vec((1e3..20e6_f64, usage()), 1..200),
        ) {
            let mut aimd = Aimd::new(300e3, 5e3);
            for (n, (acked, usage)) in acked.into_iter().enumerate() {
                let before = aimd.bps();
                aimd.update(usage, Some(acked), ms(50 * n as u64));
                let cap = (1.5 * acked + 10e3).max(before).max(5e3);
                prop_assert!(aimd.bps() <= cap + 1e-6, "{} over {cap}", aimd.bps());
                prop_assert!(usage == Usage::Normal || aimd.bps() <= before);
                prop_assert!((5e3..=30e6).contains(&aimd.bps()));
            }
        }
    }
}
