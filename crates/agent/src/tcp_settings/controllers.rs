//! The kernel's congestion controllers, and the parameters of the kernel's CUBIC.

use std::collections::BTreeMap;

use aqmlab_core::{Side, Value};
use aqmlab_trial::Spec;
use aqmlab_trial::arguments::arguments;
use aqmlab_trial::spec::{AppSpec, Controller, Named, TcpSpec};

use super::endpoints;

/// The congestion controllers that both the kernel and the simulator have.
const OURS: &[&str] = &["cubic", "reno", "bbr", "dctcp"];
/// The parameters of CUBIC that are parameters of the kernel's module.
const OF_CUBIC: &[&str] = &["hystart", "fast_convergence", "tcp_friendliness"];

/// Returns the kernel's name for an endpoint's congestion controller; `cubic` if the endpoint names
/// none.
pub(super) fn controller(tcp: &TcpSpec) -> &'static str {
    tcp.cc.as_ref().map_or("cubic", |cc| cc.kind.name())
}

/// Removes the controllers that the simulator lacks from both endpoints of an application.
pub(crate) fn forget_controllers(app: &mut AppSpec) {
    for tcp in [&mut app.home, &mut app.wan] {
        tcp.cc.take_if(|cc| matches!(cc.kind, Controller::LinuxOnly(_)));
    }
}

/// Refuses a controller or a parameter that the kernel does not have.
pub(super) fn check(at: &str, tcp: &TcpSpec) -> Result<(), String> {
    let name = controller(tcp);
    let params = tcp.cc.as_ref().map(|cc| &cc.params);
    if Controller::linux_only().contains(&name) {
        return match params.and_then(|params| params.keys().next()) {
            Some(param) => {
                Err(format!("{at}.cc.{param}: the kernel engine runs `{name}` as it is"))
            }
            None => Ok(()),
        };
    }
    if !OURS.contains(&name) {
        let near = match name {
            "newreno" => "; its own is `reno`",
            "bbr3" => "; its own is `bbr`, version 1",
            "prague" => "; it needs L4STeam's kernel",
            "cubic_rfc" | "cubic_freebsd" => "; its own is `cubic`",
            _ => "",
        };
        let known = [OURS, Controller::linux_only()].concat().join(", ");
        return Err(format!(
            "{at}.cc: `{name}`: the kernel does not have it{near}; it has {known}"
        ));
    }
    let cc = cubic(at, tcp)?;
    for (param, value, default) in cc {
        let told = OF_CUBIC.contains(&param) && !matches!(value, Value::Word("plusplus", _));
        if value != default && !(name == "cubic" && told) {
            return Err(format!(
                "{at}.cc.{param}: {value}: the kernel has no such setting; allowed is \
                 {default}"
            ));
        }
    }
    Ok(())
}

/// Returns the parameters of an endpoint's controller: name, value and default.
fn cubic(at: &str, tcp: &TcpSpec) -> Result<Vec<(&'static str, Value, Value)>, String> {
    let Some(kind) = aqmlab_tcp::cc::kinds::find(controller(tcp)) else { return Ok(Vec::new()) };
    let nothing = BTreeMap::new();
    let given = tcp.cc.as_ref().map_or(&nothing, |cc| &cc.params);
    let args = arguments(&format!("{at}.cc"), kind.params, given);
    let args = args.map_err(|error| error.to_string())?;
    let of = |name, default| (name, args.value(name), default);
    Ok(kind.params.iter().map(|param| of(param.name, param.default)).collect())
}

/// Returns the values of CUBIC's module parameters. Refuses endpoints that need different values.
pub(super) fn cubic_module(spec: &Spec) -> Result<BTreeMap<&'static str, bool>, String> {
    let mut all: BTreeMap<&'static str, (String, bool)> = BTreeMap::new();
    for side in [Side::Home, Side::Wan] {
        for (at, tcp) in endpoints(spec, side).filter(|(_, tcp)| controller(tcp) == "cubic") {
            for (name, value, _) in cubic(&at, tcp)? {
                let Some(name) = OF_CUBIC.iter().find(|known| **known == name) else { continue };
                let on = matches!(value, Value::Flag(true) | Value::Word("on", _));
                let (first, known) = all.entry(name).or_insert_with(|| (at.clone(), on));
                if *known != on {
                    return Err(format!(
                        "{at}.cc.{name}: differs from that of {first}; the kernel has one CUBIC \
                         for all"
                    ));
                }
            }
        }
    }
    Ok(all.into_iter().map(|(name, (_, on))| (name, on)).collect())
}
