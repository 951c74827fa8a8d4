//! Compares the control law of cake-autorate with the program itself, command by command.
//!
//! `outcomes.txt` records the commands of the program for lines drawn from a seed. The program is
//! `cake-autorate.sh` of lynxthecat/cake-autorate, version 3.3.0-PRERELEASE (commit 94238be). Its
//! main loop and its sampler ran in bash 5.2 under a virtual clock. A line has the seed and, after
//! the bar, the number of commands and a digest of the commands with their times. `whole.txt` has
//! every command of a few runs. docs/explanation/traces.md describes the method.

#![allow(unreachable_pub, reason = "the program that ran cake-autorate shares these modules")]
#![allow(clippy::cast_possible_wrap, reason = "times, sizes and counts are far below 2^63")]

mod play;
mod recipe;

use play::{outcome, play};
use recipe::Recipe;

#[test]
fn the_law_gives_the_commands_of_the_program() {
    let mut parted = Vec::new();
    let outcomes = include_str!("outcomes.txt");
    for line in outcomes.lines() {
        let (seed, want) = line.split_once(" | ").expect("a bar before the outcome");
        let got = outcome(&play(&Recipe::draw(seed.parse().expect("a seed"))));
        if got != want {
            parted.push(format!("{line}\n  law: {got}"));
        }
    }
    let runs = outcomes.lines().count();
    assert!(runs >= 200, "{runs} runs");
    assert!(parted.is_empty(), "{} of {runs} runs part:\n{}", parted.len(), parted.join("\n"));
}

#[test]
fn whole_runs_are_equal_in_every_command() {
    let runs: Vec<_> = include_str!("whole.txt").split("# ").skip(1).collect();
    assert!(runs.len() >= 3, "{} runs", runs.len());
    for run in runs {
        let (seed, want) = run.split_once('\n').expect("a seed before the commands");
        let got = play(&Recipe::draw(seed.parse().expect("a seed")));
        for (got, want) in got.iter().zip(want.lines()) {
            assert_eq!(got, want, "seed {seed}");
        }
        assert_eq!(got.len(), want.lines().count(), "seed {seed}");
    }
}
