//! The Quality of Outcome: the measurements of an application on the scale of its requirement.
//!
//! Source: draft-ietf-ippm-qoo (712cf4a of 2026-05-19), `Calculating QoO`. A part of the score is
//! 100 up to the optimal value and 0 from the unacceptable value, and linear in between. The rate
//! has only the scores 100 and 0. The score is that of the worst part.
//!
//! Differences: the score is a number beside the verdict and never decides a verdict. The draft's
//! throughput is the capacity of the network. An application that uses all available capacity is
//! measured by its own rate. Any other application sends less than it could, so its fair share of
//! the line counts if the share exceeds its own rate. The loss of a round trip is the probability
//! that a packet is lost in either of the directions that carry data. The score is unknown if a
//! part was not measured and no other part has the score 0.

use aqmlab_apps::requirements::{Percentile, Range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::requirement::{Applied, Path};
use crate::statistics::{self, BySeed, Estimate, median};
use crate::wording::quantity;

/// The measurements that the parts of a requirement limit. A value that was not measured is `None`.
pub(crate) trait Source {
    /// Returns a percentile of the delays in milliseconds, from the worst direction of `path`.
    fn latency_ms(&self, path: Path, percentile: Percentile) -> Option<f64>;
    /// Returns the loss in per cent over the directions of `path`.
    fn loss_percent(&self, path: Path) -> Option<f64>;
    /// Returns the rate that was available in the worst direction of `path`, in Mbit/s.
    fn rate_mbit(&self, path: Path) -> Option<f64>;
}

/// One part of a requirement, with its measured value.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    group: Group,
    name: String,
    unit: &'static str,
    range: Range,
    value: Option<f64>,
}

/// A component of the score. The component for latency has a part for each percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Latency,
    Loss,
    Rate,
}

impl Part {
    fn percent(&self) -> Option<f64> {
        let value = self.value?;
        Some(match self.group {
            Group::Rate => 100.0 * f64::from(u8::from(value >= self.range.optimal)),
            Group::Latency | Group::Loss => percent(value, self.range),
        })
    }

    /// Returns the part's name, value and limits as text.
    fn text(&self) -> String {
        let said = |value: f64| quantity(value, self.unit);
        let Some(value) = self.value else { return format!("{}: not measured", self.name) };
        let Range { optimal, unacceptable } = self.range;
        let scale = match self.group {
            Group::Rate => format!("at least {}", said(optimal)),
            _ => format!("optimal to {}, unacceptable from {}", said(optimal), said(unacceptable)),
        };
        format!("{} {} ({scale})", self.name, said(value))
    }
}

/// Returns the score of a delay or a loss, from 0 to 100.
fn percent(value: f64, Range { optimal, unacceptable }: Range) -> f64 {
    100.0 * (1.0 - (value - optimal) / (unacceptable - optimal)).clamp(0.0, 1.0)
}

/// The parts of an application's requirement, with the values of one trial.
#[derive(Clone, Debug)]
pub(crate) struct Scores(Vec<Part>);

impl Scores {
    /// Returns the parts of `requirement` with the values of `source`.
    pub(crate) fn of(requirement: &Applied, source: &dyn Source) -> Self {
        let path = requirement.path;
        let latency = requirement.latency_ms.iter().map(|&(percentile, range)| Part {
            group: Group::Latency,
            name: format!("{} {}", path.delays(), percentile.name().replace('_', ".")),
            unit: "ms",
            range,
            value: source.latency_ms(path, percentile),
        });
        let loss = requirement.loss_percent.map(|range| Part {
            group: Group::Loss,
            name: String::from("loss"),
            unit: "%",
            range,
            value: source.loss_percent(path),
        });
        let rate = requirement.rate_mbit.map(|least| Part {
            group: Group::Rate,
            name: String::from("rate"),
            unit: "Mbit/s",
            range: Range { optimal: least, unacceptable: least },
            value: source.rate_mbit(path),
        });
        Self(latency.chain(loss).chain(rate).collect())
    }

