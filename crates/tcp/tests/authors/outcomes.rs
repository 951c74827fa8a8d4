//! Recorded outcomes: a line names a run and, after the bar, its outcome.

use aqmlab_core::Digest;

use super::module::Module;
use super::play::{Decision, Line, Recipe, play};

/// Compares the module with every recorded outcome. `build` makes the module for a seed.
pub fn compare(outcomes: &str, build: impl Fn(u64) -> Module) {
    let mut parted = Vec::new();
    for line in outcomes.lines() {
        let (seed, want) = line.split_once(" | ").expect("a bar before the outcome");
        let seed = seed.parse().expect("a seed");
        let got = outcome(&play(Recipe::draw(seed), &mut build(seed)));
        if got != want {
            parted.push(format!("{line}\n  module: {got}"));
        }
    }
    let runs = outcomes.lines().count();
    assert!(runs >= 100, "{runs} runs");
    assert!(parted.is_empty(), "{} of {runs} runs part:\n{}", parted.len(), parted.join("\n"));
}

/// Compares the module with every decision of a few recorded runs.
pub fn compare_whole(text: &str, build: impl Fn(u64) -> Module) {
    let runs: Vec<_> = text.split("# ").skip(1).collect();
    assert!(runs.len() >= 3, "{} runs", runs.len());
    for run in runs {
        let (seed, want) = run.split_once('\n').expect("a seed before the decisions");
        let number = seed.parse().expect("a seed");
        let got = whole(&play(Recipe::draw(number), &mut build(number)));
        for (got, want) in got.lines().zip(want.lines()) {
            assert_eq!(got, want, "seed {seed}");
        }
        assert_eq!(got.lines().count(), want.lines().count(), "seed {seed}");
    }
}

/// Formats the outcome of a run: the number of acknowledgements, and a digest of all decisions.
pub fn outcome(lines: &[Line]) -> String {
    let mut digest = Digest::default();
    for (at, decision) in lines {
        for number in [*at, decision.cwnd, decision.ssthresh, decision.rate, decision.mss] {
            digest.fold(number);
        }
        digest.fold(decision.burst);
    }
    format!("{} {digest}", lines.len())
}

/// Formats every decision of a run: time, window, threshold, rate, segment size, burst.
pub fn whole(lines: &[Line]) -> String {
    let line = |(at, one): &Line| {
        let Decision { cwnd, ssthresh, rate, mss, burst, .. } = one;
        format!("{at} {cwnd} {ssthresh} {rate} {mss} {burst}\n")
    };
    lines.iter().map(line).collect()
}
