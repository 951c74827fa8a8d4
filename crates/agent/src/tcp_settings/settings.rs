//! The settings of a TCP: the sysctl or route attribute of each setting, and the settings that the
//! kernel lacks.

use aqmlab_core::{Args, Value};
use aqmlab_tcp::{Profile, Stack};
use aqmlab_trial::arguments::arguments;
use aqmlab_trial::spec::TcpSpec;

/// The form of a setting in the kernel.
enum How {
    /// A switch below `/proc/sys/net/ipv4`: its values for off and on.
    Switch(&'static str, [u64; 2]),
    /// A number below `/proc/sys/net/ipv4`. The second field is the number's unit in nanoseconds if
    /// the setting is a time, and otherwise 1.
    Number(&'static str, u64),
    /// One of three numbers in a file below `/proc/sys/net/ipv4`. The second field is the number's
    /// index, 1 or 2.
    Triple(&'static str, usize),
    /// An attribute of the route.
    Route,
}

use How::{Number, Route, Switch, Triple};

const SETTINGS: &[(&str, How)] = &[
    ("sack", Switch("tcp_sack", [0, 1])),
    ("dsack", Switch("tcp_dsack", [0, 1])),
    ("timestamps", Switch("tcp_timestamps", [0, 1])),
    ("window_scale", Switch("tcp_window_scaling", [0, 1])),
    ("ecn_fallback", Switch("tcp_ecn_fallback", [0, 1])),
    ("tcp_ecn", Number("tcp_ecn", 1)),
    ("frto", Switch("tcp_frto", [0, 2])),
    ("tlp", Switch("tcp_early_retrans", [0, 3])),
    ("rack", Switch("tcp_recovery", [0, 1])),
    ("slow_start_after_idle", Switch("tcp_slow_start_after_idle", [0, 1])),
    ("receive_tuning", Switch("tcp_moderate_rcvbuf", [0, 1])),
    ("reordering", Number("tcp_reordering", 1)),
    ("reordering_max", Number("tcp_max_reordering", 1)),
    ("syn_retries", Number("tcp_syn_retries", 1)),
    ("synack_retries", Number("tcp_synack_retries", 1)),
    ("retries", Number("tcp_retries2", 1)),
    ("adv_win_scale", Number("tcp_adv_win_scale", 1)),
    ("small_queue", Number("tcp_limit_output_bytes", 1)),
    ("ack_compression", Number("tcp_comp_sack_nr", 1)),
    ("ack_compression_delay", Number("tcp_comp_sack_delay_ns", 1)),
    ("ack_compression_slack", Number("tcp_comp_sack_slack_ns", 1)),
    ("min_rtt_window", Number("tcp_min_rtt_wlen", 1_000_000_000)),
    ("challenge_interval", Number("tcp_invalid_ratelimit", 1_000_000)),
    ("receive_buffer", Triple("tcp_rmem", 1)),
    ("receive_buffer_max", Triple("tcp_rmem", 2)),
    ("send_buffer", Triple("tcp_wmem", 1)),
    ("send_buffer_max", Triple("tcp_wmem", 2)),
    ("initial_window", Route),
    ("rto_min", Route),
];

/// Returns the settings of an endpoint. Linux's settings are the defaults.
pub(super) fn settings(at: &str, tcp: &TcpSpec) -> Result<Args, String> {
    arguments(&format!("{at}.settings"), Profile::settings(Stack::Linux), &tcp.settings)
        .map_err(|error| error.to_string())
}

/// Refuses settings that the kernel's TCP does not support.
pub(super) fn check(at: &str, tcp: &TcpSpec) -> Result<(), String> {
    let args = settings(at, tcp)?;
    for param in Profile::settings(Stack::Linux) {
        let (name, at) = (param.name, format!("{at}.settings.{}", param.name));
        let value = args.value(name);
        let known = SETTINGS.iter().find(|(ours, _)| *ours == name);
        match known {
            // After idle time, the kernel restarts with its initial window.
            None if name == "restart_window" && same_window(&args) => {}
            None if value != param.default => {
                return Err(format!(
                    "{at}: {value}: the kernel has no such setting; allowed is {}",
                    param.default
                ));
            }
            Some((_, Number("tcp_ecn", _))) if number(value) > 2 => {
                return Err(format!("{at}: {value}: Linux 6.1 has no AccECN; allowed is 0 to 2"));
            }
            Some((_, Number(_, unit))) if !number(value).is_multiple_of(*unit) => {
                return Err(format!("{at}: {value}: the kernel counts in coarser units"));
            }
            _ => {}
        }
    }
    if !same_window(&args) {
        let (first, again) = (args.count("initial_window"), args.count("restart_window"));
        return Err(format!(
            "{at}.settings.restart_window: {again}: the kernel restarts with its initial window, \
             {first}"
        ));
    }
    Ok(())
}

fn same_window(args: &Args) -> bool {
    args.count("initial_window") == args.count("restart_window")
}

/// Converts a value to a number in base units.
fn number(value: Value) -> u64 {
    match value {
        Value::Duration(span) | Value::MaybeDuration(Some(span)) => span.as_nanos(),
        Value::Count(count) => count,
        Value::Bytes(size) => size.0,
        Value::Flag(flag) => flag.into(),
        Value::Rate(rate) | Value::MaybeRate(Some(rate)) => rate.as_bps(),
        Value::Number(_)
        | Value::MaybeDuration(None)
        | Value::MaybeRate(None)
        | Value::Word(..) => 0,
    }
}

/// Returns the sysctls of a host, by path below `/proc/sys/net/ipv4`.
pub(super) fn of_host(args: &Args) -> Vec<(&'static str, String)> {
    let value = |name: &str| number(args.value(name));
    let mut all = Vec::new();
    for (ours, how) in SETTINGS {
        match how {
            Switch(path, values) => {
                all.push((*path, values[usize::from(value(ours) > 0)].to_string()));
            }
            Number(path, unit) => all.push((*path, (value(ours) / unit).to_string())),
            Triple(path, 1) => {
                all.push((
                    *path,
                    format!("4096\t{}\t{}", value(ours), value(&format!("{ours}_max"))),
                ));
            }
            Triple(..) | Route => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_telling_is_of_a_setting_that_exists() {
        for (name, _) in SETTINGS {
            assert!(
                Profile::settings(Stack::Linux).iter().any(|param| param.name == *name),
                "{name}"
            );
        }
    }
}
