//! The controller of probes, which decides when to probe and at which rate.
//!
//! Source: libwebrtc (2025-06) `probe_controller.cc`. The first probes are at 3 and 6 times the
//! start rate. Later probes are at twice each result that reaches 70 % of the probe's rate. After a
//! large drop, a sender limited by its application probes at 85 % of the former rate. A camera's
//! stream requests no periodic probes (`video_send_stream_impl.cc`). A shared screen's stream would
//! request them every 5 s.

use aqmlab_core::{Duration, Instant};

const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const ACHIEVED: f64 = 0.7;
const WAIT: Duration = Duration::from_secs(1);
const CEILING_BPS: f64 = 5e6;
/// The factor on the rate that the streams can use, which limits probes.
const BEYOND_ALLOCATED: f64 = 2.0;
const LARGE_DROP: f64 = 0.66;
const AFTER_DROP: f64 = 0.85;
const UNCERTAINTY: f64 = 0.05;
const DROP_LASTS: Duration = Duration::from_secs(5);
const DROP_PROBES_EVERY: Duration = Duration::from_secs(5);
const LIMITED_LASTS: Duration = Duration::from_secs(3);

/// A probe: a burst of packets at one rate, which tests whether the path has this rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cluster {
    /// The number of the probe.
    pub(crate) id: u32,
    /// The rate of the probe in bit/s.
    pub(crate) bps: f64,
}

impl Cluster {
    /// The minimum number of sends of a probe.
    pub(crate) const SENDS: u32 = 5;
    const SECONDS: f64 = 0.015;

    /// Returns the minimum number of bytes of the probe.
    pub(crate) fn bytes(self) -> f64 {
        self.bps * Self::SECONDS / 8.0
    }
}

/// A drop of the target to less than 66 % of its value.
#[derive(Clone, Copy, Debug)]
struct Drop {
    at: Instant,
    from_bps: f64,
}

/// The state of the probe controller.
#[derive(Debug)]
pub(crate) struct Probes {
    most_bps: f64,
    estimate_bps: f64,
    /// The rate in bit/s above which a probe's result leads to a further probe; `None` if no
    /// further probe may follow.
    further_bps: Option<f64>,
    may_probe: bool,
    initiated: Instant,
    drop: Option<Drop>,
    drop_probed: Option<Instant>,
    limited_until: Option<Instant>,
    next: u32,
    ready: Vec<Cluster>,
}

impl Probes {
    /// Returns a probe controller for streams that can use at most `allocated_bps`.
    pub(crate) fn new(start_bps: f64, allocated_bps: f64) -> Self {
        Self {
            most_bps: CEILING_BPS.min(BEYOND_ALLOCATED * allocated_bps),
            estimate_bps: start_bps,
            further_bps: None,
            may_probe: true,
            initiated: Instant::ZERO,
            drop: None,
            drop_probed: None,
            limited_until: None,
            next: 0,
            ready: Vec::new(),
        }
    }

    /// Chooses the first probes.
    pub(crate) fn start(&mut self, now: Instant) {
        let start = self.estimate_bps;
        self.initiate(&FIRST.map(|factor| factor * start), true, now);
    }

    /// Removes and returns the chosen probes.
    pub(crate) fn take(&mut self) -> Vec<Cluster> {
        std::mem::take(&mut self.ready)
    }

    /// Processes a new target, and chooses a further probe if the result of the last probe permits
    /// it. `may_probe` is false while the delay grows or shrinks, while round trips are too long,
    /// or while losses limit the target.
    pub(crate) fn estimated(&mut self, bps: f64, may_probe: bool, now: Instant) {
        self.may_probe = may_probe;
        if bps < LARGE_DROP * self.estimate_bps {
            self.drop = Some(Drop { at: now, from_bps: self.estimate_bps });
        }
        self.estimate_bps = bps;
        if self.further_bps.is_some_and(|least| bps > least) {
            self.initiate(&[FURTHER * bps], true, now);
        }
    }

    /// Permits no further probe if the result of the last probe has not arrived in time.
    pub(crate) fn process(&mut self, now: Instant) {
        if now.since(self.initiated) > WAIT {
            self.further_bps = None;
        }
    }