    /// Returns the score, which is the score of the worst part. Returns `None` if a part was not
    /// measured and no other part has the score 0.
    fn percent(&self) -> Option<f64> {
        let scores: Vec<Option<f64>> = self.0.iter().map(Part::percent).collect();
        let worst = scores.iter().copied().flatten().reduce(f64::min)?;
        (worst <= 0.0 || scores.iter().all(Option::is_some)).then_some(worst)
    }

    /// Returns the score of a component; `None` if it has no parts or a part was not measured.
    fn of_group(&self, group: Group) -> Option<f64> {
        let own = self.0.iter().filter(|part| part.group == group);
        let scores: Option<Vec<f64>> = own.map(Part::percent).collect();
        scores?.into_iter().reduce(f64::min)
    }
}

/// The Quality of Outcome of an application over all seeds, as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quality {
    /// The name of the requirement.
    pub requirement: String,
    /// The origin of the requirement's numbers.
    pub source: String,
    /// The median over the seeds whose score is known, from 0 to 100; `None` without such a seed.
    pub percent: Option<f64>,
    /// The median score of the component for latency.
    pub latency_percent: Option<f64>,
    /// The median score of the component for loss.
    pub loss_percent: Option<f64>,
    /// The median score of the component for the rate.
    pub rate_percent: Option<f64>,
    /// The part whose median value has the worst score: its name, this value and its limits. If the
    /// score is unknown, this is a part that was not measured.
    pub because: String,
    /// The median score with its interval.
    pub over_seeds: Option<Estimate>,
    /// The score of each seed; `None` for a seed whose score is unknown.
    pub by_seed: BySeed,
}

