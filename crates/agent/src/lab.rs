//! The laboratory in the kernel: three network namespaces and what connects them.
//!
//! ```text
//!  home ─ h0 ═ gh ─ gateway ─ gw ═ w0 ─ wan
//! ```
//!
//! What enters the gateway is turned to an `ifb` device, where HTB makes the bottleneck and the
//! discipline waits; it then goes on to the other side, where netem delays each application's
//! packets by its share of the base RTT. So the delay follows the bottleneck in both directions,
//! as in the simulator, and netem never queues behind a rate.
//!
//! Each application has an address of its own at both ends, as in the simulator.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;

use aqmlab_core::{Direction, Side};
use aqmlab_sim::Spec;
use aqmlab_sim::spec::{AppSpec, RouteSpec, TcpSpec};

use crate::qdiscs::{self, Installed};
use crate::run::{run_all, sysctl};
use crate::sys;

/// Most applications: a host's number is one byte of an address.
const MOST_APPS: usize = 250;
/// Most different ways in one direction: the bands that `prio` has.
const MOST_WAYS: usize = 16;

/// The namespaces.
pub(crate) struct Lab {
    home: File,
    gateway: File,
    wan: File,
    /// What waits before each link of the trial, by its place in [`Spec::links`].
    pub(crate) installed: Vec<Installed>,
}

impl Lab {
    /// Builds the laboratory of a trial that [`check`] has let through.
    ///
    /// # Errors
    ///
    /// If the kernel refuses something, or does something else than it was asked for.
    pub(crate) fn build(spec: &Spec) -> Result<Self, String> {
        let mut lab = Self {
            home: namespace()?,
            gateway: namespace()?,
            wan: namespace()?,
            installed: Vec::new(),
        };
        lab.enter_gateway()?;
        run_all(&cables())?;
        let gateway = [
            "ip addr add 10.0.1.1/30 dev gh",
            "ip addr add 10.0.2.1/30 dev gw",
            "ip neigh add 10.0.1.2 lladdr 02:00:00:00:00:01 dev gh",
            "ip neigh add 10.0.2.2 lladdr 02:00:00:00:00:04 dev gw",
            "ip route add 172.16.10.0/24 via 10.0.1.2",
            "ip route add 172.16.11.0/24 via 10.0.2.2",
        ];
        run_all(&gateway.map(String::from))?;
        sysctl("net/ipv4/ip_forward", "1")?;
        for (index, link) in spec.links.iter().enumerate() {
            let entrance = if used(spec, Direction::Up).contains(&index) { "gh" } else { "gw" };
            lab.installed.push(qdiscs::install(index, link, entrance)?);
        }
        for direction in Direction::BOTH {
            delays(spec, direction)?;
        }
        for side in [Side::Home, Side::Wan] {
            lab.enter(side)?;
            host(spec, side)?;
        }
        Ok(lab)
    }

    /// Moves this process into an end.
    pub(crate) fn enter(&self, side: Side) -> Result<(), String> {
        enter(if side == Side::Home { &self.home } else { &self.wan })
    }

    /// Moves this process into the gateway.
    pub(crate) fn enter_gateway(&self) -> Result<(), String> {
        enter(&self.gateway)
    }
}

/// The interface of an end.
pub(crate) const fn interface(side: Side) -> &'static str {
    match side {
        Side::Home => "h0",
        Side::Wan => "w0",
    }
}

/// The address of an application at an end.
pub(crate) fn address(app: usize, side: Side) -> Ipv4Addr {
    Ipv4Addr::new(172, 16, 10 + side.index() as u8, 2 + app as u8)
}

fn enter(namespace: &File) -> Result<(), String> {
    sys::enter_network(namespace).map_err(|error| format!("cannot enter a namespace: {error}"))
}

