//! The laboratory in the kernel: four network namespaces and the cables between them.
//!
//! ```text
//!  home ─ h0 ═ g0 ─ gateway ─ g1 ═ p1 ─ provider ─ p0 ═ w0 ─ wan
//!          delay ←┘           └→ up  │            └→ delay
//!                               down ←┘
//! ```
//!
//! HTB makes the bottleneck, and the discipline waits, where packets leave the gateway for the
//! provider and the provider for the gateway; netem delays each application's packets by its
//! share of the base RTT where they then leave for the hosts. So the delay follows the bottleneck
//! in both directions, as in the simulator.
//!
//! **Trap.** A packet that crosses a veth pair still counts against its socket until a router's
//! IP input takes it over (`ip_rcv` orphans it, `skb_scrub_packet` does not). Were the bottleneck
//! on a redirection at the gateway's entrance (`ifb`), TCP small queues would see its queue as the
//! host's own and keep it at a few packets.
//!
//! With a discipline of ours the cable between the routers is a [`gateway`](crate::gateway) of
//! the agent, and on the host it does also what netem does in a machine.
//!
//! Each application has an address of its own at both ends, as in the simulator.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::Path;

use aqmlab_core::{Direction, Side};
use aqmlab_sim::Spec;
use aqmlab_sim::spec::{AppSpec, RouteSpec, TcpSpec};

use crate::hosts;
use crate::mode::Mode;
use crate::qdiscs::{self, Installed};
use crate::run::{run, run_all, sysctl};
use crate::sys::Tun;
use crate::{sys, ways};

/// Most applications: a host's number is one byte of an address.
const MOST_APPS: usize = 250;
/// Packets that may wait for a gateway of ours to read them: more than the applications ever send
/// while it cannot.
const TUN_ROOM: u32 = 16_384;

/// The namespaces.
pub(crate) struct Lab {
    home: File,
    gateway: File,
    provider: File,
    wan: File,
    pub(crate) mode: Mode,
    /// The routers' interfaces to a gateway of ours, the gateway's and the provider's.
    pub(crate) tuns: Option<[Tun; 2]>,
    /// What waits before each link of the trial, by its place in [`Spec::links`].
    pub(crate) installed: Vec<Installed>,
}

impl Lab {
    /// Builds the laboratory of a trial that [`check`] has let through.
    ///
    /// # Errors
    ///
    /// If the kernel refuses something, or does something else than it was asked for.
    pub(crate) fn build(spec: &Spec, mode: Mode) -> Result<Self, String> {
        let mut lab = Self {
            home: namespace()?,
            gateway: namespace()?,
            provider: namespace()?,
            wan: namespace()?,
            mode,
            tuns: None,
            installed: Vec::new(),
        };
        for (near, far, names) in [
            (&lab.gateway, &lab.home, ["g0", "h0"]),
            (&lab.gateway, &lab.provider, ["g1", "p1"]),
            (&lab.provider, &lab.wan, ["p0", "w0"]),
        ] {
            if mode.ours && names[0] == "g1" {
                continue;
            }
            enter(near)?;
            cable(names, far)?;
        }
        if mode.ours {
            lab.tuns = Some([lab.tun(Direction::Up)?, lab.tun(Direction::Down)?]);
        }
        for direction in Direction::BOTH {
            enter(lab.before(direction))?;
            router(direction, mode.ours)?;
        }
        if mode.ours {
            lab.lead_to_ours(spec)?;
        } else {
            lab.install(spec)?;
        }
        for side in [Side::Home, Side::Wan] {
            lab.enter(side)?;
            host(spec, side, mode)?;
        }
        Ok(lab)
    }

    /// Installs the kernel's disciplines, and what follows them.
    fn install(&mut self, spec: &Spec) -> Result<(), String> {
        let lab = self;
        for (index, link) in spec.links.iter().enumerate() {
            let direction = direction_of(spec, index);
            enter(lab.before(direction))?;
            let device = if direction == Direction::Up { "g1" } else { "p1" };
            lab.installed.push(qdiscs::install(device, link, direction)?);
            priorities(device, spec, direction)?;
        }
        for direction in Direction::BOTH {
            enter(lab.before(direction.reverse()))?;
            let link = used(spec, direction).first().map(|&link| &spec.links[link]);
            let exit = if direction == Direction::Up { "p0" } else { "g0" };
            ways::install(exit, spec, direction, link)?;
        }
        Ok(())
    }

