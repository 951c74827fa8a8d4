//! A connection with TLS and HTTP/2: the client in the home, and the server on the internet.

use aqmlab_core::{Instant, Side};

use crate::pipe::Pipe;
use crate::tls::{CERTIFICATES, FINISH, FINISHED, HELLO};
use crate::{ConnId, Io, Open};

/// The length in bytes of a DATA frame of an endless body: the initial `SETTINGS_MAX_FRAME_SIZE`
/// and the frame's header (RFC 9113 §4.1, §6.5.2).
pub(crate) const FRAME: u64 = 16_384 + 9;

/// The sizes of messages, and the length of the TLS handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The number of round trips of the TLS handshake; zero stands for no TLS.
    pub(crate) tls_rtts: u32,
    pub(crate) request: u64,
    pub(crate) header: u64,
}

/// The messages of the two ends.
#[derive(Clone, Copy, Debug)]
enum Message {
    /// A message of the TLS handshake. The value is the number of further round trips of the
    /// handshake.
    Tls(u32),
    /// The request of a probe, or the response to it. The value is the time of the request.
    Probe(Instant),
    /// The request of a body without end.
    Get,
    /// The header of a body without end, or a frame of its data.
    Body,
}

/// A message that the client has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The TLS handshake is complete.
    Secured,
    /// The response to a probe that was requested at this time.
    Response(Instant),
}

/// A connection and its messages.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) conn: ConnId,
    sizes: Sizes,
    up: Pipe<Message>,
    down: Pipe<Message>,
    /// The end that sends a body without end, if one does.
    sender: Option<Side>,
}

impl Channel {
    /// Opens a connection.
    pub(crate) fn open(sizes: Sizes, io: &mut dyn Io) -> Self {
        let conn = io.open(Open { nodelay: true, ..Open::tcp(Side::Home) });
        let (up, down) = (Pipe::new(conn, Side::Home), Pipe::new(conn, Side::Wan));
        Self { conn, sizes, up, down, sender: None }
    }

    /// Begins the TLS handshake, if there is one. Returns whether there is none, so that requests
    /// may be sent.
    pub(crate) fn secure(&mut self, io: &mut dyn Io) -> bool {
        if let Some(left) = self.sizes.tls_rtts.checked_sub(1) {
            self.up.push(HELLO, Message::Tls(left), io);
        }
        self.sizes.tls_rtts == 0
    }

    /// Requests an object of one byte. Returns the bytes of an upload's frames that the client then
    /// handed to its socket.
    pub(crate) fn probe(&mut self, io: &mut dyn Io) -> u64 {
        self.up.push(self.sizes.request, Message::Probe(io.now()), io);
        self.fill(Side::Home, io)
    }

    /// Requests a body without end.
    pub(crate) fn download(&mut self, io: &mut dyn Io) {
        self.up.push(self.sizes.request, Message::Get, io);
    }

    /// Sends a request with a body without end. Returns the bytes of the body that the client
    /// handed to its socket.
    pub(crate) fn upload(&mut self, io: &mut dyn Io) -> u64 {
        self.up.push(self.sizes.request, Message::Body, io);
        self.sender = Some(Side::Home);
        self.fill(Side::Home, io)
    }

    fn pipe(&mut self, from: Side) -> &mut Pipe<Message> {
        if from == Side::Home { &mut self.up } else { &mut self.down }
    }

    /// Writes at `at` as much as the send buffer accepts. Returns the total length of the body's
    /// frames that were begun. The rest of a frame that the send buffer did not accept precedes the
    /// next message.
    ///
    /// This function is also called after the message of a probe was written. If the send buffer
    /// accepted that message completely, no notice of new space follows, so this call continues the
    /// body at once.
    pub(crate) fn fill(&mut self, at: Side, io: &mut dyn Io) -> u64 {
        let is_sender = self.sender == Some(at);
        let pipe = self.pipe(at);
        pipe.flush(io);
        let mut handed = 0;
        while is_sender && !pipe.is_blocked() {
            pipe.push(FRAME, Message::Body, io);
            handed += FRAME;
        }
        handed
    }

    /// Records that `bytes` more were read at `at`.
    pub(crate) fn advance(&mut self, at: Side, bytes: u64) {
        self.pipe(at.peer()).advance(bytes);
    }

    /// Lets the server process the messages that it has read.
    pub(crate) fn serve(&mut self, io: &mut dyn Io) {
        while let Some(message) = self.up.pop() {
            match message {
                Message::Tls(left) => {
                    let is_first = left + 1 == self.sizes.tls_rtts;
                    let size = if is_first { CERTIFICATES } else { FINISHED };
                    self.down.push(size, message, io);
                }
                Message::Probe(_) => {
                    self.down.push(self.sizes.header + 1, message, io);
                    self.fill(Side::Wan, io);
                }
                Message::Get => {
                    self.down.push(self.sizes.header, Message::Body, io);
                    self.sender = Some(Side::Wan);
                    self.fill(Side::Wan, io);
                }
                Message::Body => {}
            }
        }
    }

    /// Processes the messages that the client has read, up to the end of the TLS handshake or the
    /// response to a probe, which it returns. Returns `None` if neither was read.
    pub(crate) fn hear(&mut self, io: &mut dyn Io) -> Option<Heard> {
        loop {
            match self.down.pop()? {
                Message::Tls(0) => return Some(Heard::Secured),
                Message::Tls(left) => self.up.push(FINISH, Message::Tls(left - 1), io),
                Message::Probe(requested) => return Some(Heard::Response(requested)),
                Message::Get | Message::Body => {}
            }
        }
    }
}
