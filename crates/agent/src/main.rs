//! Runs one trial on the Linux kernel that it finds itself in.
//!
//! As the first process of a virtual machine it makes the machine usable, reads the trial, lays
//! out a laboratory of network namespaces, runs the application models of `aqmlab-apps` over the
//! kernel's own sockets, lets taps at both ends tell what `aqmlab-measure` makes of it, hands out
//! the simulator's tables and ends the machine.
//!
//! | Module     | Holds                                                             |
//! |------------|-------------------------------------------------------------------|
//! | `guest`    | what the first process of a machine has to do                     |
//! | `lab`      | namespaces, cables, delays; which trials the kernel can run       |
//! | `qdiscs`   | bottlenecks, installed and read back                              |
//! | `disciplines` | our disciplines and parameters in the kernel's words           |
//! | `ways`     | what follows a bottleneck: wire, delay, jitter, loss              |
//! | `hosts`    | a TCP endpoint as socket options                                  |
//! | `sockets`  | connections and datagrams                                         |
//! | `world`    | applications and the loop that calls them; `due` is its calendar  |
//! | `hand`     | the world as an application sees it                               |
//! | `tap`      | what passes the two ends; `ring` brings it from the kernel        |
//! | `waits`    | how long packets waited in the disciplines                        |
//! | `stats`    | the counters of disciplines                                       |
//! | `tables`   | what comes out, in `rows`; `output` writes it                     |
//! | `trace`    | what disciplines do, packet by packet, instead of a trial         |
//! | `run`      | programs and kernel settings                                      |
//! | `sys`      | system calls: the only unsafe code but `ring`'s                   |

mod disciplines;
mod due;
mod guest;
mod hand;
mod hosts;
mod lab;
mod output;
mod qdiscs;
mod ring;
mod rows;
mod run;
mod sockets;
mod stats;
mod sys;
mod tables;
mod tap;
mod trace;
mod waits;
mod ways;
mod world;

use std::process::ExitCode;

use aqmlab_sim::Spec;

use crate::lab::Lab;
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

/// What it does outside of a machine: `aqmlab-agent check` says why the kernel cannot run the
/// trial on standard input, if it cannot, and ends with 1.
fn elsewhere() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("check") {
        eprintln!(
            "aqmlab-agent is the first process of a virtual machine; \
             `aqmlab run --engine kernel` starts one"
        );
        return ExitCode::from(2);
    }
    match std::io::read_to_string(std::io::stdin()) {
        Ok(json) => checked(&json).map_or_else(
            |problem| {
                println!("{problem}");
                ExitCode::from(1)
            },
            |_| ExitCode::SUCCESS,
        ),
        Err(error) => {
            eprintln!("standard input: {error}");
            ExitCode::from(2)
        }
    }
}

/// A trial that the kernel can run.
fn checked(json: &str) -> Result<Spec, String> {
    let spec = aqmlab_sim::parse(json).map_err(|error| error.to_string())?;
    lab::check(&spec)?;
    Ok(spec)
}

/// Runs the trial; an error says whether it was refused as it is, and why.
fn trial() -> Result<String, (bool, String)> {
    let json = std::fs::read_to_string(guest::SPEC)
        .map_err(|error| (false, format!("{}: {error}", guest::SPEC)))?;
    if let Some(traces) = trace::wanted(&json) {
        let traces = traces.map_err(|problem| (true, problem))?;
        return trace::record(&traces, guest::tick).map_err(|problem| (false, problem));
    }
    let spec = checked(&json).map_err(|problem| (true, problem))?;
    let failed = |problem| (false, problem);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let lab = Lab::build(&spec).map_err(failed)?;
    let mut world = World::new(&spec, &lab).map_err(failed)?;
    world.run(guest::tick).map_err(failed)?;
    let view = View::new(&spec, &mut world, &lab.installed).map_err(failed)?;
    Ok(output::result(&view, release.trim()))
}
