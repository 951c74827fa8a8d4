//! Datagrams of one size at a constant interval, in one direction or in both directions over one
//! socket.

use aqmlab_core::{Direction, Duration, Ecn, Instant, Side};

use crate::datagrams::{self, Arrivals};
use crate::params::sends_in;
use crate::quantiles::Summary;
use crate::{ConnId, Datagram, Io, Open};

/// One direction of the flow.
#[derive(Debug)]
struct Leg {
    direction: Direction,
    first: Instant,
    sent: u64,
    arrivals: Arrivals,
}

/// A constant-rate flow and its arrivals.
#[derive(Debug)]
pub(crate) struct Pacer {
    payload: u32,
    interval: Duration,
    ecn: Ecn,
    legs: Vec<Leg>,
    conn: Option<ConnId>,
    running: bool,
}

impl Pacer {
    pub(crate) fn new(payload: u32, interval: Duration, directions: &[Direction]) -> Self {
        let leg = |&direction| Leg {
            direction,
            first: Instant::ZERO,
            sent: 0,
            arrivals: Arrivals::default(),
        };
        let legs = directions.iter().map(leg).collect();
        Self { payload, interval, ecn: Ecn::NotEct, legs, conn: None, running: false }
    }

    /// Returns the flow with this ECN field in its datagrams.
    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    /// Returns the size of the flow's datagrams.
    pub(crate) const fn datagram(&self) -> Datagram {
        Datagram::of_payload(self.payload)
    }

    /// Opens the socket and starts every direction. The second direction starts at a random time in
    /// the first interval, because two hosts do not send at the same times.
    pub(crate) fn start(&mut self, io: &mut dyn Io) {
        self.running = true;
        self.conn = Some(io.open(Open { ecn: self.ecn, ..Open::udp(Side::Home) }));
        let now = io.now();
        for n in 0..self.legs.len() {
            let phase = if n == 0 { 0 } else { io.rng().below(self.interval.as_nanos()) };
            self.legs[n].first = now + Duration::from_nanos(phase);
            io.wake_at(self.legs[n].first, n as u64);
        }
    }

    /// Sends the packet due in the direction with the index `token`, and requests the next wake-up.
    pub(crate) fn wake(&mut self, token: u64, io: &mut dyn Io) {
        let (Some(conn), true) = (self.conn, self.running) else { return };
        let Some(leg) = self.legs.get_mut(token as usize) else { return };
        let now = io.now();
        io.send(conn, sends_in(leg.direction), self.payload, datagrams::stamp(leg.sent, now));
        leg.sent += 1;
        io.wake_at(leg.first + self.interval * leg.sent, token);
    }

    /// Processes a datagram read at `at`. Returns its direction and its delay; `None` if the flow
    /// does not have this direction.
    pub(crate) fn arrive(
        &mut self,
        at: Side,
        tag: u64,
        now: Instant,
    ) -> Option<(Direction, Duration)> {
        let direction = at.peer().sends();
        let leg = self.legs.iter_mut().find(|leg| leg.direction == direction)?;
        Some((direction, leg.arrivals.take(tag, now)))
    }

    /// Stops sending and closes the socket at both ends.
    pub(crate) fn stop(&mut self, io: &mut dyn Io) {
        if std::mem::take(&mut self.running) {
            if let Some(conn) = self.conn {
                datagrams::close(conn, io);
            }
        }
    }

    /// Returns the number of packets sent in `direction`, and their arrivals; `None` if the flow
    /// does not have this direction.
    pub(crate) fn leg(&self, direction: Direction) -> Option<(u64, &Arrivals)> {
        let leg = self.legs.iter().find(|leg| leg.direction == direction)?;
        Some((leg.sent, &leg.arrivals))
    }

    /// Adds the metrics of each direction to `out`.
    pub(crate) fn report(&self, out: &mut Summary) {
        for leg in &self.legs {
            leg.arrivals.report(leg.direction, leg.sent, out);
        }
    }
}
