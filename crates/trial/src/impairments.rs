//! The impairments of packets after the last link of a route: random loss and jitter.
//!
//! `crates/sim/src/route.rs` and the agent's `userspace_qdisc/delay_line.rs` apply them.

use aqmlab_core::hint::rare;
use aqmlab_core::{Direction, Duration, Rng};

use crate::spec::Spec;
use crate::streams::Stream;

/// The random loss and jitter of an application's packets in one direction.
///
/// Each impairment has a random stream of its own, so it does not depend on other applications.
#[derive(Clone, Debug)]
pub struct Impairments {
    loss: f64,
    loss_rng: Rng,
    jitter: Duration,
    jitter_rng: Rng,
}

impl Impairments {
    /// Returns the impairments for packets of application number `app` in `direction`. The jitter
    /// includes the hosts' jitter.
    ///
    /// # Panics
    ///
    /// If the trial has no such application.
    pub fn new(spec: &Spec, app: usize, direction: Direction) -> Self {
        let app = &spec.apps[app];
        let route = app.route(direction);
        let rng = |name| Stream::Impairment(name, &app.name, direction).rng(spec.seed);
        Self {
            loss: route.loss,
            loss_rng: rng("loss"),
            jitter: route.jitter_with(spec.host_jitter),
            jitter_rng: rng("jitter"),
        }
    }

    /// Returns whether there is neither loss nor jitter.
    pub fn is_none(&self) -> bool {
        self.loss <= 0.0 && self.jitter == Duration::ZERO
    }

    /// Draws the extra delay of a packet; `None` if the packet is lost.
    #[inline]
    pub fn draw(&mut self) -> Option<Duration> {
        if self.loss > 0.0 && self.loss_rng.unit() < self.loss {
            rare();
            return None;
        }
        if self.jitter == Duration::ZERO {
            return Some(Duration::ZERO);
        }
        Some(Duration::from_nanos(self.jitter_rng.below(self.jitter.as_nanos() + 1)))
    }
}