    /// Records that the application no longer limits the sender.
    pub(crate) fn limited_until(&mut self, now: Instant) {
        self.limited_until = Some(now);
    }

    /// Chooses a probe after the end of an over-use, if there was a large drop recently and the
    /// application limits the sender or recently did.
    pub(crate) fn recovered(&mut self, is_limited: bool, now: Instant) {
        let lately = self.limited_until.is_some_and(|at| now.since(at) < LIMITED_LASTS);
        let Some(drop) = self.drop else { return };
        let wanted = AFTER_DROP * drop.from_bps;
        let is_due = self.drop_probed.is_none_or(|at| now.since(at) > DROP_PROBES_EVERY);
        if (is_limited || lately)
            && self.further_bps.is_none()
            && (1.0 - UNCERTAINTY) * wanted > self.estimate_bps
            && now.since(drop.at) < DROP_LASTS
            && is_due
        {
            self.drop_probed = Some(now);
            self.initiate(&[wanted], false, now);
        }
    }

    fn initiate(&mut self, rates_bps: &[f64], further: bool, now: Instant) {
        if !self.may_probe {
            return;
        }
        let (mut further, mut last) = (further, 0.0);
        for &bps in rates_bps {
            further &= bps < self.most_bps;
            last = bps.min(self.most_bps);
            self.ready.push(Cluster { id: self.next, bps: last });
            self.next += 1;
        }
        self.initiated = now;
        self.further_bps = further.then_some(ACHIEVED * last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(probes: &mut Probes) -> Vec<f64> {
        probes.take().iter().map(|cluster| cluster.bps).collect()
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn the_first_probes_are_3_and_6_times_the_start_and_successes_double() {
        let mut probes = Probes::new(300e3, 3e6);
        probes.start(ms(0));
        assert_eq!(rates(&mut probes), [900e3, 1.8e6]);
        probes.estimated(900e3, true, ms(200));
        assert!(rates(&mut probes).is_empty(), "70 % of 1.8 Mbit/s are 1.26");
        probes.estimated(1.7e6, true, ms(300));
        assert_eq!(rates(&mut probes), [3.4e6]);
        probes.estimated(3.4e6, true, ms(400));
        assert_eq!(rates(&mut probes), [5e6], "at most 5 Mbit/s");
        probes.estimated(5e6, true, ms(500));
        assert!(rates(&mut probes).is_empty(), "that was the most");
    }

    #[test]
    fn late_results_and_congestion_end_the_probing() {
        let mut probes = Probes::new(300e3, 3e6);
        probes.start(ms(0));
        probes.take();
        probes.estimated(1.7e6, false, ms(300));
        assert!(rates(&mut probes).is_empty(), "the delay grows");
        probes.process(ms(1_001));
        probes.estimated(1.7e6, true, ms(1_002));
        assert!(rates(&mut probes).is_empty(), "after a second");
        let mut small = Probes::new(300e3, 400e3);
        small.start(ms(0));
        assert_eq!(rates(&mut small), [800e3, 800e3], "twice what the streams can use");
    }

    #[test]
    fn a_limited_sender_probes_once_after_a_large_drop() {
        for (limited, want) in [(true, vec![1.7e6]), (false, vec![])] {
            let mut probes = Probes::new(2e6, 3e6);
            probes.estimated(1e6, false, ms(10_000));
            probes.estimated(1e6, true, ms(11_000));
            probes.recovered(limited, ms(11_000));
            assert_eq!(rates(&mut probes), want);
            probes.recovered(limited, ms(12_000));
            assert!(rates(&mut probes).is_empty());
        }
        let mut probes = Probes::new(2e6, 3e6);
        probes.estimated(1e6, false, ms(10_000));
        probes.limited_until(ms(9_000));
        probes.estimated(1e6, true, ms(11_000));
        probes.recovered(false, ms(11_000));
        assert_eq!(rates(&mut probes), [1.7e6], "it was limited lately");
        let mut probes = Probes::new(2e6, 3e6);
        probes.estimated(1e6, false, ms(10_000));
        probes.recovered(true, ms(11_000));
        assert!(rates(&mut probes).is_empty(), "losses limit the target");
    }
}
