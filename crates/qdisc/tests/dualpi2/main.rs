//! Compares `dualpi2` with Linux's own code, packet by packet.
//!
//! `outcomes.txt` records the output of Linux's code for arrivals drawn from a seed. The code is
//! `net/sched/sch_dualpi2.c` of Linux 6.18, compiled for user space and driven by a virtual clock.
//! A line names the link and the parameters. After the bar, the line states the number of packets
//! dropped, the number of packets marked, and a digest. The digest covers each packet's outcome,
//! time and ECN field, and the statistics. `whole.txt` lists every packet of a few runs.
//! docs/explanation/traces.md describes the method.

#![allow(unreachable_pub, reason = "the program that ran Linux's code shares these modules")]

mod arrivals;
mod play;

use std::collections::BTreeMap;

use aqmlab_core::{Args, Cx, Ecn, Event, Instant, Log, Packet, PacketFields, Rng};
use aqmlab_qdisc::{Qdisc, kinds};
use aqmlab_recipe::value;

use arrivals::Arrival;
use play::{Discipline, Polls};

/// The packets that a discipline dropped.
#[derive(Default)]
struct Drops(Vec<u64>);

impl Log for Drops {
    fn record(&mut self, _now: Instant, packet: &Packet, event: Event) {
        if let Event::Drop(_) = event {
            self.0.push(packet.id);
        }
    }
}

/// The `dualpi2` of this crate.
struct Module {
    qdisc: Box<dyn Qdisc>,
    rng: Rng,
    drops: Drops,
}

impl Module {
    fn new(says: &BTreeMap<&str, &str>) -> Self {
        let kind = kinds::find("dualpi2").expect("it is registered");
        let mut args = Args::defaults(kind.params);
        for param in kind.params {
            if let Some(said) = says.get(param.name) {
                args = args.with(param.name, value(said, param.default));
            }
        }
        let rng = Rng::stream(number(says, "seed"), "dualpi2");
        Self { qdisc: (kind.build)(&args), rng, drops: Drops::default() }
    }
}

impl Discipline for Module {
    fn offer(&mut self, id: u64, arrival: Arrival) {
        let packet = PacketFields { ecn: arrival.ecn, ..PacketFields::plain(id, 0, arrival.len) };
        let mut cx = Cx { now: arrival.at, rng: &mut self.rng, log: &mut self.drops };
        self.qdisc.enqueue(packet.into(), &mut cx);
    }

    fn take(&mut self, now: Instant) -> Option<(u64, u32, Ecn)> {
        let mut cx = Cx { now, rng: &mut self.rng, log: &mut self.drops };
        let packet = self.qdisc.dequeue(&mut cx)?;
        Some((packet.id, packet.len, packet.ecn))
    }

    fn is_empty(&self) -> bool {
        self.qdisc.backlog().packets == 0
    }

    fn drops(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.drops.0)
    }

    fn stats(&mut self, _now: Instant) -> Vec<i64> {
        let scaled = |(name, gauge): (&str, f64)| match name {
            "probability" => (gauge * f64::from(u32::MAX)).round() as i64,
            "delay_c_ms" | "delay_l_ms" => (gauge * 1e6).round() as i64 / 1_000,
            _ => gauge as i64,
        };
        self.qdisc.gauges().into_iter().map(scaled).collect()
    }

    fn next_draw(&mut self) -> u32 {
        self.rng.next_u32()
    }
}

fn number(says: &BTreeMap<&str, &str>, name: &str) -> u64 {
    says[name].parse().expect("a whole number")
}

/// Plays a recipe on the module.
fn played(recipe: &str, polls: Polls) -> (play::Played, Vec<Arrival>) {
    let says = recipe.split(' ').map(|item| item.split_once('=').expect("name=value")).collect();
    let (seed, rate) = (number(&says, "seed"), number(&says, "rate"));
    let arrivals = arrivals::arrivals(seed, rate, number(&says, "packets") as usize);
    (play::play(&mut Module::new(&says), &arrivals, rate, polls), arrivals)
}

/// Compares every run. `polls` states how the link detects an empty discipline.
fn compare(polls: Polls) {
    let mut parted = Vec::new();
    for line in include_str!("outcomes.txt").lines() {
        let (recipe, want) = line.split_once(" | ").expect("a bar before the outcome");
        let (run, arrivals) = played(recipe, polls);
        let got = play::outcome(&run, &arrivals);
        if got != want {
            parted.push(format!("{line}\n  module: {got}"));
        }
    }
    assert!(parted.is_empty(), "{} runs part:\n{}", parted.len(), parted.join("\n"));
}

#[test]
fn the_module_does_what_linux_does() {
    compare(Polls::Empty);
}

/// Tests that the module does the same if the link never polls it while it is empty. The kernel
/// restores the scheduler's credit at an empty dequeue, so the module must restore the credit
/// without such a poll.
#[test]
fn the_module_does_the_same_without_empty_polls() {
    compare(Polls::NeverEmpty);
}

#[test]
fn whole_runs_are_equal_in_every_packet() {
    let text = include_str!("whole.txt");
    let runs: Vec<_> = text.split("# ").skip(1).collect();
    assert!(runs.len() >= 3, "{} runs", runs.len());
    for run in runs {
        let (recipe, want) = run.split_once('\n').expect("a recipe before the packets");
        let (run, arrivals) = played(recipe, Polls::Empty);
        let got = play::whole(&run, &arrivals);
        for (got, want) in got.lines().zip(want.lines()) {
            assert_eq!(got, want, "{recipe}");
        }
        assert_eq!(got.lines().count(), want.lines().count(), "{recipe}");
    }
}
