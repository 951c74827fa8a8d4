//! The settings of a TCP endpoint: socket options of its connections, attributes of its route, and
//! sysctls that all applications of a host share.
//!
//! Sources: Linux 6.1 Documentation/networking/ip-sysctl.rst, tcp(7), ip-route(8).

mod controllers;
mod settings;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use aqmlab_core::{Args, Bytes, Side};
use aqmlab_tcp::{Profile, Stack};
use aqmlab_trial::Spec;
use aqmlab_trial::resolve;
use aqmlab_trial::spec::{AppSpec, Host, Named, TcpSpec};

pub(crate) use self::controllers::forget_controllers;
use self::controllers::{controller, cubic_module};
use self::settings::{of_host, settings};
use crate::command::sysctl;
use crate::sys;

/// The highest MTU: the MTU of the cables and of the routers' interfaces.
const MOST_MTU: Bytes = Bytes(1_500);
/// The lowest MTU. With a smaller MTU the kernel offers a larger segment than fits
/// (`ip_rt_min_advmss`).
const LEAST_MTU: Bytes = Bytes(296);

/// Refuses an endpoint that the kernel cannot provide.
pub(crate) fn check(at: &str, tcp: &TcpSpec) -> Result<(), String> {
    if tcp.profile != Host::default() {
        let problem = "a Linux kernel cannot be this host; the kernel engine has `linux`";
        return Err(format!("{at}.profile: `{}`: {problem}", tcp.profile.name()));
    }
    controllers::check(at, tcp)?;
    if !(LEAST_MTU..=MOST_MTU).contains(&tcp.mtu) {
        let range = format!("{} to {}", LEAST_MTU.0, MOST_MTU.0);
        return Err(format!("{at}.mtu: {} B: the kernel engine has {range}", tcp.mtu.0));
    }
    settings::check(at, tcp)
}

/// Refuses applications that cannot share their hosts. TCP settings apply to a whole host, and
/// CUBIC's parameters to a whole kernel.
pub(crate) fn check_together(spec: &Spec) -> Result<(), String> {
    for side in [Side::Home, Side::Wan] {
        sysctls(spec, side)?;
    }
    cubic_module(spec).map(drop)
}

/// Returns every endpoint at `side` that has a TCP, with its place in the trial.
fn endpoints(spec: &Spec, side: Side) -> impl Iterator<Item = (String, &TcpSpec)> {
    let name = if side == Side::Home { "home" } else { "wan" };
    let apps = spec.apps.iter().enumerate();
    apps.filter(|(index, app)| uses_tcp(*index, app))
        .map(move |(index, app)| (format!("apps[{index}].{name}"), app.tcp(side)))
}

/// Returns whether an application opens TCP connections. The application's parameters have already
/// been checked.
fn uses_tcp(index: usize, app: &AppSpec) -> bool {
    resolve::app(&format!("apps[{index}]"), app).is_ok_and(|app| app.uses_tcp())
}

/// Returns the sysctls of the host at `side`, by path below `/proc/sys/net/ipv4`. Refuses endpoints
/// that need different values.
fn sysctls(spec: &Spec, side: Side) -> Result<BTreeMap<&'static str, String>, String> {
    let mut all: BTreeMap<&'static str, (String, String)> = BTreeMap::new();
    for (at, tcp) in endpoints(spec, side) {
        let args = settings(&at, tcp)?;
        for (name, text) in of_host(&args) {
            let (first, known) = all.entry(name).or_insert_with(|| (at.clone(), text.clone()));
            if *known != text {
                return Err(format!(
                    "{at}.settings: {name} would be {text}, but {known} for {first}; the kernel \
                     engine has one host for all applications of a side"
                ));
            }
        }
    }
    Ok(all.into_iter().map(|(name, (_, text))| (name, text)).collect())
}

