//! The asking half of a probe: numbered, time-stamped requests at a fixed interval.

use aqmlab_core::{Duration, Instant, Side};

use crate::{ConnId, Datagram, Io, Open, datagrams};

/// Sends requests from the home over one socket. Their times lie on a grid that begins with the
/// first, so their rate does not depend on replies.
pub(crate) struct Prober {
    payload: u32,
    interval: Duration,
    conn: Option<ConnId>,
    running: bool,
    started: Instant,
    sent: u64,
}

impl Prober {
    /// A prober that sends `payload` bytes every `interval`, once started.
    pub(crate) const fn new(payload: u32, interval: Duration) -> Self {
        Self { payload, interval, conn: None, running: false, started: Instant::ZERO, sent: 0 }
    }

    /// Opens the socket and sends the first request.
    pub(crate) fn start(&mut self, open: Open, io: &mut dyn Io) {
        self.running = true;
        self.started = io.now();
        self.conn = Some(io.open(open));
        self.ask(io);
    }

    /// Sends the next request, unless stopped, and requests a wake-up for the one after it.
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

    /// Whether requests are being sent, and answered.
    pub(crate) const fn running(&self) -> bool {
        self.running
    }

    /// Bytes of payload in a request.
    pub(crate) const fn payload(&self) -> u32 {
        self.payload
    }

    /// The datagrams that it sends.
    pub(crate) const fn datagram(&self) -> Datagram {
        Datagram::of_payload(self.payload)
    }

    /// Returns the number of requests sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }
}