    /// Makes ready what lies around a gateway of ours, which adds the time on the wire itself.
    fn lead_to_ours(&mut self, spec: &Spec) -> Result<(), String> {
        for (index, link) in spec.links.iter().enumerate() {
            let kind = aqmlab_qdisc::kinds::find(&link.qdisc.kind).map_or("", |kind| kind.name);
            let direction = direction_of(spec, index);
            self.installed.push(Installed { device: 0, kind, direction });
        }
        for direction in Direction::BOTH.into_iter().filter(|_| !self.mode.host) {
            enter(self.before(direction.reverse()))?;
            let exit = if direction == Direction::Up { "p0" } else { "g0" };
            ways::install(exit, spec, direction, None)?;
        }
        Ok(())
    }

    /// A router's interface to a gateway of ours, which forwards nothing by itself.
    fn tun(&self, direction: Direction) -> Result<Tun, String> {
        enter(self.before(direction))?;
        let name = if direction == Direction::Up { "g1" } else { "p1" };
        let tun = Tun::new(name).map_err(|error| {
            format!("/dev/net/tun: no interface can be made: {error} (module tun)")
        })?;
        run_all(&[
            format!("ip link set {name} txqueuelen {TUN_ROOM}"),
            // What waits, waits in our discipline.
            format!("tc qdisc add dev {name} root noqueue"),
        ])?;
        Ok(tun)
    }

    /// Packets that a gateway of ours did not read in time, in both directions.
    pub(crate) fn missed_by_ours(&self) -> Result<u64, String> {
        let mut missed = 0;
        for (direction, name) in [(Direction::Up, "g1"), (Direction::Down, "p1")] {
            self.enter_bottleneck(direction)?;
            let shown = run(&format!("ip -s -j link show dev {name}"))?;
            let shown: serde_json::Value = serde_json::from_str(&shown)
                .map_err(|error| format!("what ip said: {error}: {shown}"))?;
            let dropped = shown[0]["stats64"]["tx"]["dropped"].as_u64();
            missed +=
                dropped.ok_or_else(|| format!("{name}: ip does not count what it dropped"))?;
        }
        Ok(missed)
    }

    /// Moves this process into an end.
    pub(crate) fn enter(&self, side: Side) -> Result<(), String> {
        enter(if side == Side::Home { &self.home } else { &self.wan })
    }

    /// Moves this process to where a direction's bottleneck is.
    pub(crate) fn enter_bottleneck(&self, direction: Direction) -> Result<(), String> {
        enter(self.before(direction))
    }

    /// The router before a direction's bottleneck.
    const fn before(&self, direction: Direction) -> &File {
        match direction {
            Direction::Up => &self.gateway,
            Direction::Down => &self.provider,
        }
    }
}

/// The direction that a link is for.
pub(crate) fn direction_of(spec: &Spec, link: usize) -> Direction {
    let up = spec.apps.iter().any(|app| app.up.links.contains(&link));
    if up { Direction::Up } else { Direction::Down }
}

/// The router before a direction's bottleneck, in whose namespace this process is. To a gateway of
/// `ours` leads no cable, and so there is no card that it must know.
fn router(direction: Direction, ours: bool) -> Result<(), String> {
    // Its two interfaces: to its host, and to the other router.
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
    run("ip link set lo up")?;
    File::open("/proc/self/ns/net").map_err(|error| format!("/proc/self/ns/net: {error}"))
}

/// A cable from this namespace to `far`.
fn cable([near, far]: [&str; 2], namespace: &File) -> Result<(), String> {
    let mac = |name: &str| match name {
        "h0" => 1,
        "g0" => 2,
        "g1" => 3,
        "p1" => 4,
        "p0" => 5,
        _ => 6,
    };
    let end = |name: &str| format!("{name} address 02:00:00:00:00:0{}", mac(name));
    // The descriptor is this process's, so the kernel finds the namespace by its path.
    let (process, fd) = (std::process::id(), namespace.as_raw_fd());
    run_all(&[
        format!("ip link add {} type veth peer name {}", end(near), end(far)),
        // Packets of up to 64 kB would otherwise cross the queue as one.
        format!("ethtool -K {near} tso off gso off gro off"),
        format!("ethtool -K {far} tso off gso off gro off"),
        format!("ip link set {far} netns /proc/{process}/fd/{fd}"),
    ])
}