/// Applies the settings of a whole host, in the namespace of this process. If the kernel is shared
/// (`shared_kernel`), settings of the whole kernel are only compared.
pub(crate) fn prepare(spec: &Spec, side: Side, shared_kernel: bool) -> Result<(), String> {
    for (name, value) in sysctls(spec, side)? {
        sysctl(&format!("net/ipv4/{name}"), &value)?;
    }
    for (name, on) in cubic_module(spec)? {
        let path = format!("/sys/module/tcp_cubic/parameters/{name}");
        let value = if on { "1" } else { "0" };
        if shared_kernel {
            same_for_all(&path, value)?;
            continue;
        }
        std::fs::write(&path, value).map_err(|error| format!("{path} = {value}: {error}"))?;
    }
    Ok(())
}

/// Checks that a setting of the whole kernel has the requested value.
fn same_for_all(path: &str, value: &str) -> Result<(), String> {
    let there = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    if there.trim() == value {
        return Ok(());
    }
    let there = there.trim();
    Err(format!(
        "{path} is {there}, and the trial wants {value}: it holds for the whole host, so aqmlab \
         does not set it"
    ))
}

/// Returns the attributes of the route over which an endpoint sends, as words for ip.
pub(crate) fn route(tcp: &TcpSpec) -> Result<String, String> {
    let args = settings("", tcp)?;
    let mut text = String::new();
    if tcp.ecn {
        text += " features ecn";
    }
    if tcp.quickack == Some(true) {
        text += " quickack 1";
    }
    if tcp.mtu != MOST_MTU {
        text = format!("{text} mtu lock {}", tcp.mtu.0);
    }
    let linux = Args::defaults(Profile::settings(Stack::Linux));
    if args.count("initial_window") != linux.count("initial_window") {
        text = format!("{text} initcwnd {}", args.count("initial_window"));
    }
    if args.duration("rto_min") != linux.duration("rto_min") {
        text = format!("{text} rto_min {}us", args.duration("rto_min").as_micros());
    }
    Ok(text)
}

