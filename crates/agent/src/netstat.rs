//! The TCP counters of a namespace: `/proc/net/netstat`.
//!
//! Only these counters contain timeouts, probes, recoveries and undone reductions (Linux 6.1,
//! net/ipv4/proc.c; `TCP_INFO` has none of them before 6.7). The counts can be attributed to a
//! connection only if the namespace had no other connection.

use aqmlab_trial::findings::TcpEvents;

/// Reads the counters of this thread's namespace.
pub(crate) fn read() -> Result<TcpEvents, String> {
    let path = "/proc/thread-self/net/netstat";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> TcpEvents {
    // The file has a line of names, then a line of numbers.
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let all = || names.split_whitespace().zip(values.split_whitespace());
    let of = |name: &str| all().find(|(known, _)| *known == name)?.1.parse::<u64>().ok();
    let sum = |names: &[&str]| names.iter().map(|name| of(name)).sum();
    TcpEvents {
        // The counter includes timeouts of SYNs and SYN-ACKs, as in the simulator.
        rtos: of("TCPTimeouts"),
        tlps: of("TCPLossProbes"),
        fast_recoveries: sum(&["TCPRenoRecovery", "TCPSackRecovery"]),
        spurious_undos: sum(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"]),
        ece_reductions: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "TcpExt: TCPSackRecovery TCPTimeouts TCPRenoRecovery TCPLossProbes TCPFullUndo \
                    TCPPartialUndo TCPDSACKUndo TCPLossUndo\n\
                    TcpExt: 4 2 1 3 1 1 0 5\nIpExt: InOctets\nIpExt: 7\n";
        let events = parse(text);
        assert_eq!((events.rtos, events.tlps), (Some(2), Some(3)));
        assert_eq!((events.fast_recoveries, events.spurious_undos), (Some(5), Some(7)));
        assert_eq!(parse("TcpExt: TCPTimeouts\nTcpExt: 2\n").fast_recoveries, None);
    }
}