impl Quality {
    /// Returns the quality over `seeds`, which are pairs of a seed's number and its scores. Returns
    /// `None` without seeds.
    pub(crate) fn over(requirement: &Applied, seeds: &[(u64, &Scores)]) -> Option<Self> {
        let (_, first) = seeds.first()?;
        let over = |score: &dyn Fn(&Scores) -> Option<f64>| {
            median(&seeds.iter().filter_map(|(_, one)| score(one)).collect::<Vec<_>>())
        };
        let medians = first
            .0
            .iter()
            .enumerate()
            .map(|(at, part)| Part { value: over(&|one| one.0[at].value), ..part.clone() });
        let percent = over(&Scores::percent);
        // Each seed without a score has a part that was not measured.
        let unmeasured = || first.0.iter().find(|part| part.value.is_none()).cloned();
        let worth = |part: &Part| part.percent().unwrap_or(f64::INFINITY);
        let worst =
            medians.reduce(|one, other| if worth(&other) < worth(&one) { other } else { one });
        let reason = if percent.is_some() { worst } else { unmeasured() };
        let by_seed: BySeed = seeds.iter().map(|(seed, one)| (*seed, one.percent())).collect();
        let known: Vec<f64> = by_seed.iter().filter_map(|(_, percent)| *percent).collect();
        Some(Self {
            requirement: requirement.name.clone(),
            source: requirement.source.clone(),
            percent,
            latency_percent: over(&|one| one.of_group(Group::Latency)),
            loss_percent: over(&|one| one.of_group(Group::Loss)),
            rate_percent: over(&|one| one.of_group(Group::Rate)),
            because: reason.map(|part| part.text()).unwrap_or_default(),
            over_seeds: statistics::estimate(&known),
            by_seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_apps::requirements::{DRAFT_EXAMPLE, GORESPONSIVENESS_GAMING, Requirement};

    use super::*;

    /// Measurements as a table: percentiles, loss and rate.
    struct Measured<'a>(&'a [(Percentile, f64)], Option<f64>, Option<f64>);

    impl Source for Measured<'_> {
        fn latency_ms(&self, _: Path, wanted: Percentile) -> Option<f64> {
            self.0.iter().find(|(one, _)| *one == wanted).map(|(_, value)| *value)
        }

        fn loss_percent(&self, _: Path) -> Option<f64> {
            self.1
        }

        fn rate_mbit(&self, _: Path) -> Option<f64> {
            self.2
        }
    }

    const EXAMPLE_MS: &[(Percentile, f64)] =
        &[(Percentile::P99, 350.0), (Percentile::P99_9, 375.0)];

    fn scored(set: &Requirement, measured: &Measured) -> Quality {
        let applied = Applied::from(set);
        Quality::over(&applied, &[(1, &Scores::of(&applied, measured))]).expect("one seed")
    }

    /// Tests the draft's example, and variants of the example with another loss or another rate.
    #[test]
    fn c236_the_example_of_the_draft_has_the_score_50() {
        for (loss, rate, want) in [(2.0, 28.0, 50.0), (4.0, 28.0, 25.0), (2.0, 3.9, 0.0)] {
            let found = scored(&DRAFT_EXAMPLE, &Measured(EXAMPLE_MS, Some(loss), Some(rate)));
            assert_eq!(found.percent, Some(want), "loss {loss} %, {rate} Mbit/s");
            assert_eq!(found.latency_percent, Some(50.0));
        }
        let found = scored(&DRAFT_EXAMPLE, &Measured(EXAMPLE_MS, Some(2.0), Some(28.0)));
        assert_eq!((found.loss_percent, found.rate_percent), (Some(75.0), Some(100.0)));
        assert_eq!(
            found.because,
            "round trips p99 350 ms (optimal to 200 ms, unacceptable from 500 ms)"
        );
    }

    /// Tests that the worst percentile decides: P50 and P95 have the score 50, and P99 has the
    /// score 100.
    #[test]
    fn c237_the_worst_percentile_decides() {
        let measured =
            [(Percentile::P50, 90.0), (Percentile::P95, 132.5), (Percentile::P99, 100.0)];
        let found = scored(&GORESPONSIVENESS_GAMING, &Measured(&measured, None, None));
        assert_eq!(found.percent, Some(50.0));
        assert_eq!((found.loss_percent, found.rate_percent), (None, None));
    }

    #[test]
    fn an_unmeasured_part_leaves_the_score_unknown_unless_another_is_zero() {
        let unknown = scored(&DRAFT_EXAMPLE, &Measured(&EXAMPLE_MS[..1], Some(2.0), Some(28.0)));
        assert_eq!((unknown.percent, unknown.latency_percent), (None, None));
        assert!(
            unknown.because.starts_with("round trips p99.9: not measured"),
            "{}",
            unknown.because
        );
        assert_eq!(unknown.loss_percent, Some(75.0));
        let lost = scored(&DRAFT_EXAMPLE, &Measured(&[], Some(100.0), None));
        assert_eq!(lost.percent, Some(0.0));
        assert_eq!(lost.because, "loss 100 % (optimal to 1 %, unacceptable from 5 %)");
    }

    #[test]
    fn several_seeds_have_the_median_of_their_scores() {
        let applied = Applied::from(&GORESPONSIVENESS_GAMING);
        let all = [30.0, 90.0, 150.0].map(|p50| {
            let measured = [(Percentile::P50, p50), (Percentile::P95, 1.0), (Percentile::P99, 1.0)];
            Scores::of(&applied, &Measured(&measured, None, None))
        });
        let seeds: Vec<(u64, &Scores)> = (1..).zip(&all).collect();
        let found = Quality::over(&applied, &seeds).expect("three seeds");
        assert_eq!(found.by_seed, [(1, Some(100.0)), (2, Some(50.0)), (3, Some(0.0))]);
        let over = found.over_seeds.expect("all are known");
        assert_eq!((over.median, over.low, over.high, over.seeds), (50.0, 0.0, 100.0, 3));
        assert_eq!(Quality::over(&applied, &[]), None);
    }
}
