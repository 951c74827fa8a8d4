//! Sends the packets of a trace at the given times.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::job::Trace;
use crate::sys;

/// The addresses of the sender and of the receiver. The receiver does not exist.
pub(crate) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(172, 16, 10, 1), Ipv4Addr::new(172, 16, 10, 2)];
const FIRST_PORT: u16 = 10_000;
/// The length of the IPv4 and UDP headers in bytes.
const HEADERS: usize = 28;
/// The send buffer in bytes, large enough for all packets of a trace that are queued in the
/// discipline.
const ROOM: libc::c_int = 1 << 29;

/// Sends all packets of `trace`, each with its number in its payload or, if raw, in its header.
pub(crate) fn send(trace: &Trace) -> Result<(), String> {
    if trace.is_raw() {
        return send_raw(trace);
    }
    let sockets = (0..trace.ecn.len()).map(|flow| open(trace, flow)).collect::<Result<Vec<_>, _>>();
    let sockets = sockets.map_err(|error| format!("a flow's socket: {error}"))?;
    let mut bytes = [0_u8; 1_500];
    let mut due = sys::now_ns();
    for (number, arrival) in trace.arrivals.iter().enumerate() {
        due += arrival.gap_ns;
        wait_until(due);
        bytes[..4].copy_from_slice(&(number as u32).to_ne_bytes());
        let size = arrival.len as usize - HEADERS;
        sys::send(&sockets[arrival.flow as usize], &bytes[..size])
            .map_err(|error| format!("packet {number}: {error}"))?;
    }
    Ok(())
}

fn wait_until(due: u64) {
    let early = due.saturating_sub(sys::now_ns());
    if early > 0 {
        std::thread::sleep(Duration::from_nanos(early));
    }
}

/// Sends packets with the headers that the job states. IPv4's Identification field holds a packet's
/// number, counted from one because the kernel replaces a zero.
fn send_raw(trace: &Trace) -> Result<(), String> {
    let failed = |number: usize, error: std::io::Error| format!("packet {number}: {error}");
    let fd = open_raw().map_err(|error| format!("the raw socket: {error}"))?;
    let mut due = sys::now_ns();
    for (number, (arrival, head)) in trace.arrivals.iter().zip(&trace.heads).enumerate() {
        due += arrival.gap_ns;
        wait_until(due);
        let mut bytes = head.clone();
        bytes.resize(arrival.len as usize, 0);
        let id = u16::try_from(number + 1).map_err(|_| "a trace has at most 65535 packets")?;
        bytes[4..6].copy_from_slice(&id.to_ne_bytes());
        let to = Ipv4Addr::new(bytes[16], bytes[17], bytes[18], bytes[19]);
        sys::send_to(&fd, &bytes, to).map_err(|error| failed(number, error))?;
    }
    Ok(())
}

fn open_raw() -> std::io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_RAW)?;
    sys::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, ROOM)?;
    sys::set(&fd, libc::IPPROTO_IP, libc::IP_HDRINCL, 1)?;
    Ok(fd)
}

fn open(trace: &Trace, flow: usize) -> std::io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    sys::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, ROOM)?;
    sys::set(&fd, libc::IPPROTO_IP, libc::IP_TOS, trace.ecn[flow].into())?;
    sys::bind(&fd, ADDRESSES[0], FIRST_PORT + flow as u16)?;
    sys::connect(&fd, ADDRESSES[1], FIRST_PORT)?;
    Ok(fd)
}
