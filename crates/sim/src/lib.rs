//! Runs a trial in simulated time.

pub mod spec;
