//! Requirements for the Quality of Outcome of applications.
//!
//! Source: draft-ietf-ippm-qoo (712cf4a of 2026-05-19), "Describing Network Performance
//! Requirements". A requirement is a set of limits on delay percentiles and on the loss. Each limit
//! has two values. Up to the first value, the performance of an application is optimal. From the
//! second value on, the performance is unacceptable. A requirement may also state the lowest rate.
//! The draft defines no requirements for applications. Each set below therefore states its own
//! source. The sets named `aqmlab-…` are this project's judgement.

/// The percentiles of delay that a requirement may limit. They are the percentiles that the draft
/// recommends for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the name states the percentile
pub enum Percentile {
    Min,
    P10,
    P25,
    P50,
    P75,
    P90,
    P95,
    P99,
    P99_9,
    Max,
}

impl Percentile {
    /// All percentiles, in order.
    pub const ALL: [Self; 10] = [
        Self::Min,
        Self::P10,
        Self::P25,
        Self::P50,
        Self::P75,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99_9,
        Self::Max,
    ];

    /// Returns the part of a column's name that stands for the percentile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::P10 => "p10",
            Self::P25 => "p25",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99_9",
            Self::Max => "max",
        }
    }

    /// Returns the percentile called `name`, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The value up to which the performance is optimal, and the value from which it is unacceptable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The requirement for optimal performance (ROP).
    pub optimal: f64,
    /// The condition at the point of unacceptable performance (CPUP).
    pub unacceptable: f64,
}

/// A published or chosen requirement. Its delays are round-trip times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// The name of the set.
    pub name: &'static str,
    /// The limits of delay percentiles, in milliseconds.
    pub latency_ms: &'static [(Percentile, Range)],
    /// The loss in per cent, if the set limits it.
    pub loss_percent: Option<Range>,
    /// The lowest rate in Mbit/s, if the set states one.
    pub rate_mbit: Option<f64>,
    /// The origin of the numbers.
    pub source: &'static str,
}

/// All sets, in the order in which documents list them.
pub const ALL: [&Requirement; 5] = [&DRAFT_EXAMPLE, &GORESPONSIVENESS_GAMING, &CALL, &GAME, &WEB];

/// Returns the set called `name`, if there is one.
pub fn named(name: &str) -> Option<&'static Requirement> {
    ALL.into_iter().find(|one| one.name == name)
}

const fn to(optimal: f64, unacceptable: f64) -> Range {
    Range { optimal, unacceptable }
}

const GAMING_MS: &[(Percentile, Range)] = &[
    (Percentile::P50, to(30.0, 150.0)),
    (Percentile::P95, to(65.0, 200.0)),
    (Percentile::P99, to(100.0, 250.0)),
];

const JUDGEMENT: &str = "judgement, from the limits of the kind's needs";

/// The example of draft-ietf-ippm-qoo.
pub const DRAFT_EXAMPLE: Requirement = Requirement {
    name: "draft-example",
    latency_ms: &[(Percentile::P99, to(200.0, 500.0)), (Percentile::P99_9, to(300.0, 600.0))],
    loss_percent: Some(to(1.0, 5.0)),
    rate_mbit: Some(4.0),
    source: "draft-ietf-ippm-qoo of 2026-05-19, Example; its delays are taken as round trips",
};

/// The limits by which goresponsiveness rates games. They include neither the loss nor the rate.
pub const GORESPONSIVENESS_GAMING: Requirement = Requirement {
    name: "goresponsiveness-gaming",
    latency_ms: GAMING_MS,
    loss_percent: None,
    rate_mbit: None,
    source: "goresponsiveness 3439542, GetGamingQoO",
};

/// This project's requirement for calls.
pub const CALL: Requirement = Requirement {
    name: "aqmlab-call",
    latency_ms: &[(Percentile::P95, to(150.0, 400.0)), (Percentile::P99, to(250.0, 600.0))],
    loss_percent: Some(to(1.0, 5.0)),
    rate_mbit: Some(0.1),
    source: JUDGEMENT,
};

/// This project's requirement for games, with the delays of goresponsiveness.
pub const GAME: Requirement = Requirement {
    name: "aqmlab-game",
    latency_ms: GAMING_MS,
    loss_percent: Some(to(0.5, 3.0)),
    rate_mbit: Some(0.1),
    source: "goresponsiveness 3439542, GetGamingQoO; loss and rate by judgement",
};

/// This project's requirement for web pages.
pub const WEB: Requirement = Requirement {
    name: "aqmlab-web",
    latency_ms: &[(Percentile::P90, to(100.0, 1_000.0))],
    loss_percent: Some(to(1.0, 5.0)),
    rate_mbit: Some(1.0),
    source: JUDGEMENT,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_its_own_name_a_source_and_ranges_in_order() {
        for one in ALL {
            assert_eq!(named(one.name), Some(one));
            assert!(!one.source.is_empty(), "{}", one.name);
            let latency = one.latency_ms.iter().map(|(_, range)| range);
            for range in latency.chain(&one.loss_percent) {
                assert!(0.0 <= range.optimal, "{}: {range:?}", one.name);
                assert!(range.optimal < range.unacceptable, "{}: {range:?}", one.name);
            }
        }
        assert_eq!(named("aqmlab"), None);
    }

    #[test]
    fn percentiles_are_known_by_their_names() {
        for one in Percentile::ALL {
            assert_eq!(Percentile::named(one.name()), Some(one));
        }
        assert_eq!(Percentile::named("p1"), None);
    }
}
