//! Compares `prague` with L4STeam's code, acknowledgement by acknowledgement.
//!
//! `outcomes.txt` records the decisions of L4STeam's code for runs drawn from a seed. The code is
//! `net/ipv4/tcp_prague.c` 0.7 of L4STeam's Linux, compiled for user space and driven by a virtual
//! clock. A line states the seed and, after the bar, the number of acknowledgements and a digest.
//! The digest covers the window, the threshold, the pacing rate, the segment size and the burst
//! after each acknowledgement. `whole.txt` lists every decision of a few runs.
//! docs/explanation/traces.md describes the method.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "the program that ran the authors' code shares these modules"
)]

#[path = "../authors/module.rs"]
mod module;
#[path = "../authors/outcomes.rs"]
mod outcomes;
#[path = "../authors/play.rs"]
mod play;

use aqmlab_tcp::cc::EcnMode;
use module::Module;

fn build(_seed: u64) -> Module {
    Module::new("prague", &[], EcnMode::Accurate)
}

#[test]
fn the_module_decides_what_the_authors_code_decides() {
    outcomes::compare(include_str!("outcomes.txt"), build);
}

#[test]
fn whole_runs_are_equal_in_every_decision() {
    outcomes::compare_whole(include_str!("whole.txt"), build);
}
