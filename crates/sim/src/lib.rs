//! Runs a trial in simulated time: from a [`spec::Spec`] to tables.
//!
//! | Module       | Holds                                                                  |
//! |--------------|------------------------------------------------------------------------|
//! | [`spec`]     | what a trial is, as it comes in                                        |
//! | `build`      | from a spec to a world                                                 |
//! | `agenda`     | who is next                                                            |
//! | `world`      | applications, connections, and the loop                                |
//! | `conn`       | connections and the packets they send                                  |
//! | `datagrams`  | whether an application's datagrams fit its hosts' packets              |
//! | `network`    | links, lines, and a packet's way through them                          |
//! | `wifi`       | radios that share a medium                                             |
//! | `own_links`  | what waits in hosts' own links: TCP small queues                       |
//! | `app_io`     | the world as an application sees it                                    |
//! | `observer`   | who watches; `taps` is the one that measures                           |
//! | `sampler`    | the state of TCPs and queues over time                                 |
//! | [`replay`]   | a discipline alone, asked to do what another was seen to do            |
//! | `outcome`    | what comes out: a digest, and what was found                           |
//! | [`tables`]   | the tables of what was found, for every engine                         |
//!
//! A run is a function of its spec, seed included. Its digest folds every delivery, drop and
//! mark with its time, and does not depend on what is measured.

mod agenda;
mod app_io;
pub mod arguments;
mod build;
mod captures;
mod conn;
mod datagrams;
mod error;
mod grain;
mod line;
mod network;
mod notes;
mod observer;
mod outcome;
mod own_links;
pub mod replay;
mod sampler;
pub mod spec;
mod table;
pub mod tables;
mod taps;
mod tcp_plan;
mod wifi;
mod world;

use aqmlab_core::Instant;

pub use build::port;
pub use error::SpecError;
pub use grain::Grain;
pub use notes::{Note, Notes};
pub use outcome::Outcome;
pub use spec::Spec;
pub use table::{Column, Table};
pub use wifi::rate_of as wifi_rate;

use crate::observer::{Nobody, Observer};
use crate::taps::Taps;
use crate::world::World;

/// Reads a trial from JSON.
///
/// # Errors
///
/// If it is not JSON, or not a trial: the message says where.
pub fn parse(json: &str) -> Result<Spec, SpecError> {
    serde_json::from_str(json).map_err(|error| {
        let at = format!("line {}, column {}", error.line(), error.column());
        SpecError::new(at, error.to_string())
    })
}

/// Checks all of a trial that can be known without running it.
///
/// # Errors
///
/// As [`run`].
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    build::check_whole(spec)?;
    build::build(spec, Nobody).map(drop)
}

/// Runs a trial.
///
/// # Errors
///
/// If it names something that does not exist or asks for something impossible.
///
/// # Panics
///
/// If a packet was created or lost by mistake: every packet sent is delivered, destroyed,
/// waiting or travelling, and every run checks it.
pub fn run(spec: &Spec) -> Result<Outcome, SpecError> {
    build::check_whole(spec)?; // before anybody makes room for what it asks
    if spec.measure.enabled {
        let taps = Taps::new(spec);
        let mut world = build::build(spec, taps)?;
        if spec.measure.packets {
            for link in &mut world.network.links {
                link.port.log.events = Some(Vec::new());
            }
        }
        move_world(&mut world, spec);
        Ok(outcome::measured(world, spec))
    } else {
        let mut world = build::build(spec, Nobody)?;
        move_world(&mut world, spec);
        Ok(outcome::bare(&world))
    }
}

fn move_world<O: Observer>(world: &mut World<O>, spec: &Spec) {
    let end = Instant::from_nanos(spec.duration_ns);
    let mut marks: Vec<_> = (0..spec.apps.len())
        .flat_map(|app| {
            let active = spec.active(app);
            [(active.start, 0, app), (active.end, 1, app)]
        })
        .collect();
    marks.sort_unstable();
    for (at, mark, app) in marks {
        world.run(at);
        world.mark_read(app, mark);
    }
    world.run(end);
    let network = &world.network;
    let accounted = network.delivered + network.destroyed() + network.in_transit();
    assert_eq!(network.packets, accounted, "packets sent, and packets accounted for");
}
