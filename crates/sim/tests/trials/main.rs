//! Whole trials: what a home sees, that runs repeat, and that wrong ones are refused.

mod bad_specs;
mod common;
mod determinism;
mod golden;
mod grid;
mod home;
mod numbers;
mod order;
mod spoiled;
mod wifi;