/// A new namespace, in which this process then is.
fn namespace() -> Result<File, String> {
    sys::unshare_network().map_err(|error| format!("cannot make a namespace: {error}"))?;
    // Duplicate address detection and router discovery would send packets of their own.
    if Path::new("/proc/sys/net/ipv6").exists() {
        sysctl("net/ipv6/conf/all/disable_ipv6", "1")?;
        sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
    }
    for name in ["all", "default"] {
        sysctl(&format!("net/ipv4/conf/{name}/rp_filter"), "0")?;
        sysctl(&format!("net/ipv4/conf/{name}/send_redirects"), "0")?;
    }
    crate::run::run("ip link set lo up")?;
    File::open("/proc/self/ns/net").map_err(|error| format!("/proc/self/ns/net: {error}"))
}

/// Two cables whose far ends are in the namespaces before and after the gateway's.
fn cables() -> Vec<String> {
    let far = |name: &str, mac: u8| format!("{name} address 02:00:00:00:00:0{mac}");
    vec![
        format!("ip link add {} type veth peer name {}", far("gh", 2), far("h0", 1)),
        format!("ip link add {} type veth peer name {}", far("gw", 3), far("w0", 4)),
        // Packets of up to 64 kB would otherwise cross the queue as one.
        "ethtool -K gh tso off gso off gro off".into(),
        "ethtool -K gw tso off gso off gro off".into(),
        "ethtool -K h0 tso off gso off gro off".into(),
        "ethtool -K w0 tso off gso off gro off".into(),
        "ip link set gh up".into(),
        "ip link set gw up".into(),
    ]
}

/// Addresses, routes and settings of an end.
fn host(spec: &Spec, side: Side) -> Result<(), String> {
    let name = interface(side);
    let (own, hop, mac) = match side {
        Side::Home => ("10.0.1.2", "10.0.1.1", 2),
        Side::Wan => ("10.0.2.2", "10.0.2.1", 3),
    };
    let mut lines = vec![
        format!("ip addr add {own}/30 dev {name}"),
        format!("ip link set {name} up"),
        format!("ip neigh add {hop} lladdr 02:00:00:00:00:0{mac} dev {name}"),
    ];
    for (index, app) in spec.apps.iter().enumerate() {
        let (here, there) = (address(index, side), address(index, side.peer()));
        let tcp = tcp_of(app, side);
        lines.push(format!("ip addr add {here}/32 dev {name}"));
        let mut route = format!("ip route add {there}/32 via {hop} dev {name} src {here}");
        if tcp.ecn {
            route += " features ecn";
        }
        if tcp.quickack == Some(true) {
            route += " quickack 1";
        }
        if tcp.mtu != 1_500 {
            route += &format!(" mtu lock {}", tcp.mtu);
        }
        lines.push(route);
    }
    run_all(&lines)?;
    for (setting, value) in [
        // ECN is asked for by the route, so that applications may differ.
        ("net/ipv4/tcp_ecn", "0"),
        // What one connection learnt must not enter the next.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // The bounds of a host with memory, whatever memory the guest has.
        ("net/ipv4/tcp_rmem", "4096 131072 6291456"),
        ("net/ipv4/tcp_wmem", "4096 16384 4194304"),
        // A flow keeps its hash, and so its queue, after a timeout: the hash of a real gateway
        // is made from addresses and ports, but a veth pair hands on the sender's.
        ("net/core/txrehash", "0"),
        ("net/ipv4/ping_group_range", "0 0"),
    ] {
        sysctl(setting, value)?;
    }
    Ok(())
}

/// The settings of one end of an application.
pub(crate) const fn tcp_of(app: &AppSpec, side: Side) -> &TcpSpec {
    match side {
        Side::Home => &app.home,
        Side::Wan => &app.wan,
    }
}

/// One direction's way of an application.
pub(crate) const fn way(app: &AppSpec, direction: Direction) -> &RouteSpec {
    match direction {
        Direction::Up => &app.up,
        Direction::Down => &app.down,
    }
}

