//! Every packet of a run, for captures.

use std::io::{self, Write};

use aqmlab_core::{Direction, Event};
use aqmlab_measure::capture::{EPOCH, Endpoints, write_captures};
use aqmlab_measure::{PacketRecord, Records};

use crate::Outcome;
use crate::taps::Taps;
use crate::world::World;

/// Every packet of a run, and the endpoints of each connection.
pub(crate) struct Captures {
    records: Vec<PacketRecord>,
    endpoints: Vec<Endpoints>,
}

impl Captures {
    /// Returns the packets at the taps, together with the drops that the links logged.
    pub(crate) fn new(mut records: Records, world: &World<Taps>) -> Self {
        for link in &world.network.links {
            for (at, id, event) in link.port.log.events.iter().flatten() {
                if let Event::Drop(reason) = event {
                    records.dropped(*id, *reason, *at);
                }
            }
        }
        let endpoints = world.conns.iter().map(|conn| {
            let opened_by: Direction = conn.opener.sends();
            Endpoints { opened_by, ..Endpoints::plain(conn.tuple) }
        });
        Self { records: records.finish(), endpoints: endpoints.collect() }
    }
}

impl Outcome {
    /// Writes two captures, one at the tap in the home and one at the tap on the internet.
    ///
    /// # Errors
    ///
    /// If an output cannot be written to, or if the trial did not keep its packets.
    pub fn write_captures<W: Write>(&self, home: W, wan: W) -> io::Result<()> {
        let captures = self.captures.as_ref().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the trial did not keep its packets")
        })?;
        write_captures(&captures.records, &captures.endpoints, EPOCH, [home, wan]).map(drop)
    }
}
