//! Records the operations of the kernel's disciplines, packet by packet.
//!
//! A job is a list of traces. The packets of each trace pass through HTB and the discipline. The
//! recording lists every packet that enters or leaves the discipline, in order, with the time that
//! the discipline read. The recorded operations can then be replayed on another implementation of
//! the discipline.

mod calls;
mod job;
mod layout;
mod probes;
mod record;
mod sender;

use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use self::job::Trace;

use self::layout::Types;
use crate::command::{run, run_all, sysctl};
use crate::sys;

const DEVICE: &str = "trace";
/// A hardware address that differs from the receiver's address, so the receiver drops all arrivals.
const ELSEWHERE: &str = "02:00:00:00:00:99";
/// The addresses in packets that are sent with headers from the job.
const HOSTS: &str = "10.0.0.0/8";
/// The wait before the first trace. CoDel's clock is zero at boot. Within sixteen intervals of
/// zero, an unset time looks recent.
const SETTLED: Duration = Duration::from_secs(20);
/// The maximum number of attempts to record a trace.
const TRIES: u32 = 4;
/// The maximum number of waits, of half a second each, for a discipline to empty after the last
/// packet.
const PATIENCE: u32 = 600;

/// Returns the traces of `json`, or `None` if `json` is not a job of traces.
pub(crate) fn wanted(json: &str) -> Option<Result<Vec<Trace>, String>> {
    job::parse(json)
}

/// Records all traces; returns the recordings as JSON on one line. `tick` is called after each
/// trace.
pub(crate) fn record(traces: &[Trace], tick: fn()) -> Result<String, String> {
    sys::mount("tracefs", "/sys/kernel/tracing")
        .map_err(|error| format!("tracefs: cannot mount: {error}"))?;
    let types = Types::read()?;
    std::thread::sleep(SETTLED);
    let mut results = Vec::new();
    for (place, trace) in traces.iter().enumerate() {
        let result = one(trace, &types).map_err(|problem| format!("traces[{place}]: {problem}"));
        results.push(result?);
        tick();
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/version").unwrap_or_default();
    let whole = json!({ "kernel": release.trim(), "traces": results });
    Ok(format!("{whole}\n"))
}

/// Records one trace. PIE's random numbers are probed in a function that has other callers, so the
/// kernel may miss a probe. A recording with a gap is therefore repeated.
fn one(trace: &Trace, types: &Types) -> Result<Value, String> {
    let mut gap = String::new();
    for _ in 0..TRIES {
        match attempt(trace, types)? {
            Ok(result) => return Ok(result),
            Err(problem) => gap = problem,
        }
    }
    Err(format!("all {TRIES} recordings of the kernel have gaps; the last: {gap}"))
}

fn attempt(trace: &Trace, types: &Types) -> Result<Result<Value, String>, String> {
    let doors = probes::find(&trace.kind)?;
    lay_out(trace)?;
    probes::set(doors, types, trace.is_raw())?;
    sender::send(trace)?;
    run_empty(trace)?;
    let recorded = probes::end()?;
    let shown = run(&format!("tc -s qdisc show dev {DEVICE}"))?;
    let listed = run(&format!("tc -s -j qdisc show dev {DEVICE}"))?;
    run(&format!("ip link del {DEVICE}"))?;
    let text = match recorded {
        Ok(text) => text,
        Err(gap) => return Ok(Err(gap)),
    };
    let mut result = record::read(&text, trace, doors)?;
    result["statistics"] = json!(shown);
    result["listed"] = serde_json::from_str(&listed).map_err(|error| format!("tc -j: {error}"))?;
    Ok(Ok(result))
}

/// Creates a cable, with the discipline at the near end, below HTB or as the root.
fn lay_out(trace: &Trace) -> Result<(), String> {
    sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
    let [here, there] = sender::ADDRESSES;
    let Trace { kind, options, rate_bps, .. } = trace;
    // By default, the kernel counts 14 bytes more than the IP length, and tc refuses a size table
    // that changes nothing.
    let sizes = match trace.overhead - 14 {
        0 => String::new(),
        extra => format!("stab overhead {extra}"),
    };
    let mut commands = vec![
        format!("ip link add {DEVICE} type veth peer name far"),
        format!("ethtool -K {DEVICE} tso off gso off gro off"),
        format!("ip addr add {here}/24 dev {DEVICE}"),
        "ip link set far up".into(),
        format!("ip link set {DEVICE} up"),
        format!("ip neigh replace {there} lladdr {ELSEWHERE} dev {DEVICE} nud permanent"),
        format!("ip route replace {HOSTS} via {there} dev {DEVICE}"),
    ];
    if !trace.root {
        commands.extend([
            format!("tc qdisc add dev {DEVICE} root handle 1: {sizes} htb default 1"),
            format!(
                "tc class add dev {DEVICE} parent 1: classid 1:1 htb \
                 rate {rate_bps}bit ceil {rate_bps}bit burst 1600 cburst 1600 quantum 1514"
            ),
        ]);
    }
    let at = place(trace);
    commands.push(format!("tc qdisc add dev {DEVICE} {at} handle 10: {kind} {options}"));
    run_all(&commands)?;
    let shown = run(&format!("tc qdisc show dev {DEVICE} {at}"))?;
    if shown.starts_with(&format!("qdisc {kind} 10:")) {
        return Ok(());
    }
    Err(format!("{kind} was asked for, but the kernel has {}", shown.trim()))
}

/// Returns the place of the discipline, as tc names it.
const fn place(trace: &Trace) -> &'static str {
    if trace.root { "root" } else { "parent 1:1" }
}

fn run_empty(trace: &Trace) -> Result<(), String> {
    let at = place(trace);
    for _ in 0..PATIENCE {
        std::thread::sleep(Duration::from_millis(500));
        if run(&format!("tc -s qdisc show dev {DEVICE} {at}"))?.contains(" backlog 0b 0p") {
            return Ok(());
        }
    }
    Err(format!("{DEVICE}: the discipline still holds packets after its last arrival"))
}
