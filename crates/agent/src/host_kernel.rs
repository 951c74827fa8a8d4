//! Trials on the host's own kernel, in real time.
//!
//! A trial does not touch the host's own network. It uses unnamed namespaces, which end with this
//! process, and this process ends with its parent. Settings are written only inside the namespaces.
//! Settings of the whole kernel are never written. They are compared with the trial's settings.

use std::io::Write;

use crate::command::{run, run_all};
use crate::mode::Mode;
use crate::{output, sys};

/// Runs the trial in `json`. Returns the result of the trial, or the reason why there is no result.
pub(crate) fn trial(json: &str, mode: Mode, parent: u32) -> String {
    match prepare(parent) {
        Ok(()) => crate::measured(json, mode, tick)
            .unwrap_or_else(|(refused, problem)| output::failure(refused, &problem)),
        Err(problem) => output::failure(true, &problem),
    }
}

fn prepare(parent: u32) -> Result<(), String> {
    match sys::die_with(parent) {
        Ok(true) => Ok(()),
        Ok(false) => Err("the process that started it has ended".into()),
        Err(error) => Err(format!("cannot follow the process that started it: {error}")),
    }
}

/// Reports that another second of the trial has passed.
fn tick() {
    // The process that reads the output may have ended.
    let _ = writeln!(std::io::stdout(), ".");
}

/// Tests the requirements of a trial in a new network namespace. Returns the requirements that this
/// host does not meet, one sentence each: permissions, interfaces, and the disciplines `kinds`, by
/// their names in the kernel. If namespaces or cables are missing, returns only this requirement.
pub(crate) fn missing(kinds: &[String]) -> Vec<String> {
    if let Err(error) = sys::unshare_network() {
        return vec![format!(
            "network namespaces cannot be made: {error}; it takes root (CAP_SYS_ADMIN and \
             CAP_NET_ADMIN)"
        )];
    }
    let mut all = Vec::new();
    if let Err(problem) = run("ip link add probe0 type veth peer name probe1") {
        return vec![format!("the kernel makes no cables (module veth): {problem}")];
    }
    if let Err(error) = sys::Tun::new("probe2") {
        all.push(format!("/dev/net/tun: {error} (module tun)"));
    }
    for kind in kinds {
        let options = match kind.as_str() {
            "red" => "limit 400000 avpkt 1000",
            "prio" => "bands 3",
            _ => "",
        };
        let add = format!("tc qdisc add dev probe0 root handle 1: {kind} {options}");
        if let Err(problem) = run_all(&[add, "tc qdisc del dev probe0 root".into()]) {
            all.push(if problem.contains("unknown") {
                format!("the kernel has no `{kind}` (module sch_{kind})")
            } else {
                problem
            });
        }
    }
    all
}
