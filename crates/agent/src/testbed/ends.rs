//! Namespaces: the cables between them, and the addresses, routes and settings of each namespace.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::Path;

use aqmlab_core::{Direction, Side};
use aqmlab_trial::Spec;

use crate::command::{run, run_all, sysctl};
use crate::mode::Mode;
use crate::{sys, tcp_settings};

/// Returns the name of an end's interface.
pub(crate) const fn interface(side: Side) -> &'static str {
    match side {
        Side::Home => "h0",
        Side::Wan => "w0",
    }
}

/// Returns the address of an application at an end. Applications of one host in the home share its
/// address.
pub(crate) fn address(spec: &Spec, app: usize, side: Side) -> Ipv4Addr {
    let host = if side == Side::Home { spec.home_host(app) } else { app };
    Ipv4Addr::new(172, 16, 10 + side.index() as u8, 2 + host as u8)
}

/// Moves this process into a namespace.
pub(super) fn enter(namespace: &File) -> Result<(), String> {
    sys::enter_network(namespace).map_err(|error| format!("cannot enter a namespace: {error}"))
}

/// Creates a namespace without IPv6 and moves this process into it.
pub(super) fn namespace() -> Result<File, String> {
    sys::unshare_network().map_err(|error| format!("cannot make a namespace: {error}"))?;
    // Duplicate address detection and router discovery would send additional packets.
    if Path::new("/proc/sys/net/ipv6").exists() {
        sysctl("net/ipv6/conf/all/disable_ipv6", "1")?;
        sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
    }
    for name in ["all", "default"] {
        sysctl(&format!("net/ipv4/conf/{name}/rp_filter"), "0")?;
        sysctl(&format!("net/ipv4/conf/{name}/send_redirects"), "0")?;
    }
    run("ip link set lo up")?;
    File::open("/proc/self/ns/net").map_err(|error| format!("/proc/self/ns/net: {error}"))
}

/// Creates a cable from the interface `near` in this namespace to `far` in `namespace`.
pub(super) fn cable([near, far]: [&str; 2], namespace: &File) -> Result<(), String> {
    let mac = |name: &str| match name {
        "h0" => 1,
        "g0" => 2,
        "g1" => 3,
        "p1" => 4,
        "p0" => 5,
        _ => 6,
    };
    let end = |name: &str| format!("{name} address 02:00:00:00:00:0{}", mac(name));
    // The descriptor belongs to this process, so the kernel finds the namespace by its path.
    let (process, fd) = (std::process::id(), namespace.as_raw_fd());
    run_all(&[
        format!("ip link add {} type veth peer name {}", end(near), end(far)),
        // With offloads, segments of up to 64 kB would cross the queue as one packet.
        format!("ethtool -K {near} tso off gso off gro off"),
        format!("ethtool -K {far} tso off gso off gro off"),
        format!("ip link set {far} netns /proc/{process}/fd/{fd}"),
    ])
}

/// Sets up the router before a direction's bottleneck, in the namespace of this process. A TUN
/// interface to the discipline in user space (`ours`) has no hardware address.
pub(super) fn router(direction: Direction, ours: bool) -> Result<(), String> {
    // The router has two interfaces: one to its host, and one to the other router.
    let (inner, outer, host, far) = match direction {
        Direction::Up => ("g0", "g1", 1, "172.16.11.0/24"),
        Direction::Down => ("p0", "p1", 3, "172.16.10.0/24"),
    };
    let (own, next, near) = match direction {
        Direction::Up => (1, 2, "172.16.10.0/24"),
        Direction::Down => (2, 1, "172.16.11.0/24"),
    };
    let (host_mac, next_mac) = if direction == Direction::Up { (1, 4) } else { (6, 3) };
    let mut lines = vec![
        format!("ip addr add 10.0.{host}.1/30 dev {inner}"),
        format!("ip addr add 10.0.2.{own}/30 dev {outer}"),
        format!("ip link set {inner} up"),
        format!("ip link set {outer} up"),
        format!("ip neigh add 10.0.{host}.2 lladdr 02:00:00:00:00:0{host_mac} dev {inner}"),
        format!("ip route add {near} via 10.0.{host}.2"),
        format!("ip route add {far} via 10.0.2.{next}"),
    ];
    if !ours {
        let mac = format!("02:00:00:00:00:0{next_mac}");
        lines.insert(5, format!("ip neigh add 10.0.2.{next} lladdr {mac} dev {outer}"));
    }
    run_all(&lines)?;
    sysctl("net/ipv4/ip_forward", "1")
}