/// The links that a direction uses.
fn used(spec: &Spec, direction: Direction) -> Vec<usize> {
    let mut links: Vec<_> =
        spec.apps.iter().flat_map(|app| way(app, direction).links.iter().copied()).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// The delays after a direction's bottleneck.
fn delays(spec: &Spec, direction: Direction) -> Result<(), String> {
    let exit = if direction == Direction::Up { "gw" } else { "gh" };
    let netem = |app: &AppSpec| {
        let way = way(app, direction);
        let mut text = format!("netem limit 1000000 delay {}ns", way.delay_ns + way.jitter_ns / 2);
        if way.jitter_ns > 0 {
            text += &format!(" {}ns", way.jitter_ns / 2);
        }
        if way.loss > 0.0 {
            text += &format!(" loss {}%", 100.0 * way.loss);
        }
        text
    };
    let mut kinds: Vec<String> = spec.apps.iter().map(netem).collect();
    kinds.sort();
    kinds.dedup();
    if let [one] = &kinds[..] {
        return run_all(&[format!("tc qdisc add dev {exit} root {one}")]);
    }
    let bands = kinds.len().max(2);
    let zeros = ["0"; 16].join(" ");
    let mut lines =
        vec![format!("tc qdisc add dev {exit} root handle 1: prio bands {bands} priomap {zeros}")];
    for (band, kind) in kinds.iter().enumerate() {
        lines.push(format!("tc qdisc add dev {exit} parent 1:{:x} {kind}", band + 1));
    }
    for (index, app) in spec.apps.iter().enumerate() {
        let band = kinds.iter().position(|kind| *kind == netem(app)).unwrap_or(0) + 1;
        let from = address(index, if direction == Direction::Up { Side::Home } else { Side::Wan });
        lines.push(format!(
            "tc filter add dev {exit} parent 1: protocol ip prio 1 u32 \
             match ip src {from}/32 flowid 1:{band:x}"
        ));
    }
    run_all(&lines)
}

/// Says why the kernel cannot run a trial, if it cannot.
pub(crate) fn check(spec: &Spec) -> Result<(), String> {
    if spec.apps.len() > MOST_APPS {
        return Err(format!("apps: {}; the kernel engine has room for {MOST_APPS}", spec.apps.len()));
    }
    let (up, down) = (used(spec, Direction::Up), used(spec, Direction::Down));
    for (name, links) in [("up", &up), ("down", &down)] {
        if links.len() > 1 {
            return Err(format!("links: {} bottlenecks {name}; the kernel engine has one", links.len()));
        }
    }
    if up == down && !up.is_empty() {
        return Err("links: one link is used in both directions; the kernel engine has one for each".into());
    }
    for (index, link) in spec.links.iter().enumerate() {
        qdiscs::check(&format!("links[{index}]"), link)?;
    }
    for (index, app) in spec.apps.iter().enumerate() {
        check_app(&format!("apps[{index}]"), app, [&up, &down])?;
    }
    for direction in Direction::BOTH {
        let mut ways: Vec<_> = spec.apps.iter().map(|app| key(way(app, direction))).collect();
        ways.sort_unstable();
        ways.dedup();
        if ways.len() > MOST_WAYS {
            let problem = "different delays, jitters and losses; the kernel engine has";
            return Err(format!("apps.{}: {} {problem} {MOST_WAYS}", direction.name(), ways.len()));
        }
    }
    Ok(())
}

fn key(way: &RouteSpec) -> (u64, u64, u64) {
    (way.delay_ns, way.jitter_ns, way.loss.to_bits())
}

fn check_app(at: &str, app: &AppSpec, links: [&[usize]; 2]) -> Result<(), String> {
    for direction in Direction::BOTH {
        let (way, at) = (way(app, direction), format!("{at}.{}", direction.name()));
        if way.links != links[direction.index()] {
            return Err(format!("{at}.links: all applications must share the kernel's one bottleneck"));
        }
        if way.jitter_ns > 0 && !way.reorder {
            return Err(format!("{at}.jitter_ns: netem reorders what it jitters; set reorder"));
        }
    }
    for side in [Side::Home, Side::Wan] {
        let at = format!("{at}.{}", if side == Side::Home { "home" } else { "wan" });
        crate::hosts::check(&at, tcp_of(app, side))?;
    }
    Ok(())
}
