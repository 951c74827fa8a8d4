//! Checks which trials the kernel can run.

use aqmlab_core::{Direction, Side};
use aqmlab_trial::spec::{AppSpec, RouteSpec};
use aqmlab_trial::{Spec, resolve};

use crate::links::used;
use crate::mode::Mode;
use crate::{qdisc, tcp_settings, testbed};

/// The maximum number of applications. One byte of an address holds the number of its application
/// or host.
const MOST_APPS: usize = 250;

/// Refuses a trial that the kernel cannot run.
pub(crate) fn check(spec: &Spec, mode: Mode) -> Result<(), String> {
    // The kernel cannot run trials that the simulator refuses, except trials with controllers that
    // only the kernel has.
    let mut general = spec.clone();
    general.apps.iter_mut().for_each(tcp_settings::forget_controllers);
    aqmlab_trial::check(&general).map_err(|error| error.to_string())?;
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
        if mode.ours { qdisc::check_place(&at, link)? } else { qdisc::check(&at, link)? }
    }
    for (index, app) in spec.apps.iter().enumerate() {
        check_app(&format!("apps[{index}]"), app, [&up, &down])?;
    }
    tcp_settings::check_together(spec)?;
    testbed::check_hosts(spec)?;
    // The gateway in user space has no bound on its delays.
    if mode.ours && mode.host { Ok(()) } else { testbed::check(spec) }
}

fn check_app(at: &str, app: &AppSpec, links: [&[usize]; 2]) -> Result<(), String> {
    for direction in Direction::BOTH {
        let (way, at) = (app.route(direction), format!("{at}.{}", direction.name()));
        if way.links != links[direction.index()] {
            return Err(format!(
                "{at}.links: all applications must share the kernel's one bottleneck"
            ));
        }
        if has_other_impairment(way) {
            return Err(format!(
                "{at}: the kernel engine delays, loses and reorders packets, and has no other \
                 impairment"
            ));
        }
    }
    if resolve::app(at, app).is_ok_and(|app| app.uses_quic()) {
        return Err(format!(
            "{at}.app: QUIC: the kernel has no QUIC; use a transport over TCP, or run the simulator"
        ));
    }
    if resolve::app(at, app).is_ok_and(|app| app.sets_shapers()) {
        return Err(format!(
            "{at}.app: a program that changes the rates of the gateway: the kernel engine sets the \
             rate of a link once, before the trial; leave the application out, or run the simulator"
        ));
    }
    for side in [Side::Home, Side::Wan] {
        let at = format!("{at}.{}", if side == Side::Home { "home" } else { "wan" });
        tcp_settings::check(&at, app.tcp(side))?;
    }
    Ok(())
}

/// Returns whether a route has an impairment that the kernel engine does not apply.
fn has_other_impairment(route: &RouteSpec) -> bool {
    let mut rest = RouteSpec { links: Vec::new(), ..route.clone() };
    (rest.delay, rest.jitter) = Default::default();
    (rest.loss, rest.reorder) = Default::default();
    rest != RouteSpec::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::direction_of;
    use aqmlab_trial::spec::Named;

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
        aqmlab_trial::parse(&json).expect("it is a trial")
    }

    fn home() -> Spec {
        let way = |link| format!(r#"{{"links": [{link}], "delay_ns": 20000000}}"#);
        spec(&way(0), &way(1))
    }

    #[test]
    fn a_home_with_one_bottleneck_each_way_can_be_built() {
        let spec = home();
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
        let mut spec = home();
        spec.links[1].rate = None;
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
        let mut spec = home();
        spec.apps[0].app.kind = Named::find("cbr").unwrap();
        spec.apps[0].app.params.insert("payload".into(), 1_472.into());
        assert_eq!(check(&spec, Mode::default()), Ok(()));
        spec.apps[0].app.params.insert("payload".into(), 1_473.into());
        let problem = check(&spec, Mode::default()).expect_err("it does not fit");
        assert!(problem.starts_with("apps[0].app.payload: 1473 B"), "{problem}");
    }

    #[test]
    fn quic_is_refused() {
        let mut spec = home();
        spec.apps[0].app.params.insert("transport".into(), "quic".into());
        let problem = check(&spec, Mode::default()).expect_err("the kernel has no QUIC");
        assert!(problem.starts_with("apps[0].app: QUIC"), "{problem}");
    }

    #[test]
    fn programs_that_change_rates_are_refused() {
        let mut spec = home();
        for link in &mut spec.links {
            link.qdisc.kind = Named::find("cake").unwrap();
            link.qdisc.params.insert("bandwidth".into(), 1_000_000.into());
            link.shaper = aqmlab_trial::spec::ShaperSpec::Cake;
        }
        spec.apps[0].app.kind = Named::find("cake_autorate").unwrap();
        let problem = check(&spec, Mode::default()).expect_err("the kernel keeps its rates");
        assert!(problem.starts_with("apps[0].app: a program that changes"), "{problem}");
    }

    #[test]
    fn what_the_simulator_refuses_is_refused() {
        let mut wrong = home();
        wrong.apps[0].up.links = vec![7];
        let problem = check(&wrong, Mode::default()).expect_err("there is no such link");
        assert!(problem.contains("apps[0].up.links"), "{problem}");
    }
}
