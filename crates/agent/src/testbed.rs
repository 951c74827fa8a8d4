//! The testbed in the kernel: four network namespaces and the cables between them.
//!
//! ```text
//!  home ─ h0 ═ g0 ─ gateway ─ g1 ═ p1 ─ provider ─ p0 ═ w0 ─ wan
//!          delay ←┘           └→ up  │            └→ delay
//!                               down ←┘
//! ```
//!
//! HTB and the discipline form the bottleneck at the interfaces between the gateway and the
//! provider. At the interfaces to the hosts, netem delays each application's packets by the
//! propagation delay of the application's route. The delay therefore follows the bottleneck in both
//! directions, as in the simulator.
//!
//! **Trap.** A packet that crosses a veth pair still counts against its socket, until the IP input
//! of a router orphans it (`ip_rcv`; `skb_scrub_packet` does not orphan packets). The bottleneck
//! must therefore not be a redirection at the gateway's entrance (`ifb`). TCP small queues would
//! count the bottleneck's queue as the host's own, and limit it to a few packets.
//!
//! If the discipline is in user space, [`crate::userspace_qdisc`] replaces the cable between the
//! routers. On the host's own kernel, that module also replaces netem.
//!
//! Each application has its own address on the internet. In the home, the applications of one host
//! share its address, as in the simulator.

mod ends;
mod netem;

use std::fs::File;

use aqmlab_core::{Direction, Side};
use aqmlab_trial::Spec;
use aqmlab_trial::spec::AppSpec;

pub(crate) use self::ends::{address, check_hosts, interface};
use self::ends::{cable, enter, host, namespace, router};
pub(crate) use self::netem::check;
use crate::command::{run, run_all};
use crate::links::{direction_of, used};
use crate::mode::Mode;
use crate::qdisc::{self, Installed};
use crate::sys::Tun;

/// The queue length of an interface to the discipline in user space. The length exceeds the number
/// of packets that the applications send while the discipline cannot read.
const TUN_ROOM: u32 = 16_384;

/// The network namespaces of a trial.
pub(crate) struct Testbed {
    home: File,
    gateway: File,
    provider: File,
    wan: File,
    pub(crate) mode: Mode,
    /// The interfaces of both routers to the discipline in user space, if the trial uses it.
    pub(crate) tuns: Option<[Tun; 2]>,
    /// The discipline of each link of the trial, by its index in [`Spec::links`].
    pub(crate) installed: Vec<Installed>,
}

impl Testbed {
    /// Builds the testbed of a trial that [`crate::check::check`] has passed.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a setting or changes its value.
    pub(crate) fn build(spec: &Spec, mode: Mode) -> Result<Self, String> {
        let mut testbed = Self {
            home: namespace()?,
            gateway: namespace()?,
            provider: namespace()?,
            wan: namespace()?,
            mode,
            tuns: None,
            installed: Vec::new(),
        };
        for (near, far, names) in [
            (&testbed.gateway, &testbed.home, ["g0", "h0"]),
            (&testbed.gateway, &testbed.provider, ["g1", "p1"]),
            (&testbed.provider, &testbed.wan, ["p0", "w0"]),
        ] {
            if mode.ours && names[0] == "g1" {
                continue;
            }
            enter(near)?;
            cable(names, far)?;
        }
        if mode.ours {
            testbed.tuns = Some([testbed.tun(Direction::Up)?, testbed.tun(Direction::Down)?]);
        }
        for direction in Direction::BOTH {
            enter(testbed.before(direction))?;
            router(direction, mode.ours)?;
        }
        if mode.ours {
            testbed.prepare_userspace_qdisc(spec)?;
        } else {
            testbed.install(spec)?;
        }
        for side in [Side::Home, Side::Wan] {
            testbed.enter(side)?;
            host(spec, side, mode)?;
        }
        Ok(testbed)
    }

    /// Installs the kernel's disciplines with their packet priorities, and the netems behind the
    /// disciplines.
    fn install(&mut self, spec: &Spec) -> Result<(), String> {
        let testbed = self;
        for (index, link) in spec.links.iter().enumerate() {
            let direction = direction_of(spec, index);
            enter(testbed.before(direction))?;
            let device = if direction == Direction::Up { "g1" } else { "p1" };
            testbed.installed.push(qdisc::install(device, link, direction)?);
            priorities(device, spec, direction)?;
        }
        for direction in Direction::BOTH {
            enter(testbed.before(direction.reverse()))?;
            let link = used(spec, direction).first().map(|&link| &spec.links[link]);
            let exit = if direction == Direction::Up { "p0" } else { "g0" };
            netem::install(exit, spec, direction, link)?;
        }
        Ok(())
    }

