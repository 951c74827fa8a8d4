//! Runs a trial in simulated time: from a [`Spec`] to tables.
//!
//! | Module       | Contents                                                               |
//! |--------------|------------------------------------------------------------------------|
//! | `build`      | the construction of a world from the parts of a trial                  |
//! | `agenda`     | the actors and the times of their calls                                |
//! | `world`      | applications, connections, and the loop                                |
//! | `conn`       | connections and the fields that their packets share                    |
//! | `network`    | links and delay lines, and the moves of packets through them           |
//! | `route`      | the links and lines of each flow, with loss and jitter                 |
//! | `delay_line` | propagation delays with the packets that they delay                    |
//! | `wifi`       | radios that share a medium                                             |
//! | `own_links`  | the memory of packets in the hosts' own links (TCP small queues)       |
//! | `quic`       | QUIC connections and their streams                                     |
//! | `engine`     | the sockets and the clock of the applications                          |
//! | `observer`   | the interface of observers of a run                                    |
//! | `taps`       | the observer that measures                                             |
//! | `captures`   | the packets of a run, for captures                                     |
//! | `sampler`    | the state of senders and queues over time                              |
//! | [`replay`]   | the comparison of a discipline with a recording of another one         |
//! | `outcome`    | the result: a digest and tables                                        |
//!
//! A run is a function of its spec, including the seed. The digest of a run folds every delivery,
//! and every drop and mark by a link, with its time. The digest does not depend on the measurement.

mod agenda;
mod build;
mod captures;
mod conn;
mod delay_line;
mod engine;
mod network;
mod observer;
mod outcome;
mod own_links;
mod quic;
pub mod replay;
mod route;
mod sampler;
mod taps;
mod wifi;
mod world;

use aqmlab_measure::InOrder;
use aqmlab_trial::resolve::Resolved;
use aqmlab_trial::{Spec, SpecError, app_runner, resolve};

pub use outcome::Outcome;

use crate::observer::{NoObserver, Observer};
use crate::taps::Taps;
use crate::world::World;

/// Runs a trial and returns its result.
///
/// # Errors
///
/// If the specification is invalid.
///
/// # Panics
///
/// If a packet was created or lost by mistake. Every run checks that each packet sent is delivered,
/// dropped, queued or in transit.
pub fn run(spec: &Spec) -> Result<Outcome, SpecError> {
    let parts = resolve(spec)?;
    if spec.measure.enabled {
        let taps = Taps::new(spec, in_order(spec, &parts));
        let mut world = build::build(spec, parts, taps);
        if spec.measure.packets {
            for link in &mut world.network.links {
                link.port.log.events = Some(Vec::new());
            }
        }
        run_to_end(&mut world, spec);
        Ok(outcome::measured(world, spec))
    } else {
        let mut world = build::build(spec, parts, NoObserver);
        run_to_end(&mut world, spec);
        Ok(outcome::bare(&world))
    }
}

/// Returns the packets that no part of the network reorders.
fn in_order(spec: &Spec, parts: &Resolved) -> InOrder {
    let by_links = parts.links.iter().all(|link| link.radio.is_none() && link.port.keeps_order());
    let by_routes = spec.apps.iter().all(|app| !app.up.reorders() && !app.down.reorders());
    if by_links && by_routes { InOrder::Connection } else { InOrder::Nothing }
}

/// Runs a world to the end of its trial, and checks that no packet is missing.
fn run_to_end<O: Observer>(world: &mut World<O>, spec: &Spec) {
    let end = spec.end();
    while let Some(at) = world.runner.next_mark() {
        world.run(at);
        app_runner::set_marks(world, at);
    }
    world.run(end);
    let network = &world.network;
    let accounted = network.delivered + network.destroyed() + network.in_transit();
    assert_eq!(network.packets, accounted, "packets sent, and packets accounted for");
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: &str = r#""rate_bps": 9000000"#;

    /// Returns the packets that keep their order in a home whose downstream link has this
    /// discipline. `link` and `route` are more members of that link and of the route over it.
    fn found(qdisc: &str, link: &str, route: &str) -> InOrder {
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [
            {{"name": "up", "rate_bps": 1000000, "qdisc": {{"kind": "fq_codel"}}}},
            {{"name": "down", "qdisc": {{"kind": "{qdisc}"}}, {link}}}],
            "apps": [{{"name": "file", "app": {{"kind": "bulk"}}, "start_ns": 0,
            "up": {{"links": [0], "delay_ns": 10000000}},
            "down": {{"links": [1], "delay_ns": 10000000 {route}}}}}]}}"#
        );
        let spec = aqmlab_trial::parse(&json).expect("it is a trial");
        in_order(&spec, &resolve(&spec).expect("it has parts"))
    }

    #[test]
    fn connections_keep_their_order_unless_a_link_or_a_route_may_reorder_packets() {
        for qdisc in ["pfifo", "pfifo_fast", "codel_freebsd", "pie", "red", "fq_pie"] {
            assert_eq!(found(qdisc, WIRE, ""), InOrder::Connection, "{qdisc}");
        }
        for qdisc in ["cake", "sfq", "dualpi2", "dualpi2_rfc"] {
            assert_eq!(found(qdisc, WIRE, ""), InOrder::Nothing, "{qdisc}");
        }
        let jitter = r#", "jitter_ns": 1000000"#;
        assert_eq!(found("pfifo", WIRE, jitter), InOrder::Connection);
        let reorders = format!(r#"{jitter}, "reorder": true"#);
        assert_eq!(found("pfifo", WIRE, &reorders), InOrder::Nothing);
        let radio = r#""wifi": {"cell": 0, "mcs": 7, "width_mhz": 20, "short_guard": false,
            "loss": 0.0, "aggregate": 32, "airtime_ns": 4096000, "driver": 124}"#;
        assert_eq!(found("pfifo", radio, ""), InOrder::Nothing);
    }
}
