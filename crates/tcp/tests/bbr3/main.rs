//! Compares `bbr3` with Google's own code, acknowledgement by acknowledgement.
//!
//! `outcomes.txt` records the decisions of Google's code for runs drawn from a seed. The code is
//! `net/ipv4/tcp_bbr.c` of google/bbr, branch v3, compiled for user space and driven by a virtual
//! clock. A line states the seed and, after the bar, the number of acknowledgements and a digest.
//! The digest covers the window, the threshold, the pacing rate, the segment size and the burst
//! after each acknowledgement. `whole.txt` lists every decision of a few runs.
//! docs/explanation/traces.md describes the method.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "the program that ran Google's code shares these modules"
)]

#[path = "../authors/module.rs"]
mod module;
#[path = "../authors/outcomes.rs"]
mod outcomes;
#[path = "../authors/play.rs"]
mod play;

use aqmlab_core::Value;
use aqmlab_tcp::cc::EcnMode;
use module::Module;

/// Returns the module for the run of `seed`. In every third run the path marks early.
fn build(seed: u64) -> Module {
    let changes = [("seed", Value::Count(seed)), ("ecn_low", Value::Flag(seed.is_multiple_of(3)))];
    Module::new("bbr3", &changes, EcnMode::Classic)
}

#[test]
fn the_module_decides_what_googles_code_decides() {
    outcomes::compare(include_str!("outcomes.txt"), build);
}

#[test]
fn whole_runs_are_equal_in_every_decision() {
    outcomes::compare_whole(include_str!("whole.txt"), build);
}
