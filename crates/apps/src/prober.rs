//! The requesting end of a probe: numbered, time-stamped requests at a fixed interval.

use aqmlab_core::{Duration, Instant, Side};

use crate::{ConnId, Datagram, Io, Open, datagrams};

/// A sender of requests from the home over one socket. Each request is sent a whole number of
/// intervals after the first, so the rate does not depend on replies.
pub(crate) struct Prober {
    payload: u32,
    interval: Duration,
    conn: Option<ConnId>,
    running: bool,
    started: Instant,
    sent: u64,
}

impl Prober {
    /// Returns a prober that sends `payload` bytes every `interval` after it is started.
    pub(crate) const fn new(payload: u32, interval: Duration) -> Self {
        Self { payload, interval, conn: None, running: false, started: Instant::ZERO, sent: 0 }
    }

    /// Opens the socket, sends the first request, and requests a wake-up for the next.
    pub(crate) fn start(&mut self, open: Open, io: &mut dyn Io) {
        self.running = true;
        self.started = io.now();
        self.conn = Some(io.open(open));
        self.ask(io);
    }

    /// Sends the next request, unless the prober is stopped, and requests a wake-up for the request
    /// after it.
    pub(crate) fn ask(&mut self, io: &mut dyn Io) {
        let (Some(conn), true) = (self.conn, self.running) else { return };
        io.send(conn, Side::Home, self.payload, datagrams::stamp(self.sent, io.now()));
        self.sent += 1;
        io.wake_at(self.started + self.interval * self.sent, 0);
    }

    /// Closes the socket at both ends; does nothing if it is not open.
    pub(crate) fn stop(&mut self, io: &mut dyn Io) {
        if let (true, Some(conn)) = (std::mem::take(&mut self.running), self.conn) {
            datagrams::close(conn, io);
        }
    }

    /// Returns whether the prober has been started and not stopped.
    pub(crate) const fn running(&self) -> bool {
        self.running
    }

    /// Returns the number of payload bytes of a request.
    pub(crate) const fn payload(&self) -> u32 {
        self.payload
    }

    /// Returns the size of the prober's datagrams.
    pub(crate) const fn datagram(&self) -> Datagram {
        Datagram::of_payload(self.payload)
    }

    /// Returns the number of requests sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }
}
