//! The error of an invalid trial.

use std::fmt;

/// An invalid trial: the place of a value, and the problem with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The path of the offending value, such as `links[0].qdisc.limit`.
    pub at: String,
    /// The problem with the value, such as the values allowed.
    pub problem: String,
}

impl SpecError {
    /// Returns an error with `problem` at the place `at`.
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
