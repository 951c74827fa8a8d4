//! Runs one job on the running Linux kernel: a trial, a recording of traces, or commands.
//!
//! In a virtual machine, the agent is the first process. It sets the machine up and reads the job.
//! For a trial, it builds a testbed of network namespaces, and runs the applications of
//! `aqmlab-apps` over the kernel's own sockets. It measures the packets at the taps of both ends
//! with `aqmlab-measure`, sends the tables to the host and stops the machine.
//!
//! | Module         | Holds                                                            |
//! |----------------|------------------------------------------------------------------|
//! | `mode`         | the source of the disciplines, and the kernel that runs the trial |
//! | `guest`        | the duties of the first process of a virtual machine             |
//! | `host_kernel`  | a trial on the host's own kernel, and its requirements           |
//! | `check`        | the trials that the kernel can run                               |
//! | `links`        | the links of a trial by direction                                |
//! | `testbed`      | namespaces, the cables between them, and netem                   |
//! | `tcp_settings` | a TCP endpoint as socket options, sysctls and a route            |
//! | `qdisc`        | the kernel's disciplines: parameters, installation, counters     |
//! | `userspace_qdisc` | the simulator's disciplines in place of the kernel's          |
//! | `world`        | the loop that serves sockets, samples and drains the taps        |
//! | `app_io`       | the sockets and the clock of the applications                    |
//! | `schedule`     | the periodic work of the loop                                    |
//! | `sockets`      | the sockets of applications; `conns` is their connections        |
//! | `taps`         | records of packets at the ends, captures, sojourn times          |
//! | `netstat`      | the TCP counters of a host                                       |
//! | `tables`       | the findings, for the tables of a trial; `output` formats them   |
//! | `pasted`       | commands for a gateway, run as a user pastes them, in place of a trial |
//! | `trace`        | a recording of a discipline, packet by packet, in place of a trial |
//! | `command`      | programs and kernel settings                                     |
//! | `sys`          | system calls; with `taps::ring`, the only unsafe code            |

mod app_io;
mod check;
mod command;
mod conns;
mod guest;
mod host_kernel;
mod links;
mod mode;
mod netstat;
mod output;
mod pasted;
mod qdisc;
mod schedule;
mod sockets;
mod sys;
mod tables;
mod taps;
mod tcp_settings;
mod testbed;
mod trace;
mod userspace_qdisc;
mod world;

use std::process::ExitCode;

use aqmlab_trial::Spec;

use crate::mode::Mode;
use crate::tables::View;
use crate::testbed::Testbed;
use crate::world::World;

fn main() -> ExitCode {
    if std::process::id() != 1 {
        return elsewhere();
    }
    // If this fails, only the console is left for output.
    if let Err(problem) = guest::set_up() {
        eprintln!("aqmlab-agent: {problem}");
        panic!("the machine could not be set up");
    }
    let text = trial().unwrap_or_else(|(refused, problem)| output::failure(refused, &problem));
    guest::hand_out(&text);
    guest::end();
}

/// Runs a command outside a virtual machine:
///
/// - `check [ours] [host]` reads a trial from standard input. If the kernel cannot run the trial,
///   the command prints the reason and exits with status 1;
/// - `run PARENT [ours] host` reads a trial from standard input and runs it on the host's own
///   kernel, for the process `PARENT`;
/// - `missing KIND…` prints the requirements that this host does not meet, one per line.
fn elsewhere() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let done = match words.next().as_deref() {
        Some("check") => input().and_then(|json| Ok(check(&json, Mode::of(words)?))),
        Some("run") => run_here(words),
        Some("missing") => {
            let kinds: Vec<_> = words.collect();
            for line in host_kernel::missing(&kinds) {
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
    print!("{}", host_kernel::trial(&input()?, mode, parent));
    Ok(ExitCode::SUCCESS)
}

/// Parses a trial and checks that the kernel can run it.
fn checked(json: &str, mode: Mode) -> Result<Spec, String> {
    let spec = aqmlab_trial::parse(json).map_err(|error| error.to_string())?;
    check::check(&spec, mode)?;
    Ok(spec)
}

/// Runs the job of a virtual machine: a trial, a list of traces, or commands. The error states
/// whether the job was refused or has failed, and the reason.
fn trial() -> Result<String, (bool, String)> {
    let json = std::fs::read_to_string(guest::SPEC)
        .map_err(|error| (false, format!("{}: {error}", guest::SPEC)))?;
    if let Some(traces) = trace::wanted(&json) {
        let traces = traces.map_err(|problem| (true, problem))?;
        return trace::record(&traces, guest::tick).map_err(|problem| (false, problem));
    }
    if let Some(commands) = pasted::wanted(&json) {
        let commands = commands.map_err(|problem| (true, problem))?;
        return pasted::run(&commands).map_err(|problem| (false, problem));
    }
    // The kernel passes unknown words of its own command line to this process.
    let mode = Mode { ours: std::env::args().any(|word| word == "ours"), host: false };
    if mode.ours {
        guest::allow_tun().map_err(|problem| (false, problem))?;
    }
    measured(&json, mode, guest::tick)
}

/// Runs a trial and returns its result. `tick` is called once for each second of the trial. The
/// captures, if they are kept, are sent to the host separately. The error states whether the trial
/// was refused or has failed, and the reason.
fn measured(json: &str, mode: Mode, tick: fn()) -> Result<String, (bool, String)> {
    let (failed, refused) = (|problem| (false, problem), |problem| (true, problem));
    let spec = checked(json, mode).map_err(refused)?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let testbed = Testbed::build(&spec, mode).map_err(failed)?;
    let mut world = World::new(&spec, &testbed).map_err(failed)?;
    world.run(tick).map_err(failed)?;
    let view = View::new(&spec, &mut world, &testbed.installed).map_err(failed)?;
    let captures = world.captures.take().map(taps::files).transpose().map_err(refused)?;
    if let Some(files) = &captures {
        guest::hand_out_captures(files);
    }
    let lengths = captures.map(|files| files.map(|file| file.len()));
    Ok(output::result(&view, release.trim(), lengths))
}