/// Addresses, routes and settings of an end.
fn host(spec: &Spec, side: Side, mode: Mode) -> Result<(), String> {
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
    for (index, app) in spec.apps.iter().enumerate() {
        let (here, there) = (address(index, side), address(index, side.peer()));
        lines.push(format!("ip addr add {here}/32 dev {name}"));
        let how = hosts::route(tcp_of(app, side))?;
        let route = format!("ip route add {there}/32 via {hop} dev {name} src {here}{how}");
        lines.push(route);
    }
    run_all(&lines)?;
    for (setting, value) in [
        // ECN is asked for by the route, so that applications may differ.
        ("net/ipv4/tcp_ecn", "0"),
        // What one connection learnt must not enter the next.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // A flow keeps its hash, and so its queue, after a timeout: the hash of a real gateway
        // is made from addresses and ports, but a veth pair hands on the sender's.
        ("net/core/txrehash", "0"),
        ("net/ipv4/ping_group_range", "0 0"),
    ] {
        sysctl(setting, value)?;
    }
    hosts::prepare(spec, side, mode.host)
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
pub(crate) fn used(spec: &Spec, direction: Direction) -> Vec<usize> {
    let mut links: Vec<_> =
        spec.apps.iter().flat_map(|app| way(app, direction).links.iter().copied()).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// Gives packets the priority of their application where they come to a bottleneck: a cable and a
/// router both forget what the sender's socket gave them (`____dev_forward_skb`, `ip_forward`).
fn priorities(device: &str, spec: &Spec, direction: Direction) -> Result<(), String> {
    let sender = direction.receiver().peer();
    let set = |(index, app): (usize, &AppSpec)| {
        let (from, priority) = (address(index, sender), app.priority.filter(|&it| it > 0)?);
        Some(format!(
            "tc filter add dev {device} egress protocol ip prio 1 u32 match ip src {from}/32 \
             action skbedit priority 0:{priority:x}"
        ))
    };
    let filters: Vec<_> = spec.apps.iter().enumerate().filter_map(set).collect();
    if filters.is_empty() {
        return Ok(());
    }
    run_all(&[format!("tc qdisc add dev {device} clsact")])?;
    run_all(&filters)?;
    let shown = run(&format!("tc -j filter show dev {device} egress"))?;
    let there = shown.matches("\"skbedit\"").count();
    if there != filters.len() {
        let wanted = filters.len();
        return Err(format!("{device}: {wanted} priorities were asked for, but there is {shown}"));
    }
    Ok(())
}

/// Says why the kernel cannot run a trial, if it cannot.
pub(crate) fn check(spec: &Spec, mode: Mode) -> Result<(), String> {
    // What the simulator refuses, whoever its own TCPs are.
    let mut general = spec.clone();
    general.apps.iter_mut().for_each(hosts::forget_controllers);
    aqmlab_sim::check(&general).map_err(|error| error.to_string())?;
    if spec.apps.len() > MOST_APPS {
        return Err(format!(
            "apps: {}; the kernel engine has room for {MOST_APPS}",
            spec.apps.len()
        ));
    }
    if let Some(radio) = spec.links.iter().position(|link| link.wifi.is_some()) {
        return Err(format!(
            "links[{radio}].wifi: a radio of 802.11n (path.wifi): the kernel engine has wires \
             only; leave path.wifi out, or run the simulator"
        ));
    }
    let (up, down) = (used(spec, Direction::Up), used(spec, Direction::Down));
    for (name, links) in [("up", &up), ("down", &down)] {
        if links.len() > 1 {
            return Err(format!(
                "links: {} bottlenecks {name}; the kernel engine has one",
                links.len()
            ));
        }
    }
    if up == down && !up.is_empty() {
        return Err(
            "links: one link is used in both directions; the kernel engine has one for each".into(),
        );
    }
    for (index, link) in spec.links.iter().enumerate() {
        if !up.contains(&index) && !down.contains(&index) {
            return Err(format!("links[{index}]: no application uses it"));
        }
        let at = format!("links[{index}]");
        if mode.ours { qdiscs::check_place(&at, link)? } else { qdiscs::check(&at, link)? }
    }
    for (index, app) in spec.apps.iter().enumerate() {
        check_app(&format!("apps[{index}]"), app, [&up, &down])?;
    }
    hosts::check_together(spec)?;
    // The gateway's own delays know no bounds.
    if mode.ours && mode.host { Ok(()) } else { ways::check(spec) }
}

fn check_app(at: &str, app: &AppSpec, links: [&[usize]; 2]) -> Result<(), String> {
    for direction in Direction::BOTH {
        let (way, at) = (way(app, direction), format!("{at}.{}", direction.name()));
        if way.links != links[direction.index()] {
            return Err(format!(
                "{at}.links: all applications must share the kernel's one bottleneck"
            ));
        }
    }
    for side in [Side::Home, Side::Wan] {
        let at = format!("{at}.{}", if side == Side::Home { "home" } else { "wan" });
        hosts::check(&at, tcp_of(app, side))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(up: &str, down: &str) -> Spec {
        let link = |name| {
            format!(r#"{{"name": "{name}", "rate_bps": 1000000, "qdisc": {{"kind": "pfifo"}}}}"#)
        };
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [{}, {}], "apps": [
                {{"name": "a", "app": {{"kind": "bulk"}}, "start_ns": 0, "up": {up}, "down": {down}}}
            ]}}"#,
            link("up"),
            link("down")
        );
        aqmlab_sim::parse(&json).expect("it is a trial")
    }

    #[test]
    fn a_home_with_one_bottleneck_each_way_can_be_built() {
        let way = |link| format!(r#"{{"links": [{link}], "delay_ns": 20000000}}"#);
        let spec = spec(&way(0), &way(1));
        assert_eq!(check(&spec, Mode::default()), Ok(()));
        assert_eq!(direction_of(&spec, 0), Direction::Up);
        assert_eq!(direction_of(&spec, 1), Direction::Down);
    }

    #[test]
    fn what_cannot_be_built_is_refused_by_name() {
        let plain = r#"{"links": [1], "delay_ns": 0}"#;
        for (up, said) in [
            (r#"{"links": [0, 1], "delay_ns": 0}"#, "links: 2 bottlenecks up"),
            (r#"{"links": [1], "delay_ns": 0}"#, "links: one link is used in both"),
            (r#"{"links": [], "delay_ns": 0}"#, "links[0]: no application uses it"),
            (r#"{"links": [0], "delay_ns": 0, "jitter_ns": 5000000000}"#, "apps[0].up.jitter_ns"),
        ] {
            let problem = check(&spec(up, plain), Mode::default()).expect_err("it cannot be built");
            assert!(problem.starts_with(said), "{problem}");
        }
    }

    #[test]
    fn radios_are_refused_before_anything_else_of_a_link() {
        let way = |link| format!(r#"{{"links": [{link}], "delay_ns": 0}}"#);
        let mut spec = spec(&way(0), &way(1));
        spec.links[1].rate_bps = 0;
        spec.links[1].wifi = serde_json::from_str(
            r#"{"cell": 0, "mcs": 7, "width_mhz": 20, "short_guard": false, "loss": 0.0,
                "aggregate": 32, "airtime_ns": 4096000, "driver": 124}"#,
        )
        .unwrap();
        let problem = check(&spec, Mode::default()).expect_err("there is no radio");
        assert!(problem.starts_with("links[1].wifi: a radio of 802.11n"), "{problem}");
    }

    #[test]
    fn datagrams_that_would_be_fragmented_are_refused() {
        let way = |link| format!(r#"{{"links": [{link}], "delay_ns": 0}}"#);
        let mut spec = spec(&way(0), &way(1));
        spec.apps[0].app.kind = "cbr".into();
        spec.apps[0].app.params.insert("payload".into(), 1_472.into());
        assert_eq!(check(&spec, Mode::default()), Ok(()));
        spec.apps[0].app.params.insert("payload".into(), 1_473.into());
        let problem = check(&spec, Mode::default()).expect_err("it does not fit");
        assert!(problem.starts_with("apps[0].app.payload: 1473 B"), "{problem}");
    }

    #[test]
    fn what_the_simulator_refuses_is_refused() {
        let way = |link| format!(r#"{{"links": [{link}], "delay_ns": 0}}"#);
        let mut wrong = spec(&way(0), &way(1));
        wrong.apps[0].up.links = vec![7];
        let problem = check(&wrong, Mode::default()).expect_err("there is no such link");
        assert!(problem.contains("apps[0].up.links"), "{problem}");
    }

    #[test]
    fn hosts_have_the_addresses_of_the_simulator() {
        assert_eq!(address(3, Side::Home).to_string(), "172.16.10.5");
        assert_eq!(address(3, Side::Wan).to_string(), "172.16.11.5");
    }
}
