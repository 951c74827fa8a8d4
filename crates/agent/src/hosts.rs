//! What the scenario says of a TCP endpoint, as socket options.

use std::os::fd::OwnedFd;

use aqmlab_sim::spec::TcpSpec;

use crate::sys;

/// The kernel's names for the congestion controllers that it has, by ours.
const CONTROLLERS: &[(&str, &str)] =
    &[("cubic", "cubic"), ("reno", "reno"), ("newreno", "reno"), ("bbr", "bbr")];

/// The kernel's name for the congestion controller of an endpoint.
pub(crate) fn controller(tcp: &TcpSpec) -> Option<&'static str> {
    let wanted = tcp.cc.as_ref().map_or("cubic", |cc| cc.kind.as_str());
    CONTROLLERS.iter().find(|(ours, _)| *ours == wanted).map(|(_, theirs)| *theirs)
}

/// Says why the kernel cannot be such an endpoint, if it cannot.
pub(crate) fn check(at: &str, tcp: &TcpSpec) -> Result<(), String> {
    if tcp.profile != "linux" {
        let problem = "a Linux kernel cannot be this host; the kernel engine has `linux`";
        return Err(format!("{at}.profile: `{}`: {problem}", tcp.profile));
    }
    if controller(tcp).is_none() {
        let wanted = tcp.cc.as_ref().map_or("", |cc| cc.kind.as_str());
        let known: Vec<_> = CONTROLLERS.iter().map(|(ours, _)| *ours).collect();
        return Err(format!("{at}.cc: `{wanted}`: the kernel engine has {}", known.join(", ")));
    }
    if let Some(name) = tcp.cc.iter().flat_map(|cc| cc.params.keys()).next() {
        return Err(format!("{at}.cc.{name}: the kernel engine runs controllers as they come"));
    }
    if let Some(name) = tcp.settings.keys().next() {
        return Err(format!("{at}.settings.{name}: the kernel engine runs Linux as it comes"));
    }
    Ok(())
}

/// Applies an endpoint's settings to a socket that is not yet connected, or listens.
pub(crate) fn apply(fd: &OwnedFd, tcp: &TcpSpec) -> std::io::Result<()> {
    let name = controller(tcp).unwrap_or("cubic");
    sys::set_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())?;
    // The kernel doubles both numbers: half of a buffer is for its own bookkeeping. A receive
    // buffer of twice the window is what offers that window (tcp_adv_win_scale 1).
    if let Some(bytes) = tcp.send_buffer {
        sys::set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes as i32)?;
    }
    if let Some(bytes) = tcp.receive_buffer {
        sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes as i32)?;
    }
    Ok(())
}
