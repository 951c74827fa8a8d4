//! A foreign probe: a connection of its own, and one request on it.

use aqmlab_core::{Instant, Side};

use super::channel::{Channel, Heard, Sizes};
use super::history::ForeignTimes;
use crate::Io;

/// A foreign probe in progress.
#[derive(Debug)]
pub(crate) struct ForeignProbe {
    pub(crate) channel: Channel,
    began: Instant,
    opened: Option<Instant>,
    /// The time of the request.
    requested: Option<Instant>,
    tls_rtts: u32,
}

impl ForeignProbe {
    /// Opens the connection of a probe.
    pub(crate) fn begin(sizes: Sizes, io: &mut dyn Io) -> Self {
        let channel = Channel::open(sizes, io);
        let (began, tls_rtts) = (io.now(), sizes.tls_rtts);
        Self { channel, began, opened: None, requested: None, tls_rtts }
    }

    /// Begins the TLS handshake after the TCP handshake; without TLS, sends the request.
    pub(crate) fn opened(&mut self, io: &mut dyn Io) {
        if self.opened.is_none() {
            self.opened = Some(io.now());
            if self.channel.secure(io) {
                self.request(io);
            }
        }
    }

    fn request(&mut self, io: &mut dyn Io) {
        self.requested = Some(io.now());
        self.channel.probe(io);
    }

    /// Processes the messages that the client has read. When the response has arrived, closes the
    /// connection and returns the times of the probe.
    pub(crate) fn hear(&mut self, io: &mut dyn Io) -> Option<ForeignTimes> {
        while let Heard::Secured = self.channel.hear(io)? {
            self.request(io);
        }
        let (opened, requested) = (self.opened?, self.requested?);
        io.close(self.channel.conn, Side::Home);
        let round_trips = f64::from(self.tls_rtts);
        Some(ForeignTimes {
            tcp: ms(self.began, opened),
            tls: (self.tls_rtts > 0).then(|| ms(opened, requested) / round_trips),
            http: ms(requested, io.now()),
        })
    }
}

/// Returns the time from `from` to `to` in milliseconds.
pub(crate) fn ms(from: Instant, to: Instant) -> f64 {
    to.since(from).as_secs_f64() * 1e3
}
