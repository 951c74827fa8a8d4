//! Traffic generators: models of the people and things of a home.
//!
//! An [`App`] is both ends of one application, the client and its server, as one state machine
//! without I/O. Its interface is connections, bytes and datagrams, independent of TCP. The same
//! model therefore runs over simulated connections and over real sockets. An end receives events
//! only in a [`Notice`] that names that end: a server answers when it has read the request, never
//! when the client wrote it.
//!
//! **Invariant:** no code in this crate depends on TCP, packets or queues. Payload has length but
//! no content; applications frame their messages by counting bytes.

mod bounds;
#[cfg(test)]
mod contract;
pub mod datagrams;
pub mod emodel;
pub mod kinds;
pub mod needs;
mod pacer;
mod params;
pub mod pipe;
mod playout;
mod prober;
pub mod quantiles;
mod schedule;
#[cfg(test)]
mod testing;

use aqmlab_core::{Direction, Instant, Rng, Side};

/// Both ends of one application.
///
/// # Driving it
///
/// The driver delivers [`Notice::Start`] once, at the application's start time. It delivers
/// [`Notice::Stop`] once, if the scenario gives a stop time; after that the application opens,
/// writes and sends nothing more and closes its connections. Every other notice answers a request
/// that the application made of its [`Io`].
pub trait App: Send {
    /// Processes a notice and acts on it through `io`.
    fn handle(&mut self, notice: Notice, io: &mut dyn Io);

    /// The direction of its data; both directions for a call.
    fn carries(&self) -> Carries;

    /// Returns the time at which the application ended by itself: its transfer complete, or its own
    /// duration over. `None` if it runs until it is stopped.
    fn ended(&self) -> Option<Instant> {
        None
    }

    /// Returns the largest datagram; `None` if the application sends none. Datagrams are not
    /// fragmented, so the driver refuses an application with datagrams larger than its hosts'
    /// packets.
    fn datagram(&self) -> Option<Datagram> {
        None
    }

    /// Whether it opens TCP connections. Settings of TCP do not matter to an application without.
    fn uses_tcp(&self) -> bool {
        self.datagram().is_none()
    }

    /// Its measures at the end of the run: names with their unit last, and values.
    fn summary(&self, now: Instant) -> Vec<(&'static str, f64)> {
        let _ = now;
        Vec::new()
    }
}

/// The largest datagram of an application, and why it is so large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its payload, including the headers that the application adds.
    pub bytes: u32,
    /// The part of it that the application adds: headers of protocols above UDP.
    pub headers: u32,
    /// The parameter that decides its size.
    pub set_by: &'static str,
}

impl Datagram {
    /// Returns a datagram of the size in the parameter `payload`.
    pub(crate) const fn of_payload(bytes: u32) -> Self {
        Self { bytes, headers: 0, set_by: "payload" }
    }
}

/// The direction of an application's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// One direction; the other carries acknowledgements or requests.
    One(Direction),
    /// Both directions equally.
    Both,
}

/// A connection or a datagram socket, as its application numbers it: 0, 1, 2, … in the order
/// of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// Something that happened to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The start time has come.
    Start,
    /// The application must stop.
    Stop,
    /// A wake-up requested with [`Io::wake_at`], with its token.
    Wake(u64),
    /// The connection is established at the end that opened it.
    Opened(ConnId),
    /// `bytes` more bytes have been read, in order, by the application at `at`.
    Read {
        /// The connection.
        conn: ConnId,
        /// The end that is notified.
        at: Side,
        /// The number of bytes.
        bytes: u64,
    },
    /// There is room again after a write that was cut short.
    Writable {
        /// The connection.
        conn: ConnId,
        /// The end that is notified.
        at: Side,
    },
    /// The peer closed its half and everything it sent has been read at `at`.
    Finished {
        /// The connection.
        conn: ConnId,
        /// The end that is notified.
        at: Side,
    },
    /// The connection has ended: both halves closed, aborted, or given up.
    Closed(ConnId),
    /// A datagram arrived.
    Datagram {
        /// The socket.
        conn: ConnId,
        /// The end that is notified.
        at: Side,
        /// Bytes of payload.
        payload: u32,
        /// The number it was sent with.
        tag: u64,
    },
}

/// The kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A reliable byte stream.
    Tcp,
    /// Datagrams.
    Udp,
    /// Echo requests and replies.
    Icmp,
}

/// The properties of a socket to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Over which transport.
    pub transport: Transport,
    /// The end that opens it; for datagrams, the end with the ephemeral port.
    pub from: Side,
    /// Whether small segments leave at once (`TCP_NODELAY`) rather than by Nagle's rule.
    pub nodelay: bool,
    /// Whether the receiver acknowledges every segment at once.
    pub quickack: bool,
    /// Whether the application needs [`Notice::Read`]. Bulk transfers do not: only counters use
    /// their bytes.
    pub reads: bool,
    /// Linux's `skb->priority`, 0 to 15.
    pub priority: u8,
}

impl Open {
    /// A TCP connection with the defaults of a socket: Nagle on, delayed acknowledgements on.
    pub const fn tcp(from: Side) -> Self {
        let transport = Transport::Tcp;
        Self { transport, from, nodelay: false, quickack: false, reads: true, priority: 0 }
    }

    /// A datagram socket.
    pub const fn udp(from: Side) -> Self {
        Self { transport: Transport::Udp, ..Self::tcp(from) }
    }

    /// Echo requests from `from`.
    pub const fn icmp(from: Side) -> Self {
        Self { transport: Transport::Icmp, ..Self::tcp(from) }
    }
}

/// The network and the clock, as an application sees them.
pub trait Io {
    /// The time.
    fn now(&self) -> Instant;

    /// This application's own stream of random numbers.
    fn rng(&mut self) -> &mut Rng;

    /// Opens a socket. A TCP connection may be written to at once; the bytes leave when it is
    /// established.
    fn open(&mut self, open: Open) -> ConnId;

    /// Writes up to `bytes` at the end `at` of a connection; returns the bytes that the send buffer
    /// took. After a short write, [`Notice::Writable`] reports new space. A closed connection takes
    /// nothing.
    fn write(&mut self, conn: ConnId, at: Side, bytes: u64) -> u64;

    /// Writes without end at `at`, as fast as the connection takes it, until it is closed.
    fn send_unlimited(&mut self, conn: ConnId, at: Side);

    /// Closes the half of the connection that `at` sends on, once all bytes written have left;
    /// stops [`Io::send_unlimited`]. On a datagram socket: closes it.
    fn close(&mut self, conn: ConnId, at: Side);

    /// Resets the connection at once from `at`, discarding bytes not yet sent.
    fn abort(&mut self, conn: ConnId, at: Side);

    /// Sends a datagram of `payload` bytes from `at`, numbered `tag`.
    fn send(&mut self, conn: ConnId, at: Side, payload: u32, tag: u64);

    /// Requests [`Notice::Wake`] with `token` at `at`. Every call has one answer; for a past time
    /// it comes at once.
    fn wake_at(&mut self, at: Instant, token: u64);

    /// Writes a row into the application's own time series: a metric, unit last, and a value.
    fn note(&mut self, metric: &'static str, value: f64);
}
