//! Runs one trial on the Linux kernel that it finds itself in.
//!
//! As the first process of a virtual machine it makes the machine usable, reads the trial, lays
//! out a laboratory of network namespaces, runs the application models of `aqmlab-apps` over the
//! kernel's own sockets, lets taps at both ends tell what `aqmlab-measure` makes of it, hands out
//! the simulator's tables and ends the machine.
//!
//! | Module     | Holds                                                             |
//! |------------|-------------------------------------------------------------------|
//! | `mode`     | with whose discipline, and where                                  |
//! | `guest`    | what the first process of a machine has to do                     |
//! | `host`     | the host's own kernel as the place, and what it lacks             |
//! | `check`    | which trials the kernel can run                                   |
//! | `spec`     | what is asked of a trial's spec again and again                   |
//! | `lab`      | namespaces and cables; `ends` is what is in each                  |
//! | `qdiscs`   | bottlenecks, installed and read back                              |
//! | `disciplines` | our disciplines and parameters in the kernel's words           |
//! | `ways`     | what follows a bottleneck: wire, delay, jitter, loss              |
//! | `gateway`  | bottlenecks of ours, in place of the kernel's                     |
//! | `hosts`    | a TCP endpoint as socket options, its settings and controller     |
//! | `sockets`  | connections and datagrams                                         |
//! | `world`    | applications and the loop that calls them; `due` is its calendar  |
//! | `app_io`   | the sockets and the clock of the applications                     |
//! | `tap`      | what passes the two ends; `ring` brings it from the kernel        |
//! | `capture`  | the same as a capture                                             |
//! | `waits`    | how long packets waited in the disciplines, whose were dropped    |
//! | `echoes`   | reductions of TCPs for marks                                      |
//! | `stats`    | the counters of disciplines                                       |
//! | `netstat`  | the counters of a host's TCPs                                     |
//! | `tables`   | what was found, for the simulator's tables; `output` writes them  |
//! | `trace`    | what disciplines do, packet by packet, instead of a trial         |
//! | `run`      | programs and kernel settings                                      |
//! | `sys`      | system calls: the only unsafe code but `ring`'s                   |

mod app_io;
mod capture;
mod check;
mod conns;
mod disciplines;
mod due;
mod echoes;
mod gateway;
mod guest;
mod host;
mod hosts;
mod lab;
mod mode;
mod netstat;
mod output;
mod qdiscs;
mod ring;
mod run;
mod sockets;
mod spec;
mod stats;
mod sys;
mod tables;
mod tap;
mod trace;
mod waits;
mod ways;
mod world;

use std::process::ExitCode;

use aqmlab_trial::Spec;

use crate::lab::Lab;
use crate::mode::Mode;
use crate::tables::View;
use crate::world::World;

fn main() -> ExitCode {
    if std::process::id() != 1 {
        return elsewhere();
    }
    // The console is all that is left if this fails.
    if let Err(problem) = guest::set_up() {
        eprintln!("aqmlab-agent: {problem}");
        panic!("the machine could not be set up");
    }
    let text = trial().unwrap_or_else(|(refused, problem)| output::failure(refused, &problem));
    guest::hand_out(&text);
    guest::end();
}

/// What it does outside of a machine:
///
/// - `check [ours] [host]` says why the kernel cannot run the trial on standard input, if it
///   cannot, and ends with 1;
/// - `run PARENT [ours] host` runs that trial on this very kernel, for the process `PARENT`;
/// - `missing KIND…` says what such a trial would miss, a line each.
fn elsewhere() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let done = match words.next().as_deref() {
        Some("check") => input().and_then(|json| Ok(check(&json, Mode::of(words)?))),
        Some("run") => run_here(words),
        Some("missing") => {
            let kinds: Vec<_> = words.collect();
            for line in host::missing(&kinds) {
                println!("{line}");
            }
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("this is the first process of a virtual machine; `aqmlab run --engine kernel` \
                  starts one"
            .into()),
    };
    done.unwrap_or_else(|problem: String| {
        eprintln!("aqmlab-agent: {problem}");
        ExitCode::from(2)
    })
}

fn input() -> Result<String, String> {
    std::io::read_to_string(std::io::stdin()).map_err(|error| format!("standard input: {error}"))
}

fn check(json: &str, mode: Mode) -> ExitCode {
    match checked(json, mode) {
        Ok(_) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("{problem}");
            ExitCode::from(1)
        }
    }
}

fn run_here(mut words: impl Iterator<Item = String>) -> Result<ExitCode, String> {
    let parent = words.next().and_then(|word| word.parse().ok());
    let parent = parent.ok_or("run: the process that it is run for is not named")?;
    let mode = Mode::of(words)?;
    print!("{}", host::trial(&input()?, mode, parent));
    Ok(ExitCode::SUCCESS)
}

/// A trial that the kernel can run.
fn checked(json: &str, mode: Mode) -> Result<Spec, String> {
    let spec = aqmlab_trial::parse(json).map_err(|error| error.to_string())?;
    check::check(&spec, mode)?;
    Ok(spec)
}

/// Runs the trial of a machine; an error says whether it was refused as it is, and why.
fn trial() -> Result<String, (bool, String)> {
    let json = std::fs::read_to_string(guest::SPEC)
        .map_err(|error| (false, format!("{}: {error}", guest::SPEC)))?;
    if let Some(traces) = trace::wanted(&json) {
        let traces = traces.map_err(|problem| (true, problem))?;
        return trace::record(&traces, guest::tick).map_err(|problem| (false, problem));
    }
    // The kernel hands on also what it has not understood of its own command line.
    let mode = Mode { ours: std::env::args().any(|word| word == "ours"), host: false };
    if mode.ours {
        guest::allow_tun().map_err(|problem| (false, problem))?;
    }
    measured(&json, mode, guest::tick)
}

/// Runs a trial; `tick` is called once for each second of it.
fn measured(json: &str, mode: Mode, tick: fn()) -> Result<String, (bool, String)> {
    let (failed, refused) = (|problem| (false, problem), |problem| (true, problem));
    let spec = checked(json, mode).map_err(refused)?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let lab = Lab::build(&spec, mode).map_err(failed)?;
    let mut world = World::new(&spec, &lab).map_err(failed)?;
    world.run(tick).map_err(failed)?;
    let view = View::new(&spec, &mut world, &lab.installed).map_err(failed)?;
    let captures = world.captures.take().map(capture::files).transpose().map_err(refused)?;
    if let Some(files) = &captures {
        guest::hand_out_captures(files);
    }
    let lengths = captures.map(|files| files.map(|file| file.len()));
    Ok(output::result(&view, release.trim(), lengths))
}
