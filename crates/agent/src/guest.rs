//! The first process of a virtual machine: it sets up file systems and modules, and writes the
//! output.
//!
//! The result leaves through an I/O port, whose bytes QEMU appends to a file (`-device
//! isa-debugcon`). The port has no interrupt, no buffer and no response, so the virtual clock does
//! not depend on the host.

use std::fs::{self, File};
use std::io;

use crate::sys;

/// The I/O port of the result.
const RESULT_PORT: u16 = 0xe9;
/// The I/O port of the captures, which are written one after another.
const CAPTURES_PORT: u16 = 0xeb;
/// The I/O port that receives a byte for each second of a trial, or for each trace.
const PROGRESS_PORT: u16 = 0xea;
/// The I/O port that stops the virtual machine (`-device isa-debug-exit`).
const EXIT_PORT: u16 = 0xf4;

/// The file that lists the modules to load, one path per line, with parameters after a space.
const MODULES: &str = "/aqmlab/modules";
/// The kernel module of TUN devices, which a discipline in user space needs.
const TUN: &str = "/modules/tun.ko";
/// The file with the job: a trial, traces or commands.
pub(crate) const SPEC: &str = "/aqmlab/spec.json";

/// Sets up file systems, I/O ports and modules.
pub(crate) fn set_up() -> Result<(), String> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")] {
        fs::create_dir_all(target).map_err(|error| format!("{target}: {error}"))?;
        sys::mount(kind, target).map_err(|error| format!("{target}: cannot mount: {error}"))?;
    }
    for port in [RESULT_PORT, PROGRESS_PORT, CAPTURES_PORT, EXIT_PORT] {
        sys::allow_ports(port, 1).map_err(|error| format!("I/O port {port:#x}: {error}"))?;
    }
    load_listed(MODULES)
}

/// Loads the kernel module [`TUN`], if the file exists. Only trials with a discipline in user space
/// load the module, because the module changes the kernel's memory.
pub(crate) fn allow_tun() -> Result<(), String> {
    if fs::exists(TUN).unwrap_or(false) { load(TUN) } else { Ok(()) }
}

/// Loads the modules that `file` lists in the form of [`MODULES`].
pub(crate) fn load_listed(file: &str) -> Result<(), String> {
    let modules = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    modules.lines().try_for_each(load)
}

fn load(line: &str) -> Result<(), String> {
    let (path, parameters) = line.split_once(' ').unwrap_or((line, ""));
    let loaded = File::open(path).and_then(|module| sys::load_module(&module, parameters));
    match loaded {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{path}: the kernel does not load it: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes the result to the host.
pub(crate) fn hand_out(result: &str) {
    sys::out(RESULT_PORT, result.as_bytes());
}

/// Writes the captures to the host.
pub(crate) fn hand_out_captures(files: &[Vec<u8>; 2]) {
    for file in files {
        sys::out(CAPTURES_PORT, file);
    }
}

/// Reports that another second of the trial has passed, or that another trace has been recorded.
pub(crate) fn tick() {
    sys::out(PROGRESS_PORT, b".");
}

/// Shuts down the virtual machine.
pub(crate) fn end() -> ! {
    sys::out(EXIT_PORT, &[0]);
    loop {
        std::thread::park();
    }
}
