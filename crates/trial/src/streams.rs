//! The random streams of a trial, by name.
//!
//! The simulator and the kernel engine draw from these streams. Trials with the same seed therefore
//! draw the same numbers for the same consumer on both engines.

use aqmlab_core::{Direction, Rng};

/// The consumer of a random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream<'a> {
    /// The draws of an application itself.
    App(&'a str),
    /// The jitter of an application's start.
    Start(&'a str),
    /// The discipline of a link.
    Qdisc(&'a str),
    /// The phase of the timers of a link's discipline.
    Phase(&'a str),
    /// The radio of a link.
    Wifi(&'a str),
    /// An impairment of an application's packets in one direction, by its name, such as `loss`.
    Impairment(&'static str, &'a str, Direction),
}

impl Stream<'_> {
    /// Returns the stream's generator in the trial with the seed `seed`.
    pub fn rng(self, seed: u64) -> Rng {
        let name = match self {
            Self::App(app) => format!("app.{app}"),
            Self::Start(app) => format!("start.{app}"),
            Self::Qdisc(link) => format!("qdisc.{link}"),
            Self::Phase(link) => format!("phase.{link}"),
            Self::Wifi(link) => format!("wifi.{link}"),
            Self::Impairment(name, app, direction) => format!("{name}.{app}.{}", direction.name()),
        };
        Rng::stream(seed, &name)
    }
}
