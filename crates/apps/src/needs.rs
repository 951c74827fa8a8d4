//! The needs of applications: the measured quantities, and the limits of good and tolerable values.
//!
//! Each kind states its needs in its own file, as `NEEDS`. The crate `verdict` compares measured
//! values with the limits. Several kinds cite the same recommendations:
//!
//! - ITU-T G.1010 (2001), Tables I.1 and I.2: preferred and acceptable delay and loss of voice,
//!   video and data. The delays of G.1010 are one-way.
//! - ITU-T G.114 (2003), §4: up to 150 ms one way, "most applications, both speech and non-speech,
//!   will experience essentially transparent interactivity"; 400 ms is the limit for planning.
//! - ITU-T G.107 (2015), Annex B: users are satisfied with an opinion score of 4.0; with 3.6, some
//!   are dissatisfied.
//!
//! If a source states a one-way delay, one-way delays are compared. Papers on games state
//! round-trip times, so round-trip times are compared for games.

use crate::requirements::Requirement;

/// The preferred and the longest acceptable time of bulk data in milliseconds (G.1010, Table I.2).
pub const BULK_MS: [f64; 2] = [15_000.0, 60_000.0];
/// The size in bytes of the largest transfer to which [`BULK_MS`] applies.
pub const BULK_BYTES: u64 = 10_000_000;

/// A measured quantity of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The worst of the application's own metrics with these names.
    Own(&'static [&'static str]),
    /// The 95th percentile of the one-way delay of the application's packets, in the worse
    /// direction.
    OneWayDelay,
    /// The 95th percentile of the application's round-trip times, in the worse direction.
    RoundTrip,
    /// The proportion of the application's packets that were lost, in the worse direction.
    Loss,
    /// The application's rate as a proportion of its fair share of the line.
    FairShare,
    /// The time of a transfer of at most 10 MB.
    TransferTime,
    /// The application's rate, in the slower direction.
    Rate,
}

/// One need of an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// A noun phrase for the measured quantity. Sentences put the number after it.
    pub name: &'static str,
    /// The measure that gives the value.
    pub measure: Measure,
    /// The unit of the value and the limits; empty for a score.
    pub unit: &'static str,
    /// The best possible value.
    pub best: f64,
    /// Whether larger values are better.
    pub more_is_better: bool,
    /// The limit of a good value.
    pub good: f64,
    /// The limit of a tolerable value.
    pub tolerable: f64,
    /// The name of the application's own metric, if any, that lowers the limits, such as the best
    /// picture that a video offers.
    pub at_most: Option<&'static str>,
    /// The effect that a person notices if the need is missed, as a clause.
    pub felt: &'static str,
    /// The origin of the limits.
    pub source: &'static str,
}

impl Need {
    /// Returns a need for a value of at most `good`; zero is the best value.
    pub const fn up_to(
        name: &'static str,
        measure: Measure,
        [good, tolerable]: [f64; 2],
        unit: &'static str,
    ) -> Self {
        Self {
            name,
            measure,
            unit,
            best: 0.0,
            more_is_better: false,
            good,
            tolerable,
            at_most: None,
            felt: "",
            source: "",
        }
    }

    /// Returns a need for a value of at least `good`; `best` is the best value.
    pub const fn from(
        name: &'static str,
        measure: Measure,
        [best, good, tolerable]: [f64; 3],
        unit: &'static str,
    ) -> Self {
        let need = Self::up_to(name, measure, [good, tolerable], unit);
        Self { best, more_is_better: true, ..need }
    }

    /// Returns this need with the effect that a person notices and the origin of the limits.
    #[must_use]
    pub const fn because(self, felt: &'static str, source: &'static str) -> Self {
        Self { felt, source, ..self }
    }
}

/// The needs of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The name of the kind.
    pub kind: &'static str,
    /// The needs of the kind, the most important first. The list is empty if none is known.
    pub needs: &'static [Need],
    /// The experience if all needs are met, as a clause.
    pub fine: &'static str,
    /// A peculiarity that a reader of a verdict must know; empty if there is none.
    pub note: &'static str,
    /// The requirement for the Quality of Outcome, if there is one for the kind.
    pub requirement: Option<&'static Requirement>,
}

impl Needs {
    /// Returns the needs of `kind`.
    pub const fn of(kind: &'static str, fine: &'static str, needs: &'static [Need]) -> Self {
        Self { kind, needs, fine, note: "", requirement: None }
    }

    /// Returns these needs with the requirement for the Quality of Outcome.
    #[must_use]
    pub const fn with(self, requirement: &'static Requirement) -> Self {
        Self { requirement: Some(requirement), ..self }
    }
}
