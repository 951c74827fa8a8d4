//! What can be wrong with a trial.

use std::fmt;

/// A trial that cannot be run, and why: where, what, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The path of the offending value, such as `links[0].qdisc.limit`.
    pub at: String,
    /// What is wrong with it.
    pub problem: String,
}

impl SpecError {
    /// `problem` at `at`.
    pub fn new(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { at: at.into(), problem: problem.into() }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.problem)
    }
}

impl std::error::Error for SpecError {}