/// Sets an endpoint's congestion controller and buffers on a listening socket, or on a socket that
/// is not yet connected.
pub(crate) fn apply(fd: &OwnedFd, tcp: &TcpSpec) -> std::io::Result<()> {
    sys::set_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, controller(tcp).as_bytes())?;
    // The kernel doubles both numbers, because half of a buffer is for its own bookkeeping. A
    // receive buffer of twice the window size makes the kernel offer that window (tcp_adv_win_scale
    // 1).
    if let Some(bytes) = tcp.send_buffer {
        sys::set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes.0 as i32)?;
    }
    if let Some(bytes) = tcp.receive_buffer {
        sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes.0 as i32)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn tcp(json: Json) -> TcpSpec {
        serde_json::from_value(json).expect("it is an endpoint")
    }

    fn spec(homes: &[Json]) -> Spec {
        let apps: Vec<_> = homes
            .iter()
            .enumerate()
            .map(|(index, home)| {
                let way = json!({"links": [], "delay_ns": 0});
                json!({
                    "name": index.to_string(), "app": {"kind": "bulk"}, "start_ns": 0, "up": way,
                    "down": way, "home": home,
                })
            })
            .collect();
        let whole = json!({"seed": 1, "duration_ns": 1, "links": [], "apps": apps});
        serde_json::from_value(whole).expect("it is a trial")
    }

    #[test]
    fn what_the_kernel_can_be_told_is_let_through() {
        for settings in [
            json!({}),
            json!({"sack": false, "timestamps": false, "tlp": false}),
            json!({"tcp_ecn": 2}),
            json!({"initial_window": 3, "restart_window": 3, "rto_min": 50_000_000}),
            json!({"receive_buffer_max": 1_000_000, "min_rtt_window": 10_000_000_000_u64}),
        ] {
            assert_eq!(check("apps[0].home", &tcp(json!({"settings": settings}))), Ok(()));
        }
        let cc = json!({"kind": "cubic", "params": {"hystart": "off"}});
        assert_eq!(check("apps[0].home", &tcp(json!({"cc": cc, "mtu": 576}))), Ok(()));
        assert_eq!(check("apps[0].home", &tcp(json!({"cc": {"kind": "vegas"}}))), Ok(()));
        assert_eq!(check("apps[0].home", &tcp(json!({"cc": {"kind": "dctcp"}}))), Ok(()));
    }

    #[test]
    fn what_it_cannot_be_told_is_refused_by_name() {
        let cubic = |params: Json| json!({"cc": {"kind": "cubic", "params": params}});
        for (endpoint, said) in [
            (json!({"profile": "windows"}), "at.profile: `windows`"),
            (json!({"mtu": 9_000}), "at.mtu: 9000 B"),
            (json!({"cc": {"kind": "newreno"}}), "at.cc: `newreno`"),
            (json!({"cc": {"kind": "bbr", "params": {"seed": 2}}}), "at.cc.seed: 2"),
            (cubic(json!({"hystart": "plusplus"})), "at.cc.hystart: plusplus"),
            (cubic(json!({"hz": 1_000})), "at.cc.hz"),
            (json!({"cc": {"kind": "vegas", "params": {"alpha": 1}}}), "at.cc.alpha"),
            (json!({"settings": {"prr": false}}), "at.settings.prr: false"),
            (json!({"settings": {"initial_window": 3}}), "at.settings.restart_window: 10"),
            (json!({"settings": {"min_rtt_window": 1_500_000_000}}), "at.settings.min_rtt_window"),
            (
                json!({"settings": {"tcp_ecn": 3}}),
                "at.settings.tcp_ecn: 3: Linux 6.1 has no AccECN",
            ),
            (
                json!({"cc": {"kind": "bbr3"}}),
                "at.cc: `bbr3`: the kernel does not have it; its own is",
            ),
            (
                json!({"cc": {"kind": "prague"}}),
                "at.cc: `prague`: the kernel does not have it; it needs",
            ),
            (json!({"settings": {"sakc": true}}), "at.settings.sakc"),
        ] {
            let problem = check("at", &tcp(endpoint)).expect_err("it cannot be");
            assert!(problem.starts_with(said), "{problem}");
        }
    }

    #[test]
    fn settings_hold_for_a_whole_host() {
        let home = |sack: bool| json!({"settings": {"sack": sack, "receive_buffer": 90_000}});
        let same = spec(&[home(false), home(false)]);
        assert_eq!(check_together(&same), Ok(()));
        let all = sysctls(&same, Side::Home).expect("they agree");
        assert_eq!(all["tcp_sack"], "0");
        assert_eq!(all["tcp_rmem"], "4096\t90000\t6291456");
        assert_eq!(all["tcp_early_retrans"], "3");
        assert_eq!(all["tcp_ecn"], "0", "a peer's request alone does not switch ECN on");
        let problem = check_together(&spec(&[home(true), home(false)])).expect_err("they differ");
        assert!(problem.starts_with("apps[1].home.settings: tcp_sack would be 0"), "{problem}");
        let cc = |hystart: &str| json!({"cc": {"kind": "cubic", "params": {"hystart": hystart}}});
        let problem = check_together(&spec(&[cc("on"), cc("off")])).expect_err("they differ");
        assert!(
            problem.starts_with("apps[0].wan.cc.hystart")
                || problem.starts_with("apps[1].home.cc.hystart"),
            "{problem}"
        );
    }

    #[test]
    fn a_route_carries_what_is_for_one_application() {
        let told = tcp(json!({
            "ecn": true, "quickack": true, "mtu": 576,
            "settings": {"initial_window": 3, "restart_window": 3, "rto_min": 50_000_000},
        }));
        let want = " features ecn quickack 1 mtu lock 576 initcwnd 3 rto_min 50000us";
        assert_eq!(route(&told).as_deref(), Ok(want));
        assert_eq!(route(&tcp(json!({}))).as_deref(), Ok(""));
    }
}
