//! The two stages of a test: the goodput becomes stable, and then the responsiveness.

use std::collections::VecDeque;

use super::formula;

/// The rule by which a stage ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The number of values that must be stable together, and of intervals in a moving average.
    pub(crate) distance: usize,
    /// The standard deviation below which values are stable, relative to the present value.
    pub(crate) tolerance: f64,
    /// The maximum number of intervals of a stage.
    pub(crate) most: u64,
}

/// The confidence in the result of a stage. The tables contain its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confidence {
    /// The stage had fewer intervals than a moving average has.
    Low = 1,
    /// The stage had enough intervals, and its values were not stable.
    Medium = 2,
    /// The values were stable.
    High = 3,
}

impl Confidence {
    /// Returns the number that the tables contain.
    pub(crate) fn number(self) -> f64 {
        f64::from(self as u8)
    }
}

#[derive(Clone, Debug, Default)]
struct Stage {
    intervals: u64,
    /// The latest values, at most [`Rule::distance`].
    latest: VecDeque<f64>,
    is_stable: bool,
}

impl Stage {
    /// Adds an interval and its value. An interval without a value ends the series of values.
    fn add(&mut self, value: Option<f64>, rule: Rule) {
        self.intervals += 1;
        match value {
            Some(value) => self.latest.push_back(value),
            None => self.latest.clear(),
        }
        if self.latest.len() > rule.distance {
            self.latest.pop_front();
        }
        self.is_stable = self.latest.len() == rule.distance
            && formula::is_stable(self.latest.make_contiguous(), rule.tolerance);
    }

    const fn is_over(&self, rule: Rule) -> bool {
        self.is_stable || self.intervals >= rule.most
    }

    const fn confidence(&self, rule: Rule) -> Confidence {
        if self.is_stable {
            Confidence::High
        } else if self.intervals < rule.distance as u64 {
            Confidence::Low
        } else {
            Confidence::Medium
        }
    }
}

/// The stages of the test of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    rule: Rule,
    goodput: Stage,
    responsiveness: Stage,
}

impl Stages {
    /// Returns the stages at the start of a test.
    pub(crate) fn new(rule: Rule) -> Self {
        Self { rule, goodput: Stage::default(), responsiveness: Stage::default() }
    }

    /// Adds an interval: the moving average of the goodput, and the responsiveness if it is known.
    /// Returns whether the test is complete. The stage of the responsiveness begins with the
    /// interval after the last interval of the first stage.
    pub(crate) fn add(&mut self, goodput: f64, responsiveness: Option<f64>) -> bool {
        if self.goodput.is_over(self.rule) {
            self.responsiveness.add(responsiveness, self.rule);
        } else {
            self.goodput.add(Some(goodput), self.rule);
        }
        self.responsiveness.is_over(self.rule)
    }

    /// Returns the confidence that the goodput is the capacity.
    pub(crate) const fn goodput_confidence(&self) -> Confidence {
        self.goodput.confidence(self.rule)
    }

    /// Returns the confidence in the responsiveness.
    pub(crate) const fn responsiveness_confidence(&self) -> Confidence {
        self.responsiveness.confidence(self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { distance: 4, tolerance: 0.05, most: 10 };

    fn confidences(stages: &Stages) -> [Confidence; 2] {
        [stages.goodput_confidence(), stages.responsiveness_confidence()]
    }

    #[test]
    fn a_stable_line_takes_twice_the_distance() {
        let mut stages = Stages::new(RULE);
        for interval in 1..8 {
            assert!(!stages.add(10.0, Some(500.0)), "interval {interval}");
        }
        assert_eq!(confidences(&stages), [Confidence::High, Confidence::Low]);
        assert!(stages.add(10.0, Some(500.0)));
        assert_eq!(confidences(&stages), [Confidence::High; 2]);
    }

    #[test]
    fn a_stage_that_does_not_become_stable_ends_at_its_limit() {
        let mut stages = Stages::new(RULE);
        for interval in 0..10 {
            assert!(!stages.add(f64::from(1 << interval), Some(500.0)));
        }
        assert_eq!(confidences(&stages), [Confidence::Medium, Confidence::Low]);
        for interval in 0..9 {
            assert!(!stages.add(0.0, Some(f64::from(1 << interval))));
        }
        assert!(stages.add(0.0, None));
        assert_eq!(confidences(&stages), [Confidence::Medium; 2]);
    }

    #[test]
    fn an_interval_without_responsiveness_starts_the_series_again() {
        let mut stages = Stages::new(Rule { most: 100, ..RULE });
        for _ in 0..4 {
            stages.add(10.0, None);
        }
        for responsiveness in [Some(1.0), Some(1.0), Some(1.0), None, Some(1.0), Some(1.0)] {
            assert!(!stages.add(10.0, responsiveness));
        }
        assert!(!stages.add(10.0, Some(1.0)));
        assert!(stages.add(10.0, Some(1.0)));
    }
}