/// Sets up the addresses, routes and settings of an end, in the namespace of this process.
pub(super) fn host(spec: &Spec, side: Side, mode: Mode) -> Result<(), String> {
    let name = interface(side);
    let (own, hop, mac) = match side {
        Side::Home => ("10.0.1.2", "10.0.1.1", 2),
        Side::Wan => ("10.0.3.2", "10.0.3.1", 5),
    };
    let mut lines = vec![
        format!("ip addr add {own}/30 dev {name}"),
        format!("ip link set {name} up"),
        format!("ip neigh add {hop} lladdr 02:00:00:00:00:0{mac} dev {name}"),
    ];
    let mut hosts = BTreeSet::new();
    for (index, app) in spec.apps.iter().enumerate() {
        let (here, there) = (address(spec, index, side), address(spec, index, side.peer()));
        if hosts.insert(here) {
            lines.push(format!("ip addr add {here}/32 dev {name}"));
        }
        if hosts.insert(there) {
            let how = tcp_settings::route(app.tcp(side))?;
            lines.push(format!("ip route add {there}/32 via {hop} dev {name} src {here}{how}"));
        }
    }
    run_all(&lines)?;
    for (setting, value) in [
        // The route enables ECN, so that each application can have its own setting.
        ("net/ipv4/tcp_ecn", "0"),
        // The metrics of one connection must not influence the next connection.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // After a timeout, a flow must keep its hash and therefore its queue. A real gateway
        // computes the hash from addresses and ports, but a veth pair passes on the sender's hash.
        ("net/core/txrehash", "0"),
        ("net/ipv4/ping_group_range", "0 0"),
    ] {
        sysctl(setting, value)?;
    }
    tcp_settings::prepare(spec, side, mode.host)
}

/// Refuses applications of one host whose servers need different settings of their routes. The
/// settings of a route belong to the address of its destination, which these applications share.
///
/// # Errors
///
/// If a setting of a route does not exist, or if two applications differ.
pub(crate) fn check_hosts(spec: &Spec) -> Result<(), String> {
    for (index, app) in spec.apps.iter().enumerate() {
        let first = &spec.apps[spec.home_host(index)];
        if tcp_settings::route(&app.wan)? != tcp_settings::route(&first.wan)? {
            return Err(format!(
                "apps[{index}].wan: `{}` and `{}` have one host in the home, so the kernel engine \
                 needs equal TCPs at their servers, except for `cc`; name two hosts",
                first.name, app.name
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(hosts: [&str; 3]) -> Spec {
        let app = |(number, host): (usize, &str)| {
            let route = r#"{"links": [], "delay_ns": 0}"#;
            format!(
                r#"{{"name": "a{number}", "app": {{"kind": "bulk"}}, "start_ns": 0, "up": {route},
                    "down": {route}, "host": {host}, "wan": {{"ecn": {}}}}}"#,
                number == 2
            )
        };
        let apps: Vec<_> = hosts.into_iter().enumerate().map(app).collect();
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [], "apps": [{}]}}"#,
            apps.join(",")
        );
        aqmlab_trial::parse(&json).expect("it is a trial")
    }

    #[test]
    fn hosts_have_the_addresses_of_the_simulator() {
        let spec = spec(["null", r#""anna""#, r#""anna""#]);
        let of = |app, side| address(&spec, app, side).to_string();
        assert_eq!(of(0, Side::Home), "172.16.10.2");
        assert_eq!((of(1, Side::Home), of(2, Side::Home)), (of(2, Side::Home), of(1, Side::Home)));
        assert_eq!(of(2, Side::Home), "172.16.10.3");
        assert_eq!(of(2, Side::Wan), "172.16.11.4");
    }

    #[test]
    fn servers_of_one_host_have_equal_routes() {
        assert_eq!(check_hosts(&spec(["null", r#""anna""#, r#""bert""#])), Ok(()));
        let refused = check_hosts(&spec(["null", r#""anna""#, r#""anna""#])).expect_err("differ");
        assert!(refused.starts_with("apps[2].wan: `a1` and `a2` have one host"), "{refused}");
    }
}