    /// Prepares a trial with disciplines in user space, which add the time on the wire themselves.
    /// In a virtual machine, installs the netems behind the disciplines.
    fn prepare_userspace_qdisc(&mut self, spec: &Spec) -> Result<(), String> {
        for (index, link) in spec.links.iter().enumerate() {
            let kind = link.qdisc.kind.0.name;
            let direction = direction_of(spec, index);
            self.installed.push(Installed { device: 0, kind, direction });
        }
        for direction in Direction::BOTH.into_iter().filter(|_| !self.mode.host) {
            enter(self.before(direction.reverse()))?;
            let exit = if direction == Direction::Up { "p0" } else { "g0" };
            netem::install(exit, spec, direction, None)?;
        }
        Ok(())
    }

    /// Creates the interface to the discipline in user space, on the router before a direction's
    /// bottleneck.
    fn tun(&self, direction: Direction) -> Result<Tun, String> {
        enter(self.before(direction))?;
        let name = if direction == Direction::Up { "g1" } else { "p1" };
        let tun = Tun::new(name).map_err(|error| {
            format!("/dev/net/tun: no interface can be made: {error} (module tun)")
        })?;
        run_all(&[
            format!("ip link set {name} txqueuelen {TUN_ROOM}"),
            // Packets queue in the discipline in user space, not here.
            format!("tc qdisc add dev {name} root noqueue"),
        ])?;
        Ok(tun)
    }

    /// Returns the number of packets in both directions that the discipline in user space did not
    /// read in time.
    pub(crate) fn missed_by_userspace_qdisc(&self) -> Result<u64, String> {
        let mut missed = 0;
        for (direction, name) in [(Direction::Up, "g1"), (Direction::Down, "p1")] {
            self.enter_bottleneck(direction)?;
            let shown = run(&format!("ip -s -j link show dev {name}"))?;
            let shown: serde_json::Value = serde_json::from_str(&shown)
                .map_err(|error| format!("unreadable output of ip: {error}: {shown}"))?;
            let dropped = shown[0]["stats64"]["tx"]["dropped"].as_u64();
            missed += dropped.ok_or_else(|| format!("{name}: ip shows no counter of drops"))?;
        }
        Ok(missed)
    }

    /// Moves this process into the namespace of an end.
    pub(crate) fn enter(&self, side: Side) -> Result<(), String> {
        enter(if side == Side::Home { &self.home } else { &self.wan })
    }

    /// Moves this process into the namespace of a direction's bottleneck.
    pub(crate) fn enter_bottleneck(&self, direction: Direction) -> Result<(), String> {
        enter(self.before(direction))
    }

    /// Returns the namespace of the router before a direction's bottleneck.
    const fn before(&self, direction: Direction) -> &File {
        match direction {
            Direction::Up => &self.gateway,
            Direction::Down => &self.provider,
        }
    }
}

/// Returns the match of the filter `u32` (tc-u32(8)) for the packets of an application.
/// Applications of one host share its address in the home, so the address on the internet
/// identifies the application.
fn selector(spec: &Spec, app: usize, direction: Direction) -> String {
    let end = if direction == Direction::Up { "dst" } else { "src" };
    format!("match ip {end} {}/32", address(spec, app, Side::Wan))
}

/// Sets the priority of packets at the bottleneck to the priority of their application. The cable
/// and the router reset the priority that the sender's socket has set (`____dev_forward_skb`,
/// `ip_forward`).
fn priorities(device: &str, spec: &Spec, direction: Direction) -> Result<(), String> {
    let set = |(index, app): (usize, &AppSpec)| {
        let (of, priority) = (selector(spec, index, direction), app.priority?);
        // For a packet with a codepoint, the router has derived a priority from the codepoint.
        (priority > 0 || app.dscp.is_some()).then(|| {
            format!(
                "tc filter add dev {device} egress protocol ip prio 1 u32 {of} \
                 action skbedit priority 0:{priority:x}"
            )
        })
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
