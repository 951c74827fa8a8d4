//! Tests whole trials: their results for a home, their reproducibility, and the refusal of wrong
//! trials.

mod autorate;
mod bad_specs;
mod cake;
mod calls;
mod common;
mod determinism;
mod golden;
mod grid;
mod home;
mod l4s;
mod numbers;
mod order;
mod quic;
mod rpm;
mod spoiled;
mod wifi;
